"""A foreign git repository in a temporary folder, honest and rewritten."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from beforehand.anchors.anchor import CHECKS, REFUSED, UNCHECKED, Evidence
from beforehand.anchors.foreign import MEDIA, GitRepository, plain_address
from beforehand.anchors.git_history import GitRecord
from beforehand.anchors.trust import Clone, Trust
from beforehand.errors import FormatError, RemoteError, RuleError
from tests.anchors.conftest import NOTE, OTHER_NOTE, StillClock

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)

DIGEST = hashlib.sha256(NOTE).digest()
LATER = "2027-01-01T00:00:00Z"


def git(folder: Path, *words: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=t", "-c", "user.email=t@invalid")
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """Somebody else's empty repository."""
    far = tmp_path / "far.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(far))
    return far


@pytest.fixture
def own(far: Path, tmp_path: Path, clock: StillClock) -> GitRepository:
    return GitRepository(str(far), tmp_path / "work", clock)


def reader(far: Path, tmp_path: Path, known_tip: str | None = None) -> Trust:
    """What a reader has: a clone of their own."""
    clone = tmp_path / "reader"
    shutil.rmtree(clone, ignore_errors=True)
    git(tmp_path, "clone", "--quiet", str(far), str(clone))
    return Trust(clones={str(far): Clone(clone, known_tip)})


def test_a_note_in_a_history_that_only_adds(own: GitRepository, far: Path, tmp_path: Path) -> None:
    evidence = own.submit(NOTE)
    own.submit(OTHER_NOTE)
    assert evidence.media == MEDIA
    assert own.upgrade(evidence) is evidence
    verdict = own.check(evidence, DIGEST, reader(far, tmp_path), LATER)
    assert verdict.result == CHECKS
    assert (verdict.not_after, verdict.level) == (None, "1")  # a commit's time proves nothing
    assert verdict.claimed == "2026-11-30T12:00:00Z"
    assert any("author's word" in gap for gap in verdict.excludes_not)
    assert own.check(evidence, bytes(32), reader(far, tmp_path), LATER).result == REFUSED


def test_a_note_is_pushed_once(own: GitRepository, far: Path) -> None:
    first = own.submit(NOTE)
    own.submit(OTHER_NOTE)
    assert own.submit(NOTE) == first
    assert git(far, "rev-list", "--count", "main") == "2"


def test_two_writers_share_a_repository(
    own: GitRepository, far: Path, tmp_path: Path, clock: StillClock
) -> None:
    other = GitRepository(str(far), tmp_path / "elsewhere", clock)
    evidence = own.submit(NOTE)
    other.submit(OTHER_NOTE)
    own.submit(NOTE + b"x")
    assert own.check(evidence, DIGEST, reader(far, tmp_path), LATER).result == CHECKS


def test_the_bytes_are_kept_as_they_are(own: GitRepository, far: Path, tmp_path: Path) -> None:
    """Also where the far repository's attributes would change line ends."""
    own.submit(OTHER_NOTE)
    (own.work / ".gitattributes").write_text("* text eol=lf\n", encoding="ascii")
    git(own.work, "add", ".gitattributes")
    git(own.work, "commit", "--quiet", "-m", "attributes")
    git(own.work, "push", "--quiet", "origin", "HEAD:main")
    note = NOTE.replace(b"\n", b"\r\n")
    evidence = own.submit(note)
    digest = hashlib.sha256(note).digest()
    assert own.check(evidence, digest, reader(far, tmp_path), LATER).result == CHECKS


def test_a_rewritten_history_is_noticed(own: GitRepository, far: Path, tmp_path: Path) -> None:
    evidence = own.submit(NOTE)
    tip = git(far, "rev-parse", "main")
    git(own.work, "commit", "--quiet", "--amend", "-m", "another")
    git(own.work, "push", "--quiet", "--force", "origin", "HEAD:main")
    assert own.check(evidence, DIGEST, reader(far, tmp_path), LATER).result == REFUSED
    # Evidence of the new history does not help where the reader kept the old tip.
    fresh = json.loads(evidence.data) | {"commit": git(far, "rev-parse", "main")}
    again = Evidence("git", "complete", json.dumps(fresh).encode(), MEDIA)
    assert own.check(again, DIGEST, reader(far, tmp_path), LATER).result == CHECKS
    known = reader(far, tmp_path, tip)
    assert own.check(again, DIGEST, known, LATER).result == REFUSED


