"""C2SP signed notes, verifier keys and tree-head checkpoints.

Formats: c2sp.org/signed-note and c2sp.org/tlog-checkpoint. A note is text
ending in LF, an empty line, then signature lines `— NAME BASE64`, the base64
of a four-byte key id and the signature. A verifier key is
`NAME+KEYID+BASE64(0x01 || public key)`. Base64 is standard, padded, strict.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

from beforehand.book.ed25519 import signature_valid
from beforehand.errors import FormatError, IntegrityError

MAX_NOTE_BYTES = 1 << 20
MAX_SIGNATURES = 64

_ED25519 = b"\x01"
_SIGNATURE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_NAME = re.compile(r"[^\s+]+")
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)

Signer = Callable[[bytes], bytes]


def is_size(text: str) -> bool:
    """Whether a text is a tree size as checkpoints spell it."""
    return _SIZE.fullmatch(text) is not None


def is_utf8(text: str) -> bool:
    """Whether a text has bytes, that is no lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def strict_base64(text: str) -> bytes:
    """The bytes of standard padded base64; any other spelling of them is refused."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise FormatError(f"{text!r:.60} is not base64: {error}") from None
    if base64.b64encode(data).decode("ascii") != text:
        raise FormatError(f"{text!r:.60} is not the canonical base64 of its bytes")
    return data


@dataclass(frozen=True)
class VerifierKey:
    """A named Ed25519 public key (32 bytes)."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """First four bytes of SHA-256(name, LF, 0x01, public key)."""
        named = self.name.encode("utf-8") + b"\n" + _ED25519 + self.public
        return hashlib.sha256(named).digest()[:4]

    def text(self) -> str:
        """The C2SP spelling, as a league line and a reader's notebook hold it."""
        coded = base64.b64encode(_ED25519 + self.public).decode("ascii")
        return f"{self.name}+{self.key_id.hex()}+{coded}"

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """The key of a C2SP spelling; FormatError where any part contradicts another."""
        parts = text.split("+", 2)
        if len(parts) != 3 or not _NAME.fullmatch(parts[0]) or not is_utf8(parts[0]):
            raise FormatError(f"{text!r:.80} is not a verifier key (NAME+KEYID+BASE64)")
        data = strict_base64(parts[2])
        if len(data) != 33 or data[:1] != _ED25519:
            raise FormatError(f"the verifier key {text!r:.80} is not an Ed25519 key")
        key = cls(parts[0], data[1:])
        if key.key_id.hex() != parts[1]:
            raise FormatError(f"the verifier key {text!r:.80} has the wrong key id")
        return key


def sign_note(text: str, key: VerifierKey, sign: Signer) -> str:
    """`text` (ending in LF) as a signed note of one signature; refused where none could open it."""
    if not text.endswith("\n"):
        raise FormatError("the text of a note must end with a line feed")
    if _CONTROL.search(text):
        raise FormatError("the text of a note cannot hold a control character")
    if not _NAME.fullmatch(key.name):
        raise FormatError(f"a key cannot have the name {key.name!r:.80}: no spaces and no plus")
    if not is_utf8(text):
        raise FormatError("the text of a note holds a lone surrogate")
    coded = base64.b64encode(key.key_id + sign(text.encode("utf-8"))).decode("ascii")
    return f"{text}\n— {key.name} {coded}\n"


def open_note(note: bytes, key: VerifierKey) -> str:
    """The text of a note that `key` signed.

    FormatError where the note is malformed, IntegrityError where the key's
    signature is missing or false. Signatures of other keys are ignored, as
    the format says, but must be well formed.
    """
    if len(note) > MAX_NOTE_BYTES:
        raise FormatError(f"a note over {MAX_NOTE_BYTES} bytes")
    try:
        whole = note.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"the note is not UTF-8 at byte {error.start}") from None
    if _CONTROL.search(whole):
        raise FormatError("the note holds a control character")
    head, found, tail = whole.rpartition("\n\n")
    if not found or not tail.endswith("\n"):
        raise FormatError("the note has no signature part")
    text = head + "\n"
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise FormatError(f"more than {MAX_SIGNATURES} signatures on one note")
    good = False
    for line in lines:
        match = _SIGNATURE_LINE.fullmatch(line)
        if match is None:
            raise FormatError(f"{line!r:.80} is not a signature line")
        data = strict_base64(match.group(2))
        if len(data) < 5:
            raise FormatError(f"the signature line of {match.group(1)!r:.80} is too short")
        if match.group(1) != key.name or data[:4] != key.key_id:
            continue
        if good:
            raise FormatError(f"two signatures of {key.name!r:.80} on one note")
        if not signature_valid(key.public, text.encode("utf-8"), data[4:]):
            raise IntegrityError(f"the signature of {key.name} on the note is false")
        good = True
    if not good:
        raise IntegrityError(f"the note carries no signature of {key.name} ({key.key_id.hex()})")
    return text


@dataclass(frozen=True)
class Checkpoint:
    """Origin, size and root of a book."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The note's text, three lines; FormatError where it would not be read back as this."""
        coded = base64.b64encode(self.root).decode("ascii")
        text = f"{self.origin}\n{self.size}\n{coded}\n"
        if Checkpoint.parse(text) != self:
            raise FormatError(f"an origin is one line, and {self.origin!r:.80} is not")
        return text

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """The checkpoint of a note's text; further lines are a later version's and are ignored."""
        lines = text.split("\n")
        if len(lines) < 4 or lines[-1] != "":
            raise FormatError("a checkpoint has three lines: origin, size, root")
        if not lines[0]:
            raise FormatError("the checkpoint names no origin")
        if "" in lines[3:-1]:
            raise FormatError("the checkpoint has an empty line after its root")
        if not is_size(lines[1]):
            raise FormatError(f"{lines[1]!r:.40} is not a tree size")
        root = strict_base64(lines[2])
        if len(root) != 32:
            raise FormatError(f"a root of {len(root)} bytes; a tree hash has 32")
        return cls(lines[0], int(lines[1]), root)

    @classmethod
    def open(cls, note: bytes, key: VerifierKey) -> Checkpoint:
        """The checkpoint of a note signed by `key`."""
        return cls.parse(open_note(note, key))
