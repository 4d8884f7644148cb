"""What an entrant from outside sends: forecasts for one run, signed with the entrant's own key.

A submission is one JSON object. Any spelling of it is read; its bytes are
`J(object)` + LF and its id is their SHA-256. The signature is a C2SP
signed-note line over `J(object without the signature)` + LF.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from beforehand.book.checkpoint import VerifierKey, open_note, sign_note
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import decode_json, digest, seal_json, seal_text
from beforehand.records.forecast import Cell
from beforehand.records.league import Origin
from beforehand.records.question import QUESTION_ID
from beforehand.records.shape import Choice, Listed, Name, Optional, Table, Text
from beforehand.stages.key import SigningKey

SUBMISSION_FORMAT = "beforehand-submission/1"
MAX_SUBMISSION_BYTES = 1_000_000
MAX_FORECASTS = 5000

_P = re.compile(r"0(\.\d{1,40})?|1(\.0{1,40})?", re.ASCII)
_HOW = 'write decimal text from 0 to 1, such as "0.62"'

FORECAST_TABLE = Table(
    {"question": QUESTION_ID, "p": Text(42, pattern=_P.pattern, words="decimal text from 0 to 1")}
)
SUBMISSION_TABLE = Table(
    {
        "format": Choice((SUBMISSION_FORMAT,)),
        "origin": Origin(),
        "run": Name(),
        "forecaster": Name(),
        "forecasts": Listed(FORECAST_TABLE, most=MAX_FORECASTS, least=1),
        "note": Optional(Text(2000)),
        "signature": Optional(
            Text(600, pattern=r"— [^\s+]+ [A-Za-z0-9+/]+={0,2}", words="a signature line")
        ),
    }
)


@dataclass(frozen=True)
class Submission:
    """A submission that keeps to the format. `signature` is None until it is signed."""

    origin: str
    run: str
    forecaster: str
    forecasts: tuple[Cell, ...]
    note: str | None = None
    signature: str | None = None

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The submission in `data`; FormatError says what is wrong, where, and what to do."""
        _check_size(data)
        return cls.of(decode_json(data))

    @classmethod
    def of(cls, value: Any) -> Self:
        """The submission of a decoded object."""
        if not isinstance(value, dict):
            raise FormatError("a submission is one JSON object")
        if value.get("format") != SUBMISSION_FORMAT:
            raise FormatError(f'format: must be "{SUBMISSION_FORMAT}"')
        _check_probabilities(value)
        try:
            SUBMISSION_TABLE.check(value, "")
        except FormatError as error:
            raise FormatError(str(error).removeprefix(".").removeprefix(": ")) from None
        cells = tuple(Cell.of(item) for item in value["forecasts"])
        _check_once(cells)
        made = cls(
            value["origin"],
            value["run"],
            value["forecaster"],
            cells,
            value.get("note"),
            value.get("signature"),
        )
        _check_size(made.data())
        return made

    def content(self) -> dict[str, Any]:
        """What is signed."""
        content: dict[str, Any] = {
            "format": SUBMISSION_FORMAT,
            "origin": self.origin,
            "run": self.run,
            "forecaster": self.forecaster,
            "forecasts": [cell.content() for cell in self.forecasts],
        }
        return content if self.note is None else {**content, "note": self.note}

    def text(self) -> str:
        """The text of the note that the signature belongs to."""
        return seal_text(self.content()) + "\n"

    def object(self) -> dict[str, Any]:
        """The whole JSON object."""
        content = self.content()
        return content if self.signature is None else {**content, "signature": self.signature}

    def data(self) -> bytes:
        """The submission's bytes: J of the whole object and LF."""
        return seal_json(self.object()) + b"\n"

    @property
    def sha256(self) -> str:
        """The id: the SHA-256 of the bytes."""
        return digest(self.data())

    def signed(self, key: SigningKey) -> Self:
        """The same submission with this key's signature in place of any other."""
        text = self.text()
        note = sign_note(text, key.verifier, key.sign)
        return replace(self, signature=note[len(text) + 1 : -1])

    def is_signed_by(self, key: VerifierKey) -> bool:
        """Whether the signature is this key's, and covers this content."""
        if self.signature is None:
            return False
        note = f"{self.text()}\n{self.signature}\n"
        try:
            open_note(note.encode("utf-8"), key)
        except (FormatError, IntegrityError):
            return False
        return True


def check_probability(text: object, where: str) -> None:
    """FormatError, saying how to write it, unless `text` is decimal text from 0 to 1.

    >>> check_probability("62%", "line 2")
    Traceback (most recent call last):
    beforehand.errors.FormatError: line 2: '62%' is a percentage; \
write decimal text from 0 to 1, such as "0.62"
    """
    if not isinstance(text, str):
        what = "a number" if type(text) in (int, float) else "no text"
        raise FormatError(f"{where}: {text!r:.40} is {what}; {_HOW}")
    if _P.fullmatch(text):
        return
    if text.endswith("%"):
        what = "is a percentage"
    elif re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text, re.ASCII):
        what = "is not between 0 and 1" if len(text) <= 42 else "has too many digits"
    elif re.fullmatch(r"[+-]?\d*\.?\d+[eE][+-]?\d+", text, re.ASCII):
        what = "has an exponent"
    elif re.fullmatch(r"\d+,\d+", text, re.ASCII):
        what = "has a decimal comma"
    else:
        what = "is not decimal text"
    raise FormatError(f"{where}: {text!r:.40} {what}; {_HOW}")


def _check_size(data: bytes) -> None:
    if len(data) > MAX_SUBMISSION_BYTES:
        raise FormatError(
            f"a submission of {len(data)} bytes is over the limit of {MAX_SUBMISSION_BYTES}"
        )


def _check_probabilities(value: Mapping[str, Any]) -> None:
    """The probabilities first: there the words of the table would say least."""
    forecasts = value.get("forecasts")
    if not isinstance(forecasts, list):
        return
    for place, item in enumerate(forecasts[:MAX_FORECASTS]):
        if isinstance(item, dict) and "p" in item:
            check_probability(item["p"], f"forecasts[{place}].p")


def _check_once(cells: tuple[Cell, ...]) -> None:
    seen: dict[str, int] = {}
    for place, cell in enumerate(cells):
        if cell.question in seen:
            raise FormatError(
                f"forecasts[{place}].question: {cell.question} stands in "
                f"forecasts[{seen[cell.question]}] already; give each question once"
            )
        seen[cell.question] = place
