"""Levels of proof: whatever does not deserve one is kept from it. Each test is an attack."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from beforehand.anchors.anchor import CHECKS, PUBLIC_RECORD, REFUSED, SIGNED_TIME, Verdict
from beforehand.publish.conformance.arrival import check_arrival
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.outside import Judgement, Weighed
from beforehand.publish.conformance.profile import Profile
from beforehand.publish.conformance.result import Pointer
from beforehand.publish.conformance.said import Answer, Ask, Evidence, Run, Stamp
from beforehand.publish.levels import Checked, Cosigned, Level, least_levels, run_levels
from beforehand.publish.seed_facts import SeedFacts
from beforehand.testing.memory_folder import MemoryFolder

RUN_AT = "2026-03-01T10:00:00Z"
BEFORE_RUN = "2026-03-01T09:00:00Z"
IN_TIME = "2026-03-01T11:00:00Z"
OUTCOME = "2026-03-05T00:00:00Z"
TOO_LATE = "2026-03-06T00:00:00Z"
SEATS = ({"forecaster": "gpt", "entry": "asked"}, {"forecaster": "own", "entry": "asked"})


def line(kind: str, **said: Any) -> dict[str, Any]:
    return {"kind": kind, "at": RUN_AT, **said}


def book(
    *,
    time: str | None = "live",
    seats: Sequence[dict[str, str]] = SEATS,
    asked: Sequence[dict[str, Any]] | None = None,
    tail: Sequence[dict[str, Any]] | None = None,
    reference_at: str | None = None,
) -> list[dict[str, Any]]:
    """Lines 1 to 5 open the run `r` (its line is 5), 6 to 9 are asks and answers, 10 settles."""
    contract = {"event": "e"} if reference_at is None else {"reference_at": reference_at}
    head = [
        line("league"),
        line("note") if time is None else line("segment", segment="s", time=time),
        line("question", question="q", contract=contract),
        line("roster", run="r", seats=list(seats)),
        line("run", run="r", roster_line=4, questions=["q"]),
    ]
    middle = asked or (
        line("ask", run="r", forecaster="gpt", questions=["q"]),
        line("ask", run="r", forecaster="own", questions=["q"]),
        line("answer", run="r", forecaster="gpt", status="answered", ask_line=6),
        line("answer", run="r", forecaster="own", status="answered", ask_line=7),
    )
    end = (line("resolution", question="q", instant=OUTCOME),) if tail is None else tail
    return [*head, *middle, *end]


def token(
    size: int = 9, at: str = IN_TIME, keys: tuple[str, ...] = ("a",), name: str = "one"
) -> Checked:
    verdict = Verdict(CHECKS, name, at, level=SIGNED_TIME, kind="rfc3161", signers=keys)
    return Checked(name, size, verdict)


def block(size: int = 9, at: str = IN_TIME) -> Checked:
    verdict = Verdict(CHECKS, "block", at, level=PUBLIC_RECORD, kind="opentimestamps")
    return Checked("opentimestamps", size, verdict)


def levels(
    lines: Sequence[dict[str, Any]],
    *checked: Checked,
    sound: bool = True,
    witnessed: Sequence[Cosigned] = (),
) -> dict[str, Level]:
    raws = [json.dumps(value).encode() for value in lines]
    return run_levels(raws, checked, sound=sound, witnessed=witnessed)["r"]


TWO = (token(), token(keys=("b",), name="two"))


def test_what_is_deserved_is_given() -> None:
    held = levels(book(), *TWO, token(1, BEFORE_RUN), witnessed=[Cosigned(9, IN_TIME)])
    assert {name: level.level for name, level in held.items()} == {
        "P1a": "2+",
        "P1b": "2+",
        "P2": "2+",
        "P3": "2",
        "exclusivity": "2+",
        "completeness": "1",
    }
    assert all(level.evidence and level.not_excluded for level in held.values())
    assert least_levels({"r": held})["completeness"] == "1"
    assert least_levels({})["P1b"] == "0"


def test_attack_a_schedule_of_a_new_segment_under_the_old_stamp() -> None:
    """The rule of a later segment reads its own schedule: what is stamped must cover that line."""
    lines = book()
    lines[1] |= {"declaration_sha256": "0" * 64}
    assert levels(lines, token(1, BEFORE_RUN))["P3"].level == "1"
    held = levels(lines, token(2, BEFORE_RUN))["P3"]
    assert held.level == "2" and held.evidence.startswith("rule and declaration in line 2")


# ---- one authority passed off as two


def test_attack_one_token_kept_under_two_names() -> None:
    """Names of files are the operator's choice: the keys say whose a token is."""
    held = levels(book(), token(name="one"), token(name="two"))
    assert held["P1b"].level == "2"
    assert "2 independent ones" in held["P1b"].evidence


