"""Rule P1, offline: stored replies are read again, and what differs is a list."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from beforehand.forecasters.parse import SUBCODES
from beforehand.forecasters.reparse import Stored, differences, reparse
from beforehand.forecasters.transcript import Transcript
from beforehand.records.forecast import FAILURES
from tests.forecasters.chat_server import completion


def raw(content: object, **more: object) -> bytes:
    return json.dumps(completion(content, **more)).encode()


GOOD = raw('{"rationale": "r", "probability": 0.620}')


def test_p1_stored_bytes_give_the_verdict_they_gave() -> None:
    assert reparse(GOOD).probability == "0.620"
    assert reparse(raw("70%")).detail == "no_object"
    assert reparse(raw(None, choice={"finish_reason": "length"})).status == "truncated"
    assert reparse(raw(None, message={"refusal": "no"})).status == "refused"
    assert reparse(b'{"probability": 0.3, "cost": "0"}').probability == "0.3"
    assert reparse(b"").status == "empty"


def test_p1_the_last_answer_of_a_search_is_read() -> None:
    transcript = Transcript()
    transcript.add("model", b"{}", raw(None))
    transcript.add("search", b"q", b"\xff")
    transcript.add("model", b"{}", GOOD)
    assert reparse(transcript.data()).probability == "0.620"
    assert reparse(transcript.data() + b"{broken\n[1]\n").probability == "0.620"


def test_b8_what_a_newer_parser_reads_otherwise_is_listed_and_nothing_changed() -> None:
    stored = [
        Stored("same", GOOD, "answered", "0.62"),
        Stored("number", GOOD, "answered", "0.63"),
        Stored("verdict", GOOD, "unparseable"),
        Stored("other way", raw("prose"), "answered", "0.5"),
        Stored("wire", GOOD, "timeout"),
        Stored("identity", GOOD, "model_mismatch"),
        Stored("nothing", b"", "empty"),
    ]
    found = differences(stored)
    assert [each.name for each in found] == ["number", "verdict", "other way"]
    assert (found[1].status, found[1].probability) == ("unparseable", None)
    assert (found[1].now.status, found[1].now.probability) == ("answered", "0.620")


@given(st.binary(max_size=400))
def test_p1_any_bytes_have_a_verdict(data: bytes) -> None:
    parsed = reparse(data)
    assert parsed.status in ("answered", *FAILURES)
    if parsed.detail in SUBCODES:
        assert parsed.status == SUBCODES[parsed.detail]
