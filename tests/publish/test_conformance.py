"""`beforehand conform`: forms, statuses, named attacks, reports, and the zipapp."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from beforehand.cli.conforming import conform
from beforehand.errors import FormatError
from beforehand.publish.conformance.command import conform_main
from beforehand.publish.conformance.conform import conform_folder, conform_path, exit_code
from beforehand.publish.conformance.evidence import kind_of
from beforehand.publish.conformance.forms import junit, quoted, sarif, text_lines
from beforehand.publish.conformance.outside import CHECKS, REFUSED, Judge, Judgement, Subject
from beforehand.publish.conformance.page import page
from beforehand.publish.conformance.profile import Profile
from beforehand.publish.conformance.pyz import build_pyz, pyz_sha256
from beforehand.publish.conformance.result import (
    ANCHORED,
    FAIL,
    NOT_APPLICABLE,
    OPERATOR,
    PASS,
    STATUSES,
    UNVERIFIABLE,
)
from beforehand.publish.conformance.said import Evidence
from beforehand.publish.conformance.walk_lines import read_stamps
from beforehand.publish.cron import fits_cron
from beforehand.records.event_contract import ContractProfile
from beforehand.testing.memory_folder import MemoryFolder
from beforehand.testing.mutants import all_mutants, mutant_files, valid_files
from beforehand.testing.mutants_events import declared
from beforehand.testing.mutants_files import Operator
from beforehand.testing.mutants_kinds import SAID, Mutant
from beforehand.testing.mutants_league import AS_OF, OTS_MAGIC, Draft, stand_in

from . import seed_book
from .conftest import Published

app = typer.Typer()
app.command()(conform)
NOW = "2026-11-01T00:00:00Z"
BOOK = "api/v1/corpus/book.jsonl"


def of(report: dict[str, Any]) -> dict[int, str]:
    return {item["id"]: item["status"] for item in report["requirements"]}


def item(report: dict[str, Any], number: int) -> dict[str, Any]:
    held: dict[str, Any] = report["requirements"][number - 1]
    return held


def mutated(name: str) -> dict[str, Any]:
    mutant = next(m for m in all_mutants() if m.id == name)
    return conform_folder(MemoryFolder(mutant_files(mutant)), AS_OF)


def said(report: dict[str, Any], number: int) -> str:
    return " | ".join(item(report, number)["said"])


def test_a_should_that_fails_is_said_and_stops_nobody() -> None:
    mutant = next(m for m in all_mutants() if m.requirement == 17)
    report = conform_folder(MemoryFolder(mutant_files(mutant)), AS_OF)
    assert [n for n, status in of(report).items() if status == FAIL] == [17]
    assert exit_code(report) == 0
    # The other is the token an answer, which the made-up league does not ask for.
    assert report["failed"] == {"MUST": 0, "SHOULD": 2}
    *_, named, last = text_lines(report)
    assert named.startswith("SHOULD fails: requirement 17, ")
    assert "no MUST fails, and a SHOULD does" in last
    assert 'failures="0"' in junit(report)
    assert "SHOULD FAIL" in junit(report)
    must = mutated(next(m.id for m in all_mutants() if m.requirement == 1))
    assert exit_code(must) == 1
    assert must["result"] == "fails"


def test_the_same_words_with_another_end_are_another_event() -> None:
    rows = b"forecaster,question,p,outcome,end_at\na,up,0.5,1,2026-01-01\na,up,0.5,0,2026-01-02\n"
    assert "one event has one outcome" not in said(
        conform_folder(MemoryFolder({"f.csv": rows}), NOW), 4
    )


# ---- attacks, each by the evidence that catches it


@pytest.mark.parametrize(
    ("attack", "mutant", "requirement", "evidence", "words"),
    [
        ("an answer without a prior ask", "r13-answer-without-ask", 13, "book.jsonl",
         "without a prior ask"),
        ("a late answer counted", "r06-late-answer", 6, "forecasts.csv", "after the deadline"),
        ("a better rerun counted", "r06-second-answer", 6, "forecasts.csv",
         "first well-formed answer"),
        ("a rerun of the slot counted", "r06-rerun", 6, "book.jsonl", "is a rerun"),
        ("an unlogged ask", "r13-unlogged-ask", 13, "book.jsonl", "was made and not logged"),
        ("a body never disclosed", "r05-answer-never-disclosed", 5, "book.jsonl",
         "never disclosed"),
        ("duplicate keys", "r02-duplicate-key", 2, "book.jsonl", "stands twice"),
        ("a correction that edits history", "r02-correction-edits-history", 2, "proof/",
         "history was rewritten"),
        ("statistics pooled across segments", "r15-pooled", 15, "leaderboard.json",
         "pooled across them"),
        ("statistics pooled across own-reference events", "r04-pool-of-too-many", 4,
         "forecasts.csv", "may enter it"),
        ("line endings rewritten by a mirror", "r02-mirror-line-endings", 2, "book.jsonl",
         "rewrote the line endings"),
        ("rewritten line", "r02-rewritten-line", 2, "proof/", "do not hash to what was stamped"),
        ("inserted line", "r02-inserted-line", 2, "proof/", "do not hash to what was stamped"),
        ("dropped tail after a stamp", "r02-dropped-tail", 2, "proof/", "its tail was dropped"),
    ],
)  # fmt: skip
def test_attack(attack: str, mutant: str, requirement: int, evidence: str, words: str) -> None:
    report = mutated(mutant)
    assert item(report, requirement)["status"] == FAIL, attack
    assert words in said(report, requirement)
    assert any(evidence in place["file"] for place in item(report, requirement)["evidence"])


def test_attack_a_contract_id_collision() -> None:
    """Two contracts whose short ids are equal: caught by comparing the contracts themselves."""
    profile = Profile(contract=ContractProfile(hex=4))
    seen: dict[str, dict[str, str]] = {}
    for n in range(5000):
        held = {**seed_book.contract("SPX"), "resolver_version": str(n)}
        name = profile.contract.event_id(held)
        if name in seen:
            break
        seen[name] = held
    rows = []
    for fields in (seen[name], held):
        first = profile.contract.first_event_id(fields)
        rows += [
            {**row, **fields, "event_id_v2": name, "event_id": first} for row in seed_book.rows()
        ]
    for number, row in enumerate(rows):
        row["run_id"] = f"run-{number}"
    files = {"forecasts.csv": seed_book.table(rows)}
    report = conform_folder(MemoryFolder(files), NOW, profile=profile)
    assert item(report, 4)["status"] == FAIL
    assert "stands for two contracts" in said(report, 4)
    assert item(report, 4)["evidence"][0]["line"] == 4


def test_attack_rows_of_an_own_reference_pooled_in_a_table() -> None:
    rows = seed_book.rows(same_event="false", members="8")
    report = conform_folder(MemoryFolder({"f.csv": seed_book.table(rows)}), NOW)
    assert "separate event" in said(report, 4)


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        ("two books under one origin", "a second record kept beside this one"),
        ("asks outside the record", "models asked outside the record"),
        ("another author than named", "another model or a person wrote"),
        ("a tail dropped behind the last stamp", "lines cut off or rewritten behind line"),
    ],
)
def test_what_is_not_excluded_is_printed(attack: str, words: str) -> None:
    report = conform_folder(MemoryFolder(valid_files()), AS_OF)
    assert any(words in text for text in report["not_excluded"]), attack
    assert any(line.startswith("not excluded: ") for line in text_lines(report))


@pytest.mark.parametrize(
    ("ending", "data", "stamped"),
    [
        (".seal", b'{"evidence": []}', False),
        (".seal", b'{"evidence": [{"anchor": "a"}]}', True),
        (".seal", b"no seal", False),
        (".opening", b"{}", False),
        (".ots", b"anything: it is judged elsewhere", True),
    ],
)
def test_a_seal_without_evidence_is_no_stamp(ending: str, data: bytes, stamped: bool) -> None:
    listed = f"a.csv: 1 lines, sha256 {'0' * 64}, last link {'1' * 64}\n".encode()
    name = f"proof/x.txt{ending}"
    folder = MemoryFolder({"proof/x.txt": listed, name: data})
    (stamp,) = read_stamps(folder, ["proof/x.txt", name])
    assert bool(stamp.proofs) is stamped


def test_a_rewritten_book_without_a_stamp_is_not_excluded_and_says_so() -> None:
    mutant = next(m for m in all_mutants() if m.id == "r02-rewritten-line")
    files = {n: d for n, d in mutant_files(mutant).items() if not n.startswith("proof/")}
    report = conform_folder(MemoryFolder(files), AS_OF)
    assert any("the whole record can be" in text for text in report["not_excluded"])
    mutant = next(m for m in all_mutants() if m.id == "r03-bare-lists")
    report = conform_folder(MemoryFolder(mutant_files(mutant)), AS_OF)
    assert any("rewritten and signed anew" in text for text in report["not_excluded"])
    assert not any("behind line" in text for text in report["not_excluded"])


@pytest.mark.parametrize("name", ["r03-pending-beside-lists", "r03-empty-beside-lists"])
def test_a_list_that_nobody_stamped_limits_nothing(name: str) -> None:
    report = mutated(name)
    assert item(report, 3)["status"] == FAIL
    assert any("rewritten and signed anew" in text for text in report["not_excluded"])


def test_evidence_beside_the_book_is_evidence() -> None:
    """Nothing is sealed, every list lies with a token and a log's entry: no false alarm."""
    mutant = next(m for m in all_mutants() if m.id == "r03-bare-lists")
    files = mutant_files(mutant)
    for name in [name for name in files if name.endswith(".txt")]:
        files[f"{name}.one.tsr"] = stand_in("rfc3161", name)
        files[f"{name}.rekor.json"] = stand_in("rekor", name)
    report = conform_folder(MemoryFolder(files), AS_OF)
    assert item(report, 3)["status"] == UNVERIFIABLE, said(report, 3)
    assert any("behind line" in text for text in report["not_excluded"])


