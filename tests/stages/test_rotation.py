"""Changing, losing and recovering a book's key, and what a thief of either key runs into."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.checkpoint import Checkpoint, sign_note
from beforehand.book.key_history import KeyHistory, key_history, key_statement
from beforehand.book.options import Options
from beforehand.book.reader import BookReader
from beforehand.book.report import Report
from beforehand.book.store import FileStore
from beforehand.book.verify import verify_folder
from beforehand.clock import SimulatedClock
from beforehand.errors import FormatError, IntegrityError, RuleError
from beforehand.publish.public import seal_public, write_data
from beforehand.records.codec import decode_json, digest
from beforehand.records.declaration import Declaration
from beforehand.records.league import KeyChange
from beforehand.stages.declare import declare, open_league, reopen_league
from beforehand.stages.key import SigningKey
from beforehand.stages.pen import Pen
from beforehand.stages.receipt import Receipt, check_receipt
from beforehand.stages.rotation import (
    KEY_NAME,
    KEY_NEXT,
    RECOVERY_NAME,
    RECOVERY_NEXT,
    recover_key,
    rotate_key,
)
from beforehand.testing.memory_folder import MemoryFolder
from tests.small_league import play_small_league, small_declaration

ORIGIN = "test.example/small/book"
AS_OF = "2026-02-01T00:00:00Z"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played") / "league"
    play_small_league(folder).store.close()
    return folder


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    shutil.copytree(played, tmp_path / "league")
    return tmp_path / "league"


def clock_of(folder: Path) -> SimulatedClock:
    return SimulatedClock(folder / "clock")


def lines_of(folder: Path) -> list[bytes]:
    return (folder / "book.jsonl").read_bytes().splitlines()


def key_of(folder: Path, name: str = KEY_NAME) -> SigningKey:
    return SigningKey.load(ORIGIN, folder / name)


def fresh(tmp_path: Path, name: str = "stranger") -> SigningKey:
    return SigningKey.make(ORIGIN, tmp_path / f"{name}.pem")


def published(folder: Path, key: SigningKey, into: Path) -> MemoryFolder:
    """The league as its holder of `key` publishes it."""
    data = write_data(BookReader(folder), key.verifier, into, AS_OF)
    # The manifest names the key that the publisher signs with, whatever the book says.
    data.fold.key = key.verifier.text()
    seal_public(into, [(data, key.verifier, key.sign)], AS_OF)
    return MemoryFolder.of(into)


def verified(
    folder: Path, signer: SigningKey, into: Path, pinned: SigningKey | None = None
) -> Report:
    """The report of a reader who pinned a key, over what `signer` publishes."""
    held = None if pinned is None else pinned.verifier.text()
    return verify_folder(published(folder, signer, into), Options(as_of=AS_OF, key=held))


def point_of(note: bytes) -> Checkpoint:
    return Checkpoint.parse(note.decode().split("\n\n")[0] + "\n")


def findings(report: Report) -> str:
    return "\n".join(finding.text() for finding in report.findings)


def forge(
    folder: Path,
    new: SigningKey,
    signers: list[SigningKey],
    *,
    sign_with: SigningKey | None = None,
    place: int = 0,
    **changes: Any,
) -> int:
    """Append a key line that no rule was asked about, and a checkpoint over it; its line."""
    with FileStore(folder) as store:
        old = key_history(store.lines()).now.text()
        line, prev = store.size + 1, store.last_link
        recovery = changes.get("recovery")
        text = key_statement(
            ORIGIN, place or line, prev, changes.get("replaces", old), new.verifier.text(), recovery
        )
        notes = [sign_note(text, key.verifier, key.sign) for key in signers]
        note = notes[0] + "".join(each[len(text) + 1 :] for each in notes[1:])
        record = KeyChange(
            at=store.last_at,
            **{
                "key": new.verifier.text(),
                "replaces": old,
                "by": "key",
                "reason": "forged",
                "note": note,
                **changes,
            },
        )
        pen = Pen(store, clock_of(folder), sign_with or new)
        pen.write(lambda at: [record])
        pen.checkpoint()
        return line


# ---- the planned change


def test_a_rotated_book_is_sound_for_readers_of_either_key(folder: Path, tmp_path: Path) -> None:
    old = key_of(folder)
    before = len(lines_of(folder))
    changed = rotate_key(folder, clock_of(folder), "yearly")
    new = key_of(folder)
    assert (changed.line, changed.old, changed.new) == (before + 1, old.verifier, new.verifier)
    assert old.verifier != new.verifier
    notes = BookReader(folder).checkpoints()
    assert Checkpoint.open(notes[before], old.verifier).size == before
    assert Checkpoint.open(notes[before + 1], new.verifier).size == before + 1
    files = published(folder, new, tmp_path / "public")
    for held in (None, old, new):
        key = None if held is None else held.verifier.text()
        report = verify_folder(files, Options(as_of=AS_OF, origin=ORIGIN, key=key))
        assert (report.findings, report.exit_code) == ([], 0)
        said = any("your key was replaced" in note for note in report.notes)
        assert said == (held is old)
    assert any(f"another key signs from line {before + 1} on" in note for note in report.notes)


def test_a_checkpoint_kept_from_before_is_compared_under_its_own_key(
    folder: Path, tmp_path: Path
) -> None:
    old, size = key_of(folder), len(lines_of(folder))
    kept = BookReader(folder).checkpoints()[size]
    rotate_key(folder, clock_of(folder), "yearly")
    new = key_of(folder)
    files = published(folder, new, tmp_path / "public")
    for held in (old, new):
        options = Options(as_of=AS_OF, origin=ORIGIN, key=held.verifier.text(), since=kept)
        assert verify_folder(files, options).findings == []


def test_the_book_goes_on_under_the_new_key(folder: Path, tmp_path: Path) -> None:
    for number in range(3):
        rotate_key(folder, clock_of(folder), f"change {number}")
    with reopen_league(folder, clock_of(folder)) as pen:
        assert pen.key.verifier == key_history(pen.store.lines()).now
    report = verified(folder, key_of(folder), tmp_path / "public")
    assert report.findings == []
    assert len(list((folder / "keys").glob("retired-*.pem"))) == 3


def test_declaring_again_never_makes_a_key_for_a_book_that_has_one(folder: Path) -> None:
    (folder / KEY_NAME).unlink()
    with pytest.raises(RuleError, match="beforehand key recover"):
        open_league(folder, small_declaration(), clock_of(folder))
    assert not (folder / KEY_NAME).exists()


# ---- loss and recovery


def test_a_lost_key_is_replaced_by_the_recovery_key(folder: Path, tmp_path: Path) -> None:
    old = key_of(folder)
    (folder / KEY_NAME).unlink()
    elsewhere = tmp_path / "usb.pem"
    (folder / RECOVERY_NAME).rename(elsewhere)
    with pytest.raises(RuleError):
        reopen_league(folder, clock_of(folder))
    changed = recover_key(folder, elsewhere, clock_of(folder), "lost")
    assert changed.old == old.verifier
    line = decode_json(lines_of(folder)[changed.line - 1])
    assert (line["by"], line["reason"]) == ("recovery", "lost")
    assert line["recovery"] == digest(key_of(folder, RECOVERY_NAME).verifier.public)
    new = key_of(folder)
    for held in (old, new):
        report = verified(folder, new, tmp_path / held.verifier.key_id.hex(), held)
        assert report.findings == []
    # Each recovery key works once; the next one is the one it committed to.
    with pytest.raises(RuleError, match="not the recovery key"):
        recover_key(folder, elsewhere, clock_of(folder), "again")
    recover_key(folder, folder / RECOVERY_NAME, clock_of(folder), "again")
    assert verified(folder, key_of(folder), tmp_path / "again").findings == []


def test_the_owner_takes_the_book_back_from_a_thief_of_the_key(
    folder: Path, tmp_path: Path
) -> None:
    thief = fresh(tmp_path, "thief")
    forge(folder, thief, [key_of(folder), thief])  # well signed: the thief holds the key
    recover_key(folder, folder / RECOVERY_NAME, clock_of(folder), "stolen")
    report = verified(folder, key_of(folder), tmp_path / "public")
    assert report.findings == []
    (folder / KEY_NAME).write_bytes((tmp_path / "thief.pem").read_bytes())
    with pytest.raises(RuleError, match="not the one the book names"):
        reopen_league(folder, clock_of(folder))


def test_a_wrong_recovery_file_changes_nothing(folder: Path, tmp_path: Path) -> None:
    fresh(tmp_path)
    before = lines_of(folder)
    with pytest.raises(RuleError, match="not the recovery key"):
        recover_key(folder, tmp_path / "stranger.pem", clock_of(folder), "x")
    with pytest.raises(FormatError):
        recover_key(folder, tmp_path / "none.pem", clock_of(folder), "x")
    assert lines_of(folder) == before
    assert not (folder / KEY_NEXT).exists() and not (folder / RECOVERY_NEXT).exists()


# ---- killed


KILLED = """
import os, sys
from pathlib import Path
from beforehand.clock import SimulatedClock
from beforehand.stages import key, pen, rotation
folder, what = Path(sys.argv[1]), sys.argv[2]
def stop(*given, **more):
    os.kill(os.getpid(), 9)
