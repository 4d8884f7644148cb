"""How a Kalshi market stands, from its own record; only a finalized result is final."""

from __future__ import annotations

from decimal import Decimal

from beforehand.sources.kalshi_market import OPEN_STATES
from beforehand.sources.market import Settlement
from beforehand.sources.venue_fields import Row, instant, number, text, unix_instant

_FINAL = ("finalized", "settled")
_WAITING = {
    "closed": ("closed", "closed, without a result"),
    "inactive": ("closed", "trading is paused"),
    "determined": ("proposed", "a result is determined and not yet final"),
    "amended": ("proposed", "its result was amended and is not yet final"),
    "disputed": ("disputed", "its result is in dispute"),
}
_WINS = {"yes": Decimal(1), "no": Decimal(0)}


def judge(row: Row) -> Settlement:
    """The settlement in a market's row, without evidence.

    A scalar result pays a fraction: it is void for forecasts, and its value
    stands in `why` and in `payout`.

    >>> found = judge({"ticker": "T", "status": "finalized", "result": "scalar",
    ...                "settlement_value_dollars": "0.5000"})
    >>> found.outcome, found.why
    ('void', 'finalized as scalar: YES settles at 0.5')
    """
    name, state = text(row.get("ticker")), text(row.get("status")).lower()
    if state in OPEN_STATES or state in ("initialized", "unopened"):
        return Settlement(name, "open", f"its status is {state}", ())
    if state in _WAITING:
        return Settlement(name, *_WAITING[state], ())
    if state not in _FINAL:
        said = f"its status {state[:40]!r} is not known; its form may have changed"
        return Settlement(name, "open", said, (), problems=(said,))
    return _final(row, name, state)


def _final(row: Row, name: str, state: str) -> Settlement:
    result, value = text(row.get("result")).lower(), settlement_value(row)
    when = instant(row.get("settlement_ts")) or unix_instant(row.get("settlement_ts")) or None
    if result in _WINS:
        if value is not None and value != _WINS[result]:
            said = f"{state}, result {result!r} but a settlement value of {value.normalize():f}"
            return Settlement(name, "closed", said, (), problems=(said,))
        yes = _WINS[result]
        why = f"{state} as {result}"
        return Settlement(name, "final", why, (), result, (yes, 1 - yes), when)
    if result == "scalar" and value is not None:
        why = f"{state} as scalar: YES settles at {value.normalize():f}"
        return Settlement(name, "final", why, (), "void", (value, 1 - value), when)
    said = f"{state}, and its result {result[:40]!r} settles nothing"
    return Settlement(name, "closed", said, (), problems=(said,))


def settlement_value(row: Row) -> Decimal | None:
    """What a share of YES was paid, from 0 to 1, in dollars or in cents; None where not given.

    >>> settlement_value({"settlement_value": 72}), settlement_value({})
    (Decimal('0.72'), None)
    """
    dollars = number(row.get("settlement_value_dollars"))
    cents = number(row.get("settlement_value"))
    value = dollars if dollars is not None else None if cents is None else cents / 100
    return value if value is not None and 0 <= value <= 1 else None