def test_a_sealed_list_that_the_book_does_not_keep_to_is_a_fault() -> None:
    """Its hash is sealed, so the list cannot be mended; the lines under it can be rewritten."""
    files = valid_files()
    name = next(n for n, d in files.items() if "/bodies/" in n and b"corpus/book.jsonl: " in d)
    lines = files["api/v1/corpus/book.jsonl"].splitlines()
    sealed = name.rpartition("/")[2].encode()
    assert any(sealed in line for line in lines)
    other = files["api/v1/corpus/book.jsonl"].replace(b'"0.', b'"0.0', 1)
    report = conform_folder(MemoryFolder({**files, "api/v1/corpus/book.jsonl": other}), AS_OF)
    assert "do not hash to what was stamped" in said(report, 2)


# ---- forms


def test_our_small_league_is_judged(small: Published) -> None:
    report = conform_path(small.public, AS_OF)
    told = of(report)
    assert told[2] == told[4] == told[5] == told[7] == told[8] == told[11] == told[15] == PASS
    assert "is not the declared one" in said(report, 6), "it was made to be attacked"
    assert told[3] == NOT_APPLICABLE, "its time is simulated"
    assert all(entry["since"] is None for entry in report["requirements"])
    assert item(report, 14)["status"] in (PASS, FAIL)
    assert report["form"] == "folder"


