"""A second book under one origin, looked for in a reader's clones and in what the reader kept."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.foreign import GitRepository
from beforehand.anchors.git_blobs import small_blobs
from beforehand.book.checkpoint import Checkpoint, sign_note
from beforehand.book.stamped_list import ListedBook, StampedList
from beforehand.clock import SystemClock
from beforehand.errors import FormatError
from beforehand.stages.key import SigningKey
from tests.anchors.test_foreign import git

from .conftest import beforehand
from .test_attacks import base, copied, level, operator_key
from .test_evidence import Stamped, stamped
from .test_seed_verification import Council, council

__all__ = ["council", "stamped"]  # the fixtures
OTHER = bytes(range(32))


class Channel:
    """A foreign repository, the operator's way into it, and a reader's clone of it."""

    def __init__(self, league: Stamped, folder: Path) -> None:
        self.far, self.clone, self.trust = folder / "far.git", folder / "clone", league.trust
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.far))
        self.pen = GitRepository(str(self.far), folder / "work", SystemClock())

    def push(self, data: bytes) -> None:
        self.pen.submit(data)

    def visit(self) -> None:
        """The reader fetches everything."""
        if not self.clone.exists():
            git(self.far.parent, "clone", "--quiet", str(self.far), str(self.clone))
        git(self.clone, "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
        held = {str(self.far): {"path": str(self.clone), "known_tip": None}}
        (self.trust / "clones.json").write_text(json.dumps(held))


@pytest.fixture
def league(stamped: Stamped, tmp_path: Path) -> Stamped:
    return copied(stamped, tmp_path)


@pytest.fixture
def channel(league: Stamped, tmp_path: Path) -> Channel:
    made = Channel(league, tmp_path)
    made.push(listed(league).data())
    return made


def listed(league: Stamped) -> StampedList:
    (path,) = base(league).glob("stamps/*/list.txt")
    return StampedList.parse(path.read_bytes())


def forked(league: Stamped, *, tree: bool = True, size: int | None = None) -> bytes:
    """A list of the same origin over as many lines of another book."""
    held = listed(league)
    book, point = held.books[0], held.trees[0]
    other = ListedBook(book.path, size or book.lines, "ab" * 32, "cd" * 32)
    root = OTHER if tree else point.root
    return StampedList((other,), (Checkpoint(point.origin, size or point.size, root),)).data()


def note_of(league: Stamped, key: SigningKey, size: int) -> bytes:
    point = Checkpoint(listed(league).trees[0].origin, size, OTHER)
    return sign_note(point.text(), key.verifier, key.sign).encode()


def verified(league: Stamped, *words: object) -> tuple[int, dict[str, Any], str]:
    code, told, said = league.verify("--trust", league.trust, *words)
    return code, told, said


def test_none_conflicting_is_said_with_what_was_looked_in(
    league: Stamped, channel: Channel
) -> None:
    code, told, said = verified(league)
    assert code == 0 and "looked in" not in said, "nothing to look in, nothing said"
    channel.push(b"somebody else's note\n")
    channel.visit()
    code, told, said = verified(league)
    assert code == 0, said
    held = level(told, "exclusivity")
    assert "looked in 1 list and 0 signed checkpoints of this book (2 files" in held["evidence"]
    assert "none conflicting" in held["evidence"]
    assert "channels that were not looked in" in held["not_excluded"]
    assert any("other channels are not excluded" in note for note in told["notes"])


@pytest.mark.parametrize("where", ["main", "branch", "rewritten", "tag"])
def test_attack_two_books_stamped_in_one_channel(
    league: Stamped, channel: Channel, tmp_path: Path, where: str
) -> None:
    """Caught by the list over the other book, anywhere in what the reader's clone ever held."""
    if where == "main":
        channel.push(forked(league))
    else:
        work = tmp_path / "work"
        git(work, "checkout", "--quiet", "-b", "side")
        (work / "notes").mkdir()
        (work / "notes" / "mine.txt").write_bytes(forked(league))
        git(work, "add", "notes")
        git(work, "commit", "--quiet", "-m", "side")
        if where == "tag":
            git(work, "tag", "kept")
            git(work, "push", "--quiet", "origin", "kept")
        else:
            git(work, "push", "--quiet", "origin", "side")
    if where == "rewritten":  # seen once by the reader, then taken away by force
        channel.visit()
        git(tmp_path / "work", "push", "--quiet", "--force", "origin", "main:side")
        git(channel.far, "gc", "--quiet", "--prune=now")
    channel.visit()
    if where == "tag":
        git(channel.clone, "fetch", "--quiet", "--tags", "origin")
    code, told, said = verified(league)
    assert code == 1, said
    messages = [each["message"] for each in told["findings"]]
    assert any("a second book" in each and "another tree" in each for each in messages)
    assert any("names other first" in each for each in messages)
    assert level(told, "exclusivity")["level"] == "0"
    assert "fraud_proofs" not in told["leagues"]["blind"], "a list is not signed"


