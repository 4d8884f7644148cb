"""A copy of a league that can be put back: taken beside the pen, whole whenever it is stopped.

The book is copied up to its last whole line before the bodies it names, so
that every body of a copied line is there to be copied. What was copied before
is not copied again: lines are only added, and a body never changes.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from beforehand.book.bodies import body_path
from beforehand.book.reader import BOOK_NAME, BookReader
from beforehand.book.store import FileStore, write_synced
from beforehand.errors import IntegrityError, RuleError
from beforehand.records.codec import decode_json, digest

# Beside the book: rules, settings, keys, what waits. State that may be lost is not kept.
FILES = ("declaration.toml", "roster.toml", "settings.toml", "clock")
KEYS = tuple(
    f"keys/{name}.pem" for name in ("signing", "signing-next", "recovery", "recovery-next")
)
BOOK = "league"


@dataclass(frozen=True)
class Copied:
    """What a backup or restore holds: whole lines, bodies, and the root of the lines' tree."""

    lines: int
    bodies: int
    root: str


def back_up(folder: Path, target: Path) -> Copied:
    """Copy the league at `folder` into `target`, adding to an earlier copy of the same book.

    IntegrityError where `target` holds lines that the book does not begin with.
    """
    source = BookReader(folder / BOOK)
    lines = list(source.lines())
    if not lines:
        raise RuleError(f"{folder} holds no declared league")
    data = b"".join(raw + b"\n" for raw in lines)
    kept = target / BOOK / BOOK_NAME
    if kept.is_file() and not data.startswith(kept.read_bytes()):
        raise IntegrityError(
            f"{kept} is no beginning of the book at {folder}: choose another place for the backup"
        )
    bodies = 0
    for sha256 in dict.fromkeys(_named(lines)):
        place = target / BOOK / body_path(sha256)
        bodies += 1
        if not place.is_file():
            write_synced(place, source.read_body(sha256))
    for size, note in source.checkpoints().items():
        place = target / BOOK / "checkpoints" / str(size)
        if size <= len(lines) and not place.is_file():
            write_synced(place, note)
    write_synced(kept, data)
    _copy_beside(folder, target)
    return _checked(target, bodies)


def restore(backup: Path, folder: Path, *, public: Path | None = None) -> Copied:
    """Put a backup back into `folder`, which must not hold a league.

    With `public`, the league's published folder: IntegrityError where that
    holds lines the backup lacks, because appending to the backup would then
    make a second book under one name.
    """
    if folder.exists() and any(folder.iterdir()):
        raise RuleError(f"{folder} is not empty: a backup is put back into a fresh folder")
    if not (backup / BOOK / BOOK_NAME).is_file():
        raise RuleError(f"{backup} holds no backup of a league")
    if public is not None:
        _check_published(backup, public)
    part = folder.with_name(folder.name + ".restoring")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(backup, part)
    for name in KEYS:
        key = part / BOOK / name
        if key.is_file():
            key.chmod(0o600)
    bodies = len(set(_named(list(BookReader(part / BOOK).lines()))))
    copied = _checked(part, bodies)
    if folder.exists():
        folder.rmdir()
    part.replace(folder)
    return copied


def _named(lines: list[bytes]) -> list[str]:
    """The bodies that lines name and nobody erased."""
    named: list[str] = []
    erased: set[str] = set()
    for raw in lines:
        value = decode_json(raw)
        named += [body["sha256"] for body in value.get("bodies", ())]
        if value["kind"] == "erased":
            erased.add(value["body_sha256"])
    return [sha256 for sha256 in named if sha256 not in erased]


def _copy_beside(folder: Path, target: Path) -> None:
    for name in FILES:
        if (folder / name).is_file():
            write_synced(target / name, (folder / name).read_bytes())
    for name in KEYS:
        key = folder / BOOK / name
        if key.is_file():
            write_synced(target / BOOK / name, key.read_bytes())
            (target / BOOK / name).chmod(0o600)
    inbox = folder / "inbox"
    if inbox.is_dir():
        shutil.copytree(inbox, target / "inbox", dirs_exist_ok=True)


def _checked(target: Path, bodies: int) -> Copied:
    """What the copy holds, once its whole chain and every body was read again."""
    with FileStore(target / BOOK) as store:
        for sha256 in dict.fromkeys(_named(list(store.lines()))):
            if digest(store.read_body(sha256)) != sha256:
                raise IntegrityError(f"the body {sha256} of the copy does not hash to its name")
        return Copied(store.size, bodies, store.root().hex())


def _check_published(backup: Path, public: Path) -> None:
    held = (backup / BOOK / BOOK_NAME).read_bytes()
    for book in sorted(public.glob(f"api/v1/*/{BOOK_NAME}")):
        data = book.read_bytes()
        if data.startswith(held) and len(data) > len(held):
            more = data.count(b"\n") - held.count(b"\n")
            raise IntegrityError(
                f"{book} holds {more} lines that the backup lacks: appending to the backup would "
                "make a second book under one name. Take a later backup, or end this origin and "
                "begin a successor that names its last checkpoint"
            )
        if not held.startswith(data):
            raise IntegrityError(f"{book} and the backup are two different books")
