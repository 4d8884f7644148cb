"""What others saw: a live league stamped by a real authority, and what its levels then say."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beforehand.anchors.anchor import CHECKS, Verdict
from beforehand.anchors.beacon_check import NotBefore
from beforehand.anchors.drand import DrandChain
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import write_authority
from beforehand.anchors.witness import CosignedRecord
from beforehand.book.cosignature import (
    WitnessKey,
    cosignature_line,
    cosigned_message,
    note_parts,
)
from beforehand.book.reader import BookReader
from beforehand.book.report import Report
from beforehand.cli import brackets
from beforehand.cli.brackets import Bounds
from beforehand.cli.declared import declared_content
from beforehand.cli.publication import publish_league
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.clock import SystemClock
from beforehand.publish.levels import Checked
from beforehand.records.declaration import Declaration
from beforehand.stages.anchoring import seal_proofs, stamp_checkpoint
from beforehand.stages.declare import declare, open_league
from beforehand.stages.pen import Pen
from beforehand.stages.situation import Situation
from beforehand.stages.slots import later
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served
from tests.stages.live_world import MODELS, live_declaration

from .conftest import beforehand

DRAND = Path(__file__).parents[1] / "anchors" / "data" / "drand"


def live(models: tuple[str, ...] = MODELS) -> Declaration:
    """The made-up league in the world's own time, and public at once."""
    text = live_declaration(models).data.decode("utf-8")
    for old, new in (('time = "simulated"', 'time = "live"'), ('= "deadline"', '= "line"')):
        assert old in text
        text = text.replace(old, new)
    return Declaration.parse(text.encode("utf-8"), "live.toml")


@dataclass
class Stamped:
    """A published league of one run, stamped by two authorities, and what a reader trusts."""

    folder: Path
    trust: Path

    @property
    def public(self) -> Path:
        return self.folder / "public"

    def verify(self, *words: object) -> tuple[int, dict[str, Any], str]:
        run = beforehand("verify", self.public, "--json", *words)
        told = json.loads(run.stdout) if run.stdout else {}
        return run.returncode, told, run.stdout + run.stderr


def quiet(step: str, done: int, total: int) -> None:
    return


@pytest.fixture(scope="module")
def stamped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stamped]:
    folder = tmp_path_factory.mktemp("stamped")
    trust = folder / "trust"
    clock = SystemClock()
    declaration = live()
    authorities = [LocalTsa(folder / name, name) for name in ("one", "two")]
    with (
        Served(authorities[0].serve) as first,
        Served(authorities[1].serve) as second,
        open_league(folder / "league", declaration, clock) as pen,
    ):
        declare(pen, declaration, folder / "league")
        play(pen, declaration)
        pen.checkpoint()
        anchors = [
            TimeStampAuthority("one", first.url),
            TimeStampAuthority("two", second.url),
        ]
        done = stamp_checkpoint(pen, folder, anchors, clock.now())
        assert (done.completed, done.problems) == (2, [])
        time.sleep(2.1)  # tokens have whole seconds, and "before" is strict
        settle(pen)
        seal_proofs(pen, folder)
        pen.checkpoint()
        publish_league(folder / "league", pen.key, folder / "public", clock.now(), quiet)
    for authority in authorities:
        write_authority(trust / "tsa" / authority.name, authority.authority)
    yield Stamped(folder, trust)


def play(pen: Pen, declaration: Declaration) -> None:
    """One run with its asks and answers, in the present."""
    from tests.stages.live_run import one_run

    one_run(pen, Situation(declaration))


def settle(pen: Pen) -> None:
    from tests.stages.live_run import settle_all

    settle_all(pen, later(SystemClock().now(), seconds=0))


def test_without_trust_evidence_is_present_and_not_checked(stamped: Stamped) -> None:
    code, told, said = stamped.verify()
    assert code == 0, said
    league = told["leagues"]["blind"]
    assert league["least_levels"]["P1b"] == "1"
    assert sum("present, not checked" in line for line in told["not_checked"]) == 2


