"""A fraud proof: two signed checkpoints of one origin and key that cannot both be true.

The file is J of one object and a line feed:

    format         "beforehand-fraud/1"
    origin, key    the book's name, and the verifier key that signed both notes
    first, second  the two signed notes, the smaller tree first
    prefix, path   the evidence where the sizes differ: the root over as many
                   leaves of the second tree as the first has, in hex, and the
                   consistency proof from that root to the second; else "", []

Two roots for one size are a contradiction by themselves. For two sizes, the
second tree must be shown to begin with another tree than the first note signs:
a missing or broken consistency proof shows nothing, since anybody can break
one. Such a pair may be kept in this form and checks as "could not be shown".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from beforehand.book.checkpoint import Checkpoint, VerifierKey, open_note
from beforehand.book.consistency import LeafTree, implied_prefix
from beforehand.book.options import REQUIREMENTS, Options
from beforehand.book.report import Report
from beforehand.book.tree import check_consistency
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import decode_json, is_digest, seal_json

FRAUD_FORMAT = "beforehand-fraud/1"
MAX_FRAUD_BYTES = 4 << 20
MAX_FRAUD_PATH = 64
_FRAUD_KEYS = {"format", "origin", "key", "first", "second", "prefix", "path"}


@dataclass(frozen=True)
class FraudProof:
    """Two signed notes of one origin and key, and what shows that they conflict."""

    origin: str
    key: str
    first: bytes
    second: bytes
    prefix: bytes = b""
    path: tuple[bytes, ...] = ()

    def data(self) -> bytes:
        """The file's bytes."""
        content = {
            "format": FRAUD_FORMAT,
            "origin": self.origin,
            "key": self.key,
            "first": self.first.decode("utf-8"),
            "second": self.second.decode("utf-8"),
            "prefix": self.prefix.hex(),
            "path": [step.hex() for step in self.path],
        }
        return seal_json(content) + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The proof in a file's bytes; FormatError names what is wrong with its form."""
        if len(data) > MAX_FRAUD_BYTES:
            raise FormatError(f"a fraud proof over {MAX_FRAUD_BYTES} bytes")
        value = decode_json(data)
        if not isinstance(value, dict) or value.get("format") != FRAUD_FORMAT:
            raise FormatError(f"it is no fraud proof: its format is not {FRAUD_FORMAT!r}")
        if set(value) != _FRAUD_KEYS:
            raise FormatError(f"a fraud proof has the keys {', '.join(sorted(_FRAUD_KEYS))}")
        for key in ("origin", "key", "first", "second", "prefix"):
            if not isinstance(value[key], str):
                raise FormatError(f"{key} is not a text")
        if value["prefix"] and not is_digest(value["prefix"]):
            raise FormatError("prefix is not a hash in lower-case hex")
        return cls(
            value["origin"],
            value["key"],
            value["first"].encode("utf-8"),
            value["second"].encode("utf-8"),
            bytes.fromhex(value["prefix"]),
            _fraud_path(value["path"]),
        )


def _fraud_path(value: Any) -> tuple[bytes, ...]:
    if not isinstance(value, list) or len(value) > MAX_FRAUD_PATH or not all(map(is_digest, value)):
        raise FormatError("path is not a list of hashes in lower-case hex")
    return tuple(bytes.fromhex(step) for step in value)


def fraud_between(
    one: bytes,
    other: bytes,
    key: VerifierKey,
    path: Sequence[bytes] = (),
    tree: LeafTree | None = None,
) -> FraudProof | None:
    """Two signed notes as a fraud proof; None where they are seen to agree.

    `path` is a consistency proof that somebody sent with the larger one,
    `tree` the larger one's own leaves: either may hold the evidence, and
    without it the pair is kept and shows nothing yet. FormatError or
    IntegrityError where a note is not a checkpoint signed by `key`, or where
    they are of two origins.
    """
    pair = sorted((Checkpoint.open(note, key).size, note) for note in (one, other))
    first, second = pair[0][1], pair[1][1]
    small, large = Checkpoint.open(first, key), Checkpoint.open(second, key)
    if small.origin != large.origin:
        raise FormatError("the two checkpoints are of two origins: that is no contradiction")
    bare = FraudProof(small.origin, key.text(), first, second)
    if small.size == large.size:
        return None if small.root == large.root else bare
    if small.size == 0:
        return None  # every book begins with no lines
    shown = _evidence_of_tree(small, large, tree) if tree else None
    if shown is None:
        prefix = implied_prefix(small.size, large.size, large.root, path)
        shown = None if prefix is None else (prefix, tuple(path))
    if shown is None:
        return None if _begins_with(small, large, path) else bare
    return None if shown[0] == small.root else replace(bare, prefix=shown[0], path=shown[1])


