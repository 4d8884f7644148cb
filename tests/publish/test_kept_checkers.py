"""Each version of the published checkers stays where its hash says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beforehand.errors import FormatError
from beforehand.publish import kept_checkers
from beforehand.publish.kept_checkers import FOLDER, INDEX, keep_checkers
from beforehand.records.codec import digest

FIRST, SECOND = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


def published(tmp_path: Path, name: str, before: Path, at: str) -> Path:
    keep_checkers(before, tmp_path / name, at)
    return tmp_path / name


def index(folder: Path) -> list[dict[str, str]]:
    held: list[dict[str, str]] = json.loads((folder / INDEX).read_bytes())
    return held


def test_an_older_checker_stays_beside_the_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = published(tmp_path, "first", tmp_path / "none", FIRST)
    assert {each["name"] for each in index(first)} == {"verify.py", "recount.py", "conform.pyz"}
    monkeypatch.setattr(kept_checkers, "build_verify", lambda: b"a newer verify.py")
    second = published(tmp_path, "second", first, SECOND)
    held = index(second)
    assert [each["since"] for each in held] == [FIRST, FIRST, FIRST, SECOND]
    for each in held:
        suffix = ".pyz" if each["name"] == "conform.pyz" else ".py"
        data = (second / FOLDER / f"{each['sha256']}{suffix}").read_bytes()
        assert digest(data) == each["sha256"]
    third = published(tmp_path, "third", second, SECOND)
    assert index(third) == held, "published again, it is the same version"


def test_a_kept_checker_that_is_gone_or_changed_is_not_dropped_in_silence(tmp_path: Path) -> None:
    first = published(tmp_path, "first", tmp_path / "none", FIRST)
    path = next((first / FOLDER).glob("*.pyz"))
    data = path.read_bytes()
    path.write_bytes(data + b"x")
    with pytest.raises(FormatError, match="not the checker of its hash"):
        published(tmp_path, "second", first, SECOND)
    path.unlink()
    with pytest.raises(FormatError, match="is gone"):
        published(tmp_path, "third", first, SECOND)
    for junk in (b"{}", b'[{"name": "x", "sha256": "y"}]', b'[{"name": "verify.py"}]'):
        (first / INDEX).write_bytes(junk)
        with pytest.raises(FormatError):
            published(tmp_path, "fourth", first, SECOND)