@pytest.mark.parametrize(("quorum", "level"), [(1, "2+"), (2, "2+"), (3, "2")])
def test_a_declared_quorum_asks_for_more_and_never_for_fewer(quorum: int, level: str) -> None:
    raws = [json.dumps(value).encode() for value in book()]
    assert run_levels(raws, TWO, sound=True, quorum=quorum)["r"]["P1b"].level == level
    assert run_levels(raws, TWO[:1], sound=True, quorum=quorum)["r"]["P1b"].level == "2"


def test_attack_two_certificates_of_one_authority() -> None:
    held = levels(book(), token(keys=("k1", "root")), token(keys=("k2", "root"), name="two"))
    assert held["P1b"].level == "2"


def test_attack_a_signed_level_without_a_signers_key() -> None:
    held = levels(book(), token(keys=()), token(keys=(), name="two"))
    assert (held["P1a"].level, held["P1b"].level) == ("2", "1")


def test_attack_an_authority_named_git() -> None:
    """A channel is one by what the evidence is, never by what it is called."""
    held = levels(book(), token(name="git"), token(keys=("b",), name="rekor"))
    assert held["exclusivity"].level == "0"


# ---- evidence that covers too little, came too late, or shows nothing


def test_attack_evidence_over_a_part_of_a_runs_answers() -> None:
    held = levels(book(), token(8), token(8, keys=("b",)), witnessed=[Cosigned(8, IN_TIME)])
    assert [held[name].level for name in ("P1a", "P1b", "P2", "exclusivity")] == list("1110")


def test_attack_an_answer_after_the_stamp() -> None:
    """An answer that came when the stamp was made already is not covered, nor is its run."""
    late = line("answer", run="r", forecaster="x", status="answered")
    held = levels(book(tail=[late, line("resolution", question="q", instant=OUTCOME)]), *TWO)
    assert held["P1b"].level == "1"


@pytest.mark.parametrize("at", [OUTCOME, TOO_LATE])
def test_attack_a_stamp_at_or_after_the_outcome(at: str) -> None:
    held = levels(book(), token(at=at), token(at=at, keys=("b",)))
    assert (held["P1a"].level, held["P1b"].level) == ("1", "1")
    assert "made up afterwards" in held["P1a"].not_excluded
    assert "replaced before this evidence" in held["P2"].not_excluded


def test_attack_a_stamp_after_the_reference_price() -> None:
    held = levels(book(reference_at="2026-03-01T10:30:00Z"), *TWO)
    assert (held["P1a"].level, held["P1b"].level) == ("2+", "1")
    reference = line("reference", question="q", instant="2026-03-01T10:30:00Z")
    settled = line("resolution", question="q", instant=OUTCOME)
    assert levels(book(tail=[reference, settled]), *TWO)["P1b"].level == "1"


def test_attack_a_declaration_stamped_when_all_was_over() -> None:
    """Anybody can stamp line 1 at any time: it counts from when that was, not from its size."""
    for at in (RUN_AT, IN_TIME, TOO_LATE):
        assert levels(book(), *TWO, token(1, at))["P3"].level == "1", at
    assert levels(book(), *TWO, token(1, BEFORE_RUN))["P3"].level == "2"