def test_two_authorities_that_the_reader_trusts_reach_a_signed_time(stamped: Stamped) -> None:
    code, told, said = stamped.verify("--trust", stamped.trust)
    assert code == 0, said
    league = told["leagues"]["blind"]
    assert league["least_levels"]["P1b"] == "2+"
    assert league["least_levels"]["exclusivity"] == "0", "no witness: a second book is possible"
    assert league["least_levels"]["completeness"] == "1"
    (run,) = league["levels"].values()
    assert "one" in run["P1b"]["evidence"] and "two" in run["P1b"]["evidence"]
    assert "provider receipts" in run["completeness"]["not_excluded"]


def test_an_authority_that_the_reader_does_not_trust_is_a_finding(
    stamped: Stamped, tmp_path: Path
) -> None:
    other = LocalTsa(tmp_path / "other", "one")
    write_authority(tmp_path / "trust" / "tsa" / "one", other.authority)
    code, told, said = stamped.verify("--trust", tmp_path / "trust")
    assert code == 1, said
    assert any(finding["step"] == 10 for finding in told["findings"])


def test_a_token_over_another_list_is_a_finding(stamped: Stamped, tmp_path: Path) -> None:
    size = max(int(path.name) for path in (stamped.folder / "stamps").iterdir())
    base = stamped.folder / "stamps" / str(size)
    run = beforehand(
        "verify", base / "list.txt", base / "list.txt.one.tsr", "--trust", stamped.trust
    )
    assert run.returncode == 0, run.stdout
    other = tmp_path / "list.txt"
    other.write_bytes((base / "list.txt").read_bytes().replace(b"lines", b"Lines"))
    run = beforehand("verify", other, base / "list.txt.one.tsr", "--trust", stamped.trust)
    assert run.returncode == 1
    run = beforehand("verify", base / "list.txt", base / "list.txt.one.tsr")
    assert run.returncode in (1, 2), "nothing is trusted, so nothing checks"


def test_a_stamped_list_is_checked_against_its_book(stamped: Stamped, tmp_path: Path) -> None:
    (listed,) = (stamped.folder / "stamps").glob("*/list.txt")
    book = next(stamped.public.glob("api/v1/*/book.jsonl"))
    run = beforehand("verify", book, listed)
    assert run.returncode == 0, run.stdout
    assert "alone it proves no time" in run.stdout
    other = tmp_path / "book.jsonl"
    other.write_bytes(book.read_bytes().replace(b'"at"', b'"At"', 1))
    assert beforehand("verify", other, listed).returncode == 1
    assert beforehand("verify", tmp_path / "none", listed).returncode == 2


def test_the_proof_page_of_the_day_links_what_is_published_and_is_in_the_manifest(
    stamped: Stamped,
) -> None:
    base = next(stamped.public.glob("api/v1/*/stamps/*"))
    mark = f"stamps/{base.name}/list.txt"
    pages = [
        path
        for path in stamped.public.glob("*/proof/2*.html")
        if mark in path.read_text(encoding="utf-8")
    ]
    text = pages[0].read_text(encoding="utf-8")
    for name in ("one", "two"):
        evidence = base / f"list.txt.{name}.tsr"
        assert evidence.relative_to(stamped.public).as_posix() in text
        assert hashlib.sha256(evidence.read_bytes()).hexdigest() in text
        assert f"by the authority {name} signer" in text
    manifest = json.loads((stamped.public / "api/v1/manifest.json").read_bytes())
    listed = {entry["path"] for entry in manifest["files"]}
    assert {path.relative_to(stamped.public).as_posix() for path in pages} <= listed
    # The command that the page prints does what the page says.
    size = base.name
    said = (base / "list.txt").read_text()
    with next(stamped.public.glob("api/v1/*/book.jsonl")).open("rb") as book:
        first = b"".join(book.readline() for _ in range(int(size)))
    assert hashlib.sha256(first).hexdigest() in said


