"""The leaderboard page of a league that ranks by skill against the crowd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beforehand.site.board import data_files
from beforehand.site.catalogue import Catalogue
from beforehand.site.charts import Axis, axis_over, gain_mark, label_percent, tick_text
from beforehand.site.estimates import (
    counted,
    interval,
    leak_text,
    mean_text,
    pool_text,
    reliability_text,
    tone_of,
)
from beforehand.site.incidents import incidents
from beforehand.site.runs import runs_facts
from beforehand.site.skilltables import (
    cohort_listings,
    leak_listing,
    own_set_listing,
    paper_listing,
    sensitivity_listing,
    shared_listing,
)
from beforehand.site.text import NOTHING, count, cut, number, percent, short_label
from beforehand.site.undisclosed import disclosure_told

Entry = Mapping[str, Any]
WEIGHTS: Mapping[bool | None, str] = {True: "open weights", False: "closed weights"}
RULES = {
    "crowd": "the market’s price at the slot",
    "mean": "the mean of the models’ valid answers",
    "median": "the median of the models’ valid answers",
    "always_half": "one half, always",
    "base_rate": "the share of yes among all resolved questions: known only in hindsight",
}
# Where the small picture in a row of the table begins and ends (percent).
SMALL = (3.0, 97.0)
LEADERS = 5


def skill_board_page(catalogue: Catalogue) -> dict[str, Any]:
    """What `skillboard.html.j2` shows."""
    board = catalogue.view.board
    entries = board["forecasters"]
    scale = _scale(entries)
    small = Axis(scale.low, scale.high, scale.ticks, *SMALL)
    groups = _groups(entries)
    rows = {name: [_row(e, catalogue, small) for e in held] for name, held in groups.items()}
    listed = [*groups["ranked"], *groups["unranked"], *groups["baselines"]]
    awaiting = board["state"] == "awaiting"
    return {
        "facts": skill_facts(catalogue),
        "awaiting": awaiting,
        "incidents": incidents(catalogue),
        "groups": rows,
        "zero_small": small.at(0.0),
        "forest": _forest([*groups["ranked"], *groups["unranked"]], scale),
        "pools": _pools(entries),
        "best": _best(catalogue),
        "shared": _shared(board["shared"]),
        "rules": board["rules"],
        "least": percent(board["rules"]["min_reliability"]).replace(".0\u00a0", "\u00a0"),
        "tables": {}
        if awaiting
        else {
            "shared": shared_listing(groups["ranked"], board, catalogue),
            "own": own_set_listing(listed),
            "leaks": leak_listing(listed),
            "sensitivity": sensitivity_listing(listed),
            "paper": paper_listing(listed, catalogue),
        },
        "cohorts": cohort_listings(board["cohorts"] or (), catalogue),
        "runs": runs_facts(catalogue),
        "rounding": {
            "stated": count(board["rounding"]["stated"]),
            "moved": count(board["rounding"]["moved"]),
            "most": board["rounding"]["most"],
            "grid": board["grid"],
        },
        "files": data_files(catalogue),
        **disclosure_told(catalogue),
    }


def skill_facts(catalogue: Catalogue) -> list[tuple[str, str, str]]:
    """`(number, what, more)` for the head of a page."""
    board = catalogue.view.board
    people = [entry for entry in board["forecasters"] if entry["kind"] != "derived"]
    ranked = sum(entry["rank"] is not None for entry in people)
    waiting = sum(entry["n_waiting"] for entry in people)
    more = f", {count(waiting)} sealed or waiting" if waiting else ""
    events = f"{count(board['events_resolved'])} of {count(board['events'])} events resolved{more}"
    shared = board["shared"]
    return [
        (count(len(people)), "forecasters asked", f"{count(ranked)} ranked"),
        (count(len(board["runs"] or ())), "slots", f"as of {board['as_of']}"),
        (count(board["rounding"]["stated"]), "stated forecasts", events),
        (
            count(shared["n"]),
            "forecasts in the shared set",
            f"on {count(shared['questions'])} questions",
        ),
    ]


def skill_leaders(catalogue: Catalogue) -> list[dict[str, Any]]:
    """The first ranks, for the home page."""
    entries = catalogue.view.board["forecasters"]
    small = Axis(-1.0, 1.0, (0.0,), *SMALL)
    return [_row(e, catalogue, small) for e in _groups(entries)["ranked"][:LEADERS]]


def _groups(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The ranked in their order; those without a rank; baselines, which are no contestants."""
    rest = [entry for entry in entries if entry["rank"] is None]
    return {
        "ranked": [entry for entry in entries if entry["rank"] is not None],
        "unranked": [e for e in rest if not _is_baseline(e)],
        "baselines": [e for e in rest if _is_baseline(e)],
    }


