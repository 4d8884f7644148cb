"""How a record becomes bytes, and the limits on those bytes.

Three canonical forms exist in the standard and are three functions, never one:

* `seal_json`      J, for seals, links and cells: sorted keys, Python's default separators, UTF-8
* `ascii_json`     the same with ASCII escapes, for the climatology seal
* `contract_json`  sorted keys, no spaces, UTF-8, for event-contract ids

J is defined by Python's `json.dumps` (seed "Sealed Before the Open", 3.2).
To keep it the same in every language, `check_content` refuses at writing
whatever languages print differently.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from itertools import chain
from math import inf
from typing import Any

from beforehand.errors import FormatError

BOOKKEEPING = ("n", "prev", "seal", "link")

MAX_LINE_BYTES = 1 << 20
MAX_TEXT_CHARS = 1 << 18
MAX_KEY_CHARS = 64
MAX_DEPTH = 12
MAX_READ_DEPTH = 100
MAX_INTEGER = 1 << 53
MAX_ITEMS = 20_000

_KEY = re.compile(r"[\x21-\x7e]+")
_DIGEST = re.compile(r"[0-9a-f]{64}")

# Keys that were found good, so that a reader looks at each only once.
_GOOD_KEYS: set[str] = set()
_MOST_GOOD_KEYS = 4096
_PLAIN_TYPES = {str, bool, type(None)}

_SEAL_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
# The encoder that json builds anew for every call, built once: a verifier of a
# million lines spends a third less time. Absent where json has no C part.
_MAKE_ENCODER: Any = getattr(json.encoder, "c_make_encoder", None)
_ASCII_ENCODER = json.JSONEncoder(sort_keys=True)
_CONTRACT_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def seal_text(value: Any) -> str:
    """J as text.

    >>> seal_text({"b": 1, "a": "π"})
    '{"a": "π", "b": 1}'
    """
    return _SEAL_ENCODER.encode(value)


def _c_seal_text(value: Any) -> str:
    return "".join(_C_SEAL_ENCODER(value, 0))


if _MAKE_ENCODER is not None:
    _C_SEAL_ENCODER: Any = _MAKE_ENCODER(
        None,
        _SEAL_ENCODER.default,
        json.encoder.encode_basestring,
        None,
        _SEAL_ENCODER.key_separator,
        _SEAL_ENCODER.item_separator,
        True,
        False,
        True,
    )
    _seal_text_fast = _c_seal_text
else:  # pragma: no cover - another Python
    _seal_text_fast = seal_text


def seal_json(value: Any) -> bytes:
    """J as UTF-8 bytes; FormatError where the value has no UTF-8 (a lone surrogate)."""
    return _utf8(seal_text(value))


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(f"a text holds a lone surrogate: {error.reason}") from None


def ascii_json(value: Any) -> bytes:
    r"""The climatology form: J with every non-ASCII character escaped.

    >>> ascii_json({"a": "π"})
    b'{"a": "\\u03c0"}'
    """
    return _ASCII_ENCODER.encode(value).encode("ascii")


def contract_json(value: Any) -> bytes:
    """The event-contract form; FormatError for a lone surrogate, which has no UTF-8.

    >>> contract_json({"b": 1, "a": "x"})
    b'{"a":"x","b":1}'
    """
    return _utf8(_CONTRACT_ENCODER.encode(value))


def digest(data: bytes) -> str:
    """SHA-256 as 64 lower-case hex characters."""
    return hashlib.sha256(data).hexdigest()


def is_digest(value: object) -> bool:
    """Whether a value is a text such as `digest` gives."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _refuse_constant(token: str) -> Any:
    raise FormatError(f"{token} is not JSON")


def _finite_float(token: str) -> float:
    value = float(token)
    if value in (inf, -inf):
        raise FormatError(f"the number {token:.40} is beyond what can be read and written again")
    return value


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built: dict[str, Any] = {}
    for key, value in pairs:
        if key in built:
            raise FormatError(f"the key {key!r:.80} stands twice in one object")
        built[key] = value
    return built


_PLAIN_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_scan_once: Any = getattr(_PLAIN_DECODER, "scan_once")  # noqa: B009 - unknown to its type stub
_STRICT_DECODER = json.JSONDecoder(
    parse_float=_finite_float,
    parse_constant=_refuse_constant,
    object_pairs_hook=_refuse_duplicates,
)


