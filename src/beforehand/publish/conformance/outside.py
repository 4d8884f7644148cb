"""Requirement 3: the head of the record is anchored outside the operator at every run.

This checker opens no signature of an authority, a log or a block: what it
finds is present, or not. A caller that has verifiers hands them in as a
`Judge`, and only what that judge calls `checks` is a pass. This is the hook
for the evidence of `beforehand.anchors`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from beforehand.publish.conformance.evidence import CHANNELS, WITNESS, checkpoint_note
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import ANCHORED, Check, counted
from beforehand.publish.conformance.said import Evidence, Run, before

CHECKS = "checks"
REFUSED = "refused"
UNCHECKED = "unchecked"
NO_END = 1 << 63
_BOUND = "give the checker what binds it: the earlier tip of a clone, the keys that sign in a log"


@dataclass(frozen=True)
class Judgement:
    """What a judge says of a piece: one of the three words, why, and by when it proves the list.

    `bound` is False where all of it could have been arranged afterwards.
    """

    word: str
    said: str
    not_after: str | None = None
    bound: bool = True


@dataclass(frozen=True)
class Subject:
    """What a piece should speak of: the stamped list's bytes, of a witness the checkpoint's note.

    `keys` are the book's own: a witness that signs with one of them is none.
    """

    data: bytes
    keys: tuple[str, ...] = ()


# (the piece, its bytes, what it should speak of) -> what they are worth.
Judge = Callable[[Evidence, bytes, Subject], Judgement]


@dataclass(frozen=True)
class Weighed:
    """A complete piece with its judgement; without a judge nothing is more than present."""

    piece: Evidence
    judgement: Judgement

    @property
    def checks(self) -> bool:
        """Whether a caller's verifier said so, of what could not be arranged afterwards."""
        return self.judgement.word == CHECKS and not self.loose

    @property
    def loose(self) -> bool:
        """Whether it fits and shows nothing: a copy that anybody could have made."""
        return self.judgement.word == CHECKS and not self.judgement.bound


def weigh(exhibit: Exhibit, judge: Judge | None) -> list[Weighed]:
    """Every complete piece of evidence as the caller's verifiers see it."""
    if exhibit.simulated or exhibit.form == "table":
        return []
    return [
        Weighed(piece, _judgement(exhibit, piece, judge))
        for piece in exhibit.evidence
        if not piece.pending
    ]


def _judgement(exhibit: Exhibit, piece: Evidence, judge: Judge | None) -> Judgement:
    if not piece.sha256:
        return Judgement(UNCHECKED, "its evidence is missing")
    if piece.stamp is None:
        return Judgement(UNCHECKED, "no list over these lines is published with it")
    if piece.stamp in exhibit.misfits:
        return Judgement(UNCHECKED, "its list is not of this book as it stands")
    if judge is None:
        return Judgement(UNCHECKED, "present, not checked")
    witnessed = piece.kind == WITNESS
    data = piece.read()
    subject = checkpoint_note(exhibit, piece.size) if witnessed else piece.read_list()
    if data is None or subject is None:
        return Judgement(UNCHECKED, "what it speaks of is missing")
    return judge(piece, data, Subject(subject, tuple(exhibit.keys)))


def check_anchors(
    exhibit: Exhibit, weighed: Sequence[Weighed] = (), *, judged: bool = False
) -> Check:
    """Requirement 3; `judged` where the caller has verifiers."""
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
    _check_lists(check, exhibit)
    _check_cover(check, exhibit, weighed)
    _check_channel(check, exhibit, weighed)
    _check_margin(check, exhibit)
    if judged:
        _tell_judged(check, exhibit, weighed)
    else:
        check.gap(
            "stamps and proofs are present, not checked: this checker opens no token, block or log",
            "run `beforehand conform --trust DIR` or `beforehand verify --trust DIR`, which open "
            "them",
        )
    return check


