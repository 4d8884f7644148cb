"""Declaring: the very bytes are sealed, once; what cannot be run is refused; keys are kept."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from beforehand.clock import SimulatedClock, SystemClock
from beforehand.errors import ConflictError, FormatError, RuleError
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration
from beforehand.stages.declare import KEY_NAME, declare, open_league, reopen_league
from beforehand.stages.key import SigningKey
from tests.small_league import play_small_league, small_declaration

START = "2026-01-01T00:00:00Z"


def test_the_very_bytes_are_sealed_and_declaring_again_changes_nothing(tmp_path: Path) -> None:
    declaration = small_declaration()
    with open_league(tmp_path, declaration, SimulatedClock(tmp_path / "clock", START)) as pen:
        declare(pen, declaration, tmp_path)
        size = pen.store.size
        declare(pen, declaration, tmp_path)
        assert pen.store.size == size == 2
        assert pen.store.read_body(declaration.sha256) == declaration.data


def test_another_declaration_is_refused(tmp_path: Path) -> None:
    declaration = small_declaration()
    changed = Declaration.parse(declaration.data + b"# another word\n", "changed")
    with open_league(tmp_path, declaration, SimulatedClock(tmp_path / "clock", START)) as pen:
        declare(pen, declaration, tmp_path)
        with pytest.raises(RuleError, match="another declaration"):
            declare(pen, changed, tmp_path)


@pytest.mark.parametrize("name", ["council", "depth", "arena"])
def test_what_a_later_part_builds_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    declaration = Declaration.parse(shipped()[name], name)
    with pytest.raises(RuleError, match="cannot be started by this version"):
        open_league(tmp_path / "league", declaration, SystemClock())
    assert not (tmp_path / "league").exists()


def test_simulated_time_under_a_real_clock_is_refused(tmp_path: Path) -> None:
    declaration = small_declaration()
    with (
        open_league(tmp_path, declaration, SystemClock()) as pen,
        pytest.raises(RuleError, match="simulated time"),
    ):
        declare(pen, declaration, tmp_path)


def test_the_key_is_the_owners_and_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / KEY_NAME
    made = SigningKey.make("test.example/x", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(RuleError, match="never overwritten"):
        SigningKey.make("test.example/x", path)
    assert SigningKey.keep("test.example/x", path).verifier == made.verifier
    path.write_bytes(b"nonsense")
    with pytest.raises(FormatError, match="not a private key"):
        SigningKey.load("test.example/x", path)
    with pytest.raises(FormatError, match="no signing key"):
        SigningKey.load("test.example/x", tmp_path / "none")


def test_reopening_demands_the_key_the_book_names(tmp_path: Path) -> None:
    play_small_league(tmp_path / "a").store.close()
    clock = SimulatedClock(tmp_path / "a" / "clock")
    with reopen_league(tmp_path / "a", clock) as pen:
        assert pen.store.size == 13
        with pytest.raises(ConflictError):
            reopen_league(tmp_path / "a", clock)
    (tmp_path / "a" / KEY_NAME).unlink()
    SigningKey.make("test.example/small/book", tmp_path / "a" / KEY_NAME)
    with pytest.raises(RuleError, match="not the one the book names"):
        reopen_league(tmp_path / "a", clock)
    with pytest.raises(RuleError, match="no declared league"):
        reopen_league(tmp_path / "b", clock)


def test_a_clock_that_runs_behind_is_kept_beside_the_lines_time(tmp_path: Path) -> None:
    from beforehand.records.evidence import Erased

    pen = play_small_league(tmp_path)
    last = pen.store.last_at
    (tmp_path / "clock").write_text("2026-01-02T12:00:00Z\n")
    sha256 = "0" * 64
    (line,) = pen.write(lambda at: [Erased(at=at, line=1, body_sha256=sha256, why="test")])
    assert line.content["at"] == last
    assert line.content["clock"] == "2026-01-02T12:00:00Z"
    pen.store.close()
