"""The witness on a real socket: the protocol, forks, kills, and what nobody gets it to sign."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.anchors.add_checkpoint import AddCheckpoint, told_size
from beforehand.book.checkpoint import Checkpoint, VerifierKey, sign_note
from beforehand.book.consistency import LeafTree
from beforehand.book.cosignature import (
    NoteLine,
    WitnessKey,
    attach_lines,
    check_cosignature,
    cosignatures,
    note_line,
    note_parts,
)
from beforehand.book.fraud import check_fraud
from beforehand.book.options import Options
from beforehand.book.tree import EMPTY_ROOT
from beforehand.clock import instant_key
from beforehand.errors import FormatError, RuleError
from beforehand.relay.problem import HEADERS
from beforehand.relay.witness_home import make_witness, open_witness
from beforehand.relay.witness_logs import LOGS_NAME, FollowedLogs, logs_text, parse_logs
from beforehand.relay.witness_outcome import Refused, Signed, Stale
from beforehand.relay.witness_state import STATE_NAME, WitnessState, log_hash
from tests.relay.witness_world import (
    NOW,
    ORIGIN,
    HandClock,
    Operator,
    ServedWitness,
    ask,
    book,
    new_witness,
    served_witness,
)

OPERATOR = Operator()
TREE = book(("a", 40))
FORK = book(("a", 5), ("b", 35))
SECONDS = int(instant_key(NOW).timestamp())
MINE = Options(NOW, origin=ORIGIN, key=OPERATOR.key.text())


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_witness(tmp_path / "witness")
    return tmp_path / "witness"


@pytest.fixture
def witness(folder: Path, clock: HandClock) -> Iterator[ServedWitness]:
    with served_witness(folder, clock) as served:
        yield served


def grow(witness: ServedWitness, tree: LeafTree, *sizes: int) -> bytes:
    """Take the witness through sizes; the last checkpoint with its cosignature."""
    old, note = witness.witness.state.size(ORIGIN), b""
    for size in sizes:
        reply = witness.post(OPERATOR.ask(tree, old, size))
        assert reply.status == 200, reply.body
        note = attach_lines(OPERATOR.sign(tree, size), [line_of(reply.body)])
        old = size
    return note


def line_of(body: bytes) -> NoteLine:
    text = body.decode()
    assert text.endswith("\n")
    return note_line(text[:-1])


def conflicts(witness: ServedWitness) -> list[tuple[bool, int]]:
    """What the witness publishes: whether each conflict shows itself, and its exit code."""
    reply = witness.get("/fraud/")
    assert reply.status == 200
    found = []
    for each in json.loads(reply.body)["conflicts"]:
        assert each["origin"] == ORIGIN
        data = witness.get(f"/fraud/{each['file']}").body
        found.append((each["shown"], check_fraud(data, MINE).exit_code))
    return found


# ---- the protocol


def test_a_log_is_cosigned_from_first_contact_on(witness: ServedWitness, clock: HandClock) -> None:
    reply = witness.post(OPERATOR.ask(TREE, 0, 7))
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    note = attach_lines(OPERATOR.sign(TREE, 7), [line_of(reply.body)])
    assert cosignatures(note, [witness.key]) == [(witness.key.name, SECONDS)]
    assert Checkpoint.open(note, OPERATOR.key).size == 7
    clock.instant = "2026-11-30T12:00:09Z"
    grown = grow(witness, TREE, 8, 13, 40)
    assert cosignatures(grown, [witness.key]) == [(witness.key.name, SECONDS + 9)]
    assert witness.get(f"/log/{log_hash(ORIGIN)}/checkpoint").body == grown
    assert all(reply.headers[name] == value for name, value in HEADERS.items())


def test_the_same_checkpoint_is_cosigned_again_with_a_new_time(
    witness: ServedWitness, clock: HandClock
) -> None:
    grow(witness, TREE, 7)
    clock.instant = "2026-11-30T13:00:00Z"
    again = witness.post(OPERATOR.ask(TREE, 7, 7))
    assert again.status == 200
    note = attach_lines(OPERATOR.sign(TREE, 7), [line_of(again.body)])
    assert cosignatures(note, [witness.key]) == [(witness.key.name, SECONDS + 3600)]


def test_another_old_size_is_told_the_right_one_in_the_media_type_of_the_protocol(
    witness: ServedWitness,
) -> None:
    grow(witness, TREE, 7)
    for old in (0, 3, 8):
        reply = witness.post(OPERATOR.ask(TREE, old, 12))
        assert (reply.status, reply.body) == (409, b"7\n")
        assert reply.headers["Content-Type"] == "text/x.tlog.size"  # and no parameter behind it
        assert told_size(reply.headers["Content-Type"], reply.body) == 7
    assert conflicts(witness) == []


def test_an_unknown_origin_is_not_found(witness: ServedWitness) -> None:
    other = Operator("example.org/other/book")
    assert witness.post(other.ask(TREE, 0, 7)).status == 404


def test_a_checkpoint_without_the_logs_signature_is_forbidden(witness: ServedWitness) -> None:
    honest = OPERATOR.ask(TREE, 0, 7)
    stranger = Operator(seed=bytes(32))
    text = note_parts(OPERATOR.sign(TREE, 7))[0]
    false = sign_note(text, OPERATOR.key, stranger.private.sign).encode()
    unsigned = honest.replace("— example.org/league/book".encode(), "— somebody.else".encode())
    for body in (
        AddCheckpoint(0, (), false).data(),
        stranger.ask(TREE, 0, 7),
        unsigned,
    ):
        assert witness.post(body).status == 403
    assert witness.witness.state.size(ORIGIN) == 0


def test_signatures_of_others_on_the_checkpoint_are_ignored_and_not_kept(
    witness: ServedWitness,
) -> None:
    others = [NoteLine("somebody.else", bytes(80)), NoteLine("another", bytes(2436))]
    note = attach_lines(OPERATOR.sign(TREE, 7), others)
    assert witness.post(AddCheckpoint(0, (), note).data()).status == 200
    kept = witness.get(f"/log/{log_hash(ORIGIN)}/checkpoint").body
    assert [line.name for line in note_parts(kept)[1]] == [ORIGIN, witness.key.name]


HONEST = OPERATOR.ask(TREE, 3, 7)
NO_NOTE = HONEST.partition(b"\n\n")[0]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\n",
        NO_NOTE,
        HONEST[:-1],
        HONEST + b"\n",
        HONEST.replace(b"\n", b"\r\n"),
        HONEST.replace(b"old 3", b"old 03"),
        HONEST.replace(b"old 3", b"old  3"),
        HONEST.replace(b"old 3", b"old -3"),
        HONEST.replace(b"old 3", b"Old 3"),
        HONEST.replace(b"old 3", "old ٣".encode()),
        HONEST.replace(b"old 3", b"old 9223372036854775808"),
        HONEST.replace(b"old 3\n", b"old 3\n\n"),
        HONEST.replace(b"=\n", b"\n", 1),
        HONEST.replace(b"old 3\n", b"old 3\nAAAA\n"),
        HONEST.replace(b"old 3\n", b"old 3\n" + b"A" * 43 + b"=\n" + b"A" * 43 + b"=\n" * 62),
        OPERATOR.ask(TREE, 3, 7, [bytes(32)] * 64),
        HONEST.replace(b"\n7\n", b"\n07\n"),
        HONEST.replace(b"\n7\n", b"\n9223372036854775808\n"),
        HONEST.replace(b"example.org", b"\xff\xfe"),
    ],
)
def test_a_malformed_request_is_a_bad_request(witness: ServedWitness, body: bytes) -> None:
    reply = witness.post(body)
    assert reply.status == 400, reply.body
    assert b"<" not in reply.body
    assert witness.witness.state.size(ORIGIN) == 0


def test_a_shrinking_size_is_a_bad_request(witness: ServedWitness) -> None:
    grow(witness, TREE, 20)
    path = TREE.path(7, 20)
    assert witness.post(OPERATOR.ask(TREE, 20, 7, path)).status == 400
    assert witness.witness.state.size(ORIGIN) == 20


def test_a_proof_that_does_not_hold_is_unprocessable(witness: ServedWitness) -> None:
    grow(witness, TREE, 7)
    good = TREE.path(7, 12)
    for path in ([], good[:-1], [*good, good[0]], good[::-1], [bytes(32)] * len(good)):
        assert witness.post(OPERATOR.ask(TREE, 7, 12, path)).status == 422
    assert witness.post(OPERATOR.ask(TREE, 7, 7, good)).status == 422
    assert witness.witness.state.size(ORIGIN) == 7


def test_first_contact_takes_no_proof(witness: ServedWitness) -> None:
    assert witness.post(OPERATOR.ask(TREE, 0, 7, [bytes(32)])).status == 422


def test_the_empty_tree_has_one_root(witness: ServedWitness) -> None:
    note = sign_note(
        Checkpoint(ORIGIN, 0, bytes(32)).text(), OPERATOR.key, OPERATOR.private.sign
    ).encode()
    assert witness.post(AddCheckpoint(0, (), note).data()).status == 422
    assert TREE.root(0) == EMPTY_ROOT
    assert witness.post(OPERATOR.ask(TREE, 0, 0)).status == 200
    assert witness.post(OPERATOR.ask(TREE, 0, 7)).status == 200


def test_what_else_is_there_and_what_is_not(witness: ServedWitness) -> None:
    assert witness.key.text().encode() in witness.get("/").body
    assert witness.get("/logs").body.decode() == f"{OPERATOR.key.text()} {ORIGIN}\n"
    assert witness.get("/healthz").body == b"ok\n"
    assert witness.get(f"/log/{log_hash(ORIGIN)}/checkpoint").status == 404
    for path in ("/log/x/checkpoint", "/log/..%2fstate.db/checkpoint", "/fraud/x.fraud", "/x"):
        assert witness.get(path).status == 404
    assert witness.get(f"/fraud/{'0' * 64}.fraud").status == 404
    assert ask(witness.host, witness.port, "DELETE", "/logs").status == 405
    assert witness.get("/add-checkpoint").status == 405
    assert witness.post(b"old 0\n" * 20_000).status == 413


@given(st.integers(0, (1 << 63) - 1), st.lists(st.binary(min_size=32, max_size=32), max_size=63))
def test_a_request_is_read_as_it_was_written(old: int, path: list[bytes]) -> None:
    asked = AddCheckpoint(old, tuple(path), OPERATOR.sign(TREE, 7))
    assert AddCheckpoint.parse(asked.data()) == asked


@pytest.mark.parametrize(
    ("media", "body", "size"),
    [
        ("text/x.tlog.size", b"0\n", 0),
        ("text/x.tlog.size", b"50", None),
        ("text/x.tlog.size", b"050\n", None),
        ("text/x.tlog.size", b"9223372036854775808\n", None),
        ("text/x.tlog.size; charset=utf8", b"51\n", None),
        ("text/plain", b"10\n", None),
    ],
)
def test_a_told_size_has_one_spelling(media: str, body: bytes, size: int | None) -> None:
    assert told_size(media, body) == size


# ---- forks


def test_conflicting_checkpoints_of_one_size_are_refused_and_published(
    witness: ServedWitness,
) -> None:
    grow(witness, TREE, 9)
    reply = witness.post(OPERATOR.ask(FORK, 9, 9))
    assert reply.status == 422
    assert conflicts(witness) == [(True, 1)]
    # The same again adds nothing, and the first-seen book goes on being cosigned.
    witness.post(OPERATOR.ask(FORK, 9, 9))
    assert conflicts(witness) == [(True, 1)]
    grow(witness, TREE, 12)


@pytest.mark.parametrize("old", [6, 7, 9, 11])
def test_an_extension_of_another_book_convicts_itself(witness: ServedWitness, old: int) -> None:
    grow(witness, TREE, old)
    assert witness.post(OPERATOR.ask(FORK, old, 30)).status == 422
    assert conflicts(witness) == [(True, 1)]
    assert witness.witness.state.size(ORIGIN) == old


def test_a_fork_of_an_older_size_is_seen_whatever_old_size_comes_with_it(
    witness: ServedWitness,
) -> None:
    """Two books stamped in parallel under one origin: the second one's checkpoint gives it away."""
    grow(witness, TREE, 6, 9, 20)
    for body in (OPERATOR.ask(FORK, 0, 9), OPERATOR.ask(FORK, 6, 11)):
        reply = witness.post(body)
        assert (reply.status, reply.body) == (409, b"20\n")
    assert conflicts(witness) == [(True, 1), (True, 1)]


