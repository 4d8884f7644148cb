"""`beforehand verify DIR` on a book in the seed's format, stamped by real clocks of our own."""

from __future__ import annotations

import csv
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.trust_files import HEADERS_NAME, write_authority
from beforehand.book.options import Options
from beforehand.book.stamped_list import StampedList, list_book
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.cli.verification import verify_published
from beforehand.clock import SystemClock
from beforehand.stages.slots import later
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served
from tests.publish import seed_book

from .conftest import beforehand
from .test_foreign import site

BOOK, PROOF = "council-book.jsonl", "proof"
PROPERTIES = ("P1a", "P1b", "P2", "P3", "exclusivity", "completeness")


@dataclass
class Council:
    """A folder in the seed's layout, and what a reader trusts."""

    folder: Path
    trust: Path

    def verify(self, *words: object) -> tuple[int, dict[str, Any]]:
        run = beforehand("verify", self.folder, "--json", "--trust", self.trust, *words)
        assert run.stdout, run.stderr
        return run.returncode, json.loads(run.stdout)


def write_lists(folder: Path, name: str) -> Path:
    """A list over both chains as they stand, in the seed's layout."""
    listed = []
    for file, path in ((BOOK, "daily/council/book.jsonl"), ("asks.jsonl", "daily/asks.jsonl")):
        if (folder / file).is_file():
            with (folder / file).open("rb") as stream:
                listed += list_book(stream, path).books
    path = folder / PROOF / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(StampedList(tuple(listed)).data())
    return path


def stamped(path: Path, anchors: dict[str, TimeStampAuthority]) -> None:
    for name, anchor in anchors.items():
        evidence = anchor.submit(path.read_bytes())
        path.with_name(f"{path.name}.{name}.tsr").write_bytes(evidence.data)


@pytest.fixture(scope="module")
def council(tmp_path_factory: pytest.TempPathFactory) -> Council:
    """The rule stamped, then a run asked, answered and stamped; its events end tomorrow."""
    made = tmp_path_factory.mktemp("council")
    folder, trust = made / "public", made / "trust"
    folder.mkdir()
    authorities = [LocalTsa(made / name, name) for name in ("one", "two")]
    calendar = LocalCalendar(SystemClock())
    with (
        Served(authorities[0].serve) as first,
        Served(authorities[1].serve) as second,
        Served(calendar.serve) as promised,
    ):
        calendar.url = promised.url
        anchors = {
            "one": TimeStampAuthority("one", first.url),
            "two": TimeStampAuthority("two", second.url),
        }
        begun = SystemClock().now()
        declared = {"at": begun, "kind": "declaration", "text": "the morning run counts"}
        (folder / "asks.jsonl").write_bytes(seed_book.chain([declared]))
        stamped(write_lists(folder, "041639Z.txt"), anchors)
        time.sleep(2.1)  # tokens have whole seconds and an accuracy of one
        _play(folder, declared)
        listed = write_lists(folder, "130025Z.txt")
        stamped(listed, anchors)
        ots = OpenTimestamps(calendars=(calendar.url,), trusted=(calendar.url,))
        promise = ots.submit(listed.read_bytes())
        calendar.mine()
        listed.with_name(f"{listed.name}.ots").write_bytes(ots.upgrade(promise).data)
    for authority in authorities:
        write_authority(trust / "tsa" / authority.name, authority.authority)
    headers = {str(height): raw.hex() for height, raw in calendar.chain.headers.items()}
    (made / HEADERS_NAME).write_text(json.dumps(headers))
    return Council(folder, trust)


def _play(folder: Path, declared: dict[str, Any]) -> None:
    now = SystemClock().now()
    lines = [{**line, "at": now} for line in seed_book.book_lines()[:3]]
    for line in lines[1:]:
        line["booked_at"] = now
    (folder / BOOK).write_bytes(seed_book.chain(lines))
    asks = [
        {"at": now, "kind": "ask", "run_id": "2026-10-20-am", "seat": seat, "sha256": "00" * 32}
        for seat in seed_book.SEATS
    ]
    (folder / "asks.jsonl").write_bytes(seed_book.chain([declared, *asks]))
    rows = seed_book.rows(
        reference_at=later(now, hours=4), end_at=later(now, hours=9), sealed_at=now
    )
    (folder / "council-forecasts.csv").write_bytes(seed_book.table(rows))


