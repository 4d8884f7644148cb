"""Attacks on what others saw, end to end: a dishonest operator publishes, a reader verifies.

Each states the evidence by which it is caught, or that the report prints what it does not exclude.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.anchor import CHECKS, SIGNED_TIME, Verdict
from beforehand.anchors.bitcoin import Header
from beforehand.anchors.trust import BitcoinTrust, Trust
from beforehand.book.cosignature import WitnessKey, cosignature_line, cosigned_message
from beforehand.book.manifest import MANIFEST_PATH, sign_manifest
from beforehand.book.report import Report
from beforehand.cli.brackets import run_brackets
from beforehand.cli.publication import publish_league
from beforehand.cli.reader_trust import WITNESSES_NAME, ReaderTrust
from beforehand.clock import SystemClock, instant_key
from beforehand.errors import FormatError
from beforehand.publish.levels import Checked
from beforehand.records.codec import decode_json, digest, seal_json
from beforehand.stages.declare import reopen_league
from beforehand.stages.key import SigningKey
from beforehand.testing.local_chain import LocalChain

from .conftest import beforehand
from .dishonest import Content, Dishonest
from .test_evidence import Stamped, quiet, stamped

__all__ = ["stamped"]  # the fixture


def copied(stamped: Stamped, folder: Path) -> Stamped:
    """The operator's folder and the reader's trust, to be changed."""
    shutil.copytree(stamped.folder, folder, dirs_exist_ok=True)
    return Stamped(folder, folder / "trust")


def unsealed(stamped: Stamped, folder: Path) -> Stamped:
    """The same without its proof lines: what vouches for it lies beside the book alone."""
    league = copied(stamped, folder)

    def without_proofs(lines: list[Content]) -> None:
        lines[:] = [line for line in lines if line["kind"] != "proof"]

    Dishonest(league.folder).remake(without_proofs)
    return league


def published(league: Stamped) -> None:
    """Signed anew, as the operator can at any time."""
    with reopen_league(league.folder / "league", SystemClock()) as pen:
        publish_league(league.folder / "league", pen.key, league.public, SystemClock().now(), quiet)


def operator_key(league: Stamped) -> SigningKey:
    with reopen_league(league.folder / "league", SystemClock()) as pen:
        return pen.key


def stamps(league: Stamped) -> Path:
    (folder,) = (league.folder / "stamps").iterdir()
    return folder


def base(league: Stamped) -> Path:
    (folder,) = {path.parent for path in league.public.glob("api/v1/*/book.jsonl")}
    return folder


def level(told: dict[str, Any], name: str) -> dict[str, str]:
    (run,) = told["leagues"]["blind"]["levels"].values()
    held: dict[str, str] = run[name]
    return held


def messages(told: dict[str, Any]) -> str:
    return " | ".join(f"{each['place']}: {each['message']}" for each in told["findings"])


# ---- tokens


def test_attack_one_token_shown_as_two_authorities(stamped: Stamped, tmp_path: Path) -> None:
    """Caught by the keys in the token: both names are one authority's."""
    league = unsealed(stamped, tmp_path)
    place = stamps(league)
    shutil.copyfile(place / "list.txt.one.tsr", place / "list.txt.two.tsr")
    published(league)
    code, told, said = league.verify("--trust", league.trust)
    assert code == 0, said
    assert level(told, "P1b")["level"] == "2"


def test_attack_a_token_named_as_a_foreign_channel(stamped: Stamped, tmp_path: Path) -> None:
    """Caught by what the evidence is: a token is no channel in which to look for a second book."""
    league = unsealed(stamped, tmp_path)
    (stamps(league) / "list.txt.one.tsr").rename(stamps(league) / "list.txt.git.tsr")
    published(league)
    _, told, _ = league.verify("--trust", league.trust)
    assert level(told, "exclusivity")["level"] == "0"


def test_attack_a_capture_made_up_beside_the_book(stamped: Stamped, tmp_path: Path) -> None:
    """A stored capture is anybody's: it holds nothing outside, whatever it is called."""
    league = unsealed(stamped, tmp_path)
    place = stamps(league)
    for path in place.glob("*.tsr"):
        path.unlink()
    listed = (place / "list.txt").read_bytes()
    record = {
        "kind": "web-archive",
        "capture": "https://archive.example/web/20260101000000/https://a.example/list.txt",
        "stamp": "20260101000000",
        "content": base64.b64encode(listed).decode(),
    }
    (place / "list.txt.git.json").write_bytes(seal_json(record))
    published(league)
    code, told, said = league.verify("--trust", league.trust)
    assert code == 0, said
    assert (level(told, "P2")["level"], level(told, "exclusivity")["level"]) == ("1", "0")


