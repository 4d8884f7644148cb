"""One line of a book as a proof that stands alone: a few kilobytes, checked offline.

The file is J of one object and a line feed:

    format      "beforehand-proof/1"
    origin, key the book's name and the verifier key that its first line names
    line        the line's very text, without its line feed
    path        the inclusion proof of the line in the tree, hashes in hex
    checkpoint  the signed note over that tree, cosignatures included
    bodies      bodies that the line names: role, sha256, data in base64
    evidence    proofs of others over the checkpoint: anchor, data in base64
    cell        only where one cell of a withheld answer is shown (`cells`): its
                path, salt, cell, and its way to the line's `cells_root`

What it shows: the line stood in the tree that the key signed. When that was is
for the evidence to say, and whose key it is for the reader to know.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Self

from beforehand.book.bodies import is_sealed, open_sealed
from beforehand.book.cells import CellProof
from beforehand.book.checkpoint import Checkpoint, VerifierKey, strict_base64
from beforehand.book.line import read_line
from beforehand.book.options import REQUIREMENTS, Options
from beforehand.book.report import Report
from beforehand.book.stamped_list import StampedList
from beforehand.book.tree import check_inclusion, line_leaf
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import decode_json, digest, is_digest, seal_json, seal_text

PROOF_FORMAT = "beforehand-proof/1"
MAX_PROOF_BYTES = 4 << 20
MAX_PROOF_PATH = 64
MAX_PROOF_PARTS = 64
STAMPED_LIST_NAME = "list.txt"
_PROOF_KEYS = {"format", "origin", "key", "line", "path", "checkpoint", "bodies", "evidence"}


@dataclass(frozen=True)
class Enclosed:
    """A body or a piece of evidence in a proof file: what it is, and its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True)
class ProofFile:
    """A proof of one line. `line` is its bytes without the LF, `note` the signed checkpoint."""

    origin: str
    key: str
    line: bytes
    path: tuple[bytes, ...]
    note: bytes
    bodies: tuple[Enclosed, ...] = ()
    evidence: tuple[Enclosed, ...] = ()
    cell: CellProof | None = None

    def data(self) -> bytes:
        """The file's bytes."""
        content: dict[str, Any] = {
            "format": PROOF_FORMAT,
            "origin": self.origin,
            "key": self.key,
            "line": self.line.decode("utf-8"),
            "path": [step.hex() for step in self.path],
            "checkpoint": self.note.decode("utf-8"),
            "bodies": [_enclosed_content("role", each) for each in self.bodies],
            "evidence": [_enclosed_content("anchor", each) for each in self.evidence],
        }
        if self.cell is not None:
            content["cell"] = self.cell.content()
        return seal_json(content) + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The proof in a file's bytes; FormatError names what is wrong with its form."""
        if len(data) > MAX_PROOF_BYTES:
            raise FormatError(f"a proof of {len(data)} bytes; the limit is {MAX_PROOF_BYTES}")
        value = decode_json(data)
        if not isinstance(value, dict) or value.get("format") != PROOF_FORMAT:
            raise FormatError(f"it is no proof file: its format is not {PROOF_FORMAT!r}")
        if set(value) - {"cell"} != _PROOF_KEYS:
            listed = ", ".join(sorted(_PROOF_KEYS))
            raise FormatError(f"a proof file has the keys {listed}, and at most cell beside them")
        for key in ("origin", "key", "line", "checkpoint"):
            if not isinstance(value[key], str):
                raise FormatError(f"{key} is not a text")
        path = value["path"]
        if (
            not isinstance(path, list)
            or len(path) > MAX_PROOF_PATH
            or not all(map(is_digest, path))
        ):
            raise FormatError("path is not a list of hashes in lower-case hex")
        return cls(
            value["origin"],
            value["key"],
            value["line"].encode("utf-8"),
            tuple(bytes.fromhex(step) for step in path),
            value["checkpoint"].encode("utf-8"),
            _enclosed_parts(value["bodies"], "role"),
            _enclosed_parts(value["evidence"], "anchor"),
            CellProof.of(value["cell"]) if "cell" in value else None,
        )


