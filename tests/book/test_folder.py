"""A published folder on disk: what lies outside it, or is no plain file, is not read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from beforehand.book.folder import DirectoryFolder, hash_file, printable, read_file
from beforehand.errors import FormatError

from .plain_chain import sha


@pytest.fixture
def public(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(b"outside")
    public = tmp_path / "public"
    (public / "a" / "b").mkdir(parents=True)
    (public / "a" / "b" / "file").write_bytes(b"inside")
    (public / "top").write_bytes(b"")
    return public


def test_names_are_all_files_sorted_with_slashes(public: Path) -> None:
    assert DirectoryFolder(public).names() == ["a/b/file", "top"]


def test_a_file_is_read_and_hashed(public: Path) -> None:
    folder = DirectoryFolder(public)
    assert folder.has("a/b/file")
    assert not folder.has("a/b")
    assert not folder.has("a/none")
    assert read_file(folder, "a/b/file", 6) == b"inside"
    assert hash_file(folder, "a/b/file") == (6, sha(b"inside"))


def test_a_file_over_the_limit_is_refused(public: Path) -> None:
    with pytest.raises(FormatError, match="limit"):
        read_file(DirectoryFolder(public), "a/b/file", 5)


def refused(folder: DirectoryFolder, name: str) -> None:
    assert not folder.has(name)
    with pytest.raises(FormatError):
        folder.open(name).close()


def test_links_are_listed_and_not_followed(public: Path) -> None:
    (public / "link").symlink_to(public.parent / "secret")
    (public / "inner").symlink_to("top")
    (public / "loop").symlink_to("loop")
    (public / "folder").symlink_to(public.parent)
    folder = DirectoryFolder(public)
    assert {"link", "inner", "loop", "folder"} <= set(folder.names())
    for name in ("link", "inner", "loop", "folder", "folder/secret"):
        refused(folder, name)


def test_what_is_no_plain_file_is_refused_without_waiting(public: Path) -> None:
    os.mkfifo(public / "pipe")
    folder = DirectoryFolder(public)
    assert "pipe" in folder.names()
    refused(folder, "pipe")


@pytest.mark.parametrize("name", ["../secret", "a/../../secret", "/etc/passwd"])
def test_a_name_that_leads_outside_is_refused(public: Path, name: str) -> None:
    # names come from manifests that a stranger wrote
    refused(DirectoryFolder(public), name)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nowhere"):
        DirectoryFolder(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "a\x00b", "\u202egnp.exe", "\u2028"])
def test_a_printed_name_cannot_drive_a_terminal(name: str) -> None:
    assert printable(name).isprintable()
    assert printable("plain-é.txt") == "plain-é.txt"