def new_segment(*, stamped: bool) -> tuple[list[dict[str, Any]], tuple[Checked, ...]]:
    """A book whose run is of a second segment, declared in line 5; and stamps over line 3."""
    lines = book()
    lines.insert(3, line("segment", segment="t", time="live", declaration_sha256="d" * 64))
    for each in lines:
        for key in ("roster_line", "ask_line"):
            if key in each:
                each[key] += 1
    early = Checked("git", 3, Verdict(CHECKS, "stamp", BEFORE_RUN, level=PUBLIC_RECORD))
    late = Checked("git", 4, Verdict(CHECKS, "stamp", BEFORE_RUN, level=PUBLIC_RECORD))
    return lines, (early, late) if stamped else (early,)


def test_attack_a_new_rule_that_stands_behind_an_old_stamp() -> None:
    """Caught by where the run's own rule stands: a stamp over line 1 is older than its segment."""
    lines, stamps = new_segment(stamped=False)
    third = levels(lines, *stamps)["P3"]
    assert (third.level, third.evidence[:14]) == ("1", "rule in line 4")
    lines, stamps = new_segment(stamped=True)
    third = levels(lines, *stamps)["P3"]
    assert third.level == "2" and "declaration in line 4" in third.evidence


RULE = {"counted_run": {"rule": "scheduled_run"}}
DAILY = {**RULE, "schedule": {"cron": ["0 10 * * *"], "timezone": "UTC", "grace_minutes": 60}}


def of_slots(*runs: tuple[str, str, bool]) -> list[bytes]:
    """A live book of runs, each by its slot, its own time and its label."""
    head = [line("league"), line("segment", segment="s", time="live")]
    made = [
        {**line("run", run=f"r{k}", segment="s", slot=slot, counted=label), "at": at}
        for k, (slot, at, label) in enumerate(runs)
    ]
    return [json.dumps(value).encode() for value in (*head, *made)]


@pytest.mark.parametrize("slot", ["2026-03-01T10:00:00.0Z", "2026-03-01T10:00:00.5Z"])
def test_attack_a_rerun_whose_slot_is_spelled_otherwise(slot: str) -> None:
    """Caught by the slot's instant: it is the first one's, or is on no schedule."""
    first = ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", True)
    lines = of_slots(first, (slot, "2026-03-01T10:20:00Z", True))
    held = run_levels(lines, [], sound=True, declared={"": DAILY})
    assert [each["P3"].level for each in held.values()] == ["1", "0"]


@pytest.mark.parametrize(
    ("at", "level"),
    [
        ("2026-03-01T09:59:59Z", "0"),
        ("2026-03-01T10:00:00Z", "1"),
        ("2026-03-01T11:00:59Z", "1"),
        ("2026-03-01T11:01:00Z", "0"),
        ("2026-03-02T10:00:00Z", "0"),
    ],
)
def test_attack_a_slot_that_is_filled_before_or_after_its_time(at: str, level: str) -> None:
    """Caught by the run's own time: a slot is filled within its grace, and never afterwards."""
    lines = of_slots(("2026-03-01T10:00:00Z", at, True))
    third = run_levels(lines, [], sound=True, declared={"": DAILY})["r0"]["P3"]
    assert third.level == level
    assert ("grace" in third.evidence) == (level == "0")


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {**RULE, "schedule": {"cron": ["0 10 * JAN-DEC *"], "timezone": "UTC"}},
        {**RULE, "schedule": {"cron": ["0 10 * * *"], "timezone": "Nowhere/Atall"}},
        {**RULE, "schedule": {"calendar": "XNYS"}},
    ],
)
def test_attack_a_schedule_that_no_reader_can_apply(declared: dict[str, Any]) -> None:
    """A label that was not held against its rule is not passed: that is said, and P3 stays 1."""
    lines = of_slots(("2026-03-01T20:00:00Z", "2026-03-01T20:00:00Z", True))
    stamp = Checked("git", 2, Verdict(CHECKS, "stamp", BEFORE_RUN, level=PUBLIC_RECORD))
    third = run_levels(lines, [stamp], sound=True, declared={"": declared})["r0"]["P3"]
    assert third.level == "1" and "not checked" in third.evidence


@pytest.mark.parametrize("instant", ["", "soon", "2026-13-01", 7, None])
def test_attack_an_outcome_whose_instant_cannot_be_read(instant: object) -> None:
    held = levels(book(tail=[line("resolution", question="q", instant=instant)]), *TWO)
    assert (held["P1a"].level, held["P1b"].level) == ("1", "1")


