"""One file, one piece of evidence, and the exit code."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from beforehand.anchors.anchor import MAX_EVIDENCE_BYTES, Evidence, Subject
from beforehand.anchors.archive import WebArchive
from beforehand.anchors.extra import extra_module
from beforehand.anchors.foreign import GitRepository
from beforehand.anchors.lone import check_bytes, check_evidence
from beforehand.anchors.trust import Clone, Trust
from beforehand.book.stamped_list import ListedBook, StampedList, list_book
from beforehand.errors import FormatError, RuleError
from tests.anchors.conftest import NOTE, StillClock
from tests.anchors.shipped import AS_OF, OTS, RFC3161, SIGSTORE, authority, hello_trust
from tests.anchors.shipped import sigstore_trust as sigstore
from tests.anchors.test_archive import PAGE, archive

LOGS = sigstore()
TRUST = Trust(bitcoin=hello_trust(), authorities=(authority("sigstage"),), logs=LOGS.logs)


@pytest.mark.parametrize(
    ("file", "evidence", "code"),
    [
        (OTS / "hello-world.txt", OTS / "hello-world.txt.ots", 0),
        (OTS / "incomplete.txt", OTS / "hello-world.txt.ots", 1),
        (OTS / "incomplete.txt", OTS / "incomplete.txt.ots", 2),
        (RFC3161 / "hello.bin", RFC3161 / "sigstage/response-sha512.tsr", 0),
        (OTS / "incomplete.txt", RFC3161 / "sigstage/response-sha512.tsr", 1),
        (RFC3161 / "hello.bin", RFC3161 / "test_tsa/response.tsr", 1),
        (SIGSTORE / "a.txt", SIGSTORE / "happy-path-v0.3/bundle.sigstore.json", 0),
        (OTS / "empty", SIGSTORE / "happy-path-v0.3/bundle.sigstore.json", 1),
        (SIGSTORE / "a.txt", SIGSTORE / "invalid-inclusion-proof_fail/bundle.sigstore.json", 2),
        (SIGSTORE / "a.txt", SIGSTORE / "a.txt", 2),
        (SIGSTORE / "a.txt", OTS / "nothing.ots", 2),
        (OTS / "nothing", OTS / "hello-world.txt.ots", 2),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else str(value),
)
def test_exit_codes(file: Path, evidence: Path, code: int) -> None:
    verdict = check_evidence(file, evidence, TRUST, AS_OF)
    assert verdict.exit_code == code
    assert verdict.text().startswith(verdict.result)


def test_the_kind_is_read_from_the_bytes_not_the_name(tmp_path: Path) -> None:
    renamed = tmp_path / "proof.json"
    shutil.copy(OTS / "hello-world.txt.ots", renamed)
    assert check_evidence(OTS / "hello-world.txt", renamed, TRUST, AS_OF).exit_code == 0


def test_without_trust_nothing_is_checked() -> None:
    for file, evidence in (
        (OTS / "hello-world.txt", OTS / "hello-world.txt.ots"),
        (RFC3161 / "hello.bin", RFC3161 / "sigstage/response-sha512.tsr"),
        (SIGSTORE / "a.txt", SIGSTORE / "happy-path-v0.3/bundle.sigstore.json"),
    ):
        assert check_evidence(file, evidence, Trust(), AS_OF).exit_code == 2


BOOK = b'{"link":"%s"}\n{"link":"%s"}\n' % (b"a" * 64, b"b" * 64)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.jsonl"
    path.write_bytes(BOOK)
    return path


def listed(book: Path, *others: ListedBook) -> Path:
    """The list over the book as it is now, beside it."""
    path = book.with_name("list.txt")
    with book.open("rb") as stream:
        stamped = list_book(stream, "api/v1/blind/book.jsonl", "example.org/blind/book")
    path.write_bytes(StampedList((*others, *stamped.books), stamped.trees).data())
    return path


def test_a_stamped_list_alone_checks_and_proves_no_time(book: Path) -> None:
    place = listed(book)
    book.write_bytes(BOOK + b'{"later": 1}\n')
    verdict = check_evidence(book, place, Trust(), AS_OF)
    assert (verdict.exit_code, verdict.not_after, verdict.bound) == (0, None, False)
    assert "begins with the 2 lines" in verdict.words
    assert "alone it proves no time" in verdict.text()


@pytest.mark.parametrize("change", [(b'"a', b'"c'), (b'"b', b'"c'), (b"}\n{", b"}\r\n{")])
def test_a_book_that_does_not_keep_to_its_list(book: Path, change: tuple[bytes, bytes]) -> None:
    place = listed(book)
    book.write_bytes(BOOK.replace(*change))
    assert check_evidence(book, place, Trust(), AS_OF).exit_code == 1
    book.write_bytes(BOOK[: BOOK.index(b"\n") + 1])
    cut = check_evidence(book, place, Trust(), AS_OF)
    assert (cut.exit_code, "its tail was dropped" in cut.words) == (1, True)


def test_of_several_listed_books_the_one_that_fits(book: Path) -> None:
    other = ListedBook("api/v1/depth/book.jsonl", 1, "0" * 64, "1" * 64)
    place = listed(book, other)
    assert check_evidence(book, place, Trust(), AS_OF).exit_code == 0
    renamed = book.rename(book.with_name("copy"))
    assert check_evidence(renamed, place, Trust(), AS_OF).exit_code == 0
    renamed.write_bytes(BOOK.replace(b'"b', b'"c'))
    verdict = check_evidence(renamed, place, Trust(), AS_OF)
    assert (verdict.exit_code, len(verdict.notes)) == (1, 1)


def test_a_list_that_cannot_be_checked(book: Path, tmp_path: Path) -> None:
    place = listed(book)
    assert check_evidence(tmp_path / "none", place, Trust(), AS_OF).exit_code == 2
    place.write_bytes(place.read_bytes() * 2)
    twice = check_evidence(book, place, Trust(), AS_OF)
    assert (twice.exit_code, "twice" in twice.words) == (2, True)
    place.write_bytes(b"prose alone\n")
    assert "nor a stamped list" in check_evidence(book, place, Trust(), AS_OF).words


def test_evidence_over_the_limit(tmp_path: Path) -> None:
    large = tmp_path / "large.ots"
    large.write_bytes(bytes(MAX_EVIDENCE_BYTES + 1))
    verdict = check_evidence(OTS / "empty", large, TRUST, AS_OF)
    assert (verdict.exit_code, "over" in verdict.words) == (2, True)
    with pytest.raises(FormatError, match="limit"):
        Evidence("a", "complete", bytes(MAX_EVIDENCE_BYTES + 1), "x")
    with pytest.raises(FormatError, match="pending or complete"):
        Evidence("a", "anchored", b"", "x")


def test_records_of_plain_channels(tmp_path: Path, clock: StillClock) -> None:
    subject = Subject.of_bytes(NOTE)
    with archive(NOTE) as served:
        capture = WebArchive(PAGE, served.url).submit(NOTE).data
    assert check_bytes(capture, subject, Trust(), "2027-01-01T00:00:00Z").exit_code == 0
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    far = tmp_path / "far.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(far)], check=True)
    record = GitRepository(str(far), tmp_path / "w", clock).submit(NOTE).data
    trust = Trust(clones={str(far): Clone(far)})
    assert check_bytes(record, subject, trust, "2027-01-01T00:00:00Z").exit_code == 0


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *rest: object) -> ModuleType:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("beforehand.anchors.extra.import_module", refuse)
    with pytest.raises(RuleError, match=r"pip install 'beforehand\[anchors\]'"):
        extra_module("opentimestamps.core.op")
    for file, evidence in (
        (OTS / "hello-world.txt", OTS / "hello-world.txt.ots"),
        (RFC3161 / "hello.bin", RFC3161 / "sigstage/response-sha512.tsr"),
    ):
        verdict = check_evidence(file, evidence, TRUST, AS_OF)
        assert (verdict.exit_code, "beforehand[anchors]" in verdict.words) == (2, True)
    # Bundles need no library of the extra, but for time-stamp tokens in them.
    bundle = SIGSTORE / "happy-path-v0.3/bundle.sigstore.json"
    assert check_evidence(SIGSTORE / "a.txt", bundle, TRUST, AS_OF).exit_code == 0
    staging = sigstore(SIGSTORE / "rekor2-happy-path/trusted_root.json")
    stamped = SIGSTORE / "rekor2-happy-path/bundle.sigstore.json"
    assert check_evidence(SIGSTORE / "a.txt", stamped, staging, AS_OF).exit_code == 2


def test_checks_open_no_connection() -> None:
    """What a reader recomputes does not even load an HTTP client."""
    code = """
import sys
for name in ("urllib.request", "http.client", "ssl"):
    sys.modules[name] = None
import beforehand.anchors.lone, beforehand.anchors.trust_files
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_digest_has_32_bytes() -> None:
    with pytest.raises(FormatError, match="32 bytes"):
        Subject.of_digest(b"short")
