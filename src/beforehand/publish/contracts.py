"""The event contracts of a league: the ids of each question's, and no id for two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beforehand.errors import IntegrityError
from beforehand.records.codec import contract_json
from beforehand.records.event_contract import ContractProfile, EventIds, plain_ids
from beforehand.records.question import Question

# In a league's data folder: contracts by hash, their schema, and the profile where one is declared.
CONTRACTS = "contracts"
CONTRACT_SCHEMA = "contract.schema.json"
CONTRACT_PROFILE = "contract-profile.json"


@dataclass
class ContractRegister:
    """The ids of every question taken, by question, under the league's profile or under none."""

    profile: ContractProfile | None = None
    ids: dict[str, EventIds] = field(default_factory=dict)
    _named: dict[str, tuple[int, str, Mapping[str, Any]]] = field(default_factory=dict)

    def take(self, n: int, question: Question) -> None:
        """Name the contract of the question on line `n`.

        FormatError where a declared key is stated by nothing, IntegrityError
        where an id stood for another contract before: it names both.
        """
        if self.profile is None:
            ids = plain_ids(question.contract)
            self.ids[question.question] = ids
            return  # the line's own id is this hash in full length
        ids = self.profile.ids(self.profile.contract_from(question))
        for name, contract in self.profile.named_by(ids).items():
            line, other, held = self._named.setdefault(name, (n, question.question, contract))
            if held != contract:
                raise IntegrityError(
                    f"the id {name} stands for two contracts: of {other} on line {line}, "
                    f"{_words(held)}, and of {question.question} on line {n}, {_words(contract)}; "
                    "no forecast may be pooled by it"
                )
        self.ids[question.question] = ids

    def files(self) -> dict[str, bytes]:
        """Each contract as the bytes that its full id is the SHA-256 of, by that hash in hex."""
        return {
            ids.contract_id.partition(":")[2]: contract_json(dict(ids.contract))
            for ids in self.ids.values()
        }


def _words(contract: Mapping[str, Any]) -> str:
    said = contract_json(dict(contract)).decode("utf-8")
    return said if len(said) <= 400 else said[:400] + "…"
