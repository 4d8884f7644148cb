"""Requirement 9: the coin, a sealed climatology, and a crowd price with its volume and a floor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer
from beforehand.publish.conformance.said import Contract, before, listed, text
from beforehand.publish.conformance.scores import board_place, entries
from beforehand.records.codec import ascii_json, digest

SERIES_KEYS = ("asset", "price_symbol", "symbol")


def check_benchmarks(exhibit: Exhibit) -> Check:
    """Requirement 9."""
    check = Check(9)
    if exhibit.form == "table" or exhibit.board is None:
        check.gap(
            "no board with benchmarks is published",
            "publish 50 %, a sealed climatology and the crowd beside every score",
        )
        return check
    rules = {
        text(item, "rule"): item
        for item in listed(exhibit.declared, "derived")
        if isinstance(item, dict)
    }
    names = {text(entry, "forecaster") for entry in entries(exhibit)}
    if not names and "always_half" in rules:
        check.gap(
            "the board has no forecaster: nothing of its segment is scored yet",
            "publish the board again when the first outcomes are in",
        )
        return check
    _check_coin(check, exhibit, rules, names)
    _check_climatology(check, exhibit, rules.get("climatology"), names)
    _check_crowd(check, exhibit, rules.get("crowd"))
    if not check.faults:
        check.saw(
            "the coin and the benchmarks that apply stand on the board",
            board_place(exhibit),
        )
        check.holds_since(exhibit.first_at or None)
    return check


def _check_coin(
    check: Check, exhibit: Exhibit, rules: dict[str, dict[str, Any]], names: set[str]
) -> None:
    coin = rules.get("always_half")
    if coin is not None and exhibit.form == "folder" and not exhibit.board_rows():
        check.gap("the segment of the board has no forecast yet", "look again after its first run")
        return
    if coin is None or text(coin, "forecaster") not in names:
        check.fault(
            "the uninformative 50 % is not among the published results", board_place(exhibit)
        )
        return
    for row in exhibit.board_rows():
        if row.forecaster == text(coin, "forecaster") and row.p not in ("0.5", "0.50", "0.5000"):
            check.fault(f"the uninformative benchmark says {row.p[:20]!r}", row.place)
            return


def _check_climatology(
    check: Check, exhibit: Exhibit, declared: dict[str, Any] | None, names: set[str]
) -> None:
    """Sealed by its hash in the declaration, over a window that ends before the first run.

    Where none is declared, a league could not have had one if each event is
    asked once, or if its time is simulated: a replay begins after its season,
    and a made-up world has none before it. That is a gap; else it is a fault.
    """
    if declared is None and exhibit.simulated:
        check.gap(
            "no climatology is sealed; the league's time is simulated, so that none could be shown "
            "to have been estimated before the season, and a base rate in hindsight is none",
            "in live time, seal a base rate where an event recurs",
        )
        check.evidence.append(exhibit.at_declaration())
        return
    if declared is None and not any(_recurs(held) for held in exhibit.contracts):
        check.gap(
            "no climatology is sealed; each event is asked once by its venue, and no earlier event "
            "of the same kind is named",
            "seal a base rate where an event recurs",
        )
        return
    if declared is None or text(declared, "forecaster") not in names:
        check.fault(
            "no climatological base rate, estimated before the season and sealed, stands beside "
            "the scores (a base rate known in hindsight is none)",
            board_place(exhibit),
        )
        return
    table, place = exhibit.climatology, Pointer(f"{exhibit.base}/climatology.json")
    if table is None:
        check.fault("the climatology is declared, and its table is not published", place)
        return
    own = digest(ascii_json({key: value for key, value in table.items() if key != "sha256"}))
    if text(declared, "sha256") != own:
        check.fault("the published climatology does not hash to what the declaration sealed", place)
    start = min((run.at for run in exhibit.runs), default="")
    known = {}
    for item in listed(table, "table"):
        end = listed(item, "window")[-1:] or [text(item, "window_end")]
        if not end[0] or (start and before(str(end[0]), start) is not True):
            check.fault(f"a window that does not end before the season: {end[0]!r:.40}", place)
        known[text(item, "event")] = text(item, "p")
    for row in exhibit.board_rows():
        if row.forecaster != text(declared, "forecaster"):
            continue
        contract = exhibit.contract_named(row.question)
        wanted = known.get(contract.cluster) if contract else None
        if wanted != row.p:
            check.fault(
                f"the climatology of this event is {wanted!r:.20} in the sealed table, "
                f"{row.p[:20]!r} in the row",
                row.place,
            )
    for entry in entries(exhibit):
        if entry.get("kind") != "derived" and "skill_climatology" not in entry:
            check.fault(
                f"{text(entry, 'forecaster')[:60]!r} has no Brier skill score against it",
                board_place(exhibit),
            )
            return


def _recurs(contract: Contract) -> bool:
    """Whether an event is one of a series: of a data series, or of a price."""
    return contract.type != "market" or any(contract.fields.get(key) for key in SERIES_KEYS)


def _check_crowd(check: Check, exhibit: Exhibit, declared: dict[str, Any] | None) -> None:
    if declared is None:
        check.seen.append("no prediction-market price is used as a benchmark")
        return
    starts = {run.snapshot_line for run in exhibit.runs}
    quotes = {
        n: [quote for quote in listed(snapshot, "quotes") if isinstance(quote, dict)]
        for n, snapshot in exhibit.snapshots.items()
        if n in starts
    }
    without = [n for n, held in quotes.items() if any("volume" not in quote for quote in held)]
    if _is_frozen(exhibit, declared, quotes.values()):
        check.gap(
            "the crowd is the value that an archive froze, as the declaration says, and the "
            "archive tells no volume: a floor would leave no crowd at all, so none is declared",
            "in live time, seal each price with its volume and declare a floor",
        )
        check.evidence += [exhibit.at_declaration(), *map(exhibit.at_line, without[:1])]
        return
    if "min_volume" not in declared:
        check.fault(
            "the crowd is a benchmark, and no volume floor is declared",
            exhibit.at_declaration(),
        )
    if without:
        check.fault(
            "a crowd price is sealed without its traded volume", exhibit.at_line(without[0])
        )


def _is_frozen(
    exhibit: Exhibit, declared: dict[str, Any], quotes: Iterable[list[dict[str, Any]]]
) -> bool:
    """Whether it is a replay of an archive that holds no volume: nobody can read the price anew."""
    return (
        exhibit.simulated
        and text(declared, "price") == "freeze_value"
        and "min_volume" not in declared
        and not any("volume" in quote for held in quotes for quote in held)
    )
