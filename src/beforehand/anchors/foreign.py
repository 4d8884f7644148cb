"""A git repository that somebody else hosts, as a plain append-only channel.

Each note is a file `checkpoints/SHA256`, added by a commit and never touched
again. A commit's time is its author's claim, so this proves that the note is
public and was not replaced, and no time. git runs as a program, without a
shell.
"""

from __future__ import annotations

import hashlib
import json
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from beforehand.anchors.anchor import (
    COMPLETE,
    Evidence,
    Subject,
    Verdict,
    unchecked,
)
from beforehand.anchors.git_history import BRANCH, FOLDER, SECONDS, check_git, run_git
from beforehand.anchors.trust import Trust
from beforehand.clock import Clock
from beforehand.errors import RemoteError, RuleError

MEDIA = "application/vnd.beforehand.git+json"


@dataclass(frozen=True)
class GitRepository:
    """A foreign repository as an anchor. `work` is a folder of ours for a clone.

    `url` is an https or ssh address or a path; credentials are git's own affair.
    """

    url: str
    work: Path
    clock: Clock
    name: str = "git"
    branch: str = "main"
    author: str = "beforehand"
    seconds: float = SECONDS

    def submit(self, note: bytes) -> Evidence:
        """The commit that adds the note, pushed; RemoteError where the push fails."""
        if not BRANCH.fullmatch(self.branch):
            raise RuleError(f"{self.branch!r:.100} is not a branch name that is used here")
        if self.url.startswith("-") or "::" in self.url:
            raise RuleError(f"{self.url!r:.200} is not an address that git may be given here")
        self._refresh()
        path = f"{FOLDER}/{hashlib.sha256(note).hexdigest()}"
        at = self.clock.now()
        if self._add(path, note, at):
            self._git("push", "--quiet", "origin", f"HEAD:refs/heads/{self.branch}")
        commit = self._git("log", "-1", "--format=%H", "--", path).decode("ascii").strip()
        record = {
            "kind": "git",
            "repository": plain_address(self.url),
            "branch": self.branch,
            "commit": commit,
            "path": path,
        }
        return Evidence(self.name, COMPLETE, json.dumps(record, sort_keys=True).encode(), MEDIA)

    def upgrade(self, evidence: Evidence) -> Evidence:
        """The same: a pushed commit is complete."""
        return evidence

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        """What the reader's clone shows of the note."""
        if evidence.state != COMPLETE:
            return unchecked("pending: nothing was pushed yet")
        return check_git(evidence.data, Subject.of_digest(digest), trust.clones, as_of)

    def _refresh(self) -> None:
        """Our clone at the far side's tip, made where there is none; the far side may be empty."""
        if not (self.work / ".git").is_dir():
            self.work.mkdir(parents=True, exist_ok=True)
            self._git("init", "--quiet", "--initial-branch", self.branch)
            self._git("remote", "add", "origin", self.url)
        heads = self._git("ls-remote", "--heads", "origin", f"refs/heads/{self.branch}")
        if heads.strip():
            self._git("fetch", "--quiet", "origin", f"refs/heads/{self.branch}")
            self._git("checkout", "--quiet", "--force", "-B", self.branch, "FETCH_HEAD")

    def _add(self, path: str, note: bytes, at: str) -> bool:
        """Commit the note; False where the repository has it already.

        The bytes go in without filters: attributes of the far repository
        (line ends, keywords) would store others.
        """
        held = run_git(self.work, ["cat-file", "blob", f"HEAD:{path}"], {}, self.seconds)
        if held.returncode == 0 and held.stdout == note:
            return False
        (self.work / ".git" / "note").write_bytes(note)
        blob = self._git("hash-object", "-w", "--no-filters", "--", ".git/note").decode("ascii")
        self._git("update-index", "--add", "--cacheinfo", f"100644,{blob.strip()},{path}")
        identity = ("-c", f"user.name={self.author}", "-c", "user.email=none@invalid")
        commit = ("commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", f"checkpoint {path}")
        self._git(*identity, *commit, dates=at)
        return True

    def _git(self, *words: str, dates: str | None = None) -> bytes:
        env = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:https:ssh"}
        if dates is not None:
            env |= {"GIT_AUTHOR_DATE": dates, "GIT_COMMITTER_DATE": dates}
        done = run_git(self.work, ["-c", "core.hooksPath=/dev/null", *words], env, self.seconds)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise RemoteError(f"git {words[0]}: {said}", retryable=True)
        return done.stdout


def plain_address(url: str) -> str:
    """The address without user and password, as a record may name it."""
    parts = urllib.parse.urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
