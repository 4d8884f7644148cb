"""One event fixed in advance; its id is a hash of the fields of its event contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from beforehand.errors import FormatError
from beforehand.records.codec import contract_json, digest
from beforehand.records.record import Record
from beforehand.records.shape import Keyed, Name, Shape, Text

QUESTION_ID = Text(69, 69, r"evc1:[0-9a-f]{64}", "a question id (evc1: and 64 hex characters)")


def question_id(contract: Mapping[str, str]) -> str:
    """`evc1:` and the SHA-256 of the contract's compact sorted JSON, in full length.

    Two leagues that fix the same event in the same words share the id.

    >>> question_id({"source": "example", "rule": "yes if it rains"})[:13]
    'evc1:62c40409'
    """
    return "evc1:" + digest(contract_json(dict(contract)))


@dataclass(frozen=True, kw_only=True)
class Question(Record):
    """An event with its horizon. Statistics cluster by `cluster`.

    `contract` is text by text: what fixes the event (source, id at the
    source, reference and end, rule). `source` and `type` sort the board.
    """

    kind: ClassVar[str] = "question"
    own: ClassVar[Mapping[str, Shape]] = {
        "question": QUESTION_ID,
        "contract": Keyed(Text(4000, 0)),
        "cluster": Text(200),
        "horizon": Text(60),
        "source": Name(60),
        "type": Name(40),
    }

    question: str
    contract: Mapping[str, str]
    cluster: str
    horizon: str
    source: str
    type: str

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Question:
        record = super().of(content)
        record.check_id()
        return record

    def check_id(self) -> None:
        """FormatError unless the id is the hash of the contract."""
        if self.question != question_id(self.contract):
            raise FormatError(
                f"question: the id {self.question} is not the hash of its contract "
                f"({question_id(self.contract)})"
            )
