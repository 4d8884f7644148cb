"""The manifest: every published file with its size and hash, canonical and signed.

The file is J of one object plus LF. Its key `signature` holds a C2SP signed
note, one signature a league, whose text is the line `beforehand-manifest/1`
and the SHA-256 of J of the object without that key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beforehand.book.checkpoint import Signer, VerifierKey, open_note, sign_note
from beforehand.book.folder import is_below
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json, digest, seal_json

MANIFEST_FORMAT = "beforehand-manifest/1"
MANIFEST_PATH = "api/v1/manifest.json"
CHECKER_PATH = "api/v1/verify.py"
MAX_MANIFEST_BYTES = 512 << 20
_DIGEST_CHARS = set("0123456789abcdef")


def manifest_text(unsigned: Mapping[str, Any]) -> str:
    """The text of the note that signs a manifest."""
    return f"{MANIFEST_FORMAT}\n{digest(seal_json(unsigned))}\n"


def sign_manifest(unsigned: Mapping[str, Any], keys: Sequence[tuple[VerifierKey, Signer]]) -> bytes:
    """The manifest's bytes, signed by every key."""
    text = manifest_text(unsigned)
    lines = [sign_note(text, key, sign)[len(text) + 1 :] for key, sign in keys]
    return seal_json({**unsigned, "signature": text + "\n" + "".join(lines)}) + b"\n"


def read_manifest(data: bytes) -> dict[str, Any]:
    """The object of a manifest; FormatError where its form is not exactly ours."""
    value = decode_json(data)
    if not isinstance(value, dict) or value.get("format") != MANIFEST_FORMAT:
        raise FormatError(f"the manifest does not say that it is {MANIFEST_FORMAT}")
    if seal_json(value) + b"\n" != data:
        raise FormatError("the manifest is not in its canonical form")
    if not isinstance(value.get("signature"), str):
        raise FormatError("the manifest carries no signature")
    as_of = value.get("as_of")
    if not isinstance(as_of, str):
        raise FormatError("the manifest does not say as of when it is")
    instant_key(as_of)
    leagues, files = value.get("leagues"), value.get("files")
    if not isinstance(leagues, list) or not leagues or not isinstance(files, list):
        raise FormatError("the manifest lists no leagues or no files")
    for entry in leagues:
        _check_keys(entry, ("league", "path", "origin", "key", "book_sha256", "root"), "leagues")
        if type(entry.get("lines")) is not int or entry["lines"] < 0:
            raise FormatError("leagues: lines is not a number of lines")
        if not is_below(entry["path"].removesuffix("/")):
            raise FormatError(f"leagues: {entry['path']!r:.80} is no path below the public folder")
    if len({entry["path"] for entry in leagues}) != len(leagues):
        raise FormatError("leagues: two leagues have one path")
    for entry in files:
        _check_keys(entry, ("path", "sha256"), "files")
        if type(entry.get("bytes")) is not int or len(entry["sha256"]) != 64:
            raise FormatError(f"files: {entry['path']!r:.80} has no size or no hash")
        if not set(entry["sha256"]) <= _DIGEST_CHARS:
            raise FormatError(f"files: the hash of {entry['path']!r:.80} is not hex")
    return value


def check_manifest_signature(manifest: Mapping[str, Any], key: VerifierKey) -> None:
    """FormatError or IntegrityError unless `key` signed this manifest."""
    unsigned = {name: value for name, value in manifest.items() if name != "signature"}
    text = open_note(manifest["signature"].encode("utf-8"), key)
    if text != manifest_text(unsigned):
        raise FormatError("the manifest's note signs another manifest")


def _check_keys(entry: Any, keys: tuple[str, ...], where: str) -> None:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in keys):
        raise FormatError(f"{where}: an entry lacks one of {', '.join(keys)}")
