"""The HTTP policy, against a real server on loopback: bounded, patient, and silent on secrets."""

from __future__ import annotations

import asyncio
import builtins
import gzip
import zlib
from decimal import Decimal
from typing import Any

import pytest

from beforehand.errors import FormatError, RemoteError, RuleError
from beforehand.sources.http import Http, HttpRules, Response
from beforehand.sources.http_body import Body, TooLarge, Undecodable, decode_json
from beforehand.sources.http_urls import base_url, shown
from beforehand.sources.http_waits import Bucket
from tests.sources.venue_server import (
    FAST,
    NOON,
    FakeTime,
    FixedClock,
    Reply,
    Server,
    scripted,
    talk,
)


def get(*replies: Any, path: str = "/x", rules: HttpRules = FAST, **more: Any) -> Response:
    """One GET of `path` against a server that gives these replies one after another."""

    async def work(server: Server, http: Http) -> Response:
        return await http.get(server.url + path, **more)

    return talk(scripted(*replies), work, rules=rules)[0]


def waits(*replies: Any, rules: HttpRules = FAST) -> list[float]:
    """The seconds waited for while these replies came."""
    time = FakeTime()

    async def work(server: Server, http: Http) -> None:
        await http.get(server.url + "/x")

    talk(scripted(*replies), work, rules=rules, time=time)
    return time.slept


def test_raw_bytes_come_back_unchanged_with_status_and_time() -> None:
    body = b'{"p": 0.10,\n "q": "\\u00e9"}\n'
    found = get(Reply(body))
    assert (found.data, found.status, found.read_at) == (body, 200, NOON)
    assert found.evidence().data == body
    assert found.json() == {"p": Decimal("0.10"), "q": "é"}


def test_gzip_is_undone() -> None:
    packed = Reply(gzip.compress(b"[1]"), headers={"Content-Encoding": "gzip"})
    assert get(packed).data == b"[1]"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_and_broken_servers_are_asked_again(status: int) -> None:
    assert get(Reply(status=status), [1]).json() == [1]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422])
def test_a_refusal_is_final(status: int) -> None:
    async def work(server: Server, http: Http) -> Server:
        with pytest.raises(RemoteError, match=f"status {status}") as caught:
            await http.get(server.url + "/x")
        assert not caught.value.retryable
        return server

    _, server = talk(scripted(Reply(status=status)), work)
    assert len(server.asked) == 1


def test_attempts_are_bounded_in_a_storm() -> None:
    async def work(server: Server, http: Http) -> None:
        with pytest.raises(RemoteError, match=r"status 429 \(attempt 3 of 3\)") as caught:
            await http.get(server.url + "/x")
        assert caught.value.retryable

    _, server = talk(scripted(Reply(status=429)), work)
    assert len(server.asked) == 3


def test_v24_one_bucket_a_host_holds_all_callers_back() -> None:
    # Two hundred callers at once, ten a second: the last begins 19 seconds later.
    time = FakeTime()
    starts: list[float] = []

    async def work(server: Server, http: Http) -> None:
        await asyncio.gather(*(http.get(f"{server.url}/{n}") for n in range(200)))

    def answer(path: str, query: dict[str, str]) -> Any:
        starts.append(time.seconds)
        return [1]

    talk(answer, work, rules=HttpRules(rate=10.0, burst=10, in_flight=1), time=time)
    for at in starts:
        assert sum(at <= other < at + 1 - 1e-9 for other in starts) <= 20
    assert time.seconds == pytest.approx(19.0)


def test_v24_a_429_pauses_every_caller_of_the_host() -> None:
    time = FakeTime()

    async def work() -> list[float]:
        bucket = Bucket(100.0, 100, time.now, time.sleep)
        bucket.pause(7.0)
        begun = []
        for _ in range(3):
            await bucket.take()
            begun.append(time.seconds)
        return begun

    assert asyncio.run(work()) == [7.0, 7.0, 7.0]


def test_retry_after_in_seconds_is_waited_for() -> None:
    assert 7.0 in waits(Reply(status=429, headers={"Retry-After": "7"}), [1])