def after(real):
    def call(*given, **more):
        real(*given, **more)
        stop()
    return call
if what == "making the key":
    os.fsync = stop
elif what == "before the line":
    pen.Pen.write = stop
elif what == "behind the line":
    pen.Pen.write = after(pen.Pen.write)
elif what == "before the key is put in place":
    rotation._put_in_place = stop
elif what == "between keys":
    rotation._put_in_place = after(rotation._put_in_place)
clock = SimulatedClock(folder / "clock")
if sys.argv[3] == "rotate":
    rotation.rotate_key(folder, clock, "killed")
else:
    rotation.recover_key(folder, folder / rotation.RECOVERY_NAME, clock, "killed")
"""


@pytest.mark.parametrize("how", ["rotate", "recover"])
@pytest.mark.parametrize(
    "what",
    [
        "making the key",
        "before the line",
        "behind the line",
        "before the key is put in place",
        "between keys",
    ],
)
@pytest.mark.parametrize("then", ["reopened", "done again"])
def test_killed_anywhere_the_book_has_one_key_and_somebody_has_it(
    folder: Path, tmp_path: Path, how: str, what: str, then: str
) -> None:
    before = len(lines_of(folder))
    words = [sys.executable, "-c", KILLED, str(folder), what, how]
    done = subprocess.run(words, check=False, capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    in_book = what not in ("making the key", "before the line")
    assert len(lines_of(folder)) == before + in_book
    if then == "done again":
        if how == "rotate":
            rotate_key(folder, clock_of(folder), "again")
        else:
            recover_key(folder, folder / RECOVERY_NAME, clock_of(folder), "again")
        # One change in all, wherever it was stopped, unless only its checkpoint was missing.
        extra = len(lines_of(folder)) - before
        assert extra == 1 or (what == "between keys" and extra == 2)
    with reopen_league(folder, clock_of(folder)) as pen:
        pen.checkpoint()
        assert pen.key.verifier == key_history(pen.store.lines()).now
    report = verified(folder, key_of(folder), tmp_path / "public")
    assert report.findings == [], findings(report)
    history = key_history(lines_of(folder))
    assert digest(key_of(folder, RECOVERY_NAME).verifier.public) == history.recovery


def test_a_stale_fresh_key_from_a_restored_copy_is_not_taken_up(folder: Path) -> None:
    rotate_key(folder, clock_of(folder), "one")
    shutil.copy(folder / KEY_NAME, folder / KEY_NEXT)
    rotate_key(folder, clock_of(folder), "two")
    (retired, *_) = sorted((folder / "keys").glob("retired-*.pem"))
    shutil.copy(retired, folder / KEY_NEXT)
    rotate_key(folder, clock_of(folder), "three")
    assert len(key_history(lines_of(folder)).changes) == 4


# ---- attacks: each stating what catches it


def test_attack_a_rotation_signed_by_a_stranger(folder: Path, tmp_path: Path) -> None:
    """Caught by: the note, which the key in force did not sign (step 5)."""
    stranger = fresh(tmp_path)
    line = forge(folder, stranger, [stranger])
    report = verified(folder, stranger, tmp_path / "public")
    assert f"line {line}: the key is not changed by this" in findings(report)
    assert "carries no signature" in findings(report)
    assert "its key is not the one the manifest names" in findings(report)
    with pytest.raises(RuleError):  # and the stranger's key does not open the book
        shutil.copy(tmp_path / "stranger.pem", folder / KEY_NAME)
        reopen_league(folder, clock_of(folder))


def test_attack_an_unsigned_rotation(folder: Path, tmp_path: Path) -> None:
    stranger = fresh(tmp_path)
    forge(folder, stranger, [stranger], note="trust me")
    assert "the key is not changed by this" in findings(
        verified(folder, stranger, tmp_path / "public")
    )


def test_attack_the_old_key_used_after_a_rotation(folder: Path, tmp_path: Path) -> None:
    """Caught by: the checkpoint's size, from which the key in force follows (step 5)."""
    old = key_of(folder)
    rotate_key(folder, clock_of(folder), "yearly")
    new = key_of(folder)
    size = len(lines_of(folder))
    point = Checkpoint.parse(
        BookReader(folder).checkpoints()[size].decode().split("\n\n")[0] + "\n"
    )
    late = sign_note(point.text(), old.verifier, old.sign)
    (folder / "checkpoints" / str(size)).write_text(late, encoding="utf-8")
    report = verified(folder, old, tmp_path / "public")
    assert "checkpoints" in findings(report) and "carries no signature" in findings(report)
    assert new.verifier != old.verifier