def _check_pending(check: Check, exhibit: Exhibit) -> None:
    """Evidence that is only promised anchors nothing."""
    for piece in exhibit.evidence:
        if piece.misnamed:
            check.fault(
                f"{piece.anchor[:40]}: a promise is sealed as a complete proof", piece.place
            )
    late = [piece for piece in exhibit.evidence if piece.pending]
    if late and len(late) == len(exhibit.evidence):
        check.fault("every proof is pending, and a pending proof anchors nothing", late[0].place)


def _check_lists(check: Check, exhibit: Exhibit) -> None:
    """A sealed list is over the lines that its proof line says."""
    for proof in exhibit.proofs:
        named = next((b for b in exhibit.bodies_at(proof.n) if b.role == "list"), None)
        if named is None or proof.n in exhibit.listed:
            continue
        if exhibit.read_body(named.sha256) is not None:
            check.fault(
                f"its list is not over the {counted(proof.size, 'line')} of this book that the "
                "line says",
                exhibit.at_line(proof.n),
            )


def _check_cover(check: Check, exhibit: Exhibit, weighed: Sequence[Weighed]) -> None:
    """Every run's last answer lies within some stamped size."""
    sizes = [each.piece.size for each in weighed if not each.loose]
    loose = sorted({each.piece.size for each in weighed if each.loose})
    if not sizes and exhibit.form == "book":
        check.gap(
            "no stamped list with a proof beside it is among these files",
            "publish every list with its proofs",
        )
        return
    if not sizes and not exhibit.runs:
        check.gap("no run was made yet, so that none could be stamped", "stamp each run")
        return
    if not sizes and loose:
        return  # nothing counts, and what is said of each piece says why
    if not sizes:
        check.fault("no stamp and no complete proof is published", exhibit.at_line(exhibit.lines))
        return
    stamped = sorted(set(sizes))
    for run, end, until in _run_windows(exhibit):
        place = exhibit.at_line(run.n)
        if not _any_within(stamped, end, until) and _any_within(loose, end, until):
            check.gap(f"the run {run.run[:60]!r} has no other stamp than such a copy", _BOUND)
        elif stamped[-1] < end:
            check.fault(
                f"the run {run.run[:60]!r}, up to line {end}, is covered by no stamp", place
            )
        elif not _any_within(stamped, end, until):
            check.fault(
                f"the run {run.run[:60]!r} was stamped only after the next one began", place
            )
    if exhibit.runs and not check.faults and not loose:
        check.seen.append(f"{counted(len(exhibit.runs), 'run')}, each within a stamp of its own")


def _check_channel(check: Check, exhibit: Exhibit, weighed: Sequence[Weighed]) -> None:
    """Each run's digest stands on a channel that the operator does not control.

    By what the evidence is, and run by run: a digest that was entered for one
    run keeps nobody from replacing another.
    """
    channels = sorted(
        {each.piece.size for each in weighed if each.piece.kind in CHANNELS and not each.loose}
    )
    # Of a stamp over lines that were cut off, the proof lines that follow were cut off too.
    unknown = sorted(
        {
            e.piece.size
            for e in weighed
            if not e.piece.kind or e.loose or e.piece.size > exhibit.lines
        }
    )
    if not channels and not exhibit.runs:
        return  # said where stamps are looked for
    if not channels:
        hidden = any(not each.piece.kind or each.loose for each in weighed)
        _tell_no_channel(check, exhibit, hidden=hidden)
        return
    windows = _run_windows(exhibit)
    lacking = [each for each in windows if not _any_within(channels, each[1], each[2])]
    if windows and not lacking:
        said = f"{counted(len(windows), 'run')}, each with a digest on a channel outside"
        check.seen.append(said)
    for run, first, end in lacking:
        told = f"no digest of the run {run.run[:60]!r} stands on an append-only channel outside"
        if exhibit.form == "book" or _any_within(unknown, first, end):
            check.gap(
                f"{told}, by what can be read of these files",
                "publish the evidence of each digest, from the channel that took it",
            )
        else:
            check.fault(told, exhibit.at_line(run.n))


