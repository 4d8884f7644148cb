"""One pass over a book of lines: the chain, the digests at stamped sizes, each line's object."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from beforehand.book.chain import check_piece, cut_pieces, seam_findings
from beforehand.book.folder import Folder, read_file
from beforehand.errors import FormatError
from beforehand.publish.conformance.result import Pointer
from beforehand.publish.conformance.said import Stamp
from beforehand.records.codec import decode_json

MAX_LINES = 500_000
MAX_BYTES = 1 << 30
MAX_PROBLEMS = 100
MAX_STAMPS = 5000
MAX_STAMP_BYTES = 64 << 10
MAX_SEAL_BYTES = 1 << 20
# Files of `beforehand seal` beside what it sealed.
SEAL_SUFFIX, OPENING_SUFFIX = ".seal", ".opening"
# Evidence that is a promise yet.
PENDING_SUFFIX = ".pending"

_STAMPED = re.compile(
    r"(?P<path>\S+): (?P<n>[1-9]\d{0,9}) lines, sha256 (?P<sha>[0-9a-f]{64}), "
    r"last link (?P<link>[0-9a-f]{64})",
    re.ASCII,
)


_SEED_LIST = re.compile(r"(?:.*/)?[0-9]{6}Z\.txt", re.ASCII | re.DOTALL)


@dataclass
class Walked:
    """A book as it was walked. `problems` are `(line, what, message)`; `prefixes` by size."""

    lines: int = 0
    problems: list[tuple[int | None, str, str]] = field(default_factory=list)
    prefixes: dict[int, str] = field(default_factory=dict)
    links: dict[int, str] = field(default_factory=dict)

    def note(self, n: int | None, what: str, message: str) -> None:
        """Keep a problem; past a limit no more are kept."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append((n, what, message))