def test_retry_after_as_a_date_is_counted_from_the_answers_own_date() -> None:
    headers = {
        "Date": "Mon, 05 Jan 2026 12:00:00 GMT",
        "Retry-After": "Mon, 05 Jan 2026 12:00:09 GMT",
    }
    assert 9.0 in waits(Reply(status=503, headers=headers), [1])


@pytest.mark.parametrize("asked", ["86400", "9" * 30, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_retry_after_is_capped(asked: str) -> None:
    rules = HttpRules(rate=1e5, burst=100, attempts=2, retry_after_most=3.0)
    assert max(waits(Reply(status=429, headers={"Retry-After": asked}), [1], rules=rules)) == 3.0


@pytest.mark.parametrize("asked", ["soon", "-5", "", "Mon, 99 Foo"])
def test_an_unreadable_retry_after_is_ignored(asked: str) -> None:
    assert max(waits(Reply(status=429, headers={"Retry-After": asked}), [1])) < 1.0


def test_backoff_grows_and_is_jittered() -> None:
    rules = HttpRules(rate=1e5, burst=100, attempts=4, backoff_seconds=1.0)
    bad = Reply(status=500)
    assert waits(bad, bad, bad, [1], rules=rules) == [0.5, 1.0, 2.0]


def test_half_a_body_is_asked_for_again() -> None:
    assert get(Reply(b"[1, 2, 3]", cut=4), [1]).json() == [1]


def test_half_a_body_for_ever_is_a_retryable_error() -> None:
    with pytest.raises(RemoteError, match=r"127.0.0.1:\d+/x: transport failed") as caught:
        get(Reply(b"[1, 2, 3]", cut=4))
    assert caught.value.retryable


@pytest.mark.parametrize(
    "raw", [b"", b"\x00\xff garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
)
def test_what_is_no_http_is_a_retryable_error(raw: bytes) -> None:
    with pytest.raises(RemoteError) as caught:
        get(Reply(raw=raw))
    assert caught.value.retryable


def test_nobody_listens() -> None:
    async def work(server: Server, http: Http) -> None:
        with pytest.raises(RemoteError, match="transport failed") as caught:
            await http.get("http://127.0.0.1:1/x?secret=abc")
        assert caught.value.retryable
        assert "abc" not in str(caught.value)

    talk(scripted([1]), work)


def test_a_silent_server_times_out() -> None:
    rules = HttpRules(rate=1e5, burst=100, attempts=1, total_seconds=0.1)
    with pytest.raises(RemoteError, match="timeout"):
        get(Reply(b"[1]", delay=2.0), rules=rules)


@pytest.mark.parametrize("length", [True, False])
def test_a_huge_body_is_cut_off_while_it_streams(length: bool) -> None:
    rules = HttpRules(rate=1e5, burst=100, attempts=3, body_most=1000)
    body = b"x" * 1_000_000
    raw = None if length else b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body
    with pytest.raises(RemoteError, match="larger than 1000 bytes") as caught:
        get(Reply(body, raw=raw), rules=rules)
    assert not caught.value.retryable


def test_a_gzip_bomb_is_never_unpacked() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    body = Body("gzip", 10_000)
    with pytest.raises(TooLarge):
        body.feed(bomb)
    rules = HttpRules(rate=1e5, burst=100, body_most=10_000)
    with pytest.raises(RemoteError, match="larger than"):
        get(Reply(bomb, headers={"Content-Encoding": "gzip"}), rules=rules)


@pytest.mark.parametrize(
    "coding, body",
    [
        ("gzip", b"plain"),
        ("gzip", gzip.compress(b"[1, 2, 3]", mtime=0)[:-9]),
        ("gzip", gzip.compress(b"[1]", mtime=0) + b"tail"),
        ("br", b"x"),
    ],
    ids=["plain", "cut", "a tail", "another coding"],
)
def test_a_body_that_is_not_what_it_says(coding: str, body: bytes) -> None:
    with pytest.raises(RemoteError):
        get(Reply(body, headers={"Content-Encoding": coding}))


def test_a_compressed_body_in_single_bytes() -> None:
    body = Body("deflate", 100)
    for byte in zlib.compress(b"hello"):
        body.feed(bytes([byte]))
    assert body.finish() == b"hello"
    with pytest.raises(Undecodable):
        Body("snappy", 1)


def test_redirects_stay_on_the_host() -> None:
    async def work(server: Server, http: Http) -> Response:
        return await http.get(server.url + "/x")

    moved = Reply(status=302, headers={"Location": "/y"})
    found, server = talk(scripted(moved, [1]), work)
    assert server.paths() == ["/x", "/y"]
    assert found.url.endswith("/y")


@pytest.mark.parametrize("to", ["http://127.0.0.1:1/y", "https://evil.example/y?a=b", ""])
def test_redirects_elsewhere_are_refused(to: str) -> None:
    with pytest.raises(RemoteError, match="another host") as caught:
        get(Reply(status=302, headers={"Location": to}))
    assert not caught.value.retryable


def test_redirects_in_a_circle_end() -> None:
    with pytest.raises(RemoteError, match="more than 3 redirects"):
        get(Reply(status=302, headers={"Location": "/x"}))


def test_b23_announced_ends_become_health_warnings() -> None:
    async def work(server: Server, http: Http) -> tuple[str, ...]:
        await http.get(server.url + "/markets/123")
        await http.get(server.url + "/markets/456")
        await http.get(server.url + "/v2/x")
        return http.warnings

    headers = {"Sunset": "Fri, 01 May 2026 00:00:00 GMT", "Deprecation": "true"}
    warnings, _ = talk(scripted(Reply(b"[]", headers=headers)), work)
    assert len(warnings) == 2
    assert "/markets/{id} announces its end: Deprecation true, Sunset Fri, 01 May" in warnings[0]
    assert "/v2/x" in warnings[1]


def test_no_secret_in_an_error_or_in_evidence() -> None:
    with pytest.raises(RemoteError) as caught:
        get(Reply(status=403), query={"api_key": "hunter2", "token_id": "1"})
    assert "hunter2" not in str(caught.value)
    assert "token_id" not in str(caught.value)
    found = get([1], query={"api_key": "hunter2", "token_id": "1"})
    assert "hunter2" not in found.url
    assert found.url.endswith("?api_key=***&token_id=1")
    assert shown("https://me:pw@h.example/x") == "https://h.example/x"


def test_a_secret_is_not_told_when_the_far_side_sends_no_json() -> None:
    found = get(Reply(b"<html>Be right back</html>"), query={"key": "hunter2"})
    with pytest.raises(RemoteError, match="not JSON") as caught:
        found.json()
    assert caught.value.retryable
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b"NaN",
        b"-Infinity",
        b"[" * 100 + b"]" * 100,
        b"[" * 100_000,
        b'{"a":{"b":1,"b":1}}',
        b"1e999999999",
        b"1" * 5000,
        b"0." + b"1" * 5000,
    ],
)
def test_json_beyond_reason_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        decode_json(data)


def test_v34_no_number_is_ever_a_float() -> None:
    def kinds(value: Any) -> set[type]:
        if isinstance(value, dict):
            return set().union(*map(kinds, value.values()))
        if isinstance(value, list):
            return set().union(*map(kinds, value))
        return {type(value)}

    found = decode_json(b'{"a": [0.29, 1e-3, 3, -0.0], "b": {"c": 1E2}}')
    assert kinds(found) == {Decimal, int}
    assert found["a"][0] == Decimal("0.29")


def test_a_base_url_is_http() -> None:
    for wrong in ("ftp://x", "file:///etc/passwd", "x", "http://", "https://h.example/?q=1"):
        with pytest.raises(RuleError):
            base_url(wrong)


def test_without_aiohttp_the_rule_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name == "aiohttp":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RuleError, match=r"pip install -c constraints\.txt '\.\[live\]'"):
        Http(FixedClock())