def test_a_fork_at_a_power_of_two_is_refused_and_kept_without_evidence(
    witness: ServedWitness,
) -> None:
    grow(witness, TREE, 8)
    assert witness.post(OPERATOR.ask(FORK, 8, 30)).status == 422
    assert conflicts(witness) == [(False, 2)]


@pytest.mark.parametrize("old", [7, 8])
def test_an_honest_operator_is_not_framed_by_a_stranger(witness: ServedWitness, old: int) -> None:
    """Anybody may send a true checkpoint with a broken proof; a good one clears it up."""
    grow(witness, TREE, old)
    for junk in range(20):
        path = [bytes([junk]) * 32] * 3
        assert witness.post(OPERATOR.ask(TREE, old, 12, path)).status == 422
    assert conflicts(witness) == [(False, 2)]
    grow(witness, TREE, 12)
    assert conflicts(witness) == []


def test_a_stale_request_with_a_broken_proof_is_no_conflict(witness: ServedWitness) -> None:
    """Only where a proof was due and is wrong is a pair without evidence kept."""
    grow(witness, TREE, 7, 12)
    for size in (9, 20):
        reply = witness.post(OPERATOR.ask(TREE, 7, size, [bytes(32)] * 3))
        assert (reply.status, reply.body) == (409, b"12\n")
    assert conflicts(witness) == []