def test_attack_a_stranger_brings_the_readers_key_into_a_book_of_his_own(
    tmp_path: Path, folder: Path
) -> None:
    """Caught by: the new key must sign too, and an earlier one speaks only where it signed."""
    reader_key = key_of(folder)  # what the reader pinned; the attacker knows its public part only
    own = tmp_path / "own"
    declaration = small_declaration()
    play_small_league(own, settle=False).store.close()
    thief, second, recovery = key_of(own), fresh(tmp_path, "b"), key_of(own, RECOVERY_NAME)
    # 1: the reader's key as a successor that never signed
    forge(own, reader_key, [thief], sign_with=thief)
    report = verified(own, thief, tmp_path / "one", reader_key)
    assert "the key is not changed by this" in findings(report)
    assert "yours is" in findings(report)
    # 2: the reader's key as the first one, replaced by the attacker's recovery key
    two = tmp_path / "two"
    two_clock = SimulatedClock(two / "clock", "2026-01-01T00:00:00Z")
    with Pen(FileStore(two), two_clock, reader_key) as pen:
        (two / "keys").mkdir()
        shutil.copy(own / RECOVERY_NAME, two / RECOVERY_NAME)
        declare(pen, declaration, two)
    following = digest(fresh(tmp_path, "c").verifier.public)
    forge(
        two,
        second,
        [recovery, second],
        by="recovery",
        recovery=following,
        recovery_key=recovery.verifier.text(),
    )
    assert "yours is" in findings(verified(two, second, tmp_path / "two-public", reader_key))


