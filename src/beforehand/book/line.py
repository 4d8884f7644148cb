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
        cut = _cut(text, value)
        if cut is not None:
            content, linked = cut
            return value, digest(content.encode("utf-8")), digest(linked.encode("utf-8"))
    value = decode_json(raw)
    if not isinstance(value, dict):
        raise FormatError("a line must be an object")
    seal = digest(seal_json({k: v for k, v in value.items() if k not in BOOKKEEPING}))
    link = digest(seal_json({k: v for k, v in value.items() if k != "link"}))
    return value, seal, link


def _cut(text: str, value: Mapping[str, Any]) -> tuple[str, str] | None:
    """J(content) and J(line without link), cut out of the canonical text of the line.

    Faster than printing both anew. A cut is taken only where its key occurs
    once: in JSON a quote inside a string is escaped, so a single occurrence
    is the key at the top. Keys are sorted, so only `seal` can come last, and
    `at` or `kind` stand before it.
    Anything doubtful gives None, and the slow way decides.
    """
    try:
        link, prev, seal, n = value["link"], value["prev"], value["seal"], value["n"]
    except KeyError:
        return None
    if type(n) is not int or not (type(link) is type(prev) is type(seal) is str):
        return None
    joined = link + prev + seal
    if len(value) < 5 or '"' in joined or "\\" in joined:
        return None
    places = []
    for key, width in (
        ('"link": ', len(link) + 2),
        ('"n": ', len(str(n))),
        ('"prev": ', len(prev) + 2),
        ('"seal": ', len(seal) + 2),
    ):
        start = text.find(key)
        if text.find(key, start + 1) >= 0:
            return None
        places.append((start, start + len(key) + width + 2))
    (a, b), (c, d), (e, f), (g, h) = places
    head = text[:a] + text[b:c] + text[d:e] + text[f:g]
    if h > len(text):  # nothing follows the seal: the comma before it goes too
        return head[:-2] + "}", text[:a] + text[b:]
    return head + text[h:], text[:a] + text[b:]