def test_attack_a_second_outcome_with_a_later_instant() -> None:
    tail = [
        line("resolution", question="q", instant="2026-03-01T10:30:00Z"),
        line("resolution", question="q", instant=OUTCOME),
        line("correction", lines=[10], outcome="no", instant=OUTCOME),
    ]
    assert levels(book(tail=tail), *TWO)["P1b"].level == "1"


def test_an_outcome_said_to_be_later_than_it_was_is_not_excluded() -> None:
    held = levels(book(), *TWO)
    assert "known before its instant" in held["P1a"].not_excluded
    assert "known before its instant" in held["P1b"].not_excluded


def test_attack_a_capture_that_anybody_can_make_up() -> None:
    verdict = Verdict(CHECKS, "present", claimed=IN_TIME, kind="web-archive", bound=False)
    held = levels(book(), Checked("git", 9, verdict))
    assert (held["P2"].level, held["exclusivity"].level) == ("1", "0")


def test_attack_a_repository_that_was_made_afterwards() -> None:
    made = Verdict(CHECKS, "held", kind="git", bound=False)
    assert levels(book(), Checked("git", 9, made))["P2"].level == "1"
    kept = Verdict(CHECKS, "held", kind="git")
    held = levels(book(), Checked("git", 9, kept))
    assert (held["P2"].level, held["exclusivity"].level) == ("2", "1")
    assert "channel you do not read" in held["exclusivity"].not_excluded


def test_attack_a_time_that_a_key_was_made_to_fit() -> None:
    unbound = Verdict(CHECKS, "entry", IN_TIME, level=SIGNED_TIME, signers=("a",), bound=False)
    held = levels(book(), Checked("rekor", 9, unbound), token(keys=("b",)))
    assert (held["P1b"].level, held["P2"].level) == ("2", "2")


def test_attack_evidence_that_was_refused() -> None:
    bad = Checked("one", 9, Verdict(REFUSED, "no", IN_TIME, level=SIGNED_TIME, signers=("a",)))
    assert levels(book(), bad, token(keys=("b",)))["P1b"].level == "2"


# ---- witnesses


def test_attack_two_books_stamped_in_parallel_under_one_origin() -> None:
    """The one that won is shown to the witnesses when the outcome is known, and not before."""
    held = levels(book(), *TWO, witnessed=[Cosigned(12, TOO_LATE)])
    assert held["exclusivity"].level == "1"
    assert "stamped side by side until the outcome" in held["exclusivity"].not_excluded
    held = levels(book(), *TWO)
    assert held["exclusivity"].level == "0"
    assert "stamped side by side" in held["exclusivity"].not_excluded


def test_a_witness_outage_is_never_back_dated() -> None:
    cosigned = [Cosigned(8, IN_TIME), Cosigned(12, TOO_LATE)]
    assert levels(book(), witnessed=cosigned)["exclusivity"].level == "1"
    cosigned.append(Cosigned(10, IN_TIME))
    held = levels(book(), witnessed=cosigned)["exclusivity"]
    assert held.level == "2+"
    assert IN_TIME in held.evidence


# ---- what was asked


def test_attack_an_answer_without_a_prior_ask() -> None:
    """Of an asked seat: caught. Of an asked seat outside the book: not excluded, and printed."""
    loose = line("answer", run="r", forecaster="own", status="answered")
    held = levels(book(tail=[loose]), token(10), token(1, BEFORE_RUN))
    assert held["P3"].level == held["completeness"].level == "0"
    assert "name no ask" in held["P3"].evidence
    held = levels(book())
    assert "accounts that are not in the book" in held["P3"].not_excluded
    assert "asked outside this book" in held["completeness"].not_excluded


def test_attack_an_unlogged_ask() -> None:
    held = levels(book(asked=[line("answer", run="r", forecaster="gpt", status="answered")]))
    assert held["completeness"].level == "0"
    only = (
        line("ask", run="r", forecaster="gpt", questions=["q"]),
        line("answer", run="r", forecaster="gpt", status="answered", ask_line=6),
    )
    assert (
        "1 seats of the roster were not asked" in levels(book(asked=only))["completeness"].evidence
    )


