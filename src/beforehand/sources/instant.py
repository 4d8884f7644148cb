"""Instants as text onto microseconds UTC; a time without a zone is refused, never guessed."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from beforehand.sources.faults import Faults, shown

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-5][0-9])?"
_WHOLE = rf"^({_DATE})[T ]({_CLOCK})(?:\.([0-9]{{1,9}}))? ?(Z|z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}})$"
_NAIVE = rf"^{_DATE}[T ]{_CLOCK}(?:\.[0-9]{{1,9}})?$"
_MICRO = 1_000_000
_DO = "write it as 2026-01-05T12:00:00Z"


def read_instants(texts: pl.Series, column: str, faults: Faults) -> NDArray[np.int64]:
    """Microseconds since 1970 UTC, one a row; what is no instant becomes a fault.

    Accepted is RFC 3339, with a blank for the T, without seconds, and with
    `UTC` or an offset without colon too: `2026-01-05 12:00:00.5+01:00`.

    >>> faults = Faults("t", 1, str)
    >>> read_instants(pl.Series(["1970-01-01T01:00:00.5+01:00"]), "time", faults).tolist()
    [500000]
    """
    stripped = texts.str.strip_chars(" \t")
    parts = stripped.str.extract_groups(_WHOLE).struct.unnest()
    day, clock, fraction, zone = (parts.to_series(place) for place in range(4))
    seconds = pl.select(
        pl.when(clock.str.len_chars() == 5).then(clock + ":00").otherwise(clock)
    ).to_series()
    moments = (day + "T" + seconds).str.to_datetime(
        "%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False
    )
    finest = fraction.fill_null("").str.pad_end(9, "0").cast(pl.Int64).to_numpy()
    offset, wrong_zone = _offsets(zone)
    _mark(faults, stripped, column, day.is_not_null().to_numpy())
    faults.mark(
        np.asarray(day.is_not_null().to_numpy() & (moments.is_null().to_numpy() | wrong_zone)),
        "no time",
        column,
        lambda row: (f"{shown(texts[row])} is no date and time", ""),
    )
    faults.mark(
        np.asarray(finest % 1000 != 0),
        "too fine a time",
        column,
        lambda row: (f"{shown(texts[row])} is finer than a microsecond", "round it yourself"),
    )
    whole = moments.to_physical().fill_null(0).to_numpy()
    return np.asarray(whole + finest // 1000 - offset * 60 * _MICRO, dtype=np.int64)


def _offsets(zone: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Minutes east of UTC, and where they are more than a day's worth."""
    signed = zone.str.contains(r"^[+-]").fill_null(False)
    digits = zone.str.replace(":", "", literal=True).str.slice(1)
    number = digits.cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    number = np.where(signed.to_numpy(), number, 0)
    hours, minutes = number // 100, number % 100
    sign = np.where(zone.str.starts_with("-").fill_null(False).to_numpy(), -1, 1)
    return sign * (hours * 60 + minutes), (hours > 23) | (minutes > 59)


def _mark(faults: Faults, texts: pl.Series, column: str, whole: NDArray[np.bool_]) -> None:
    if whole.all():
        return
    empty = (texts == "").to_numpy()
    naive = texts.str.contains(_NAIVE).to_numpy()
    day = texts.str.contains(rf"^{_DATE}$").to_numpy()
    faults.mark(
        empty, "no time", column, lambda row: ("empty", f"{_DO}, or leave the whole column out")
    )
    faults.mark(
        naive,
        "time without a zone",
        column,
        lambda row: (
            f"{shown(texts[row])} has no zone",
            f"{_DO}, with Z or its offset from UTC",
        ),
    )
    faults.mark(
        day,
        "time without a zone",
        column,
        lambda row: (
            f"{shown(texts[row])} is a day without time and zone",
            f"{_DO}, or name the column 'session' if the day is a label",
        ),
    )
    faults.mark(
        ~whole & ~empty & ~naive & ~day,
        "no time",
        column,
        lambda row: (f"{shown(texts[row])} is no time", _DO),
    )