def test_kept_conflicts_are_bounded(witness: ServedWitness) -> None:
    grow(witness, TREE, 7)
    for n in range(20):
        other = book((f"c{n}", 9))
        assert witness.post(OPERATOR.ask(other, 7, 7)).status == 422
        assert witness.post(OPERATOR.ask(other, 7, 9, [bytes(32)] * 3)).status == 422
    found = conflicts(witness)
    assert found.count((True, 1)) == 16
    assert found.count((False, 2)) == 16


def test_a_replayed_old_checkpoint_changes_nothing(witness: ServedWitness) -> None:
    grow(witness, TREE, 7, 12)
    for old, size in ((0, 7), (7, 7), (0, 12), (7, 12), (3, 5)):
        reply = witness.post(OPERATOR.ask(TREE, old, size))
        assert (reply.status, reply.body) == (409, b"12\n")
    assert conflicts(witness) == []
    kept = witness.get(f"/log/{log_hash(ORIGIN)}/checkpoint").body
    assert Checkpoint.open(kept, OPERATOR.key).size == 12


def test_a_rollback_of_the_book_to_an_old_state_is_refused(witness: ServedWitness) -> None:
    """The operator puts an old copy back and writes on: the witness has seen more."""
    grow(witness, TREE, 5, 11)
    back = book(("a", 5), ("c", 10))  # what was put back, written on
    for size in (5, 7, 11, 15):
        assert witness.post(OPERATOR.ask(back, 5, size)).body == b"11\n"
    assert witness.post(OPERATOR.ask(back, 11, 15)).status == 422
    assert (True, 1) in conflicts(witness)


