"""Evidence beside a published book: stamped lists with their proofs, and cosigned checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from beforehand.anchors.evidence_file import LIST_NAME, Stated, anchor_of
from beforehand.book.cosignature import attach_lines, note_line
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json, digest

STAMPS_NAME = "stamps"
REPLICATIONS_NAME = "replications"
MAX_REPLICATION_BYTES = 4 << 20
WITNESS_NAME = "list.txt.witness.json"
MAX_STAMP_BYTES = 1 << 20
# The public half of the key that signs a log's entries, in the book's and the published `keys/`.
PUBLIC_LOG_KEY = "rekor.pub.pem"
_PUBLIC_PEM = b"-----BEGIN PUBLIC KEY-----\n"
_MAX_KEY_BYTES = 4096
_MAX_LINES = 64


def publish_stamps(stamps: Path, base: Path, size: int) -> int:
    """Copy the evidence over the first `size` lines or fewer; how many files there are."""
    copied = 0
    if not stamps.is_dir():
        return copied
    for folder in sorted(stamps.iterdir()):
        if not folder.name.isdigit() or int(folder.name) > size:
            continue
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                target = base / STAMPS_NAME / folder.name / path.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                copied += 1
    return copied


def publish_log_key(keys: Path, base: Path) -> bool:
    """Publish the public half of the key in a log, where there is one.

    FormatError where the file is anything but one public key: a private one lies beside it.
    """
    path = keys / PUBLIC_LOG_KEY
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        data = stream.read(_MAX_KEY_BYTES + 1)
    if len(data) > _MAX_KEY_BYTES or not data.startswith(_PUBLIC_PEM) or data.count(b"BEGIN") > 1:
        raise FormatError(f"{path} is no public key in PEM, and is not published")
    target = base / "keys" / PUBLIC_LOG_KEY
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return True


def publish_replications(replications: Path, base: Path) -> int:
    """Publish what second pipelines sent: each record with its code; how many files.

    A folder of the league, `replications/NAME/`, one level deep. FormatError where a
    file is over the limit.
    """
    copied = 0
    for path in sorted(replications.glob("*/*")):
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > MAX_REPLICATION_BYTES:
            raise FormatError(f"{path} is over {MAX_REPLICATION_BYTES} bytes, and is not published")
        target = base / REPLICATIONS_NAME / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        copied += 1
    return copied


def cosigned(stamps: Path, size: int, note: bytes) -> bytes:
    """A checkpoint's note with the lines of the witnesses that cosigned it, if any did.

    FormatError where what is kept of them is no record of cosignatures.
    """
    found = [
        path
        for path in (stamps / str(size)).glob(f"{WITNESS_NAME}*")
        if path.stat().st_size <= MAX_STAMP_BYTES
    ]
    for path in found:
        value = decode_json(path.read_bytes())
        lines = value.get("lines") if isinstance(value, dict) else None
        if not isinstance(lines, list) or len(lines) > _MAX_LINES:
            raise FormatError(f"{path} is no record of cosignatures")
        note = attach_lines(note, [note_line(str(line)) for line in lines])
    return note


@dataclass(frozen=True)
class PublishedEvidence:
    """A published file of evidence: its name and hash, whose it is, and what it says of itself.

    `stated` is None of a promise: whatever its bytes hold, it proves nothing yet.
    """

    name: str
    sha256: str
    anchor: str
    pending: bool
    stated: Stated | None


@dataclass(frozen=True)
class PublishedStamp:
    """The list over the first `size` lines, as it was stamped, and the evidence beside it."""

    size: int
    listed: bytes
    evidence: tuple[PublishedEvidence, ...]


def read_stamps(base: Path, stated: Callable[[bytes, bytes], Stated]) -> list[PublishedStamp]:
    """What is published under `stamps/` of a league's data folder, by size.

    `stated` reads evidence and the list beside it. FormatError where a file is
    over the limit, or evidence lies without its list.
    """
    folders = (base / STAMPS_NAME).glob("[0-9]*")
    found = {int(folder.name): folder for folder in folders if folder.name.isdigit()}
    return [_read_stamp(size, found[size], stated) for size in sorted(found)]


def _read_stamp(
    size: int, folder: Path, stated: Callable[[bytes, bytes], Stated]
) -> PublishedStamp:
    held = {path.name: anchor_of(path.name) for path in sorted(folder.iterdir())}
    if not (folder / LIST_NAME).is_file():
        raise FormatError(f"{folder} holds no {LIST_NAME}: evidence without it is of nothing")
    listed, evidence = _bounded(folder / LIST_NAME), []
    for name, named in held.items():
        if named is None:
            continue
        data, (anchor, pending) = _bounded(folder / name), named
        said = None if pending else stated(data, listed)
        if said is not None and said.promise:
            pending, said = True, None
        evidence.append(PublishedEvidence(name, digest(data), anchor, pending, said))
    return PublishedStamp(size, listed, tuple(evidence))


def _bounded(path: Path) -> bytes:
    with path.open("rb") as stream:
        data = stream.read(MAX_STAMP_BYTES + 1)
    if len(data) > MAX_STAMP_BYTES:
        raise FormatError(f"{path} is over the limit of {MAX_STAMP_BYTES} bytes: move it away")
    return data
