"""What a witness must never forget, in one SQLite file: what it cosigned, and for whom.

A cosignature leaves only after the commit that holds it, and a commit is
synced to the disk before it returns. Compare and write are one transaction, so
that of two forks that arrive together one is cosigned, whoever else asks, in
this process or another.

State that was lost or set back cannot be told from state that never was: a
witness then could cosign a second history. A key without its state is refused,
and a note that bears a cosignature of ours which the state does not know of
retires the witness for ever.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from beforehand.anchors.add_checkpoint import AddCheckpoint
from beforehand.book.checkpoint import Checkpoint, VerifierKey
from beforehand.book.cosignature import (
    NoteLine,
    WitnessKey,
    check_cosignature,
    cosignature_line,
    cosigned_message,
    note_parts,
)
from beforehand.book.tree import EMPTY_ROOT, check_consistency
from beforehand.errors import IntegrityError, RuleError
from beforehand.relay.witness_conflicts import keep_conflict
from beforehand.relay.witness_outcome import Outcome, Refused, Retired, Signed, Stale, Waiting

STATE_NAME = "state.db"
STATE_FORMAT = "beforehand-witness/1"
# Kept of each log: what was cosigned last, so that a fork of an older size shows too.
MAX_COSIGNED = 10_000
BUSY_SECONDS = 10.0

Sign = Callable[[bytes], bytes]

_TABLES = """
CREATE TABLE witness (
    id INTEGER PRIMARY KEY CHECK (id = 1), format TEXT NOT NULL, name TEXT NOT NULL,
    public BLOB NOT NULL, last_time INTEGER NOT NULL, retired TEXT NOT NULL);
CREATE TABLE log (
    origin TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, key TEXT NOT NULL,
    size INTEGER NOT NULL, root BLOB NOT NULL);
CREATE TABLE cosigned (
    origin TEXT NOT NULL, size INTEGER NOT NULL, note BLOB NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (origin, size));
CREATE TABLE fraud (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, origin TEXT NOT NULL,
    shown INTEGER NOT NULL, size INTEGER NOT NULL, root BLOB NOT NULL, at INTEGER NOT NULL,
    data BLOB NOT NULL);
"""


@dataclass(frozen=True)
class KeptFraud:
    """A kept conflict: its file's name, and whether it shows what it claims by itself."""

    name: str
    origin: str
    shown: bool
    at: int


def log_hash(origin: str) -> str:
    """What names a log in an address: SHA-256 of its origin, in hex."""
    return hashlib.sha256(origin.encode("utf-8")).hexdigest()


def state_name(folder: Path) -> str:
    """The name that the state in a folder bears; RuleError where there is no state."""
    db, row = _open_state(_state_path(folder))
    db.close()
    return str(row[1])


def _state_path(folder: Path) -> Path:
    path = folder / STATE_NAME
    if not path.is_file():
        raise RuleError(
            f"{path} is missing: a key whose state is lost must be retired, since it could "
            "cosign a second history; make another witness, in another folder, with a new name"
        )
    return path


class WitnessState:
    """The state in a folder. Safe for threads, and for several processes."""

    def __init__(self, folder: Path, key: WitnessKey) -> None:
        path = _state_path(folder)
        self.key = key
        self._lock = threading.Lock()
        self._db, row = _open_state(path)
        if row != (STATE_FORMAT, key.name, key.public):
            self._db.close()
            raise RuleError(f"{path} is not the state of {key.name} with this key")

    @classmethod
    def make(cls, folder: Path, key: WitnessKey) -> None:
        """Begin the state of a key that never signed; RuleError where there is one."""
        path = folder / STATE_NAME
        if path.exists():
            raise RuleError(f"{path} is there already: state is never begun again")
        part = path.with_name(f".{STATE_NAME}.part")
        part.unlink(missing_ok=True)
        db = sqlite3.connect(part, isolation_level=None)
        try:
            _make_durable(db)
            db.executescript(_TABLES)
            row = (STATE_FORMAT, key.name, key.public)
            db.execute("INSERT INTO witness VALUES (1, ?, ?, ?, 0, '')", row)
        finally:
            db.close()
        part.replace(path)

    def close(self) -> None:
        """Give the file back."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The right to write from the first statement on, committed and synced at the end."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    # ---- what others may read

    def retired(self) -> str:
        """Why the witness signs no more; empty while it does."""
        return str(self._rows("SELECT retired FROM witness")[0][0])

    def newest(self, hashed: str) -> bytes | None:
        """The newest cosigned checkpoint of the log with this hash."""
        rows = self._rows(
            "SELECT note FROM cosigned JOIN log USING (origin, size) WHERE hash = ?", hashed
        )
        return _bytes(rows[0][0]) if rows else None

    def size(self, origin: str) -> int:
        """How many lines of a log were cosigned; 0 where it is not known."""
        rows = self._rows("SELECT size FROM log WHERE origin = ?", origin)
        return int(str(rows[0][0])) if rows else 0

    def frauds(self) -> list[KeptFraud]:
        """The kept conflicts, oldest first."""
        rows = self._rows("SELECT name, origin, shown, at FROM fraud ORDER BY number")
        return [KeptFraud(str(n), str(o), bool(s), int(str(at))) for n, o, s, at in rows]

    def fraud(self, name: str) -> bytes | None:
        """The file of a kept conflict."""
        rows = self._rows("SELECT data FROM fraud WHERE name = ?", name)
        return _bytes(rows[0][0]) if rows else None

    # ---- what changes it

    def pin(self, origin: str, key: VerifierKey) -> None:
        """Tie an origin to its key for ever; RuleError where it is tied to another."""
        if key.public == self.key.public:
            raise RuleError("a witness cannot follow a log that signs with the witness's own key")
        with self._transaction() as db:
            _pin(db, origin, key)

    def cosign(
        self, request: AddCheckpoint, point: Checkpoint, key: VerifierKey, sign: Sign, now: int
    ) -> Outcome:
        """Judge a checkpoint whose signature by `key` was checked, and cosign it where it may be.

        `now` is the clock's time in seconds. The order is the protocol's: the
        size, then consistency. What conflicts is kept.
        """
        if key.public == self.key.public:
            raise RuleError("a witness cannot follow a log that signs with the witness's own key")
        text, lines = note_parts(request.note)
        with self._transaction() as db:
            size, root = _pin(db, point.origin, key)
            last, retired = db.execute("SELECT last_time, retired FROM witness").fetchone()
            retired = retired or self._set_back(text, lines, point, size, last)
            if retired:
                db.execute("UPDATE witness SET retired = ?", (retired,))
                return Retired(retired)
            bare = _with_lines(text, [line for line in lines if _is_of(line, key)])
            if request.old != size:
                keep_conflict(db, request, point, key, bare, now)
                return Stale(size)
            why = _why_refused(request, point, size, root)
            if why:
                keep_conflict(db, request, point, key, bare, now)
                return Refused(why)
            if now < last or now < 1:
                return Waiting(last - now + 1)
            line = cosignature_line(self.key, now, sign(cosigned_message(text, now)))
            _advance(db, point, bare + line.text().encode("utf-8"), now)
            return Signed(line)

    def _set_back(
        self, text: str, lines: list[NoteLine], point: Checkpoint, size: int, last: int
    ) -> str:
        """Why the state must be older than this witness's own signature; empty where it is not."""
        for line in lines:
            try:
                found = check_cosignature(text, line, self.key)
            except IntegrityError:
                continue  # anybody can write our name beside a false signature
            if found and (found.timestamp > last or point.size > size):
                return (
                    f"our cosignature of {point.size} lines of {point.origin}, given at "
                    f"{found.timestamp}, is not in the state: it was lost or set back"
                )
        return ""