def test_attack_a_second_book_whose_list_hides_its_origin(
    league: Stamped, channel: Channel
) -> None:
    """Not excluded, and said: by its path it may be this book's, and nothing else names it."""
    held = StampedList.parse(forked(league))
    channel.push(StampedList(held.books).data())
    other = ListedBook("somewhere/else.jsonl", 3, "ab" * 32, "cd" * 32)
    channel.push(StampedList((other,)).data())
    channel.visit()
    code, told, said = verified(league)
    assert code == 0, said
    assert any("names no origin (and 0 more such)" in each for each in told["not_checked"])
    found = level(told, "exclusivity")
    assert "neither this origin nor this book's path" in found["not_excluded"]


def test_a_list_whose_digest_alone_contradicts_the_book(league: Stamped, channel: Channel) -> None:
    channel.push(forked(league, tree=False))
    channel.visit()
    code, told, said = verified(league)
    assert code == 1 and [each["step"] for each in told["findings"]] == [10], said
    assert "names other first" in told["findings"][0]["message"]


@pytest.mark.parametrize("same_size", [True, False])
def test_attack_two_signed_checkpoints_are_a_fraud_proof(
    league: Stamped, channel: Channel, tmp_path: Path, same_size: bool
) -> None:
    size = listed(league).trees[0].size
    channel.push(note_of(league, operator_key(league), size if same_size else size - 1))
    channel.visit()
    kept = tmp_path / "kept.fraud"
    code, told, said = verified(league, "--fraud", kept)
    assert code == 1, said
    (found,) = told["findings"]
    assert "own key" in found["message"] and "fraud proof" in found["message"]
    assert told["leagues"]["blind"]["fraud_proofs"] == [kept.read_text()]
    alone = beforehand("verify", kept)
    assert alone.returncode == 1 and "signed two books" in " ".join(alone.stdout.split())
    shown = beforehand("verify", league.public, "--trust", league.trust)
    assert "beforehand-fraud/1" not in shown.stdout, "the proof itself is for programs"


def test_what_anybody_could_have_written_is_said_and_no_finding(
    league: Stamped, channel: Channel, tmp_path: Path
) -> None:
    size = listed(league).trees[0].size
    stranger = SigningKey.make(listed(league).trees[0].origin, tmp_path / "stranger.pem")
    channel.push(note_of(league, stranger, size))
    channel.push(forked(league, size=10_000))
    channel.visit()
    code, told, said = verified(league)
    assert code == 0, said
    unsaid = " ".join(told["not_checked"])
    assert "without its signature" in unsaid and "over 10000 lines" in unsaid


def test_what_the_reader_kept_is_looked_through_too(league: Stamped) -> None:
    seen = league.trust / "seen" / "mails"
    seen.mkdir(parents=True)
    (seen / "list.txt").write_bytes(listed(league).data())
    (seen / "picture.png").write_bytes(bytes(300 << 10))
    code, told, said = verified(league)
    assert code == 0 and "looked in 1 list" in said
    assert any("picture.png" in line for line in told["not_checked"])
    (seen / "other.txt").write_bytes(forked(league))
    code, told, _ = verified(league)
    assert code == 1
    assert {each["place"] for each in told["findings"]} == {"seen/mails/other.txt"}


def test_a_clone_without_its_whole_history_shows_nothing(
    league: Stamped, channel: Channel, tmp_path: Path
) -> None:
    channel.push(b"another\n")
    shallow = ["git", "clone", "--quiet", "--depth=1", f"file://{channel.far}", str(channel.clone)]
    subprocess.run(shallow, check=True, capture_output=True)
    with pytest.raises(FormatError, match="shallow"):
        list(small_blobs(channel.clone, 1000))
    held = {str(channel.far): {"path": str(channel.clone), "known_tip": None}}
    (league.trust / "clones.json").write_text(json.dumps(held))
    code, told, said = verified(league)
    assert code == 0 and "looked in" not in said
    assert any("is shallow" in line for line in told["not_checked"])
    (tmp_path / "plain").mkdir()
    for path, words in ((tmp_path / "plain", "no clone"), (tmp_path / "none", "not there")):
        with pytest.raises(FormatError, match=words):
            list(small_blobs(path, 1000))


def test_every_small_file_of_every_commit_is_given(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(folder))
    for number, data in enumerate((b"one\n", b"two\nlines\n", b"", b"x" * 2000)):
        (folder / "same.txt").write_bytes(data)
        git(folder, "add", "same.txt")
        git(folder, "commit", "--quiet", "-m", str(number))
    found = dict.fromkeys(data for _, data in small_blobs(folder, 1000))
    assert set(found) == {b"one\n", b"two\nlines\n", b""}


def test_a_book_in_the_seed_s_format_is_looked_for_by_its_path(
    council: Council, tmp_path: Path
) -> None:
    shutil.copytree(council.folder, tmp_path / "public")
    shutil.copytree(council.trust, tmp_path / "trust")
    seen = tmp_path / "trust" / "seen"
    seen.mkdir()
    held = (council.folder / "proof" / "130025Z.txt").read_bytes()
    (seen / "130025Z.txt").write_bytes(held)
    code, told = Council(tmp_path / "public", tmp_path / "trust").verify()
    assert code == 0 and any("looked in 1 list" in note for note in told["notes"])
    digest = StampedList.parse(held).books[0].sha256.encode()
    (seen / "later.txt").write_bytes(held.replace(digest, b"ab" * 32))
    code, told = Council(tmp_path / "public", tmp_path / "trust").verify()
    assert code == 1
    assert [each["place"] for each in told["findings"]] == ["seen/later.txt"]
