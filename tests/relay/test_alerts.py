"""Alerts go out once for each beginning and each end, and never carry a secret or markup."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from beforehand.relay.alerts import (
    ATTEMPTS,
    DEADMAN_ENV,
    STATE_NAME,
    WEBHOOK_ENV,
    ping_deadman,
    send_alerts,
    slack_text,
)
from beforehand.stages.health import Condition

SECRET = "T0KEN-5f3a9c"
AT = "2026-01-01T00:00:00Z"


class Hook(ThreadingHTTPServer):
    """A webhook that answers with the given statuses, the last one for ever."""

    def __init__(self, *statuses: int) -> None:
        self.statuses, self.seen = list(statuses), []
        super().__init__(("127.0.0.1", 0), _Handler)

    seen: list[tuple[str, str, bytes]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/services/{SECRET}"

    @property
    def texts(self) -> list[str]:
        return [json.loads(body)["text"] for method, _, body in self.seen if method == "POST"]


class _Handler(BaseHTTPRequestHandler):
    def _take(self) -> None:
        hook = self.server
        assert isinstance(hook, Hook)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hook.seen.append((self.command, self.path, body))
        status = hook.statuses.pop(0) if len(hook.statuses) > 1 else hook.statuses[0]
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET = _take  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def hook(request: pytest.FixtureRequest) -> Iterator[Hook]:
    with Hook(*getattr(request, "param", (200,))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def condition(name: str = "missed_slot:r1", severity: str = "warning", **more: str) -> Condition:
    sentence = more.get("sentence", f"{name} is wrong")
    return Condition(name, name.partition(":")[0], severity, AT, sentence)


def send(folder: Path, hook: Hook, *conditions: Condition) -> tuple[tuple[str, ...], ...]:
    told = send_alerts(
        folder, conditions, league="blind", environ={WEBHOOK_ENV: hook.url}, sleep=lambda _: None
    )
    assert told.problem == ""
    return told.started, told.ended


def test_each_condition_is_told_when_it_begins_and_when_it_ends(tmp_path: Path, hook: Hook) -> None:
    one, two = condition("missed_slot:r1"), condition("budget:league")
    assert send(tmp_path, hook) == ((), ())
    assert send(tmp_path, hook, one) == (("missed_slot:r1",), ())
    assert send(tmp_path, hook, one) == ((), ())
    assert send(tmp_path, hook, two, one) == (("budget:league",), ())
    assert send(tmp_path, hook, two) == ((), ("missed_slot:r1",))
    assert send(tmp_path, hook) == ((), ("budget:league",))
    assert send(tmp_path, hook, one) == (("missed_slot:r1",), ())
    assert len(hook.texts) == 5
    assert hook.texts[0].startswith("beforehand blind\nWARNING: missed_slot:r1 is wrong")
    assert "OVER: missed_slot:r1 is wrong" in hook.texts[2]


def test_what_gets_worse_is_told_again(tmp_path: Path, hook: Hook) -> None:
    send(tmp_path, hook, condition("budget:league"))
    assert send(tmp_path, hook, condition("budget:league", "critical")) == (("budget:league",), ())
    assert "CRITICAL" in hook.texts[1]


def test_slack_shows_hostile_text_as_it_is(tmp_path: Path, hook: Hook) -> None:
    hostile = "<!channel> <https://evil.example|click> & \u202e\x1b[31m\nsecond line"
    send(tmp_path, hook, condition(sentence=hostile))
    (text,) = hook.texts
    assert "<" not in text
    assert "&lt;!channel&gt;" in text
    assert "&amp;" in text
    assert text.count("\n") == 1
    assert not {"\u202e", "\x1b"} & set(text)
    assert slack_text("a&lt;b") == "a&amp;lt;b"


def test_a_flood_is_one_message_of_bounded_length(tmp_path: Path, hook: Hook) -> None:
    many = [condition(f"overdue_body:r{n}") for n in range(500)]
    assert len(send(tmp_path, hook, *many)[0]) == 500
    (text,) = hook.texts
    assert text.count("\n") == 41
    assert text.endswith("… and 460 more")


@pytest.mark.parametrize("hook", [(500, 429, 200)], indirect=True)
def test_a_failure_is_tried_again_a_few_times(tmp_path: Path, hook: Hook) -> None:
    send(tmp_path, hook, condition())
    assert len(hook.seen) == ATTEMPTS


@pytest.mark.parametrize(
    ("hook", "calls"), [((500,), ATTEMPTS), ((403,), 1), ((302,), 1)], indirect=["hook"]
)
def test_what_could_not_be_told_is_told_at_the_next_call(
    tmp_path: Path, hook: Hook, calls: int
) -> None:
    environ = {WEBHOOK_ENV: hook.url}
    told = send_alerts(tmp_path, [condition()], environ=environ, sleep=lambda _: None)
    assert f"HTTP {hook.statuses[0]}" in told.problem
    assert SECRET not in told.problem
    assert len(hook.seen) == calls  # a redirect is not followed
    hook.statuses = [200]
    assert send(tmp_path, hook, condition()) == (("missed_slot:r1",), ())


@pytest.mark.parametrize(
    "url",
    [
        f"http://127.0.0.1:9/{SECRET}",
        f"ftp://x/{SECRET}",
        f"{SECRET}",
        f"http://[{SECRET}/",
        f"http://127.0.0.1:{SECRET}/",
        f"http://exa mple/{SECRET}\n",
        f"file:///{SECRET}",
    ],
)
def test_a_bad_address_is_a_problem_that_does_not_repeat_it(
    tmp_path: Path, url: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    told = send_alerts(tmp_path, [condition()], environ={WEBHOOK_ENV: url}, sleep=lambda _: None)
    ping = ping_deadman(environ={DEADMAN_ENV: url}, sleep=lambda _: None)
    assert told.problem
    assert ping
    out = capfd.readouterr()
    said = told.problem + ping + out.out + out.err + caplog.text
    assert SECRET not in said
    assert not (tmp_path / STATE_NAME).exists()


def test_without_an_address_nothing_is_sent_and_nothing_noted(tmp_path: Path, hook: Hook) -> None:
    assert send_alerts(tmp_path, [condition()], environ={}).started == ()
    assert not (tmp_path / STATE_NAME).exists()
    assert ping_deadman(environ={}) == ""
    assert send(tmp_path, hook, condition()) == (("missed_slot:r1",), ())


@pytest.mark.parametrize("state", [b"", b"junk", b"[]", b'{"format": "x"}', b'{"active": 1}'])
def test_a_lost_state_tells_again_rather_than_never(
    tmp_path: Path, hook: Hook, state: bytes
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / STATE_NAME).write_bytes(state)
    assert send(tmp_path, hook, condition()) == (("missed_slot:r1",), ())
    assert send(tmp_path, hook, condition()) == ((), ())


def test_the_ping_is_a_get_and_the_secret_is_in_no_file(tmp_path: Path, hook: Hook) -> None:
    assert ping_deadman(environ={DEADMAN_ENV: hook.url}) == ""
    send(tmp_path, hook, condition())
    assert [(method, body) for method, _, body in hook.seen][:1] == [("GET", b"")]
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()
