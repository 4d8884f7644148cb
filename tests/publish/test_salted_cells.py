"""A league with salted cells: one cell of a withheld answer proved alone, before and after."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.bodies import SealedBody
from beforehand.book.cells import cells_root
from beforehand.book.options import Options
from beforehand.book.proof_file import ProofFile, check_proof
from beforehand.book.reader import BookReader
from beforehand.book.report import Report
from beforehand.book.verify import verify_folder
from beforehand.errors import FormatError
from beforehand.publish.checkers import build_verify
from beforehand.publish.proving import Wanted, prove_line
from beforehand.publish.public import seal_public, write_data
from beforehand.records.codec import digest, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Answer
from beforehand.records.record import BodyRef
from beforehand.stages.draining import drain_inbox
from beforehand.stages.inbox import Inbox
from beforehand.testing.memory_folder import MemoryFolder
from tests.relay.made_league import (
    AFTER,
    DEADLINE,
    RUN,
    START,
    MadeLeague,
    declaration,
    make_league,
)
from tests.stages.live_world import LiveLeague
from tests.stages.raw_book import body_of, lines_of, of_kind

ORIGIN = "test.example/small/book"


def salted(text: bytes) -> Declaration:
    changed = text.replace(b'entry = "accepted"', b'entry = "accepted"\ncells = "salted"')
    assert changed != text
    return Declaration.parse(changed, "salted.toml")


@pytest.fixture
def league(tmp_path: Path) -> MadeLeague:
    """Ada has answered three questions; her answer waits for the deadline."""
    made = make_league(tmp_path / "league", salted(declaration().data))
    Inbox(made.folder).accept(made.submission(p="0.62"), made.league_key(), START)
    with made.pen() as pen:
        drain_inbox(pen, made.folder)
        pen.checkpoint()
    return made


def publish(league: MadeLeague, into: Path, as_of: str) -> MemoryFolder:
    key = league.league_key()
    data = write_data(BookReader(league.book), key.verifier, into, as_of)
    seal_public(into, [(data, key.verifier, key.sign)], as_of)
    return MemoryFolder.of(into)


def wanted(league: MadeLeague, place: int = 1) -> Wanted:
    (line,) = of_kind(lines_of(league.book), "answer")
    return Wanted(line=line["n"], question=league.ids[place], cell=True)


def texts(report: Report) -> str:
    return "\n".join(finding.text() for finding in report.findings)


def test_the_line_carries_the_root_and_the_body_its_key(league: MadeLeague) -> None:
    (line,) = of_kind(lines_of(league.book), "answer")
    body = json.loads(body_of(league.book, line, "answer"))
    assert "cells" not in line
    key = bytes.fromhex(body["cells_key"])
    assert line["cells_root"] == cells_root(body["cells"], key)


def test_a_drain_that_is_done_again_writes_the_same_body(tmp_path: Path) -> None:
    """The key is drawn from the body's salt, which waits in the inbox with the submission."""
    roots = set()
    for name in "ab":
        made = make_league(tmp_path / name, salted(declaration().data))
        if name == "a":
            Inbox(made.folder).accept(made.submission(), made.league_key(), START)
            kept = made
        else:
            made = kept
        with made.pen() as pen:
            drain_inbox(pen, made.folder)
        (line,) = of_kind(lines_of(made.book), "answer")
        roots.add(line["cells_root"])
    assert len(roots) == 1


def test_one_cell_is_proved_while_the_answer_is_withheld(
    league: MadeLeague, tmp_path: Path
) -> None:
    folder = publish(league, tmp_path / "public", START)
    with pytest.raises(FormatError, match="withheld"):
        prove_line(folder, None, wanted(league))
    proof = prove_line(folder, None, wanted(league), BookReader(league.book))
    assert ProofFile.parse(proof.data()) == proof
    assert proof.bodies == ()
    report = check_proof(proof, Options(as_of=START))
    assert (report.findings, report.exit_code) == ([], 0)
    shown = json.loads(report.leagues[ORIGIN]["cell"])
    assert shown == {"question": league.ids[1], "p": "0.62"}
    assert "the answer's other cells, if it has any: not shown" in report.not_checked
    (line,) = of_kind(lines_of(league.book), "answer")
    secret = json.loads(body_of(league.book, line, "answer"))["cells_key"]
    for other in (league.ids[0], league.ids[2], secret):
        assert other.encode() not in proof.data()
    assert len(proof.data()) < 8000


def test_the_same_proof_stands_once_the_answer_is_public(
    league: MadeLeague, tmp_path: Path
) -> None:
    early = prove_line(
        publish(league, tmp_path / "early", START), None, wanted(league), BookReader(league.book)
    )
    folder = publish(league, tmp_path / "late", AFTER)
    assert verify_folder(folder, Options(as_of=AFTER)).findings == []
    late = prove_line(folder, None, wanted(league))
    assert late.cell == early.cell
    for proof in (early, late):
        assert check_proof(proof, Options(as_of=AFTER)).exit_code == 0