# ---- keys


def test_a_key_swap_is_refused(folder: Path, witness: ServedWitness) -> None:
    """Same origin, same name, other bytes: not by its checkpoint, nor by the list of logs."""
    grow(witness, TREE, 7)
    swapped = Operator(seed=bytes(32))
    assert witness.post(swapped.ask(TREE, 7, 12)).status == 403
    with pytest.raises(RuleError, match="pinned for ever"):
        FollowedLogs(folder).add(ORIGIN, swapped.key)
    (folder / LOGS_NAME).write_text(logs_text({ORIGIN: swapped.key}), encoding="utf-8")
    assert witness.post(swapped.ask(TREE, 7, 12)).status == 503
    assert witness.witness.state.size(ORIGIN) == 7


def test_a_key_swapped_in_the_list_stops_the_start(folder: Path, clock: HandClock) -> None:
    with served_witness(folder, clock) as served:
        grow(served, TREE, 7)
    (folder / LOGS_NAME).write_text(
        logs_text({ORIGIN: Operator(seed=bytes(32)).key}), encoding="utf-8"
    )
    with pytest.raises(RuleError, match="for ever"), served_witness(folder, clock):
        pass


def test_a_log_is_followed_while_the_witness_runs(folder: Path, witness: ServedWitness) -> None:
    other = Operator("example.org/other/book", bytes(32))
    assert witness.post(other.ask(TREE, 0, 7)).status == 404
    assert FollowedLogs(folder).add(other.origin, other.key)
    assert not FollowedLogs(folder).add(other.origin, other.key)
    assert witness.post(other.ask(TREE, 0, 7)).status == 200


def test_a_broken_list_of_logs_signs_nothing(folder: Path, witness: ServedWitness) -> None:
    (folder / LOGS_NAME).write_text("no key at all\n", encoding="utf-8")
    assert witness.post(OPERATOR.ask(TREE, 0, 7)).status == 503


