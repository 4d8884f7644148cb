"""Requirements 7 and 8: a strictly proper score of the event asked, and nothing filled in."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer
from beforehand.publish.conformance.said import IN_TIME, Row, listed, number, text
from beforehand.publish.conformance.undisclosed import check_undisclosed

PROPER = ("brier", "log", "logarithmic", "three_outcome_brier", "crps")
BRIER_PLACES = 8
SHARE_PLACES = 6
_UP = {"yes": 1, "1": 1, "1.0": 1, "true": 1, "no": 0, "0": 0, "0.0": 0, "false": 0}
_FILLED = ("counted_50", "no_answer", "refused_shape", "refused", "missing", "not_revealed")


def decimal_of(said: str) -> Decimal | None:
    """A finite number of a table, None where it is none."""
    if len(said) > 60:
        return None
    try:
        value = Decimal(said)
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < 30 else None


def settled(said: str) -> str | None:
    """The outcome that a table's word stands for: yes, no or void; None for any other word.

    >>> [settled(said) for said in ("1", "No", "void", "", "open")]
    ['yes', 'no', 'void', None, None]
    """
    word = said.lower()
    if word in _UP:
        return "yes" if _UP[word] else "no"
    return word if word == "void" else None


def scale_of(exhibit: Exhibit) -> Decimal:
    """What 1 is written as: the profile's word, else percent where a value is above 1."""
    if exhibit.profile.scale is not None:
        return exhibit.profile.scale
    if exhibit.form == "folder":
        return Decimal(1)
    values = (decimal_of(row.p) for row in exhibit.rows or ())
    return Decimal(100) if any(value is not None and value > 1 for value in values) else Decimal(1)


def check_scores(exhibit: Exhibit) -> Check:
    """Requirement 7."""
    check = Check(7)
    rows = exhibit.rows
    if rows is None:
        check.gap("no table of forecasts is published", "publish every scored row with its loss")
        return check
    declared = exhibit.declaration("scoring", "primary")
    if exhibit.declared is not None and declared not in PROPER:
        check.fault(
            f"the primary score {declared!r:.40} is not known to be strictly proper",
            exhibit.at_declaration(),
        )
    exact = _check_losses(check, exhibit, rows)
    for row in rows:
        _check_range(check, exhibit, row)
        if _is_left_out(row):
            check.fault(
                "a stated, resolved forecast in time is left out of the primary score", row.place
            )
    if exhibit.declared is None:
        check.gap(
            "nothing declares which score is primary",
            "declare the primary score before the first run",
        )
    if not exact and not check.faults:
        check.gap(
            "no row carries its loss, so that none could be computed again",
            "publish the Brier loss of every scored row",
        )
    if exact and not check.faults:
        check.saw(
            f"{exact} losses are (p - y)^2 of the row's own p and outcome, and no resolved "
            "row in time is left out",
            rows[0].place,
        )
        check.seen.append("not read: whether the question's text asks the event of its contract")
        check.holds_since(exhibit.first_at or None)
    return check


def _check_range(check: Check, exhibit: Exhibit, row: Row) -> None:
    if not row.p:
        return
    value = decimal_of(row.p)
    if value is None or not 0 <= value <= scale_of(exhibit):
        check.fault(f"{row.p[:40]!r} is no probability{_percent_hint(exhibit, row.p)}", row.place)


def _percent_hint(exhibit: Exhibit, said: str) -> str:
    """What to do about a percent in another league's table; nothing is read for it."""
    if exhibit.form == "folder":
        return ""
    value = decimal_of(said.strip().removesuffix("%").strip())
    if value is None or not 0 <= value <= 100:
        return ""
    if said.strip().endswith("%"):
        return (
            ": leave the sign % out of the table, and set scale = 100 under [rules] of the profile"
        )
    return ": for percents, set scale = 100 under [rules] of the profile"


def _check_losses(check: Check, exhibit: Exhibit, rows: Iterable[Row]) -> int:
    grid = decimal_of(str(exhibit.declaration("scoring", "grid") or ""))
    exact = 0
    for row in rows:
        if not row.brier:
            if row.status == "counted" and exhibit.form == "folder":
                check.fault("a scored row without its loss", row.place)
            continue
        own = loss_of(row, grid, scale_of(exhibit))
        if own is None:
            check.fault("a loss beside no probability or no outcome", row.place)
            continue
        said = decimal_of(row.brier)
        places = max(0, -int(said.as_tuple().exponent)) if said is not None else 0
        if said is None or (places == 0 and own not in (0, 1)) or _round(own, places) != said:
            check.fault(
                f"its loss is {row.brier[:20]}, and (p - y)^2 is {_round(own, BRIER_PLACES)}",
                row.place,
            )
        exact += 1
    return exact


