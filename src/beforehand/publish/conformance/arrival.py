"""Requirements 12 and 13: answers sealed as they arrive, asks sealed as they are sent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import timedelta

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.outside import REFUSED, Weighed
from beforehand.publish.conformance.result import Check, counted
from beforehand.publish.conformance.said import Answer, Ask, Run, before, moment, number, text

# What a token of an authority is by its own bytes.
TOKEN = "rfc3161"  # noqa: S105 - a kind of evidence, no password


def check_arrival(exhibit: Exhibit, weighed: Sequence[Weighed] = ()) -> Check:
    """Requirement 12. `weighed` is the evidence from outside."""
    check = Check(12)
    if exhibit.form == "table":
        check.gap("a table cannot show when an answer arrived", "seal each answer as it arrives")
        return check
    bound = timedelta(seconds=exhibit.profile.arrival_seconds)
    judged, silent = 0, 0
    last_arrival = None
    for answer in exhibit.answers:
        arrived, sealed = moment(answer.received_at), moment(answer.at)
        if arrived is None or sealed is None:
            silent += 1
            continue
        judged += 1
        place = exhibit.at_line(answer.n)
        if sealed < arrived:
            check.fault(
                f"sealed at {answer.at[:30]}, before it arrived at {answer.received_at[:30]}", place
            )
        elif sealed - arrived > bound:
            wait = int((sealed - arrived).total_seconds())
            check.fault(
                f"sealed {wait} s after it arrived; the bound is "
                f"{exhibit.profile.arrival_seconds} s: a batch",
                place,
            )
        if last_arrival is not None and last_arrival - arrived > bound:
            check.fault(
                "an answer that arrived earlier stands after it by more than the bound", place
            )
        last_arrival = max(arrived, last_arrival) if last_arrival else arrived
    if silent:
        check.gap(
            f"{silent} answers carry no time of arrival",
            "write received_at beside the time of the seal",
        )
    if judged and not check.faults:
        check.saw(
            f"{judged} answers were sealed within {exhibit.profile.arrival_seconds} s of "
            "their arrival by the operator's clock, in the order of arrival",
            exhibit.at_line(exhibit.answers[0].n),
        )
        _check_tokens(check, exhibit, weighed)
        check.holds_since(exhibit.answers[0].at or None)
    if not exhibit.answers:
        check.gap("the record holds no answer yet")
    _check_beacons(check, exhibit)
    return check


def _check_tokens(check: Check, exhibit: Exhibit, weighed: Sequence[Weighed]) -> None:
    """A SHOULD: each answer closes a checkpoint with a token of its own.

    It has one where a token is over it and not over the answer that follows.
    """
    if exhibit.simulated:
        check.seen.append("a token on each seal would say nothing here: the time is simulated")
        return
    tokens = [
        each
        for each in weighed
        if each.piece.kind == TOKEN
        and each.judgement.word != REFUSED
        and each.piece.stamp is not None
        and each.piece.stamp not in exhibit.misfits  # else it is over another book
    ]
    sizes = sorted({each.piece.size for each in tokens})
    valid = sorted(answer.n for answer in exhibit.answers if answer.status in ("answered", ""))
    ends = [*valid[1:], exhibit.lines + 1]
    alone = sum(_reaches(sizes, n, end) for n, end in zip(valid, ends, strict=False))
    if alone < len(valid):
        check.should(
            f"{alone} of {counted(len(valid), 'answer')} closed a checkpoint with a token of "
            "their own (level 2+)"
        )
        return
    opened = sum(each.checks for each in tokens)
    told = "present, not checked" if opened < len(tokens) else "each checks"
    check.seen.append(f"each answer closed a checkpoint with a token of its own; {told} (SHOULD)")


def _reaches(sizes: Sequence[int], n: int, end: int) -> bool:
    """Whether one of the sizes reaches `n` and not `end`."""
    first = bisect_left(sizes, n)
    return first < len(sizes) and sizes[first] < end


def _check_beacons(check: Check, exhibit: Exhibit) -> None:
    """Two-sided time, a SHOULD: each run line holds a fresh value of the beacon that is declared.

    Whether the value is that of its moment, `beforehand verify --trust` checks.
    """
    declared = exhibit.declaration("anchors", "beacon")
    if not isinstance(declared, str) or exhibit.simulated:
        return
    before_these = len(check.unmet)
    for run in exhibit.runs:
        place = exhibit.at_line(run.n)
        if not text(run.beacon, "value") or number(run.beacon, "number") is None:
            check.should(
                f"two-sided time: the run line holds no value of the declared beacon, "
                f"{declared[:40]!r}",
                place,
            )
        elif text(run.beacon, "source") != declared:
            check.should(
                f"two-sided time: its beacon is of {text(run.beacon, 'source')[:40]!r}, and "
                f"{declared[:40]!r} is declared",
                place,
            )
    if exhibit.runs and len(check.unmet) == before_these:
        check.seen.append(
            f"each run line holds a value of {declared[:40]}, present, not checked: two-sided time "
            "(SHOULD)"
        )


def check_asks(exhibit: Exhibit) -> Check:
    """Requirement 13."""
    check = Check(13)
    if exhibit.form == "table":
        check.gap("a table cannot show what was asked and when", "seal each ask as it is sent")
        return check
    _check_rosters(check, exhibit)
    asked = [a for a in exhibit.answers if _was_asked(exhibit, a)]
    if not exhibit.asks and not asked:
        if not check.faults:
            check.not_applicable("nobody is asked: answers are accepted from outside")
        return check
    _check_each_ask(check, exhibit)
    _check_prior(check, exhibit, asked)
    _check_attempts(check, exhibit.asks, exhibit)
    if exhibit.asks and not check.faults:
        check.saw(
            f"{len(exhibit.asks)} asks were sealed by the hash of their text before their "
            "answers, after the roster of their run; each has an answer, or its run is over",
            exhibit.at_line(exhibit.asks[0].n),
        )
        check.seen.append("not excluded: asks outside the record")
        check.holds_since(exhibit.asks[0].at or None)
    elif not check.faults:
        check.gap("no chain of asks is among these files", "publish asks.jsonl")
    return check


def _was_asked(exhibit: Exhibit, answer: Answer) -> bool:
    seat = exhibit.seat_of(answer.run, answer.forecaster)
    return exhibit.form == "book" or (seat is not None and seat.entry == "asked")


def _check_rosters(check: Check, exhibit: Exhibit) -> None:
    first: dict[str, int] = {}
    asked = [(ask.run, ask.n) for ask in exhibit.asks if ask.file == exhibit.book]
    for run_name, n in (*asked, *((a.run, a.n) for a in exhibit.answers)):
        first[run_name] = min(n, first.get(run_name, n))
    for run in exhibit.runs:
        if exhibit.form != "folder":
            continue
        roster = exhibit.roster_of(run)
        place = exhibit.at_line(run.n)
        if roster is None or roster.n >= run.n or roster.run != run.run:
            check.fault("the run names no earlier roster of its own", place)
            continue
        if first.get(run.run, run.n + 1) < roster.n:
            check.fault(
                "the roster was sealed after the first ask or answer of its run",
                exhibit.at_line(roster.n),
            )
        if moment(roster.deadline) is None or not roster.retry:
            check.fault(
                "the roster gives no deadline or no retry policy", exhibit.at_line(roster.n)
            )
        names = [seat.forecaster for seat in roster.seats]
        if len(set(names)) < len(names):
            check.fault("a forecaster stands on the roster twice", exhibit.at_line(roster.n))


def _check_each_ask(check: Check, exhibit: Exhibit) -> None:
    answered = {answer.ask_line for answer in exhibit.answers}
    runs = {run.run: run for run in exhibit.runs}
    for ask in exhibit.asks:
        place = exhibit.at_line(ask.n)
        if not ask.sha256:
            check.fault("the ask carries no hash of its text", place)
        run = runs.get(ask.run)
        if exhibit.form != "folder":
            continue
        if run is None or run.n > ask.n:
            check.fault(f"the run {ask.run[:60]!r} does not stand before its ask", place)
            continue
        seat = exhibit.seat_of(ask.run, ask.forecaster)
        if seat is None:
            check.fault(f"{ask.forecaster[:60]!r} was asked and is not on the roster", place)
        if ask.n not in answered and _is_over(exhibit, run):
            check.fault("the run is over, and this ask has no answer and no failure", place)


def _is_over(exhibit: Exhibit, run: Run) -> bool:
    roster = exhibit.roster_of(run)
    if run.run in exhibit.closes:
        return True
    return roster is not None and before(roster.deadline, exhibit.last_at) is True


def _check_prior(check: Check, exhibit: Exhibit, asked: Iterable[Answer]) -> None:
    """Every answer of one who is asked hangs on an earlier ask to the same one."""
    asks = {ask.n: ask for ask in exhibit.asks}
    for answer in asked:
        if exhibit.form != "folder":
            continue
        ask = asks.get(answer.ask_line or 0)
        place = exhibit.at_line(answer.n)
        if answer.ask_line is None:
            check.fault("an answer without a prior ask", place)
        elif ask is None or ask.n >= answer.n:
            check.fault(f"its ask_line {answer.ask_line} is no earlier ask", place)
        elif (ask.run, ask.forecaster) != (answer.run, answer.forecaster):
            check.fault(f"its ask on line {ask.n} was of another run or forecaster", place)
        elif before(answer.received_at or answer.at, ask.at):
            check.fault(f"it arrived before it was asked on line {ask.n}", place)


def _check_attempts(check: Check, asks: Iterable[Ask], exhibit: Exhibit) -> None:
    """Attempts are counted from 1 without a gap; the same text goes out again, or says why not."""
    held: dict[tuple[str, str, tuple[str, ...]], list[Ask]] = {}
    for ask in asks:
        held.setdefault((ask.run, ask.forecaster, ask.questions), []).append(ask)
    for group in held.values():
        for due, ask in enumerate(group, 1):
            if exhibit.form == "folder" and ask.attempt != due:
                check.fault(
                    f"attempt {ask.attempt} is logged where attempt {due} was due: an "
                    "ask was made and not logged",
                    exhibit.at_line(ask.n),
                )
                break
            if ask.sha256 != group[0].sha256 and ask.why != "reask":
                check.fault(
                    "asked again with another text, and nothing says why", exhibit.at_line(ask.n)
                )