def test_attack_recovery_key_mismatch(folder: Path, tmp_path: Path) -> None:
    """Caught by: the commitment in the league line."""
    stranger, other = fresh(tmp_path), fresh(tmp_path, "other")
    forge(
        folder,
        stranger,
        [other, stranger],
        by="recovery",
        recovery="ab" * 32,
        recovery_key=other.verifier.text(),
    )
    report = verified(folder, stranger, tmp_path / "public")
    assert "its recovery key is not the one that the book committed to" in findings(report)


def test_attack_the_signing_key_changes_the_recovery_key(folder: Path, tmp_path: Path) -> None:
    """Caught by: a thief of the signing key cannot commit to a recovery key of his own."""
    new = fresh(tmp_path)
    forge(folder, new, [key_of(folder), new], recovery="ab" * 32)
    assert "only the recovery key may name another" in findings(
        verified(folder, new, tmp_path / "public")
    )


def test_attack_a_rotation_backdated_or_moved(folder: Path, tmp_path: Path) -> None:
    """Caught by: the statement, which names its line and the link before it."""
    new = fresh(tmp_path)
    forge(folder, new, [key_of(folder), new], place=3)
    assert "one at another place" in findings(verified(folder, new, tmp_path / "public"))


def test_attack_a_backdated_line_is_not_written(folder: Path) -> None:
    """Caught by: `at` never runs back in a book."""
    with FileStore(folder) as store, pytest.raises(FormatError, match="before the last line"):
        record = KeyChange(
            at="2020-01-01T00:00:00Z", key="k", replaces="k", by="key", reason="x", note="x"
        )
        store.append(store.size, [record.content()])


def test_attack_a_rotation_of_another_book(folder: Path, tmp_path: Path) -> None:
    """Caught by: the key's name and the statement's origin and link."""
    other = SigningKey.make("other.example/small/book", tmp_path / "o.pem")
    forge(folder, other, [key_of(folder)], sign_with=key_of(folder))
    assert "not that of the book" in findings(verified(folder, key_of(folder), tmp_path / "public"))


