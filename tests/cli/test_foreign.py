"""`beforehand conform URL` on leagues of others, over a real server on this machine."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from beforehand.cli import fetch, fetch_foreign
from beforehand.cli.fetch import MANIFEST_PATH
from beforehand.cli.fetch_foreign import fetch_league
from beforehand.errors import FormatError, RemoteError
from beforehand.records.codec import digest
from beforehand.testing.mutants import valid_files
from beforehand.testing.served import Asked, Served, Told
from tests.publish import seed_book

from .conftest import beforehand

NOW = "2026-11-01T00:00:00Z"
LIST = "130025Z.txt"
CSV = b"agent,event,p,outcome\na,e1,0.4,1\nb,e1,0.7,1\n"


@contextmanager
def site(files: Mapping[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """A web host of these files; what was asked for is kept."""
    asked: list[str] = []

    def reply(request: Asked) -> Told:
        path = request.path.partition("?")[0].lstrip("/")
        asked.append(path)
        if path in files:
            return Told(200, files[path], "application/octet-stream")
        return Told(404, b"nothing here", "text/plain")

    with Served(reply) as served:
        yield served.url, asked


def quiet(step: str, done: int, total: int) -> None:
    return


def seed_site() -> dict[str, bytes]:
    """The seed's book at its public addresses: open files, and a proof page a day."""
    held = seed_book.seed_files()
    proof = "markets/proof/2026-10-20/"
    page = f'<html><a href="{LIST}">list</a> <a href="{LIST}.ots">ots</a></html>'
    return {
        **{f"api/v1/{name}": data for name, data in held.items() if "proof" not in name},
        **{name: data for name, data in held.items() if "proof" in name},
        proof: page.encode(),
    }


def standard(**changed: Any) -> dict[str, Any]:
    return {
        "format": "beforehand-standard/1",
        "title": "Two agents, mapped",
        "origin": "example.org/council/book",
        "keys": [],
        "files": {
            "book": "log/all.jsonl",
            "asks": "log/sent.jsonl",
            "forecasts": "tables/rows.csv",
            "stamps": ["seen/first.txt"],
            "texts": [f"asks/{digest(seed_book.ASK)}.md"],
            "more": ["seen/first.txt.ots"],
        },
        "claims": [
            {"requirement": 2, "status": "PASS", "since": "2026-10-20T12:30:00Z",
             "evidence": [{"file": "log/all.jsonl", "line": 1}]},
            {"requirement": 3, "status": "PASS", "since": "2026-10-20T13:00:25Z",
             "evidence": [{"file": "seen/lost.ots"}]},
            {"requirement": 5, "status": "UNVERIFIABLE"},
        ],
        **changed,
    }  # fmt: skip


def mapped_files(**changed: Any) -> dict[str, bytes]:
    """The same league under names of its own, with a map of them."""
    held = seed_book.seed_files()
    return {
        "standard.json": json.dumps(standard(**changed)).encode(),
        "log/all.jsonl": held["council-book.jsonl"],
        "log/sent.jsonl": held["asks.jsonl"],
        "tables/rows.csv": held["council-forecasts.csv"],
        "seen/first.txt": held[f"markets/proof/2026-10-20/{LIST}"].replace(
            b"daily/council/book.jsonl", b"all.jsonl"
        ),
        "seen/first.txt.ots": held[f"markets/proof/2026-10-20/{LIST}.ots"],
        f"asks/{digest(seed_book.ASK)}.md": seed_book.ASK,
    }


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def conformed(*words: object) -> dict[str, Any]:
    run = beforehand("conform", *words, "--json", "--as-of", NOW)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def statuses(report: Mapping[str, Any]) -> dict[int, str]:
    return {item["id"]: item["status"] for item in report["requirements"]}


