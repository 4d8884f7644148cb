"""OpenTimestamps: real proofs, and the whole way on a chain of our own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from beforehand.anchors.anchor import CHECKS, COMPLETE, PENDING, REFUSED, UNCHECKED, Subject
from beforehand.anchors.node import node_headers
from beforehand.anchors.opentimestamps import MEDIA, OpenTimestamps
from beforehand.anchors.ots_check import check_ots, needed_heights
from beforehand.anchors.ots_file import attestations, parse_proof, proof_bytes
from beforehand.anchors.trust import BitcoinTrust, Trust
from beforehand.clock import SystemClock
from beforehand.errors import FormatError, RemoteError
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.served import Served, Told
from tests.anchors.conftest import NOTE, OTHER_NOTE
from tests.anchors.shipped import AS_OF, HELLO_BLOCK, OTS, hello_trust

DIGEST = hashlib.sha256(NOTE).digest()


def proof(name: str) -> bytes:
    return (OTS / f"{name}.ots").read_bytes()


def subject(name: str) -> Subject:
    return Subject.of_file(OTS / name)


def anchor(calendar: LocalCalendar) -> OpenTimestamps:
    return OpenTimestamps(calendars=(calendar.url,), trusted=(calendar.url,))


def trust_in(calendar: LocalCalendar) -> Trust:
    return Trust(bitcoin=BitcoinTrust(calendar.chain.headers, least_difficulty=0))


def test_a_real_proof_against_the_real_header() -> None:
    verdict = check_ots(proof("hello-world.txt"), subject("hello-world.txt"), hello_trust(), AS_OF)
    assert verdict.result == CHECKS
    # `ots verify` says "Bitcoin block 358391 attests existence as of 2015-05-28".
    assert "block 358391" in verdict.words
    assert "2015-05-28T15:41:18Z" in verdict.words
    assert verdict.not_after == "2015-05-28T17:41:18Z"  # with the two hours' margin
    assert verdict.level == "2"
    assert verdict.excludes_not


def test_a_real_proof_is_not_for_another_file() -> None:
    verdict = check_ots(proof("hello-world.txt"), subject("incomplete.txt"), hello_trust(), AS_OF)
    assert (verdict.result, verdict.exit_code) == (REFUSED, 1)


def test_without_the_header_nothing_is_checked() -> None:
    verdict = check_ots(proof("hello-world.txt"), subject("hello-world.txt"), BitcoinTrust(), AS_OF)
    assert (verdict.result, verdict.exit_code) == (UNCHECKED, 2)
    assert needed_heights(proof("hello-world.txt")) == [HELLO_BLOCK]


def test_a_block_after_the_asked_instant_is_no_proof_for_it() -> None:
    verdict = check_ots(
        proof("hello-world.txt"), subject("hello-world.txt"), hello_trust(), "2015-05-28T15:00:00Z"
    )
    assert verdict.result == UNCHECKED


@pytest.mark.parametrize("name", ["incomplete.txt", "two-calendars.txt"])
def test_real_pending_proofs_prove_no_time(name: str) -> None:
    verdict = check_ots(proof(name), subject(name), hello_trust(), AS_OF)
    assert verdict.result == UNCHECKED
    assert "pending" in verdict.words
    assert any("calendar.opentimestamps.org" in note for note in verdict.notes)


@pytest.mark.parametrize("name", ["unknown-notary.txt", "known-and-unknown-notary.txt"])
def test_unknown_attestations_are_kept_and_reported(name: str) -> None:
    data = proof(name)
    assert proof_bytes(parse_proof(data)) == data
    verdict = check_ots(data, subject(name), hello_trust(), AS_OF)
    assert verdict.result == UNCHECKED
    assert any("0102030405060708" in note for note in verdict.notes)


def test_other_chains_are_reported_and_not_checked() -> None:
    kinds = [leaf.kind for leaf in attestations(parse_proof(proof("different-blockchains.txt")))]
    assert kinds == ["bitcoin", "pending", "pending", "other"]


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_proof_by_sha1_names_no_single_file(name: str) -> None:
    """`a` and `b` are two files under one SHA-1, and the proof would hold for both."""
    verdict = check_ots((OTS / "a-or-b.ots").read_bytes(), subject(name), hello_trust(), AS_OF)
    assert verdict.result == UNCHECKED
    assert "sha1" in verdict.words


def test_the_difficulty_of_an_early_block_is_below_what_is_trusted() -> None:
    assert needed_heights(proof("empty")) == [129405]


@pytest.mark.parametrize("path", sorted(OTS.glob("*.ots")), ids=lambda path: path.stem)
def test_real_proofs_are_written_as_they_were_read(path: Path) -> None:
    assert proof_bytes(parse_proof(path.read_bytes())) == path.read_bytes()


def test_from_a_promise_to_a_block(calendar: LocalCalendar) -> None:
    own = anchor(calendar)
    pending = own.submit(NOTE)
    assert (pending.state, pending.media) == (PENDING, MEDIA)
    assert own.check(pending, DIGEST, trust_in(calendar), AS_OF).result == UNCHECKED
    assert own.upgrade(pending).state == PENDING  # no block yet
    calendar.promise(bytes(32))  # somebody else's digest, in the same block
    height = calendar.mine()
    complete = own.upgrade(pending)
    assert complete.state == COMPLETE
    verdict = own.check(complete, DIGEST, trust_in(calendar), AS_OF.replace("11-30", "12-31"))
    assert (verdict.result, verdict.not_after) == (CHECKS, "2026-11-30T14:00:00Z")
    assert f"block {height}" in verdict.words
    other = hashlib.sha256(OTHER_NOTE).digest()
    assert own.check(complete, other, trust_in(calendar), AS_OF).result == REFUSED


def test_a_block_of_two_calendars_the_earliest_counts(calendar: LocalCalendar) -> None:
    own = OpenTimestamps(calendars=(calendar.url, calendar.url), trusted=(calendar.url,), least=2)
    pending = own.submit(NOTE)
    calendar.mine()
    evidence = own.upgrade(pending)
    assert own.check(evidence, DIGEST, trust_in(calendar), "2027-01-01T00:00:00Z").result == CHECKS


def test_a_node_supplies_the_header(calendar: LocalCalendar) -> None:
    own = anchor(calendar)
    pending = own.submit(NOTE)
    calendar.mine()
    evidence = own.upgrade(pending)
    headers = node_headers(calendar.url, needed_heights(evidence.data))
    trust = Trust(bitcoin=BitcoinTrust(headers, least_difficulty=0))
    assert own.check(evidence, DIGEST, trust, "2027-01-01T00:00:00Z").result == CHECKS


def test_margin_and_chained_headers_are_told(calendar: LocalCalendar) -> None:
    own = anchor(calendar)
    for _ in range(11):
        calendar.mine()
    pending = own.submit(NOTE)
    calendar.mine()
    calendar.mine()
    verdict = own.check(own.upgrade(pending), DIGEST, trust_in(calendar), "2027-01-01T00:00:00Z")
    told = " ".join(verdict.notes)
    assert "margin 120 minutes" in told
    assert "1 supplied headers are chained on top" in told
    assert "median time of the 11 blocks before: 2026-11-30T12:00:05Z" in told


def test_two_submissions_of_one_note_differ(calendar: LocalCalendar) -> None:
    """The random bytes keep a calendar from recognising what it is given."""
    own = anchor(calendar)
    assert own.submit(NOTE).data != own.submit(NOTE).data


def test_one_calendar_may_be_away(calendar: LocalCalendar) -> None:
    both = (calendar.url, "http://127.0.0.1:9")
    assert OpenTimestamps(calendars=both).submit(NOTE).state == PENDING
    with pytest.raises(RemoteError, match="1 of 2 calendars") as caught:
        OpenTimestamps(calendars=both, least=2).submit(NOTE)
    assert caught.value.retryable


def test_a_promise_is_followed_only_to_calendars_that_are_trusted(calendar: LocalCalendar) -> None:
    """The address in a promise is the calendar's word: it could be anything on our network."""
    pending = OpenTimestamps(calendars=(calendar.url,)).submit(NOTE)
    calendar.mine()
    assert OpenTimestamps(calendars=(calendar.url,)).upgrade(pending).state == PENDING
    patterns = ("https://*.calendar.opentimestamps.org", calendar.url)
    assert OpenTimestamps(trusted=patterns).upgrade(pending).state == COMPLETE