def _tell_no_channel(check: Check, exhibit: Exhibit, *, hidden: bool) -> None:
    """No run's digest is on any; `hidden` where evidence is missing or of no known form."""
    declared = exhibit.declaration("anchors", "use")
    named = {str(name) for name in declared} if isinstance(declared, list) else set()
    if exhibit.form == "book":
        check.gap(
            "the channels that the proof page names are not among these files",
            "name the append-only channel of each digest beside its proof",
        )
    elif hidden:
        check.gap(
            "evidence that is missing, of no known form or arranged by anybody: whether a digest "
            "stands on an append-only channel is not to be seen",
            "publish the evidence of each proof line",
        )
    else:
        told = f" (declared: {', '.join(sorted(named))[:100]})" if named else ""
        check.fault(
            "no digest stands on an append-only channel outside the operator" + told,
            exhibit.at_line(exhibit.lines),
        )


def _run_windows(exhibit: Exhibit) -> list[tuple[Run, int, int]]:
    """Every run with the sizes that are a stamp of its own: its last answer, and the next's line.

    The end is not within. The last run has none: a stamp may reach over lines that were cut off.
    """
    starts = sorted(run.n for run in exhibit.runs)
    found = []
    for run, end in run_ends(exhibit):
        following = bisect_right(starts, end)
        until = starts[following] if following < len(starts) else NO_END
        found.append((run, end, until))
    return found


def _any_within(sizes: Sequence[int], first: int, until: int) -> bool:
    """Whether one of the sorted sizes lies in first..until-1."""
    at = bisect_left(sizes, first)
    return at < len(sizes) and sizes[at] < until


def _check_margin(check: Check, exhibit: Exhibit) -> None:
    if exhibit.form == "folder" and exhibit.declaration("anchors", "margin_minutes") is None:
        check.fault(
            "the declaration states no margin for the time of a proof",
            exhibit.at_declaration(),
        )


def _tell_judged(check: Check, exhibit: Exhibit, weighed: Sequence[Weighed]) -> None:
    """What the caller's verifiers said of each piece."""
    for each in weighed:
        piece, word = each.piece, each.judgement.word
        told = f"{piece.anchor[:40]}: {each.judgement.said}"
        if each.loose:
            check.saw(f"{told}; it could have been arranged afterwards, and counts for nothing")
        elif word == CHECKS:
            check.saw(told, piece.place)
        elif word == REFUSED:
            check.fault(told, piece.place)
        else:
            check.gap(told, "give the checker what it needs")
    ends = [end for _, end in run_ends(exhibit)]
    good = [each for each in weighed if each.checks]
    if checked_size(weighed) < max(ends, default=1):
        check.gap(
            "not every run lies within a proof that checks",
            "publish the evidence of each, and give the checker what it needs to open it",
        )
        return
    _tell_since(check, good, min(ends, default=0))


def _tell_since(check: Check, good: Sequence[Weighed], end: int) -> None:
    """It holds from when others had the first run; by the operator's word where none says when."""
    over = [each for each in good if each.piece.size >= end]
    times = [each.judgement.not_after for each in over if each.judgement.not_after]
    if times:
        first = times[0]
        for each in times[1:]:
            first = each if before(each, first) else first
        check.holds_since(first)
        check.since_by = ANCHORED
    else:
        check.holds_since(*sorted(each.piece.at for each in over if each.piece.at)[:1])


def checked_size(weighed: Sequence[Weighed]) -> int:
    """How many lines lie within evidence that checks."""
    return max((each.piece.size for each in weighed if each.checks), default=0)


def kept_size(exhibit: Exhibit, weighed: Sequence[Weighed]) -> int:
    """How many lie within a fitting list that has complete evidence of a known form by it."""
    return max(
        (
            each.piece.size
            for each in weighed
            if each.piece.kind and each.piece.stamp and each.piece.stamp not in exhibit.misfits
            and each.judgement.word != REFUSED
        ),
        default=0,
    )  # fmt: skip


def run_ends(exhibit: Exhibit) -> list[tuple[Run, int]]:
    """Every run with the line of its last answer, its own where nobody answered."""
    last: dict[str, int] = {}
    for answer in exhibit.answers:
        last[answer.run] = max(answer.n, last.get(answer.run, 0))
    return [(run, max(run.n, last.get(run.run, 0))) for run in exhibit.runs]
