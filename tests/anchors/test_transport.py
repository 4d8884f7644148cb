"""The one HTTP exchange: limits, redirects, and who is to try again."""

from __future__ import annotations

import socket
import threading

import pytest

from beforehand.anchors.transport import exchange
from beforehand.errors import FormatError, RemoteError
from beforehand.testing.served import Asked, Served, Told


def test_an_answer_with_its_status_and_headers() -> None:
    def serve(asked: Asked) -> Told:
        assert asked.headers["user-agent"] == "beforehand"
        return Told(200, asked.method.encode() + asked.body, headers={"X-Seen": asked.path})

    with Served(serve) as served:
        got, posted = exchange(served.url + "/a"), exchange(served.url + "/b", b"1")
    assert (got.status, got.body, got.headers["x-seen"]) == (200, b"GET", "/a")
    assert posted.body == b"POST1"


@pytest.mark.parametrize(
    ("status", "again"), [(404, False), (429, True), (503, True), (302, False)]
)
def test_who_is_to_try_again(status: int, again: bool) -> None:
    with Served(lambda asked: Told(status, b"why\x1b[2J")) as served:
        answer = exchange(served.url)
        with pytest.raises(RemoteError) as caught:
            answer.expect(200)
    assert caught.value.retryable is again
    assert f"HTTP {status} why" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_redirect_is_not_followed() -> None:
    seen: list[str] = []

    def serve(asked: Asked) -> Told:
        seen.append(asked.path)
        return Told(302, headers={"Location": "/secret"})

    with Served(serve) as served:
        assert exchange(served.url + "/a").headers["location"] == "/secret"
    assert seen == ["/a"]


def test_an_answer_over_the_limit() -> None:
    with (
        Served(lambda asked: Told(200, bytes(2000))) as served,
        pytest.raises(RemoteError, match="limit of 1000 bytes"),
    ):
        exchange(served.url, limit=1000)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/", "x", "http://[", "http://a b/"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises((FormatError, RemoteError)):
        exchange(url)


def dripping(chunks: int) -> str:
    """A server that sends a byte every tenth of a second."""
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        link, _ = listener.accept()
        with link, listener:
            link.recv(4096)
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            stop = threading.Event()
            for _ in range(chunks):
                try:
                    link.sendall(b"x")
                except OSError:
                    return
                stop.wait(0.1)

    threading.Thread(target=drip, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/"


def test_a_slow_drip_is_stopped_by_the_clock() -> None:
    with pytest.raises(RemoteError, match="took too long") as caught:
        exchange(dripping(100), seconds=0.5)
    assert caught.value.retryable


def test_a_connection_that_breaks_can_be_tried_again() -> None:
    with pytest.raises(RemoteError) as caught:
        exchange(dripping(1), seconds=5)
    assert caught.value.retryable


def test_nobody_there_can_be_tried_again() -> None:
    with pytest.raises(RemoteError) as caught:
        exchange("http://127.0.0.1:9/")
    assert caught.value.retryable