def test_a_score_that_the_recount_does_not_give_fails(small: Published) -> None:
    files = dict(small.files)
    name = "api/v1/small/leaderboard.json"
    board = json.loads(files[name])
    board["forecasters"][0]["n_counted"] += 1
    files[name] = json.dumps(board).encode()
    report = conform_folder(MemoryFolder(files), AS_OF)
    assert "recounted otherwise" in said(report, 11)


def test_a_book_in_the_seeds_format() -> None:
    files = seed_book.seed_files()
    report = conform_folder(MemoryFolder(files), NOW)
    told = of(report)
    assert report["form"] == "book"
    assert told[1] == UNVERIFIABLE, "its run line names no events"
    assert told[2] == PASS, said(report, 2)
    assert told[4] == PASS, said(report, 4)
    assert told[5] == PASS, said(report, 5)
    assert told[12] == PASS, said(report, 12)
    assert told[3] == UNVERIFIABLE, "a proof beside the list is present, not checked"
    assert told[6] == UNVERIFIABLE, "its rule is no machine's"
    assert not [number for number, status in told.items() if status == FAIL]


@pytest.mark.parametrize(
    ("change", "requirement", "words"),
    [
        (lambda f: f.update({"council-book.jsonl": f["council-book.jsonl"].replace(b"54", b"55")}),
         2, "hashes to"),
        (lambda f: f.update({"asks.jsonl": f["asks.jsonl"].replace(b"morning", b"evening")}),
         2, "hashes to"),
        (lambda f: f.update({n: b"another" for n in f if n.endswith(".md")}),
         2, "does not hash to the run line"),
        (lambda f: f.update({"council-book.jsonl": b"".join(
            f["council-book.jsonl"].splitlines(keepends=True)[:2])}), 2, "its tail was dropped"),
        (lambda f: f.update({"council-forecasts.csv": seed_book.table(
            seed_book.rows(event_id_v2="ev2-0000000000000000"))}), 1, "not the hash"),
        (lambda f: f.update({"council-forecasts.csv": seed_book.table(
            seed_book.rows(status="shelved"))}), 5, "no published vocabulary"),
        (lambda f: f.update({"council-forecasts.csv": seed_book.table(
            seed_book.rows(prob_up="71"))}), 11, "the row says 71"),
        (lambda f: f.update({"council-forecasts.csv": seed_book.table(
            seed_book.rows(seat="Gemini"))}), 11, "of another run or forecaster"),
        (lambda f: f.update({"council-forecasts.csv": seed_book.table(
            seed_book.rows(prob_up="140"))}), 7, "is no probability"),
        (lambda f: f.update({"council-forecasts.csv": seed_book.table(
            seed_book.rows(methodology_version=""))}), 15, "no methodology version"),
        (lambda f: f.update({"council-forecasts.csv": seed_book.table(
            seed_book.rows(reference_at="2026-10-20T12:00:00Z"))}), 4, "its reference was taken"),
        (lambda f: f.update({"council-book.jsonl": seed_book.chain([
            *seed_book.book_lines()[:1],
            seed_book.answer("Claude", "2026-10-20T12:31:11Z", "2026-10-20T13:00:25Z", 50)])}),
         12, "a batch"),
        (lambda f: f.update({"council-book.jsonl": seed_book.chain([
            {k: v for k, v in line.items() if k != "model"}
            for line in seed_book.book_lines()])}), 1, "does not carry its model"),
        (lambda f: f.update({"council-book.jsonl": seed_book.chain([
            {k: v for k, v in line.items() if k != "snapshot_sha256"}
            for line in seed_book.book_lines()])}), 2, "no hash of its snapshot"),
    ],
)  # fmt: skip
def test_faults_of_a_seed_book(
    change: Callable[[dict[str, bytes]], None], requirement: int, words: str
) -> None:
    files = seed_book.seed_files()
    change(files)
    report = conform_folder(MemoryFolder(files), NOW)
    assert item(report, requirement)["status"] == FAIL
    assert words in said(report, requirement)


