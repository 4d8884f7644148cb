"""`beforehand verify FILE BUNDLE --log URL`: the log is asked too, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from typer.testing import CliRunner

from beforehand.anchors.rekor import Rekor
from beforehand.cli.main import app
from beforehand.clock import SystemClock
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.served import Served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "trust").mkdir()
    (tmp_path / "list.txt").write_bytes(b"what was stamped\n")
    return tmp_path


def verify(folder: Path, *words: str) -> tuple[int, str]:
    files = [str(folder / name) for name in ("list.txt", "list.txt.rekor.json")]
    said = ["verify", *files, "--trust", str(folder / "trust"), *words]
    done = CliRunner().invoke(app, said)
    return done.exit_code, " ".join(done.output.split())


def test_the_log_is_asked_whether_it_still_holds_the_entry(folder: Path) -> None:
    log = LocalRekor(SystemClock(), version=2, others=300)
    (folder / "trust/trusted_root.json").write_bytes(log.trusted_root())
    with Served(log.serve) as served:
        own = Rekor(served.url, ec.generate_private_key(ec.SECP256R1()), version=2)
        data = own.submit((folder / "list.txt").read_bytes()).data
        own.submit(b"another")
        (folder / "list.txt.rekor.json").write_bytes(data)
        code, said = verify(folder)
        assert (code, "asked now" in said) == (0, False)
        code, said = verify(folder, "--log", served.url)
        assert (code, "asked now, rekor.invalid signs a tree of 302" in said) == (0, True)
    code, said = verify(folder, "--log", served.url)
    assert (code, "could not check: the log: " in said) == (2, True)
    assert "without asking the log: rekor.invalid holds it" in said
    impostor = LocalRekor(SystemClock(), version=2, others=400)
    with Served(impostor.serve) as served:
        code, said = verify(folder, "--log", served.url)
    assert (code, "carries no signature of the log" in said) == (1, True)


def test_a_log_without_evidence_is_refused(folder: Path) -> None:
    done = CliRunner().invoke(app, ["verify", str(folder), "--log", "http://127.0.0.1:9"])
    assert done.exit_code == 2
    assert "--log asks about one piece of evidence" in " ".join(done.output.split())
