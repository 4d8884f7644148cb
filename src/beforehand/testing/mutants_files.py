"""From a draft to a published folder: chained, treed, stamped and signed by the league's own key.

A dishonest operator does all of this honestly; so does every mutant whose
fault lies in what is said and not in the bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beforehand.book.bodies import body_path
from beforehand.book.checkpoint import Checkpoint, VerifierKey, sign_note
from beforehand.book.line import make_line
from beforehand.book.manifest import MANIFEST_FORMAT, MANIFEST_PATH, sign_manifest
from beforehand.book.tiles import tile_files
from beforehand.book.tree import line_leaf, tree_root
from beforehand.records.codec import digest
from beforehand.testing.mutants_league import (
    AS_OF,
    LEAGUE,
    ORIGIN,
    THE_LIST,
    Draft,
    stand_in,
)
from beforehand.testing.mutants_tables import COLUMNS, Tables, table_bytes, tables_of

BASE = f"api/v1/{LEAGUE}"
READER_COLUMNS = (
    *("reader", "group", "session", "question", "sealed_at", "p", "counted", "why", "reset_of"),
)
Files = dict[str, bytes]

BYTE_RULE = (
    "Each hash is of the file as stored: UTF-8 without a byte order mark, nothing re-encoded, "
    "each line counted with its LF, a last line counted once its LF is written.\n"
)


@dataclass(frozen=True)
class Operator:
    """The league's signing key, the same for the same seed."""

    verifier: VerifierKey
    sign: Callable[[bytes], bytes]

    @classmethod
    def of(cls, seed: int) -> Operator:
        """The operator of a corpus."""
        private = Ed25519PrivateKey.from_private_bytes(
            sha256(f"mutation corpus {seed}".encode()).digest()
        )
        public = private.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )
        return cls(VerifierKey(ORIGIN, public), private.sign)


@dataclass(frozen=True)
class Chained:
    """A draft as chained lines, the number of each label's line, and the lists that are sealed.

    `lists` holds real evidence too, and `replaced` the stand-ins whose place it took.
    """

    raws: list[bytes]
    links: list[str]
    numbers: dict[str, int]
    lists: dict[str, bytes]
    replaced: frozenset[str] = frozenset()


def chain(draft: Draft, operator: Operator) -> Chained:
    """Number, seal and link every line; a reference that leads nowhere becomes 0."""
    numbers = {line["_label"]: n for n, line in enumerate(draft.lines, 1)}
    raws: list[bytes] = []
    links: list[str] = []
    lists: dict[str, bytes] = {}
    replaced: set[str] = set()
    prev = ""
    for n, line in enumerate(draft.lines, 1):
        content = {key: _resolved(value, numbers) for key, value in line.items() if key != "_label"}
        if content.get("key") == "KEY":
            content["key"] = operator.verifier.text()
        for body in content.get("bodies", ()):
            if body["sha256"] == THE_LIST:
                size = min(content["checkpoint_size"], n - 1)
                listed = _list_over(size, raws, links)
                body["sha256"] = digest(listed)
                lists[body["sha256"]] = listed
                replaced |= _vouched(draft, line, content, listed, lists)
        made = make_line(content, n, prev)
        raws.append(made.raw)
        links.append(made.link)
        prev = made.link
    return Chained(raws, links, numbers, lists, frozenset(replaced))


def _vouched(
    draft: Draft,
    line: dict[str, Any],
    content: dict[str, Any],
    listed: bytes,
    lists: dict[str, bytes],
) -> set[str]:
    """Put real evidence over a list where a stand-in is sealed; the stand-ins it took away."""
    if draft.vouch is None:
        return set()
    anchor, run = content["anchor"], line["_label"].rpartition("/")[0]
    taken = digest(stand_in(anchor, run))
    for body in content["bodies"]:
        if body["sha256"] == taken:
            data = draft.vouch(anchor, listed)
            body["sha256"] = digest(data)
            lists[body["sha256"]] = data
            return {taken}
    return set()


def _list_over(size: int, raws: list[bytes], links: list[str]) -> bytes:
    """The stamped list over the first lines, in the seed's text form."""
    if not size:
        return BYTE_RULE.encode()
    prefix = digest(b"".join(raw + b"\n" for raw in raws[:size]))
    line = f"{LEAGUE}/book.jsonl: {size} lines, sha256 {prefix}, last link {links[size - 1]}\n"
    return (line + BYTE_RULE).encode()


def _resolved(value: Any, numbers: dict[str, int]) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$ref"}:
            return numbers.get(value["$ref"], 0)
        return {key: _resolved(item, numbers) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item, numbers) for item in value]
    return value