def test_the_witness_does_not_follow_its_own_key(folder: Path) -> None:
    own = open_witness(folder).verifier
    FollowedLogs(folder).add("example.org/self", VerifierKey("example.org/self", own.public))
    with pytest.raises(RuleError, match="own key"), served_witness(folder, HandClock()):
        pass


@pytest.mark.parametrize(
    "text",
    [
        "key origin\n",
        OPERATOR.key.text() + "\n",
        OPERATOR.key.text() + "  two spaces\n",
        f"{OPERATOR.key.text()} {'x' * 256}\n",
        f"{OPERATOR.key.text()} a\n{OPERATOR.key.text()} a\n",
        f"{OPERATOR.key.text()} a\u2028b\n",
    ],
)
def test_a_malformed_list_of_logs_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        parse_logs(text)


def test_the_list_of_logs_is_read_as_it_was_written() -> None:
    logs = {ORIGIN: OPERATOR.key, "go.sum database tree": OPERATOR.key}
    assert parse_logs(logs_text(logs)) == logs


# ---- time


def test_no_cosignature_is_dated_back(witness: ServedWitness, clock: HandClock) -> None:
    grow(witness, TREE, 7)
    for behind, instant in ((1, "2026-11-30T11:59:59Z"), (3600, "2026-11-30T11:00:00Z")):
        clock.instant = instant
        reply = witness.post(OPERATOR.ask(TREE, 7, 12))
        assert reply.status == 503
        assert int(reply.headers["Retry-After"]) == min(behind + 1, 300)
    clock.instant = "1969-12-31T23:59:59Z"
    assert witness.post(OPERATOR.ask(TREE, 7, 12)).status == 503
    assert witness.witness.state.size(ORIGIN) == 7
    clock.instant = NOW
    assert witness.post(OPERATOR.ask(TREE, 7, 12)).status == 200


def test_times_never_run_back_over_all_logs_and_restarts(tmp_path: Path, clock: HandClock) -> None:
    other = Operator("example.org/other/book", bytes(32))
    new_witness(tmp_path / "w", OPERATOR, other)
    with served_witness(tmp_path / "w", clock) as served:
        grow(served, TREE, 7)
    clock.instant = "2026-11-30T11:59:00Z"
    with served_witness(tmp_path / "w", clock) as served:
        assert served.post(other.ask(TREE, 0, 7)).status == 503


# ---- state


def test_a_state_that_was_set_back_retires_the_witness(
    folder: Path, clock: HandClock, tmp_path: Path
) -> None:
    """An old copy of the state would cosign a second history; its own signature tells on it."""
    with served_witness(folder, clock) as served:
        grow(served, TREE, 6)
    shutil.copy(folder / STATE_NAME, tmp_path / "old.db")
    clock.instant = "2026-11-30T12:30:00Z"
    with served_witness(folder, clock) as served:
        cosigned = grow(served, TREE, 12)
    shutil.copy(tmp_path / "old.db", folder / STATE_NAME)
    clock.instant = "2026-11-30T13:00:00Z"
    with served_witness(folder, clock) as served:
        # What its log or a reader holds, shown to it.
        reply = served.post(AddCheckpoint(6, tuple(TREE.path(6, 12)), cosigned).data())
        assert reply.status == 503
        assert b"set back" in reply.body
        assert served.post(OPERATOR.ask(FORK, 6, 12)).status == 503
    with served_witness(folder, clock) as served:
        assert served.post(OPERATOR.ask(TREE, 6, 12)).status == 503
        assert served.get("/healthz").status == 503


def test_a_false_line_under_our_name_retires_nobody(witness: ServedWitness) -> None:
    grow(witness, TREE, 7)
    key = witness.key
    forged = NoteLine(key.name, key.key_id + (SECONDS + 99).to_bytes(8, "big") + bytes(64))
    note = attach_lines(OPERATOR.sign(TREE, 12), [forged])
    reply = witness.post(AddCheckpoint(7, tuple(TREE.path(7, 12)), note).data())
    assert reply.status == 200


def test_our_own_cosignature_sent_back_is_no_alarm(witness: ServedWitness) -> None:
    note = grow(witness, TREE, 7)
    assert witness.post(AddCheckpoint(7, (), note).data()).status == 200
    assert witness.post(AddCheckpoint(0, (), note).data()).status == 409


