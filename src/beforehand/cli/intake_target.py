"""Where a submission goes: a league's folder on this machine, or an intake over HTTPS."""

from __future__ import annotations

import http.client
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
from beforehand.clock import instant_key
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
    """What a league takes now: by run, its deadline, and each question with its event contract."""

    origin: str
    key: VerifierKey
    runs: Mapping[str, Mapping[str, Mapping[str, str]]]
    deadlines: Mapping[str, str]


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
        raise RuleError(
            f"{folder} holds no declared league: give the folder of one, or as an entrant the "
            "address of its intake, --to"
        )
    following = Following(league.book)
    return league, following, SigningKey.load(following.now().origin, league.book / KEY_NAME)


class LocalTarget:
    """A league's own folder: for the operator, who may read its key."""

    def __init__(self, folder: Path) -> None:
        league, following, self.key = open_declared(folder)
        self.occasions, self.clock = following.now(), league.clock()
        self.inbox = Inbox(league.path)

    def open_runs(self) -> OpenRuns:
        held = self.occasions.open_runs(self.clock.now())
        runs = {
            run.run: {name: self.occasions.questions[name].contract for name in run.questions}
            for run in held
        }
        deadlines = {run.run: run.deadline for run in held}
        return OpenRuns(self.occasions.origin, self.key.verifier, runs, deadlines)

    def send(self, submission: Submission) -> str:
        refusal = self.occasions.judge(submission)
        if refusal is not None:
            raise RuleError(refusal.words)
        return self.inbox.accept(submission, self.key, self.clock.now())[0]


class RemoteTarget:
    """An intake. Forecasts are secret until their deadline: they go over HTTPS or loopback."""

    def __init__(self, url: str) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
            known = bool(parts.hostname) and parts.port != 0
        except ValueError:
            known = False
        if not known:
            raise RuleError(f"--to {url!r:.200} is no address: give one, as https://league.example")
        plain = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if parts.scheme != "https" and not plain:
            raise RuleError(
                f"--to {url!r:.200}: give an https address: what you send is secret until the "
                "deadline"
            )
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
            deadlines = {str(run["run"]): str(run["deadline"]) for run in value["runs"]}
            for deadline in deadlines.values():
                instant_key(deadline)
            return OpenRuns(str(value["origin"]), VerifierKey.parse(value["key"]), runs, deadlines)
        except (KeyError, TypeError, AttributeError, ValueError, FormatError):
            raise FormatError(
                f"{self.base}/v1/runs is not the list of runs of an intake: check the address with "
                "the operator"
            ) from None

    def send(self, submission: Submission) -> str:
        note = self._call("/v1/submissions", submission.data()).get("receipt")
        if not isinstance(note, str):
            raise FormatError(
                f"{self.base} gave no receipt: send the same file again, and tell the operator"
            )
        return note

    def _call(self, path: str, data: bytes | None) -> dict[str, Any]:
        headers = {"User-Agent": "beforehand", "Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            request = urllib.request.Request(self.base + path, data=data, headers=headers)  # noqa: S310 - checked
            with _OPENER.open(request, timeout=TIMEOUT_S) as reply:
                return _object(reply.read(MAX_REPLY_BYTES + 1), self.base + path)
        except urllib.error.HTTPError as error:
            raise _refused(error, self.base) from None
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "reason", None) or error
            raise RemoteError(
                f"{self.base} cannot be reached ({why}): check the address and your connection, "
                "ask the operator whether the intake is up, then try again",
                retryable=True,
            ) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is secret is sent where it was meant to go, or nowhere."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _object(data: bytes, url: str) -> dict[str, Any]:
    if len(data) > MAX_REPLY_BYTES:
        raise FormatError(f"the reply of {url} is over {MAX_REPLY_BYTES} bytes")
    try:
        value = decode_json(data)
    except FormatError:
        value = None
    if not isinstance(value, dict):
        raise FormatError(
            f"the reply of {url} is no JSON object: it is not an intake's; check the address with "
            "the operator"
        )
    return value


def _refused(error: urllib.error.HTTPError, base: str) -> Exception:
    """The error of a reply that is no success, in the intake's own words."""
    try:
        with error:
            value = json.loads(error.read(64 << 10))
        said = f"{value['title']}: {value['detail']}"
    except (OSError, ValueError, KeyError, TypeError):
        said = "no reason given: an intake gives one, so check the address with the operator"
    words = f"{base} said {error.code}, {printable(said)}"
    if error.code in (408, 429) or error.code >= 500:
        return RemoteError(f"{words}; try again later", retryable=True)
    return RuleError(words)