def test_attack_a_token_over_the_list_of_another_book(stamped: Stamped, tmp_path: Path) -> None:
    """Caught by the list: its hashes are not those of this book."""
    league = copied(stamped, tmp_path)
    listed = stamps(league) / "list.txt"
    text = listed.read_text()
    sha256 = text.partition("sha256 ")[2][:64]
    listed.write_text(text.replace(sha256, digest(b"another book")))
    published(league)
    code, told, _ = league.verify("--trust", league.trust)
    assert code == 1
    assert "the list says" in messages(told)
    assert set(told["leagues"]["blind"]["least_levels"].values()) == {"0"}


# ---- the bracket


def run_line(at: str, **more: Any) -> bytes:
    return seal_json({"kind": "run", "run": "r", "at": at, **more})


def test_attack_at_outside_the_bracket_of_beacon_and_token() -> None:
    """Back-dated: caught by the chain tip in the line. Post-dated: by a token that had it before.

    Without a beacon a line that is back-dated within its predecessors is not caught.
    """
    chain = LocalChain()
    for number in range(14):
        chain.mine(number.to_bytes(32, "big"), 1_800_000_000 + 600 * number)
    tip = Header.parse(chain.headers[13])
    beacon = {"source": "bitcoin_tip", "number": 13, "value": tip.shown_hash}
    reader = ReaderTrust(Trust(bitcoin=BitcoinTrust(chain.headers, least_difficulty=0)))
    token = Checked(
        "one", 1, Verdict(CHECKS, "t", "2027-01-16T00:00:00Z", level=SIGNED_TIME, signers=("k",))
    )

    def judged(line: bytes) -> tuple[list[str], dict[str, str | None]]:
        report = Report("2027-02-01T00:00:00Z")
        held = run_brackets(report, [line], "api/v1/x", [token], reader)
        return [finding.message for finding in report.findings], held["r"]

    found, bracket = judged(run_line("2027-01-15T12:00:00Z", beacon=beacon))
    assert found == []
    assert bracket["not_before"] is not None
    assert bracket["not_before"] < "2027-01-15T12:00:00Z" < str(bracket["not_after"])
    (said,) = judged(run_line("2027-01-15T01:00:00Z", beacon=beacon))[0]
    assert "is before its beacon" in said
    (said,) = judged(run_line("2027-01-16T00:00:01Z", beacon=beacon))[0]
    assert "when others had it already" in said
    (said,) = judged(run_line("2027-01-15T12:00:00Z", beacon={**beacon, "value": "00" * 32}))[0]
    assert "the run line says otherwise" in said
    # Another spelling of the line hides it from nobody.
    spelled = run_line("2027-01-16T00:00:01Z").replace(b'"run"', b'"\\u0072un"')
    assert decode_json(spelled)["kind"] == "run"
    assert len(judged(spelled)[0]) == 1
    assert judged(run_line("2027-01-15T01:00:00Z"))[1]["not_before"] is None, "not excluded"


def test_attack_a_declared_beacon_that_is_left_out_or_of_another_source() -> None:
    """Left out it is said, for a network may be away; of another source it is a finding."""
    other = {"source": "drand", "number": 7, "value": "00" * 32}
    report = Report("2027-02-01T00:00:00Z")
    lines = [run_line("2027-01-15T12:00:00Z"), b"{}", run_line("2027-01-15T13:00:00Z")]
    run_brackets(report, lines, "api/v1/x", [], ReaderTrust(), "bitcoin_tip")
    assert report.findings == []
    assert report.not_checked == [
        "api/v1/x: 2 run lines (the first is line 1) without the declared beacon bitcoin_tip: "
        "nothing says that they were made no earlier"
    ]
    lines = [run_line("2027-01-15T12:00:00Z", beacon=other)]
    run_brackets(report, lines, "api/v1/x", [], ReaderTrust(), "bitcoin_tip")
    (found,) = report.findings
    assert "of 'drand', and the declaration names bitcoin_tip" in found.message
    report = Report("2027-02-01T00:00:00Z")
    run_brackets(report, lines, "api/v1/x", [], ReaderTrust(), "drand")
    run_brackets(report, [run_line("2027-01-15T12:00:00Z")], "api/v1/x", [], ReaderTrust())
    assert (report.findings, len(report.not_checked)) == ([], 1), "present, not checked"


