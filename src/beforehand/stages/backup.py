"""A copy of a league that can be put back: taken beside the pen, whole whenever it is stopped.

The book is copied up to its last whole line before the bodies it names, so
that every body of a copied line is there to be copied. What was copied before
is not copied again: lines are only added, and a body never changes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from beforehand.book.bodies import body_path
from beforehand.book.reader import BOOK_NAME, BookReader
from beforehand.book.store import LOCK_NAME, FileStore, sync_folder, write_synced
from beforehand.errors import FormatError, IntegrityError, RuleError
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

    IntegrityError where the league is damaged, or where `target` holds lines
    that its book does not begin with; then `target` is as it was.
    """
    if not (folder / BOOK / BOOK_NAME).is_file():
        raise RuleError(
            f"{folder} holds no declared league, so there is nothing to back up: give the league's "
            f"folder, or begin it with beforehand declare {folder}"
        )
    if target.exists() and not target.is_dir():
        raise RuleError(f"{target} is a file: give a folder for the backup")
    source = BookReader(folder / BOOK)
    lines = list(source.lines())
    if not lines:
        raise RuleError(f"{folder / BOOK / BOOK_NAME} holds no whole line: nothing to back up")
    data = b"".join(raw + b"\n" for raw in lines)
    kept = target / BOOK / BOOK_NAME
    if kept.is_file() and not data.startswith(kept.read_bytes()):
        raise IntegrityError(
            f"{kept} is no beginning of the book at {folder}: choose another place for the backup"
        )
    with _beside(target, "backing-up", folder) as part:
        for size, note in source.checkpoints().items():
            if size <= len(lines):
                write_synced(part / BOOK / "checkpoints" / str(size), note)
        write_synced(part / BOOK / BOOK_NAME, data)
        with FileStore(part / BOOK):
            pass  # opening it has read the chain again
        bodies = list(dict.fromkeys(_named(lines)))
        for sha256 in bodies:
            if not (target / BOOK / body_path(sha256)).is_file():
                write_synced(part / BOOK / body_path(sha256), source.read_body(sha256))
        _move_new(part, target)
    _copy_beside(folder, target)
    return _checked(target, len(bodies))


def restore(backup: Path, folder: Path, *, public: Path | None = None) -> Copied:
    """Put a backup back into `folder`, which must not hold a league.

    With `public`, the league's published folder: IntegrityError where that
    holds lines the backup lacks, because appending to the backup would then
    make a second book under one name. A damaged backup leaves nothing behind.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RuleError(f"{folder} is not empty: a backup is put back into a fresh folder")
    if not (backup / BOOK / BOOK_NAME).is_file():
        raise RuleError(
            f"{backup} holds no backup of a league: give a folder that beforehand backup made"
        )
    if public is not None:
        _check_published(backup, public)
    with _beside(folder, "restoring", backup) as part:
        shutil.copytree(backup, part, dirs_exist_ok=True)
        for name in KEYS:
            key = part / BOOK / name
            if key.is_file():
                key.chmod(0o600)
        with FileStore(part / BOOK):
            pass  # the chain first: it names the line where a body could only be missed
        bodies = len(set(_named(list(BookReader(part / BOOK).lines()))))
        copied = _checked(part, bodies)
        if folder.exists():
            folder.rmdir()
        part.replace(folder)
    return copied


@contextmanager
def _beside(place: Path, doing: str, source: Path) -> Iterator[Path]:
    """A folder beside `place` to make the copy in, gone afterwards whatever happens.

    What is wrong in it was wrong in `source`, and is said of that.
    """
    part = place.with_name(f"{place.name}.{doing}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
    except (FormatError, IntegrityError) as error:
        said = str(error).replace(str(part), str(source))
        raise type(error)(f"{said}; {place} was left as it was") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _move_new(part: Path, target: Path) -> None:
    """Move what was copied into its place, the book after all that it names."""
    book = part / BOOK / BOOK_NAME
    files = (path for path in sorted(part.rglob("*")) if path.is_file())
    for path in (*(path for path in files if path not in (book, part / BOOK / LOCK_NAME)), book):
        place = target / path.relative_to(part)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
        sync_folder(place.parent)


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
