"""What a profile shows where models were asked: identity, reliability, failures, money, cohorts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from beforehand.publish.rows import IN
from beforehand.publish.spending import spending_by, spending_of
from beforehand.site.catalogue import Catalogue, Shown
from beforehand.site.estimates import (
    counted,
    interval,
    leak_text,
    mean_text,
    pool_text,
    reliability_text,
    with_interval,
)
from beforehand.site.listing import Cell, Listing
from beforehand.site.pictures import strip_picture
from beforehand.site.runs import share_text
from beforehand.site.text import count, cut, instant, number, percent

Entry = Mapping[str, Any]
IDENTITY = (
    ("company", "Company"),
    ("family", "Family"),
    ("model", "Model"),
    ("version", "Version"),
    ("mode", "Mode"),
    ("provider", "Provider"),
    ("quantisation", "Quantisation"),
    ("side", "Side"),
)
WEIGHTS = {True: "yes", False: "no"}
# Statuses of an answer that was due and did not come in time, or not as a probability.
FAILED = ("missing", "late", "after_outcome")
MOST_RUNS = 180


def contestant(name: str, entry: Entry, catalogue: Catalogue) -> dict[str, Any]:
    """The sections that only a league that asks models has."""
    told = _in_cohorts(name, catalogue)
    judged = entry["reliability"] is not None
    return {
        "identity": _identity(entry),
        "pool": pool_text(entry["pool"]),
        "analysed": catalogue.view.board["analysis"] is not None,
        "facts": _facts(name, entry, catalogue),
        "scores": _scores(entry, catalogue),
        "strip": _strip(catalogue.by_forecaster[name], catalogue) if judged else None,
        "reliability": _reliability(entry, told) if judged else None,
        "failures": _failures(name, entry, catalogue) if judged else None,
        "costs": _costs(name, catalogue),
        "cohorts": _cohorts(told),
        "seats": _seats(name, catalogue),
    }


def _identity(entry: Entry) -> list[tuple[str, str]]:
    held = entry["identity"]
    if held is None:
        return []
    weights = WEIGHTS.get(held["open_weights"], "not said")
    told = [(words, cut(held[key] or "not said", 120)) for key, words in IDENTITY
            if held[key] or key not in ("mode", "side", "version")]  # fmt: skip
    return [*told, ("Open weights", weights)]


def _facts(name: str, entry: Entry, catalogue: Catalogue) -> list[tuple[str, str, str]]:
    share, tried, bar = reliability_text(entry["reliability"])
    leaks, examined = leak_text(entry)
    waiting = ", ".join(
        f"{count(entry[key])} {word}"
        for key, word in (("n_open", "open"), ("n_void", "void"), ("n_stale", "stale"),
                          ("n_missing", "missing"), ("n_waiting", "waiting or sealed"))
        if entry[key]
    )  # fmt: skip
    facts = [
        (mean_text(entry["gain"]), _ranking(catalogue), interval(entry["gain"])),
        (
            number(entry["brier_shared"] if catalogue.skilled else entry["brier"]["mean"]),
            "Brier, shared set" if catalogue.skilled else "Brier",
            f"n = {counted(entry['gain'] if catalogue.skilled else entry['brier'])}",
        ),
        (count(entry["n_counted"]), "counted forecasts", waiting),
    ]
    if entry["reliability"] is not None:
        facts.append((share, "reliability", f"{tried}, {bar}" if bar else tried))
    if entry["views"] is not None and entry["views"]["examined"]:
        facts.append((leaks, "leaks flagged", f"{examined} examined"))
    each, per = _cost_of_ask(name, catalogue)
    if each:
        facts.append((each, "a call, on average", per))
    return facts


def _cost_of_ask(name: str, catalogue: Catalogue) -> tuple[str, str]:
    costs = catalogue.view.board["costs"]
    held = next((c for c in costs["forecasters"] if c["forecaster"] == name), None)
    if held is None or not held["attempts"]:
        return "", ""
    each = float(held["committed"]) / held["attempts"]
    valid = held["committed_a_valid"]
    words = f"{valid} a valid reply" if valid else "no valid reply"
    return f"{each:.6f}", f"{words}, {costs['currency'] or ''}"


def _ranking(catalogue: Catalogue) -> str:
    """The name of the measure that ranks."""
    return "skill, shared set" if catalogue.skilled else "gain over the others’ median"


def _scores(entry: Entry, catalogue: Catalogue) -> Listing:
    ranking = "Skill against the crowd, shared set" if catalogue.skilled else "Gain, others’ median"
    views, failures = entry["views"], entry["sensitivity"]
    lines: list[tuple[str, Any, bool]] = [
        (f"{ranking} (ranks)", entry["gain"], True),
        ("Skill against the crowd, own set", entry["gain_on_crowd"], True),
        ("— unflagged answers only", views["unflagged"], True),
        ("— flagged answers only", views["flagged_only"], True),
        ("— without lookups", views["without_lookup"], True),
    ]
    if failures is not None:
        lines += [
            ("Sensitivity: failures as the crowd", failures["failures_as_crowd"], True),
            ("Sensitivity: failures as 0.5", failures["failures_as_half"], True),
        ]
    lines += [
        ("Brier, own set, each question once", entry["brier"], False),
        ("Gain over the others’ average", entry["gain_on_average"], True),
    ]
    rows = [
        (
            words,
            mean_text(held, signs=signs),
            interval(held, signs=signs),
            number(held["se"]),
            counted(held),
            count(held["questions"]),
            count(held["clusters"]),
        )
        for words, held, signs in lines
    ]
    return Listing(
        "Scores",
        "Each question weighs once, venue events are the clusters; 95 % intervals, one at a time. "
        "A dash: there is nothing to compute it from.",
        ("Measure", "Mean", "95 % interval", "Standard error", "n", "Questions", "Events"),
        rows,
    )


# ---- reliability


def _strip(shown: Sequence[Shown], catalogue: Catalogue) -> dict[str, Any] | None:
    """Valid and failed by run, the last ones."""
    counts: Counter[tuple[str, bool]] = Counter()
    for held in shown:
        row = held.row
        if row.status in IN:
            counts[row.run, True] += 1
        elif row.status in FAILED and row.why != "budget":
            counts[row.run, False] += 1
    runs = list(catalogue.view.board["runs"] or ())[-MOST_RUNS:]
    return strip_picture(
        [
            (run["run"], instant(run["slot"]), counts[run["run"], True], counts[run["run"], False])
            for run in runs
        ]
    )


def _in_cohorts(name: str, catalogue: Catalogue) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (held["cohort"], found)
        for held in catalogue.view.board["cohorts"] or ()
        for found in held["forecasters"]
        if found["forecaster"] == name
    ]


def _reliability(entry: Entry, told: Sequence[tuple[str, Mapping[str, Any]]]) -> Listing:
    held = entry["reliability"]
    rows = [
        (cohort, count(found["valid"]), count(found["failed"]),
         share_text(found["valid"], found["failed"]))
        for cohort, found in told
    ]  # fmt: skip
    failed = held["attempted"] - held["valid"]
    rows.append(("all", count(held["valid"]), count(failed), share_text(held["valid"], failed)))
    return Listing(
        "Reliability over time",
        f"Valid answers among what was asked, by run and question; on the first try: "
        f"{percent(held['first_try_share'])}.",
        ("Cohort", "Valid", "Failed", "Share, Wilson interval"),
        rows,
    )


def _failures(name: str, entry: Entry, catalogue: Catalogue) -> Listing:
    """Failures by code: of single calls, and of questions that stayed without an answer."""
    calls = Counter(
        attempt.status or "not_answered"
        for attempt in catalogue.attempts_by_forecaster.get(name, ())
        if attempt.status != "answered"
    )
    later = Counter(
        attempt.status or "not_answered"
        for attempt in catalogue.attempts_by_forecaster.get(name, ())
        if attempt.standing == "retried"
    )
    lost = entry["reliability"]["failures"]
    rows = [
        (code.replace("_", " "), count(calls[code]), count(later[code]), count(lost.get(code, 0)))
        for code in sorted({*calls, *lost}, key=lambda c: (-lost.get(c, 0), -calls[c], c))
    ]
    return Listing(
        "Failures by code",
        f"Of {count(entry['reliability']['attempted'])} questions asked. Calls: single attempts; "
        "tried again: those that a later attempt followed; lost: questions without a valid answer.",
        ("Code", "Calls", "Tried again", "Lost"),
        rows,
    )


# ---- money, cohorts, seats


def _costs(name: str, catalogue: Catalogue) -> Listing | None:
    held = catalogue.attempts_by_forecaster.get(name, [])
    if not held:
        return None
    by = spending_by(held, lambda attempt: attempt.cohort or attempt.slot[:7])
    rows = []
    for period, found in (*by.items(), ("all", held)):
        told = spending_of(found).told()
        each = float(told["committed"]) / told["attempts"]
        rows.append((period, count(told["attempts"]), told["spent"], told["standing"],
                     told["committed"], f"{each:.6f}"))  # fmt: skip
    return Listing(
        "Costs",
        "What the calls cost; a reservation stands while nobody has said the cost.",
        ("Period", "Attempts", "Spent", "Standing", "Committed", "A call"),
        rows,
    )


def _cohorts(told: Sequence[tuple[str, Mapping[str, Any]]]) -> Listing | None:
    if not told:
        return None
    rows = [
        (
            Cell(cohort, f"../runs.html#{cohort}"),
            with_interval(found["gain_shared"]),
            counted(found["gain_shared"]),
            with_interval(found["gain_on_crowd"]),
            count(found["n_counted"]),
            number(found["brier"]),
        )
        for cohort, found in told
    ]
    return Listing(
        "Skill by cohort",
        "On each cohort’s own shared set, and on the forecaster’s own answers; 95 % intervals.",
        ("Cohort", "Skill, shared set", "n shared", "Skill, own set", "n counted", "Brier"),
        rows,
    )


def _seats(name: str, catalogue: Catalogue) -> list[dict[str, Any]]:
    """The seats in the rosters, consecutive runs with one and the same seat as one entry."""
    held: list[dict[str, Any]] = []
    for run, (_, record) in catalogue.fold.runs.items():
        seat = next(
            (s for s in catalogue.fold.roster_of(run).seats if s.forecaster == name), None
        )  # fmt: skip
        if seat is None:
            continue
        if held and held[-1]["seat"] == seat:
            held[-1].update(last=run, count=held[-1]["count"] + 1)
            continue
        told = [(words, cut(str(value), 120)) for key, words in IDENTITY
                if (value := getattr(seat, key))]  # fmt: skip
        held.append({"seat": seat, "first": run, "last": run, "count": 1, "told": told,
                     "line": record.roster_line})  # fmt: skip
    return held
