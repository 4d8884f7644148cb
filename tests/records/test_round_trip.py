"""decode(content).content() is the content, for every kind and for kinds to come."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beforehand.records.kinds import KINDS as DECODERS
from beforehand.records.kinds import decode
from beforehand.records.record import Record, Unknown

from .contents import AT, EXAMPLES, HEX, KINDS, OWN, contents, json_values, later_keys, words


def j(value: Any) -> str:
    """J: two contents with the same J have the same seal."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def test_the_kinds_are_those_of_the_design() -> None:
    assert set(DECODERS) == set(KINDS) == set(OWN) == set(EXAMPLES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_round_trips(kind: str) -> None:
    record = decode(EXAMPLES[kind])
    assert isinstance(record, Record)
    assert (record.kind, record.at, record.extra) == (kind, AT, {})
    assert j(record.content()) == j(EXAMPLES[kind])


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=60)
def test_every_kind_round_trips_with_keys_of_a_later_version(
    kind: str, data: st.DataObject
) -> None:
    content = {**data.draw(later_keys), **data.draw(contents(kind))}
    before = copy.deepcopy(content)
    record = decode(content)
    assert type(record) is DECODERS[kind]
    assert j(record.content()) == j(before)
    assert j(content) == j(before), "decoding changed what it was given"
    assert j(decode(record.content()).content()) == j(before)


@given(
    st.text(min_size=1).filter(lambda kind: kind not in KINDS),
    st.dictionaries(words, json_values, max_size=5),
)
def test_an_unknown_kind_survives_a_round_trip(kind: str, more: dict[str, Any]) -> None:
    content = {**more, "at": AT, "kind": kind}
    record = decode(content)
    assert isinstance(record, Unknown)
    assert record.kind == kind
    assert j(record.content()) == j(content)


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "x"},
        {"kind": "kind-of-the-future", "at": 5, "n": 1, "bodies": "none", "extra": {"extra": 1}},
        {"kind": "League"},
        {"kind": "answer "},
        {"kind": ""},
    ],
)
def test_nothing_is_demanded_of_an_unknown_kind(content: dict[str, Any]) -> None:
    record = decode(content)
    assert isinstance(record, Unknown)
    assert record.content() == content


@pytest.mark.parametrize("key", ["bodies", "plugins"])
def test_an_empty_list_is_not_the_same_as_no_list(key: str) -> None:
    content = {**EXAMPLES["league"], key: []}
    assert j(decode(content).content()) == j(content)


@pytest.mark.parametrize(
    ("kind", "key"),
    [("snapshot", "quotes"), ("roster", "seats"), ("ask", "questions"), ("answer", "cells")],
)
def test_other_empty_lists_stay(kind: str, key: str) -> None:
    content = {**EXAMPLES[kind], key: []}
    assert j(decode(content).content()) == j(content)


def test_the_book_vector_survives(book_vector: dict[str, Any]) -> None:
    raw = book_vector["book"].encode("utf-8").split(b"\n")[6]
    assert j(decode(json.loads(raw)).content()) == raw.decode("utf-8")


def test_a_record_is_a_value_of_its_own() -> None:
    # what is decoded does not change when the caller's object does
    content = copy.deepcopy(EXAMPLES["question"])
    content["later"] = {"a": [1]}
    record = decode(content)
    before = j(record.content())
    content["contract"]["rule"] = "yes if it snows"
    content["later"]["a"].append(2)
    content["cluster"] = "c2"
    assert j(record.content()) == before


def test_records_are_frozen() -> None:
    record = decode(EXAMPLES["erased"])
    with pytest.raises(AttributeError):
        record.why = "something else"  # type: ignore[union-attr,misc]
    assert decode(EXAMPLES["erased"]) == decode({**EXAMPLES["erased"], "body_sha256": HEX})