def _enclosed_content(key: str, each: Enclosed) -> dict[str, str]:
    coded = base64.b64encode(each.data).decode("ascii")
    return {key: each.name, "sha256": digest(each.data), "data": coded}


def _enclosed_parts(value: Any, key: str) -> tuple[Enclosed, ...]:
    if not isinstance(value, list) or len(value) > MAX_PROOF_PARTS:
        raise FormatError(f"at most {MAX_PROOF_PARTS} parts, each with {key}, sha256 and data")
    parts = []
    for item in value:
        known = isinstance(item, dict) and set(item) == {key, "sha256", "data"}
        if not known or not all(isinstance(text, str) for text in item.values()):
            raise FormatError(f"a part has {key}, sha256 and data, each a text")
        data = strict_base64(item["data"])
        if digest(data) != item["sha256"]:
            raise FormatError(f"the enclosed {item[key]!r:.80} does not hash to its sha256")
        parts.append(Enclosed(item[key], data))
    return tuple(parts)


def check_proof(proof: ProofFile, options: Options, name: str = "proof") -> Report:
    """Check a proof file against itself and against what the reader holds.

    Steps are those of the recipe for a folder. Evidence of others is not
    looked at here: it is reported as present and not checked.
    """
    report = Report(options.as_of)
    summary: dict[str, Any] = {"lines": 0, "root": ""}
    content = _check_proof_line(proof, report, name)
    if content is None:
        return report
    n = content["n"]
    summary |= {"line": n, "kind": content.get("kind"), "at": content.get("at")}
    point = _check_proof_tree(proof, n, report, name)
    if point is not None:
        summary |= {"lines": point.size, "root": point.root.hex()}
    _check_proof_bodies(proof, content, report, name, summary)
    if proof.cell is not None:
        _check_proof_cell(proof.cell, content, report, name, summary)
    report.leagues[proof.origin] = summary
    _compare_operator(proof, options, report, name)
    _check_proof_list(proof, point, report, name)
    for each in proof.evidence:
        if each.name != STAMPED_LIST_NAME:
            said = f"evidence {each.name} ({len(each.data)} bytes): present, not checked here"
            report.not_checked.append(said)
    if not proof.evidence:
        report.not_checked.append("when: no evidence of others is enclosed, only the key's word")
    report.not_checked.append("the rest of the book: this proof is about one line")
    return report


def _check_proof_line(proof: ProofFile, report: Report, name: str) -> dict[str, Any] | None:
    """The line's object, once its seal and link were compared; None where it cannot be read."""
    try:
        value, seal, link = read_line(proof.line)
    except FormatError as error:
        report.find(3, name, f"the line: {error}")
        return None
    if type(value.get("n")) is not int or value["n"] < 1:
        report.find(3, name, f"n is {value.get('n')!r:.40}, and lines are numbered from 1")
        return None
    if value.get("seal") != seal:
        report.find(3, name, f"the line's content hashes to {seal}, and its seal says otherwise")
    if value.get("link") != link:
        report.find(3, name, f"the line hashes to {link}, and its link says otherwise")
    return value


def _check_proof_tree(proof: ProofFile, n: int, report: Report, name: str) -> Checkpoint | None:
    """The signed checkpoint, once its signature and the line's inclusion were checked."""
    try:
        key = VerifierKey.parse(proof.key)
        point = Checkpoint.open(proof.note, key)
    except (FormatError, IntegrityError) as error:
        report.find(5, name, str(error))
        return None
    if point.origin != proof.origin or key.name != proof.origin:
        report.find(
            5, name, f"the checkpoint is of {point.origin!r:.80}, signed as {key.name!r:.80}"
        )
    try:
        check_inclusion(n - 1, point.size, line_leaf(proof.line), list(proof.path), point.root)
    except IntegrityError as error:
        report.find(4, name, f"line {n} is not shown to be in the tree: {error}")
    return point


