"""A league with stamps for its proof pages: every state of a channel, evidence of every kind."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beforehand.anchors.evidence_file import LIST_NAME
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.stated import stated
from beforehand.anchors.witness import CosignedRecord
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.cosignature import WitnessKey, cosignature_line, cosigned_message
from beforehand.book.line import make_line
from beforehand.book.stamped_list import StampedList, list_book
from beforehand.publish.fold import fold_book
from beforehand.publish.stamps import STAMPS_NAME, read_stamps
from beforehand.records.codec import decode_json, digest
from beforehand.records.evidence import ProofLine
from beforehand.records.record import BodyRef, Record
from beforehand.site.view import SiteView
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served
from tests.site.leagues import make_view

ORIGIN = "test.example/made-up/book"
DAY = "2027-03-02"
COSIGNED = 1_804_000_000  # 2027-03-02T15:06:40Z
CAPTURED = "20270303010203"


def token_over(folder: Path, name: str, data: bytes) -> bytes:
    """A real time-stamp reply, by an authority of our own with that name."""
    tsa = LocalTsa(folder / "tsa", name)
    with Served(tsa.serve) as served:
        return TimeStampAuthority("local", served.url).submit(data).data


def capture_of(listed: bytes, address: str = "https://archive.example") -> bytes:
    record = {
        "kind": "web-archive",
        "capture": f"{address}/web/{CAPTURED}/https://league.example/list.txt",
        "stamp": CAPTURED,
        "content": base64.b64encode(listed).decode("ascii"),
    }
    return json.dumps(record).encode("utf-8")


def git_of(listed: bytes, commit: str = "c" * 40) -> bytes:
    record = {"kind": "git", "commit": commit, "path": f"checkpoints/{digest(listed)}"}
    return json.dumps(record).encode("utf-8")


def cosigned_by(name: str, point: Checkpoint) -> bytes:
    """A record of one witness's cosignature over a checkpoint."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\x07")
    witness = WitnessKey(name, key.public_key().public_bytes_raw())
    text = point.text()
    line = cosignature_line(witness, COSIGNED, key.sign(cosigned_message(text, COSIGNED)))
    note = f"{text}\n— {ORIGIN} {base64.b64encode(bytes(68)).decode('ascii')}\n".encode()
    return CosignedRecord(note, (line,)).data()


def with_lines(view: SiteView, records: Sequence[Record]) -> SiteView:
    """The view of the same book with more lines at its end."""
    lines = list(view.lines)
    for record in records:
        prev = decode_json(lines[-1])["link"]
        lines.append(make_line(record.content(), len(lines) + 1, prev).raw)
    return replace(view, lines=lines, fold=fold_book(lines, view.read_body))


def list_over(lines: Sequence[bytes], size: int) -> StampedList:
    stream = io.BytesIO(b"".join(raw + b"\n" for raw in lines))
    return list_book(stream, "api/v1/made-up/book.jsonl", ORIGIN, size)


def stamped(
    view: SiteView, base: Path, files: Mapping[int, Mapping[str, bytes]], seen: Sequence[int]
) -> SiteView:
    """The view with checkpoints at `seen` and, by size, evidence beside lists that fit."""
    points = []
    for size in seen:
        made = list_over(view.lines, size)
        points.append((size, "", made.trees[0].root.hex()))
        if size in files:
            folder = base / STAMPS_NAME / str(size)
            folder.mkdir(parents=True)
            for name, data in {LIST_NAME: made.data(), **files[size]}.items():
                (folder / name).write_bytes(data)
    return replace(view, checkpoints=points, stamps=read_stamps(base, stated))


def proof_line(at: str, anchor: str, size: int, state: str, **more: object) -> ProofLine:
    return ProofLine(
        at=at,
        bodies=(BodyRef("list", "5" * 64, at),),
        anchor=anchor,
        checkpoint_size=size,
        state=state,
        **more,  # type: ignore[arg-type]
    )


def view_with_stamps(base: Path) -> SiteView:
    """Stamps in every state over two checkpoints, one of them of an earlier day."""
    view = with_lines(
        make_view(time="live", clusters=3),
        [
            proof_line(f"{DAY}T08:00:00Z", "witness", 4, "pending"),
            proof_line(f"{DAY}T08:00:00Z", "digicert", 4, "failed", reason="timed out", attempts=9),
        ],
    )
    size = len(view.lines)
    listed = list_over(view.lines, size).data()
    early = list_over(view.lines, 4)
    files = {
        4: {
            "list.txt.witness.json": cosigned_by("witness.example/w", early.trees[0]),
            "list.txt.archive.json": capture_of(b"something else"),
        },
        size: {
            "list.txt.local.tsr": token_over(base, "Hours & Sons", listed),
            "list.txt.ots.pending": b"a promise that is not read",
            "list.txt.git.json": git_of(listed),
            "list.txt.archive.json": capture_of(listed),
            "list.txt.other.json": b"[]",
        },
    }
    return stamped(view, base / "data", files, (2, 4, size))
