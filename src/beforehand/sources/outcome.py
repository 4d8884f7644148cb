"""The words for what happened, for an answer's side and for a failed answer, and their faults."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from beforehand.sources.columns import plain_name
from beforehand.sources.faults import Faults, Mask, shown
from beforehand.sources.probability import EMPTY_WORDS, MISSING_WORDS, missing_word

YES, NO, VOID, OPEN, UNREADABLE = 1, 0, -1, -2, -9

YES_WORDS = ("1", "yes", "true")
NO_WORDS = ("0", "no", "false")
VOID_WORDS = ("void", "annulled", "cancelled", "canceled", "ambiguous", "nullified")
OPEN_WORDS = ("", "na", "n/a", "open", "unresolved", "pending", "null", "none", "nan")
ACCEPTED = (
    f"accepted are {', '.join(YES_WORDS)}; {', '.join(NO_WORDS)}; {', '.join(VOID_WORDS)}; "
    "and NA, open, unresolved, pending or nothing for what is still open"
)
UP_WORDS = (*YES_WORDS, "up")
DOWN_WORDS = (*NO_WORDS, "down")

# Words of a status column for an answer that is there.
ANSWERED_WORDS = frozenset({"ok", "valid", "stated", "answered", "success", "completed", "done"})
MAX_REASON_CHARS = 80
_ZERO = re.compile(r"[+-]?0*\.?0*", re.ASCII)
_ONE = re.compile(r"\+?0*1(?:\.0*)?", re.ASCII)


def outcome_code(text: str) -> int:
    """1, 0, -1 (void), -2 (open), or -9 where the text is none of the accepted words.

    A half is no outcome: a question that ended even is void.

    >>> [outcome_code(text) for text in (" Yes ", "0.0", "annulled", "", "0.5")]
    [1, 0, -1, -2, -9]
    """
    word = text.strip().casefold()
    if word in YES_WORDS or _ONE.fullmatch(word):
        return YES
    if word in NO_WORDS or (word.strip("+-.") and _ZERO.fullmatch(word)):
        return NO
    if word in VOID_WORDS:
        return VOID
    return OPEN if word in OPEN_WORDS or word in EMPTY_WORDS else UNREADABLE


def side_code(text: str) -> int:
    """1 for yes or up, -1 for no or down, 0 where nothing is said, -9 where it is no side.

    >>> [side_code(text) for text in ("YES", "down", "", "maybe")]
    [1, -1, 0, -9]
    """
    word = text.strip().casefold()
    if word in UP_WORDS or _ONE.fullmatch(word):
        return 1
    if word in DOWN_WORDS or (word.strip("+-.") and _ZERO.fullmatch(word)):
        return -1
    return 0 if word in EMPTY_WORDS or word == "nan" else UNREADABLE


def coded(texts: pl.Series, code: Callable[[str], int]) -> NDArray[np.int8]:
    """`code` of every text, worked out once for each different one."""
    different = texts.unique().to_list()
    codes = [code(text) for text in different]
    if len(different) == 1:
        return np.full(len(texts), codes[0], dtype=np.int8)
    return texts.replace_strict(different, codes, return_dtype=pl.Int8).to_numpy().copy()


def read_outcomes(texts: pl.Series, column: str, faults: Faults) -> NDArray[np.int8]:
    """The outcomes of a column; what is none becomes a fault."""
    codes = coded(texts, outcome_code)

    def say(row: int) -> tuple[str, str]:
        text = texts[row]
        even = "; an even or partial settlement is void" if _partial(text) else ""
        return f"{shown(text)} is no outcome", ACCEPTED + even

    faults.mark(codes == UNREADABLE, "no outcome", column, say)
    return codes


def _partial(text: str) -> bool:
    try:
        return 0 < float(text) < 1
    except ValueError:
        return False


def mark_sides(
    faults: Faults, texts: pl.Series, column: str, direction: NDArray[np.int8], stated: Mask
) -> None:
    """A side that is none, or that contradicts the sign `direction` of p - 1/2, is a fault."""
    codes = coded(texts, side_code)
    faults.mark(
        codes == UNREADABLE,
        "no answer side",
        column,
        lambda row: (
            f"{shown(texts[row])} is no side",
            f"accepted are {', '.join(UP_WORDS)}; {', '.join(DOWN_WORDS)}; or nothing",
        ),
    )
    faults.mark(
        stated & (codes.astype(np.int16) * direction < 0),
        "side contradicts probability",
        column,
        lambda row: (
            f"the side is {shown(texts[row])}, but the probability is "
            f"{'above' if direction[row] > 0 else 'below'} one half",
            "the probability is that of YES, whichever side was answered",
        ),
    )


def status_reasons(texts: pl.Series, column: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Which rows a status column declares missing: an index of the reasons, or -1, and these.

    In a column named `status` only the words of a failure count, since it may
    as well tell the question's state; any other name is of a column for
    failures alone, where every text is a reason.

    >>> codes, reasons = status_reasons(pl.Series(["ok", "Refused", ""]), "status")
    >>> codes.tolist(), reasons
    ([-1, 0, -1], ('refused',))
    """
    free = plain_name(column) != "status"
    reasons: dict[str, int] = {}
    found: dict[str, int] = {}
    for text in texts.unique().sort().to_list():
        reason = _reason(text, free)
        found[text] = reasons.setdefault(reason, len(reasons)) if reason else -1
    codes = texts.replace_strict(list(found), list(found.values()), return_dtype=pl.Int32)
    return codes.to_numpy().copy(), tuple(reasons)


def _reason(text: str, free: bool) -> str | None:
    word = missing_word(text)
    if word in EMPTY_WORDS or word in ANSWERED_WORDS or word in ("nan", "false", "0"):
        return None
    if word in MISSING_WORDS:
        return word
    if free and word in ("true", "1"):
        return "missing"
    return text.strip()[:MAX_REASON_CHARS] if free else None
