"""A submission is read strictly, signed over J, and judged by the roster of its run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.checkpoint import strict_base64
from beforehand.errors import FormatError
from beforehand.records.forecast import Cell
from beforehand.stages.key import SigningKey
from beforehand.stages.occasion import REFUSALS, Occasions
from beforehand.stages.sheet import read_sheet
from beforehand.stages.submission import MAX_FORECASTS, MAX_SUBMISSION_BYTES, Submission
from tests.relay.made_league import ORIGIN, RUN, MadeLeague, make_league

ID = "evc1:" + "ab" * 32


def value(**changes: Any) -> dict[str, Any]:
    held: dict[str, Any] = {
        "format": "beforehand-submission/1",
        "origin": ORIGIN,
        "run": RUN,
        "forecaster": "ada",
        "forecasts": [{"question": ID, "p": "0.62"}],
    }
    return {key: item for key, item in {**held, **changes}.items() if item is not ...}


def refusal(what: object) -> str:
    data = what if isinstance(what, bytes) else json.dumps(what).encode()
    with pytest.raises(FormatError) as caught:
        Submission.parse(data)
    return str(caught.value)


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> MadeLeague:
    return make_league(tmp_path_factory.mktemp("league"))


@pytest.fixture(scope="module")
def occasions(league: MadeLeague) -> Occasions:
    with league.pen() as pen:
        return Occasions.of(pen.records())


# ---- the form


@pytest.mark.parametrize(
    ("p", "says"),
    [
        ("62%", "percentage"),
        ("1.5", "not between 0 and 1"),
        ("-0.1", "not between 0 and 1"),
        ("62", "not between 0 and 1"),
        ("6.2e-1", "exponent"),
        ("1E0", "exponent"),
        ("0,62", "decimal comma"),
        (".5", "not decimal text"),
        ("0.", "not decimal text"),
        ("+0.5", "not decimal text"),
        ("NaN", "not decimal text"),
        ("Infinity", "not decimal text"),
        ("", "not decimal text"),
        (" 0.5", "not decimal text"),
        ("0.5\n", "not decimal text"),
        ("٠.٥", "not decimal text"),
        ("0x1", "not decimal text"),
        ("1_0", "not decimal text"),
        ("00.5", "not decimal text"),
        ("-0", "not between"),
        ("0." + "1" * 41, "too many digits"),
        (0.62, "is a number"),
        (1, "is a number"),
        (True, "no text"),
        (None, "no text"),
        (["0.5"], "no text"),
    ],
)
def test_a_probability_is_decimal_text_and_the_error_says_how_to_write_it(
    p: Any, says: str
) -> None:
    said = refusal(value(forecasts=[{"question": ID, "p": p}]))
    assert says in said
    assert said.startswith("forecasts[0].p: ")
    assert 'such as "0.62"' in said


@pytest.mark.parametrize("p", ["0", "1", "0.0", "1.000", "0.5", "0." + "1" * 40])
def test_what_is_a_probability_is_kept_as_it_was_written(p: str) -> None:
    cells = Submission.of(value(forecasts=[{"question": ID, "p": p}])).forecasts
    assert cells == (Cell(question=ID, p=p),)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (b"", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[1]", "one JSON object"),
        (b'{"format": 1, "format": 2}', "stands twice"),
        (b"[" * 5000, "nested too deeply"),
        (b" " * (MAX_SUBMISSION_BYTES + 1), "over the limit"),
        (value(format="beforehand-submission/2"), "format: must be"),
        (value(run=...), "'run' is missing"),
        (value(forecasts=[]), "forecasts: 0 items"),
        (value(forecasts={"a": 1}), "forecasts"),
        (value(forecasts=[{"question": ID, "p": "0.5"}] * (MAX_FORECASTS + 1)), "5001 items"),
        (value(forecasts=[{"question": ID, "p": "0.5"}] * 2), "forecasts[0] already"),
        (value(forecasts=[{"question": "q1", "p": "0.5"}]), "forecasts[0].question"),
        (value(forecasts=[{"question": ID}]), "'p' is missing"),
        (value(forecasts=[{"question": ID, "p": "0.5", "missing": "late"}]), "unknown key"),
        (value(extra=1), "unknown key 'extra'"),
        (value(run="../x"), "run"),
        (value(forecaster="a/b"), "forecaster"),
        (value(origin="x"), "origin"),
        (value(note=""), "note"),
        (value(note="\ud800"), "surrogate"),
        (value(note="x" * 2001), "note"),
        (value(signature="x"), "signature"),
        (value(signature="— ada AAAA\n— eve AAAA"), "signature"),
    ],
)
def test_what_is_no_submission_is_refused_with_the_place(what: object, says: str) -> None:
    assert says in refusal(what)


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_whatever_comes_in_is_read_or_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        Submission.parse(data)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


@given(key=st.sampled_from(sorted(value())), junk=trees)
def test_any_value_in_any_place_is_read_or_refused(key: str, junk: Any) -> None:
    try:
        made = Submission.parse(json.dumps(value(**{key: junk})).encode())
    except FormatError:
        return
    assert Submission.parse(made.data()) == made


# ---- bytes, id and signature


def test_every_spelling_of_one_submission_has_one_id(league: MadeLeague) -> None:
    made = league.submission(note="π ≥ 3")
    loose = json.dumps(made.object(), indent=3, ensure_ascii=True).encode() + b"\n\n"
    assert loose != made.data()
    assert Submission.parse(loose) == made
    assert Submission.parse(loose).sha256 == made.sha256


def test_the_signature_is_plain_ed25519_over_j_and_a_line_feed(league: MadeLeague) -> None:
    made = league.submission()
    unsigned = {key: item for key, item in made.object().items() if key != "signature"}
    message = json.dumps(unsigned, sort_keys=True, ensure_ascii=False).encode() + b"\n"
    data = strict_base64((made.signature or "").split(" ")[2])
    key = league.keys["ada"].verifier
    assert data[:4] == key.key_id
    Ed25519PublicKey.from_public_bytes(key.public).verify(data[4:], message)
    assert made.data().endswith(b"}\n")


@pytest.mark.parametrize("changes", [{"run": "x"}, {"forecaster": "eve"}, {"note": "n"}])
def test_a_change_after_signing_breaks_the_signature(
    league: MadeLeague, changes: dict[str, Any]
) -> None:
    made, key = league.submission(), league.keys["ada"].verifier
    assert made.is_signed_by(key)
    assert not replace(made, **changes).is_signed_by(key)
    assert not replace(made, signature=None).is_signed_by(key)
    assert not made.is_signed_by(league.keys["eve"].verifier)


# ---- judged by the roster


def test_what_the_roster_expects_is_taken(league: MadeLeague, occasions: Occasions) -> None:
    assert occasions.judge(league.submission()) is None
    some = league.submission("eve", forecasts=(Cell(question=league.ids[1], p="0.5"),))
    assert occasions.judge(some) is None


@pytest.mark.parametrize(
    ("code", "changes", "signer"),
    [
        ("wrong_origin", {"origin": "test.example/other/book"}, "ada"),
        ("unknown_run", {"run": "run-9"}, "ada"),
        ("not_registered", {"forecaster": "mallory"}, "mallory"),
        ("not_registered", {"forecaster": "keyless"}, "mallory"),
        # A seat that is asked cannot submit, not even with a key that stands there.
        ("not_registered", {"forecaster": "model"}, "mallory"),
        ("wrong_signature", {"forecaster": "eve"}, "ada"),
        ("wrong_signature", {"forecaster": "ada"}, "mallory"),
        ("not_asked", {"forecasts": (Cell(question=ID, p="0.5"),)}, "ada"),
    ],
)
def test_what_it_does_not_expect_is_refused_by_name(
    league: MadeLeague, occasions: Occasions, code: str, changes: dict[str, Any], signer: str
) -> None:
    made = replace(league.submission(), **changes).signed(league.keys[signer])
    found = occasions.judge(made)
    assert found is not None
    assert found.code == code
    assert code in REFUSALS


def test_a_key_of_the_same_name_is_another_key(
    league: MadeLeague, occasions: Occasions, tmp_path: Path
) -> None:
    other = SigningKey.make("ada", tmp_path / "other.pem")
    found = occasions.judge(league.submission().signed(other))
    assert found is not None
    assert found.code == "wrong_signature"


def test_an_unsigned_one_is_refused(league: MadeLeague, occasions: Occasions) -> None:
    found = occasions.judge(replace(league.submission(), signature=None))
    assert found is not None
    assert "sign this very content" in found.words


# ---- sheets

CONTRACTS = {
    "evc1:" + "ab" * 32: {"market": "0x123456789", "question": "A?"},
    "evc1:" + "abababab" + "cd" * 28: {"market": "0x12345678f", "question": "B?"},
    "evc1:" + "ef" * 32: {"source_id": "q3"},
}
A, B, C = CONTRACTS


def sheet(text: str) -> dict[str, str | None]:
    return {cell.question: cell.p for cell in read_sheet(text.encode(), CONTRACTS)}


@pytest.mark.parametrize(
    ("word", "question"),
    [
        (A, A),
        ("0x123456789", A),
        ("q3", C),
        ("efefef", C),
        ("evc1:efefef", C),
        ("abababababab", A),
        ("0x12345678f", B),
    ],
)
def test_a_question_is_named_by_id_market_or_a_clear_beginning(word: str, question: str) -> None:
    assert sheet(f"question,p\r\n{word}, 0.25 \r\n") == {question: "0.25"}


def test_a_sheet_of_a_spreadsheet_is_read() -> None:
    assert sheet('\ufeffquestion,p\n"q3","0.1"\n\n' + f"{A},1\n") == {C: "0.1", A: "1"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: the columns are missing"),
        ("question;p\nq3;0.1\n", "separated by a comma"),
        ("p,question\n0.1,q3\n", "they must be question,p"),
        ("question,p\n", "no forecast"),
        ("question,p\nq3\n", "line 2: 1 values"),
        ("question,p\nq3,0.1,0.2\n", "line 2: 3 values"),
        ("question,p\nq3,10%\n", "line 2: '10%' is a percentage"),
        ("question,p\nq3,\n", "line 2: '' is not decimal text"),
        ("question,p\nq3,0.1\nefefef,0.2\n", "line 3: 'efefef' is the question of line 2"),
        ("question,p\nababab,0.1\n", "could be any of"),
        ("question,p\n0x123456,0.1\n", "could be any of"),
        ("question,p\nefe,0.1\n", "at least 6 characters"),
        ("question,p\nnothing,0.1\n", "names no question"),
        ("question,p\n,0.1\n", "names no question"),
        ('question,p\n"q3,0.1\n', "not CSV"),
    ],
)
def test_what_is_wrong_in_a_sheet_is_named_by_its_line(text: str, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        sheet(text)
    assert says in str(caught.value)


def test_a_sheet_is_text_in_utf8_of_bounded_length() -> None:
    with pytest.raises(FormatError, match="UTF-8"):
        read_sheet(b"question,p\n\xff,0.1\n", CONTRACTS)
    with pytest.raises(FormatError, match="over"):
        read_sheet(b" " * (MAX_SUBMISSION_BYTES + 1), CONTRACTS)
