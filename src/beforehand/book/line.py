"""One line of a book: content plus `n`, `prev`, `seal`, `link`.

Format of the seed "Sealed Before the Open", 3.2 and Appendix B, step 4:
`seal = SHA-256(J(content))`, `link = SHA-256(J(content + n, prev, seal))`,
`prev` is the link of the line before, empty on the first. We store
`J(line)` + LF.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.codec import (
    BOOKKEEPING,
    MAX_LINE_BYTES,
    canonical_value,
    check_content,
    decode_json,
    digest,
    seal_json,
)

_KEYS = (b'"link": ', b'"n": ', b'"prev": ', b'"seal": ')


@dataclass(frozen=True)
class Line:
    """A line as it is stored: `raw` are its bytes without the LF."""

    n: int
    prev: str
    seal: str
    link: str
    content: Mapping[str, Any]
    raw: bytes


def make_line(content: Mapping[str, Any], n: int, prev: str) -> Line:
    """The `n`-th line with this content after the line whose link is `prev`.

    >>> line = make_line({"at": "2026-01-01T00:00:00Z", "kind": "note", "text": "first — π"}, 1, "")
    >>> line.seal[:8], line.link[:8]
    ('2e2f6d25', 'a049c192')
    """
    held = dict(content)
    check_content(held)
    seal = digest(seal_json(held))
    linked = {**held, "n": n, "prev": prev, "seal": seal}
    link = digest(seal_json(linked))
    raw = seal_json({**linked, "link": link})
    if len(raw) >= MAX_LINE_BYTES:
        raise FormatError(
            f"a line of {len(raw)} bytes is over the limit of {MAX_LINE_BYTES}; make it a body"
        )
    return Line(n, prev, seal, link, held, raw)


def read_line(raw: bytes) -> tuple[dict[str, Any], str, str]:
    """The object of a stored line, and the seal and link that its content demands.

    Any JSON spelling is accepted; what J makes of it is hashed. FormatError
    says why a line cannot be read.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None
    value = canonical_value(text)
    if type(value) is dict:
        cut = _cut(raw, value)
        if cut is not None:
            content, linked = cut
            return value, digest(content), digest(linked)
    value = decode_json(raw)
    if not isinstance(value, dict):
        raise FormatError("a line must be an object")
    seal = digest(seal_json({k: v for k, v in value.items() if k not in BOOKKEEPING}))
    link = digest(seal_json({k: v for k, v in value.items() if k != "link"}))
    return value, seal, link


def _cut(raw: bytes, value: Mapping[str, Any]) -> tuple[bytes, bytes] | None:
    """J(content) and J(line without link), cut out of the bytes of a line that is J itself.

    Faster than printing both anew. A quote inside a string is escaped, so what
    looks like a key is one; it is the key at the top where the line holds no
    other object, or where it occurs once. Keys are sorted, so only `seal` can
    come last, and `at` or `kind` stand before it.
    Anything doubtful gives None, and the slow way decides.
    """
    try:
        link, prev, seal, n = value["link"], value["prev"], value["seal"], value["n"]
    except KeyError:
        return None
    if type(n) is not int or not (type(link) is type(prev) is type(seal) is str):
        return None
    if len(value) < 5 or not (link.isascii() and prev.isascii() and seal.isascii()):
        return None
    if raw.find(b"\\") >= 0 and not (link + prev + seal).isalnum():
        return None  # an escape would make them wider than they are
    if raw.find(b"{", 1) >= 0 and any(raw.count(key) != 1 for key in _KEYS):
        return None
    a = raw.find(b'"link": ')
    b = a + len(link) + 12
    c = raw.find(b'"n": ', b)
    d = c + len(str(n)) + 7
    e = raw.find(b'"prev": ', d)
    f = e + len(prev) + 12
    g = raw.find(b'"seal": ', f)
    h = g + len(seal) + 12
    linked = raw[:a] + raw[b:]
    head = raw[:a] + raw[b:c] + raw[d:e] + raw[f:g]
    if h > len(raw):  # nothing follows the seal: the comma before it goes too
        return head[:-2] + b"}", linked
    return head + raw[h:], linked
