"""A published folder as the checker sees it: names, sizes and bytes, each read under a limit."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from beforehand.errors import FormatError

MAX_FILES = 2_000_000
READ_BYTES = 1 << 20


class Folder(Protocol):
    """Where published files are read from. Names are relative, with `/` between parts."""

    def names(self) -> list[str]:
        """Every file, sorted."""

    def has(self, name: str) -> bool:
        """Whether this file is there."""

    def open(self, name: str) -> BinaryIO:
        """The file, opened for reading bytes; FormatError where it cannot be."""


class DirectoryFolder:
    """A folder on disk. Links and special files are refused, not followed."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise FormatError(f"{root} is not a folder")
        self.root = root
        self._plain: set[str] = set()

    def names(self) -> list[str]:
        found: list[str] = []
        for place, folders, files in os.walk(self.root, onerror=_raise):
            links = [name for name in folders if (Path(place) / name).is_symlink()]
            for name in (*files, *links):
                if len(found) >= MAX_FILES:
                    raise FormatError(f"more than {MAX_FILES} files below {self.root}")
                found.append((Path(place) / name).relative_to(self.root).as_posix())
        return sorted(found)

    def has(self, name: str) -> bool:
        path = self.root / name
        try:
            plain = is_below(name) and path.is_file() and not path.is_symlink()
        except OSError:  # a name that no file can have
            return False
        return plain and self._is_reached_plainly(name.rpartition("/")[0])

    def _is_reached_plainly(self, name: str) -> bool:
        """Whether no part of a folder's name is a link; looked at once."""
        if name and name not in self._plain:
            if (self.root / name).is_symlink():
                return False
            if not self._is_reached_plainly(name.rpartition("/")[0]):
                return False
            self._plain.add(name)
        return True

    def path(self, name: str) -> Path:
        """The path on disk, for a reader in another process."""
        return self.root / name

    def open(self, name: str) -> BinaryIO:
        if not self.has(name):
            raise FormatError(f"{name} is not a plain file")
        try:
            return (self.root / name).open("rb")
        except OSError as error:
            raise FormatError(f"{name} cannot be read: {error.strerror}") from None


def is_below(name: str) -> bool:
    """Whether a name is that of a place below the folder, spelled the one way."""
    return all(part not in ("", ".", "..") for part in name.split("/"))


def _raise(error: OSError) -> None:
    raise FormatError(f"{error.filename} cannot be read: {error.strerror}")


def read_file(folder: Folder, name: str, limit: int) -> bytes:
    """The whole file; FormatError where it is over `limit` bytes."""
    with folder.open(name) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"{name} is over the limit of {limit} bytes")
    return data


def read_pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The stream in pieces of at most a mebibyte."""
    while piece := stream.read(READ_BYTES):
        yield piece


def hash_file(folder: Folder, name: str) -> tuple[int, str]:
    """The size and SHA-256 of a file, read in pieces."""
    size, hasher = 0, hashlib.sha256()
    with folder.open(name) as stream:
        for piece in read_pieces(stream):
            size += len(piece)
            hasher.update(piece)
    return size, hasher.hexdigest()


def printable(name: str) -> str:
    """A file's name, safe to print."""
    return name if name.isprintable() else ascii(name)