def test_a_bare_table_and_a_bare_book_at_an_address(tmp_path: Path) -> None:
    book = seed_book.seed_files()["council-book.jsonl"]
    with site({"t/export.csv": CSV, "t/any-book.jsonl": book}) as (url, asked):
        table = conformed(f"{url}/t/export.csv?version=2")
        lone = conformed(f"{url}/t/any-book.jsonl")
    assert (table["form"], table["read"]["rows"]) == ("table", 2)
    assert (lone["form"], lone["read"]["lines"]) == ("book", 6)
    assert asked == ["t/export.csv", "t/any-book.jsonl"], "and nothing beside them"


@pytest.mark.parametrize("below", ["", "/", "/api/v1/"])
def test_the_seed_s_open_files_are_found_and_judged_as_the_same_folder(
    tmp_path: Path, below: str
) -> None:
    files = seed_site()
    with site(files) as (url, asked):
        told = conformed(url + below)
    local = conformed(write(tmp_path, seed_book.seed_files()))
    assert statuses(told) == statuses(local)
    assert told["read"] == local["read"]
    assert f"markets/proof/2026-10-20/{LIST}.ots" in asked
    stamped = told["requirements"][1]["said"]
    assert any("1 stamped lists are prefixes" in said for said in stamped), stamped


def test_a_league_s_own_map_chooses_its_files(tmp_path: Path) -> None:
    with site({f"league/{name}": data for name, data in mapped_files().items()}) as (url, _):
        told = conformed(f"{url}/league/")
    local = conformed(write(tmp_path, mapped_files()))
    plain = conformed(write(tmp_path / "plain", seed_book.seed_files()))
    assert statuses(told) == statuses(local) == statuses(plain)
    assert told["league"] == "Two agents, mapped"
    assert told["standard"] == local["standard"]
    by = {claim["requirement"]: claim for claim in told["standard"]["claims"]}
    assert by[2]["said"] == "shown" and by[2]["shown"]
    assert by[3]["said"] == "not shown by the files; its evidence seen/lost.ots is not there"
    assert by[5]["said"] == "the league does not claim that it is met"
    assert told["standard"]["shown"] == 1


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"requirement": 2, "status": "PASS", "since": "2026-10-19T00:00:00Z"}, "later than clai"),
        ({"requirement": 2, "status": "PASS", "since": "2026-10-25T00:00:00Z"}, "shown"),
        ({"requirement": 5, "status": "PASS"}, "contradicted: the files show"),
    ],
)
def test_a_claim_is_no_evidence(tmp_path: Path, claim: dict[str, Any], words: str) -> None:
    files = mapped_files(claims=[claim])
    if claim["requirement"] == 5:  # an answer of the book that the table leaves out
        files["tables/rows.csv"] = seed_book.table(seed_book.rows()[:1])
    report = conformed(write(tmp_path, files))
    assert words in report["standard"]["claims"][0]["said"]
    run = beforehand("conform", tmp_path, "--as-of", NOW, "--html", tmp_path / "page.html")
    assert words in " ".join(run.stdout.split())
    assert words in (tmp_path / "page.html").read_text("utf-8")


def test_a_mapped_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    files = mapped_files()
    del files["seen/first.txt.ots"]
    with site(files) as (url, _):
        report = conformed(url)
    files_said = " ".join(report["requirements"][10]["said"])
    assert "standard.json maps it, and it is missing" in files_said
    del files["log/all.jsonl"]
    with site(files) as (url, _):
        run = beforehand("conform", url)
    assert run.returncode == 2 and "maps log/all.jsonl, which is missing" in run.stderr


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": "other/1"}, "its format is not"),
        ({"files": {"book": "../etc/passwd"}}, "is no name of a file below"),
        ({"files": {"book": "C:\\x"}}, "is no name of a file below"),
        ({"files": {}}, "maps neither a book nor forecasts"),
        ({"files": {"books": "a"}}, "does not know books"),
        ({"claims": [{"requirement": 18, "status": "PASS"}]}, "a number from 1 to 17"),
        ({"claims": [{"requirement": 1, "status": "yes"}]}, "status is one of"),
        ({"claims": [{"requirement": 1, "status": "PASS", "since": "soon"}]}, "soon"),
        ({"claims": [{"requirement": 1, "status": "PASS"}] * 2}, "one requirement twice"),
        ({"title": "a\nb"}, "printable"),
    ],
)
def test_a_map_that_has_not_its_form_is_refused(changed: dict[str, Any], words: str) -> None:
    with site(mapped_files(**changed)) as (url, asked):
        run = beforehand("conform", url)
    assert run.returncode == 2, run.stdout
    said = " ".join(run.stderr.split())
    assert "standard.json" in said and words in said
    assert asked == [MANIFEST_PATH, "standard.json"], "and nothing that it names was asked for"