def _is_baseline(entry: Entry) -> bool:
    return entry["kind"] == "derived" and "baseline" in (entry["why_unranked"] or "")


def _row(entry: Entry, catalogue: Catalogue, axis: Axis) -> dict[str, Any]:
    """One forecaster of the board, in words."""
    share, tried, wilson = reliability_text(entry["reliability"])
    leaks, examined = leak_text(entry)
    gain, unflagged = entry["gain"], (entry["views"] or {}).get("unflagged")
    return {
        "forecaster": entry["forecaster"],
        "label": cut(entry["label"], 60),
        "rank": str(entry["rank"]) if entry["rank"] is not None else NOTHING,
        "why": "" if _is_baseline(entry) else entry["why_unranked"],
        "what": _what(entry, catalogue),
        "pool": pool_text(entry["pool"]),
        "skill": mean_text(gain),
        "interval": interval(gain),
        "tone": tone_of(gain),
        "bar": gain_mark("", gain, axis),
        "reliability": share,
        "tried": tried,
        "wilson": wilson,
        "leaks": leaks,
        "examined": examined,
        "unflagged": mean_text(unflagged),
        "unflagged_interval": interval(unflagged),
        "brier": number(entry["brier_shared"]),
        "n": counted(gain),
        "questions": count(gain["questions"]),
    }


def _what(entry: Entry, catalogue: Catalogue) -> str:
    """Who it is, in one short line."""
    rule = catalogue.rule(entry["forecaster"])
    if rule is not None:
        return RULES.get(rule, "")
    held = entry["identity"] or {}
    weights = WEIGHTS.get(held.get("open_weights"), "")
    parts = [held.get(key) or "" for key in ("company", "model", "provider", "quantisation")]
    return cut(" · ".join(part for part in (*parts, weights) if part), 120)


def _scale(entries: Sequence[Entry]) -> Axis:
    """One scale for all intervals of those who are no baselines."""
    ends = [
        float(entry["gain"][key])
        for entry in entries
        if not _is_baseline(entry)
        for key in ("low", "high", "mean")
        if entry["gain"][key] is not None
    ]
    left = label_percent(short_label(entry["label"]) for entry in entries)
    return axis_over(ends, left, 83.0)


def _forest(entries: Sequence[Entry], scale: Axis) -> dict[str, Any]:
    bars = [gain_mark(short_label(entry["label"]), entry["gain"], scale) for entry in entries]
    return {
        "bars": [bar for bar in bars if bar],
        "ticks": [(scale.at(tick), tick_text(tick)) for tick in scale.ticks],
        "zero": scale.at(0.0),
        "left": scale.left,
    }


def _pools(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    return [(e["label"], pool_text(e["pool"])) for e in entries if e["pool"] is not None]


def _best(catalogue: Catalogue) -> dict[str, str] | None:
    """The best single model, which nobody knew beforehand; None while there is none."""
    analysis = catalogue.view.board["analysis"]
    best = None if analysis is None else analysis["best"]
    if best is None or best["brier"] is None:
        return None
    return {
        "forecaster": best["forecaster"],
        "label": cut(catalogue.label(best["forecaster"]), 60),
        "brier": number(best["brier"]),
        "words": best["label"],
    }


def _shared(shared: Mapping[str, Any]) -> dict[str, str]:
    return {
        "n": count(shared["n"]),
        "questions": count(shared["questions"]),
        "least": count(shared["least"]),
        "sha256": shared["sha256"],
        "by": count(len(shared.get("forecasters", ()))),
    }
