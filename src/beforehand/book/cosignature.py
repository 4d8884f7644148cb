"""C2SP cosignatures: what a witness adds to a checkpoint, and how anyone checks it.

Format: c2sp.org/tlog-cosignature, version `cosignature/v1`, Ed25519, signature
type 0x04. A signature line holds a four-byte key id, the time as eight bytes
(seconds since 1970, big-endian) and 64 bytes of signature over two lines, the
version and the time, with the checkpoint's text after them. Lines of other
types (ML-DSA-44 is 0x06) or of other keys are kept and ignored.

What one says: as of that time, this is the largest tree of the origin that the
witness has seen, and it is consistent with everything it cosigned before.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from beforehand.book.checkpoint import MAX_NOTE_BYTES, MAX_SIGNATURES, is_utf8, strict_base64
from beforehand.book.ed25519 import signature_valid
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError

_COSIGNER = b"\x04"
_COSIGNATURE_BYTES = 4 + 8 + 64
_NOTE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_NOTE_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_COSIGNER_NAME = re.compile(r"[^\s+]+")

# "It MUST NOT exceed 2^63 - 1" (tlog-cosignature, Format).
_MOST_SECONDS = (1 << 63) - 1


class NoteLine(NamedTuple):
    """A signature line of a note: the key's name, and the key id with the signature."""

    name: str
    data: bytes

    def text(self) -> str:
        """The line as it stands in a note, with its line feed."""
        return f"— {self.name} {base64.b64encode(self.data).decode('ascii')}\n"


class Cosignature(NamedTuple):
    """Whose cosignature, and at what time it was given (seconds since 1970)."""

    name: str
    timestamp: int