def test_a_key_whose_state_is_lost_is_refused(folder: Path, clock: HandClock) -> None:
    (folder / STATE_NAME).unlink()
    with pytest.raises(RuleError, match="retired"), served_witness(folder, clock):
        pass
    with pytest.raises(RuleError, match="never overwritten"):
        make_witness(folder, "witness.example/w1")
    assert not (folder / STATE_NAME).exists()


def test_a_state_of_another_witness_is_refused(
    folder: Path, clock: HandClock, tmp_path: Path
) -> None:
    new_witness(tmp_path / "other")
    shutil.copy(tmp_path / "other" / STATE_NAME, folder / STATE_NAME)
    with pytest.raises(RuleError, match="not the state"), served_witness(folder, clock):
        pass
    (folder / STATE_NAME).write_bytes(b"not a database, and quite long enough to look like one")
    with pytest.raises(RuleError, match="not the state"), served_witness(folder, clock):
        pass


def test_a_making_that_was_stopped_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    new_witness(folder)
    (folder / "witness.pem").unlink()  # stopped before the key took its place
    (folder / ".witness.pem.new").write_bytes(b"")
    key = make_witness(folder, "witness.example/w2")
    assert open_witness(folder).verifier.public == key.public
    with pytest.raises(FormatError):
        make_witness(tmp_path / "x", "a b")


# ---- many at once


def cosigned_forks(lines: list[tuple[str, int, bytes]]) -> set[str]:
    """Which forks were cosigned beyond what they share."""
    return {fork for fork, size, _ in lines if size > 5}


def submit_fork(
    served: ServedWitness, start: threading.Barrier, number: int
) -> list[tuple[str, int, bytes]]:
    """One of eight: every second submits the fork. What was cosigned."""
    name, got = "ab"[number % 2], []
    tree = {"a": TREE, "b": FORK}[name]
    start.wait()
    for size in range(3 + number, 40, 3):
        for _ in range(6):
            old = served.witness.state.size(ORIGIN)
            if old > size:
                break
            reply = served.post(OPERATOR.ask(tree, old, size))
            if reply.status == 200:
                got.append((name, size, reply.body))
            if reply.status in (200, 422):
                break
    return got


@pytest.mark.parametrize("round_", range(4))
def test_eight_submitters_of_two_forks_get_one_fork_cosigned(
    witness: ServedWitness, round_: int
) -> None:
    start = threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda number: submit_fork(witness, start, number), range(8)))
    lines = [each for part in parts for each in part]
    (won,) = cosigned_forks(lines)
    assert max(size for _, size, _ in lines) == witness.witness.state.size(ORIGIN)
    kept = witness.get(f"/log/{log_hash(ORIGIN)}/checkpoint").body
    point = Checkpoint.open(kept, OPERATOR.key)
    assert point.root == {"a": TREE, "b": FORK}[won].root(point.size)


def test_two_processes_on_one_state_cosign_one_fork(folder: Path) -> None:
    """Two servers by mistake on one folder: the state itself decides, not a lock in memory."""
    key = open_witness(folder)
    own = WitnessKey(key.verifier.name, key.verifier.public)
    states = [WitnessState(folder, own) for _ in range(4)]
    start = threading.Barrier(4)

    def take(number: int) -> list[tuple[int, object]]:
        tree, got = (TREE, FORK)[number % 2], []
        start.wait()
        for size in range(6, 30):
            old = states[number].size(ORIGIN)
            if old > size:
                continue
            asked = AddCheckpoint.parse(OPERATOR.ask(tree, old, size))
            outcome = states[number].cosign(asked, asked.point(), OPERATOR.key, key.sign, SECONDS)
            got.append((number % 2, outcome))
            assert isinstance(outcome, Signed | Stale | Refused)
        return got

    with ThreadPoolExecutor(4) as pool:
        found = [each for part in pool.map(take, range(4)) for each in part]
    assert len({fork for fork, outcome in found if isinstance(outcome, Signed)}) == 1
    for state in states:
        state.close()


# ---- kills