def test_required_levels_of_a_property(stamped: Stamped) -> None:
    trusted = ("--trust", stamped.trust)
    code, told, said = stamped.verify(*trusted, "--require", "live,P1b=2+,completeness=1")
    assert (code, told["unmet"]) == (0, []), said
    code, told, said = stamped.verify(*trusted, "--require", "P1b=2,exclusivity=1")
    assert code == 2, said
    assert told["unmet"] == ["exclusivity=1: required, and blind reaches 0"]
    code, told, _ = stamped.verify("--require", "P1b=2+")
    assert (code, told["unmet"]) == (2, ["P1b=2+: required, and blind reaches 1"])
    book = next(stamped.public.glob("api/v1/*/book.jsonl"))
    run = beforehand("verify", book, "--require", "P2=1")
    assert (run.returncode, "a published folder alone has levels" in run.stdout) == (2, True)


@pytest.mark.parametrize(
    ("require", "said"),
    [
        ("P9=1", "unknown property 'P9'; known: P1a, P1b, P2, P3, exclusivity, completeness"),
        ("P1b=3", "unknown level '3' of P1b; known: 0, 1, 2, 2+"),
        ("P1b", "P1b needs a level, as in P1b=2+"),
        ("P1b=1,P1b=2", "P1b is required twice"),
        ("alive", "unknown requirement 'alive'"),
    ],
)
def test_a_requirement_that_is_none(stamped: Stamped, require: str, said: str) -> None:
    code, told, printed = stamped.verify("--require", require)
    assert (code, told) == (2, {})
    assert said in " ".join(printed.split())


def test_a_dropped_tail_after_a_stamp_is_a_finding(stamped: Stamped, tmp_path: Path) -> None:
    copy = tmp_path / "public"
    shutil.copytree(stamped.public, copy)
    book = next(copy.glob("api/v1/*/book.jsonl"))
    lines = book.read_bytes().split(b"\n")[:-1]
    assert len(lines) == len(list(BookReader(stamped.folder / "league").lines()))
    book.write_bytes(b"".join(line + b"\n" for line in lines[:-30]))
    run = beforehand("verify", copy, "--json", "--trust", stamped.trust)
    assert run.returncode == 1
    found = json.loads(run.stdout)["findings"]
    assert any("tail was dropped" in finding["message"] for finding in found)


def test_a_proof_of_one_forecast_carries_its_tokens(stamped: Stamped, tmp_path: Path) -> None:
    book = next(stamped.public.glob("api/v1/*/book.jsonl")).read_bytes().split(b"\n")
    line = next(n for n, raw in enumerate(book, 1) if b'"kind": "answer"' in raw)
    target = tmp_path / "one.proof"
    run = beforehand("prove", stamped.public, "--line", line, "--out", target)
    assert run.returncode == 0, run.stderr
    assert target.stat().st_size < 32_000
    told = json.loads(beforehand("verify", target, "--json").stdout)
    assert told["result"] == "sound"
    assert sum("present, not checked here" in said for said in told["not_checked"]) == 2
    told = json.loads(beforehand("verify", target, "--json", "--trust", stamped.trust).stdout)
    assert told["result"] == "sound"
    assert not any("present, not checked here" in said for said in told["not_checked"])
    assert sum(".tsr" in note for note in told["notes"]) == 2
    # A token over another list is found, and so is a list over another tree.
    other = target.read_text().replace('"anchor": "list.txt"', '"anchor": "lost.txt"')
    (tmp_path / "two.proof").write_text(other)
    told = json.loads(beforehand("verify", tmp_path / "two.proof", "--json").stdout)
    assert sum("present, not checked here" in said for said in told["not_checked"]) == 3


# ---- conform, requirement 3


def outside(stamped_public: Path, *words: object) -> tuple[dict[str, Any], dict[str, Any]]:
    run = beforehand("conform", stamped_public, "--json", *words)
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    return report["requirements"][2], report