# ---- witnesses


def witnessed(
    league: Stamped, name: str, key: SigningKey, at: int, quorum: int = 1
) -> tuple[int, dict[str, Any], str]:
    """Published with a cosignature of the stamped checkpoint, read by one who trusts its key."""
    size = stamps(league).name
    witness = WitnessKey(name, key.verifier.public)
    note = (league.folder / "league" / "checkpoints" / size).read_bytes()
    text = note.decode().partition("\n\n")[0] + "\n"
    line = cosignature_line(witness, at, key.sign(cosigned_message(text, at)))
    record = {"lines": [line.text().rstrip("\n")]}
    (stamps(league) / "list.txt.witness.json").write_bytes(seal_json(record))
    (league.trust / WITNESSES_NAME).write_text(f"quorum {quorum}\n{witness.text()}\n")
    published(league)
    return league.verify("--trust", league.trust)


def outcome_at(league: Stamped) -> int:
    lines = map(decode_json, (base(league) / "book.jsonl").read_bytes().split(b"\n")[:-1])
    times = [line["instant"] for line in lines if line["kind"] == "resolution"]
    return int(min(map(instant_key, times)).timestamp())


def test_attack_a_book_shown_to_witnesses_once_it_has_won(stamped: Stamped, tmp_path: Path) -> None:
    """Two books in parallel: caught by the time of the cosignature, which is after the outcome."""
    league = copied(stamped, tmp_path)
    key = SigningKey.make("w.example/1", tmp_path / "w.pem")
    outcome = outcome_at(league)
    code, told, said = witnessed(league, "w.example/1", key, outcome - 1)
    assert code == 0, said
    assert level(told, "exclusivity")["level"] == level(told, "P2")["level"] == "2+"
    code, told, said = witnessed(league, "w.example/1", key, outcome)
    assert code == 0, said
    assert level(told, "exclusivity")["level"] == "1"
    assert "until the outcome chose" in level(told, "exclusivity")["not_excluded"]


def test_attack_the_operator_as_its_own_witness(stamped: Stamped, tmp_path: Path) -> None:
    """Caught by the key: a reader who was talked into trusting it still does not count it."""
    league = copied(stamped, tmp_path)
    key = operator_key(league)
    code, told, said = witnessed(league, "w.example/1", key, outcome_at(league) - 1)
    assert code == 0, said
    assert level(told, "exclusivity")["level"] == "0"
    assert any("no witness of it" in line for line in told["not_checked"])


def test_a_readers_own_mistake_is_no_finding_against_the_league(
    stamped: Stamped, tmp_path: Path
) -> None:
    """One key under two names, or a quorum of more than there are: could not check."""
    league = copied(stamped, tmp_path)
    key = SigningKey.make("w.example/1", tmp_path / "w.pem").verifier.public
    for text in (
        f"{WitnessKey('a', key).text()}\n{WitnessKey('b', key).text()}\n",
        f"quorum 2\n{WitnessKey('a', key).text()}\n",
    ):
        (league.trust / WITNESSES_NAME).write_text(text)
        assert league.verify("--trust", league.trust)[0] == 2
        with pytest.raises(FormatError):
            ReaderTrust.read(league.trust)


# ---- what a published folder may hold


def resigned(league: Stamped, change: Callable[[dict[str, Any]], None]) -> None:
    """The manifest over what now lies in the folder, signed by the operator."""
    path = league.public / MANIFEST_PATH
    manifest = decode_json(path.read_bytes())
    del manifest["signature"]
    change(manifest)
    files = sorted(p for p in league.public.rglob("*") if p.is_file())
    left_out = {MANIFEST_PATH, "api/v1/verify.py"}
    manifest["files"] = [
        {"path": name, "bytes": p.stat().st_size, "sha256": digest(p.read_bytes())}
        for p in files
        if (name := p.relative_to(league.public).as_posix()) not in left_out
    ]
    key = operator_key(league)
    path.write_bytes(sign_manifest(manifest, [(key.verifier, key.sign)]))


