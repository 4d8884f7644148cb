"""The leaderboard page: the picture of the gains, the tables, the rules in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Any

from beforehand.publish.gains import loss, paired_gain
from beforehand.publish.rows import Row
from beforehand.scoring.exact import decimal_places, mean
from beforehand.site.catalogue import Catalogue
from beforehand.site.charts import (
    Axis,
    calibration_marks,
    gain_axis,
    gain_bar,
    interval_text,
    label_percent,
    tick_text,
)
from beforehand.site.estimates import pool_text
from beforehand.site.listing import Cell, Listing
from beforehand.site.text import NOTHING, count, cut, number, percent, signed
from beforehand.site.undisclosed import disclosure_told

RULE_WORDS = {
    "crowd": "the market's price in the run's snapshot",
    "mean": "the mean of all stated forecasts on the event",
    "median": "the median of all stated forecasts on the event",
    "always_half": "one half on every event",
    "base_rate": "the share of this run's resolved events that happened: known only in hindsight",
}
# Where the small picture in a row of the table begins and ends (percent).
SMALL = (3.0, 97.0)
# More bars than these make no picture; the table has them all.
MOST_BARS = 120
# What the ranked are shown by, and how it is read off a row; more columns than these are cut.
KINDS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("type", attrgetter("type")),
    ("source", attrgetter("source")),
)
MOST_KINDS = 24


def board_page(catalogue: Catalogue) -> dict[str, Any]:
    """What `board.html.j2` shows."""
    board = catalogue.view.board
    entries = board["forecasters"]
    ranked = [entry for entry in entries if entry["rank"] is not None]
    left = label_percent(entry["label"] for entry in ranked[:MOST_BARS])
    scale = gain_axis(ranked, left, 83.0)
    small = Axis(scale.low, scale.high, scale.ticks, *SMALL)
    drawn = [(entry, gain_bar(entry, scale)) for entry in ranked[:MOST_BARS]]
    return {
        "facts": board_facts(catalogue),
        "ranked": [board_row(entry, catalogue, small) for entry in ranked],
        "derived": [
            board_row(entry, catalogue, small) for entry in entries if entry["kind"] == "derived"
        ],
        "unranked": [
            board_row(entry, catalogue, small)
            for entry in entries
            if entry["kind"] != "derived" and entry["rank"] is None
        ],
        "forest": {
            "bars": [bar for _, bar in drawn if bar],
            "ticks": [(scale.at(tick), tick_text(tick)) for tick in scale.ticks],
            "zero": scale.at(0.0),
            "left": left,
            "left_out": len(ranked) - len(drawn),
        },
        "glance": [
            (entry["forecaster"], entry["label"], calibration_marks(entry["calibration"]["bins"]))
            for entry, _ in drawn
        ],
        "kinds": [
            *(_kinds(ranked, catalogue, *held) for held in KINDS),
            _by_type_and_source(ranked, catalogue),
        ]
        if ranked
        else [],
        "zero_small": small.at(0.0),
        "shared": shared_set(catalogue),
        "rules": board["rules"],
        "rounding": {
            "stated": count(board["rounding"]["stated"]),
            "moved": count(board["rounding"]["moved"]),
            "most": board["rounding"]["most"],
            "grid": board["grid"],
        },
        "published": [
            {**held, "note": held.get("note") or "", "n": count(held["n"])}
            for held in catalogue.view.published
        ],
        "files": data_files(catalogue),
        **disclosure_told(catalogue),
    }


def _kinds(
    ranked: list[dict[str, Any]], catalogue: Catalogue, kind: str, of: Callable[[Row], str]
) -> Listing:
    """Mean Brier of every ranked forecaster within each type or source, with its n."""
    losses: dict[str, dict[str, list[Fraction]]] = {}
    for entry in ranked:
        for shown in catalogue.by_forecaster[entry["forecaster"]]:
            row = shown.row
            if row.status == "counted" and row.units is not None:
                held = losses.setdefault(entry["forecaster"], {}).setdefault(of(row), [])
                held.append(catalogue.grid.brier(loss(row, catalogue.grid)))
    names = sorted({name for held in losses.values() for name in held})
    rows: list[Sequence[str | Cell]] = [
        (
            Cell(cut(entry["label"], 60), f"f/{entry['forecaster']}.html#scores"),
            *(
                _with_n(losses.get(entry["forecaster"], {}).get(name, []))
                for name in names[:MOST_KINDS]
            ),
        )
        for entry in ranked
    ]
    more = f" The first {MOST_KINDS} of {len(names)}." if len(names) > MOST_KINDS else ""
    caption = f"Brier by {kind} of the question, lower is better, and n.{more}"
    heads = ("Forecaster", *(cut(name, 40) for name in names[:MOST_KINDS]))
    return Listing(f"Brier by {kind}", caption, heads, rows)


def _by_type_and_source(ranked: list[dict[str, Any]], catalogue: Catalogue) -> Listing:
    """Every ranked forecaster's Brier and gain within each type and source, to choose from."""
    grid = catalogue.grid
    rows = []
    for entry in ranked:
        held: dict[tuple[str, str], list[Row]] = {}
        for shown in catalogue.by_forecaster[entry["forecaster"]]:
            if shown.row.status == "counted":
                held.setdefault((shown.row.type, shown.row.source), []).append(shown.row)
        for (kind, source), counted in sorted(held.items()):
            gains = [gain for row in counted if (gain := paired_gain(row, grid)) is not None]
            rows.append(
                (
                    Cell(cut(entry["label"], 60), f"f/{entry['forecaster']}.html#forecasts"),
                    cut(kind, 40),
                    cut(source, 40),
                    count(len(counted)),
                    _places(mean(grid.brier(loss(row, grid)) for row in counted), number),
                    _places(mean(gains), signed),
                )
            )
    return Listing(
        "Brier and gain by type and source",
        "Each event once. Choose a type or a source to see its rows alone.",
        ("Forecaster", "Type", "Source", "n", "Brier", "Gain over the others’ median"),
        rows,
        left=frozenset({0, 1, 2}),
        kind="sortable",
        choose=frozenset({1, 2}),
    )