def test_conform_without_trust_finds_stamps_present_and_not_checked(stamped: Stamped) -> None:
    entry, report = outside(stamped.public)
    said = " | ".join(entry["said"])
    assert "present, not checked" in said
    assert any("behind line" in t and "not checked" in t for t in report["not_excluded"])
    # Two authorities are two clocks, and neither is a channel: that is the league's own fault.
    assert entry["status"] == "FAIL" and "no digest stands on an append-only channel" in said


def test_conform_with_trust_opens_the_sealed_and_the_detached(
    stamped: Stamped, tmp_path: Path
) -> None:
    entry, report = outside(stamped.public, "--trust", stamped.trust)
    said = " | ".join(entry["said"])
    assert "one: one signed it at" in said and "two: two signed it at" in said
    assert "not checked" not in said
    assert any("evidence which checks covers" in text for text in report["not_excluded"])
    copy = tmp_path / "public"
    shutil.copytree(stamped.public, copy)
    for token in copy.glob("api/v1/*/stamps/*/*.two.tsr"):
        token.write_bytes(token.with_name(token.name.replace("two", "one")).read_bytes()[:-9])
    entry, _ = outside(copy, "--trust", stamped.trust)
    assert any(text.startswith("not shown: two: ") for text in entry["said"]), entry["said"]


def with_channel(stamped: Stamped, into: Path, data: bytes) -> Path:
    """The published league with one more piece beside its list."""
    shutil.copytree(stamped.public, into)
    (listed,) = into.glob("api/v1/*/stamps/*/list.txt")
    listed.with_name("list.txt.archive.json").write_bytes(data)
    return into


def test_conform_of_a_league_with_a_channel_is_unverifiable_until_it_is_opened(
    stamped: Stamped, tmp_path: Path
) -> None:
    public = with_channel(stamped, tmp_path / "public", b'{"kind": "git", "stand": "in"}')
    entry, _ = outside(public)
    assert entry["status"] == "UNVERIFIABLE", entry["said"]
    assert any("present, not checked" in said for said in entry["said"])
    entry, _ = outside(public, "--trust", stamped.trust)
    assert entry["status"] == "UNVERIFIABLE", entry["said"]
    assert any("archive: " in said for said in entry["said"]), "what could not be opened is named"


def witnessed(stamped: Stamped, into: Path, text: str = "") -> tuple[Path, Path, str]:
    """The published league cosigned by a witness, the trust in it, and its checkpoint's text."""
    private = Ed25519PrivateKey.generate()
    key = WitnessKey("witness.example/w1", private.public_key().public_bytes_raw())
    (listed,) = stamped.public.glob("api/v1/*/stamps/*/list.txt")
    note = (listed.parents[2] / "checkpoints" / listed.parent.name).read_bytes()
    said = note_parts(note)[0]
    if text:
        note = note.replace(said.encode(), text.encode())
    at = int(time.time()) - 1
    line = cosignature_line(key, at, private.sign(cosigned_message(text or said, at)))
    public = with_channel(stamped, into / "public", CosignedRecord(note, (line,)).data())
    shutil.copytree(stamped.trust, into / "trust")
    (into / "trust" / "witnesses.txt").write_text(key.text() + "\n", encoding="utf-8")
    return public, into / "trust", said


def test_conform_passes_what_two_clocks_and_a_witness_saw(stamped: Stamped, tmp_path: Path) -> None:
    public, trust, _ = witnessed(stamped, tmp_path)
    entry, _ = outside(public, "--trust", trust)
    assert entry["status"] == "PASS", entry["said"]
    assert entry["since_by"] == "others' evidence"
    assert any("1 of 1 witnesses cosigned it" in said for said in entry["said"])
    assert outside(public)[0]["status"] == "UNVERIFIABLE"
    entry, _ = outside(public, "--trust", stamped.trust)
    assert entry["status"] == "UNVERIFIABLE", "the reader names no witness"


def test_conform_refuses_cosignatures_on_another_checkpoint(
    stamped: Stamped, tmp_path: Path
) -> None:
    _, _, said = witnessed(stamped, tmp_path / "good")
    other = said.replace(said.split("\n")[2], "A" * 43 + "=")
    public, trust, _ = witnessed(stamped, tmp_path / "bad", other)
    entry, _ = outside(public, "--trust", trust)
    assert entry["status"] == "FAIL"
    assert any("on another checkpoint" in said for said in entry["said"])


