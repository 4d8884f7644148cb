"""Forecasters computed from the book: the crowd, pools, and baselines of one run.

A pool is of those who were asked, where the league asks anybody: nobody from
outside can move it. It stands once the run waits for no more answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from beforehand.publish.counting import JudgedRun, Said, market_of
from beforehand.publish.fold import LeagueFold
from beforehand.scoring.exact import mean, median

POOLS = ("mean", "median")


@dataclass(frozen=True)
class Derived:
    """A derived forecaster's word on one question; `why` is set where it has none."""

    forecaster: str
    question: str
    line: int
    at: str
    status: str
    value: Fraction | None = None
    why: str = ""
    members: int | None = None
    leak: bool | None = None


def derived_of(run: JudgedRun, base_rate: Fraction | None) -> list[Derived]:
    """Every derived forecast of a run, question by question in the declared order.

    Where models are asked, a question that nobody was asked has none, and one
    that could not be computed is missing and says why; elsewhere it is left out.
    """
    by_question: dict[str, list[Said]] = {name: [] for name in run.questions}
    for said in run.said:
        if said.question in by_question:
            by_question[said.question].append(said)
    found: list[Derived] = []
    for question, held in by_question.items():
        if run.asks_models and question not in run.first_asked:
            continue
        found += _on_question(run, question, held, base_rate)
    return found


def _on_question(
    run: JudgedRun, question: str, held: Sequence[Said], base_rate: Fraction | None
) -> Iterable[Derived]:
    status = "" if run.counted else "uncounted_run"
    if status == "" and run.decided_before(question):
        status = "after_outcome"
    snapshot = run.record.snapshot_line
    for name, rule in run.rules.derived.items():
        if rule in POOLS:
            pool = _pool(run, name, rule, question, held, status)
            if pool is not None:
                yield pool
        elif rule == "crowd":
            price = run.crowd(question)
            at = run.fold.snapshots[snapshot].at
            if price is not None:
                value = run.rules.grid.probability(price.units)
                yield Derived(name, question, snapshot, at, status, value)
            elif run.asks_models:
                yield Derived(name, question, snapshot, at, status or "missing", why="no_price")
        else:
            fixed = Fraction(1, 2) if rule == "always_half" else base_rate
            if fixed is not None:
                yield Derived(name, question, run.line, "", status, fixed)


def _pool(
    run: JudgedRun, name: str, rule: str, question: str, held: Sequence[Said], status: str
) -> Derived | None:
    entry = "asked" if run.asks_models else "accepted"
    seated = [said for said in held if run.entry.get(said.forecaster) == entry]
    if run.asks_models and (
        not run.finished or any(said.status in ("sealed", "pending") for said in seated)
    ):
        return Derived(name, question, run.line, "", status or "pending")
    members = [said for said in seated if said.status == "" and said.value is not None]
    values = [said.value for said in members if said.value is not None]
    if len(values) < max(1, run.rules.least.get(name, 1)):
        if not run.asks_models:
            return None
        return Derived(
            name, question, run.line, "", status or "missing",
            why="too_few_members", members=len(values),
        )  # fmt: skip
    value = mean(values) if rule == "mean" else median(values)
    leaks = [said.leak for said in members]
    leak = True if True in leaks else (False if False in leaks else None)
    return Derived(name, question, run.line, "", status, value, members=len(values), leak=leak)


def base_rate_of(fold: LeagueFold, asked: Mapping[str, bool]) -> Fraction | None:
    """The share of yes among all resolved questions, each market once: known only in hindsight."""
    outcomes: dict[str, str] = {}
    for name, counts in asked.items():
        held = fold.settled.get(name)
        if counts and held is not None and held.outcome != "void":
            outcomes[market_of(fold.questions[name][1]) or name] = held.outcome
    return mean([int(outcome == "yes") for outcome in outcomes.values()])


def questions_counted(runs: Iterable[JudgedRun]) -> dict[str, bool]:
    """Every question that a run asked, and whether a counted run did."""
    asked: dict[str, bool] = {}
    for run in runs:
        for name in run.questions:
            if name in run.first_asked or not run.asks_models:
                asked[name] = asked.get(name, False) or run.counted
    return asked