def walk_lines(
    folder: Folder, name: str, sizes: set[int], walked: Walked
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line that can be read, with its number; `walked` is filled on the way.

    FormatError where the book is over a limit.
    """
    hasher, total = hashlib.sha256(), 0
    last_link, last_at = "", ""
    with folder.open(name) as stream:
        for _, first_n, data in cut_pieces(stream):
            total += len(data)
            if walked.lines >= MAX_LINES or total > MAX_BYTES:
                raise FormatError(
                    f"{name} is over the limit of {MAX_LINES} lines or {MAX_BYTES} bytes"
                )
            if not first_n:
                walked.note(walked.lines + 1, "tail", "does not end in a line feed")
                continue
            piece = check_piece(data, first_n)
            for found in seam_findings(piece, last_link, last_at):
                walked.note(*found)
            last_link, last_at = piece.last_link, piece.last_at or last_at
            for n, raw in enumerate(data.split(b"\n")[:-1], first_n):
                hasher.update(raw + b"\n")
                walked.lines = n
                if raw.endswith(b"\r"):
                    walked.note(n, "bytes", "ends in CR LF: somebody rewrote the line endings")
                if n == 1 and raw.startswith(b"\xef\xbb\xbf"):
                    walked.note(n, "bytes", "begins with a byte order mark")
                if n in sizes:
                    walked.prefixes[n] = hasher.copy().hexdigest()
                value = _object(raw)
                if value is not None:
                    if n in sizes:
                        walked.links[n] = str(value.get("link"))
                    yield n, value


def _object(raw: bytes) -> dict[str, Any] | None:
    """The object of a line; None where it cannot be read, which the chain has said already."""
    try:
        value = decode_json(raw)
    except FormatError:
        return None
    return value if isinstance(value, dict) else None


def read_stamps(folder: Folder, names: list[str], mapped: Sequence[str] = ()) -> list[Stamp]:
    """Every line of every stamped list, in the seed's text form; other lines are ignored.

    A list is known by the folder of proofs that it lies in, by the seed's
    HHMMSSZ.txt, or by a league that maps it as one (`mapped`).
    """
    found, beside = [], _beside(names)
    lists = [n for n in names if n.endswith(".txt") and (n in mapped or _is_list_name(n))]
    for name in lists[:MAX_STAMPS]:
        try:
            said = read_file(folder, name, MAX_STAMP_BYTES).decode("utf-8")
        except (FormatError, UnicodeDecodeError):
            continue
        held = [each for each in sorted(beside.get(name, ())) if _stamps(folder, each)]
        proofs = tuple(each for each in held if not each.endswith(PENDING_SUFFIX))
        promises = tuple(each for each in held if each.endswith(PENDING_SUFFIX))
        for number, line in enumerate(said.split("\n"), 1):
            # A list whose line ends a mirror rewrote is still one: its evidence shows the change.
            stamp = _stamp(Pointer(name, number), line.removesuffix("\r"))
            if stamp is not None:
                found.append(replace(stamp, proofs=proofs, promises=promises))
    return found


def _is_list_name(name: str) -> bool:
    return "proof" in name or "stamp" in name or _SEED_LIST.fullmatch(name) is not None


def stamps_of_list(place: Pointer, data: bytes) -> list[Stamp]:
    """Every line of a stamped list that is sealed as a body; `place` is that of its proof line."""
    if len(data) > MAX_STAMP_BYTES:
        return []
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return []
    return [stamp for line in lines if (stamp := _stamp(place, line)) is not None]


def _stamp(place: Pointer, line: str) -> Stamp | None:
    match = _STAMPED.fullmatch(line)
    if match is None:
        return None
    return Stamp(place, match["path"], int(match["n"]), match["sha"], match["link"])


def fill_prefixes(folder: Folder, name: str, sizes: set[int], walked: Walked) -> None:
    """Digests and links at sizes that were known only when the book had been read."""
    wanted = {size for size in sizes if size <= walked.lines} - walked.prefixes.keys()
    hasher = hashlib.sha256()
    if not wanted:
        return
    with folder.open(name) as stream:
        for _, first_n, data in cut_pieces(stream):
            if not first_n:
                continue
            for n, raw in enumerate(data.split(b"\n")[:-1], first_n):
                hasher.update(raw + b"\n")
                if n in wanted:
                    walked.prefixes[n] = hasher.copy().hexdigest()
                    value = _object(raw)
                    if value is not None:
                        walked.links[n] = str(value.get("link"))


def _stamps(folder: Folder, name: str) -> bool:
    """Whether a file beside a list may hold a stamp of others; a seal of one's own may not."""
    if name.endswith(OPENING_SUFFIX):
        return False
    if not name.endswith(SEAL_SUFFIX):
        return True
    try:
        seal = decode_json(read_file(folder, name, MAX_SEAL_BYTES))
    except FormatError:
        return False
    return isinstance(seal, dict) and bool(seal.get("evidence"))


def _beside(names: list[str]) -> dict[str, list[str]]:
    """What lies beside each list under its own name and one more ending."""
    held: dict[str, list[str]] = {}
    for name in names:
        first, found, _ = name.rpartition(".txt.")
        if found:
            held.setdefault(f"{first}.txt", []).append(name)
    return held


def check_stamps(stamps: list[Stamp], walked: Walked) -> Iterator[tuple[Stamp, str]]:
    """What is wrong where a stamped list and the book of today differ."""
    for stamp in stamps:
        if stamp.lines > walked.lines:
            yield (
                stamp,
                f"the list stamped {stamp.lines} lines, and the book has {walked.lines}: "
                "its tail was dropped",
            )
        elif walked.prefixes.get(stamp.lines) != stamp.sha256:
            yield (
                stamp,
                f"the first {stamp.lines} lines of the book do not hash to what was stamped: "
                "history was rewritten, or a mirror changed its bytes",
            )
        elif walked.links.get(stamp.lines) != stamp.last_link:
            yield stamp, f"the link of line {stamp.lines} is not the one that was stamped"