def loss_of(row: Row, grid: Decimal | None, scale: Decimal) -> Decimal | None:
    """The Brier loss of a row's own p, on the declared grid, against its own outcome."""
    # A derived value is exact; its text in `p` is not always, its grid point is.
    text_of_p = row.other.get("p_scored", "") if row.kind == "derived" else row.p
    value, outcome = decimal_of(text_of_p or row.p), _UP.get(row.outcome.lower())
    if value is None or outcome is None:
        return None
    p = value / scale
    if grid is not None and grid > 0:
        p = (p / grid).quantize(Decimal(1), rounding=ROUND_HALF_EVEN) * grid
    return (p - outcome) ** 2


def _round(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-min(places, 28)), rounding=ROUND_HALF_EVEN)


def _is_left_out(row: Row) -> bool:
    """Stated in time and resolved yes or no, and yet not among the scored."""
    resolved = row.outcome.lower() in ("yes", "no")
    odd = row.status not in ("counted", "") and row.status in ("open", "void", "stale", "draw")
    return bool(resolved and row.p and odd)


# ---- requirement 8


def check_missing(exhibit: Exhibit) -> Check:
    """Requirement 8."""
    check = Check(8)
    rows = exhibit.rows
    if rows is None:
        check.gap("no table of forecasts is published", "publish a row for every expected cell")
        return check
    for row in rows:
        if row.status in _FILLED and row.p and row.kind != "derived":
            # The seed marks a fill for its service score as such, outside every score.
            if row.status != "counted_50":
                check.fault("an answer that is missing carries a probability", row.place)
        elif row.status == "missing" and not row.why:
            check.fault("a missing answer without its reason", row.place)
    _check_stated(check, exhibit, rows)
    _check_board(check, exhibit, exhibit.board_rows())
    if exhibit.form == "folder":
        check_undisclosed(check, exhibit, rows)
    if exhibit.form == "table":
        check.gap(
            "a table without a roster cannot show which answers were expected",
            "publish the roster of expected answers",
        )
        return check
    if exhibit.board is None:
        check.gap("no board with coverage is published", "publish coverage beside every score")
    elif not check.faults:
        check.saw(
            "missing answers stand beside the scores with their reasons, none is filled in, "
            "and coverage is a result of its own",
            rows[0].place if rows else exhibit.at_declaration(),
        )
        check.holds_since(exhibit.first_at or None)
    return check


def _check_stated(check: Check, exhibit: Exhibit, rows: Iterable[Row]) -> None:
    """A row's p is what its line states, and nothing where the line states nothing."""
    cells = {answer.n: answer.cells for answer in exhibit.answers}
    for row in rows:
        if row.kind == "derived" or row.line not in cells or row.status == "counted_50":
            continue
        held = cells[row.line]
        if held is None:
            if row.p:
                check.fault(
                    f"the answer of line {row.line} is withheld, and the row has a p", row.place
                )
            continue
        said = held.get(row.question)
        if said is None and row.p:
            check.fault(
                f"line {row.line} states nothing on it, and the row says {row.p[:20]}: filled in",
                row.place,
            )
        elif said is not None and row.status == "missing":
            check.fault(f"line {row.line} states {said[:20]}, and the row says missing", row.place)


def _check_board(check: Check, exhibit: Exhibit, rows: Iterable[Row]) -> None:
    """Coverage and missing answers of the board, counted again from the rows."""
    if exhibit.board is None:
        return
    place = board_place(exhibit)
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.forecaster, []).append(row)
    offered = number(exhibit.board, "events")
    for entry in entries(exhibit):
        name = text(entry, "forecaster")
        held = by_name.get(name, [])
        missing = number(entry, "n_missing")
        own = sum(row.status == "missing" for row in held)
        if missing is None or "coverage" not in entry:
            check.fault(
                f"{name[:60]!r} has a score and no count of missing answers or no coverage", place
            )
            continue
        if missing != own:
            check.fault(f"{name[:60]!r}: {missing} missing published, {own} in the rows", place)
        stated = len({(row.run, row.question) for row in held if row.status in IN_TIME})
        if offered and _share(stated, offered) != entry.get("coverage"):
            check.fault(
                f"{name[:60]!r}: coverage {entry.get('coverage')!r:.20}, and the rows give "
                f"{_share(stated, offered)}",
                place,
            )


def _share(part: int, whole: int) -> str:
    value = Fraction(part, whole)
    return str(_round(Decimal(value.numerator) / Decimal(value.denominator), SHARE_PLACES))


def entries(exhibit: Exhibit) -> list[dict[str, Any]]:
    """The forecasters of a board."""
    return [entry for entry in listed(exhibit.board, "forecasters") if isinstance(entry, dict)]


def board_place(exhibit: Exhibit) -> Pointer:
    """A pointer to the board."""
    return Pointer(f"{exhibit.base}/leaderboard.json".lstrip("/"))
