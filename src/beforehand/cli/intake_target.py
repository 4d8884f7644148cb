"""Where a submission goes: a league's folder on this machine, or an intake over HTTPS."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from beforehand.book.checkpoint import VerifierKey
from beforehand.book.folder import printable
from beforehand.cli.league_folder import LeagueFolder
from beforehand.errors import FormatError, RemoteError, RuleError
from beforehand.records.codec import decode_json
from beforehand.relay.following import Following
from beforehand.stages.declare import KEY_NAME
from beforehand.stages.inbox import Inbox
from beforehand.stages.key import SigningKey
from beforehand.stages.submission import Submission

MAX_REPLY_BYTES = 32 << 20
TIMEOUT_S = 30
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class OpenRuns:
    """What a league takes now: by run, each question with its event contract."""

    origin: str
    key: VerifierKey
    runs: Mapping[str, Mapping[str, Mapping[str, str]]]


class Target(Protocol):
    """Where submissions are taken."""

    def open_runs(self) -> OpenRuns:
        """The runs that take submissions now."""
        ...

    def send(self, submission: Submission) -> str:
        """Hand it in; the signed receipt."""
        ...


def open_declared(folder: Path) -> tuple[LeagueFolder, Following, SigningKey]:
    """A league's folder, its book from beside the pen, and the key that signs its receipts."""
    league = LeagueFolder(folder)
    if not league.declared:
        raise RuleError(f"{folder} holds no declared league")
    following = Following(league.book)
    return league, following, SigningKey.load(following.now().origin, league.book / KEY_NAME)


class LocalTarget:
    """A league's own folder: for the operator, who may read its key."""

    def __init__(self, folder: Path) -> None:
        league, following, self.key = open_declared(folder)
        self.occasions, self.clock = following.now(), league.clock()
        self.inbox = Inbox(league.path)

    def open_runs(self) -> OpenRuns:
        runs = {
            run.run: {name: self.occasions.questions[name].contract for name in run.questions}
            for run in self.occasions.open_runs(self.clock.now())
        }
        return OpenRuns(self.occasions.origin, self.key.verifier, runs)

    def send(self, submission: Submission) -> str:
        refusal = self.occasions.judge(submission)
        if refusal is not None:
            raise RuleError(refusal.words)
        return self.inbox.accept(submission, self.key, self.clock.now())[0]


class RemoteTarget:
    """An intake. Forecasts are secret until their deadline: they go over HTTPS or loopback."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        plain = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if parts.scheme != "https" and not plain:
            raise RuleError("give an https address: what you send is secret until the deadline")
        self.base = url.rstrip("/")

    def open_runs(self) -> OpenRuns:
        value = self._call("/v1/runs", None)
        try:
            runs = {
                str(run["run"]): {
                    str(each["question"]): dict(each["contract"]) for each in run["questions"]
                }
                for run in value["runs"]
            }
            return OpenRuns(str(value["origin"]), VerifierKey.parse(value["key"]), runs)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise FormatError("the intake's list of runs is not in the documented form") from None

    def send(self, submission: Submission) -> str:
        note = self._call("/v1/submissions", submission.data()).get("receipt")
        if not isinstance(note, str):
            raise FormatError("the intake's reply holds no receipt")
        return note

    def _call(self, path: str, data: bytes | None) -> dict[str, Any]:
        headers = {"User-Agent": "beforehand", "Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            request = urllib.request.Request(self.base + path, data=data, headers=headers)  # noqa: S310 - checked
            with _OPENER.open(request, timeout=TIMEOUT_S) as reply:
                return _object(reply.read(MAX_REPLY_BYTES + 1))
        except urllib.error.HTTPError as error:
            raise _refused(error) from None
        except OSError as error:
            raise RemoteError(f"the intake cannot be reached: {error}", retryable=True) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is secret is sent where it was meant to go, or nowhere."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _object(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_REPLY_BYTES:
        raise FormatError("the intake's reply is too long")
    value = decode_json(data)
    if not isinstance(value, dict):
        raise FormatError("the intake's reply is not an object")
    return value


def _refused(error: urllib.error.HTTPError) -> Exception:
    """The error of a reply that is no success, in the intake's own words."""
    try:
        with error:
            value = json.loads(error.read(64 << 10))
        said = f"{value['title']}: {value['detail']}"
    except (OSError, ValueError, KeyError, TypeError):
        said = "no reason given"
    words = f"the intake said {error.code}, {printable(said)}"
    if error.code in (408, 429) or error.code >= 500:
        return RemoteError(words, retryable=True)
    return RuleError(words)