def test_the_book_of_the_vectors(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[1] / "vectors" / "book.json"
    path = tmp_path / "book.jsonl"
    path.write_text(json.loads(shipped.read_text())["book"], encoding="utf-8", newline="")
    report = conform_path(path, NOW)
    assert item(report, 2)["status"] == PASS
    assert item(report, 3)["status"] == UNVERIFIABLE


LEVEL_0 = b"""forecaster,question,probability,outcome
my-model,q1,0.62,1
my-model,q2,0.10,0
other,q1,0.50,1
"""


def test_a_bare_table_is_level_0() -> None:
    """Nothing that only a record could show is passed."""
    report = conform_folder(MemoryFolder({"forecasts.csv": LEVEL_0}), NOW)
    told = of(report)
    assert report["form"] == "table"
    assert set(told.values()) == {UNVERIFIABLE}
    assert report["claims"]["reached"] == 0
    assert exit_code(report) == 0
    assert all(entry["do"] or entry["id"] == 16 for entry in report["requirements"])


@pytest.mark.parametrize(
    ("table", "requirement", "words"),
    [
        (LEVEL_0.replace(b"0.62", b"1.62").replace(b"0.10", b"-3"), 7, "no probability"),
        (b"forecaster,question,p,outcome,brier\na,q,0.6,1,0.5\n", 7, "(p - y)^2 is 0.16"),
        (b"forecaster,question,p,status\na,q,0.5,missing\n", 8, "carries a probability"),
        (b"forecaster,question,p,status,sealed_at,end_at\na,q,0.5,counted,2026-01-02T00:00:00Z,"
         b"2026-01-01T00:00:00Z\n", 4, "its event ended"),
        (b"run,forecaster,question,p\nr,a,q,0.5\nr,a,q,0.7\n", 6, "a second row"),
        (LEVEL_0 + b"other,q2,0.20,yes\n", 4, "it says 'yes' of 'q2', and row 3 says '0'"),
    ],
)  # fmt: skip
def test_what_a_bare_table_itself_contradicts_fails(
    table: bytes, requirement: int, words: str
) -> None:
    report = conform_folder(MemoryFolder({"forecasts.csv": table}), NOW)
    assert item(report, requirement)["status"] == FAIL
    assert words in said(report, requirement)


@pytest.mark.parametrize(
    ("told", "scale", "hint"),
    [
        ("62%", 1, "leave the sign % out of the table, and set scale = 100"),
        ("62%", 100, "leave the sign % out of the table, and set scale = 100"),
        ("62", 1, "for percents, set scale = 100 under [rules]"),
    ],
)
def test_a_percent_is_no_probability_and_the_report_says_what_to_do(
    told: str, scale: int, hint: str
) -> None:
    table = f"forecaster,question,p,outcome\na,q,{told},1\n".encode()
    profile = Profile.of({"rules": {"scale": scale}})
    report = conform_folder(MemoryFolder({"forecasts.csv": table}), NOW, profile=profile)
    assert item(report, 7)["status"] == FAIL
    assert hint in said(report, 7)


def test_a_late_answer_in_a_bare_table_stands_as_missing_without_its_number() -> None:
    late = "2026-01-02T00:00:00Z,2026-01-01T00:00:00Z"
    header = "forecaster,question,p,status,why,sealed_at,end_at\n"
    counted, missing = (
        of(conform_folder(MemoryFolder({"forecasts.csv": (header + row).encode()}), NOW))
        for row in (f"a,q,0.5,counted,,{late}\n", f"a,q,,missing,late,{late}\n")
    )
    assert counted[4] == FAIL
    assert FAIL not in missing.values()


def test_a_profile_names_foreign_columns(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        '[league]\ntitle = "Their league"\n[columns]\np = "chance"\nquestion = "Frage"\n'
        "[rules]\nscale = 100\n"
    )
    (tmp_path / "t.csv").write_text("model,Frage,chance\na,q1,62\nb,q1,7\n")
    profile = Profile.read(tmp_path / "p.toml")
    report = conform_path(tmp_path / "t.csv", NOW, profile=profile)
    assert report["league"] == "Their league"
    assert item(report, 7)["status"] != FAIL
    with pytest.raises(FormatError, match="no column says the question"):
        conform_path(tmp_path / "t.csv", NOW)


@pytest.mark.parametrize(
    "text",
    [
        "x = [",
        "[nonsense]\na = 1\n",
        "[columns]\nnonsense = 'a'\n",
        "[columns]\np = 3\n",
        "[rules]\nscale = 7\n",
        "[rules]\narrival_seconds = -1\n",
        "[contract]\nkeys = 'asset'\n",
        "[contract]\nhex = 'x'\n",
        "[contract]\nhex = 2\n",
        "contract = 3\n",
    ],
)
def test_a_profile_that_is_none_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"p\.toml"):
        Profile.read(path)


# ---- the page that tells another league how, tried as a new user would


