"""The intake on a real socket: what it takes, what it refuses, and what it never gives back."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from beforehand.records.forecast import Cell
from beforehand.relay.problem import HEADERS, TITLES
from beforehand.stages.draining import drain_inbox
from beforehand.stages.inbox import MAX_PER_RUN
from beforehand.stages.receipt import Receipt
from beforehand.stages.submission import MAX_SUBMISSION_BYTES
from tests.relay.made_league import AFTER, DEADLINE, ORIGIN, RUN, START, MadeLeague, make_league
from tests.relay.served import Served, served

HOSTILE = "<script>alert(1)</script>`&\u202e"


@pytest.fixture
def league(tmp_path: Path) -> MadeLeague:
    return make_league(tmp_path / "league")


@pytest.fixture
def server(league: MadeLeague) -> Iterator[Served]:
    with served(league) as held:
        yield held


def submission(league: MadeLeague, **changes: Any) -> dict[str, Any]:
    return {**league.submission().object(), **changes}


# ---- the way in


def test_a_submission_gets_a_signed_receipt_and_then_its_line(
    league: MadeLeague, server: Served
) -> None:
    made = league.submission()
    status, reply = server.post(made.data())
    assert status == 201
    receipt = Receipt.open(reply["receipt"].encode(), league.league_key().verifier)
    assert receipt.submission == reply["sha256"] == made.sha256
    assert (reply["received_at"], reply["deadline"], reply["in_time"]) == (START, DEADLINE, True)
    assert "line" not in reply
    assert server.post(made.data()) == (200, reply)
    with league.pen() as pen:
        drain_inbox(pen, league.folder)
    assert server.get(f"/v1/receipts/{made.sha256}") == (200, {**reply, "line": 9})
    assert server.get("/v1/receipts/" + "0" * 64)[1]["code"] == "unknown_receipt"
    assert server.get("/v1/receipts/..%2f..%2fbook.jsonl")[0] == 404


def test_another_spelling_of_the_same_submission_is_the_same(
    league: MadeLeague, server: Served
) -> None:
    made = league.submission()
    assert server.post(made.data())[0] == 201
    assert server.post(json.dumps(made.object(), indent=1).encode())[0] == 200


def test_the_open_runs_say_what_is_asked_and_when_it_closes(
    league: MadeLeague, server: Served
) -> None:
    status, reply = server.get("/v1/runs")
    (run,) = reply["runs"]
    assert (status, reply["origin"], reply["now"]) == (200, ORIGIN, START)
    assert reply["key"] == league.league_key().verifier.text()
    assert (run["run"], run["deadline"], run["closes"]) == (RUN, DEADLINE, "2026-01-01T01:50:00Z")
    assert [each["question"] for each in run["questions"]] == league.ids
    assert run["questions"][0]["contract"]["source_id"] == "q1"
    assert "Will number 1 be drawn?" in run["questions"][0]["text"]
    league.clock.step_to(AFTER)
    assert server.get("/v1/runs")[1]["runs"] == []


def test_what_comes_after_the_close_is_taken_and_not_promised_in_time(
    league: MadeLeague, server: Served
) -> None:
    league.clock.step_to("2026-01-01T01:50:01Z")
    status, reply = server.post(league.submission().data())
    assert (status, reply["in_time"]) == (201, False)
    league.clock.step_to(AFTER)
    status, reply = server.post(league.submission("eve").data())
    assert (status, reply["in_time"]) == (201, False)


def test_a_run_that_begins_later_is_seen_without_a_restart(
    league: MadeLeague, server: Served
) -> None:
    """The intake follows the book while another process writes it."""
    assert len(server.get("/v1/runs")[1]["runs"]) == 1
    lines = (league.book / "book.jsonl").read_bytes().splitlines()
    run = json.loads(lines[-1])
    changed = json.dumps({**run, "run": "run-2", "n": 9}).encode()
    with (league.book / "book.jsonl").open("ab") as book:
        book.write(changed[:20])
        book.flush()
        assert len(server.get("/v1/runs")[1]["runs"]) == 1
        book.write(changed[20:] + b"\n")
        book.flush()
        assert [each["run"] for each in server.get("/v1/runs")[1]["runs"]] == [RUN, "run-2"]


def test_many_at_once_are_all_kept(league: MadeLeague, server: Served) -> None:
    mine = [league.submission(who, note=str(n)) for who in ("ada", "eve") for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda made: server.post(made.data()), mine))
    assert {status for status, _ in replies} == {201}
    with league.pen() as pen:
        assert drain_inbox(pen, league.folder).sealed == 16


# ---- refusals


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("not_a_submission", {"forecasts": [{"question": "q1", "p": "0.5"}]}),
        ("not_a_submission", {"forecasts": []}),
        ("not_a_submission", {"extra": 1}),
        ("wrong_origin", {"origin": "test.example/other/book"}),
        ("unknown_run", {"run": "other"}),
        ("not_registered", {"forecaster": "nobody"}),
        ("wrong_signature", {"note": "changed"}),
        ("wrong_signature", {"forecaster": "eve"}),
    ],
)
def test_each_refusal_has_its_code_and_leaves_nothing(
    league: MadeLeague, server: Served, code: str, changes: dict[str, Any]
) -> None:
    status, headers, body = server.ask(
        "POST", "/v1/submissions", json.dumps(submission(league, **changes)).encode()
    )
    reply = json.loads(body)
    assert (status, reply["code"], reply["status"]) == (TITLES[code][0], code, status)
    assert headers["Content-Type"].startswith("application/problem+json")
    assert not list((league.folder / "inbox").glob("*/*/*/*"))


def test_a_question_of_no_run_is_refused(league: MadeLeague, server: Served) -> None:
    foreign = league.submission(forecasts=(Cell(question="evc1:" + "0" * 64, p="0.5"),))
    assert server.post(foreign.data())[1]["code"] == "not_asked"


def test_the_body_is_plain_json_of_bounded_size(league: MadeLeague, server: Served) -> None:
    data = league.submission().data()

    def code(body: bytes, **headers: str) -> str:
        return str(server.post(body, **headers)[1]["code"])

    assert code(b"{", **{"Content-Type": "application/json"}) == "not_json"
    assert code(data, **{"Content-Type": "text/plain"}) == "not_json_type"
    assert code(data, **{"Content-Type": "multipart/form-data; boundary=x"}) == "not_json_type"
    assert code(gzip.compress(data), **{"Content-Encoding": "gzip"}) == "not_json_type"
    assert code(b" " * (MAX_SUBMISSION_BYTES + 1)) == "too_large"
    assert code(b"[" * 100_000) == "not_json"
    assert code(b"\xff") == "not_json"
    assert code(b'{"format": 1, "format": 1}') == "not_json"


def test_nothing_a_client_sends_comes_back_as_markup(league: MadeLeague, server: Served) -> None:
    bodies = [
        json.dumps(submission(league, **{key: HOSTILE}), ensure_ascii=False).encode()
        for key in (*submission(league), HOSTILE)
    ]
    bodies.append(json.dumps({HOSTILE: HOSTILE, "format": HOSTILE}).encode())
    bodies.append(
        json.dumps(submission(league, forecasts=[{"question": HOSTILE, "p": HOSTILE}])).encode()
    )
    replies = [server.ask("POST", "/v1/submissions", body) for body in bodies]
    replies.append(server.ask("GET", "/%3Cscript%3E?x=<script>"))
    replies.append(server.ask("GET", "/v1/receipts/%3Cscript%3E"))
    replies.append(server.ask("POST", "/v1/submissions", b"{}", {"Expect": HOSTILE[:25]}))
    replies.append(server.ask("GET", "/v1/runs", headers={"Expect": "<script>"}))
    for status, headers, body in replies:
        assert 400 <= status < 500
        told = json.loads(body)["detail"] + body.decode() + repr(headers)
        assert not set("<>`\u202e") & set(told)


def test_broken_http_is_answered_in_plain_words_too(server: Served) -> None:
    for raw in (
        b"<script> / HTTP/1.1\r\n\r\n",
        b"GET /<script> HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n<script>: \x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"<" * 20_000 + b"\r\n\r\n",
        b"POST /v1/submissions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n<script>\r\n",
    ):
        with socket.create_connection((server.host, server.port), timeout=10) as client:
            client.sendall(raw)
            reply = b""
            while piece := client.recv(65536):
                reply += piece
        head, _, body = reply.partition(b"\r\n\r\n")
        assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400")), reply[:200]
        assert b"nosniff" in head
        assert b"<" not in body
        assert json.loads(body)["code"] == "bad_request"


def test_every_reply_carries_the_headers_of_a_careful_server(
    league: MadeLeague, server: Served
) -> None:
    for method, path in (
        ("GET", "/v1/runs"),
        ("GET", "/metrics"),
        ("GET", "/nothing"),
        ("PUT", "/v1/runs"),
        ("POST", "/v1/submissions"),
    ):
        _, headers, _ = server.ask(method, path)
        assert HEADERS.items() <= headers.items()
        assert "aiohttp" not in repr(headers)


def test_other_methods_are_refused_with_what_is_allowed(server: Served) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"):
        status, headers, _ = server.ask(method, "/v1/submissions")
        assert (status, headers["Allow"]) == (405, "POST")


# ---- how often, how long, how many


def test_an_address_may_ask_only_so_often(league: MadeLeague) -> None:
    with served(league, address_burst=3, address_seconds=60.0) as server:
        replies = [server.ask("GET", "/healthz") for _ in range(4)]
    assert [status for status, _, _ in replies] == [200, 200, 200, 429]
    assert int(replies[-1][1]["Retry-After"]) in range(1, 62)


def test_behind_a_proxy_it_is_the_last_address_that_counts(league: MadeLeague) -> None:
    with served(league, address_burst=1, address_seconds=60.0, behind_proxy=True) as server:

        def status(address: str) -> int:
            return server.ask("GET", "/healthz", headers={"X-Forwarded-For": address})[0]

        assert [status("10.0.0.1"), status("10.0.0.2")] == [200, 200]
        assert status("10.9.9.9, 10.0.0.1") == 429  # what a client says of itself changes nothing


def test_an_entrant_may_send_only_so_often_and_nobody_else_uses_that_up(
    league: MadeLeague,
) -> None:
    with served(league, entrant_burst=2, entrant_seconds=60.0) as server:
        false = json.dumps(submission(league, note="not signed by ada")).encode()
        assert {server.post(false)[1]["code"] for _ in range(4)} == {"wrong_signature"}
        made = [league.submission(note=str(n)) for n in range(3)]
        assert [server.post(each.data())[0] for each in made] == [201, 201, 429]
        assert server.post(league.submission("eve").data())[0] == 201


def test_an_entrant_may_send_only_so_many(league: MadeLeague, server: Served) -> None:
    for n in range(MAX_PER_RUN):
        assert server.post(league.submission(note=str(n)).data())[0] == 201
    status, reply = server.post(league.submission(note="more").data())
    assert (status, reply["code"]) == (429, "no_room")


def test_who_sends_slowly_is_let_go(league: MadeLeague) -> None:
    """Both ways of being slow: a request that never ends, and a body that never comes."""
    with served(league, connection_seconds=1.0, body_seconds=0.3) as server:
        begun = time.monotonic()
        with socket.create_connection((server.host, server.port), timeout=10) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
            reply = b"x"
            while reply and time.monotonic() - begun < 8:
                try:
                    client.sendall(b"a")
                    client.settimeout(0.1)
                    reply = client.recv(1)
                except TimeoutError:
                    reply = b"x"
                except OSError:
                    reply = b""
        assert 0.5 < time.monotonic() - begun < 6
        with socket.create_connection((server.host, server.port), timeout=10) as client:
            client.sendall(
                b"POST /v1/submissions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 1000\r\n\r\n{"
            )
            assert client.recv(100).startswith(b"HTTP/1.1 408")
        assert server.get("/healthz")[0] == 200


def test_only_so_many_may_be_inside(league: MadeLeague) -> None:
    with served(league, connections_an_address=3) as server:
        held = [socket.create_connection((server.host, server.port)) for _ in range(3)]
        time.sleep(0.2)
        with socket.create_connection((server.host, server.port), timeout=5) as fourth:
            assert fourth.recv(1) == b""
        for each in held:
            each.close()
        time.sleep(0.2)
        assert server.get("/healthz")[0] == 200
        assert b"beforehand_intake_turned_away_total 1" in server.ask("GET", "/metrics")[2]


# ---- about itself


def test_health_is_red_only_where_the_book_cannot_be_read(
    league: MadeLeague, server: Served
) -> None:
    assert server.get("/healthz") == (200, {"status": "unknown", "lines": 8, "waiting": 0})
    (league.book / "book.jsonl").rename(league.book / "away")
    for path in ("/healthz", "/v1/runs"):
        status, reply = server.get(path)
        assert (status, reply["code"]) == (503, "not_ready")
    assert server.post(league.submission().data())[1]["code"] == "not_ready"


def test_a_failure_inside_tells_nothing(
    league: MadeLeague, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("secret path /root/x")

    monkeypatch.setattr(server.intake.inbox, "waiting", fail)
    status, reply = server.get("/healthz")
    assert (status, reply["code"]) == (500, "failed")
    assert "secret" not in json.dumps(reply)
