"""Witnesses as an anchor: k of n, outages, and witnesses that lie; and the commands."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from beforehand.anchors.add_checkpoint import AddCheckpoint
from beforehand.anchors.anchor import (
    CHECKS,
    COMPLETE,
    PENDING,
    REFUSED,
    SIGNED_TIME,
    UNCHECKED,
    Evidence,
    Subject,
)
from beforehand.anchors.trust import Trust
from beforehand.anchors.witness import (
    CosignedRecord,
    Witness,
    Witnesses,
    check_cosigned,
)
from beforehand.book.checkpoint import Checkpoint, open_note, sign_note
from beforehand.book.consistency import LeafTree
from beforehand.book.cosignature import (
    NoteLine,
    WitnessKey,
    cosignature_instant,
    cosignatures,
    cosigned_message,
)
from beforehand.book.fraud import check_fraud
from beforehand.book.options import Options
from beforehand.book.reader import BookReader
from beforehand.cli.witness import app
from beforehand.clock import instant_key
from beforehand.errors import FormatError, RemoteError, RuleError
from beforehand.relay.witness_logs import FollowedLogs
from beforehand.testing.served import Asked, Served, Told
from tests.relay.made_league import make_league
from tests.relay.witness_world import (
    NOW,
    HandClock,
    Operator,
    ServedWitness,
    book,
    new_witness,
    served_witness,
)
from tests.small_league import small_question

OPERATOR = Operator()
TREE = book(("a", 40))
FORK = book(("a", 5), ("b", 35))
SECONDS = int(instant_key(NOW).timestamp())
DEAD = "http://127.0.0.1:9"  # the discard port: nobody listens


def digest_of(note: bytes) -> bytes:
    return hashlib.sha256(note).digest()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def three(tmp_path: Path, clock: HandClock) -> Iterator[list[ServedWitness]]:
    with ExitStack() as stack:
        served = []
        for number in range(3):
            new_witness(tmp_path / f"w{number}", name=f"witness.example/w{number}")
            served.append(stack.enter_context(served_witness(tmp_path / f"w{number}", clock)))
        yield served


def anchor(
    witnesses: list[Witness],
    clock: HandClock,
    *,
    need: int = 2,
    tree: LeafTree = TREE,
    sizes: dict[str, int] | None = None,
) -> Witnesses:
    return Witnesses(
        witnesses, need, OPERATOR.key, lambda size: tree, clock, seconds=5, sizes=sizes
    )


def of(served: list[ServedWitness]) -> list[Witness]:
    return [Witness(each.url, each.key) for each in served]


# ---- k of n


def test_all_witnesses_cosign_and_the_note_still_opens(
    three: list[ServedWitness], clock: HandClock
) -> None:
    many = anchor(of(three), clock, need=3)
    for size in (7, 8, 40):
        note = OPERATOR.sign(TREE, size)
        evidence = many.submit(note)
        assert evidence.state == COMPLETE
        cosigned = CosignedRecord.parse(evidence.data).cosigned()
        assert cosigned.startswith(note)
        assert Checkpoint.open(cosigned, OPERATOR.key).size == size
        assert open_note(cosigned, OPERATOR.key) == open_note(note, OPERATOR.key)
        assert len(cosignatures(cosigned, many.keys, NOW)) == 3
        verdict = many.check(evidence, digest_of(note), Trust(), NOW)
        assert (verdict.result, verdict.not_after, verdict.level) == (CHECKS, NOW, SIGNED_TIME)
    assert many.upgrade(evidence) is evidence


def test_a_client_that_knows_nothing_is_told_the_size_and_proves_from_it(
    three: list[ServedWitness], clock: HandClock
) -> None:
    """Each witness is somewhere else: one saw nothing, one 5 lines, one 11."""
    anchor(of(three[1:2]), clock, need=1).submit(OPERATOR.sign(TREE, 5))
    anchor(of(three[2:]), clock, need=1).submit(OPERATOR.sign(TREE, 11))
    evidence = anchor(of(three), clock, need=3).submit(OPERATOR.sign(TREE, 20))
    assert evidence.state == COMPLETE
    assert len(CosignedRecord.parse(evidence.data).lines) == 3


def test_an_outage_leaves_the_level_unreached_until_the_next_cosignature(
    three: list[ServedWitness], clock: HandClock
) -> None:
    note = OPERATOR.sign(TREE, 7)
    down = anchor([of(three)[0], Witness(DEAD, three[1].key)], clock)
    evidence = down.submit(note)
    assert evidence.state == PENDING
    assert down.check(evidence, digest_of(note), Trust(), NOW).result == UNCHECKED
    clock.instant = later = "2026-11-30T15:00:00Z"
    up = anchor(of(three)[:2], clock)
    done = up.upgrade(evidence)
    assert done.state == COMPLETE
    verdict = up.check(done, digest_of(note), Trust(), later)
    # Not back-dated: the second witness had seen it only then.
    assert (verdict.result, verdict.not_after) == (CHECKS, later)
    assert up.check(done, digest_of(note), Trust(), NOW).result == UNCHECKED


def test_no_witness_at_all_is_a_failure_to_try_again(clock: HandClock) -> None:
    key = WitnessKey("witness.example/w0", bytes(32))
    with pytest.raises(RemoteError) as failed:
        anchor([Witness(DEAD, key)], clock, need=1).submit(OPERATOR.sign(TREE, 7))
    assert failed.value.retryable


def test_an_old_checkpoint_is_not_cosigned_late(
    three: list[ServedWitness], clock: HandClock
) -> None:
    one = anchor(of(three)[:1], clock, need=1)
    one.submit(OPERATOR.sign(TREE, 20))
    with pytest.raises(RemoteError, match="covered by the next") as failed:
        one.submit(OPERATOR.sign(TREE, 7))
    assert not failed.value.retryable


def test_a_fork_is_refused_and_the_client_says_why(
    three: list[ServedWitness], clock: HandClock
) -> None:
    anchor(of(three), clock).submit(OPERATOR.sign(TREE, 9))
    for size in (9, 12):
        with pytest.raises(RemoteError, match="holds another book") as failed:
            anchor(of(three), clock, tree=FORK).submit(OPERATOR.sign(FORK, size))
        assert not failed.value.retryable
    for each in three:
        (kept, _) = json.loads(each.get("/fraud/").body)["conflicts"]
        data = each.get(f"/fraud/{kept['file']}").body
        mine = Options(NOW, origin=OPERATOR.origin, key=OPERATOR.key.text())
        assert check_fraud(data, mine).exit_code == 1


def test_two_books_in_parallel_cannot_both_have_a_majority(
    three: list[ServedWitness], clock: HandClock
) -> None:
    """The operator shows each book to another part of the witnesses: one part is too small."""
    one = anchor(of(three)[:2], clock).submit(OPERATOR.sign(TREE, 9))
    assert one.state == COMPLETE
    other = anchor(of(three), clock, tree=FORK).submit(OPERATOR.sign(FORK, 9))
    assert other.state == PENDING


def test_the_witnesses_of_an_anchor_are_others_and_each_counts_once(clock: HandClock) -> None:
    own = WitnessKey("witness.example/self", OPERATOR.key.public)
    with pytest.raises(RuleError, match="own key"):
        anchor([Witness(DEAD, own)], clock, need=1)
    key = WitnessKey("witness.example/w", bytes(range(32)))
    twice = [Witness(DEAD, key), Witness(DEAD, WitnessKey("witness.example/v", key.public))]
    with pytest.raises(FormatError):
        anchor(twice, clock)
    for need in (0, 2):
        with pytest.raises(RuleError):
            anchor([Witness(DEAD, key)], clock, need=need)


# ---- witnesses that lie

LIAR = Ed25519PrivateKey.from_private_bytes(b"\x05" * 32)
LIAR_KEY = WitnessKey("witness.example/liar", LIAR.public_key().public_bytes_raw())


def line(asked: Asked, at: int, private: Ed25519PrivateKey = LIAR) -> bytes:
    text = open_note(AddCheckpoint.parse(asked.body).note, OPERATOR.key)
    signature = private.sign(cosigned_message(text, at))
    found = NoteLine(LIAR_KEY.name, LIAR_KEY.key_id + at.to_bytes(8, "big") + signature)
    return found.text().encode()


def lied_to(reply: Callable[[Asked], Told], clock: HandClock, **given: int) -> str:
    """Submit to a stand-in; why there is no cosignature."""
    with Served(reply) as served:
        held = anchor([Witness(served.url, LIAR_KEY)], clock, need=1, sizes=given)
        with pytest.raises(RemoteError) as failed:
            held.submit(OPERATOR.sign(TREE, 7))
    return str(failed.value)


@pytest.mark.parametrize("off", [-3600, 3600, 10**12])
def test_a_cosignature_with_another_time_than_ours_is_not_taken(clock: HandClock, off: int) -> None:
    """Neither a future time nor one from before the checkpoint was."""
    words = lied_to(lambda asked: Told(200, line(asked, SECONDS + off)), clock)
    assert "from our time" in words or "no date" in words


def test_a_cosignature_with_a_zero_timestamp_is_not_taken(clock: HandClock) -> None:
    assert "no time" in lied_to(lambda asked: Told(200, line(asked, 0)), clock)


def test_a_same_name_key_with_other_bytes_is_not_taken(clock: HandClock) -> None:
    other = Ed25519PrivateKey.from_private_bytes(b"\x06" * 32)
    words = lied_to(lambda asked: Told(200, line(asked, SECONDS, other)), clock)
    assert "is false" in words


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (Told(200, b""), "line feed"),
        (Told(200, b"ok\n"), "not a signature line"),
        (Told(200, b"\xff\n"), "UTF-8"),
        (Told(200, "— somebody.else AAAAAAA=\n".encode()), "without its cosignature"),
        (Told(404, b"no\n"), "HTTP 404"),
        (Told(409, b"12\n", "text/plain"), "HTTP 409"),
        (Told(409, b"0\n", "text/x.tlog.size"), "HTTP 409"),  # what was just sent
        (Told(302, b"", headers={"Location": "http://127.0.0.1:9/"}), "HTTP 302"),
        (Told(500, b"x" * 10), "HTTP 500"),
    ],
)
def test_an_answer_that_is_none_is_a_failure(clock: HandClock, told: Told, words: str) -> None:
    assert words in lied_to(lambda asked: told, clock)


def test_a_witness_that_tells_another_size_each_time_is_asked_a_few_times(
    clock: HandClock,
) -> None:
    asked_for: list[int] = []

    def reply(asked: Asked) -> Told:
        asked_for.append(AddCheckpoint.parse(asked.body).old)
        return Told(409, f"{len(asked_for)}\n".encode(), "text/x.tlog.size")

    assert "another size" in lied_to(reply, clock)
    assert len(asked_for) == 4


def test_a_witness_that_forgot_what_it_cosigned_is_noticed(clock: HandClock) -> None:
    words = lied_to(
        lambda asked: Told(409, b"3\n", "text/x.tlog.size"), clock, **{LIAR_KEY.name: 5}
    )
    assert "do not rely on it" in words


# ---- the evidence


def test_cosignatures_of_another_note_are_refused(
    three: list[ServedWitness], clock: HandClock
) -> None:
    many = anchor(of(three), clock)
    note, other = OPERATOR.sign(TREE, 7), OPERATOR.sign(TREE, 9)
    evidence = many.submit(note)
    assert many.check(evidence, digest_of(other), Trust(), NOW).result == REFUSED
    lines = CosignedRecord.parse(evidence.data).lines
    swapped = CosignedRecord(other, lines).data()
    verdict = check_cosigned(swapped, Subject.of_bytes(other), many.keys, 2, NOW)
    assert verdict.result == REFUSED
    assert "is false" in verdict.words


def test_too_few_known_witnesses_prove_nothing(
    three: list[ServedWitness], clock: HandClock
) -> None:
    note = OPERATOR.sign(TREE, 7)
    data = anchor(of(three), clock).submit(note).data
    keys = [three[0].key, WitnessKey("witness.example/x", bytes(32))]
    verdict = check_cosigned(data, Subject.of_bytes(note), keys, 2, NOW)
    assert (verdict.result, verdict.not_after) == (UNCHECKED, None)
    assert "1 of 2 witnesses" in verdict.words
    before = cosignature_instant(SECONDS - 1)
    assert check_cosigned(data, Subject.of_bytes(note), keys, 1, before).result == UNCHECKED


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"kind": "cosigned"},
        {"kind": "git", "note": "", "lines": []},
        {"kind": "cosigned", "note": "AAAA", "lines": []},
        {"kind": "cosigned", "note": 7, "lines": []},
        {"kind": "cosigned", "note": base64.b64encode(OPERATOR.sign(TREE, 7)).decode(), "lines": 7},
        {"kind": "cosigned", "note": base64.b64encode(OPERATOR.sign(TREE, 7)).decode(),
         "lines": ["no line"]},
        {"kind": "cosigned", "note": base64.b64encode(OPERATOR.sign(TREE, 7)).decode(),
         "lines": [f"— w{n} AAAAAAA=" for n in range(64)]},
    ],
)  # fmt: skip
def test_a_malformed_record_could_not_be_checked(value: object) -> None:
    data = json.dumps(value).encode()
    subject = Subject.of_digest(bytes(32))
    assert check_cosigned(data, subject, [], 1, NOW).result == UNCHECKED


def test_pending_evidence_is_never_shown_as_reached(
    three: list[ServedWitness], clock: HandClock
) -> None:
    note = OPERATOR.sign(TREE, 7)
    many = anchor(of(three), clock)
    evidence = many.submit(note)
    pending = Evidence(evidence.anchor, PENDING, evidence.data, evidence.media)
    assert many.check(pending, digest_of(note), Trust(), NOW).result == UNCHECKED


# ---- a real book


def test_a_book_as_the_pen_writes_it_is_cosigned_as_it_grows(
    tmp_path: Path, clock: HandClock
) -> None:
    league = make_league(tmp_path / "league")
    key = league.league_key().verifier
    new_witness(tmp_path / "w")
    FollowedLogs(tmp_path / "w").add(key.name, key)
    reader = BookReader(league.book)

    def tree(size: int) -> LeafTree:
        return LeafTree.of_lines(reader.lines(), size)

    with served_witness(tmp_path / "w", clock) as served:
        many = Witnesses([Witness(served.url, served.key)], 1, key, tree, clock)
        with league.pen() as pen:
            for number in (8, 9):
                point = pen.checkpoint()
                kept = many.cosigned_note(reader.checkpoints()[point.size])
                assert Checkpoint.open(kept, key) == point
                assert [name for name, _ in cosignatures(kept, [served.key])] == [served.key.name]
                text = small_question(number, pen.now()[0])[1]
                pen.write(lambda at, n=number: [small_question(n, at)[0]], bodies=[text])
        # Written again from an earlier line on, and signed with the same key.
        lines = list(reader.lines())
        forged = LeafTree.of_lines([*lines[:3], *lines[4:], b"{}"], len(lines))
        text = Checkpoint(key.name, len(lines), forged.root(len(lines))).text()
        note = sign_note(text, key, league.league_key().sign).encode()
        second = Witnesses(many.witnesses, 1, key, lambda size: forged, clock)
        with pytest.raises(RemoteError, match="holds another book"):
            second.submit(note)


# ---- the commands


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.output


def test_the_commands_make_a_witness_and_follow_a_book(tmp_path: Path) -> None:
    folder = str(tmp_path / "w")
    assert run("key", "--dir", folder)[0] == 2
    code, text = run("key", "--dir", folder, "--name", "witness.example/w1")
    assert code == 0
    key = WitnessKey.parse(text.strip())
    assert run("key", "--dir", folder) == (0, text)
    assert (tmp_path / "w" / "witness.pem").stat().st_mode & 0o777 == 0o600
    assert run("key", "--dir", folder, "--name", "other")[0] == 2
    follow = ("follow", OPERATOR.origin)
    assert run(*follow, OPERATOR.key.text(), "--dir", folder) == (0, "followed\n")
    assert run(*follow, OPERATOR.key.text(), "--dir", folder) == (
        0,
        "was followed before: 0 lines cosigned\n",
    )
    code, text = run(*follow, Operator(seed=bytes(32)).key.text(), "--dir", folder)
    assert (code, "pinned for ever" in text.replace("\n", " ")) == (2, True)
    # The pin outlives the list.
    (tmp_path / "w" / "logs").unlink()
    code, text = run(*follow, Operator(seed=bytes(32)).key.text(), "--dir", folder)
    assert code == 2
    assert run(*follow, key.text(), "--dir", folder)[0] == 2


def test_two_readers_compare_what_they_were_shown(tmp_path: Path) -> None:
    """A fork shown to two readers, as they find it out without any witness."""
    lines = [f"a {n}" for n in range(5)] + [f"b {n}" for n in range(35)]
    (tmp_path / "book.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, note in (
        ("mine", OPERATOR.sign(TREE, 8)),
        ("theirs", OPERATOR.sign(FORK, 30)),
        ("later", OPERATOR.sign(FORK, 40)),
    ):
        (tmp_path / name).write_bytes(note)
    mine, theirs, later = (str(tmp_path / name) for name in ("mine", "theirs", "later"))
    key, out = ("--key", OPERATOR.key.text()), tmp_path / "proof.fraud"
    held = ("--book", str(tmp_path))
    assert run("compare", theirs, later, *key, *held) == (0, "they agree\n")
    assert run("compare", mine, theirs, *key)[0] == 2
    code, text = run("compare", mine, theirs, *key, *held, "--out", str(out))
    assert (code, "contradict" in text) == (1, True)
    options = Options(NOW, origin=OPERATOR.origin, key=OPERATOR.key.text())
    assert check_fraud(out.read_bytes(), options).exit_code == 1
    assert run("compare", mine, theirs, "--key", "no key")[0] == 2