def adopted(folder: Path) -> dict[str, Any]:
    """Follow docs/standard.md to the letter in an empty folder."""
    text = (Path(__file__).parents[2] / "docs/standard.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    said = {language: [body for name, body in blocks if name == language] for language, _ in blocks}
    profile, scripts = said["toml"][0], said["python"]
    (folder / "export.csv").write_text(said["text"][0])
    (folder / "league.toml").write_text(profile)
    table = conform_path(
        folder / "export.csv", NOW, profile=Profile.read(folder / "league.toml")
    )  # fmt: skip
    assert set(of(table).values()) == {UNVERIFIABLE}
    (folder / "export.csv").unlink()
    for name, script in zip(("record.py", "season.py"), scripts, strict=True):
        (folder / name).write_text(script)
    subprocess.run([sys.executable, "season.py"], cwd=folder, check=True)
    for line in ('question = "market"\n', 'at = "submitted"\n'):
        profile = profile.replace(line, "")
    (folder / "league.toml").write_text(profile)
    return conform_path(folder, NOW, profile=Profile.read(folder / "league.toml"))


def test_the_page_on_adopting_gives_the_table_that_it_prints(tmp_path: Path) -> None:
    report = adopted(tmp_path)
    text = (Path(__file__).parents[2] / "docs/standard.md").read_text(encoding="utf-8")
    told = {}
    for names, status in re.findall(r"^\| (\d[^|]*) \| ([A-Z_]+) \|", text, re.MULTILINE):
        told.update(dict.fromkeys(map(int, re.findall(r"(?:^|, )(\d+)", names)), status))
    assert of(report) == told


def test_the_map_of_the_page_on_adopting_gives_the_same_and_shows_its_claim(tmp_path: Path) -> None:
    report = adopted(tmp_path)
    text = (Path(__file__).parents[2] / "docs/standard.md").read_text(encoding="utf-8")
    (mapped,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (tmp_path / "standard.json").write_text(mapped)
    again = conform_path(tmp_path, NOW)
    assert of(again) == of(report)
    assert again["standard"]["claims"][0]["said"] == "shown"
    texts = re.search(r',\s*"texts": \[[^]]*\]', mapped)
    assert texts is not None
    (tmp_path / "standard.json").write_text(mapped.replace(texts[0], ""))
    again = conform_path(tmp_path, NOW)
    assert of(again)[2] == UNVERIFIABLE, "the question's text is not mapped"
    assert "list it under texts of standard.json" in " ".join(item(again, 2)["do"])
    assert again["standard"]["claims"][0]["said"] == "not shown by the files"


def test_a_record_without_its_profile_is_not_blamed_for_contracts(tmp_path: Path) -> None:
    """Which columns are a contract only a profile says: without it nothing is shown either way."""
    adopted(tmp_path)
    bare = conform_path(tmp_path, NOW, profile=Profile())
    assert item(bare, 1)["status"] == UNVERIFIABLE
    assert "name them under [contract] of a profile" in " ".join(item(bare, 1)["do"])
    assert bare["claims"]["reached"] == 0


def test_the_adopted_record_is_checked_against_its_table(tmp_path: Path) -> None:
    adopted(tmp_path)
    table = tmp_path / "weather-forecasts.csv"
    table.write_text(table.read_text().replace(",62,", ",61,").replace("0.14440000", "0.15210000"))
    profile = Profile.read(tmp_path / "league.toml")
    report = conform_path(tmp_path, NOW, profile=profile)
    assert "states 62, the row says 61" in said(report, 11)


def test_rules_declared_after_a_run_are_no_rules(tmp_path: Path) -> None:
    lines = seed_book.book_lines()
    declared = {
        "at": "2026-10-21T09:00:00Z",
        "kind": "declaration",
        "declares": {"counted_run": {"rule": "every_run"}},
    }
    files = {**seed_book.seed_files(), "council-book.jsonl": seed_book.chain([*lines, declared])}
    report = conform_folder(MemoryFolder(files), NOW)
    assert "declared after a run had begun" in said(report, 6)


# ---- anchors: the hook for verifiers of outside evidence


def judging(word: str, words: str = "opened", not_after: str | None = None) -> Judge:
    return lambda piece, data, subject: Judgement(word, words, not_after)


def test_a_judge_decides_what_a_proof_is_worth() -> None:
    """Without one nothing outside is passed; with one only what it calls `checks`."""
    files = MemoryFolder(valid_files())
    good = conform_folder(files, AS_OF, judge=judging(CHECKS))
    assert item(good, 3)["status"] == PASS, said(good, 3)
    assert item(good, 3)["since_by"] == OPERATOR
    assert good["claims"]["reached"] == 2, "the third rung is about a time, and none was proved"
    timed = conform_folder(files, AS_OF, judge=judging(CHECKS, not_after=AS_OF))
    assert timed["claims"]["reached"] == 3
    assert any("evidence which checks covers" in text for text in good["not_excluded"])
    bad = conform_folder(files, AS_OF, judge=judging(REFUSED, "of another list"))
    assert item(bad, 3)["status"] == FAIL
    lost = {n: d for n, d in valid_files().items() if b"evidence of" not in d}
    none = conform_folder(MemoryFolder(lost), AS_OF, judge=judging(CHECKS))
    assert item(none, 3)["status"] == UNVERIFIABLE, "no evidence is no proof"

    def early(piece: Evidence, data: bytes, subject: Subject) -> Judgement:
        return Judgement(CHECKS if piece.size < 60 else "unchecked", "opened")

    report = conform_folder(files, AS_OF, judge=early)
    assert item(report, 3)["status"] == UNVERIFIABLE, "the last runs lie within no good proof"
    assert any("present, not checked" in text for text in report["not_excluded"])
    unsure = conform_folder(files, AS_OF, judge=judging("unchecked", "no trust"))
    assert item(unsure, 3)["status"] == UNVERIFIABLE


def test_a_judge_is_given_the_list_and_a_time_of_others_is_said_as_theirs() -> None:
    held: list[bytes] = []

    def judge(piece: Evidence, data: bytes, subject: Subject) -> Judgement:
        held.append(subject.data)
        return Judgement(CHECKS, "opened", f"2026-01-0{5 + min(piece.size // 60, 3)}T12:00:00Z")

    report = conform_folder(MemoryFolder(valid_files()), AS_OF, judge=judge)
    assert all(b"corpus/book.jsonl: " in data for data in held)
    assert item(report, 3)["since"] == "2026-01-05T12:00:00Z"
    assert item(report, 3)["since_by"] == ANCHORED
    assert item(report, 2)["since_by"] == OPERATOR
    shown = "\n".join(text_lines(report))
    assert "by the operator's clock" in shown and f"by {ANCHORED}" in shown
    assert "since 2026-01-05T12:00:00Z by" in page(report)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x30\x82", ("rfc3161", False)),
        (OTS_MAGIC + bytes.fromhex("83dfe30d2ef90c8e"), ("opentimestamps", True)),
        (OTS_MAGIC + bytes.fromhex("83dfe30d2ef90c8e0588960d73d71901"), ("opentimestamps", False)),
        (b'{"kind": "git"}', ("git", False)),
        (b'{"kind": "cosigned"}', ("witness", False)),
        (b'{"kind": "evm", "chain": 1, "transaction": "0x"}', ("evm", True)),
        (b'{"kind": "web-archive"}', ("web-archive", False)),
        (b'{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}', ("rekor", False)),
        (b'{"kind": []}', ("", False)),
        (b"{", ("", False)),
        (b"git", ("", False)),
        (b"", ("", False)),
    ],
)
def test_what_evidence_is_its_bytes_say(data: bytes, kind: tuple[str, bool]) -> None:
    assert kind_of(data) == kind


