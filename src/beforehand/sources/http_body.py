"""The body of an answer, bounded while it arrives; JSON whose numbers are never floats."""

from __future__ import annotations

import json
import zlib
from decimal import Decimal, InvalidOperation
from typing import Any

from beforehand.errors import FormatError

MAX_JSON_DEPTH = 40
MAX_NUMBER_CHARS = 120
MAX_EXPONENT = 400

_GZIP_OR_ZLIB = 47


class TooLarge(Exception):  # noqa: N818 - said to the caller as a RemoteError
    """The body passed its limit."""


class Undecodable(Exception):  # noqa: N818 - said to the caller as a RemoteError
    """The body is not what its Content-Encoding says."""


class Body:
    """Takes the chunks of a body, undoes its coding, and never holds more than `most` bytes.

    A small chunk that would inflate to gigabytes is stopped after `most` bytes.

    >>> body = Body("identity", 10)
    >>> body.feed(b"abc")
    >>> body.finish()
    b'abc'
    """

    def __init__(self, coding: str, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._held = 0
        self._inflater = _inflater(coding)

    def feed(self, chunk: bytes) -> None:
        """One more chunk as it came; TooLarge past the limit, Undecodable where it is no gzip."""
        if self._inflater is None:
            self._keep(chunk)
            return
        while chunk:
            try:
                self._keep(self._inflater.decompress(chunk, self._most - self._held + 1))
            except zlib.error as error:
                raise Undecodable(str(error)) from None
            if self._inflater.eof and self._inflater.unused_data:
                raise Undecodable("bytes after the end of the compressed body")
            chunk = self._inflater.unconsumed_tail

    def finish(self) -> bytes:
        """The whole body; Undecodable where the compressed stream is cut off."""
        if self._inflater is not None and self._parts and not self._inflater.eof:
            raise Undecodable("the compressed body is cut off")
        return b"".join(self._parts)

    def _keep(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self._most:
            raise TooLarge
        self._parts.append(piece)


def _inflater(coding: str) -> Any:
    match coding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return zlib.decompressobj(_GZIP_OR_ZLIB)
        case "deflate":
            return zlib.decompressobj(_GZIP_OR_ZLIB)
        case _:
            raise Undecodable(f"Content-Encoding {coding!r:.40}, which was not asked for")


def decode_json(data: bytes) -> Any:
    """The value of a JSON text: whole numbers as int, others as Decimal, never a float.

    FormatError for what is not UTF-8 or JSON, a key that stands twice,
    NaN or Infinity, a number beyond reason, and nesting over 40.

    >>> decode_json(b'{"p": 0.10, "n": 3}')
    {'p': Decimal('0.10'), 'n': 3}
    >>> decode_json(b'{"p": 1, "p": 2}')
    Traceback (most recent call last):
    beforehand.errors.FormatError: the key 'p' stands twice in one object
    """
    try:
        value = _DECODER.decode(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise FormatError(
            f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise FormatError(f"nested deeper than {MAX_JSON_DEPTH}") from None
    _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_JSON_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise FormatError(f"nested deeper than {MAX_JSON_DEPTH}")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FormatError(f"the key {twice!r:.40} stands twice in one object")
    return built


def _whole(text: str) -> int:
    if len(text) > MAX_NUMBER_CHARS:
        raise FormatError(f"a number of {len(text)} digits")
    return int(text)


def _fraction(text: str) -> Decimal:
    if len(text) > MAX_NUMBER_CHARS:
        raise FormatError(f"a number of {len(text)} digits")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise FormatError(f"{text!r:.40} is no number") from None
    # 1e999999999 is short to write and has no end when it is printed.
    if not number.is_finite() or abs(number.adjusted()) > MAX_EXPONENT:
        raise FormatError(f"{text!r:.40} is a number beyond reason")
    return number


def _constant(text: str) -> Any:
    raise FormatError(f"{text} is no number of JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=_fraction, parse_int=_whole, parse_constant=_constant
)
