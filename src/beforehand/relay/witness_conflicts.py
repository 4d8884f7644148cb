"""What a witness keeps of checkpoints that contradict what it cosigned."""

from __future__ import annotations

import sqlite3

from beforehand.anchors.add_checkpoint import AddCheckpoint
from beforehand.book.checkpoint import Checkpoint, VerifierKey
from beforehand.book.fraud import fraud_between, is_shown
from beforehand.errors import FormatError
from beforehand.records.codec import digest

MAX_FRAUDS = 16


def keep_conflict(
    db: sqlite3.Connection,
    request: AddCheckpoint,
    point: Checkpoint,
    key: VerifierKey,
    note: bytes,
    now: int,
) -> None:
    """Keep what a refused checkpoint contradicts: the same size, or the size it starts from.

    A pair without evidence is kept only where a proof was asked for and is
    wrong: an older checkpoint sent again contradicts nothing.
    """
    size = db.execute("SELECT size FROM log WHERE origin = ?", (point.origin,)).fetchone()[0]
    for held in {point.size, request.old} - {0}:
        query = "SELECT note FROM cosigned WHERE origin = ? AND size = ?"
        row = db.execute(query, (point.origin, held)).fetchone()
        if row is None:
            continue
        path = request.path if held == request.old else ()
        try:
            proof = fraud_between(bytes(row[0]), note, key, path)
        except FormatError:
            continue
        if proof is None:
            continue
        shown = is_shown(proof)
        if shown or held == request.old == size:
            _keep_fraud(db, point, proof.data(), shown, now)


def _keep_fraud(
    db: sqlite3.Connection, point: Checkpoint, data: bytes, shown: bool, now: int
) -> None:
    """Keep a conflict: of those shown the first, of those not shown the last, and few of each."""
    held = db.execute(
        "SELECT number, size, root FROM fraud WHERE origin = ? AND shown = ? ORDER BY number",
        (point.origin, shown),
    ).fetchall()
    if (point.size, point.root) in {row[1:] for row in held} or (shown and len(held) >= MAX_FRAUDS):
        return
    if len(held) >= MAX_FRAUDS:
        db.execute("DELETE FROM fraud WHERE number = ?", (held[0][0],))
    db.execute(
        "INSERT OR IGNORE INTO fraud (name, origin, shown, size, root, at, data) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (digest(data), point.origin, shown, point.size, point.root, now, data),
    )
