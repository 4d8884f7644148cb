"""From the text of an answer to one probability, or to the reason why there is none.

The same text always gives the same verdict, and no other model is asked. The
number stands in a named field of a JSON object; it is never searched for in
prose. What was refused has a sub-code of its own beside its word of FAILURES.

The order: the whole text as JSON; then, without what a model thought aloud,
the JSON objects that stand in it. One of them must hold the field. Two that
differ are two answers, and two answers are none.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

PARSER_VERSION = "p1-1"

FIELD = "probability"
RATIONALE = "rationale"

# A longer text is no answer to one question.
MAX_TEXT_CHARACTERS = 1 << 18
MAX_RATIONALE_CHARACTERS = 20_000
# Objects that are looked at. A text with more of them is junk.
MAX_OBJECTS = 2000
# The places a sealed probability may have (`records.shape`).
MAX_PLACES = 40

# Sub-code -> word of FAILURES.
SUBCODES: dict[str, str] = {
    "blank": "empty",
    "reasoning_only": "empty",
    "too_long": "unparseable",
    "too_deep": "unparseable",
    "too_tangled": "unparseable",
    "no_object": "unparseable",
    "broken_object": "unparseable",
    "no_field": "unparseable",
    "field_twice": "unparseable",
    "two_answers": "unparseable",
    "null": "unparseable",
    "boolean": "unparseable",
    "not_a_number": "unparseable",
    "quoted_number": "unparseable",
    "range": "unparseable",
    "comma": "unparseable",
    "list": "unparseable",
    "object": "unparseable",
    "words": "unparseable",
    "too_many_digits": "unparseable",
    "negative": "out_of_range",
    "above_one": "out_of_range",
}

_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]{0,399})(?:\.([0-9]{1,400}))?(?:[eE]([+-]?[0-9]{1,400}))?")
_PERCENT = re.compile(r"(-?)(0|[1-9][0-9]{0,30})(?:\.([0-9]{1,38}))? ?%")
_QUOTED = re.compile(r"-?[0-9]{0,400}\.?[0-9]{1,400}")
_RANGE = re.compile(r"[0-9.]{1,40} ?%? ?(?:-|–|—|to|\.\.) ?[0-9.]{1,40} ?%?")
_COMMA = re.compile(r"-?[0-9]{1,40},[0-9]{1,40} ?%?")
_SPACE = " \t\r\n\ufeff"

_THOUGHT = re.compile(
    r"<(/?)(?:think|thinking|thought|reasoning|reflection|scratchpad)>", re.IGNORECASE
)
_OPENING = re.compile(r'\{(?=[ \t\r\n]*["}])')
# The field with a number, outside every object that could be read: which of the
# numbers in such a text is the answer is a guess.
_STRAY = re.compile(r'"probability"[ \t\r\n]{0,100}:[ \t\r\n]{0,100}"?-?\.?[0-9]')


class _TangledError(Exception):
    """More braces than a text of one answer has."""


@dataclass(frozen=True)
class Parsed:
    """The verdict on a text: "answered" with decimal text, or a word of FAILURES with `detail`."""

    status: str
    probability: str | None = None
    detail: str = ""
    rationale: str = ""
    version: str = PARSER_VERSION


def failed(detail: str, rationale: str = "") -> Parsed:
    """The verdict that goes with a sub-code."""
    return Parsed(SUBCODES[detail], None, detail, rationale)


class _Spelled(str):
    """A JSON number as it was spelled: no rounding, and no work for a billion digits."""

    __slots__ = ()


class _Constant:
    """NaN, Infinity or -Infinity, which JSON does not have and `json` reads."""


_CONSTANT = _Constant()


class _FieldTwice:
    """In the place of a field that stands twice in one object."""


_FIELD_TWICE = _FieldTwice()


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs) and sum(key == FIELD for key, _ in pairs) > 1:
        found[FIELD] = _FIELD_TWICE
    return found


# strict=False: a rationale with a line break in it is common and harms nothing.
_DECODER = json.JSONDecoder(
    parse_float=_Spelled,
    parse_int=_Spelled,
    parse_constant=lambda _: _CONSTANT,
    object_pairs_hook=_pairs,
    strict=False,
)


def parse(text: str) -> Parsed:
    """The verdict on an answer's text; never raises, in time linear in the text.

    >>> parse('{"rationale": "dry season", "probability": 0.070}').probability
    '0.070'
    >>> parse('{"probability": "0.9%"}').probability
    '0.009'
    >>> parse('{"probability": 70}').detail
    'above_one'
    """
    if len(text) > MAX_TEXT_CHARACTERS:
        return failed("too_long")
    whole = text.strip(_SPACE)
    if not whole:
        return failed("blank")
    try:
        direct = _direct(whole)
        if direct is not None:
            return _object(direct)
        spoken = without_thoughts(whole).strip(_SPACE)
        if not spoken:
            return failed("reasoning_only")
        found, around = _objects(spoken)
        return failed("broken_object") if _STRAY.search(around) else _one_of(found)
    except RecursionError:
        return failed("too_deep")
    except _TangledError:
        return failed("too_tangled")


def _direct(text: str) -> dict[str, Any] | None:
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and end == len(text) else None


def without_thoughts(text: str) -> str:
    """The text without `<think>…</think>` and its kin.

    A closing tag without an opening one ends a thought that began before the
    text; an opening one that is never closed begins one that has no end.
    """
    kept: list[str] = []
    thinking = False
    position = 0
    for tag in _THOUGHT.finditer(text):
        closes = bool(tag.group(1))
        if closes and not thinking:
            kept.clear()
        elif not closes and not thinking:
            kept.append(text[position : tag.start()])
        thinking = not closes
        position = tag.end()
    return "".join(kept if thinking else [*kept, text[position:]])


def _objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """The outermost JSON objects that stand in a text, and the text around them.

    An object that breaks off is skipped as far as it was read: what stands
    inside it is a part of something, and not the answer.
    """
    found: list[dict[str, Any]] = []
    around: list[str] = []
    position = 0
    for _ in range(MAX_OBJECTS):
        start = _OPENING.search(text, position)
        if start is None:
            break
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            end = max(error.pos, start.end())
            around.append(text[position:end])
        else:
            found.append(value)
            around.append(text[position : start.start()])
        position = end
    else:
        raise _TangledError
    around.append(text[position:])
    return found, "\n".join(around)


def _one_of(found: list[dict[str, Any]]) -> Parsed:
    """The verdict on a text with several objects in it."""
    if not found:
        return failed("no_object")
    named = [_object(each) for each in found if FIELD in each]
    if not named:
        return failed("no_field")
    # An object whose field holds no number (an echoed pattern) is no answer;
    # one whose number is out of range is one, and a different one.
    answers = [each for each in named if each.status in ("answered", "out_of_range")]
    if not answers:
        return named[-1]
    if any(each.detail == "field_twice" for each in named):
        return failed("two_answers")
    last = answers[-1]
    if all(_same(each, last) for each in answers):
        return last
    return failed("two_answers", last.rationale)


def _same(one: Parsed, other: Parsed) -> bool:
    if one.probability is None or other.probability is None:
        return one.probability is other.probability
    return Decimal(one.probability) == Decimal(other.probability)


def _object(found: dict[str, Any]) -> Parsed:
    """The verdict on the one object that is the answer."""
    told = found.get(RATIONALE)
    rationale = told[:MAX_RATIONALE_CHARACTERS] if type(told) is str else ""
    if FIELD not in found:
        return failed("no_field", rationale)
    verdict = _value(found[FIELD])
    return Parsed(verdict.status, verdict.probability, verdict.detail, rationale)


def _value(value: Any) -> Parsed:
    """The verdict on what stands in the field."""
    if isinstance(value, _Spelled):
        return _number(value)
    if isinstance(value, str):
        return _words(value.strip(_SPACE))
    if value is None:
        return failed("null")
    if isinstance(value, bool):
        return failed("boolean")
    if isinstance(value, _FieldTwice):
        return failed("field_twice")
    if isinstance(value, _Constant):
        return failed("not_a_number")
    return failed("list" if isinstance(value, list) else "object")


def _words(text: str) -> Parsed:
    """A string in the field: a percentage with its sign, and nothing else.

    The sign decides and never the size: "0.9%" is 0.009.
    """
    match = _PERCENT.fullmatch(text)
    if match is not None:
        sign, whole, fraction = match.groups()
        digits = whole.zfill(3)
        return _plain(sign, digits[:-2].lstrip("0") or "0", digits[-2:] + (fraction or ""))
    if _COMMA.fullmatch(text[:100]):
        return failed("comma")
    if _RANGE.fullmatch(text[:100]):
        return failed("range")
    return failed("quoted_number" if _QUOTED.fullmatch(text[:900]) else "words")


def _number(text: str) -> Parsed:
    """A JSON number as spelled; one with an exponent is written out, at the same value."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return failed("too_many_digits" if len(text) > 400 else "not_a_number")
    sign, whole, fraction, exponent = match.groups()
    if exponent is None:
        return _plain(sign, whole, fraction or "")
    return _scaled(sign, whole + (fraction or ""), int(exponent) - len(fraction or ""))


def _scaled(sign: str, digits: str, exponent: int) -> Parsed:
    """digits x 10^exponent, without ever writing a billion zeros."""
    digits = digits.lstrip("0")
    if not digits:
        return _plain(sign, "0", "")
    if len(digits) + exponent > 1:
        return failed("negative" if sign else "above_one")
    if -exponent > MAX_PLACES + len(digits):
        return failed("negative" if sign else "too_many_digits")
    value = Decimal((0, tuple(map(int, digits)), exponent))
    whole, _, fraction = format(value, "f").partition(".")
    return _plain(sign, whole, fraction)


def _plain(sign: str, whole: str, fraction: str) -> Parsed:
    """The verdict on decimal digits: in range, and no more places than can be sealed."""
    nothing = not whole.strip("0") and not fraction.strip("0")
    if sign and not nothing:
        return failed("negative")
    if whole not in ("0", "1") or (whole == "1" and fraction.strip("0")):
        return failed("above_one")
    if len(fraction) > MAX_PLACES:
        return failed("too_many_digits")
    return Parsed("answered", f"{whole}.{fraction}" if fraction else whole)