def _evidence_of_tree(
    small: Checkpoint, large: Checkpoint, tree: LeafTree
) -> tuple[bytes, tuple[bytes, ...]] | None:
    """The root and proof that the larger tree's leaves give; None where they are not its own."""
    if not 0 < small.size <= large.size <= tree.size or tree.root(large.size) != large.root:
        return None
    return tree.root(small.size), tuple(tree.path(small.size, large.size))


def _begins_with(small: Checkpoint, large: Checkpoint, path: Sequence[bytes]) -> bool:
    try:
        check_consistency(small.size, large.size, small.root, large.root, list(path))
    except IntegrityError:
        return False
    return True


def is_shown(proof: FraudProof) -> bool:
    """Whether a fraud proof shows what it claims; False also where a signature is false."""
    try:
        return not _why_not_shown(proof)
    except (FormatError, IntegrityError):
        return False


def check_fraud(data: bytes, options: Options, name: str = "fraud") -> Report:
    """Check a fraud proof from its bytes alone.

    Exit code 1: the holder of the key is shown to have signed two books that
    contradict each other. Exit code 2: that could not be shown. There is no 0:
    a file that shows no fraud does not show honesty either.
    """
    report = Report(options.as_of)
    proof = FraudProof.parse(data)
    try:
        reason = _why_not_shown(proof) or _not_yours(proof, options)
    except (FormatError, IntegrityError) as error:
        reason = str(error)
    if reason:
        report.unmet.append(f"{name}: no fraud is shown: {reason}")
    else:
        small, large = _fraud_points(proof)
        report.leagues[proof.origin] = _fraud_summary(proof, small, large)
        report.find(5, name, _fraud_words(proof, small, large))
    for word, given in (("origin", options.origin), ("key", options.key)):
        if given is None:
            report.not_checked.append(f"operator: give --{word} as you know it from elsewhere")
    _check_fraud_requirements(options, report)
    return report


def _fraud_points(proof: FraudProof) -> tuple[Checkpoint, Checkpoint]:
    """Both checkpoints, once the key's signature on both was checked."""
    key = VerifierKey.parse(proof.key)
    points = []
    for which, note in (("first", proof.first), ("second", proof.second)):
        try:
            points.append(Checkpoint.parse(open_note(note, key)))
        except (FormatError, IntegrityError) as error:
            raise type(error)(f"the {which} note: {error}") from None
    return points[0], points[1]


def _why_not_shown(proof: FraudProof) -> str:
    """Why the pair shows no contradiction; empty where it shows one."""
    small, large = _fraud_points(proof)
    if not small.origin == large.origin == proof.origin:
        return "the notes are not both of the origin that the file names"
    if small.size > large.size:
        return "the larger tree stands first"
    if small.size == large.size:
        return "both notes sign the same tree" if small.root == large.root else ""
    if not proof.prefix:
        return (
            f"two trees of {small.size} and {large.size} lines, and no evidence that they differ: "
            "an honest book whose proof was broken on the way looks the same"
        )
    check_consistency(small.size, large.size, proof.prefix, large.root, list(proof.path))
    return "the second tree begins with the first" if proof.prefix == small.root else ""


def _not_yours(proof: FraudProof, options: Options) -> str:
    """Why a contradiction is none of the operator the reader asks about; empty where it is."""
    if options.origin not in (None, proof.origin):
        return f"it is about {proof.origin!r:.200}, you ask about {options.origin!r:.200}"
    if options.key not in (None, proof.key):
        return f"it is about the key {proof.key!r:.200}, yours is {options.key!r:.200}"
    return ""


def _fraud_summary(proof: FraudProof, small: Checkpoint, large: Checkpoint) -> dict[str, Any]:
    return {
        "lines": small.size,
        "root": small.root.hex(),
        "other_lines": large.size,
        "other_root": large.root.hex(),
        "key": proof.key,
    }


def _fraud_words(proof: FraudProof, small: Checkpoint, large: Checkpoint) -> str:
    signed = f"the holder of the key {proof.key} signed two books under {proof.origin}"
    if small.size == large.size:
        return (
            f"{signed}: {small.size} lines with the root {small.root.hex()}, "
            f"and {large.size} lines with the root {large.root.hex()}"
        )
    return (
        f"{signed}: the first {small.size} lines have the root {small.root.hex()} in one, and "
        f"{proof.prefix.hex()} in the other, of {large.size} lines"
    )


def _check_fraud_requirements(options: Options, report: Report) -> None:
    for wanted in options.require:
        if wanted not in REQUIREMENTS:
            known = ", ".join(REQUIREMENTS)
            raise FormatError(f"unknown requirement {wanted!r:.40}; known: {known}")
        if wanted != "operator" or options.origin is None or options.key is None:
            report.unmet.append(f"{wanted}: required, and a fraud proof cannot show it")
