"""A question as pages show it: its file, its frozen text and its titles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from beforehand.errors import FormatError, IntegrityError
from beforehand.publish.fold import Settled
from beforehand.publish.rows import question_title
from beforehand.records.codec import decode_json
from beforehand.records.question import Question
from beforehand.site.text import cut

SLUG_CHARS = 16
TITLE_CHARS = 400
SHORT_CHARS = 96
FIELD_CHARS = 100_000
FACT_CHARS = 120

# The fields of a question's text that are for people, in reading order.
FIELDS = {
    "question": "Question",
    "description": "Description",
    "resolution_criteria": "How it resolves",
    "market_info_resolution_criteria": "How it resolves, in the market’s words",
    "background": "Background",
    "source_intro": "The source, in the words given to forecasters",
    "freeze_datetime_value_explanation": "What the frozen value is",
}
# Short fields, shown as facts.
FACTS = {
    "freeze_datetime": "Frozen at",
    "freeze_datetime_value": "Frozen value",
    "market_info_open_datetime": "Market opened",
    "market_info_close_datetime": "Market closes",
    "closes": "Closes",
}
# What a text body says where it has nothing to say.
EMPTY = ("", "N/A")
# A placeholder in a text, and the fields of the contract that may fill it.
PLACEHOLDERS = {
    "{resolution_date}": ("resolution_date",),
    "{forecast_due_date}": ("forecast_due_date", "forecast_due"),
}
_PLACEHOLDER = re.compile("(" + "|".join(re.escape(name) for name in PLACEHOLDERS) + ")")


@dataclass(frozen=True)
class Field:
    """A field of the frozen text; `left_out` characters are only in the body."""

    label: str
    text: str
    left_out: int


@dataclass(frozen=True)
class FrozenText:
    """The text body of a question, read. `state` is `read`, `withheld` or `raw`."""

    sha256: str
    state: str
    title: str
    fields: tuple[Field, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    url: str = ""


@dataclass(frozen=True)
class Card:
    """A question with what every page says of it.

    `title` are `(text, from_contract)` pieces; `short` is the same as one line.
    """

    slug: str
    line: int
    record: Question
    text: FrozenText | None
    title: tuple[tuple[str, bool], ...]
    short: str
    settled: Settled | None

    @property
    def outcome(self) -> str:
        """The outcome as a word, `open` included."""
        return self.settled.outcome if self.settled else "open"


def slugs(questions: Mapping[str, Any]) -> dict[str, str]:
    """The file name of every question; IntegrityError where two would share one."""
    built: dict[str, str] = {}
    owner: dict[str, str] = {}
    for name in questions:
        slug = name.partition(":")[2][:SLUG_CHARS]
        if slug in owner:
            raise IntegrityError(f"{owner[slug]} and {name} share the page name {slug}")
        owner[slug] = name
        built[name] = slug
    return built


def make_cards(
    questions: Mapping[str, tuple[int, Question]],
    settled: Mapping[str, Settled],
    read_body: Callable[[str], bytes | None],
) -> dict[str, Card]:
    """A card for every question. A text that several share is read once."""
    names = slugs(questions)
    texts: dict[str, FrozenText] = {}
    cards = {}
    for name, (line, record) in questions.items():
        sha256 = next((body.sha256 for body in record.bodies if body.role == "text"), None)
        text = None
        if sha256 is not None:
            text = texts.get(sha256) or texts.setdefault(sha256, _read(sha256, read_body(sha256)))
        title = _title(record, text)
        short = cut("".join(piece for piece, _ in title), SHORT_CHARS)
        cards[name] = Card(names[name], line, record, text, title, short, settled.get(name))
    return cards


def _read(sha256: str, data: bytes | None) -> FrozenText:
    if data is None:
        return FrozenText(sha256, "withheld", "")
    try:
        value = decode_json(data)
    except FormatError:
        value = None
    if not isinstance(value, dict):
        whole = data[: 4 * FIELD_CHARS].decode("utf-8", "replace")
        return FrozenText(sha256, "raw", "", (_field("The text, as it is", whole),))
    fields = tuple(
        _field(label, held)
        for key, label in FIELDS.items()
        if (held := _words(value.get(key))).strip() not in EMPTY
    )
    facts = tuple(
        (label, cut(held, FACT_CHARS))
        for key, label in FACTS.items()
        if (held := _words(value.get(key))).strip() not in EMPTY
    )
    title = _words(value.get("question")).strip().replace("\r\n", "\n").partition("\n\n")[0]
    return FrozenText(sha256, "read", title, fields, facts, _words(value.get("url")))


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _field(label: str, text: str) -> Field:
    return Field(label, text[:FIELD_CHARS].strip(), max(0, len(text) - FIELD_CHARS))


def _title(record: Question, text: FrozenText | None) -> tuple[tuple[str, bool], ...]:
    """The first paragraph of the question, its placeholders filled from the contract."""
    if text is None or not text.title:
        return ((cut(question_title(record), TITLE_CHARS), False),)
    pieces = []
    for piece in _PLACEHOLDER.split(cut(text.title, TITLE_CHARS)):
        keys = PLACEHOLDERS.get(piece, ())
        filled = next((record.contract[key] for key in keys if record.contract.get(key)), None)
        if piece:
            pieces.append((cut(filled, 60), True) if filled else (piece, False))
    return tuple(pieces)