@pytest.mark.parametrize("deed", ["change", "remove"])
def test_a_history_that_changes_a_note_is_refused(
    own: GitRepository, far: Path, tmp_path: Path, deed: str
) -> None:
    evidence = own.submit(NOTE)
    path = json.loads(own.submit(OTHER_NOTE).data)["path"]
    if deed == "change":
        (own.work / path).write_bytes(b"another")
        git(own.work, "add", path)
    else:
        git(own.work, "rm", "--quiet", path)
    git(own.work, "commit", "--quiet", "-m", deed)
    git(own.work, "push", "--quiet", "origin", "HEAD:main")
    verdict = own.check(evidence, DIGEST, reader(far, tmp_path), LATER)
    assert verdict.result == REFUSED
    assert "only add" in verdict.words


def test_replaced_objects_do_not_deceive(own: GitRepository, far: Path, tmp_path: Path) -> None:
    """`git replace` shows another history than the one that was pushed; it is not followed."""
    evidence = own.submit(NOTE)
    trust = reader(far, tmp_path)
    clone = tmp_path / "reader"
    blob = git(clone, "rev-parse", f"HEAD:{json.loads(evidence.data)['path']}")
    (tmp_path / "forged").write_bytes(OTHER_NOTE)
    forged = git(clone, "hash-object", "-w", str(tmp_path / "forged"))
    git(clone, "replace", blob, forged)
    assert own.check(evidence, DIGEST, trust, LATER).result == CHECKS
    other = hashlib.sha256(OTHER_NOTE).digest()
    assert own.check(evidence, other, trust, LATER).result == REFUSED


def test_what_cannot_be_checked(own: GitRepository, far: Path, tmp_path: Path) -> None:
    evidence = own.submit(NOTE)
    assert own.check(evidence, DIGEST, Trust(), LATER).result == UNCHECKED
    gone = Trust(clones={str(far): Clone(tmp_path / "nothing")})
    assert own.check(evidence, DIGEST, gone, LATER).result == UNCHECKED
    (tmp_path / "plain").mkdir()
    plain = Trust(clones={str(far): Clone(tmp_path / "plain")})
    assert own.check(evidence, DIGEST, plain, LATER).result == UNCHECKED
    odd = Trust(clones={str(far): Clone(reader(far, tmp_path).clones[str(far)].path, "--all")})
    assert own.check(evidence, DIGEST, odd, LATER).result == UNCHECKED
    trust = reader(far, tmp_path)
    assert own.check(evidence, DIGEST, trust, "2026-01-01T00:00:00Z").result == UNCHECKED
    pending = Evidence("git", "pending", evidence.data, MEDIA)
    assert own.check(pending, DIGEST, trust, LATER).result == UNCHECKED


@pytest.mark.parametrize(
    "change",
    [
        {"commit": "HEAD"},
        {"commit": "--output=/tmp/x"},
        {"path": "../../etc/passwd"},
        {"branch": "-x"},
        {"branch": "a..b"},
        {"repository": 3},
        {"kind": "other"},
    ],
)
def test_a_record_that_would_steer_git_is_refused(change: dict[str, object]) -> None:
    record = {"kind": "git", "repository": "r", "branch": "main", "commit": "0" * 40}
    record["path"] = "checkpoints/" + "0" * 64
    GitRecord.parse(json.dumps(record).encode())
    with pytest.raises(FormatError):
        GitRecord.parse(json.dumps({**record, **change}).encode())


@pytest.mark.parametrize("url", ["ext::sh -c true", "--upload-pack=true"])
def test_addresses_that_run_programs_are_refused(
    url: str, tmp_path: Path, clock: StillClock
) -> None:
    with pytest.raises(RuleError, match="address"):
        GitRepository(url, tmp_path / "w", clock).submit(NOTE)
    with pytest.raises(RuleError, match="branch"):
        GitRepository("x", tmp_path / "w", clock, branch="-d").submit(NOTE)


def test_a_repository_that_is_away_can_be_tried_again(tmp_path: Path, clock: StillClock) -> None:
    with pytest.raises(RemoteError) as caught:
        GitRepository(str(tmp_path / "none.git"), tmp_path / "w", clock).submit(NOTE)
    assert caught.value.retryable


def test_no_password_stands_in_a_record() -> None:
    assert plain_address("https://u:p@host.example/x.git") == "https://host.example/x.git"
    assert plain_address("git@host.example:x.git") == "git@host.example:x.git"
