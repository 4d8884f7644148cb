"""Text and numbers as pages show them. What comes from the data is never trusted.

Escaping is the template engine's. This module makes visible what escaping
leaves as it is: control characters, and the invisible ones that turn or hide
text ("Trojan source").
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

NOTHING = "—"
MINUS = "\u2212"

# C0 (tab and line feed excepted), C1, bidi controls and marks, zero-width and
# interlinear characters, separators, tags, surrogates, noncharacters.
# U+200C and U+200D stay: whole scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_HTTPS = re.compile(
    r"https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?"
    r"(?:[/?#][A-Za-z0-9._~:/?#\[\]@!$&()*+,;=%-]*)?",
    re.ASCII,
)
MAX_URL_CHARS = 2000


def plain(text: str) -> str:
    """The text with every unseen character named instead of left to act.

    >>> plain("a" + chr(0x202E) + "b" + chr(0))
    'a[U+202E]b[U+0000]'
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub(lambda hit: f"[U+{ord(hit.group()):04X}]", text.replace("\r\n", "\n"))


def finalize(value: Any) -> Any:
    """What the template engine does with every value before it escapes it.

    A None on a page is a fault of ours: a statistic of nothing is written as
    a dash by whoever formats it.
    """
    if value is None:
        raise TypeError("a page would print None")
    return plain(value) if type(value) is str else value


def cut(text: str, most: int) -> str:
    """One line of at most `most` characters, cut at a word with an ellipsis.

    >>> cut("one two  three", 8)
    'one two…'
    """
    head = " ".join(text[: 4 * most].split())
    if len(head) <= most and len(text) <= 4 * most:
        return head
    short = head[: most - 1]
    return (short[: short.rfind(" ")] if " " in short[most // 2 :] else short).rstrip() + "…"


def https_url(text: Any) -> str | None:
    """The text where it is a plain https address that may be linked, else None.

    No user part, no port tricks, ASCII only: what is shown is where it leads.

    >>> https_url("https://example.org/a?b=1"), https_url("javascript:alert(1)")
    ('https://example.org/a?b=1', None)
    """
    if not isinstance(text, str) or len(text) > MAX_URL_CHARS:
        return None
    return text if _HTTPS.fullmatch(text) else None


def number(text: str | None, places: int = 4) -> str:
    """Decimal text at `places` places, half to even; a dash where there is none.

    >>> number("0.122349"), number("-0.000012", 4), number(None)
    ('0.1223', '0.0000', '—')
    """
    if text is None:
        return NOTHING
    value = round(Decimal(text), places)
    return f"{abs(value) if value == 0 else value:f}".replace("-", MINUS)


def signed(text: str | None, places: int = 4) -> str:
    """The same with its sign.

    >>> signed("0.0123"), signed("0.00000")
    ('+0.0123', '0.0000')
    """
    if text is None:
        return NOTHING
    return ("+" if round(Decimal(text), places) > 0 else "") + number(text, places)


def percent(text: str | None) -> str:
    """A share as a percentage with one place.

    >>> percent("0.123456").replace(chr(0xA0), " ")
    '12.3 %'
    """
    return NOTHING if text is None else number(str(Decimal(text) * 100), 1) + "\u00a0%"


def count(value: int) -> str:
    """A whole number, with thin gaps between thousands.

    >>> count(1957).replace(chr(0x202F), " ")
    '1 957'
    """
    return f"{value:,}".replace(",", "\u202f")


def short_hash(value: str) -> str:
    """The first twelve characters of a hash: enough to compare by eye."""
    return value[:12]


def sealed_until(due: str) -> str:
    """What is said in place of a value that is not public before `due`.

    >>> sealed_until("2026-01-05T11:00:00Z")
    'sealed until 11:00 (2026-01-05, UTC)'
    """
    day, _, time = due.partition("T")
    return f"sealed until {time[:5]} ({day}, UTC)"


def instant(at: str) -> str:
    """An instant as people read it, in UTC.

    >>> instant("2026-01-05T11:00:00Z").replace(chr(0xA0), " ")
    '2026-01-05 11:00'
    """
    day, _, time = at.partition("T")
    return f"{day}\u00a0{time[:5]}" if time else day


def short_label(label: str) -> str:
    """A forecaster's label up to its colon: what a picture or a column has room for.

    >>> short_label("ensemble: plain mean of the valid answers")
    'ensemble'
    """
    return label.partition(":")[0].strip() or label