class Killable:
    """Witnesses in children of one process, each there to be killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.relay.witness_killed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent.parent,
        )

    def start(self, folder: Path, die_at: int = 0) -> tuple[int, int]:
        """Port and process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{folder} {die_at}\n")
        self._process.stdin.flush()
        port, pid = self._read().split()
        return int(port), int(pid)

    def ended(self) -> int:
        return int(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


@pytest.fixture
def killable() -> Iterator[Killable]:
    held = Killable()
    yield held
    held.close()


def submit_until_dead(
    port: int, tree: LeafTree, name: str, sizes: range, got: list[tuple[str, int, bytes]]
) -> None:
    """Grow a fork at a witness, from whatever size it tells, until it answers no more."""
    old = 0
    for size in sizes:
        for _ in range(5):
            if old > size:
                break
            try:
                body = OPERATOR.ask(tree, old, size)
                reply = ask("127.0.0.1", port, "POST", "/add-checkpoint", body, seconds=5)
            except (OSError, HTTPException):
                return
            if reply.status == 200:
                got.append((name, size, reply.body))
                old = size
                break
            told = told_size(reply.headers.get("Content-Type", ""), reply.body)
            if told is None:
                break
            old = told


@pytest.mark.parametrize("seed", range(5))
def test_no_second_fork_after_twenty_kills(tmp_path: Path, killable: Killable, seed: int) -> None:
    """SIGKILL at random moments while two forks are submitted: five runs of twenty kills."""
    folder, chance = tmp_path / "w", random.Random(seed)
    key = new_witness(folder)
    trees = {"a": book(("a", 600)), "b": book(("a", 5), ("b", 595))}
    got: list[tuple[str, int, bytes]] = []
    size = 0
    for _ in range(20):
        port, pid = killable.start(folder)
        threads = [
            threading.Thread(
                target=submit_until_dead,
                args=(port, tree, name, range(max(size, 1), size + 30), got),
            )
            for name, tree in trees.items()
        ]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0, 0.25))
        os.kill(pid, signal.SIGKILL)
        assert killable.ended() == -signal.SIGKILL
        for thread in threads:
            thread.join(20)
        state = WitnessState(folder, key)
        size = state.size(ORIGIN)
        state.close()
        # Whatever left is in the state.
        assert size >= max((each for _, each, _ in got), default=0)
    assert len(cosigned_forks(got)) <= 1
    assert got
    times = [int.from_bytes(line_of(body).data[4:12], "big") for _, _, body in got]
    assert min(times) > 0


def test_killed_between_state_and_reply_the_fork_is_refused_and_the_book_goes_on(
    tmp_path: Path, killable: Killable
) -> None:
    folder = tmp_path / "w"
    key = new_witness(folder)
    port, _ = killable.start(folder, die_at=1)
    with pytest.raises((OSError, HTTPException)):
        ask("127.0.0.1", port, "POST", "/add-checkpoint", OPERATOR.ask(TREE, 0, 9))
    assert killable.ended() == -signal.SIGKILL
    port, pid = killable.start(folder)
    # No cosignature left, and yet the choice is made.
    assert ask("127.0.0.1", port, "POST", "/add-checkpoint", OPERATOR.ask(FORK, 0, 9)).status == 409
    assert ask("127.0.0.1", port, "POST", "/add-checkpoint", OPERATOR.ask(FORK, 9, 9)).status == 422
    reply = ask("127.0.0.1", port, "POST", "/add-checkpoint", OPERATOR.ask(TREE, 9, 9))
    assert reply.status == 200
    text = note_parts(OPERATOR.sign(TREE, 9))[0]
    assert check_cosignature(text, line_of(reply.body), key) is not None
    os.kill(pid, signal.SIGKILL)
    assert killable.ended() == -signal.SIGKILL


# ---- clients that are slow, many or wrong


def test_a_slow_client_is_cut_off(folder: Path, clock: HandClock) -> None:
    with served_witness(folder, clock, connection_seconds=0.6) as served:
        with socket.create_connection((served.host, served.port), timeout=10) as slow:
            slow.sendall(
                b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\nold"
            )
            began = time.monotonic()
            while True:
                try:
                    if not slow.recv(1000):
                        break
                except OSError:
                    break
            assert time.monotonic() - began < 8
        assert served.post(OPERATOR.ask(TREE, 0, 7)).status == 200


def test_who_asks_too_often_waits(folder: Path, clock: HandClock) -> None:
    with served_witness(folder, clock, address_burst=2, address_seconds=60) as served:
        assert [served.get("/healthz").status for _ in range(3)] == [200, 200, 429]
        assert int(served.get("/healthz").headers["Retry-After"]) > 0


def test_it_listens_on_this_machine_only_unless_told(witness: ServedWitness) -> None:
    assert witness.host == "127.0.0.1"