def _make_durable(db: sqlite3.Connection) -> None:
    # One file and no journal beside it between commits, so that a copy is whole;
    # EXTRA syncs the folder too, when the journal's end makes a commit final.
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("PRAGMA synchronous = EXTRA")


def _open_state(path: Path) -> tuple[sqlite3.Connection, tuple[object, ...]]:
    """The file, opened, and what it says of itself: format, name, public key."""
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _make_durable(db)
        row = db.execute("SELECT format, name, public FROM witness").fetchone()
    except sqlite3.DatabaseError as error:
        db.close()
        raise RuleError(f"{path} is not the state of a witness: {error}") from None
    if row is None or row[0] != STATE_FORMAT:
        db.close()
        raise RuleError(f"{path} is not the state of a witness in the form {STATE_FORMAT}")
    return db, tuple(row)


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise IntegrityError("the state of the witness holds no bytes where a file should be")
    return value


def _pin(db: sqlite3.Connection, origin: str, key: VerifierKey) -> tuple[int, bytes]:
    """The size and root that were cosigned of a log; from the first time on its key is fixed."""
    query = "SELECT key, size, root FROM log WHERE origin = ?"
    row = db.execute(query, (origin,)).fetchone()
    if row is None:
        values = (origin, log_hash(origin), key.text(), EMPTY_ROOT)
        db.execute("INSERT INTO log VALUES (?, ?, ?, 0, ?)", values)
        return 0, EMPTY_ROOT
    if row[0] != key.text():
        raise RuleError(f"{origin} was pinned with the key {row[0]}, and a key is for ever")
    return int(row[1]), _bytes(row[2])


def _why_refused(request: AddCheckpoint, point: Checkpoint, size: int, root: bytes) -> str:
    """Why a checkpoint does not continue the tree that was cosigned; empty where it does."""
    if size == 0 and request.path:
        return "from size 0 there is nothing to prove, and no proof may be sent"
    if point.size == 0 and point.root != EMPTY_ROOT:
        return "a tree of no lines has one root only, and this is another"
    if size == 0:
        return ""
    try:
        check_consistency(size, point.size, root, point.root, list(request.path))
    except IntegrityError as error:
        return str(error)
    return ""


def _is_of(line: NoteLine, key: VerifierKey) -> bool:
    return line.name == key.name and line.data[:4] == key.key_id


def _with_lines(text: str, lines: list[NoteLine]) -> bytes:
    return (text + "\n" + "".join(line.text() for line in lines)).encode("utf-8")


def _advance(db: sqlite3.Connection, point: Checkpoint, note: bytes, now: int) -> None:
    """Take the new tree for the log's, and drop what is too old or is cleared up by it."""
    origin, size = point.origin, point.size
    db.execute("UPDATE witness SET last_time = ?", (now,))
    db.execute("UPDATE log SET size = ?, root = ? WHERE origin = ?", (size, point.root, origin))
    db.execute("INSERT OR REPLACE INTO cosigned VALUES (?, ?, ?, ?)", (origin, size, note, now))
    db.execute(
        "DELETE FROM cosigned WHERE origin = ? AND size IN (SELECT size FROM cosigned "
        "WHERE origin = ? ORDER BY size DESC LIMIT -1 OFFSET ?)",
        (origin, origin, MAX_COSIGNED),
    )
    # It came before with a broken proof, and has a good one now: there was no conflict.
    db.execute(
        "DELETE FROM fraud WHERE origin = ? AND NOT shown AND size = ? AND root = ?",
        (origin, size, point.root),
    )
