"""Receipts: the operator's signed promise that a submission will stand in the book by a time.

A receipt is a C2SP signed note by the league's key. Whoever holds one can
show, from the public folder alone, that the promise was kept or that it was
broken: the manifest, signed by the same key, covers the book as of its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from hashlib import sha256
from itertools import islice
from typing import Any, BinaryIO, Self

from beforehand.book.bodies import MAX_BODY_BYTES, body_path, is_sealed, open_sealed
from beforehand.book.checkpoint import MAX_NOTE_BYTES, VerifierKey, open_note, sign_note
from beforehand.book.folder import Folder, read_file
from beforehand.book.key_history import KeyHistory, key_history
from beforehand.book.manifest import (
    MANIFEST_PATH,
    MAX_MANIFEST_BYTES,
    check_manifest_signature,
    read_manifest,
)
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import MAX_LINE_BYTES, decode_json, digest
from beforehand.records.league import Origin
from beforehand.records.shape import Digest, Instant, Name, Table
from beforehand.stages.key import SigningKey

RECEIPT_FORMAT = "beforehand-receipt/1"
PROMISE_SECONDS = 600

_TABLE = Table(
    {
        "origin": Origin(),
        "run": Name(),
        "forecaster": Name(),
        "submission": Digest(),
        "received_at": Instant(),
        "promised_by": Instant(),
    }
)


@dataclass(frozen=True)
class Receipt:
    """That the submission with this SHA-256 came in, and when a line of the book holds it."""

    origin: str
    run: str
    forecaster: str
    submission: str
    received_at: str
    promised_by: str

    def text(self) -> str:
        """The note's text: the format's name, then one `key value` a line in this order."""
        lines = [f"{item.name} {getattr(self, item.name)}\n" for item in fields(self)]
        return f"{RECEIPT_FORMAT}\n{''.join(lines)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The receipt of a note's text; FormatError where it is not exactly as `text` writes it."""
        pairs = [line.partition(" ")[::2] for line in text.split("\n")[1:-1]]
        values = dict(pairs)
        _TABLE.check(values, "receipt")
        receipt = cls(**values)
        if receipt.text() != text:
            raise FormatError(f"the note is not a receipt of the form {RECEIPT_FORMAT}")
        return receipt

    def signed(self, key: SigningKey) -> str:
        """The receipt as a note signed by the league's key."""
        return sign_note(self.text(), key.verifier, key.sign)

    @classmethod
    def open(cls, note: bytes, key: VerifierKey) -> Self:
        """The receipt in a note signed by `key`; FormatError or IntegrityError where it is not."""
        return cls.parse(open_note(note, key))

    @classmethod
    def unchecked(cls, note: bytes) -> Self:
        """The receipt in a note whose signature nobody has checked yet."""
        if len(note) > MAX_NOTE_BYTES:
            raise FormatError("a receipt over the size of a note")
        try:
            head, found, _ = note.decode("utf-8").rpartition("\n\n")
        except UnicodeDecodeError as error:
            raise FormatError(f"the receipt is not UTF-8 at byte {error.start}") from None
        if not found:
            raise FormatError("the receipt has no signature part")
        return cls.parse(head + "\n")


@dataclass(frozen=True)
class Checked:
    """What a receipt is worth against a public folder: `kept`, `broken` or `early`.

    `evidence` are sentences that anybody can check again; `key` is the key
    that signed the receipt and the folder.
    """

    state: str
    evidence: tuple[str, ...]
    key: str


