"""A proof file as it lies on disk: what does not match is found, what is no proof is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.checker import checker_main
from beforehand.book.proof_file import Enclosed, ProofFile
from beforehand.book.proof_parts import read_proof
from beforehand.book.report import Report
from beforehand.errors import FormatError

AS_OF = "2026-11-30T12:00:00Z"
PROOF = ProofFile(
    "o.example/book",
    "o.example/book+00000000+AAAA",
    b'{"n": 1}',
    (),
    b"note",
    bodies=(Enclosed("answer", b"what was answered"),),
    evidence=(Enclosed("list.txt", b"a stamped list"),),
)


def written(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "one.proof"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def content() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(PROOF.data())
    return held


def test_a_proof_is_read(tmp_path: Path) -> None:
    assert read_proof(written(tmp_path, content()), AS_OF) == PROOF


@pytest.mark.parametrize("key", ["bodies", "evidence"])
@pytest.mark.parametrize(
    ("part", "value"), [("data", "AAAA"), ("sha256", "0" * 64), ("sha256", "x")]
)
def test_a_part_that_is_not_what_the_file_says_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, part: str, value: str
) -> None:
    held = content()
    held[key][0][part] = value
    path = written(tmp_path, held)
    report = read_proof(path, AS_OF)
    assert isinstance(report, Report)
    (found,) = report.findings
    assert (found.step, report.exit_code) == (6, 1)
    assert "hashes to" in found.message and "one.proof: the enclosed " in found.place
    assert checker_main([str(path)]) == 1
    assert "hashes to" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"path": "x"},
        {"line": 7},
        {"more": 1},
        {"bodies": 7},
        {"bodies": [{"role": "answer", "sha256": "0" * 64, "data": "not base64!"}]},
        {"bodies": [{"role": "answer", "sha256": "0" * 64}]},
    ],
)
def test_what_has_not_the_form_of_a_proof_could_not_be_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    path = written(tmp_path, {**content(), **change})
    with pytest.raises(FormatError, match=r"one\.proof: "):
        read_proof(path, AS_OF)
    assert checker_main([str(path)]) == 2
    assert f"could not check: {path}" in capsys.readouterr().err


def test_no_changed_byte_of_a_proof_is_read_as_sound(tmp_path: Path) -> None:
    """Every byte in turn: a finding, or no proof any more; the names of parts are no content."""
    whole = PROOF.data()
    path = tmp_path / "one.proof"
    codes = set()
    for at in range(0, len(whole) - 1, 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        codes.add(checker_main([str(path)]))
    assert codes == {1, 2}