# ---- requirement 3, run by run


def test_the_runs_whose_digest_stands_on_no_channel_are_named() -> None:
    assert "4 runs, each with a digest on a channel outside" in said(
        conform_folder(MemoryFolder(valid_files()), AS_OF), 3
    )
    runs = [
        json.loads(raw)["run"]
        for raw in valid_files()[BOOK].splitlines()
        if b'"kind": "run"' in raw
    ]

    def change(draft: Draft) -> None:
        gone = {f"{run}/rekor" for run in runs[:2]}
        draft.lines = [line for line in draft.lines if line["_label"] not in gone]

    files = Mutant("channel", 3, SAID, "no channel", lines=change).build(1, Operator.of(1))
    report = conform_folder(MemoryFolder(files), AS_OF)
    assert item(report, 3)["status"] == FAIL
    for place, run in enumerate(runs):
        told = f"no digest of the run {run!r} stands on an append-only channel outside"
        assert (told in said(report, 3)) == (place < 2)


# ---- two-sided time, a SHOULD within requirement 12


TIP = {"source": "bitcoin_tip", "number": 900_000, "value": "0" * 64}


@pytest.mark.parametrize(
    ("beacons", "words"),
    [
        ([TIP, TIP, TIP, TIP], ""),
        ([TIP, None, TIP, TIP], "holds no value of the declared beacon"),
        ([TIP, TIP, {**TIP, "value": ""}, TIP], "holds no value of the declared beacon"),
        ([TIP, TIP, TIP, {**TIP, "source": "drand"}], "its beacon is of 'drand', and"),
    ],
)
def test_a_declared_beacon_that_a_run_line_lacks_is_said(beacons: list[Any], words: str) -> None:
    def change(draft: Draft) -> None:
        declared("margin_minutes = 120\n", 'margin_minutes = 120\nbeacon = "bitcoin_tip"\n')(draft)
        for line, beacon in zip(draft.of_kind("run"), beacons, strict=True):
            if beacon is not None:
                line["beacon"] = beacon

    files = Mutant("beacon", 12, SAID, "a beacon", lines=change).build(1, Operator.of(1))
    report = conform_folder(MemoryFolder(files), AS_OF)
    entry = item(report, 12)
    assert (entry["status"], exit_code(report)) == (PASS, 0), "the MUST is met all the same"
    if not words:
        assert beacons_missing(entry) == []
        assert "present, not checked: two-sided time" in said(report, 12)
        return
    assert report["failed"] == {"MUST": 0, "SHOULD": 1}
    assert report["result"] == "no MUST fails, and a SHOULD does"
    (told,) = beacons_missing(entry)
    assert words in told
    run_line = 1 + [b'"kind": "run"' in raw for raw in files[BOOK].splitlines()].index(True)
    assert all(place["line"] >= run_line for place in entry["evidence"])
    assert any("SHOULD fails: within requirement 12" in line for line in text_lines(report))
    assert "SHOULD is not met: " in page(report) + junit(report)


def test_a_league_that_declares_no_beacon_owes_none() -> None:
    report = conform_folder(MemoryFolder(valid_files()), AS_OF)
    assert beacons_missing(item(report, 12)) == []


def beacons_missing(entry: dict[str, Any]) -> list[str]:
    """What is said of two-sided time; of a token an answer more may be said."""
    return [said for said in entry["should"] if said.startswith("two-sided time")]


def test_the_answers_without_a_token_of_their_own_are_counted() -> None:
    report = conform_folder(MemoryFolder(valid_files()), AS_OF)
    (told,) = item(report, 12)["should"]
    assert re.fullmatch(
        r"\d+ of \d+ answers closed a checkpoint with a token of their own \(level 2\+\)", told
    )


# ---- reports


HOSTILE = b"""forecaster,question,probability,status
"<script>alert(1)</script>","=cmd|' /C calc'!A0",1.7,"\x1b[31m]]>&amp;<x>"
"""


