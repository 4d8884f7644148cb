"""JSON whose numbers stay the text that stands in the file: nothing is rounded on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from beforehand.errors import FormatError
from beforehand.sources.sheet import LIMITS, Limits, read_bytes


class Number(str):
    """A number as its text; `NaN` and `Infinity`, which are no JSON but are written, too."""

    __slots__ = ()


class _TwiceError(ValueError):
    """A key that stands twice in one object."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise _TwiceError
    return built


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=Number, parse_int=Number, parse_constant=Number
)


def decode_text(data: bytes, where: str) -> Any:
    """The value of a JSON text in UTF-8, its numbers as `Number`; FormatError says what is wrong.

    >>> decode_text(b'[0.10, "a", null]', "t.json")
    ['0.10', 'a', None]
    """
    try:
        return _DECODER.decode(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FormatError(f"{where}: not UTF-8 at byte {error.start}") from None
    except _TwiceError:
        raise FormatError(f"{where}: one key stands twice in an object") from None
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{where}: not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise FormatError(f"{where}: nested too deeply") from None


def read_json(path: Path, limits: Limits = LIMITS) -> Any:
    """The value of a JSON file, as `decode_text` has it; FormatError over the limit."""
    whole = replace(limits, file_bytes=min(limits.file_bytes, limits.whole_bytes))
    return decode_text(read_bytes(path, whole), path.name)


def as_object(value: Any, where: str) -> dict[str, Any]:
    """The value if it is an object; FormatError else."""
    if not isinstance(value, dict):
        raise FormatError(f"{where}: not an object of JSON")
    return value


def as_list(entry: dict[str, Any], key: str, where: str) -> list[Any]:
    """The list under `key`; FormatError where there is none."""
    value = entry.get(key)
    if not isinstance(value, list):
        raise FormatError(f"{where}: {key} is not a list")
    return value


def as_text(entry: dict[str, Any], key: str, where: str) -> str:
    """The text under `key`, which is not empty; FormatError where there is none."""
    value = entry.get(key)
    if not isinstance(value, str) or isinstance(value, Number) or not value:
        raise FormatError(f"{where}: {key} is {value!r:.60}, not a text")
    return value
