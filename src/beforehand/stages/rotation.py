"""Changing the key of a book: by the key itself, or by the recovery key where that was lost.

Order: the fresh key on disk, the line, the fresh key in the place of the old,
a checkpoint. Killed before the line, the old key signs on, and the next
attempt takes the fresh key up. Killed after it, the book names the fresh key,
and the next opening puts it in its place (`settled_key`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from beforehand.book.checkpoint import VerifierKey, sign_note
from beforehand.book.key_history import KeyHistory, key_history, key_statement
from beforehand.book.store import FileStore, sync_folder
from beforehand.clock import Clock
from beforehand.errors import RuleError
from beforehand.records.codec import digest
from beforehand.records.league import KeyChange
from beforehand.stages.key import SigningKey
from beforehand.stages.pen import Pen

KEY_NAME, KEY_NEXT = "keys/signing.pem", "keys/signing-next.pem"
RECOVERY_NAME, RECOVERY_NEXT = "keys/recovery.pem", "keys/recovery-next.pem"


@dataclass(frozen=True)
class Changed:
    """A change of key: from which line which key signs, and which it replaces."""

    line: int
    old: VerifierKey
    new: VerifierKey


def rotate_key(folder: Path, clock: Clock, reason: str) -> Changed:
    """Put a fresh key in the place of the one in force, which signs the change.

    Where an earlier change was stopped behind its line, that one is completed,
    and no second one is made.
    """
    with FileStore(folder) as store:
        history = key_history(store.lines())
        stopped = _completed(folder, store, history, clock)
        if stopped is not None:
            return stopped
        old = settled_key(folder, history)
        return _change(Pen(store, clock, old), folder, history, old, reason)


def recover_key(folder: Path, recovery: Path, clock: Clock, reason: str) -> Changed:
    """Put a fresh key in the place of one that was lost or stolen, by the recovery key.

    A fresh recovery key is made too, and committed to: the used one is known
    to whoever saw it used. RuleError where the file is not the recovery key.
    """
    with FileStore(folder) as store:
        history = key_history(store.lines())
        stopped = _completed(folder, store, history, clock)
        if stopped is not None:
            return stopped
        held = SigningKey.load(history.origin, recovery)
        if digest(held.verifier.public) != history.recovery:
            raise RuleError(f"{recovery} is not the recovery key that the book committed to")
        following = _fresh_recovery(folder, history)
        pen = Pen(store, clock, held)
        return _change(pen, folder, history, held, reason, digest(following.verifier.public))


def settled_key(folder: Path, history: KeyHistory) -> SigningKey:
    """The private key in force, put in its place where a change was stopped behind its line.

    RuleError where the folder holds it nowhere.
    """
    _settle_recovery(folder, history)
    for name in (KEY_NAME, KEY_NEXT):
        if not (folder / name).is_file():
            continue
        key = SigningKey.load(history.origin, folder / name)
        if key.verifier == history.now:
            if name == KEY_NEXT:
                _put_in_place(folder, KEY_NEXT, KEY_NAME)
            elif _is_used(folder / KEY_NEXT, history):
                (folder / KEY_NEXT).unlink()
            return key
    raise RuleError(
        f"the key in {folder} is not the one the book names, {history.now.text()}: put that back, "
        "or use the recovery key (beforehand key recover)"
    )


def _completed(folder: Path, store: FileStore, history: KeyHistory, clock: Clock) -> Changed | None:
    """A change that was stopped behind its line, now complete; None where none was."""
    path = folder / KEY_NEXT
    if not path.is_file() or SigningKey.load(history.origin, path).verifier != history.now:
        return None
    place = folder / KEY_NAME
    if place.is_file() and SigningKey.load(history.origin, place).verifier == history.now:
        return None
    Pen(store, clock, settled_key(folder, history)).checkpoint()
    (_, old), (line, new) = history.changes[-2:]
    return Changed(line, old, new)


def _change(
    pen: Pen,
    folder: Path,
    history: KeyHistory,
    signer: SigningKey,
    reason: str,
    recovery: str | None = None,
) -> Changed:
    """Seal the change, put the fresh key in its place, sign a checkpoint with it."""
    fresh = _fresh_key(folder, history)
    if recovery is None:
        pen.checkpoint()  # what stands so far, by the key that signed it
    line, prev = pen.store.size + 1, pen.store.last_link
    old, new = history.now, fresh.verifier
    text = key_statement(history.origin, line, prev, old.text(), new.text(), recovery)
    note = _signed(text, (signer, fresh))

    def build(at: str) -> list[KeyChange]:
        change = KeyChange(
            at=at,
            key=new.text(),
            replaces=old.text(),
            by="key" if recovery is None else "recovery",
            reason=reason,
            note=note,
            recovery=recovery,
            recovery_key=None if recovery is None else signer.verifier.text(),
        )
        history.take(line, prev, change.content())  # what a verifier refuses is never written
        return [change]

    pen.write(build)
    pen.key = settled_key(folder, history)
    pen.checkpoint()
    return Changed(line, old, new)


def _signed(text: str, keys: Sequence[SigningKey]) -> str:
    """The text as a note signed by each key."""
    notes = [sign_note(text, key.verifier, key.sign) for key in keys]
    return notes[0] + "".join(note[len(text) + 1 :] for note in notes[1:])


def _fresh_key(folder: Path, history: KeyHistory) -> SigningKey:
    """A key that has never signed this book; that of a change stopped before its line is taken."""
    if _is_used(folder / KEY_NEXT, history):
        (folder / KEY_NEXT).unlink()
    return SigningKey.keep(history.origin, folder / KEY_NEXT)


def _fresh_recovery(folder: Path, history: KeyHistory) -> SigningKey:
    path = folder / RECOVERY_NEXT
    if path.is_file():
        key = SigningKey.load(history.origin, path)
        if digest(key.verifier.public) in history.recoveries:
            path.unlink()
    return SigningKey.keep(history.origin, path)


def _is_used(path: Path, history: KeyHistory) -> bool:
    """Whether a file holds a key of the book's past or present, as a restored copy may."""
    if not path.is_file():
        return False
    return SigningKey.load(history.origin, path).verifier.text() in history.texts()


def _settle_recovery(folder: Path, history: KeyHistory) -> None:
    path = folder / RECOVERY_NEXT
    if path.is_file():
        key = SigningKey.load(history.origin, path)
        if digest(key.verifier.public) == history.recovery:
            _put_in_place(folder, RECOVERY_NEXT, RECOVERY_NAME)


def _put_in_place(folder: Path, fresh: str, name: str) -> None:
    """Move a fresh key to its name. The old one stays under the name of its own hash."""
    place = folder / name
    if place.is_file():
        kept = place.with_name(f"retired-{digest(place.read_bytes())[:16]}.pem")
        if not kept.exists():
            os.link(place, kept)
    (folder / fresh).replace(place)
    sync_folder(place.parent)