def stamped_lists(draft: Draft, chained: Chained) -> Files:
    """Every stamped list in the seed's text form, with stand-ins for what vouches for it."""
    files: Files = {}
    for name, label in draft.outside:
        size = chained.numbers.get(label, 0)
        if not size:
            continue
        listed = _list_over(size, chained.raws, chained.links)
        files[name] = listed
        if draft.vouch is None:
            files[f"{name}.rfc3161.tsr"] = stand_in("rfc3161", f"the list {name}")
        else:
            files[f"{name}.rfc3161.tsr"] = draft.vouch("rfc3161", listed)
            files[f"{name}.ots"] = draft.vouch("opentimestamps", listed)
    return files


def render(
    draft: Draft,
    operator: Operator,
    change_tables: Callable[[Tables, dict[str, int]], None] | None = None,
    kept_stamps: Files | None = None,
) -> Files:
    """The whole published folder of a draft.

    `change_tables` is a fault in what is computed; `kept_stamps` are lists
    stamped before a fault rewrote what they cover.
    """
    chained = chain(draft, operator)
    tables = tables_of(draft, chained.numbers)
    if change_tables is not None:
        change_tables(tables, chained.numbers)
    files = _book_files(draft, chained, operator)
    files |= _table_files(tables)
    files |= stamped_lists(draft, chained) if kept_stamps is None else kept_stamps
    return sign_files(files, chained.raws, operator)


def _book_files(draft: Draft, chained: Chained, operator: Operator) -> Files:
    files = _treed(chained.raws, operator)
    named = {
        body["sha256"]: line["kind"] for line in draft.lines for body in line.get("bodies", ())
    }
    for name, data in draft.bodies.items():
        if name in named and name not in chained.replaced:
            files[f"{BASE}/{body_path(name)}"] = data
            if named[name] == "ask":
                files[f"{BASE}/asks/{name}.md"] = data
    return files | {f"{BASE}/{body_path(name)}": data for name, data in chained.lists.items()}


def _treed(raws: list[bytes], operator: Operator) -> Files:
    """The book of these lines, its tiles, and two checkpoints over it."""
    files = {f"{BASE}/book.jsonl": b"".join(raw + b"\n" for raw in raws)}
    half = max(1, len(raws) // 2)
    for name, size in (("checkpoint", len(raws)), (f"checkpoints/{half}", half)):
        point = Checkpoint(ORIGIN, size, tree_root(line_leaf(raw) for raw in raws[:size]))
        note = sign_note(point.text(), operator.verifier, operator.sign)
        files[f"{BASE}/{name}"] = note.encode()
    entries = (bytes.fromhex(digest(raw + b"\n")) for raw in raws)
    return files | {f"{BASE}/{name}": data for name, data in tile_files(entries)}


def rebuilt(files: Files, raws: list[bytes], operator: Operator) -> Files:
    """The files with another book: its tree and signatures fit it, whatever its lines are."""
    kept = {
        name: data
        for name, data in files.items()
        if not name.startswith((f"{BASE}/tile/", f"{BASE}/checkpoint"))
    }
    return sign_files(kept | _treed(raws, operator), raws, operator)


def _table_files(tables: Tables) -> Files:
    return {
        f"{BASE}/forecasts.csv": table_bytes(COLUMNS, tables.rows),
        f"{BASE}/readers.csv": table_bytes(_reader_columns(tables), tables.readers),
        f"{BASE}/leaderboard.json": _json(tables.board),
        f"{BASE}/diagnostics.json": _json(tables.diagnostics),
        f"{BASE}/climatology.json": _json(tables.climatology),
        f"{BASE}/recount.py": b"# The code of methodology 1 stands here in a real league.\n",
        **tables.other,
    }


def _reader_columns(tables: Tables) -> tuple[str, ...]:
    extra = {key for row in tables.readers for key in row} - set(READER_COLUMNS)
    return (*READER_COLUMNS, *sorted(extra))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"


def sign_files(files: Files, raws: list[bytes], operator: Operator) -> Files:
    """The files with a signed manifest that lists them all."""
    files = {name: data for name, data in files.items() if name != MANIFEST_PATH}
    book = b"".join(raw + b"\n" for raw in raws)
    league = {
        "league": LEAGUE,
        "path": BASE,
        "origin": ORIGIN,
        "key": operator.verifier.text(),
        "lines": len(raws),
        "root": tree_root(line_leaf(raw) for raw in raws).hex(),
        "book_sha256": digest(book),
    }
    listed = [
        {"path": name, "bytes": len(data), "sha256": digest(data)}
        for name, data in sorted(files.items())
    ]
    unsigned = {
        "format": MANIFEST_FORMAT,
        "as_of": AS_OF,
        "leagues": [league],
        "files": listed,
    }
    manifest = sign_manifest(unsigned, [(operator.verifier, operator.sign)])
    return {**files, MANIFEST_PATH: manifest}