def _check_proof_list(
    proof: ProofFile, point: Checkpoint | None, report: Report, name: str
) -> None:
    """The enclosed list, which evidence is over, names the very tree of the checkpoint."""
    for each in proof.evidence:
        if each.name != STAMPED_LIST_NAME or point is None:
            continue
        try:
            trees = StampedList.parse(each.data).trees
        except FormatError as error:
            report.find(5, name, f"the stamped list: {error}")
            continue
        if point not in trees:
            report.find(5, name, "the stamped list does not name the tree of the checkpoint")


def _check_proof_bodies(
    proof: ProofFile, content: Any, report: Report, name: str, summary: dict[str, Any]
) -> None:
    """Enclosed bodies are the line's own, and a sealed one names this run and forecaster."""
    named = {
        (body.get("role"), body.get("sha256"))
        for body in content.get("bodies", ())
        if isinstance(body, dict)
    }
    for each in proof.bodies:
        if (each.name, digest(each.data)) not in named:
            report.find(6, name, f"the enclosed body {each.name!r:.80} is not one the line names")
        elif is_sealed(each.data):
            try:
                opened = open_sealed(each.data)
            except FormatError as error:
                report.find(6, name, f"the body {each.name!r:.80}: {error}")
                continue
            owner = (opened.origin, opened.run, opened.forecaster, opened.role)
            whose = content.get("forecaster")
            if (content.get("kind"), each.name) == ("roster", "identity"):
                whose = _seat_named(content.get("seats"), opened.forecaster)
            wanted = (proof.origin, content.get("run"), whose, each.name)
            if owner != wanted:
                report.find(6, name, f"the header of the body {each.name!r:.80} is another's")
    missing = len(named) - len(proof.bodies)
    summary["bodies"] = len(proof.bodies)
    if missing > 0:
        report.not_checked.append(f"{missing} bodies that the line names are not enclosed")


def _seat_named(seats: Any, forecaster: str) -> str | None:
    """The forecaster, where a seat of the roster has that name."""
    held = seats if isinstance(seats, list) else []
    names = [seat.get("forecaster") for seat in held if isinstance(seat, dict)]
    return forecaster if forecaster in names else None


def _check_proof_cell(
    cell: CellProof, content: dict[str, Any], report: Report, name: str, summary: dict[str, Any]
) -> None:
    """The shown cell is one of those whose root the line carries; the others stay hidden."""
    root = content.get("cells_root")
    if content.get("kind") != "answer" or not is_digest(root):
        report.find(6, name, "it shows a cell, and the line carries no root of salted cells")
        return
    try:
        cell.check(str(root))
    except IntegrityError as error:
        report.find(6, name, f"the shown cell is not under the line's cells_root: {error}")
        return
    summary["cell"] = f"{seal_text(dict(cell.cell)):.400}"
    report.not_checked.append("the answer's other cells, if it has any: not shown")


def _compare_operator(proof: ProofFile, options: Options, report: Report, name: str) -> None:
    for word, given, held in (
        ("origin", options.origin, proof.origin),
        ("key", options.key, proof.key),
    ):
        if given is None:
            report.not_checked.append(f"operator: give --{word} as you know it from elsewhere")
        elif given != held:
            report.find(8, name, f"the {word} is {held!r:.200}, you expect {given!r:.200}")
    for wanted in options.require:
        if wanted not in REQUIREMENTS:
            known = ", ".join(REQUIREMENTS)
            raise FormatError(f"unknown requirement {wanted!r:.40}; known: {known}")
        if wanted != "operator" or options.origin is None or options.key is None:
            report.unmet.append(f"{wanted}: required, and a proof of one line cannot show it")