def levels(told: dict[str, Any]) -> dict[str, str]:
    least: dict[str, str] = told["leagues"][BOOK]["least_levels"]
    return least


def test_the_vector_of_a_stamped_run(council: Council) -> None:
    code, told = council.verify("--require", "P1a=2+,P1b=2+,P2=2,P3=2,completeness=1")
    assert (code, told["findings"], told["unmet"]) == (0, [], [])
    assert levels(told) == dict(zip(PROPERTIES, ("2+", "2+", "2", "2", "0", "1"), strict=True))
    run = told["leagues"][BOOK]["levels"]["2026-10-20-am"]
    assert "line 1 of asks.jsonl, before this run" in run["P3"]["evidence"]
    assert all(run[name]["not_excluded"] for name in PROPERTIES)
    # Attack: an end that the table names as it suits, a counted answer against the rule.
    assert "no line seals it" in run["P1a"]["not_excluded"]
    assert "no line seals it" in run["P1b"]["not_excluded"]
    assert "was not applied" in run["P3"]["not_excluded"]
    assert any("whether its time is live" in said for said in told["not_checked"])
    assert any(f"{PROOF}/130025Z.txt.ots" in said for said in told["not_checked"])


def test_a_person_reads_it_too(council: Council) -> None:
    run = beforehand("verify", council.folder)
    assert run.returncode == 0
    assert "P1a          1" in run.stdout, "without trust nothing outside counts"
    assert "present, not checked" in run.stdout and "stamped lists: 2" in run.stdout


def test_a_block_alone_gives_the_lower_level(council: Council) -> None:
    """The chain on this machine is easy: a rehearsal's reader takes it, any other does not."""
    trust = council.trust.parent / "blocks"
    trust.mkdir(exist_ok=True)
    shutil.copy(council.trust.parent / HEADERS_NAME, trust / HEADERS_NAME)
    now = Options(as_of=SystemClock().now())
    report = verify_published(council.folder, now, 1, ReaderTrust.read(trust, rehearsal=True))
    tokens = [each for each in report.findings if each.place.endswith(".tsr")]
    assert tokens == report.findings, "tokens of authorities that this reader does not trust"
    kept = council.trust.parent / "kept"
    shutil.copytree(council.folder, kept)
    for token in (kept / PROOF).glob("*.tsr"):
        token.unlink()
    report = verify_published(kept, now, 1, ReaderTrust.read(trust, rehearsal=True))
    least = report.leagues[BOOK]["least_levels"]
    assert (report.findings, least["P1a"], least["P1b"], least["P2"]) == ([], "2", "1", "2")
    strict = verify_published(kept, now, 1, ReaderTrust.read(trust))
    assert [each.place for each in strict.findings] == [f"{PROOF}/130025Z.txt.ots"]


