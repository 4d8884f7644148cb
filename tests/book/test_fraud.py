"""Fraud proofs: two signed books under one origin, shown to anybody from the bytes of one file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beforehand.book.checkpoint import Checkpoint, VerifierKey, sign_note
from beforehand.book.consistency import LeafTree, implied_prefix
from beforehand.book.fraud import FraudProof, check_fraud, fraud_between, is_shown
from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.book.tree import EMPTY_ROOT, check_consistency, line_leaf
from beforehand.book.verify import report_lines
from beforehand.errors import FormatError, IntegrityError

ORIGIN = "example.org/league/book"
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = VerifierKey(ORIGIN, PRIVATE.public_key().public_bytes_raw())
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(32))
AS_OF = "2026-12-01T00:00:00Z"
MINE = Options(AS_OF, origin=ORIGIN, key=KEY.text())


def book(*branches: tuple[str, int]) -> LeafTree:
    """A book of so many lines of each branch: ("a", 5), ("b", 2) forks after five lines."""
    lines = [f"{name} {n}".encode() for name, count in branches for n in range(count)]
    return LeafTree.of_lines(lines, len(lines))


def signed(tree: LeafTree, size: int | None = None, origin: str = ORIGIN) -> bytes:
    size = tree.size if size is None else size
    return sign_note(Checkpoint(origin, size, tree.root(size)).text(), KEY, PRIVATE.sign).encode()


def check(proof: FraudProof, options: Options = MINE) -> Report:
    return check_fraud(proof.data(), options)


def conflict(one: bytes, other: bytes, **evidence: Any) -> FraudProof:
    proof = fraud_between(one, other, KEY, **evidence)
    assert proof is not None
    return proof


# ---- what is shown


def test_conflicting_checkpoints_of_one_size_both_supplied() -> None:
    proof = conflict(signed(book(("a", 7))), signed(book(("b", 7))))
    report = check(proof)
    assert report.exit_code == 1
    (finding,) = report.findings
    assert "signed two books under example.org/league/book: 7 lines" in finding.message
    assert KEY.text() in finding.message
    assert (report.not_checked, report.unmet) == ([], [])
    assert any("FINDING step 5" in line for line in report_lines(report))
    assert FraudProof.parse(proof.data()) == proof
    assert len(proof.data()) < 2000


@pytest.mark.parametrize("size", range(1, 18))
@pytest.mark.parametrize("more", [1, 2, 5])
def test_a_fork_shown_to_two_readers(size: int, more: int) -> None:
    """One reader holds the book at `size`, the other a longer book that begins otherwise."""
    fork = book(("a", size - 1), ("b", more + 1))
    proof = conflict(signed(book(("a", size))), signed(fork), tree=fork)
    report = check(proof)
    assert report.exit_code == 1
    assert "have the root" in report.findings[0].message


@pytest.mark.parametrize("size", [n for n in range(2, 40) if n & (n - 1)])
@pytest.mark.parametrize("more", [1, 2, 3, 30])
def test_the_forks_own_proof_convicts_it(size: int, more: int) -> None:
    """A consistency proof that fits the fork's own first lines shows that they are others."""
    fork = book(("a", size - 1), ("b", more + 1))
    path = fork.path(size, fork.size)
    assert implied_prefix(size, fork.size, fork.root(fork.size), path) == fork.root(size)
    proof = conflict(signed(book(("a", size))), signed(fork), path=path)
    assert check(proof).exit_code == 1


def test_two_books_stamped_in_parallel_under_one_origin() -> None:
    """The operator keeps both books, and shows each stamp to whom it pleases."""
    one, two = book(("a", 30)), book(("a", 3), ("b", 27))
    assert fraud_between(signed(one, 3), signed(two, 3), KEY) is None  # not yet two
    for small, large in ((9, 12), (12, 12), (12, 30)):
        assert check(conflict(signed(one, small), signed(two, large), tree=two)).exit_code == 1


# ---- what is not shown


def test_one_book_at_two_sizes_is_no_fraud() -> None:
    tree = book(("a", 20))
    for small in (1, 2, 7, 8, 19, 20):
        assert fraud_between(signed(tree, small), signed(tree), KEY, tree=tree) is None
        path = tree.path(small, 20)
        assert fraud_between(signed(tree), signed(tree, small), KEY, path=path) is None
        if small < 20:
            honest = FraudProof(ORIGIN, KEY.text(), signed(tree, small), signed(tree))
            root = tree.root(small)
            for claim in (honest, FraudProof(*_parts(honest), root, tuple(path))):
                report = check(claim)
                assert (report.exit_code, report.findings) == (2, [])


def _parts(proof: FraudProof) -> tuple[str, str, bytes, bytes]:
    return proof.origin, proof.key, proof.first, proof.second


@pytest.mark.parametrize("size", [3, 4, 8, 11])
def test_an_honest_operator_is_not_framed_by_a_broken_proof(size: int) -> None:
    """Anybody can send a true checkpoint with junk for a proof: that shows nothing."""
    tree, other = book(("a", 20)), book(("b", 20))
    true = tree.path(size, 20)
    for path in ([], [b"\x07" * 32], other.path(size, 20), true[:-1], [*true, true[0]]):
        proof = conflict(signed(tree, size), signed(tree), path=path)
        assert not is_shown(proof)
        assert check(proof).exit_code == 2
    for junk in (b"\x07" * 32, other.root(size)):
        for path in (true, other.path(size, 20)):
            made = FraudProof(*_parts(proof), junk, tuple(path))
            report = check(made)
            assert (report.exit_code, report.findings) == (2, [])