def test_the_one_file_checker_takes_it(league: MadeLeague, tmp_path: Path) -> None:
    folder = publish(league, tmp_path / "public", START)
    proof = prove_line(folder, None, wanted(league), BookReader(league.book))
    (tmp_path / "verify.py").write_bytes(build_verify())
    (tmp_path / "good.proof").write_bytes(proof.data())
    bad = proof.data().replace(b'"p": "0.62"', b'"p": "0.92"')
    (tmp_path / "bad.proof").write_bytes(bad)
    for name, code in (("good", 0), ("bad", 1)):
        words = [sys.executable, "-I", "verify.py", f"{name}.proof"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert ('cell: {"p": "0.62"' in done.stdout) == (code == 0)


def test_attacks_on_the_proof(league: MadeLeague, tmp_path: Path) -> None:
    """Caught by: the root in the line, and the line's own place in the tree."""
    folder = publish(league, tmp_path / "public", START)
    proof = prove_line(folder, None, wanted(league), BookReader(league.book))
    assert proof.cell is not None
    another = {**proof.cell.cell, "p": "0.99"}
    for bad, said in (
        (replace(proof, cell=replace(proof.cell, cell=another)), "not under the line's"),
        (replace(proof, cell=replace(proof.cell, index=0)), "not under the line's"),
        (replace(proof, line=folder_line(folder, 1)), "carries no root"),
    ):
        report = check_proof(bad, Options(as_of=START))
        assert said in texts(report)
    value = json.loads(proof.data())
    for change in ({"cell": None}, {"cell": {}}, {"more": 1}):
        with pytest.raises(FormatError):
            ProofFile.parse(seal_json({**value, **change}) + b"\n")


def folder_line(folder: MemoryFolder, n: int) -> bytes:
    return folder.files["api/v1/small/book.jsonl"].split(b"\n")[n - 1]


def test_what_cannot_be_proved_as_a_cell(league: MadeLeague, tmp_path: Path) -> None:
    folder, private = publish(league, tmp_path / "public", START), BookReader(league.book)
    good = wanted(league)
    for bad, said in (
        (replace(good, question=None), "--cell needs"),
        (replace(good, line=1), "--cell needs"),
        (replace(good, question="evc1:" + "0" * 64), "no cell on"),
    ):
        with pytest.raises(FormatError, match=said):
            prove_line(folder, None, bad, private)


def reseal(league: MadeLeague, change: Callable[[dict[str, Any]], None], **line: Any) -> None:
    """Another answer of Eve's, whose body and line an operator made as `change` says."""
    content = {"cells": [{"question": name, "p": "0.3"} for name in league.ids]}
    content["cells_key"] = "ab" * 32  # type: ignore[assignment]
    root = cells_root(content["cells"], bytes.fromhex("ab" * 32))
    change(content)
    data = SealedBody(ORIGIN, RUN, "eve", "answer", "cd" * 32, seal_json(content)).data()
    ref = BodyRef("answer", digest(data), DEADLINE)
    values = {"cells_root": root, **line}
    with league.pen() as pen:
        pen.write(
            lambda at: [
                Answer(at=at, bodies=(ref,), run=RUN, forecaster="eve", status="answered", **values)
            ],
            [data],
        )
        pen.checkpoint()


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (lambda body: None, {}, ""),
        (lambda body: body["cells"][0].update(p="0.9"), {}, "its cells give the root"),
        (lambda body: body["cells"].pop(), {}, "its cells give the root"),
        (lambda body: body["cells"].reverse(), {}, "its cells give the root"),
        (lambda body: body.update(cells_key="00" * 32), {}, "its cells give the root"),
        (lambda body: body.pop("cells_key"), {}, "holds no cells_key"),
        (lambda body: body["cells"].append(body["cells"][0]), {}, "one a question"),
        (lambda body: None, {"cells_root": None}, "salted cells are declared"),
    ],
)
def test_attack_a_disclosed_answer_that_is_not_the_one_committed_to(
    league: MadeLeague,
    tmp_path: Path,
    change: Callable[[dict[str, Any]], None],
    line: dict[str, Any],
    said: str,
) -> None:
    """Caught by: the recomputed root (step 6), once the body is due."""
    reseal(league, change, **line)
    report = verify_folder(publish(league, tmp_path / "public", AFTER), Options(as_of=AFTER))
    assert said in texts(report)
    assert bool(report.findings) == bool(said)
    assert all(finding.step == 6 for finding in report.findings)


def test_a_body_that_is_never_disclosed_is_found_when_due(
    league: MadeLeague, tmp_path: Path
) -> None:
    """Non-reveal is visible: the body is overdue, and its cells stay under the root."""
    folder = publish(league, tmp_path / "public", AFTER)
    (line,) = of_kind(lines_of(league.book), "answer")
    sha256 = next(body["sha256"] for body in line["bodies"] if body["role"] == "answer")
    name = f"api/v1/small/bodies/{sha256[:2]}/{sha256}"
    files = {key: data for key, data in folder.files.items() if key != name}
    report = verify_folder(MemoryFolder(files), Options(as_of=AFTER))
    assert f"was due at {DEADLINE} and is missing" in texts(report)


# ---- a league that asks


def test_the_answers_of_models_are_salted_too(tmp_path: Path) -> None:
    league = LiveLeague.begin(
        tmp_path / "live", changes={'entry = "asked"': 'entry = "asked"\ncells = "salted"'}
    )
    league.clock.step_to("2026-01-05T10:00:00Z")
    league.tick()
    lines = lines_of(tmp_path / "live" / "league")
    answered = of_kind(lines, "answer", status="answered")
    assert len(answered) == 6
    for line in answered:
        body = json.loads(body_of(tmp_path / "live" / "league", line, "answer"))
        key = bytes.fromhex(body["cells_key"])
        assert line["cells_root"] == cells_root(body["cells"], key)
        assert body["rationale"] == "because"
    assert len({line["cells_root"] for line in answered}) == 6


def test_the_switch_is_declared_and_needs_a_withheld_answer() -> None:
    plain = declaration(answer="line").data
    with pytest.raises(FormatError, match=r"answers\.cells"):
        salted(plain)
    assert salted(declaration().data).content["answers"]["cells"] == "salted"
