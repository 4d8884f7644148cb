"""What a mutant is: the valid league with one fault, the requirement that it breaks, and how.

`said` changes lines and is chained, treed, stamped and signed anew, as a
dishonest operator would; `computed` changes what is published beside the
book, and signs it; `raw` changes lines below their seals and signs the rest;
`bytes` changes published bytes and signs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from beforehand.testing.mutants_files import Files, Operator, chain, render, sign_files
from beforehand.testing.mutants_files import rebuilt as rebuilt_book
from beforehand.testing.mutants_league import Draft, valid_league
from beforehand.testing.mutants_tables import Tables

SAID, COMPUTED, RAW, BYTES = "said", "computed", "raw", "bytes"

ChangeLines = Callable[[Draft], None]
ChangeTables = Callable[[Tables, dict[str, int]], None]
ChangeRaws = Callable[[list[bytes]], list[bytes]]
ChangeFiles = Callable[[Files], None]


@dataclass(frozen=True)
class Mutant:
    """One fault. `collateral` are requirements that the same fault breaks by its nature."""

    id: str
    requirement: int
    kind: str
    fault: str
    lines: ChangeLines | None = None
    tables: ChangeTables | None = None
    raws: ChangeRaws | None = None
    files: ChangeFiles | None = None
    stamped_before: bool = False
    attack: str = ""
    collateral: tuple[int, ...] = ()

    def build(self, seed: int, operator: Operator) -> Files:
        """The mutant's published folder."""
        draft = valid_league(seed)
        kept = stamps_of(render(draft, operator)) if self.stamped_before else None
        if self.lines is not None:
            self.lines(draft)
        files = render(draft, operator, self.tables, kept)
        if self.raws is not None:
            files = rebuilt_book(files, self.raws(chain(draft, operator).raws), operator)
        if self.files is not None:
            self.files(files)
            if self.kind != BYTES:
                files = sign_files(files, chain(draft, operator).raws, operator)
        return files


def said(number: int, name: str, fault: str, change: ChangeLines, **more: Any) -> Mutant:
    """A mutant of lines."""
    return Mutant(f"r{number:02d}-{name}", number, SAID, fault, lines=change, **more)


def told(number: int, name: str, fault: str, change: ChangeTables, **more: Any) -> Mutant:
    """A mutant of what is computed."""
    return Mutant(f"r{number:02d}-{name}", number, COMPUTED, fault, tables=change, **more)


def stamps_of(files: Files) -> Files:
    """The stamped lists of a folder, with what vouches for them."""
    return {name: data for name, data in files.items() if name.startswith("proof/")}
