"""Every kind refuses what is missing or wrong, and its words name the place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from beforehand.errors import FormatError
from beforehand.records.kinds import decode

from .contents import AT, EXAMPLES, HEX, KINDS, QUESTION


def refusal(content: dict[str, Any]) -> str:
    with pytest.raises(FormatError) as caught:
        decode(content)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "key"), [(kind, key) for kind in KINDS for key in EXAMPLES[kind] if key != "kind"]
)
def test_a_missing_key_is_named(kind: str, key: str) -> None:
    content = {k: v for k, v in EXAMPLES[kind].items() if k != key}
    words = refusal(content)
    assert kind in words
    assert key in words


@pytest.mark.parametrize(
    ("kind", "key"), [(kind, key) for kind in KINDS for key in EXAMPLES[kind] if key != "kind"]
)
@pytest.mark.parametrize(
    "value", [None, 0.5, b"x", {"x": 1}], ids=["null", "float", "bytes", "object"]
)
def test_a_value_of_another_type_is_refused(kind: str, key: str, value: Any) -> None:
    words = refusal({**EXAMPLES[kind], key: value})
    assert kind in words
    assert key in words


@pytest.mark.parametrize("kind", ["not a text", 7, None, ["answer"], True])
@pytest.mark.parametrize("with_it", [True, False])
def test_a_line_has_a_kind_and_it_is_a_text(kind: Any, with_it: bool) -> None:
    if with_it and isinstance(kind, str):
        return
    content = {"at": AT, "kind": kind} if with_it else {"at": AT}
    assert "kind" in refusal(content)


def cell(**more: Any) -> dict[str, Any]:
    return {"cells": [{"question": QUESTION, "p": "0.5"}, {"question": QUESTION, **more}]}


def quote(**more: Any) -> dict[str, Any]:
    return {"quotes": [{"question": QUESTION, "read_at": AT, **more}]}


def body(**more: Any) -> dict[str, Any]:
    return {"bodies": [{"role": "text", "sha256": HEX, **more}]}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    # instants are UTC and exact
    *(
        ("ask", {"at": at}, "at")
        for at in (
            *("", "2026-01-05", "2026-01-05T12:00:00", "2026-01-05T12:00:00+00:00"),
            *("2026-01-05 12:00:00Z", "2026-01-05T12:00:00z", "2026-02-30T12:00:00Z"),
            *("2026-01-05T24:00:00Z", "2026-01-05T12:00:60Z", "2026-01-05T12:00:00Z\n"),
            *("2026-01-05T12:00:00,5Z", "2026-01-05T12:00:00.1234567Z", "0000-01-01T00:00:00Z"),
            "２０２６-01-05T12:00:00Z",
        )
    ),
    ("roster", {"deadline": "tomorrow"}, "deadline"),
    ("run", {"slot": "2026-01-05"}, "slot"),
    ("answer", {"received_at": None}, "received_at"),
    ("answer", {"received_at": ""}, "received_at"),
    ("ask", {"clock": "now"}, "clock"),
    # names are safe as file names
    *(
        ("ask", {"run": run}, "run")
        for run in ("", ".", "..", "../x", "a/b", "a b", "é", "-x", "a\n", "a\x00", "x" * 500)
    ),
    ("answer", {"forecaster": "../../etc"}, "forecaster"),
    ("league", {"league": "a/b"}, "league"),
    # hashes
    *(
        ("erased", {"body_sha256": value}, "body_sha256")
        for value in ("", HEX.upper(), HEX[:-1], HEX + "0", HEX[:-1] + "g", HEX + "\n", 64 * "٠")
    ),
    # numbers that count lines
    *(
        ("erased", {"line": value}, "line")
        for value in (0, -1, True, 1.0, "1", None, 2**53 + 1, [1])
    ),
    ("ask", {"attempt": 0}, "attempt"),
    ("correction", {"lines": []}, "lines"),
    ("correction", {"lines": [3, True]}, "lines[1]"),
    ("correction", {"lines": [3, 0]}, "lines[1]"),
    ("correction", {"lines": 3}, "lines"),
    ("correction", {"outcome": "maybe"}, "outcome"),
    ("run", {"question_lines": [1]}, "question_lines"),
    ("run", {"question_lines": [1, 2, 3]}, "question_lines"),
    # truth
    *(("segment", {"counted": value}, "counted") for value in (0, 1, "true", None)),
    ("answer", {"leak_flag": 1}, "leak_flag"),
    # closed words
    ("segment", {"time": "real"}, "time"),
    ("proof", {"state": "done"}, "state"),
    ("answer", {"status": "ok"}, "status"),
    ("answer", {"status": "Answered"}, "status"),
    *(
        ("resolution", {"outcome": value}, "outcome")
        for value in ("Yes", "YES", "true", "1", "open", "", "draw", True, 1, None)
    ),
    # money and prices are decimal text
    *(
        ("fill", {"money": value}, "money")
        for value in (
            *(1, 1.5, "", " 1", "1 ", "+1", "1e5", "1E5", ".5", "1.", "01", "--1", "1,5", "0x1"),
            *("NaN", "Infinity", "inf", "1_000", "１", "٣", "1\n", "1" * 60, "0." + "1" * 80),
        )
    ),
    ("ask", {"reserved": "-0.01"}, "reserved"),
    ("answer", {"cost": "-1"}, "cost"),
    # an answer's cells
    *(
        ("answer", cell(p=value), "cells[1]")
        for value in (
            *(0.62, 1, 0, True, None, "", "62%", "62", "1.01", "1.0000001", "-0.1", "-1", ".62"),
            *("0,62", "6e-1", "nan", "yes", " 0.62", "0.62 ", "00.62", "０.62"),
        )
    ),
    ("answer", cell(), "cells"),
    ("answer", cell(p="0.5", missing="timeout"), "cells"),
    ("answer", cell(missing="because"), "cells[1]"),
    ("answer", cell(missing=""), "cells[1]"),
    ("answer", cell(p="0.5", note="x"), "cells[1]"),
    ("answer", {"cells": [{"p": "0.5"}]}, "cells[0]"),
    ("answer", {"cells": {"p": "0.5"}}, "cells"),
    ("answer", {"cells": ["0.5"]}, "cells[0]"),
    ("answer", {"cells": None}, "cells"),
    # quotes
    ("snapshot", quote(bid="1.2"), "quotes[0].bid"),
    ("snapshot", quote(ask=0.5), "quotes[0].ask"),
    ("snapshot", quote(volume="-1"), "quotes[0].volume"),
    ("snapshot", quote(mid="0.5"), "quotes[0]"),
    ("snapshot", {"quotes": [{"question": QUESTION}]}, "read_at"),
    # bodies
    ("ask", body(sha256="x"), "bodies[0].sha256"),
    ("ask", body(sha256="../" + HEX[3:]), "bodies[0].sha256"),
    ("ask", body(role="../x"), "bodies[0].role"),
    ("ask", body(due=None), "bodies[0].due"),
    ("ask", body(due="later"), "bodies[0].due"),
    ("ask", body(path="x"), "bodies[0]"),
    ("ask", {"bodies": {}}, "bodies"),
    ("ask", {"bodies": [HEX]}, "bodies[0]"),
    # questions
    *(
        ("ask", {"questions": [QUESTION, value]}, "questions[1]")
        for value in ("", HEX, "evc2:" + HEX, "EVC1:" + HEX, QUESTION + "0", "evc1:" + HEX.upper())
    ),
    # origins
    *(
        ("league", {"origin": value}, "origin")
        for value in (
            *("", "example.org", "/x", "https://example.org/x", "example.org/x y"),
            *("example.org/x+y", "example.org/x\ny", "Example.org/x", "example.org//x"),
        )
    ),
    ("league", {"plugins": [{"name": "x", "version": "1"}]}, "plugins[0]"),
    ("roster", {"seats": [{"forecaster": "a", "entry": "derived"}]}, "seats[0].entry"),
    ("roster", {"seats": [{"forecaster": "a"}]}, "seats[0]"),
    ("resolution", {"instant": "2026"}, "instant"),
]


@pytest.mark.parametrize(
    ("kind", "change", "place"), WRONG, ids=[f"{kind}-{n}" for n, (kind, _, _) in enumerate(WRONG)]
)
def test_a_wrong_value_is_refused_and_its_place_named(
    kind: str, change: dict[str, Any], place: str
) -> None:
    words = refusal({**copy.deepcopy(EXAMPLES[kind]), **change})
    assert kind in words
    assert place in words


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("resolution", {"instant": "2026-02-30"}),
        ("resolution", {"instant": "2026-13-01"}),
        ("reference", {"instant": "2026-01-05T25:00:00Z"}),
        ("resolution", {"instant": "0000-00-00"}),
    ],
)
def test_a_day_that_does_not_exist_is_refused(kind: str, change: dict[str, Any]) -> None:
    assert "instant" in refusal({**EXAMPLES[kind], **change})


def test_a_long_wrong_value_is_not_printed_whole() -> None:
    words = refusal({**EXAMPLES["erased"], "body_sha256": "x" * 100_000})
    assert len(words) < 500
    words = refusal({**EXAMPLES["erased"], "line": list(range(100_000))})
    assert len(words) < 500


def test_words_of_a_refusal_cannot_drive_a_terminal() -> None:
    assert "\x1b" not in refusal({**EXAMPLES["ask"], "run": "\x1b[31mred"})