@pytest.mark.parametrize("body", [b"", b"\x00", b"\xff" * 300, b"\xf0\x01a" * 3000])
def test_a_calendar_that_answers_otherwise_is_a_far_side_that_failed(body: bytes) -> None:
    with Served(lambda asked: Told(200, body, MEDIA)) as served, pytest.raises(RemoteError):
        OpenTimestamps(calendars=(served.url,)).submit(NOTE)


def test_a_malformed_proof_could_not_be_checked() -> None:
    verdict = check_ots(b"\x00OpenTimestamps", Subject.of_bytes(b""), hello_trust(), AS_OF)
    assert (verdict.result, verdict.exit_code) == (UNCHECKED, 2)
    with pytest.raises(FormatError, match="over"):
        parse_proof(bytes(1 << 17))


def test_a_header_of_another_block_is_refused(calendar: LocalCalendar) -> None:
    own = anchor(calendar)
    pending = own.submit(NOTE)
    calendar.mine()
    calendar.mine()
    swapped = {**calendar.chain.headers, 1: calendar.chain.headers[2]}
    trust = Trust(bitcoin=BitcoinTrust(swapped, least_difficulty=0))
    verdict = own.check(own.upgrade(pending), DIGEST, trust, "2027-01-01T00:00:00Z")
    assert verdict.result == REFUSED
    assert "Merkle root" in verdict.words


def test_a_full_node_takes_the_blocks(tmp_path: Path) -> None:
    """Bitcoin Core's own consensus code (libbitcoinkernel, regtest) validates every block."""
    pbk = pytest.importorskip("pbk", reason="py-bitcoinkernel is not installed: no node at hand")
    calendar = LocalCalendar(SystemClock())  # a node refuses blocks of a far future
    calendar.url = "http://127.0.0.1:9"
    for number in range(3):
        calendar.promise(number.to_bytes(32, "big"))
        calendar.mine()
    manager = pbk.load_chainman(tmp_path, pbk.ChainType.REGTEST)
    for raw in calendar.chain.blocks[1:]:
        assert manager.process_block(pbk.Block(raw))
    tip = manager.get_active_chain()
    assert tip.height == calendar.chain.height