def test_where_nothing_is_the_error_names_what_was_looked_for() -> None:
    with site({}) as (url, _):
        run = beforehand("conform", f"{url}/somewhere")
    said = " ".join(run.stderr.split())
    assert run.returncode == 2
    for name in (MANIFEST_PATH, "standard.json", "council-book.jsonl", ".csv or .jsonl"):
        assert name in said


def test_every_read_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fetch_foreign.BARE, ".csv", len(CSV) - 1)
    with site({"a.csv": CSV}) as (url, _), pytest.raises(FormatError, match="over the limit"):
        fetch_league(f"{url}/a.csv", tmp_path, quiet)
    monkeypatch.setattr(fetch_foreign, "MAX_TEXTS", 0)
    with site(seed_site()) as (url, _), pytest.raises(FormatError, match="questions' texts"):
        fetch_league(url, tmp_path / "seed", quiet)
    monkeypatch.setattr(fetch_foreign, "MAX_TOTAL_BYTES", 10)
    with site(mapped_files()) as (url, _), pytest.raises(FormatError, match="limit of 10 bytes"):
        fetch_league(url, tmp_path / "mapped", quiet)


def test_a_server_that_fails_is_no_empty_league(tmp_path: Path) -> None:
    with (
        Served(lambda asked: Told(503, b"", "text/plain")) as served,
        pytest.raises(RemoteError, match="HTTP 503") as caught,
    ):
        fetch_league(served.url, tmp_path, quiet)
    assert caught.value.retryable


def test_a_league_of_this_package_is_fetched_by_its_manifest(tmp_path: Path) -> None:
    files = valid_files()
    with site({f"public/{name}": data for name, data in files.items()}) as (url, asked):
        place = fetch_league(f"{url}/public/index.html", tmp_path, quiet)
    assert {name: (place / name).read_bytes() for name in files} == files
    assert f"public/{MANIFEST_PATH}" in asked and "public/standard.json" not in asked


@pytest.mark.parametrize("to", ["http://169.254.169.254/latest", "http://localhost:1/", "ftp://x/"])
def test_attack_a_host_that_sends_a_reader_elsewhere(tmp_path: Path, to: str) -> None:
    """Nothing that is read chooses a host: the address is printed for the reader to choose."""
    with (
        Served(lambda asked: Told(302, headers={"Location": to})) as served,
        pytest.raises(RemoteError),
    ):
        fetch_league(f"{served.url}/a/b.csv", tmp_path, quiet)


def test_a_redirect_within_the_host_is_followed(tmp_path: Path) -> None:
    def reply(asked: Asked) -> Told:
        if asked.path == "/a/b.csv":
            return Told(302, headers={"Location": "/c.csv"})
        return Told(200, CSV)

    with Served(reply) as served:
        assert fetch_league(f"{served.url}/a/b.csv", tmp_path, quiet).read_bytes() == CSV


def test_attack_a_host_that_drips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read comes in time, and all of them never end: the clock ends it."""
    monkeypatch.setattr(fetch, "TIMEOUT_S", 0.4)

    def drip(server: socket.socket) -> None:
        held, _ = server.accept()
        with held, contextlib.suppress(OSError):
            held.recv(1 << 16)
            held.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while True:
                held.sendall(b"x")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        with pytest.raises(RemoteError, match="too slow"):
            fetch.get_bytes(f"http://127.0.0.1:{server.getsockname()[1]}/x", 1 << 20)
