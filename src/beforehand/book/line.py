"""One line of a book: content plus `n`, `prev`, `seal`, `link`.

Format of the seed "Sealed Before the Open", 3.2 and Appendix B, step 4:
`seal = SHA-256(J(content))`, `link = SHA-256(J(content + n, prev, seal))`,
`prev` is the link of the line before, empty on the first. We store
`J(line)` + LF.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from beforehand.errors import FormatError
from beforehand.records.codec import (
    BOOKKEEPING,
    MAX_INTEGER,
    MAX_LINE_BYTES,
    _scan_once,
    _seal_text_fast,
    check_content,
    check_read_depth,
    decode_json,
    digest,
    is_writable,
    seal_json,
)

# Templates of J by the keys of short flat lines: the whole line, its content,
# which values are the content's, and which of these are numbers.
FLAT_BYTES = 4096
MAX_TEMPLATES = 256
_Template = tuple[str, str, Callable[[tuple[Any, ...]], Any], tuple[int, ...]]
_TEMPLATES: dict[tuple[str, ...], _Template] = {}


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
    value, seal, link, _ = read_stored(raw)
    return value, seal, link


def read_stored(raw: bytes) -> tuple[dict[str, Any], str, str, bool]:
    """What `read_line` gives, and whether a writer could have written the content."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None
    found = _read_canonical(raw, text)
    if found is not None:
        value, content, linked, known = found
        writable = known or is_writable(value, len(raw))
        if not writable:
            check_read_depth(value)
        return value, digest(content), digest(linked), writable
    value = decode_json(raw)
    if not isinstance(value, dict):
        raise FormatError("a line must be an object")
    seal = digest(seal_json({k: v for k, v in value.items() if k not in BOOKKEEPING}))
    link = digest(seal_json({k: v for k, v in value.items() if k != "link"}))
    return value, seal, link, is_writable(value, len(raw))


def _read_canonical(raw: bytes, text: str) -> tuple[dict[str, Any], bytes, bytes, bool] | None:
    """The object, J(content) and J(line without link) of a line that is J itself.

    The fast way in for what we store; at last, whether the content is known to
    be writable. The comparison with J refuses at once whatever the strict
    decoder would: a second key, other spacing, anything after the end. None
    where the slow way has to decide.
    """
    try:
        value, _ = _scan_once(text, 0)
        if type(value) is not dict:
            return None
        flat = len(raw) < FLAT_BYTES and raw.find(b"{", 1) < 0 and raw.find(b"\\") < 0
        cut = _fill(raw, text, value) if flat else None
        if cut is not None:
            return value, *cut, True
        if _seal_text_fast(value) == text:
            cut = _cut(raw, value)
            if flat and cut is not None:
                _learn(value)
    except (StopIteration, ValueError, RecursionError, FormatError):
        return None
    return None if cut is None else (value, *cut, False)


def _learn(value: dict[str, Any]) -> None:
    """Keep the templates of a flat writable line that is J, for the lines with the same keys."""
    plain = all(type(item) in (str, int) for item in value.values())
    if plain and len(_TEMPLATES) < MAX_TEMPLATES and is_writable(value, FLAT_BYTES):
        parts = [
            f'"{key}": '.replace("%", "%%") + ('"%s"' if type(item) is str else "%s")
            for key, item in value.items()
        ]
        own = [place for place, key in enumerate(value) if key not in BOOKKEEPING]
        whole, content = ("{" + ", ".join(few) + "}" for few in (parts, [parts[i] for i in own]))
        numbers = tuple(i for i in own if not parts[i].endswith('"'))
        _TEMPLATES[tuple(value)] = whole, content, itemgetter(*own), numbers


def _fill(raw: bytes, text: str, value: dict[str, Any]) -> tuple[bytes, bytes] | None:
    """J(content) and J(line without link) of a flat line without an escape, by its template.

    Where a template filled with the line's own values gives the line, it is J:
    behind the same keys JSON read each value from what stands in its place. In
    quotes that is a string, and J prints one without escapes as it is; outside
    quotes, a number as Python prints it, which is how J does. The keys being
    good and the line short, only a number may be what is not written.
    """
    template = _TEMPLATES.get(tuple(value))
    if template is None:
        return None
    whole, content, own, numbers = template
    values = tuple(value.values())
    if whole % values != text:
        return None
    for place in numbers:
        if type(values[place]) is not int or abs(values[place]) > MAX_INTEGER:
            return None
    start = raw.find(b'"link": "')
    end = raw.find(b'"', start + 9) + 3
    return (content % own(values)).encode("utf-8"), raw[:start] + raw[end:]


def _cut(raw: bytes, value: Mapping[str, Any]) -> tuple[bytes, bytes] | None:
    """J(content) and J(line without link), cut out of the bytes of a line that is J itself.

    Faster than printing both anew. The keys at the top are sorted, so each is
    looked for behind the one before. Where the line holds an object or an
    escape, something else may look like a key: then no second one may follow.
    Only `seal` can come last, and `at` or `kind` stand before it.
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
    find = raw.find
    a = find(b'"link": ')
    b = a + len(link) + 12
    c = find(b'"n": ', b)
    d = c + len(str(n)) + 7
    e = find(b'"prev": ', d)
    f = e + len(prev) + 12
    g = find(b'"seal": ', f)
    h = g + len(seal) + 12
    escaped = find(b"\\") >= 0
    if escaped and (find(b"\\", a, b) >= 0 or find(b"\\", e, f) >= 0 or find(b"\\", g, h) >= 0):
        return None  # an escape makes its text wider than its value
    if (escaped or find(b"{", 1) >= 0) and (
        find(b'"link": ', a + 1) >= 0
        or find(b'"n": ', c + 1) >= 0
        or find(b'"prev": ', e + 1) >= 0
        or find(b'"seal": ', g + 1) >= 0
    ):
        return None
    linked = raw[:a] + raw[b:]
    head = raw[:a] + raw[b:c] + raw[d:e] + raw[f:g]
    if h > len(raw):  # nothing follows the seal: the comma before it goes too
        return head[:-2] + b"}", linked
    return head + raw[h:], linked
