"""A receipt is kept, broken with evidence, or too early: from public files alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from beforehand.book.bodies import body_path
from beforehand.book.folder import DirectoryFolder
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.forecast import Answer
from beforehand.stages.draining import drain_inbox
from beforehand.stages.inbox import Inbox
from beforehand.stages.key import SigningKey
from beforehand.stages.receipt import Checked, Receipt, check_receipt
from tests.relay.made_league import AFTER, DEADLINE, RUN, START, MadeLeague, make_league

SOON = "2026-01-01T00:05:00Z"


@pytest.fixture
def league(tmp_path: Path) -> MadeLeague:
    return make_league(tmp_path / "league")


def promised(league: MadeLeague) -> str:
    return Inbox(league.folder).accept(
        league.submission(), league.league_key(), league.clock.now()
    )[0]


def seal(league: MadeLeague, at: str = START) -> None:
    if at != START:
        league.clock.step_to(at)
    with league.pen() as pen:
        drain_inbox(pen, league.folder)


def checked(league: MadeLeague, note: str, as_of: str, to: Path, key: str | None = None) -> Checked:
    public = league.publish_bare(to, as_of)
    return check_receipt(note.encode(), DirectoryFolder(public), key)


# ---- the form


def test_the_text_is_seven_lines_and_no_checkpoint(league: MadeLeague) -> None:
    note = promised(league)
    sha256 = league.submission().sha256
    assert note.split("\n\n")[0].split("\n") == [
        "beforehand-receipt/1",
        "origin test.example/small/book",
        f"run {RUN}",
        "forecaster ada",
        f"submission {sha256}",
        f"received_at {START}",
        "promised_by 2026-01-01T00:10:00Z",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("beforehand-receipt/1", "beforehand-receipt/2"),
        ("run ", "run  "),
        ("received_at 2026-01-01T00:00:00Z\n", ""),
        ("forecaster ada\n", "forecaster ada\nforecaster eve\n"),
        ("promised_by 2026-01-01T00:10:00Z\n", "promised_by 2026-01-01T00:10:00Z\nmore 1\n"),
        ("received_at 2026-01-01T00:00:00Z", "received_at today"),
        ("origin ", "Origin "),
    ],
)
def test_any_other_text_is_no_receipt(league: MadeLeague, old: str, new: str) -> None:
    text = promised(league).rpartition("\n\n")[0] + "\n"
    assert Receipt.parse(text).text() == text
    with pytest.raises(FormatError):
        Receipt.parse(text.replace(old, new, 1))


# ---- kept


def test_a_kept_promise_names_the_line_also_while_all_is_withheld(
    league: MadeLeague, tmp_path: Path
) -> None:
    note = promised(league)
    seal(league, SOON)
    found = checked(league, note, SOON, tmp_path / "public", league.league_key().verifier.text())
    assert found.state == "kept"
    assert any("holds it" in sentence and SOON in sentence for sentence in found.evidence)
    assert "NOT CHECKED" in found.evidence[-1]
    later = checked(league, note, AFTER, tmp_path / "later")
    assert later.state == "kept"
    assert later.evidence[-1] == "its bytes are public and hash to it"


# ---- broken


def test_no_line_after_the_time_is_a_broken_promise(league: MadeLeague, tmp_path: Path) -> None:
    note = promised(league)
    found = checked(league, note, AFTER, tmp_path / "public")
    assert found.state == "broken"
    assert league.league_key().verifier.text() in found.evidence[0]
    assert "none holds it" in found.evidence[1]


def test_a_line_later_than_promised_is_a_broken_promise(league: MadeLeague, tmp_path: Path) -> None:
    note = promised(league)
    seal(league, "2026-01-01T00:10:01Z")
    found = checked(league, note, AFTER, tmp_path / "public")
    assert found.state == "broken"
    assert "later than promised" in found.evidence[1]


def test_a_line_under_another_name_is_a_broken_promise(league: MadeLeague, tmp_path: Path) -> None:
    note = promised(league)
    with league.pen() as pen:
        pen.write(
            lambda at: [
                Answer(
                    at=at,
                    run=RUN,
                    forecaster="eve",
                    status="answered",
                    submission=league.submission().sha256,
                )
            ]
        )
    found = checked(league, note, AFTER, tmp_path / "public")
    assert found.state == "broken"
    assert "'eve'" in found.evidence[1]


def test_a_line_that_shows_other_bytes_is_a_broken_promise(
    league: MadeLeague, tmp_path: Path
) -> None:
    """The operator seals another submission under the hash that was promised."""
    note, other = promised(league), league.submission(p="0.01").data()
    with league.pen() as pen:
        from beforehand.book.bodies import SealedBody
        from beforehand.records.codec import digest
        from beforehand.records.record import BodyRef

        origin = league.submission().origin
        body = SealedBody(origin, RUN, "ada", "submission", "ab" * 32, other).data()
        pen.write(
            lambda at: [
                Answer(
                    at=at,
                    bodies=(BodyRef("submission", digest(body), DEADLINE),),
                    run=RUN,
                    forecaster="ada",
                    status="answered",
                    submission=league.submission().sha256,
                )
            ],
            [body],
        )
    found = checked(league, note, AFTER, tmp_path / "public")
    assert found.state == "broken"
    assert "hashes to" in found.evidence[-1]


# ---- too early, and nothing shown


def test_before_the_time_nothing_is_broken_yet(league: MadeLeague, tmp_path: Path) -> None:
    note = promised(league)
    assert checked(league, note, SOON, tmp_path / "a").state == "early"
    assert checked(league, note, "2026-01-01T00:10:00Z", tmp_path / "b").state == "early"
    assert checked(league, note, "2026-01-01T00:10:01Z", tmp_path / "c").state == "broken"


def test_a_forged_receipt_shows_nothing(league: MadeLeague, tmp_path: Path) -> None:
    receipt = Receipt.unchecked(promised(league).encode())
    key = league.league_key()
    stranger = SigningKey.make(receipt.origin, tmp_path / "stranger.pem")
    with pytest.raises(IntegrityError):
        checked(league, receipt.signed(stranger), AFTER, tmp_path / "a")
    edited = receipt.signed(key).replace("00:10:00Z", "00:01:00Z")
    with pytest.raises(IntegrityError):
        checked(league, edited, AFTER, tmp_path / "b")
    with pytest.raises(IntegrityError, match="yours is"):
        checked(league, receipt.signed(key), AFTER, tmp_path / "c", stranger.verifier.text())
    other = replace(receipt, origin="test.example/other/book")
    with pytest.raises(FormatError, match="no league of the receipt's origin"):
        checked(league, other.signed(key), AFTER, tmp_path / "d")


def test_a_book_that_was_cut_by_somebody_else_proves_nothing(
    league: MadeLeague, tmp_path: Path
) -> None:
    """Who hosts a copy cannot make the operator a liar: the manifest signs the lines."""
    note = promised(league)
    seal(league)
    public = league.publish_bare(tmp_path / "public", AFTER)
    book = public / "api/v1/small/book.jsonl"
    lines = book.read_bytes().splitlines(keepends=True)
    book.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(IntegrityError, match="the manifest signs more"):
        check_receipt(note.encode(), DirectoryFolder(public))
    book.write_bytes(b"".join(lines[:-1]) + json.dumps({"kind": "note"}).encode() + b"\n")
    with pytest.raises(IntegrityError, match="not those that the manifest signs"):
        check_receipt(note.encode(), DirectoryFolder(public))


def test_lines_behind_the_signed_ones_do_not_count(league: MadeLeague, tmp_path: Path) -> None:
    """A line that the operator has not signed is no kept promise."""
    note = promised(league)
    public = league.publish_bare(tmp_path / "public", AFTER)
    seal(league)
    (public / "api/v1/small/book.jsonl").write_bytes((league.book / "book.jsonl").read_bytes())
    assert check_receipt(note.encode(), DirectoryFolder(public)).state == "broken"


def test_a_body_in_the_folder_is_read_by_its_own_name_only(
    league: MadeLeague, tmp_path: Path
) -> None:
    note = promised(league)
    seal(league)
    public = league.publish_bare(tmp_path / "public", AFTER)
    line = json.loads((public / "api/v1/small/book.jsonl").read_bytes().splitlines()[-1])
    (sha256,) = (body["sha256"] for body in line["bodies"] if body["role"] == "submission")
    (public / "api/v1/small" / body_path(sha256)).write_bytes(b"something else")
    found = check_receipt(note.encode(), DirectoryFolder(public))
    assert found.state == "kept"
    assert "NOT CHECKED" in found.evidence[-1]
