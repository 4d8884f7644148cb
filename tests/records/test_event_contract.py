"""Event contracts under a profile: ids as the standard builds them, and two contracts on one id."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest

from beforehand.errors import FormatError
from beforehand.records.event_contract import (
    CONTRACT_TABLE,
    GUESSED_KEYS,
    LINE_FACTS,
    SEED_ROLES,
    ContractProfile,
    check_plain,
    contract_profile,
    plain_ids,
    plain_schema,
    two_contracts,
)
from beforehand.records.question import Question, question_id
from beforehand.records.record import BodyRef

CONTRACT = {
    "asset": "SPX",
    "horizon": "1d",
    "reference_at": "2026-10-20T13:30:00Z",
    "end_at": "2026-10-20T20:00:00Z",
    "rule": "strict_rise",
    "resolver_version": "2",
    "reference_rule": "first_1m_bar_at_or_after_reference_at__last_1m_bar_at_or_before_end_at__v1",
    "price_provider": "yahoo_finance_chart_v8_1m",
    "price_symbol": "^GSPC",
}


def plain_id(prefix: str, keys: tuple[str, ...]) -> str:
    """The construction of the text, written out: sorted keys, no spaces, UTF-8, 16 hex."""
    text = json.dumps(
        {key: CONTRACT[key] for key in keys},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    return prefix + hashlib.sha256(text.encode()).hexdigest()[:16]


def test_ids_are_those_of_the_construction_in_the_text() -> None:
    profile = ContractProfile()
    assert profile.event_id(CONTRACT) == plain_id("ev2-", GUESSED_KEYS)
    assert profile.first_event_id(CONTRACT) == plain_id("ev1-", GUESSED_KEYS[:5])
    assert profile.own_id(CONTRACT) == question_id(CONTRACT)
    assert len(profile.own_id(CONTRACT)) == 69


def test_the_names_of_the_keys_are_configuration() -> None:
    """Other names of the same nine fields give other ids, and the order given is no matter."""
    names = tuple(f"k{n}" for n in range(9))
    renamed = dict(zip(names, CONTRACT.values(), strict=True))
    profile = ContractProfile(keys=names)
    assert profile.event_id(renamed) != ContractProfile().event_id(CONTRACT)
    turned = ContractProfile(keys=tuple(reversed(names)), first=9)
    assert turned.event_id(renamed) == profile.event_id(renamed)
    assert len(SEED_ROLES) == len(GUESSED_KEYS) == 9


def test_the_older_id_is_of_the_first_five_keys_only() -> None:
    profile = ContractProfile()
    other = {**CONTRACT, "price_symbol": "SPX=F"}
    assert profile.first_event_id(other) == profile.first_event_id(CONTRACT)
    assert profile.event_id(other) != profile.event_id(CONTRACT)


def test_text_that_is_not_ascii_is_hashed_as_utf8() -> None:
    profile = ContractProfile(keys=("asset",), first=1)
    own = hashlib.sha256('{"asset":"Öl"}'.encode()).hexdigest()[:16]
    assert profile.event_id({"asset": "Öl"}) == "ev2-" + own


def test_a_contract_that_lacks_a_key_is_refused_by_name() -> None:
    with pytest.raises(FormatError, match="lacks end_at, rule"):
        ContractProfile().contract_of({**CONTRACT, "end_at": "", "rule": None})
    assert ContractProfile().contract_of({**CONTRACT, "more": "1"}) == CONTRACT


def test_two_contracts_on_one_short_id_are_found() -> None:
    """Four hex digits collide within a few hundred tries: a short id alone proves nothing."""
    profile = ContractProfile(hex=4)
    seen: dict[str, dict[str, str]] = {}
    for n in range(5000):
        contract = {**CONTRACT, "resolver_version": str(n)}
        name = profile.event_id(contract)
        if name in seen:
            break
        seen[name] = contract
    else:
        pytest.fail("no collision in 5000")
    found = two_contracts([(name, seen[name]), (name, contract), (name, contract)])
    assert found == {name: (seen[name], contract)}
    assert profile.own_id(seen[name]) != profile.own_id(contract)


def test_the_schema_takes_a_contract_and_refuses_another_key() -> None:
    schema = ContractProfile().schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(CONTRACT, schema)
    for wrong in ({**CONTRACT, "more": "x"}, {**CONTRACT, "asset": ""}, {"asset": "SPX"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {"keys": ()},
        {"keys": ("a", "a"), "first": 1},
        {"first": 0},
        {"first": 10},
        {"hex": 3},
        {"hex": 65},
    ],
)
def test_a_profile_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(FormatError):
        ContractProfile(**wrong)  # type: ignore[arg-type]


def test_the_shipped_profile_is_read() -> None:
    from beforehand.publish.conformance.profile import Profile

    path = Path(__file__).parents[2] / "docs/reference/profile-council.toml"
    profile = Profile.read(path)
    assert profile.contract.keys == GUESSED_KEYS
    assert profile.contract.prefix == "ev2-"


# ---- a profile that a league declares

AT = "2026-01-01T00:00:00Z"
DECLARED = {
    "keys": ["asset", "horizon", "rule", "resolver_version", "reference_at"],
    "first": 2,
    "null": ["reference_at"],
    "from": {"asset": "market", "horizon": "line.horizon", "rule": "line.text_sha256"},
    "constant": {"resolver_version": "v1"},
}


def question(**contract: str) -> Question:
    return Question(
        at=AT,
        bodies=(BodyRef("text", "7" * 64, AT),),
        question=question_id(contract),
        contract=contract,
        cluster="a:1",
        horizon="1d",
        source="a",
        type="market",
    )


def test_each_key_is_read_from_the_sealed_fact_that_is_declared() -> None:
    profile = contract_profile(DECLARED)
    held = profile.contract_from(question(market="m1", closes="x"))
    assert held == {
        "asset": "m1",
        "horizon": "1d",
        "rule": "7" * 64,
        "resolver_version": "v1",
        "reference_at": None,
    }
    ids = profile.ids(held)
    assert (
        ids.contract_id
        == "evc1:"
        + hashlib.sha256(
            json.dumps(held, sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()
    )
    assert ids.event_id_v2 == "ev2-" + ids.contract_id[5:21]
    jsonschema.validate(held, profile.schema())
    assert profile.check(held) == held
    assert contract_profile(profile.content()) == profile


def test_a_key_that_nothing_states_is_refused_and_never_filled() -> None:
    profile = contract_profile(DECLARED)
    with pytest.raises(FormatError, match="lacks asset"):
        profile.contract_from(question(closes="x"))
    with pytest.raises(FormatError, match="lacks asset"):
        profile.contract_from(question(market="", closes="x"))


@pytest.mark.parametrize("name", [name for name in LINE_FACTS if name != "line.text_sha256"])
def test_every_fact_of_a_line_can_be_named(name: str) -> None:
    profile = contract_profile({"keys": ["k"], "from": {"k": name}})
    held = question(market="m")
    assert profile.contract_from(held) == {"k": getattr(held, name.removeprefix("line."))}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"keys": []}, "at least one name"),
        ({}, "keys"),
        ({**DECLARED, "more": 1}, "more"),
        ({**DECLARED, "null": ["other"]}, "'other' is none of contract.keys"),
        ({**DECLARED, "from": {"other": "market"}}, "'other' is none of contract.keys"),
        ({**DECLARED, "from": {"asset": "line.secret"}}, "'line.secret' is no fact of a line"),
        ({**DECLARED, "constant": {"asset": "x"}}, "both a constant and read from a fact"),
        ({**DECLARED, "prefix": "ev1-"}, "are the same"),
        ({**DECLARED, "first": 6}, "contract.first"),
        ({**DECLARED, "hex": 3}, "contract.hex"),
    ],
)
def test_a_declared_profile_that_cannot_be_is_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(FormatError, match=words.replace(".", r"\.")):
        contract_profile(wrong)


def test_schema_and_reader_of_a_profile_agree_on_its_table() -> None:
    schema = jsonschema.Draft202012Validator(CONTRACT_TABLE.schema())
    assert schema.is_valid(DECLARED)
    for wrong in ({}, {**DECLARED, "more": 1}, {**DECLARED, "hex": 3}, {**DECLARED, "keys": "a"}):
        assert not schema.is_valid(wrong)


def test_a_contract_under_no_profile_is_an_object_of_texts() -> None:
    assert check_plain({"a": "x", "b": ""}) == {"a": "x", "b": ""}
    assert plain_ids({"a": "x"}).contract_id == question_id({"a": "x"})
    for wrong in ({}, [], {"a": None}, {"a": 1}, {"a": "x" * 4001}):
        with pytest.raises(FormatError):
            check_plain(wrong)
        assert not jsonschema.Draft202012Validator(plain_schema()).is_valid(wrong)


def test_the_schema_in_the_reference_is_the_one_of_the_code() -> None:
    path = Path(__file__).parents[2] / "docs/reference/contract.schema.json"
    wanted = json.dumps(plain_schema(), indent=2, sort_keys=True) + "\n"
    assert path.read_text(encoding="utf-8") == wanted