@pytest.fixture
def hostile() -> dict[str, Any]:
    return conform_folder(MemoryFolder({"a <b> é&.csv": HOSTILE}), NOW)


def test_hostile_words_are_shown_and_never_run(hostile: dict[str, Any]) -> None:
    shown = page(hostile)
    assert "<script" not in shown
    assert "\x1b" not in shown + "\n".join(text_lines(hostile)) + junit(hostile)
    assert "default-src &#x27;none&#x27;" in shown
    assert re.search(r'<meta http-equiv="Content-Security-Policy"', shown)
    assert "javascript:" not in shown
    assert "a &lt;b&gt;" in shown


def test_junit_is_xml_with_a_case_a_requirement(hostile: dict[str, Any]) -> None:
    root = ET.fromstring(junit(hostile))
    cases = root.findall(".//testcase")
    assert len(cases) == 17
    assert len(root.findall(".//failure")) == hostile["failed"]["MUST"] > 0
    assert int(root.attrib["skipped"]) == len(root.findall(".//skipped"))


def test_sarif_has_the_form_of_2_1_0(hostile: dict[str, Any]) -> None:
    value = json.loads(sarif(hostile))
    run = value["runs"][0]
    assert value["version"] == "2.1.0"
    assert len(run["tool"]["driver"]["rules"]) == len(run["results"]) == 17
    kinds = {"pass", "fail", "open", "notApplicable"}
    for result in run["results"]:
        assert result["kind"] in kinds
        assert (result["level"] == "none") == (result["kind"] != "fail")
        for place in result["locations"]:
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri), uri
    assert quoted("a b") == "a%20b"


def test_the_json_has_the_shape_that_was_asked_for() -> None:
    report = conform_folder(MemoryFolder(valid_files()), AS_OF)
    json.dumps(report)
    for number, entry in enumerate(report["requirements"], 1):
        assert entry["id"] == number
        assert entry["status"] in STATUSES
        assert entry["level"] in ("MUST", "SHOULD")
        assert entry["title"]
        assert entry["why"]
        assert isinstance(entry["evidence"], list)
        assert (entry["since"] is not None) == (entry["status"] == PASS)
    assert len(report["claims"]["rungs"]) == 6
    assert sum(report["counts"].values()) == 17


def test_a_rung_stands_on_those_below_it() -> None:
    report = mutated("r07-absolute-loss")
    rungs = report["claims"]["rungs"]
    assert report["claims"]["reached"] == 1
    assert [rung["reached"] for rung in rungs] == [True, False, False, False, False, False]
    assert "7 FAIL" in rungs[1]["why"]


# ---- bounds


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"a.csv": b""},
        {"a.csv": b"forecaster,question,p\na,b\n"},
        {"a.csv": b"p,p\n1,2\n"},
        {"a.csv": b"\xff\xfe"},
        {"a.csv": LEVEL_0, "b.csv": LEVEL_0},
        {"a.csv": b"forecaster,question,p\na,b,\"" + b"x" * (1 << 18) + b'"\n'},
        {"api/v1/x/book.jsonl": b"{}\n", "api/v1/y/book.jsonl": b"{}\n"},
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_could_not_check(files: dict[str, bytes]) -> None:
    with pytest.raises(FormatError):
        conform_folder(MemoryFolder(files), NOW)


WILD: list[Any] = [
    None, 0, -1, 1 << 60, True, "", "x", [], {}, [[]], {"a": 1}, ["x", 3, None],
    "2026-13-99T99:99:99Z", "evc1:", [None], [{"question": 3, "p": []}], {"$ref": 1},
]  # fmt: skip


@pytest.mark.parametrize("turn", range(3))
def test_any_value_in_any_place_is_judged_and_never_breaks_the_checker(turn: int) -> None:
    """Every field of every kind of line replaced by something that it should not be."""
    files = valid_files()
    lines = [json.loads(raw) for raw in files["api/v1/corpus/book.jsonl"].splitlines()]
    first = {line["kind"]: line for line in reversed(lines)}
    places = [(kind, key) for kind, line in first.items() for key in line]
    for place, (kind, key) in enumerate(places):
        value = WILD[(7 * place + 5 * turn) % len(WILD)]
        changed = [{**held, key: value} if held["kind"] == kind else held for held in lines]
        if changed == lines:
            continue
        book = b"".join(json.dumps(held).encode() + b"\n" for held in changed)
        report = conform_folder(MemoryFolder({**files, "api/v1/corpus/book.jsonl": book}), AS_OF)
        assert item(report, 2)["status"] == FAIL


@pytest.mark.parametrize("name", ["leaderboard", "diagnostics", "climatology"])
@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"3", b"{", b'{"forecasters": 3, "rules": [], "table": 1}', b'{"a": NaN}',
     b'{"forecasters": [1, null, {"forecaster": []}], "matrix": [[1, "x"], 3]}',
     b'{"forecasters": [{"forecaster": "mean", "rank": [], "gain": {"low": "x"}, "pool": 1}]}',
     b'{"matrix": [["1e99999999", "1"], ["NaN", "1"]], "largest_share": {}}'],
)  # fmt: skip
def test_any_json_in_place_of_a_table_is_judged(name: str, text: bytes) -> None:
    files = {**valid_files(), f"api/v1/corpus/{name}.json": text}
    report = conform_folder(MemoryFolder(files), AS_OF)
    assert item(report, 11)["status"] == FAIL


