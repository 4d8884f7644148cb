"""Alerts: a webhook told once when a condition begins and once when it ends, and a dead-man ping.

The addresses are secrets: they come from the environment, and no message,
error or file of ours holds them. A message is sent before it is noted as
sent, so that a crash between the two repeats it and never swallows it.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beforehand.book.store import write_synced
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json, seal_json
from beforehand.stages.health import Condition

WEBHOOK_ENV = "BEFOREHAND_WEBHOOK_URL"
DEADMAN_ENV = "BEFOREHAND_DEADMAN_URL"
STATE_NAME = "state/alerts.json"
STATE_FORMAT = "beforehand-alerts/1"
MAX_STATE_BYTES = 4 << 20
MAX_LINES = 40
TIMEOUT_S = 10
ATTEMPTS = 3
PAUSES_S = (0.5, 2.0)


@dataclass(frozen=True)
class Told:
    """What one call told. `problem` is why it could not, "" where it could or need not."""

    started: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    problem: str = ""


def send_alerts(
    folder: Path,
    conditions: Sequence[Condition],
    *,
    league: str = "",
    environ: Mapping[str, str] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Told:
    """Tell the webhook which conditions have begun and which have ended since it was told last.

    Without BEFOREHAND_WEBHOOK_URL nothing is sent and nothing noted. What could
    not be delivered is tried again at the next call.
    """
    url = (os.environ if environ is None else environ).get(WEBHOOK_ENV, "")
    if not url:
        return Told()
    held = _read_state(folder)
    now = {each.id: each for each in conditions}
    started = [
        each for each in conditions if held.get(each.id, {}).get("severity", "") != each.severity
    ]
    ended = [(name, entry) for name, entry in held.items() if name not in now]
    if not started and not ended:
        return Told()
    message = json.dumps({"text": _text(league, started, ended)}).encode("utf-8")
    problem = _deliver(url, message, sleep)
    if problem:
        return Told(problem=f"the webhook of {WEBHOOK_ENV} was not told: {problem}")
    _write_state(folder, now)
    return Told(tuple(each.id for each in started), tuple(name for name, _ in ended))


def ping_deadman(
    *,
    environ: Mapping[str, str] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Say that a tick went well to whoever waits for it; "" or what kept it from being said.

    Silence is the alert: after a tick that failed this is not called.
    """
    url = (os.environ if environ is None else environ).get(DEADMAN_ENV, "")
    if not url:
        return ""
    problem = _deliver(url, None, sleep)
    return f"the ping of {DEADMAN_ENV} failed: {problem}" if problem else ""


# ---- the message


def slack_text(text: str) -> str:
    """Text that a Slack message shows as it is: no mention, no link, no second line.

    >>> slack_text("<!channel> & more")
    '&lt;!channel&gt; &amp; more'
    """
    line = "".join(each if each.isprintable() else " " for each in text)
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _text(
    league: str, started: Sequence[Condition], ended: Sequence[tuple[str, Mapping[str, Any]]]
) -> str:
    lines = [
        f"{each.severity.upper()}: {slack_text(each.sentence)} (since {slack_text(each.since)}, "
        f"{slack_text(each.id)})"
        for each in started
    ]
    lines += [
        f"OVER: {slack_text(str(entry['sentence']))} ({slack_text(name)})" for name, entry in ended
    ]
    more = len(lines) - MAX_LINES
    if more > 0:
        lines = [*lines[:MAX_LINES], f"… and {more} more"]
    return "\n".join([f"beforehand {slack_text(league)}".strip(), *lines])


# ---- the way out


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A secret address is not carried on to wherever its answer points."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


def _deliver(url: str, message: bytes | None, sleep: Callable[[float], None]) -> str:
    """POST the message, or GET without one; "" or, after a few attempts, why it failed.

    The reasons are words of ours: an error's own text may hold the address.
    """
    if not url.startswith(("https://", "http://")):
        return "its value is not an http address"
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(PAUSES_S[attempt - 1])
        problem, again = _send_once(url, message)
        if not problem or not again:
            break
    return problem


def _send_once(url: str, message: bytes | None) -> tuple[str, bool]:
    headers = {"User-Agent": "beforehand"}
    if message is not None:
        headers["Content-Type"] = "application/json; charset=utf-8"
    try:
        request = urllib.request.Request(url, data=message, headers=headers)  # noqa: S310 - checked
        opener = urllib.request.build_opener(_NoRedirect)
        with opener.open(request, timeout=TIMEOUT_S) as reply:
            reply.read(1024)
    except urllib.error.HTTPError as error:
        code = error.code
        error.close()
        return f"HTTP {code}", code in (408, 425, 429) or code >= 500
    except (OSError, ValueError, ArithmeticError) as error:
        return type(error).__name__, isinstance(error, OSError)
    except Exception as error:  # http.client's own, whose texts may hold the address
        return type(error).__name__, True
    return "", False


# ---- what was told


def _read_state(folder: Path) -> dict[str, dict[str, Any]]:
    """What was told and has not ended; nothing where that is lost: then it is told again."""
    path = folder / STATE_NAME
    if not path.is_file() or path.stat().st_size > MAX_STATE_BYTES:
        return {}
    try:
        value = decode_json(path.read_bytes())
        if value["format"] != STATE_FORMAT:
            return {}
        return {
            str(name): {"severity": str(entry["severity"]), "sentence": str(entry["sentence"])}
            for name, entry in value["active"].items()
        }
    except (FormatError, KeyError, TypeError, AttributeError):
        return {}


def _write_state(folder: Path, now: Mapping[str, Condition]) -> None:
    active = {
        name: {
            "severity": each.severity,
            "sentence": each.sentence,
            "since": each.since,
        }
        for name, each in now.items()
    }
    write_synced(folder / STATE_NAME, seal_json({"format": STATE_FORMAT, "active": active}) + b"\n")