def test_attack_a_retired_key_returns(folder: Path, tmp_path: Path) -> None:
    """Caught by: the history, in which no key stands twice."""
    old = key_of(folder)
    rotate_key(folder, clock_of(folder), "stolen")
    forge(folder, old, [key_of(folder), old])
    assert "does not return" in findings(verified(folder, old, tmp_path / "public"))


# ---- receipts


def test_a_receipt_from_before_a_change_stays_good_and_a_later_one_is_not(
    folder: Path, tmp_path: Path
) -> None:
    old = key_of(folder)
    clock_of(folder).step_to("2026-01-10T00:00:00Z")
    rotate_key(folder, clock_of(folder), "yearly")
    files = published(folder, key_of(folder), tmp_path / "public")

    def receipt(at: str, key: SigningKey) -> bytes:
        made = Receipt(ORIGIN, "run-1", "ada", "ab" * 32, at, "2026-01-09T00:00:00Z")
        return made.signed(key).encode()

    before, after = "2026-01-08T00:00:00Z", "2026-01-11T00:00:00Z"
    for key in (None, old.verifier.text(), key_of(folder).verifier.text()):
        checked = check_receipt(receipt(before, old), files, key)
        assert checked.state == "broken"  # its submission was never sealed
    assert check_receipt(receipt(after, key_of(folder)), files).state == "broken"
    for note in (
        receipt(after, old),
        receipt(before, key_of(folder)),
        receipt(before, fresh(tmp_path)),
    ):
        with pytest.raises(IntegrityError):
            check_receipt(note, files)
    with pytest.raises(IntegrityError, match="yours is"):
        check_receipt(receipt(before, old), files, fresh(tmp_path, "x").verifier.text())


# ---- a successor


def test_a_successor_names_the_last_checkpoint_of_the_book_that_ended(
    folder: Path, tmp_path: Path
) -> None:
    notes = BookReader(folder).checkpoints()
    note = notes[max(notes)]
    data = small_declaration().data.replace(b"test.example/small/book", b"test.example/second/book")
    declaration = Declaration.parse(data, "second.toml")
    second = tmp_path / "second"
    clock = SimulatedClock(second / "clock", "2026-01-20T00:00:00Z")
    with open_league(second, declaration, clock) as pen:
        declare(pen, declaration, second, predecessor=note)
        pen.checkpoint()
        line = decode_json(next(pen.store.lines()))
        key = pen.key
    point = point_of(note)
    assert line["successor_of"] == {
        "origin": point.origin,
        "size": point.size,
        "root": point.root.hex(),
    }
    assert (second / "bodies" / digest(note)[:2] / digest(note)).read_bytes() == note
    report = verified(second, key, tmp_path / "public")
    assert report.findings == []
    assert any("says that it follows 'test.example/small/book'" in note for note in report.notes)


def test_a_book_cannot_follow_itself(folder: Path, tmp_path: Path) -> None:
    notes = BookReader(folder).checkpoints()
    clock = SimulatedClock(tmp_path / "b" / "clock", "2026-01-20T00:00:00Z")
    declaration = small_declaration()
    with (
        open_league(tmp_path / "b", declaration, clock) as pen,
        pytest.raises(RuleError, match="ends the origin"),
    ):
        declare(pen, declaration, tmp_path / "b", predecessor=notes[max(notes)])


# ---- the history by itself


def test_a_history_refuses_what_has_not_its_form(folder: Path) -> None:
    league = decode_json(lines_of(folder)[0])
    history = KeyHistory(league)
    new, old = key_of(folder, RECOVERY_NAME), key_of(folder)
    good = {
        "at": league["at"],
        "key": new.verifier.text(),
        "replaces": old.verifier.text(),
        "by": "key",
        "note": "x",
    }
    for change in (
        {"at": "x"},
        {"key": "x"},
        {"key": 3},
        {"replaces": new.verifier.text()},
        {"by": "nobody"},
        {"note": 3},
        {"note": "\ud800"},
        {"note": "text\n\n— x AAAA\n"},
        {"by": "recovery", "recovery_key": "x"},
        {"by": "recovery", "recovery_key": new.verifier.text()},
        {"by": "recovery", "recovery_key": new.verifier.text(), "recovery": history.recovery},
    ):
        with pytest.raises((FormatError, IntegrityError)):
            history.take(2, "", {**good, **change})
    assert history.texts() == [old.verifier.text()]
    with pytest.raises(FormatError):
        key_history([])
    with pytest.raises(FormatError):
        KeyHistory({"key": "nonsense"})
