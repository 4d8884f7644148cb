"""A published folder in memory, for checkers that are tried thousands of times."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

from beforehand.errors import FormatError


class MemoryFolder:
    """The `Folder` protocol over a dict of bytes."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    @classmethod
    def of(cls, root: Path) -> MemoryFolder:
        """Every file below `root`, read into memory."""
        paths = sorted(path for path in root.rglob("*") if path.is_file())
        return cls({path.relative_to(root).as_posix(): path.read_bytes() for path in paths})

    def names(self) -> list[str]:
        return sorted(self.files)

    def has(self, name: str) -> bool:
        return name in self.files

    def open(self, name: str) -> BinaryIO:
        if name not in self.files:
            raise FormatError(f"{name} is not a plain file")
        return io.BytesIO(self.files[name])