def check_receipt(note: bytes, folder: Folder, key: str | None = None) -> Checked:
    """Whether the promise in a receipt was kept, by the book in a public folder.

    The operator's own signed time of publication is what the promise is held
    against. `key` is the league's key as the reader knows it. IntegrityError where the
    receipt or the folder is not signed by it, FormatError where either cannot
    be read: then nothing is shown about the promise.
    """
    receipt = Receipt.unchecked(note)
    manifest = read_manifest(read_file(folder, MANIFEST_PATH, MAX_MANIFEST_BYTES))
    league = _league_of(manifest, receipt.origin)
    verifier, history = VerifierKey.parse(league["key"]), _history(folder, league)
    if key not in (None, league["key"]) and key not in history.vouched:
        raise IntegrityError(f"the folder's key is {league['key']}, and yours is {key}")
    if history.now != verifier:
        raise IntegrityError(f"the book's key is {history.now.text()}, the folder's another")
    signer = history.when(receipt.received_at)
    Receipt.open(note, signer)
    check_manifest_signature(manifest, verifier)
    found = _find_line(folder, league, receipt.submission)
    signed = f"{signer.text()} signed the receipt: {receipt.submission} by {receipt.promised_by}"
    as_of, lines = manifest["as_of"], league["lines"]
    if found is not None:
        return _held(receipt, found, signed, folder, league)
    covered = f"the folder, signed by that key as of {as_of}, has {lines} lines: none holds it"
    if instant_key(as_of) <= instant_key(receipt.promised_by):
        why = "that is not after the time promised: look again in a later publication"
        return Checked("early", (signed, f"{covered}; {why}"), league["key"])
    return Checked("broken", (signed, covered), league["key"])


def _held(
    receipt: Receipt, line: dict[str, Any], signed: str, folder: Folder, league: dict[str, Any]
) -> Checked:
    key, at = league["key"], str(line.get("at"))
    place = f"line {line.get('n')}, sealed at {at}, holds it"
    owner = (line.get("run"), line.get("forecaster"))
    if owner != (receipt.run, receipt.forecaster):
        said = f"{place} as {owner[1]!r:.80} in {owner[0]!r:.80}, not as the receipt says"
        return Checked("broken", (signed, said), key)
    if instant_key(at) > instant_key(receipt.promised_by):
        return Checked("broken", (signed, f"{place}, later than promised"), key)
    shown = _shown(line, folder, league["path"].rstrip("/"))
    if shown is None:
        return Checked("kept", (signed, place, "its bytes are not public here: NOT CHECKED"), key)
    if digest(shown) != receipt.submission:
        said = f"the submission that line shows hashes to {digest(shown)}"
        return Checked("broken", (signed, place, said), key)
    return Checked("kept", (signed, place, "its bytes are public and hash to it"), key)


def _shown(line: dict[str, Any], folder: Folder, base: str) -> bytes | None:
    """The submission's bytes where the folder shows them; None where they are withheld."""
    for body in line.get("bodies", ()):
        path = f"{base}/{body_path(str(body.get('sha256')))}"
        if body.get("role") != "submission" or not folder.has(path):
            continue
        data = read_file(folder, path, MAX_BODY_BYTES)
        if digest(data) == body["sha256"]:  # else the copy is not what the line names
            return open_sealed(data).content if is_sealed(data) else data
    return None


def _league_of(manifest: dict[str, Any], origin: str) -> dict[str, Any]:
    for league in manifest["leagues"]:
        if league["origin"] == origin:
            found: dict[str, Any] = league
            return found
    raise FormatError(f"the folder holds no league of the receipt's origin, {origin}")


def _history(folder: Folder, league: dict[str, Any]) -> KeyHistory:
    """The keys of the published book; `_find_line` holds its lines against the manifest."""
    with folder.open(f"{league['path'].rstrip('/')}/book.jsonl") as stream:
        return key_history(islice(_raw_lines(stream), league["lines"]))


def _raw_lines(stream: BinaryIO) -> Iterator[bytes]:
    while (raw := stream.readline(MAX_LINE_BYTES + 1)).endswith(b"\n"):
        yield raw


def _find_line(folder: Folder, league: dict[str, Any], submission: str) -> dict[str, Any] | None:
    """The answer line that holds a submission, within the lines that the manifest signs.

    IntegrityError where those lines are not the ones that were signed: what is
    missing from them would prove nothing.
    """
    name = f"{league['path'].rstrip('/')}/book.jsonl"
    found, hasher, lines = None, sha256(), 0
    with folder.open(name) as stream:
        while lines < league["lines"]:
            raw = stream.readline(MAX_LINE_BYTES + 1)
            if not raw.endswith(b"\n"):
                raise IntegrityError(f"{name} has {lines} lines; the manifest signs more")
            hasher.update(raw)
            lines += 1
            if found is None and submission.encode("ascii") in raw:
                value = decode_json(raw)
                if value.get("kind") == "answer" and value.get("submission") == submission:
                    found = value
    if hasher.hexdigest() != league["book_sha256"]:
        raise IntegrityError(f"the lines of {name} are not those that the manifest signs")
    return found
