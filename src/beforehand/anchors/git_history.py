"""What a reader's clone of a foreign repository shows. Opens no connection.

What a record names is matched against patterns before git sees it, and the
clone is only read: no hooks, no replaced objects.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from beforehand.anchors.anchor import (
    CHECKS,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.anchors.trust import Clone
from beforehand.book.checkpoint import MAX_NOTE_BYTES
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError, IntegrityError, RemoteError, RuleError
from beforehand.records.codec import decode_json

FOLDER = "checkpoints"
SECONDS = 120.0
MAX_RECORD_BYTES = 8 << 10

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
_PATH = re.compile(r"checkpoints/[0-9a-f]{64}", re.ASCII)
BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/-]{0,99}", re.ASCII)

_GAPS = (
    "a second note put into another repository, or beside this one",
    "a date that the operator chose: a commit's time is its author's word",
)


def run_git(
    folder: Path,
    words: list[str],
    env: Mapping[str, str],
    seconds: float,
    data: bytes | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """One run of git in a folder, without a shell; RemoteError where it takes too long."""
    try:
        return subprocess.run(
            ["git", *words],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", **env},
            stdin=subprocess.DEVNULL if data is None else None,
            input=data,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise RuleError("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise RemoteError(f"git {words[0]} took more than {seconds} s", retryable=True) from None


@dataclass(frozen=True)
class GitRecord:
    """Where a note was pushed."""

    repository: str
    branch: str
    commit: str
    path: str

    @classmethod
    def parse(cls, data: bytes) -> GitRecord:
        """The record of its JSON; FormatError where a part has not its pattern."""
        if len(data) > MAX_RECORD_BYTES:
            raise FormatError(f"a git record over {MAX_RECORD_BYTES} bytes")
        value = decode_json(data)
        if not isinstance(value, dict) or value.get("kind") != "git":
            raise FormatError("not a git record")
        repository, branch, commit, path = (
            value.get(key) for key in ("repository", "branch", "commit", "path")
        )
        if not isinstance(repository, str):
            raise FormatError("the git record names no repository")
        for part, pattern in ((branch, BRANCH), (commit, _COMMIT), (path, _PATH)):
            if not isinstance(part, str) or not pattern.fullmatch(part):
                raise FormatError(f"{part!r:.100} has no place in a git record")
        return cls(repository, str(branch), str(commit), str(path))


class Reading:
    """A reader's clone, only read: no network, no hooks, no replaced objects."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ask(self, *words: str, data: bytes | None = None) -> tuple[int, bytes]:
        """The exit code of git and what it printed; `data` is written to it."""
        # Replace refs would show another history than the one that was pushed.
        env = {
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "",
        }
        done = run_git(self._path, list(words), env, SECONDS, data)
        return done.returncode, done.stdout

    def tip(self, branch: str) -> str:
        """The branch's tip, as fetched, or as the clone itself has it."""
        for ref in (f"refs/remotes/origin/{branch}", f"refs/heads/{branch}"):
            code, out = self.ask("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
            if code == 0:
                return out.decode("ascii").strip()
        raise FormatError(f"the clone has no branch {branch}")

    def is_ancestor(self, old: str, new: str) -> bool:
        return self.ask("merge-base", "--is-ancestor", old, new)[0] == 0


def check_git(data: bytes, subject: Subject, clones: Mapping[str, Clone], as_of: str) -> Verdict:
    """What a reader's clone shows: the note at its commit, in a history that only adds.

    No time is proved; the commit's date is reported as a claim.
    """
    try:
        record = GitRecord.parse(data)
        clone = clones.get(record.repository)
        if clone is None:
            return unchecked(f"no clone of {record.repository:.200} was supplied")
        if not clone.path.is_dir():
            return unchecked(f"the clone {clone.path} is not there")
        claimed = _check_history(Reading(clone.path), record, clone, subject.sha256)
    except (FormatError, RemoteError, RuleError) as error:
        return unchecked(str(error))
    except IntegrityError as error:
        return refused(str(error))
    if instant_key(claimed) > instant_key(as_of):
        return unchecked(f"the commit is dated {claimed}, after {as_of}")
    notes = () if clone.known_tip else ("no earlier tip is known, so a rewrite would not show",)
    return Verdict(
        CHECKS,
        f"{record.repository} holds it at commit {record.commit[:12]}",
        claimed=claimed,
        excludes_not=_GAPS,
        notes=notes,
        bound=clone.known_tip is not None,
    )


def _check_history(git: Reading, record: GitRecord, clone: Clone, sha256: bytes) -> str:
    """IntegrityError where the clone contradicts the record; the commit's own date."""
    tip = git.tip(record.branch)
    if clone.known_tip is not None:
        if not _COMMIT.fullmatch(clone.known_tip):
            raise FormatError("the known tip is not a commit")
        if not git.is_ancestor(clone.known_tip, tip):
            raise IntegrityError("the branch was rewritten since the reader's earlier visit")
    if not git.is_ancestor(record.commit, tip):
        raise IntegrityError("the commit is not in the history of the branch")
    name = f"{record.commit}:{record.path}"
    code, size = git.ask("cat-file", "-s", name)
    if code != 0:
        raise IntegrityError("the commit does not hold the note")
    if int(size) > MAX_NOTE_BYTES:
        raise FormatError("the committed note is over the limit of a note")
    code, note = git.ask("cat-file", "blob", name)
    if code != 0 or hashlib.sha256(note).digest() != sha256:
        raise IntegrityError("the committed note is another one")
    changes = ("log", "--full-history", "-m", "--no-renames", "--no-ext-diff", "-n", "1")
    code, changed = git.ask(*changes, "--diff-filter=MDT", "--format=%H", tip, "--", FOLDER)
    if code != 0 or changed.strip():
        raise IntegrityError("the repository changed or removed a checkpoint: it does not only add")
    code, date = git.ask("show", "-s", "--format=%cI", record.commit)
    try:
        return instant_text(datetime.fromisoformat(date.decode("ascii").strip()))
    except ValueError:
        raise FormatError("the commit's date cannot be read") from None
