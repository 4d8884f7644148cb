"""The costs page: what every call cost, by period, forecaster and run, and that all sums agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from beforehand.publish.attempts import Attempt
from beforehand.publish.spending import spending_by, spending_of
from beforehand.site.catalogue import Catalogue
from beforehand.site.listing import Cell, Listing
from beforehand.site.text import NOTHING, count, cut, instant, percent

Money = Mapping[str, Any]
HEADS = ("Attempts", "Spent", "Standing", "Committed", "Unpriced")


def costs_page(catalogue: Catalogue) -> dict[str, Any]:
    """What `costs.html.j2` shows."""
    costs = catalogue.view.board["costs"]
    period, of = _period(catalogue)
    periods = spending_by(catalogue.attempts, of)
    return {
        "facts": _facts(costs),
        "currency": costs["currency"] or "",
        "cap": costs["cap"],
        "per": costs["per"] or "",
        "tables": [
            _by_period(period, periods, costs, alone=len(catalogue.view.board["segments"]) < 2),
            _by_forecaster(costs, catalogue),
            _by_both(period, periods, catalogue),
            _by_run(catalogue),
        ],
        "sums": _sums(costs, periods, catalogue),
    }


def _facts(costs: Money) -> list[tuple[str, str, str]]:
    cap = f"cap {costs['cap']} {costs['currency']} a {costs['per']}" if costs["cap"] else ""
    return [
        (costs["spent"], f"spent, {costs['currency'] or 'no currency declared'}", ""),
        (costs["standing"], "standing reservations", "calls whose cost nobody said"),
        (costs["committed"], "committed: both together", cap),
        (count(costs["attempts"]), "attempts", f"{count(costs['unpriced'])} unpriced"),
    ]


def _period(catalogue: Catalogue) -> tuple[str, Callable[[Attempt], str]]:
    """The league's period of money, and which of them an attempt falls in."""
    per = catalogue.view.board["costs"]["per"]
    if per != "month" and any(attempt.cohort for attempt in catalogue.attempts):
        return "Cohort", lambda attempt: attempt.cohort
    return "Month", lambda attempt: attempt.slot[:7]


def _money(held: Money) -> tuple[str, ...]:
    return (count(held["attempts"]), held["spent"], held["standing"], held["committed"],
            count(held["unpriced"]))  # fmt: skip


def _by_period(
    period: str, periods: Mapping[str, Sequence[Attempt]], costs: Money, *, alone: bool
) -> Listing:
    rows: list[tuple[str, Money, str]]
    rows = [(name or NOTHING, spending_of(held).told(), period.lower())
            for name, held in periods.items()]  # fmt: skip
    rows.append(("all", costs, "league"))
    return Listing(
        f"Costs by {period.lower()}",
        f"By {period.lower()} of the slot. Of the cap: committed beside the declared cap, where "
        "that is the period it holds for."
        + ("" if alone else " What other segments spent under the same cap stands on their pages."),
        (period, *HEADS, "Of the cap"),
        [(name, *_money(told), _of_cap(told, of, costs)) for name, told, of in rows],
    )


def _of_cap(told: Money, period: str, costs: Money) -> str:
    if costs["cap"] is None or costs["per"] != period or not Decimal(costs["cap"]):
        return NOTHING
    return percent(str(Decimal(told["committed"]) / Decimal(costs["cap"])))


def _by_forecaster(costs: Money, catalogue: Catalogue) -> Listing:
    rows: list[Sequence[str | Cell]] = [
        (
            _who(held["forecaster"], catalogue),
            *_money(held),
            count(held["valid"]),
            held["committed_a_valid"] or NOTHING,
            _each(held),
            NOTHING if held["median_latency_ms"] is None else count(held["median_latency_ms"]),
        )
        for held in costs["forecasters"]
    ]
    valid = sum(held["valid"] for held in costs["forecasters"])
    rows.append(("all", *_money(costs), count(valid), NOTHING, _each(costs), NOTHING))
    return Listing(
        "Costs by forecaster",
        "By forecaster. Pools, crowd and baselines make no calls and cost nothing.",
        ("Forecaster", *HEADS, "Valid replies", "A valid reply", "An attempt",
         "Median latency, ms"),
        rows,
    )  # fmt: skip


def _each(held: Money) -> str:
    """What one attempt costs on average, six places."""
    if not held["attempts"]:
        return NOTHING
    return f"{Decimal(held['committed']) / held['attempts']:.6f}"


def _by_both(
    period: str, periods: Mapping[str, Sequence[Attempt]], catalogue: Catalogue
) -> Listing:
    rows: list[Sequence[str | Cell]] = [
        (name or NOTHING, _who(forecaster, catalogue), *_money(spending_of(found).told()))
        for name, held in periods.items()
        for forecaster, found in sorted(spending_by(held, lambda a: a.forecaster).items())
    ]
    return Listing(
        f"Costs by {period.lower()} and forecaster",
        f"By {period.lower()} and forecaster; choose one to see it alone.",
        (period, "Forecaster", *HEADS),
        rows,
        left=frozenset({0, 1}),
        kind="sortable",
        choose=frozenset({0, 1}),
    )


def _by_run(catalogue: Catalogue) -> Listing:
    rows = [
        (
            Cell(
                instant(run["slot"]),
                f"run/{run['run']}.html" if run["run"] in catalogue.fold.runs else "runs.html",
            ),
            run["status"].replace("_", " "),
            *_money(run),
        )
        for run in catalogue.view.board["runs"] or ()
    ]
    return Listing(
        "Costs by run",
        "By run, in the order of their slots.",
        ("Slot (UTC)", "Status", *HEADS),
        rows,
        left=frozenset({0, 1}),
        kind="sortable",
        whole=frozenset({0, 1}),
    )


def _sums(costs: Money, periods: Mapping[str, Sequence[Attempt]], catalogue: Catalogue) -> Listing:
    """The same total summed in four ways, and how far each is from the whole."""
    ways: list[tuple[str, list[Money]]] = [
        ("over periods", [spending_of(held).told() for held in periods.values()]),
        ("over forecasters", list(costs["forecasters"])),
        ("over runs", list(catalogue.view.board["runs"] or ())),
        ("over single attempts", [spending_of([a]).told() for a in catalogue.attempts]),
    ]
    rows: list[Sequence[str]] = [("as published", *_money(costs), NOTHING)]
    for words, held in ways:
        told = {key: _total(held, key) for key in ("spent", "standing", "committed")}
        off = told["committed"] - Decimal(costs["committed"])
        rows.append(
            (
                words,
                count(sum(item["attempts"] for item in held)),
                *(_plain(told[key]) for key in ("spent", "standing", "committed")),
                count(sum(item["unpriced"] for item in held)),
                "0" if off == 0 else _plain(off),
            )
        )
    return Listing(
        "Sums that must agree",
        "The same money, summed in different ways. The last column must be 0 throughout.",
        ("Summed", *HEADS, "Off by"),
        rows,
    )


def _total(held: Iterable[Money], key: str) -> Decimal:
    return sum((Decimal(item[key]) for item in held), Decimal(0))


def _plain(value: Decimal) -> str:
    """An amount without an exponent, two places at least."""
    text = f"{value:f}"
    whole, _, part = text.partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"


def _who(name: str, catalogue: Catalogue) -> Cell:
    return Cell(cut(catalogue.label(name), 60), f"f/{name}.html#costs")
