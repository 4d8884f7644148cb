"""Following a book from beside the pen: only what was written since is read."""

from __future__ import annotations

from pathlib import Path

from beforehand.book.reader import BOOK_NAME, BookReader
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import BOOKKEEPING, decode_json
from beforehand.records.kinds import decode
from beforehand.records.question import Question
from beforehand.stages.occasion import Occasions

MAX_TEXT_BYTES = 64 << 10


class Following:
    """The occasions of a book that somebody else writes. For one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self.reader = BookReader(folder)
        self._path = folder / BOOK_NAME
        self._occasions, self._offset = Occasions(), 0
        self._texts: dict[str, str | None] = {}

    def now(self) -> Occasions:
        """The occasions as the book stands; FormatError or OSError where it cannot be read.

        A book only grows. One that has become shorter was put back from a
        copy, and is read anew.
        """
        if self._path.stat().st_size < self._offset:
            self._occasions, self._offset = Occasions(), 0
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            for raw in stream:
                if not raw.endswith(b"\n"):
                    break  # the pen is in the middle of it
                self._take(raw)
                self._offset += len(raw)
        return self._occasions

    def _take(self, raw: bytes) -> None:
        value = decode_json(raw)
        content = {key: item for key, item in value.items() if key not in BOOKKEEPING}
        self._occasions.take(self._occasions.lines + 1, decode(content))

    def text_of(self, question: Question) -> str | None:
        """The text of a question as it was frozen; None where it is not public or very long."""
        if question.question not in self._texts:
            self._texts[question.question] = self._read_text(question)
        return self._texts[question.question]

    def _read_text(self, question: Question) -> str | None:
        for body in question.bodies:
            if body.role == "text" and body.due == question.at:
                try:
                    data = self.reader.read_body(body.sha256)
                    return data.decode("utf-8") if len(data) <= MAX_TEXT_BYTES else None
                except (FormatError, IntegrityError, UnicodeDecodeError):
                    return None
        return None
