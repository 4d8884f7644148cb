"""A backup and what it is put back from: whole, or not there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from beforehand.errors import BeforehandError, IntegrityError, RuleError
from beforehand.stages.backup import back_up, restore
from tests.relay.made_league import MadeLeague, make_league


@pytest.fixture
def league(tmp_path: Path) -> MadeLeague:
    return make_league(tmp_path / "league")


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def harm_line(book: Path) -> None:
    data = book.read_bytes()
    book.write_bytes(data.replace(b'"bid": "0.40"', b'"bid": "0.41"'))
    assert book.read_bytes() != data


def harm_body(book: Path) -> None:
    sorted(book.parent.glob("bodies/*/*"))[0].write_bytes(b"something else\n")


def lose_body(book: Path) -> None:
    sorted(book.parent.glob("bodies/*/*"))[0].unlink()


HARMS = [(harm_line, "book.jsonl line"), (harm_body, "does not hash"), (lose_body, "is not kept")]


def test_it_is_put_back_as_it_was_and_leaves_nothing_beside(
    league: MadeLeague, tmp_path: Path
) -> None:
    copied = back_up(league.folder, tmp_path / "copy")
    assert back_up(league.folder, tmp_path / "copy") == copied
    assert restore(tmp_path / "copy", tmp_path / "back") == copied
    assert {path.name for path in tmp_path.iterdir()} == {"league", "copy", "back"}
    assert (tmp_path / "back/league/book.jsonl").read_bytes() == (
        league.book / "book.jsonl"
    ).read_bytes()


def test_an_undeclared_league_is_said_to_be_one(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(RuleError, match=f"{folder} holds no declared league.*beforehand decl"):
            back_up(folder, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_a_damaged_league_leaves_no_half_copy(
    league: MadeLeague, tmp_path: Path, harm: object, said: str
) -> None:
    harm(league.book / "book.jsonl")  # type: ignore[operator]
    with pytest.raises(BeforehandError, match=said) as caught:
        back_up(league.folder, tmp_path / "copy")
    assert str(league.folder) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["league"]


def test_an_earlier_copy_is_not_spoiled_by_a_damaged_league(
    league: MadeLeague, tmp_path: Path
) -> None:
    back_up(league.folder, tmp_path / "copy")
    before = files(tmp_path / "copy")
    with league.pen() as pen:
        pen.checkpoint()
    (note,) = (league.book / "checkpoints").iterdir()
    size = note.name
    note.rename(note.with_name(str(int(size) - 1)))
    with pytest.raises(IntegrityError, match="was signed over"):
        back_up(league.folder, tmp_path / "copy")
    assert files(tmp_path / "copy") == before


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_a_damaged_backup_is_not_put_back(
    league: MadeLeague, tmp_path: Path, harm: object, said: str
) -> None:
    back_up(league.folder, tmp_path / "copy")
    harm(tmp_path / "copy/league/book.jsonl")  # type: ignore[operator]
    with pytest.raises(BeforehandError, match=said) as caught:
        restore(tmp_path / "copy", tmp_path / "back")
    assert str(tmp_path / "copy") in str(caught.value)
    assert "restoring" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"league", "copy"}


def test_a_file_is_no_folder_for_either(league: MadeLeague, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(RuleError, match="is a file"):
        back_up(league.folder, file)
    back_up(league.folder, tmp_path / "copy")
    with pytest.raises(RuleError, match="is not empty"):
        restore(tmp_path / "copy", file)
    with pytest.raises(RuleError, match="holds no backup of a league"):
        restore(league.folder.parent, tmp_path / "back")