def test_a_pair_without_evidence_says_so() -> None:
    report = check(conflict(signed(book(("a", 8))), signed(book(("b", 9)))))
    assert report.exit_code == 2
    assert "no evidence that they differ" in report.unmet[0]


def test_the_lines_of_another_book_are_no_evidence() -> None:
    tree, other = book(("a", 9)), book(("b", 9))
    assert not is_shown(conflict(signed(tree, 4), signed(tree), tree=other))


def test_a_signature_of_another_key_shows_nothing() -> None:
    fork = book(("b", 7))
    forged = sign_note(Checkpoint(ORIGIN, 7, fork.root(7)).text(), KEY, STRANGER.sign).encode()
    with pytest.raises(IntegrityError):
        fraud_between(signed(book(("a", 7))), forged, KEY)
    report = check(FraudProof(ORIGIN, KEY.text(), signed(book(("a", 7))), forged))
    assert report.exit_code == 2
    assert "second note" in report.unmet[0]


def test_two_origins_are_no_contradiction() -> None:
    one, other = signed(book(("a", 7))), signed(book(("b", 7)), origin="example.org/other")
    with pytest.raises(FormatError):
        fraud_between(one, other, KEY)
    assert check(FraudProof(ORIGIN, KEY.text(), one, other)).exit_code == 2


def test_no_lines_contradict_nothing() -> None:
    empty = sign_note(Checkpoint(ORIGIN, 0, EMPTY_ROOT).text(), KEY, PRIVATE.sign).encode()
    assert fraud_between(empty, signed(book(("a", 7))), KEY) is None


# ---- whose fraud


def test_a_key_swap_is_not_taken_for_the_readers_operator() -> None:
    """Somebody signs two books with a key of his own and puts our origin on them."""
    own = VerifierKey(ORIGIN, STRANGER.public_key().public_bytes_raw())
    notes = [
        sign_note(Checkpoint(ORIGIN, 7, book((name, 7)).root(7)).text(), own, STRANGER.sign)
        for name in "ab"
    ]
    proof = fraud_between(notes[0].encode(), notes[1].encode(), own)
    assert proof is not None
    report = check(proof)
    assert report.exit_code == 2
    assert "yours is" in report.unmet[0]
    unknown = check(proof, Options(AS_OF))
    assert unknown.exit_code == 1  # of that key it is shown; whose it is, is not
    assert len(unknown.not_checked) == 2
    assert check(proof, Options(AS_OF, require=("operator",))).unmet


def test_a_requirement_that_no_fraud_proof_meets_is_unmet() -> None:
    proof = conflict(signed(book(("a", 7))), signed(book(("b", 7))))
    options = Options(AS_OF, origin=ORIGIN, key=KEY.text(), require=("operator", "live"))
    assert check(proof, options).unmet == ["live: required, and a fraud proof cannot show it"]
    with pytest.raises(FormatError):
        check(proof, Options(AS_OF, require=("glory",)))


# ---- the form


@pytest.mark.parametrize(
    "change",
    [
        {"format": "beforehand-fraud/2"},
        {"more": 1},
        {"first": 7},
        {"origin": None},
        {"prefix": "AB" * 32},
        {"prefix": "ab"},
        {"path": "ab"},
        {"path": ["zz"]},
        {"path": ["ab" * 32] * 65},
    ],
)
def test_another_form_is_refused(change: dict[str, Any]) -> None:
    data = conflict(signed(book(("a", 7))), signed(book(("b", 7)))).data()
    with pytest.raises(FormatError):
        check_fraud(json.dumps({**json.loads(data), **change}).encode(), MINE)


def test_no_changed_byte_shows_another_fraud() -> None:
    """Whatever is changed, the file is refused, shows nothing, or shows the very same."""
    fork = book(("a", 5), ("b", 4))
    data = conflict(signed(book(("a", 6))), signed(fork), tree=fork).data()
    honest = check_fraud(data, MINE).findings
    for place in range(0, len(data), 3):
        changed = bytearray(data)
        changed[place] ^= 1
        try:
            report = check_fraud(bytes(changed), MINE)
        except FormatError:
            continue
        assert report.exit_code == 2 or report.findings == honest


# ---- the tree in memory


def test_a_leaf_tree_gives_proofs_that_check() -> None:
    tree = book(("a", 33))
    for old in range(1, 34):
        for new in (old, 33):
            check_consistency(old, new, tree.root(old), tree.root(new), tree.path(old, new))
    assert tree.path(0, 33) == []
    assert tree.root(0) == EMPTY_ROOT
    assert tree.root(1) == line_leaf(b"a 0")
    for old, new in ((5, 4), (1, 34), (-1, 3)):
        with pytest.raises(FormatError):
            tree.path(old, new)
    with pytest.raises(FormatError):
        LeafTree.of_lines([b"a"], 2)
