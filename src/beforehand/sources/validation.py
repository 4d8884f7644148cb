"""Every cell of a table checked, column by column: what is read, what is missing, what is bad."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from beforehand.errors import FormatError
from beforehand.sources.columns import REQUIRED
from beforehand.sources.dictionary import Dictionary
from beforehand.sources.faults import Faults, LeftOut, Mask, shown
from beforehand.sources.instant import read_instants
from beforehand.sources.outcome import OPEN, mark_sides, read_outcomes, status_reasons
from beforehand.sources.probability import (
    DECLARED,
    EMPTY,
    FINE,
    NOT_A_NUMBER,
    Probabilities,
    mark_probabilities,
    missing_word,
    read_probabilities,
)
from beforehand.sources.sheet import NESTED, Limits, Sheet

_IDS = ("forecaster", "question", "cluster", "segment")


@dataclass(frozen=True)
class Checked:
    """One entry a row of the sheet.

    `kept` are the rows that are not bad; of these `absent` hold a missing
    answer, for the reason `reasons[reason]`.
    """

    forecaster: Dictionary
    question: Dictionary
    cluster: Dictionary | None
    segment: Dictionary | None
    kept: Mask
    absent: Mask
    reason: NDArray[np.int32]
    reasons: tuple[str, ...]
    probability: Probabilities
    crowd: Probabilities | None
    outcome: NDArray[np.int8]
    time: NDArray[np.int64] | None
    skipped: tuple[LeftOut, ...]


def check_cells(
    texts: Mapping[str, pl.Series],
    names: Mapping[str, str],
    sheet: Sheet,
    steps: int,
    skip_bad: bool,
    limits: Limits,
) -> Checked:
    """The cells of the columns `texts` by role, read; FormatError for the first bad row.

    `names` are the columns' own names. With `skip_bad` bad rows are not
    `kept` and counted in `skipped`; FormatError where none is left.
    """
    faults = Faults(sheet.name, sheet.height, sheet.place)
    for role, column in texts.items():
        _mark_texts(faults, role, column, names[role], limits)
    probability = read_probabilities(texts["probability"], steps)
    absent, reason, reasons = _absent(texts, names, probability, faults)
    mark_probabilities(faults, probability, texts["probability"], names["probability"], absent)
    outcome = read_outcomes(texts["outcome"], names["outcome"], faults)
    crowd = None
    if "crowd" in texts:
        crowd = read_probabilities(texts["crowd"], steps)
        none = (crowd.fault == EMPTY) | _is_nan(texts["crowd"], crowd)
        mark_probabilities(faults, crowd, texts["crowd"], names["crowd"], none)
    if "side" in texts:
        stated = (probability.fault == FINE) & ~absent
        mark_sides(faults, texts["side"], names["side"], probability.side, stated)
    time = read_instants(texts["time"], names["time"], faults) if "time" in texts else None
    found = {role: Dictionary.of(texts[role]) for role in _IDS if role in texts}
    _mark_contrary(faults, texts, names, found["question"], outcome)
    _mark_repeated(faults, texts, names, found, time)
    skipped = faults.settle(skip_bad)
    kept = faults.good()
    if not kept.any():
        counted = "; ".join(left.line() for left in (*sheet.skipped, *skipped))
        raise FormatError(f"{sheet.name}: no row is left; left out are {counted}")
    return Checked(
        forecaster=found["forecaster"],
        question=found["question"],
        cluster=found.get("cluster"),
        segment=found.get("segment"),
        kept=kept,
        absent=absent,
        reason=reason,
        reasons=reasons,
        probability=probability,
        crowd=crowd,
        outcome=outcome,
        time=time,
        skipped=skipped,
    )


def _mark_texts(faults: Faults, role: str, texts: pl.Series, column: str, limits: Limits) -> None:
    """What is wrong with a text whatever it means; a name may not be empty."""
    faults.mark(
        texts.str.contains(NESTED, literal=True).to_numpy(),
        "not a plain value",
        column,
        lambda row: ("a list, an object or a NUL character where a plain value was expected", ""),
    )
    if role != "status":
        faults.mark(
            (texts.str.len_bytes() > limits.text_bytes).to_numpy(),
            "text too long",
            column,
            lambda row: (
                f"{len(texts[row].encode())} bytes, over the limit of {limits.text_bytes}",
                "",
            ),
        )
    if role in _IDS:
        leave = "" if role in REQUIRED else ", or leave the whole column out"
        faults.mark(
            (texts.str.strip_chars() == "").to_numpy(),
            f"no {role}",
            column,
            lambda row: ("empty", f"every row needs a {role}{leave}"),
        )


def _absent(
    texts: Mapping[str, pl.Series],
    names: Mapping[str, str],
    probability: Probabilities,
    faults: Faults,
) -> tuple[Mask, NDArray[np.int32], tuple[str, ...]]:
    """Rows whose answer is missing and declared so, with an index of their reasons."""
    cells = texts["probability"]
    absent = np.asarray(probability.fault == DECLARED)
    reason = np.full(len(cells), -1, dtype=np.int32)
    known: dict[str, int] = {}
    for row in np.flatnonzero(absent).tolist():
        reason[row] = known.setdefault(missing_word(cells[row]), len(known))
    if "status" not in texts:
        return absent, reason, tuple(known)
    status = texts["status"]
    codes, reasons = status_reasons(status, names["status"])
    places = [known.setdefault(text, len(known)) for text in reasons]
    empty = (probability.fault == EMPTY) | _is_nan(cells, probability)
    told = (codes >= 0) & (empty | absent)
    reason[told] = np.array(places, dtype=np.int32)[codes[told]]
    faults.mark(
        (codes >= 0) & ~empty & ~absent,
        "status contradicts probability",
        names["status"],
        lambda row: (
            f"{shown(status[row])}, yet the probability is {shown(cells[row])}",
            "an answer is there or missing",
        ),
    )
    return absent | told, reason, tuple(known)


def _is_nan(texts: pl.Series, held: Probabilities) -> Mask:
    """Where a cell says nan, which in a column of floats is how nothing is written."""
    if not (held.fault == NOT_A_NUMBER).any():
        return np.zeros(len(texts), dtype=np.bool_)
    return (texts.str.strip_chars().str.to_lowercase() == "nan").to_numpy()


def _mark_contrary(
    faults: Faults,
    texts: Mapping[str, pl.Series],
    names: Mapping[str, str],
    question: Dictionary,
    outcome: NDArray[np.int8],
) -> None:
    """All rows of a question settled in more than one way are bad; open rows contradict nobody.

    A row that is bad already is no witness.
    """
    settled = np.flatnonzero((outcome > OPEN) & faults.good())[::-1]
    first = np.zeros(len(question.names), dtype=np.int64)
    first[question.codes[settled]] = settled  # the last to be written is the first row
    against = settled[outcome[settled] != outcome[first[question.codes[settled]]]]
    if not len(against):
        return
    other = np.full(len(first), -1, dtype=np.int64)
    other[question.codes[against]] = against

    def say(row: int) -> tuple[str, str]:
        code = question.codes[row]
        one, two = int(first[code]), int(other[code])
        said = texts["outcome"]
        return (
            f"question {shown(texts['question'][row])} has the outcome {shown(said[one])} in "
            f"{faults.place(one)} and {shown(said[two])} in {faults.place(two)}",
            "one question is one event: correct it, or put the date or horizon into its name",
        )

    faults.mark(other[question.codes] >= 0, "contrary outcomes", names["outcome"], say)


def _mark_repeated(
    faults: Faults,
    texts: Mapping[str, pl.Series],
    names: Mapping[str, str],
    found: Mapping[str, Dictionary],
    time: NDArray[np.int64] | None,
) -> None:
    """A second row of one forecaster on one question (at one time) is bad; the first stays."""
    good = np.flatnonzero(faults.good())
    forecaster, question = found["forecaster"].codes[good], found["question"].codes[good]
    pair = forecaster.astype(np.int64) * len(found["question"].names) + question
    order = np.lexsort((pair,) if time is None else (time[good], pair))
    same = pair[order][1:] == pair[order][:-1]
    if time is not None:
        same &= time[good][order][1:] == time[good][order][:-1]
    if not same.any():
        return
    # lexsort is stable: in a run of equal keys the first row of the table stands first.
    first = np.arange(len(order))
    first[1:][same] = 0
    first = np.maximum.accumulate(first)
    earlier = np.zeros(len(faults.good()), dtype=np.int64)
    earlier[good[order]] = good[order[first]]
    repeated = np.zeros(len(earlier), dtype=np.bool_)
    repeated[good[order[1:][same]]] = True
    also = "" if time is None else " at the same time"
    faults.mark(
        repeated,
        "repeated answer",
        names["question"],
        lambda row: (
            f"a second row of {shown(texts['forecaster'][row])} on "
            f"{shown(texts['question'][row])}{also}, after {faults.place(int(earlier[row]))}",
            "keep one, or give a time column" if time is None else "keep one",
        ),
    )