@dataclass(frozen=True)
class WitnessKey:
    """A named witness's Ed25519 public key (32 bytes)."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """First four bytes of SHA-256(name, LF, 0x04, public key)."""
        named = self.name.encode("utf-8") + b"\n" + _COSIGNER + self.public
        return hashlib.sha256(named).digest()[:4]

    def text(self) -> str:
        """The C2SP spelling, as witnesses publish it and readers pin it."""
        coded = base64.b64encode(_COSIGNER + self.public).decode("ascii")
        return f"{self.name}+{self.key_id.hex()}+{coded}"

    @classmethod
    def parse(cls, text: str) -> WitnessKey:
        """The key of a C2SP spelling; FormatError where any part contradicts another."""
        parts = text.split("+", 2)
        if len(parts) != 3 or not is_cosigner_name(parts[0]):
            raise FormatError(f"{text!r:.80} is not a witness key (NAME+KEYID+BASE64)")
        data = strict_base64(parts[2])
        if len(data) != 33 or data[:1] != _COSIGNER:
            raise FormatError(f"{text!r:.80} is not the key of an Ed25519 cosigner (type 4)")
        key = cls(parts[0], data[1:])
        if key.key_id.hex() != parts[1]:
            raise FormatError(f"the witness key {text!r:.80} has the wrong key id")
        return key


def is_cosigner_name(name: str) -> bool:
    """Whether a signed note can carry a key of this name.

    >>> is_cosigner_name("witness.example/w1"), is_cosigner_name("a b")
    (True, False)
    """
    return _COSIGNER_NAME.fullmatch(name) is not None and is_utf8(name)


def note_parts(note: bytes) -> tuple[str, list[NoteLine]]:
    """The text of a note and its signature lines, none of them checked.

    FormatError where `open_note` has one. The text is worth nothing until a
    known key's signature over it was checked.
    """
    if len(note) > MAX_NOTE_BYTES:
        raise FormatError(f"a note over {MAX_NOTE_BYTES} bytes")
    try:
        whole = note.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"the note is not UTF-8 at byte {error.start}") from None
    if _NOTE_CONTROL.search(whole):
        raise FormatError("the note holds a control character")
    head, found, tail = whole.rpartition("\n\n")
    if not found or not tail.endswith("\n"):
        raise FormatError("the note has no signature part")
    written = tail[:-1].split("\n")
    if len(written) > MAX_SIGNATURES:
        raise FormatError(f"more than {MAX_SIGNATURES} signatures on one note")
    return head + "\n", [note_line(each) for each in written]


def note_line(written: str) -> NoteLine:
    """A signature line without its line feed; FormatError where it is none."""
    match = _NOTE_LINE.fullmatch(written)
    if match is None:
        raise FormatError(f"{written!r:.80} is not a signature line")
    data = strict_base64(match.group(2))
    if len(data) < 5:
        raise FormatError(f"the signature line of {match.group(1)!r:.80} is too short")
    return NoteLine(match.group(1), data)


def cosigned_message(text: str, timestamp: int) -> bytes:
    """What a witness signs: the version, the time, and the checkpoint's text.

    >>> cosigned_message("example.org/book\\n", 7)
    b'cosignature/v1\\ntime 7\\nexample.org/book\\n'
    """
    return f"cosignature/v1\ntime {timestamp}\n{text}".encode()


def cosignature_line(key: WitnessKey, timestamp: int, signature: bytes) -> NoteLine:
    """The line that a signature over `cosigned_message` becomes."""
    if not 0 < timestamp <= _MOST_SECONDS or len(signature) != 64:
        raise FormatError("a cosignature has a time above zero and a signature of 64 bytes")
    return NoteLine(key.name, key.key_id + timestamp.to_bytes(8, "big") + signature)


def check_cosignature(text: str, line: NoteLine, key: WitnessKey) -> Cosignature | None:
    """The cosignature that a line is, by this key; None where the line is another key's.

    IntegrityError where the line bears the key's name and id and does not
    verify, or states no time. A same name over other key bytes has another id,
    and is another key.
    """
    if line.name != key.name or line.data[:4] != key.key_id:
        return None
    if len(line.data) != _COSIGNATURE_BYTES:
        raise IntegrityError(f"the cosignature of {key.name} has {len(line.data)} bytes")
    timestamp = int.from_bytes(line.data[4:12], "big")
    if not 0 < timestamp <= _MOST_SECONDS:
        raise IntegrityError(f"the cosignature of {key.name} states no time")
    if not signature_valid(key.public, cosigned_message(text, timestamp), line.data[12:]):
        raise IntegrityError(f"the cosignature of {key.name} is false")
    return Cosignature(key.name, timestamp)


def check_witness_keys(keys: Sequence[WitnessKey]) -> None:
    """FormatError where one witness would count twice.

    The signed message does not name the cosigner, so that one key under two
    names would be two witnesses (tlog-cosignature, Ed25519 signed message).
    """
    if len({key.name for key in keys}) != len(keys):
        raise FormatError("two keys of one witness: name each witness once")
    if len({key.public for key in keys}) != len(keys):
        raise FormatError("one key under two names: that is one witness")


def cosignatures(
    note: bytes, witness_keys: Sequence[WitnessKey], as_of: str | None = None
) -> list[Cosignature]:
    """Which of the reader's own witnesses cosigned a note, and when: (name, timestamp).

    A witness counts once, at its earliest time. What is dated after `as_of`
    was not there yet and is left out. FormatError where the note or the keys
    are malformed; IntegrityError where a known witness's line is false, for
    then the whole note is to be refused (signed-note, Signatures). The log's
    own signature is for `Checkpoint.open` to check.
    """
    check_witness_keys(witness_keys)
    text, lines = note_parts(note)
    latest = _MOST_SECONDS if as_of is None else int(instant_key(as_of).timestamp())
    earliest: dict[str, int] = {}
    for key in witness_keys:
        for line in lines:
            found = check_cosignature(text, line, key)
            if found is not None and found.timestamp <= latest:
                held = earliest.get(found.name, found.timestamp)
                earliest[found.name] = min(held, found.timestamp)
    return [Cosignature(name, timestamp) for name, timestamp in earliest.items()]


def quorum_time(found: Sequence[Cosignature], need: int) -> int | None:
    """The time by which `need` witnesses had cosigned; None where fewer did.

    >>> quorum_time([Cosignature("a", 9), Cosignature("b", 4)], 2)
    9
    """
    if need < 1:
        raise FormatError("a quorum needs at least one witness")
    times = sorted(each.timestamp for each in found)
    return times[need - 1] if len(times) >= need else None


def cosignature_instant(timestamp: int) -> str:
    """The time of a cosignature as an instant's text; FormatError past the year 9999.

    >>> cosignature_instant(1679315147)
    '2023-03-20T12:25:47Z'
    """
    try:
        moment = datetime.fromtimestamp(timestamp, UTC)
    except (OverflowError, ValueError, OSError):
        raise FormatError(f"the time {timestamp} of a cosignature is no date") from None
    return moment.replace(tzinfo=None).isoformat() + "Z"


def attach_lines(note: bytes, lines: Sequence[NoteLine]) -> bytes:
    """The note with further signature lines at its end; one that is there already stays once."""
    _, held = note_parts(note)
    fresh = [line for line in dict.fromkeys(lines) if line not in held]
    if len(held) + len(fresh) > MAX_SIGNATURES:
        raise FormatError(f"more than {MAX_SIGNATURES} signatures on one note")
    return note + "".join(line.text() for line in fresh).encode("utf-8")
