"""The id of a question is the hash of what fixes it, and of nothing else."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.records.kinds import decode
from beforehand.records.question import question_id

from .contents import CONTRACT, EXAMPLES, question_id_of, words

contracts = st.dictionaries(words, words, max_size=5)


@given(contracts)
def test_the_id_is_the_hash_of_the_compact_form(contract: dict[str, str]) -> None:
    assert question_id(contract) == question_id_of(contract)
    assert len(question_id(contract)) == 69


@given(contracts)
def test_the_order_of_keys_is_nothing(contract: dict[str, str]) -> None:
    assert question_id(dict(reversed(contract.items()))) == question_id(contract)


@given(contracts, contracts)
def test_two_contracts_with_one_id_are_one(one: dict[str, str], two: dict[str, str]) -> None:
    assert (question_id(one) == question_id(two)) is (one == two)


def test_the_whole_hash_is_kept() -> None:
    # 64 bits could be collided (sealed-standard 1.7): all 256 stand in the id
    wanted = "evc1:62c40409e9dd1c74e5b8799c0ffb886f7674de0b9cc01c89f84e12ca71f89a11"
    assert question_id(CONTRACT) == wanted


def test_words_that_only_look_alike_are_another_contract() -> None:
    ids = {
        question_id({"rule": rule})
        for rule in ("é", "e\u0301", "a", "а", "A", "a ", "a\u00a0", "a\u200b", "ａ")
    }
    assert len(ids) == 9


@pytest.mark.parametrize(
    "change",
    [
        {"question": "evc1:" + "0" * 64},
        {"contract": {**CONTRACT, "rule": "yes if it snows"}},
        {"contract": {**CONTRACT, "more": ""}},
        {"contract": {"rule": CONTRACT["rule"]}},
        {"contract": {}},
    ],
)
def test_an_id_that_is_not_the_hash_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(FormatError, match="question"):
        decode({**copy.deepcopy(EXAMPLES["question"]), **change})


@pytest.mark.parametrize("value", [1, 0.5, None, True, ["x"], {"x": "y"}])
def test_a_contract_is_text_by_text(value: object) -> None:
    contract = {**CONTRACT, "more": value}
    content = {**EXAMPLES["question"], "contract": contract}
    content["question"] = question_id_of(contract)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="more"):
        decode(content)


def test_a_contract_that_fixes_nothing_is_refused() -> None:
    content = {**EXAMPLES["question"], "contract": {}, "question": question_id_of({})}
    with pytest.raises(FormatError, match="contract"):
        decode(content)


def test_a_lone_surrogate_in_a_contract_is_refused() -> None:
    content = {**EXAMPLES["question"], "contract": {"rule": "\ud800"}}
    with pytest.raises(FormatError):
        decode(content)