def test_lists_may_lie_beside_the_book_and_at_an_address(council: Council, tmp_path: Path) -> None:
    for path in council.folder.rglob("*"):
        if path.is_file():
            shutil.copy(path, tmp_path / path.name)
    code, told = Council(tmp_path, council.trust).verify()
    assert (code, levels(told)["P1b"]) == (0, "2+")
    day = SystemClock().now()[:10]
    files = {f"api/v1/{path.name}": path.read_bytes() for path in tmp_path.glob("*.jsonl")}
    files["api/v1/council-forecasts.csv"] = (tmp_path / "council-forecasts.csv").read_bytes()
    lists = {path.name: path.read_bytes() for path in tmp_path.glob("*Z.txt*")}
    files |= {f"markets/proof/{day}/{name}": data for name, data in lists.items()}
    files[f"markets/proof/{day}/"] = " ".join(lists).encode()
    with site(files) as (url, _):
        run = beforehand("verify", url, "--json", "--trust", council.trust)
    assert run.returncode == 0, run.stderr
    assert levels(json.loads(run.stdout))["P1b"] == "2+"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("rewritten", "history was rewritten"),
        ("tail", "its tail was dropped"),
        ("asks", "history was rewritten"),
        ("swapped", "another file"),
        ("late", "when others had it already"),
    ],
)
def test_each_fault_is_found_and_no_level_is_left(
    council: Council, tmp_path: Path, change: str, words: str
) -> None:
    folder = tmp_path / "public"
    shutil.copytree(council.folder, folder)
    name = "asks.jsonl" if change == "asks" else BOOK
    held = [json.loads(raw) for raw in (folder / name).read_bytes().splitlines()]
    keys = ("n", "prev", "seal", "link")
    lines = [{key: value for key, value in line.items() if key not in keys} for line in held]
    if change == "rewritten":
        lines[1]["items"]["SPX"]["1d"]["prob_up"] = 99
    elif change == "tail":
        lines = lines[:2]
    elif change == "asks":
        lines[0]["text"] = "the evening run counts"
    elif change == "late":
        lines[0]["at"] = lines[1]["at"] = lines[2]["at"] = later(held[0]["at"], hours=1)
    if change == "swapped":
        first, second = (folder / PROOF / f"{each}Z.txt.one.tsr" for each in ("041639", "130025"))
        shutil.copy(first, second)
    else:
        (folder / name).write_bytes(seed_book.chain(lines))
    if change == "late":  # the lists are written anew, and the tokens are still those of before
        shutil.rmtree(folder / PROOF)
        listed = write_lists(folder, "130025Z.txt")
        tsa = LocalTsa(tmp_path / "tsa", "three")
        with Served(tsa.serve) as served:
            stamped(listed, {"three": TimeStampAuthority("three", served.url)})
        shutil.copytree(council.trust, tmp_path / "trust")
        write_authority(tmp_path / "trust" / "tsa" / "three", tsa.authority)
    trust = tmp_path / "trust" if change == "late" else council.trust
    code, told = Council(folder, trust).verify()
    said = " ".join(each["message"] for each in told["findings"])
    assert code == 1
    assert words in said or (change == "swapped" and told["findings"]), said
    assert set(levels(told).values()) == {"0"}


def test_without_a_rule_or_asks_those_levels_are_none(council: Council, tmp_path: Path) -> None:
    shutil.copytree(council.folder, tmp_path / "public")
    (tmp_path / "public" / "asks.jsonl").unlink()
    for path in (tmp_path / "public" / PROOF).glob("041639Z*"):
        path.unlink()
    code, told = Council(tmp_path / "public", council.trust).verify()
    run = told["leagues"][BOOK]["levels"]["2026-10-20-am"]
    assert code == 0 and (run["P3"]["level"], run["completeness"]["level"]) == ("0", "0")
    assert "no rule is declared" in run["P3"]["evidence"]
    assert "no chain of asks" in run["completeness"]["evidence"]
    table = tmp_path / "public" / "council-forecasts.csv"
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows[1]["end_at"] = ""
    table.write_bytes(seed_book.table(rows))
    for _ in ("one event without an end", "no table"):
        _, told = Council(tmp_path / "public", council.trust).verify()
        run = told["leagues"][BOOK]["levels"]["2026-10-20-am"]
        assert run["P1b"]["level"] == "1"
        assert run["P1a"]["level"] == "1" and "names an end" in run["P1a"]["evidence"]
        table.unlink(missing_ok=True)


def test_a_folder_without_our_manifest_is_no_seed_s(tmp_path: Path) -> None:
    (tmp_path / "api/v1/blind").mkdir(parents=True)
    (tmp_path / "api/v1/blind/book.jsonl").write_bytes(seed_book.chain(seed_book.book_lines()))
    run = beforehand("verify", tmp_path)
    assert run.returncode == 2 and "manifest.json is missing" in run.stderr
    (tmp_path / "a.csv").write_text("p\n1\n")
    run = beforehand("verify", tmp_path / "a.csv")
    assert run.returncode == 2 and "beforehand conform" in run.stderr
