"""Replicas as processes: faults on the wire, a start, a stop, and the death of a parent."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from beforehand.clock import SimulatedClock
from beforehand.errors import RemoteError
from beforehand.testing.replicas import ReplicaProcess, Replicas
from tests.testing.asking import START


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    folder = tmp_path_factory.mktemp("replicas")
    SimulatedClock(folder / "clock", START)
    with Replicas(folder, clock=folder / "clock", seed=7) as replicas:
        yield replicas


@pytest.fixture
def replicas(running: Replicas) -> Iterator[Replicas]:
    yield running
    for process in (running.venue, running.model):
        process.control(faults=[])
    running.model.control(reply_seconds=0)


def get(url: str, seconds: float = 5.0) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers of one GET; what aiohttp raises is raised."""

    async def ask() -> tuple[int, bytes, dict[str, str]]:
        timeout = aiohttp.ClientTimeout(total=seconds)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as answer:
            return answer.status, await answer.read(), dict(answer.headers)

    return asyncio.run(ask())


def chat_body(question: str, model: str = "sim/plain-1") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": question}]}


def test_the_models_know_what_the_venue_lists(replicas: Replicas) -> None:
    status, body, _ = get(replicas.gamma + "/markets/keyset?limit=5&active=true")
    assert status == 200
    rows = json.loads(body)["markets"]

    async def ask() -> list[Any]:
        async with aiohttp.ClientSession() as session:
            found = []
            for row in rows:
                url = replicas.models + "/chat/completions"
                async with session.post(url, json=chat_body(row["question"])) as answer:
                    found.append(await answer.json())
            return found

    assert all(each["usage"]["cost"] > 0 for each in asyncio.run(ask()))
    log = (replicas.folder / "model_requests.jsonl").read_text(encoding="ascii").splitlines()
    assert [json.loads(line)["market"] for line in log[-5:]] == [row["id"] for row in rows]
    assert get(replicas.kalshi + "/events?limit=1")[0] == 200


def test_refusals_on_the_wire(replicas: Replicas) -> None:
    url = replicas.gamma + "/markets/keyset"
    replicas.venue.control(faults=[{"kind": "error500", "times": 1}])
    assert [get(url)[0] for _ in range(2)] == [500, 200]
    replicas.venue.control(faults=[{"kind": "rate429", "seconds": 7, "times": 1}])
    status, _, headers = get(url)
    assert (status, headers["Retry-After"]) == (429, "7")
    replicas.venue.control(faults=[{"kind": "missing", "path": "/markets"}])
    assert get(url)[0] == 404


def test_bodies_that_are_spoilt(replicas: Replicas) -> None:
    url = replicas.gamma + "/markets/keyset"
    replicas.venue.control(faults=[{"kind": "garbage"}])
    with pytest.raises(ValueError):
        json.loads(get(url)[1])
    replicas.venue.control(faults=[{"kind": "half"}])
    with pytest.raises(aiohttp.ClientPayloadError):
        get(url)
    replicas.venue.control(faults=[{"kind": "huge", "bytes": 5_000_000}])
    assert len(get(url)[1]) > 5_000_000
    replicas.venue.control(faults=[{"kind": "drift", "field": "outcomePrices", "to": "prices"}])
    body = get(url)[1]
    assert b'"prices":' in body and b'"outcomePrices":' not in body


def test_answers_that_are_late_or_never_come(replicas: Replicas) -> None:
    url = replicas.gamma + "/markets/keyset?limit=1"
    replicas.venue.control(faults=[{"kind": "slow", "seconds": 0.3}])
    start = time.monotonic()
    assert get(url)[0] == 200
    assert time.monotonic() - start >= 0.3
    replicas.venue.control(faults=[{"kind": "stall"}])
    with pytest.raises(TimeoutError):
        get(url, seconds=0.3)


def test_headers_of_an_endpoint_that_ends(replicas: Replicas) -> None:
    replicas.venue.control(faults=[{"kind": "sunset", "date": "Fri, 01 May 2026 00:00:00 GMT"}])
    headers = get(replicas.gamma + "/markets?limit=1")[2]
    assert headers["Deprecation"] == "true"
    assert headers["Sunset"] == "Fri, 01 May 2026 00:00:00 GMT"


def test_a_limit_of_rate_answers_429_with_a_wait(replicas: Replicas) -> None:
    replicas.venue.control(
        faults=[{"kind": "limit", "path": "/midpoint", "per_second": 0.5, "burst": 2}]
    )
    answers = [get(replicas.clob + "/midpoint?token_id=1") for _ in range(4)]
    assert [status for status, _, _ in answers] == [404, 404, 429, 429]
    assert int(answers[-1][2]["Retry-After"]) >= 1
    assert get(replicas.gamma + "/markets?limit=1")[0] == 200


def test_a_cut_reply_is_charged_and_booked_as_undelivered(replicas: Replicas) -> None:
    before = replicas.model.stats()
    replicas.model.control(faults=[{"kind": "half", "times": 1}])

    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            url = replicas.models + "/chat/completions"
            async with session.post(url, json=chat_body("cut?")) as answer:
                await answer.read()

    with pytest.raises(aiohttp.ClientPayloadError):
        asyncio.run(ask())
    after = replicas.model.stats()
    assert float(after["charged"]) > float(before["charged"])
    assert float(after["undelivered"]) > float(before["undelivered"])


def test_statistics_count_by_path(replicas: Replicas) -> None:
    before = replicas.venue.stats()["paths"].get("gamma /events/{id}", 0)
    get(replicas.gamma + "/events/1")
    get(replicas.gamma + "/events/2")
    assert replicas.venue.stats()["paths"]["gamma /events/{id}"] == before + 2


def test_a_bad_control_message_is_told(replicas: Replicas) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400"):
        replicas.venue.control(faults=[{"kind": "earthquake"}])


def test_many_requests_in_flight(replicas: Replicas) -> None:
    replicas.model.control(reply_seconds=1.0)

    async def ask() -> int:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def one(number: int) -> int:
                url = replicas.models + "/chat/completions"
                async with session.post(url, json=chat_body(f"{number}?")) as answer:
                    return answer.status

            return sum(status == 200 for status in await asyncio.gather(*map(one, range(200))))

    start = time.monotonic()
    assert asyncio.run(ask()) == 200
    assert time.monotonic() - start < 20


def test_a_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    process = ReplicaProcess(
        "venue_replica", tmp_path, ["--state", str(tmp_path), "--clock", str(tmp_path / "none")]
    )
    with pytest.raises(RemoteError, match="no simulated time"):
        process.wait_until_ready()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A child of a dead parent may wait to be reaped by somebody else.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def gone_within(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


def test_a_stop_ends_the_processes(tmp_path: Path) -> None:
    SimulatedClock(tmp_path / "clock", START)
    with Replicas(tmp_path, clock=tmp_path / "clock") as replicas:
        pids = [replicas.venue.pid, replicas.model.pid]
        assert all(map(alive, pids))
    assert all(gone_within(pid, 5) for pid in pids)


PARENT = """
import sys, time
from pathlib import Path
from beforehand.testing.replicas import Replicas
folder = Path(sys.argv[1])
replicas = Replicas(folder, clock=folder / "clock").start()
print(replicas.venue.pid, replicas.model.pid, flush=True)
time.sleep(60)
"""


def test_replicas_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    SimulatedClock(tmp_path / "clock", START)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert all(gone_within(pid, 10) for pid in pids)