def decode_json(data: bytes, *, strict: bool = True) -> Any:
    """The value of one JSON text in UTF-8.

    `strict` also refuses a key that stands twice. A caller that compares the
    text with its canonical form afterwards needs no such check: a second key
    would make the two differ. FormatError says what is wrong.
    """
    decoder = _STRICT_DECODER if strict else _PLAIN_DECODER
    try:
        value = decoder.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise FormatError("nested too deeply") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise FormatError(f"not a usable number: {error}") from None
    if data.count(b"[") + data.count(b"{") > MAX_READ_DEPTH:
        check_read_depth(value)
    return value


def check_read_depth(value: Any) -> None:
    """FormatError for a value nested deeper than is read, whatever this machine could take."""
    level = [value]
    for _ in range(MAX_READ_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return
        level = below
    raise FormatError(f"nested deeper than {MAX_READ_DEPTH}")


def check_content(content: object) -> None:
    """Refuse content that must not be written; FormatError names the place.

    Refused: anything but an object at the top, floats (write decimal text),
    integers beyond 2^53, keys that are not printable ASCII, bookkeeping keys
    at the top, lone surrogates, and whatever is over a limit of this module.

    >>> check_content({"kind": "note", "p": 0.5})
    Traceback (most recent call last):
    beforehand.errors.FormatError: .p: a float is not written to a book; write decimal text
    """
    if not isinstance(content, dict):
        raise FormatError("the content of a line must be an object")
    for key in BOOKKEEPING:
        if key in content:
            raise FormatError(f".{key}: a bookkeeping key cannot stand in the content")
    _check_value(content, "", 0)


def is_writable(value: dict[str, Any], size: int) -> bool:
    """Whether an object decoded from `size` bytes, bookkeeping left in, holds what may be written.

    The rules of `check_content`, level by level: a reader asks this of every
    line, and `check_content` for the words of the few that are not.
    """
    short = size <= MAX_ITEMS  # no text and no list of it can be too long
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        kinds = set(map(type, level))
        if short and kinds <= _PLAIN_TYPES:
            return True
        if short and kinds == {dict}:
            if not _keys_are_good(chain.from_iterable(level)):
                return False
            level = list(chain.from_iterable(map(dict.values, level)))
        else:
            below: list[Any] = []
            if not all(_is_good(item, below) for item in level):
                return False
            level = below
        if not level:
            return True
    return False


def _is_good(item: Any, below: list[Any]) -> bool:
    """Whether one value, what is in it left out, may be written; what is in it goes to `below`."""
    kind = type(item)
    if kind is str:
        return len(item) <= MAX_TEXT_CHARS
    if kind is int:
        return bool(-MAX_INTEGER <= item <= MAX_INTEGER)
    if kind is dict or kind is list:
        below += item.values() if kind is dict else item
        return len(item) <= MAX_ITEMS and (kind is list or _keys_are_good(item))
    return kind is not float


def _keys_are_good(keys: Iterable[str]) -> bool:
    fresh = set(keys) - _GOOD_KEYS
    if not all(map(_is_key, fresh)):
        return False
    if fresh and len(_GOOD_KEYS) < _MOST_GOOD_KEYS:
        _GOOD_KEYS.update(fresh)
    return True


def _is_key(key: object) -> bool:
    return isinstance(key, str) and len(key) <= MAX_KEY_CHARS and bool(_KEY.fullmatch(key))


def _check_value(value: object, where: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FormatError(f"{where}: nested deeper than {MAX_DEPTH}")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise FormatError(f"{where}: an integer beyond 2^53; write decimal text")
    elif isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, float):
        raise FormatError(f"{where}: a float is not written to a book; write decimal text")
    elif isinstance(value, (dict, list, tuple)):
        if len(value) > MAX_ITEMS:
            raise FormatError(f"{where}: more than {MAX_ITEMS} items")
        if isinstance(value, dict):
            for key, item in value.items():
                if not _is_key(key):
                    raise FormatError(
                        f"{where}: the key {key!r:.80} is not printable ASCII "
                        f"of 1 to {MAX_KEY_CHARS} characters"
                    )
                _check_value(item, f"{where}.{key}", depth + 1)
        else:
            for position, item in enumerate(value):
                _check_value(item, f"{where}[{position}]", depth + 1)
    else:
        raise FormatError(f"{where}: a {type(value).__name__} has no place in a line")


def _check_text(value: str, where: str) -> None:
    if len(value) > MAX_TEXT_CHARS:
        raise FormatError(f"{where}: a text over {MAX_TEXT_CHARS} characters; make it a body")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError(f"{where}: a lone surrogate") from None