def _places(value: Fraction | None, words: Callable[[str | None], str]) -> str:
    return words(None if value is None else decimal_places(value, 8))


def _with_n(losses: list[Fraction]) -> str:
    value = mean(losses)
    score = NOTHING if value is None else number(decimal_places(value, 8))
    return f"{score} (n = {count(len(losses))})"


def level_text(board: dict[str, Any]) -> str:
    """The level of the intervals, as short as it is exact: `95 %`."""
    return percent(board["level"]).replace(".0\u00a0", "\u00a0")


def board_facts(catalogue: Catalogue) -> list[tuple[str, str, str]]:
    """`(number, what, more)` for the head of a page."""
    board = catalogue.view.board
    people = [entry for entry in board["forecasters"] if entry["kind"] != "derived"]
    ranked = sum(entry["rank"] is not None for entry in people)
    return [
        (count(len(people)), "forecasters", f"{count(ranked)} ranked"),
        (count(board["rounding"]["stated"]), "stated forecasts", "each in a sealed line"),
        (count(board["events"]), "events", f"from {count(len(catalogue.siblings))} questions"),
        (count(board["events_resolved"]), "resolved and scored", f"as of {board['as_of']}"),
    ]


def board_row(entry: dict[str, Any], catalogue: Catalogue, axis: Axis) -> dict[str, Any]:
    """One forecaster of the board, in words."""
    brier, gain = entry["brier"], entry["gain"]
    return {
        "forecaster": entry["forecaster"],
        "label": entry["label"],
        "rank": str(entry["rank"]) if entry["rank"] is not None else NOTHING,
        "why": entry["why_unranked"],
        "rule": _rule_text(entry, catalogue),
        "n": count(entry["n_counted"]),
        "clusters": count(entry["clusters"]),
        "coverage": percent(entry["coverage"]),
        "brier": number(brier["mean"]),
        "brier_interval": interval_text(brier),
        "gain": signed(gain["mean"]),
        "gain_n": count(gain["n"]),
        "gain_interval": "the same throughout"
        if gain["identical"]
        else interval_text(gain, signs=True),
        "others_brier": number(entry["others_brier"]),
        "average": signed(entry["gain_on_average"]["mean"]),
        "bar": gain_bar(entry, axis),
    }


def _rule_text(entry: dict[str, Any], catalogue: Catalogue) -> str:
    """The rule of a derived forecaster; a pool's stands beside how many voices it is of."""
    said = RULE_WORDS.get(catalogue.rule(entry["forecaster"]) or "", "")
    return said if entry["pool"] is None else f"{said}; {pool_text(entry['pool'])}"


def shared_set(catalogue: Catalogue) -> dict[str, Any]:
    """The events that every ranked forecaster answered, and the scores on them if enough."""
    shared = catalogue.view.board["shared"]
    scores = sorted((shared["brier"] or {}).items(), key=lambda item: (float(item[1]), item[0]))
    return {
        "n": count(shared["n"]),
        "least": count(shared["least"]),
        "sha256": shared["sha256"],
        "scores": [(name, catalogue.label(name), number(value)) for name, value in scores],
    }


def data_files(catalogue: Catalogue) -> list[dict[str, str]]:
    """The data files; a folder is named and not linked, for a link must name a file."""
    return [
        {"name": name, "what": what, "href": "" if name.endswith("/") else name}
        for name, what in catalogue.view.files
    ]
