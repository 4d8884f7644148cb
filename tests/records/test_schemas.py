"""The published JSON Schema says of a line what the decoder says of its content."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beforehand.errors import FormatError
from beforehand.records.kinds import decode, line_schemas

from .contents import AT, EXAMPLES, HEX, KINDS, QUESTION, contents, later_keys

SCHEMAS = line_schemas()
WHOLE = jsonschema.Draft202012Validator(SCHEMAS)
BY_KIND = {
    kind: jsonschema.Draft202012Validator({**SCHEMAS, "oneOf": [{"$ref": f"#/$defs/{kind}"}]})
    for kind in KINDS
}
BOOKKEEPING = {"n": 7, "prev": HEX, "seal": HEX, "link": HEX}


def line(content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**content, **BOOKKEEPING, **more}


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS)
    assert set(SCHEMAS["$defs"]) == set(KINDS)
    assert all(SCHEMAS["$defs"][kind]["description"] for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_is_valid_as_its_kind_and_as_no_other(kind: str) -> None:
    value = line(EXAMPLES[kind])
    assert [other for other in KINDS if BY_KIND[other].is_valid(value)] == [kind]
    assert WHOLE.is_valid(value)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25)
def test_whatever_the_decoder_accepts_the_schema_accepts(kind: str, data: st.DataObject) -> None:
    content = {**data.draw(later_keys), **data.draw(contents(kind))}
    decode(content)
    BY_KIND[kind].validate(line(content))


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in KINDS for key in EXAMPLES[kind]])
def test_a_key_that_the_decoder_demands_the_schema_demands(kind: str, key: str) -> None:
    content = {k: v for k, v in EXAMPLES[kind].items() if k != key}
    with pytest.raises(FormatError):
        decode(content)
    assert not BY_KIND[kind].is_valid(line(content))


@pytest.mark.parametrize("key", BOOKKEEPING)
@pytest.mark.parametrize("value", [None, True, 0, -1, 1.5, "x", HEX.upper(), HEX + "0", []])
def test_bookkeeping_has_its_form(key: str, value: Any) -> None:
    assert not WHOLE.is_valid(line(EXAMPLES["erased"], **{key: value}))
    missing = line(EXAMPLES["erased"])
    del missing[key]
    assert not WHOLE.is_valid(missing)


def test_the_first_line_has_no_prev() -> None:
    assert WHOLE.is_valid(line(EXAMPLES["league"], n=1, prev=""))


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("ask", {"at": "2026-01-05"}),
    ("ask", {"at": "2026-01-05T12:00:00+00:00"}),
    ("ask", {"clock": None}),
    ("ask", {"run": "a/b"}),
    ("ask", {"run": ""}),
    ("ask", {"attempt": 0}),
    ("ask", {"attempt": True}),
    ("ask", {"attempt": 2**53 + 1}),
    ("ask", {"questions": ["q1"]}),
    ("ask", {"reserved": 1}),
    ("ask", {"reserved": "-1"}),
    ("ask", {"bodies": [{"role": "x", "sha256": "x"}]}),
    ("ask", {"bodies": [{"role": "x", "sha256": HEX, "path": "y"}]}),
    ("erased", {"body_sha256": HEX.upper()}),
    ("segment", {"counted": 1}),
    ("segment", {"time": "real"}),
    ("run", {"question_lines": [1]}),
    ("correction", {"lines": []}),
    ("resolution", {"outcome": "open"}),
    ("resolution", {"instant": "2026"}),
    ("fill", {"money": 1.5}),
    ("fill", {"money": "1e5"}),
    ("league", {"origin": "https://example.org/x"}),
    ("roster", {"seats": [{"forecaster": "a"}]}),
    ("snapshot", {"quotes": [{"question": QUESTION, "read_at": AT, "bid": "1.5"}]}),
    ("snapshot", {"quotes": [{"question": QUESTION, "read_at": AT, "volume": "-1"}]}),
    ("answer", {"cost": "-0.01"}),
    ("answer", {"cells": [{"question": QUESTION}]}),
    ("answer", {"cells": [{"question": QUESTION, "p": "0.5", "missing": "late"}]}),
    ("answer", {"cells": [{"question": QUESTION, "p": 0.5}]}),
    ("answer", {"cells": [{"question": QUESTION, "p": "62%"}]}),
    ("answer", {"cells": [{"question": QUESTION, "p": "1.01"}]}),
    ("answer", {"cells": [{"question": QUESTION, "p": "-0.1"}]}),
    ("answer", {"cells": [{"question": QUESTION, "missing": "because"}]}),
    ("question", {"contract": {"rule": 5}}),
    ("question", {"contract": []}),
]


@pytest.mark.parametrize(
    ("kind", "change"), WRONG, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(WRONG)]
)
def test_what_the_decoder_refuses_the_schema_refuses(kind: str, change: dict[str, Any]) -> None:
    content = {**copy.deepcopy(EXAMPLES[kind]), **change}
    with pytest.raises(FormatError):
        decode(content)
    assert not BY_KIND[kind].is_valid(line(content))