def test_conform_refuses_the_token_of_an_authority_that_nobody_trusts(
    stamped: Stamped, tmp_path: Path
) -> None:
    other = LocalTsa(tmp_path / "other", "one")
    write_authority(tmp_path / "trust" / "tsa" / "one", other.authority)
    entry, _ = outside(stamped.public, "--trust", tmp_path / "trust")
    assert entry["status"] == "FAIL"
    assert any("no trusted authority" in said for said in entry["said"])


def test_attack_a_segment_whose_declaration_is_named_with_escapes(tmp_path: Path) -> None:
    """Caught by reading the line and not its bytes: the later rule is the one that is applied."""
    first, later_one = live().data, live(MODELS[:1]).data
    later_one = later_one.replace(b'segment = "', b'segment = "later-', 1)
    for data in (first, later_one):
        sha256 = hashlib.sha256(data).hexdigest()
        place = tmp_path / "bodies" / sha256[:2] / sha256
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    name = Declaration.parse(later_one, "later").segment
    lines = [
        json.dumps({"kind": "league", "declaration_sha256": hashlib.sha256(first).hexdigest()}),
        json.dumps(
            {"kind": "segment", "segment": name, "x": hashlib.sha256(later_one).hexdigest()}
        ).replace('"x"', '"\\u0064eclaration_sha256"'),
    ]
    raws = [each.encode() for each in lines]
    found = declared_content(Report("2027-01-01T00:00:00Z"), tmp_path, "api/v1/x", raws)
    assert set(found) == {"", name} and found[name]


def test_attack_so_many_stamps_that_their_times_are_compared_for_ever() -> None:
    """A token an answer over years: each is looked at once, and the earliest is found."""

    class Once(Checked):
        """Evidence that says how often its time was read."""

        reads = 0

        @property
        def proved(self) -> datetime | None:
            type(self).reads += 1
            return super().proved

    held = [
        Once("one", size, Verdict(CHECKS, "", f"2026-01-{1 + size * 7 % 28:02}T00:00:00Z"))
        for size in range(1, 400)
    ]
    held += [Once("two", 500, Verdict(CHECKS, "", "2026-01-01T00:00:00Z", bound=False))]
    bounds = Bounds(held)
    found = [bounds.not_after(n) for n in range(1, 502)]
    assert Once.reads == len(held)
    for n, told in enumerate(found, 1):
        over = [str(each.verdict.not_after) for each in held if each.size >= n and each.proved]
        assert told == min(over, default=None), n


def test_attack_a_book_of_so_many_beacons_that_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pairing for each is bounded; what was not opened bounds no run, and that is said."""
    monkeypatch.setattr(brackets, "MAX_ROUNDS", 3)
    opened = list[int]()

    def check(beacon: Any, trust: Trust) -> NotBefore:
        opened.append(beacon["number"])
        return NotBefore("a round", "2026-01-01T00:00:00Z")

    monkeypatch.setattr(brackets, "check_beacon", check)
    chain = DrandChain.parse((DRAND / "quicknet.json").read_bytes())
    lines = [
        json.dumps(
            {
                "kind": "run",
                "run": f"r{n}",
                "at": "2026-01-05T10:00:00Z",
                "beacon": {"source": "drand", "number": n // 2, "value": "00"},
            }
        ).encode()
        for n in range(12)
    ]
    report = Report(as_of="2026-02-01T00:00:00Z")
    reader = ReaderTrust(Trust(drand=(chain,)), given=True)
    held = brackets.run_brackets(report, lines, "made", [], reader)
    assert opened == [0, 0, 1, 1, 2, 2]
    assert [run for run, told in held.items() if told["not_before"] is None] == [
        f"r{n}" for n in range(6, 12)
    ]
    assert any("the last 6 run lines" in said for said in report.not_checked)
