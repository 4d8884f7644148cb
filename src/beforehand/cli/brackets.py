"""Two-sided time: between which instants a line was made, as far as others say.

A run line may hold a public value that nobody could know sooner: it was made
after that. What others signed or hold is over its lines: they were there before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from beforehand.anchors.anchor import SIGNED_TIME
from beforehand.anchors.beacon_check import check_beacon
from beforehand.book.report import Report
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError
from beforehand.publish.levels import Checked
from beforehand.publish.run_facts import read_fields
from beforehand.stages.status import counted

# A round takes a pairing, about half a second: whoever writes a book chooses how many it names.
MAX_ROUNDS = 2000


def run_brackets(
    report: Report,
    lines: Sequence[bytes],
    path: str,
    checked: Sequence[Checked],
    reader: ReaderTrust,
    declared: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Between which instants each run line was made, as far as others say; `at` lies in between.

    The answers of a run came after its line; how many others had by when is
    told beside it, and an answer whose `at` is after that is a finding.
    `declared` is the source of a beacon that the declaration names. A run line
    may lack it, where no value was to be had; then nothing bounds it from below, and that is said.
    """
    held: dict[str, dict[str, Any]] = {}
    bounds = Bounds(checked)
    without: list[int] = []
    rounds: set[str] = set()
    unread = 0
    for n, raw in enumerate(lines, 1):
        if b'"run"' not in raw and b"\\u" not in raw:
            continue
        value = read_fields(raw)
        run, at = value.get("run"), value.get("at")
        if value.get("kind") != "run" or not isinstance(run, str) or not isinstance(at, str):
            continue
        place = f"{path}/book.jsonl line {n}"
        beacon = value.get("beacon")
        if isinstance(beacon, dict) and beacon.get("source") == "drand" and reader.trust.drand:
            rounds.add(f"{beacon.get('number')!s:.40} {beacon.get('value')!s:.400}")
        full = len(rounds) > MAX_ROUNDS
        unread += full
        since = None if full else _not_before(report, value, place, reader)
        if declared is not None and not isinstance(beacon, dict):
            without.append(n)
        elif declared is not None and beacon.get("source") != declared:
            source = str(beacon.get("source"))
            said = f"its beacon is of {source!r:.40}, and the declaration names {declared}"
            report.find(10, place, said)
        until = bounds.not_after(n)
        held.setdefault(run, {"not_before": since, "at": at, "not_after": until})
        try:
            moment = instant_key(at)
        except FormatError:
            continue  # a finding of step 3
        if since is not None and moment < instant_key(since):
            report.find(10, place, f"at {at} is before its beacon, which is of {since}")
        if until is not None and moment > instant_key(until):
            report.find(10, place, f"at {at} is after {until}, when others had it already")
    for run, answers in answer_brackets(report, lines, path, checked).items():
        if run in held:
            held[run]["answers"] = answers
    if unread:
        runs = counted(unread, "run line")
        report.not_checked.append(
            f"{path}: the beacons of the last {runs}: {MAX_ROUNDS} drand rounds of one book are "
            "checked, and each takes its time"
        )
    if without:
        runs = counted(len(without), "run line")
        report.not_checked.append(
            f"{path}: {runs} (the first is line {without[0]}) without the declared beacon "
            f"{declared}: nothing says that they were made no earlier"
        )
    return held


def _not_before(
    report: Report, value: Mapping[str, Any], place: str, reader: ReaderTrust
) -> str | None:
    beacon = value.get("beacon")
    if not isinstance(beacon, dict):
        return None
    try:
        found = check_beacon(beacon, reader.trust)
    except (FormatError, IntegrityError) as error:
        report.find(10, place, f"its beacon: {error}")
        return None
    if found.instant is None:
        report.not_checked.append(f"{place}: beacon {found.words}")
    return found.instant


class Bounds:
    """By when others had a line, for many lines: the evidence is sorted once."""

    def __init__(self, checked: Sequence[Checked]) -> None:
        held = [
            (each.size, proved, str(each.verdict.not_after))
            for each in checked
            if (proved := each.proved) is not None
        ]
        held.sort(key=lambda each: each[0])
        self._sizes = [size for size, _, _ in held]
        earliest: list[tuple[datetime, str]] = []
        for _, proved, told in reversed(held):
            one = (proved, told)
            earliest.append(one if not earliest or proved < earliest[-1][0] else earliest[-1])
        self._earliest = earliest[::-1]

    def not_after(self, n: int) -> str | None:
        """The earliest instant by which others had line `n`; None where nobody says."""
        first = bisect_left(self._sizes, n)
        return self._earliest[first][1] if first < len(self._earliest) else None


def answer_brackets(
    report: Report, lines: Sequence[bytes], path: str, checked: Sequence[Checked]
) -> dict[str, dict[str, Any]]:
    """By run, how many valid answers there are, how many others had by when, how many alone.

    An answer stands alone in a stamp where a signed time is over it and not
    over the next one: then no later answer is among what was signed with it.
    """
    answers = [
        (n, value)
        for n, raw in enumerate(lines, 1)
        if b'"answer"' in raw or b"\\u" in raw
        for value in [read_fields(raw)]
        if value.get("kind") == "answer" and value.get("status") == "answered"
    ]
    signed = sorted({e.size for e in checked if e.proved and e.verdict.level == SIGNED_TIME})
    held: dict[str, dict[str, Any]] = {}
    bounds = Bounds(checked)
    for place, (n, value) in enumerate(answers):
        run, at, until = value.get("run"), value.get("at"), bounds.not_after(n)
        if not isinstance(run, str) or not isinstance(at, str):
            continue
        told = held.setdefault(
            run, {"valid": 0, "bounded": 0, "signed_alone": 0, "last_not_after": None}
        )
        following = answers[place + 1][0] if place + 1 < len(answers) else len(lines) + 1
        told["valid"] += 1
        told["signed_alone"] += _is_alone(signed, n, following)
        if until is None:
            continue
        told["bounded"] += 1
        told["last_not_after"] = until
        if is_after(at, until):
            said = f"at {at} is after {until}, when others had it already"
            report.find(10, f"{path}/book.jsonl line {n}", said)
    return held


def answers_told(league: Mapping[str, Any]) -> list[str]:
    """One line for a person: how many answers others had by when, and how many of them alone."""
    held = [run["answers"] for run in league.get("brackets", {}).values() if "answers" in run]
    valid, bounded, alone = (
        sum(each[key] for each in held) for key in ("valid", "bounded", "signed_alone")
    )
    if not valid:
        return []
    met = "met" if alone == valid else "not met"
    return [
        f"  answers: {valid} valid, {bounded} of them with a proved time, {alone} that closed a "
        f"checkpoint with a signed time of their own (each one SHOULD: {met})"
    ]


def _is_alone(signed: Sequence[int], n: int, following: int) -> bool:
    """Whether a signed size reaches line `n` and not the line that follows."""
    first = bisect_left(signed, n)
    return first < len(signed) and signed[first] < following


def is_after(at: str, limit: str) -> bool:
    """Whether an instant is later than another; not where either cannot be read."""
    try:
        return instant_key(at) > instant_key(limit)
    except FormatError:
        return False  # a finding of step 3