def test_questions_that_a_seat_was_not_asked_are_told_beside_the_asks() -> None:
    """The roster promised them; a seat that was asked nothing at all is told as that."""
    lines = book()
    lines[4] = line("run", run="r", roster_line=4, questions=["q", "q2", "q3"])
    told = levels(lines)["completeness"].evidence
    assert "4 questions of the run were not put to a seat that was asked others" in told
    assert "were not put" not in levels(book())["completeness"].evidence
    only = [lines[4], line("ask", run="r", forecaster="gpt", questions=["q", "q2", "q3"])]
    told = levels([*lines[:4], *only])["completeness"].evidence
    assert "were not put" not in told


def test_attack_an_answer_withheld_after_receipt() -> None:
    """An ask that ends without an answer once the outcome is known may have had one."""
    asked = book()[5:8]
    failed = line("answer", run="r", forecaster="own", status="timeout", ask_line=7)
    settled = line("resolution", question="q", instant=OUTCOME)
    held = levels(book(asked=asked, tail=[settled, failed]))
    assert held["completeness"].level == "0"
    assert "withheld after it was received" in held["completeness"].not_excluded
    held = levels(book(asked=asked, tail=[failed, settled]))
    assert held["completeness"].level == "1"
    assert "sealed as failed" in held["completeness"].not_excluded
    assert levels(book(asked=asked, tail=[settled]))["completeness"].level == "0"


def test_a_seat_asked_twice_needs_two_ends() -> None:
    twice = [
        *book()[5:9],
        line("ask", run="r", forecaster="own", questions=["q"], again=7),
    ]
    assert levels(book(asked=twice))["completeness"].level == "0"
    ended = line("answer", run="r", forecaster="own", status="timeout", ask_line=10)
    assert levels(book(asked=[*twice, ended]))["completeness"].level == "1"


def test_seats_that_send_as_they_like_are_counted_and_not_covered() -> None:
    seats = [*SEATS, {"forecaster": "guest", "entry": "accepted"}]
    held = levels(book(seats=seats))["completeness"]
    assert "1 seats send answers as they like" in held.evidence
    assert "holds its receipt" in held.not_excluded
    sent = [line("answer", run="r", forecaster="guest", status="answered")]
    assert levels(book(seats=seats[2:], asked=sent))["completeness"].level == "0"


# ---- books that prove nothing


@pytest.mark.parametrize("time", ["simulated", None, "", "Live"])
def test_a_segment_that_is_not_live_proves_nothing(time: str | None) -> None:
    held = levels(book(time=time), *TWO, witnessed=[Cosigned(9, IN_TIME)])
    assert {level.level for level in held.values()} == {"0"}


def test_attack_a_simulated_segment_among_live_ones() -> None:
    more = line("segment", segment="t", time="simulated")
    assert levels(book(tail=[more]), *TWO)["P1b"].level == "0"


def test_a_book_that_is_not_sound_proves_nothing() -> None:
    held = levels(book(), *TWO, sound=False)
    assert {level.level for level in held.values()} == {"0"}


def test_attack_a_second_run_of_one_name() -> None:
    """What stands under the name belongs to the first run; its answers push the end further."""
    again = [
        line("run", run="r", roster_line=4, questions=[]),
        line("ask", run="r", forecaster="own", questions=["q"]),
        line("answer", run="r", forecaster="own", status="answered", ask_line=11),
        line("resolution", question="q", instant=OUTCOME),
    ]
    assert levels(book(tail=again), *TWO)["P1b"].level == "1"


def test_a_run_without_questions_or_answers_reaches_nothing() -> None:
    lines = book()
    lines[4] = line("run", run="r", roster_line=4, questions=[])
    held = levels(lines, *TWO)
    assert (held["P1a"].level, held["P1b"].level) == ("1", "1")
    held = levels(book(asked=[line("note")]), *TWO)
    assert (held["P1a"].level, held["P1b"].level, held["exclusivity"].level) == ("0", "0", "0")