def test_attack_levels_of_a_book_that_nobody_verified(stamped: Stamped, tmp_path: Path) -> None:
    """Caught by the manifest: levels are of the book at its path, not of one with its name."""
    league = copied(stamped, tmp_path)
    real = base(league)
    (run,) = league.verify()[1]["leagues"]["blind"]["levels"]
    shutil.copytree(real, real.with_name("elsewhere"))
    book = real / "book.jsonl"
    book.write_bytes(book.read_bytes().replace(run.encode(), b"made-up"))

    def elsewhere(manifest: dict[str, Any]) -> None:
        manifest["leagues"][0]["path"] = "api/v1/elsewhere"

    resigned(league, elsewhere)
    _, told, said = league.verify("--trust", league.trust)
    assert list(told["leagues"]["blind"]["levels"]) == [run], said

    def twice(manifest: dict[str, Any]) -> None:
        first = manifest["leagues"][0]
        manifest["leagues"].append({**first, "path": "api/v1/blind"})

    resigned(league, twice)
    code, told, said = league.verify("--trust", league.trust)
    assert code == 1, said
    assert "2 leagues have the name" in messages(told)
    assert "levels" not in told["leagues"]["blind"]


@pytest.mark.parametrize("put", [b"not json\n", b"[]\n", b'{"kind": ["run"], "run": {}}\n'])
def test_attack_a_line_that_ends_the_reading_of_a_book(
    stamped: Stamped, tmp_path: Path, put: bytes
) -> None:
    """A rewritten line of no form is a finding, and never hides the others."""
    league = copied(stamped, tmp_path)
    book = base(league) / "book.jsonl"
    lines = book.read_bytes().splitlines(keepends=True)
    book.write_bytes(b"".join([*lines[:-3], put, *lines[-2:]]))
    code, told, said = league.verify("--trust", league.trust)
    assert code == 1, said
    assert f"line {len(lines) - 2}" in messages(told)
    assert set(told["leagues"]["blind"]["least_levels"].values()) == {"0"}


def test_attack_names_that_are_no_sizes(stamped: Stamped, tmp_path: Path) -> None:
    """Odd names among stamps and checkpoints are findings, and end nothing."""
    league = copied(stamped, tmp_path)
    for name in ("007", "١٢", "x"):
        (base(league) / "stamps" / name).mkdir(parents=True)
        (base(league) / "stamps" / name / "list.txt.one.tsr").write_bytes(b"0")
    (base(league) / "checkpoints" / "1x").write_bytes(b"1")
    key = SigningKey.make("w.example/1", tmp_path / "w.pem").verifier.public
    (league.trust / WITNESSES_NAME).write_text(WitnessKey("a", key).text())
    code, told, said = league.verify("--trust", league.trust)
    assert code == 1, said
    assert "checkpoints/1x" in messages(told)


# ---- a proof file


def test_a_proof_says_when_it_was_witnessed_and_what_one_line_cannot_say(
    stamped: Stamped, tmp_path: Path
) -> None:
    league = copied(stamped, tmp_path)
    key = SigningKey.make("w.example/1", tmp_path / "w.pem")
    witnessed(league, "w.example/1", key, outcome_at(league) - 1)
    target = tmp_path / "one.proof"
    made = beforehand("prove", league.public, "--line", 5, "--out", target)
    assert made.returncode == 0, made.stderr
    run = beforehand("verify", target, "--json", "--trust", league.trust)
    told = json.loads(run.stdout)
    assert run.returncode == 0, run.stdout
    assert any("of your witnesses cosigned it by" in note for note in told["notes"])
    assert any(note.startswith("not excluded: another digest") for note in told["notes"])
    assert any("segment's time is live" in said for said in told["not_checked"])
    # By a witness whom the reader does not know, nothing is said of it.
    (league.trust / WITNESSES_NAME).write_text(WitnessKey("other", bytes(range(32))).text())
    told = json.loads(beforehand("verify", target, "--json", "--trust", league.trust).stdout)
    assert any("too few of your witnesses" in said for said in told["not_checked"])