@pytest.mark.parametrize(
    ("cron", "moment", "fits"),
    [
        ("0 10 * * *", "2026-01-05T10:00:00Z", True),
        ("0 10 * * *", "2026-01-05T10:00:01Z", False),
        ("0 10 * * *", "2026-01-05T18:00:00Z", False),
        ("*/15 9-17/2 * * MON-FRI", "2026-01-05T11:45:00Z", True),
        ("*/15 9-17/2 * * MON-FRI", "2026-01-04T11:45:00Z", False),
        ("0 0 1,15 * *", "2026-02-15T00:00:00Z", True),
        ("0 0 13 * FRI", "2026-01-02T00:00:00Z", True),
        ("0 12 * * 7", "2026-01-04T12:00:00Z", True),
        ("0 12 * * SUN", "2026-01-04T12:00:00Z", True),
        ("nonsense", "2026-01-04T12:00:00Z", None),
        ("0 25h * * *", "2026-01-04T12:00:00Z", None),
        ("*/0 * * * *", "2026-01-04T12:00:00Z", None),
    ],
)
def test_a_slot_fits_its_schedule(cron: str, moment: str, fits: bool | None) -> None:
    from beforehand.clock import instant_key

    assert fits_cron(cron, instant_key(moment), "UTC") is fits


# ---- the command and the zipapp


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("valid"), valid_files())


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout


def test_the_command_prints_each_form(valid: Path, tmp_path: Path) -> None:
    code, shown = run(str(valid), "--as-of", AS_OF)
    assert code == 0
    assert "claims: rung" in shown
    html = tmp_path / "report.html"
    code, shown = run(str(valid), "--as-of", AS_OF, "--json", "--html", str(html))
    assert (code, json.loads(shown)["counts"][FAIL]) == (0, 0)
    assert html.read_text().startswith("<!doctype html>")
    assert run(str(valid), "--as-of", AS_OF, "--junit")[1].startswith("<?xml")
    assert json.loads(run(str(valid), "--as-of", AS_OF, "--sarif")[1])["version"] == "2.1.0"


def test_the_exit_codes(valid: Path, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad", mutant_files(all_mutants()[0]))
    assert run(str(bad), "--as-of", AS_OF)[0] == 1
    assert run(str(tmp_path / "nowhere"))[0] == 2
    assert run(str(valid), "--json", "--junit")[0] == 2
    assert run(str(valid), "--as-of", "yesterday")[0] == 2
    assert run(str(valid), "--league", "another")[0] == 2
    missing = CliRunner().invoke(app, [str(valid), "--profile", str(tmp_path / "none.toml")])
    assert missing.exit_code == 2
    assert "none.toml is not a file: give a profile" in missing.output


def test_a_published_site_is_judged_over_http(valid: Path) -> None:
    import functools
    import http.server
    import threading

    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(valid))
    handler.log_message = lambda *arguments: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (valid / "api/v1/verify.py").write_bytes(b"# a checker\n")
        code, shown = run(
            f"http://127.0.0.1:{server.server_port}/", "--as-of", AS_OF, "--json"
        )  # fmt: skip
        server.shutdown()
    (valid / "api/v1/verify.py").unlink()
    assert code == 0
    report = json.loads(shown[shown.index("{") :])
    assert any("a web host" in text for text in report["not_excluded"])


def test_the_zipapp_says_the_same_with_nothing_but_python(valid: Path, tmp_path: Path) -> None:
    path = tmp_path / "conform.pyz"
    path.write_bytes(build_pyz())
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(path), str(valid), "--as-of", AS_OF, "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    own = conform_path(valid, AS_OF)
    assert json.loads(done.stdout) == own
    assert done.stdout == run(str(valid), "--as-of", AS_OF, "--json")[1]
    for wrong in (["nowhere"], ["--nonsense"], []):
        failed = subprocess.run(
            [sys.executable, "-I", "-S", str(path), *wrong], capture_output=True, check=False
        )
        assert failed.returncode == 2


def test_the_zipapp_is_the_same_bytes_for_the_same_sources() -> None:
    first = build_pyz()
    build_pyz.cache_clear()
    assert build_pyz() == first
    assert len(pyz_sha256()) == 64
    assert len(first) < 2 << 20


def test_the_zipapp_holds_our_modules_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "conform.pyz"
    path.write_bytes(build_pyz())
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert names == sorted(names)
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        source = Path(__file__).parents[2] / "src"
        for name in names:
            if name != "__main__.py":
                assert archive.read(name) == (source / name).read_bytes()
    rooms = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert rooms == {"book", "publish", "records", "scoring"}


@pytest.mark.parametrize("flag", [[], ["--json"], ["--junit"], ["--sarif"]])
def test_the_main_of_the_zipapp(
    valid: Path, tmp_path: Path, flag: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    html = tmp_path / "r.html"
    assert conform_main([str(valid), "--as-of", AS_OF, *flag, "--html", str(html)]) == 0
    assert capsys.readouterr().out
    assert html.is_file()
    assert conform_main(["--help"]) == 0


def test_whatever_breaks_in_it_is_could_not_check(
    valid: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from beforehand.publish.conformance import command

    def broken(*arguments: object, **more: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(command, "conform_path", broken)
    assert conform_main([str(valid)]) == 2
    assert "the checker itself failed" in capsys.readouterr().err