def test_lines_of_any_form_end_in_a_level() -> None:
    odd: list[Any] = [[], 7, "run", {"kind": ["run"]}, {"kind": "run", "run": ["r"]}]
    values: tuple[Any, ...] = (None, 7, [], [[]], {}, "x")
    for kind in ("segment", "question", "roster", "run", "ask", "answer", "resolution"):
        for value in values:
            odd.append({"kind": kind, "run": value, "seats": value, "questions": value})
            odd.append({"kind": kind, "run": "r", "roster_line": value, "question_lines": value})
            odd.append({"kind": kind, "run": "r", "ask_line": value, "question": value})
            odd.append({"kind": kind, "seats": [value], "questions": [value], "contract": value})
    raws = [json.dumps(value).encode() for value in [*book(), *odd]]
    raws += [b"", b"\xff", b"{", b'{"kind": "run", "kind": "ask"}']
    held = run_levels(raws, TWO, sound=True)
    assert {level.level for level in held["r"].values()} == {"0"}, "a segment that is not live"


def seed_exhibit(asks: Sequence[Ask], answers: Sequence[Answer]) -> Exhibit:
    """A book in the seed's format of one run, by what its chains say."""
    made = Exhibit("book", "seed", MemoryFolder({}), "", Profile(), TOO_LATE, book="book.jsonl")
    made.runs = [Run(1, RUN_AT, "r", "", "", None, "", None, None, ())]
    made.asks, made.answers = list(asks), list(answers)
    return made


def seed_ask(n: int, seat: str, at: str = RUN_AT) -> Ask:
    return Ask(n, at, "r", seat, 1, (), "", "0" * 64, "asks.jsonl")


def seed_answer(n: int, seat: str, at: str) -> Answer:
    return Answer(n, at, "r", seat, None, "", "", "", "", "", {"q": "0.5"})


def test_attack_answers_of_no_time_that_end_what_was_asked() -> None:
    """Caught by their time: what cannot be read came after nothing, so its ask stays open."""
    asks = [seed_ask(1, "gpt"), seed_ask(2, "own"), seed_ask(3, "own", IN_TIME)]
    honest = [seed_answer(2, "gpt", RUN_AT), seed_answer(3, "own", IN_TIME)]
    run = SeedFacts(seed_exhibit(asks, honest)).runs["r"]
    assert (run.ended, run.unasked) == ({1, 2, 3}, 0)
    run = SeedFacts(seed_exhibit(asks, [honest[0], seed_answer(3, "own", "soon")])).runs["r"]
    assert (run.ended, run.unasked) == ({1}, 1)
    early = [honest[0], seed_answer(3, "own", BEFORE_RUN)]
    run = SeedFacts(seed_exhibit(asks, early)).runs["r"]
    assert (run.ended, run.unasked) == ({1}, 1)


def test_attack_a_book_of_so_many_asks_and_answers_that_nobody_waits_for_it() -> None:
    """A pair at a time this would be four hundred million: each is looked at once."""
    many = range(20_000)
    asks = [seed_ask(n, "gpt") for n in many]
    run = SeedFacts(seed_exhibit(asks, [seed_answer(n, "gpt", RUN_AT) for n in many])).runs["r"]
    assert len(run.ended) == len(many) and run.unasked == 0


@pytest.mark.parametrize("fits", [True, False, None])
def test_attack_a_token_an_answer_over_lists_of_another_book(fits: bool | None) -> None:
    """Caught by its list: one that is missing, or of other lines, closes no checkpoint of these."""
    made = seed_exhibit([], [])
    made.lines = 2
    made.answers = [replace(seed_answer(2, "gpt", IN_TIME), received_at=IN_TIME)]
    stamp = Stamp(Pointer("1.txt"), "book.jsonl", 2, "0" * 64, "0" * 64)
    made.misfits = set() if fits else {stamp}
    piece = Evidence(
        Pointer("1.txt.one.tsr"), "one", 2, "", None if fits is None else stamp, "rfc3161",
        "0" * 64, False, False, lambda: b"", lambda: b"",
    )  # fmt: skip
    weighed = [Weighed(piece, Judgement("unchecked", "present, not checked"))]
    told = check_arrival(made, weighed).content()
    assert ("each answer closed a checkpoint" in " ".join(told["said"])) == bool(fits)
    assert bool(told["should"]) == (not fits)
