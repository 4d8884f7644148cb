"""Requirement 3: the head of the record is anchored outside the operator at every run.

This checker opens no signature of an authority, a log or a block: what it
finds is present, or not. A caller that has verifiers hands them in as a
`Judge`, and only what that judge calls `checks` is a pass. This is the hook
for the evidence of `beforehand.anchors`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, counted
from beforehand.publish.conformance.said import ProofSaid, Run

CHECKS = "checks"
REFUSED = "refused"
UNCHECKED = "unchecked"

# (proof line, evidence bytes) -> (one of the three words, what was looked at).
Judge = Callable[[ProofSaid, bytes], tuple[str, str]]

# Anchors that are an append-only channel which the operator does not control.
CHANNELS = ("rekor", "git", "archive", "witness", "evm", "zenodo")


def check_anchors(exhibit: Exhibit, judge: Judge | None = None) -> Check:
    """Requirement 3."""
    check = Check(3)
    if exhibit.form == "table":
        check.gap(
            "a lone table has no record whose head could be anchored",
            "keep a record and stamp it at every run",
        )
        return check
    if exhibit.simulated:
        check.not_applicable(
            "the league says that its time is simulated: there is no moment to anchor, and no "
            "claim about when anything was said (level 0)"
        )
        return check
    _check_pending(check, exhibit)
    _check_cover(check, exhibit)
    _check_channel(check, exhibit)
    _check_margin(check, exhibit)
    _judge_evidence(check, exhibit, judge)
    return check


def _check_pending(check: Check, exhibit: Exhibit) -> None:
    """Evidence that is only promised anchors nothing."""
    done = {(proof.anchor, proof.size) for proof in exhibit.proofs if proof.state == "complete"}
    late = [p for p in exhibit.proofs if p.state != "complete" and (p.anchor, p.size) not in done]
    if late and not done:
        check.fault(
            "every proof is pending, and a pending proof anchors nothing",
            exhibit.at_line(late[0].n),
        )


def _check_cover(check: Check, exhibit: Exhibit) -> None:
    """Every run's last answer lies within some stamped size."""
    sizes = [proof.size for proof in exhibit.proofs if proof.state == "complete"]
    sizes += [stamp.lines for stamp in exhibit.stamps if stamp.proofs or exhibit.form == "folder"]
    if not sizes and exhibit.form == "book":
        check.gap(
            "no stamped list with a proof beside it is among these files",
            "publish every list with its proofs",
        )
        return
    if not sizes:
        check.fault("no stamp and no complete proof is published", exhibit.at_line(exhibit.lines))
        return
    stamped = sorted(set(sizes))
    starts = sorted(run.n for run in exhibit.runs)
    for run, end in run_ends(exhibit):
        first = bisect_left(stamped, end)
        following = bisect_right(starts, end)
        place = exhibit.at_line(run.n)
        if first == len(stamped):
            check.fault(
                f"the run {run.run[:60]!r}, up to line {end}, is covered by no stamp", place
            )
        elif following < len(starts) and stamped[first] >= starts[following]:
            check.fault(
                f"the run {run.run[:60]!r} was stamped only after the next one began", place
            )
    if exhibit.runs and not check.faults:
        check.seen.append(f"{counted(len(exhibit.runs), 'run')}, each within a stamp of its own")


def _check_channel(check: Check, exhibit: Exhibit) -> None:
    """The digest stands on a channel that the operator does not control, and it is named."""
    declared = exhibit.declaration("anchors", "use")
    named = {str(name) for name in declared} if isinstance(declared, list) else set()
    used = {proof.anchor for proof in exhibit.proofs if proof.state == "complete"}
    if exhibit.form == "book":
        check.gap(
            "the channels that the proof page names are not among these files",
            "name the append-only channel of each digest beside its proof",
        )
    elif not any(anchor.startswith(CHANNELS) for anchor in used):
        told = f" (declared: {', '.join(sorted(named))[:100]})" if named else ""
        check.fault(
            "no digest stands on an append-only channel outside the operator" + told,
            exhibit.at_line(exhibit.lines),
        )


def _check_margin(check: Check, exhibit: Exhibit) -> None:
    if exhibit.form == "folder" and exhibit.declaration("anchors", "margin_minutes") is None:
        check.fault(
            "the declaration states no margin for the time of a proof",
            exhibit.at_declaration(),
        )


def _judge_evidence(check: Check, exhibit: Exhibit, judge: Judge | None) -> None:
    """Let the caller's verifiers look at each complete proof; without them nothing passes."""
    if judge is None:
        check.gap(
            "stamps and proofs are present, not checked: this checker opens no token, block or log",
            "run `beforehand verify`, which opens them",
        )
        return
    good = []
    for proof in exhibit.proofs:
        if proof.state != "complete":
            continue
        for body in exhibit.bodies_at(proof.n):
            if body.role == "evidence" and _judged(check, exhibit, judge, proof, body.sha256):
                good.append(proof.size)
    end = max((end for _, end in run_ends(exhibit)), default=0)
    if not good or max(good) < end:
        check.gap(
            "not every run lies within a proof that checks",
            "publish the evidence of each, and give the checker what it needs to open it",
        )


def _judged(check: Check, exhibit: Exhibit, judge: Judge, proof: ProofSaid, sha256: str) -> bool:
    """Whether the caller's verifier says that a proof checks; its words are kept."""
    data = exhibit.read_body(sha256)
    word, said = (UNCHECKED, "missing") if data is None else judge(proof, data)
    place, told = exhibit.at_line(proof.n), f"{proof.anchor[:40]}: {said}"
    if word == CHECKS:
        check.saw(told, place)
        check.holds_since(proof.at)
    elif word == REFUSED:
        check.fault(told, place)
    else:
        check.gap(told, "give the checker what it needs")
    return word == CHECKS


def run_ends(exhibit: Exhibit) -> list[tuple[Run, int]]:
    """Every run with the line of its last answer, its own where nobody answered."""
    last: dict[str, int] = {}
    for answer in exhibit.answers:
        last[answer.run] = max(answer.n, last.get(answer.run, 0))
    return [(run, max(run.n, last.get(run.run, 0))) for run in exhibit.runs]
