"""How far a published league proves when, which and how much: a level a property and run.

Properties and levels are those of the sealed standard, 4.1: 0 is the
operator's word, 1 a chain by the operator, 2 anchored outside, 2+ with a time
that a third party signed. They are a vector and never one badge; each comes
with the evidence it rests on and with what passes it and is wrong all the same.

Evidence is judged by its own bytes and keys, never by the name it is kept
under, and by when it was there: what came after an outcome shows nothing of before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from beforehand.anchors.anchor import CHECKS, PUBLIC_RECORD, SIGNED_TIME, Verdict
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.run_facts import BEFORE_ALL, BookFacts, Declared, Facts, RunFacts
from beforehand.publish.second_book import Searched

PROPERTIES = {
    "P1a": "not made up after the outcome",
    "P1b": "there before the outcome could be seen, by a signed time",
    "P2": "not replaced later",
    "P3": "the one that counts by a rule fixed before",
    "exclusivity": "no second book under this origin",
    "completeness": "nothing asked and left out",
}
LEVELS = ("0", "1", "2", "2+")
# The least that a signed time needs; a declaration may ask for more, and never for fewer.
NEED_TOKENS = 2
# Channels in which a reader can look for a second book.
FOREIGN_CHANNELS = ("git", "rekor")


@dataclass(frozen=True)
class Checked:
    """A piece of evidence over the first `size` lines, and what its check found."""

    anchor: str
    size: int
    verdict: Verdict

    @property
    def proved(self) -> datetime | None:
        """By when those lines were there, as far as that could not be arranged afterwards."""
        at = self.verdict.not_after
        if self.verdict.result != CHECKS or not self.verdict.bound or at is None:
            return None
        return instant_key(at)

    def text(self) -> str:
        """Whose it is, over what, and since when."""
        at = self.verdict.not_after
        when = f"no later than {at}" if at else "at no proved time"
        return f"{self.anchor} over {self.size} lines, {when}"


@dataclass(frozen=True)
class Cosigned:
    """Enough of the reader's own witnesses had cosigned the first `size` lines by `at`."""

    size: int
    at: str


@dataclass(frozen=True)
class Level:
    """One property of one run: its level, what it rests on, and what it does not exclude."""

    level: str
    evidence: str
    not_excluded: str

    def content(self) -> dict[str, str]:
        """As JSON values."""
        return {
            "level": self.level,
            "evidence": self.evidence,
            "not_excluded": self.not_excluded,
        }


def run_levels(
    lines: Iterable[bytes],
    checked: Sequence[Checked],
    *,
    sound: bool,
    witnessed: Sequence[Cosigned] = (),
    quorum: int = NEED_TOKENS,
    declared: Declared | None = None,
    searched: Searched | None = None,
) -> dict[str, dict[str, Level]]:
    """The levels of every run, by run and property.

    `lines` are the book's, `sound` whether its chain, tree and checkpoints were
    verified, `checked` the evidence over its prefixes, `witnessed` the
    checkpoints that enough of the reader's own witnesses cosigned. `quorum` is
    how many authorities the declaration asks for; by the rule of `declared`, its
    content by segment, the labels of the runs are judged once more. `searched` is where a
    second book was looked for.
    """
    book = BookFacts(lines, declared)
    return levels_of_facts(
        book, checked, sound=sound, witnessed=witnessed, quorum=quorum, searched=searched
    )


def levels_of_facts(
    book: Facts,
    checked: Sequence[Checked],
    *,
    sound: bool,
    witnessed: Sequence[Cosigned] = (),
    quorum: int = NEED_TOKENS,
    ruled: Sequence[Checked] | None = None,
    searched: Searched | None = None,
) -> dict[str, dict[str, Level]]:
    """The same for a book of any form, by its facts.

    `ruled` is the evidence over the chain in which the rule stands, where that
    is another one than the book.
    """
    need = max(quorum, NEED_TOKENS)
    over = checked if ruled is None else ruled
    found = {
        run.name: _levels_of(run, book, checked, over, sound=sound, witnessed=witnessed, need=need)
        for run in book.runs.values()
    }
    for levels in found.values():
        for name, gap in book.gaps.items():
            level = levels[name]
            levels[name] = replace(level, not_excluded=f"{level.not_excluded}; {gap}")
        if searched is not None:
            levels["exclusivity"] = _looked(levels["exclusivity"], searched)
    return found


def _levels_of(
    run: RunFacts,
    book: Facts,
    checked: Sequence[Checked],
    ruled: Sequence[Checked],
    *,
    sound: bool,
    witnessed: Sequence[Cosigned],
    need: int,
) -> dict[str, Level]:
    if book.times != {"live"}:
        told = "simulated" if "simulated" in book.times else "not declared as live"
        word = Level("0", f"the segment's time is {told}: its stamps prove nothing", "everything")
        return dict.fromkeys(PROPERTIES, word)
    if not sound:
        word = Level("0", "the book was not found sound", "everything")
        return dict.fromkeys(PROPERTIES, word)
    covering = [
        each
        for each in checked
        if each.size >= run.last_answer > 0 and each.verdict.result == CHECKS
    ]
    cosigned = [each for each in witnessed if each.size >= run.last_answer > 0]
    first = min(cosigned, key=lambda each: instant_key(each.at), default=None)
    return {
        "P1a": _before_outcome(run, book, covering),
        "P1b": _signed_before(run, book, covering, need),
        "P2": _not_replaced(book, covering, first),
        "P3": _by_rule(run, book, ruled),
        "exclusivity": _exclusive(book.first_outcome(run), covering, first),
        "completeness": _complete(run),
    }


def _before_outcome(run: RunFacts, book: Facts, covering: Sequence[Checked]) -> Level:
    outcome = book.first_outcome(run)
    gaps = "books stamped side by side of which one is shown; an outcome known before its instant"
    if not run.last_answer:
        return Level("0", "no valid answer stands in this run", gaps)
    if outcome is None:
        return Level("1", f"{book.by_itself}; {book.undecided}", gaps)
    before = [each for each in covering if _is_before(each.proved, outcome)]
    if not before:
        gaps = f"a book made up afterwards; {gaps}"
        return Level("1", f"{book.by_itself} of the operator", gaps)
    best = max(before, key=lambda each: (_is_signed(each), -each.size))
    return Level(SIGNED_TIME if _is_signed(best) else PUBLIC_RECORD, best.text(), gaps)


def _is_before(moment: datetime | None, limit: datetime | None) -> bool:
    return moment is not None and limit is not None and moment < limit


def _is_signed(each: Checked) -> bool:
    return each.verdict.level == SIGNED_TIME and bool(each.verdict.signers)


def _signed_before(run: RunFacts, book: Facts, covering: Sequence[Checked], need: int) -> Level:
    """Enough signed times before the first outcome or reference, by keys that share nothing.

    One authority under two names, or two tokens of one, is one.
    """
    limit = book.first_seen(run)
    gaps = (
        "authorities that all lie together; books stamped side by side; an outcome known before "
        "its instant"
    )
    held = [each for each in covering if _is_signed(each) and _is_before(each.proved, limit)]
    signers: list[Checked] = []
    for each in sorted(held, key=lambda each: each.proved or BEFORE_ALL):
        if all(set(each.verdict.signers).isdisjoint(one.verdict.signers) for one in signers):
            signers.append(each)
    if signers:
        told = ", ".join(sorted(f"{each.anchor} at {each.verdict.not_after}" for each in signers))
        if len(signers) >= need:
            return Level(SIGNED_TIME, told, gaps)
        return Level("2", f"{told}; {need} independent ones are asked for", gaps)
    if run.last_answer:
        return Level("1", "the operator's clock in the lines", "an operator's clock that lies")
    return Level("0", "no valid answer stands in this run", gaps)


def _not_replaced(book: Facts, covering: Sequence[Checked], cosigned: Cosigned | None) -> Level:
    gaps = (
        "an operator who replaces book and proofs where nobody kept a copy; what was replaced "
        "before this evidence was made"
    )
    if cosigned is not None:
        told = f"your witnesses cosigned {cosigned.size} lines, by {cosigned.at}"
        return Level(SIGNED_TIME, told, gaps)
    held = [
        each
        for each in covering
        if each.verdict.bound and (each.proved or each.verdict.kind in FOREIGN_CHANNELS)
    ]
    if held:
        told = "; ".join(sorted({each.text() for each in held}))
        return Level(PUBLIC_RECORD, f"held outside: {told}", gaps)
    return Level("1", book.by_itself, gaps)


def _by_rule(run: RunFacts, book: Facts, checked: Sequence[Checked]) -> Level:
    """A rule counts as fixed before only by evidence that was there before the run's own time."""
    gaps = "asking through accounts that are not in the book, and throwing answers away"
    if run.mislabelled:
        return Level("0", run.mislabelled, gaps)
    rule = book.rule_of(run)
    if rule is None:
        return Level("0", "no rule is declared before this run", gaps)
    if run.unasked:
        return Level("0", f"{run.unasked} answers of asked seats name no ask", gaps)
    try:
        begun = instant_key(run.at)
    except FormatError:
        return Level("0", "the run states no time", gaps)
    if run.unjudged:
        told = f"whether its label follows from the rule is not checked: {run.unjudged}"
        return Level("1", f"{rule.by_itself}; {told}", f"a run chosen afterwards; {gaps}")
    outcome = book.first_outcome(run)
    limit = begun if outcome is None else min(begun, outcome)
    for each in sorted(checked, key=lambda one: one.size):
        within = rule.line <= each.size and (rule.before is None or each.size < rule.before)
        if within and _is_before(each.proved, limit):
            told = f"{rule.words}, before this run: {each.text()}"
            return Level(PUBLIC_RECORD, told, gaps)
    return Level("1", rule.by_itself, gaps)


def _exclusive(
    outcome: datetime | None, covering: Sequence[Checked], cosigned: Cosigned | None
) -> Level:
    """Witnesses that saw a book only after an outcome cannot say that it was the one before."""
    if cosigned is not None:
        told = f"enough of your witnesses cosigned {cosigned.size} lines, by {cosigned.at}"
        if outcome is None or instant_key(cosigned.at) < outcome:
            return Level(SIGNED_TIME, f"{told}: one history", "witnesses that all lie together")
        gap = "a second book, stamped side by side until the outcome chose between them"
        return Level("1", f"{told}, which was after the first outcome", gap)
    public = [e for e in covering if e.verdict.kind in FOREIGN_CHANNELS and e.verdict.bound]
    if public:
        return Level(
            "1",
            f"a foreign channel holds it ({public[0].anchor}); look there for a second book",
            "a second book in a channel you do not read",
        )
    return Level("0", "no witness of yours cosigned it", "a second book, stamped side by side")


def _looked(level: Level, searched: Searched) -> Level:
    """The level with what was looked in for a second book; nothing is raised by finding none."""
    gaps = (
        "a second book in channels that were not looked in, or in these by a list that names "
        "neither this origin nor this book's path"
    )
    told = level.evidence.replace("; look there for a second book", "")
    return Level(level.level, f"{told}; {searched.text()}", f"{level.not_excluded}; {gaps}")


def _complete(run: RunFacts) -> Level:
    gaps = (
        "asks without provider receipts: what was asked outside this book, or answered and "
        "sealed as failed"
    )
    if run.accepted_seats:
        gaps += "; a submission that was left out, where nobody holds its receipt"
    if not run.asks:
        return Level("0", run.no_asks, gaps)
    if run.asks.keys() - run.ended:
        return Level("0", f"{len(run.asks.keys() - run.ended)} asks have no answer line", gaps)
    if run.unasked:
        return Level("0", f"{run.unasked} answers have no ask line", gaps)
    if run.held_back:
        told = f"{run.held_back} asks were ended without an answer after an outcome was known"
        return Level("0", told, f"an answer withheld after it was received; {gaps}")
    told = f"{len(run.asks)} asks, each with its answer line"
    never = len(run.asked_seats - run.seats_with_ask)
    if never:
        told += f"; {never} seats of the roster were not asked"
    left_out = _left_out(run)
    if left_out:
        told += f"; {left_out} questions of the run were not put to a seat that was asked others"
    if run.accepted_seats:
        told += f"; {run.accepted_seats} seats send answers as they like"
    return Level("1", told, gaps)


def _left_out(run: RunFacts) -> int:
    """How many pairs of an asked seat and a question have no ask; seats asked nothing excepted.

    0 for a book whose asks do not name their questions.
    """
    if not run.asked_of:
        return 0
    seats = run.asked_seats & run.seats_with_ask
    return sum((seat, name) not in run.asked_of for seat in seats for name in run.questions)


def least_levels(levels: Mapping[str, Mapping[str, Level]]) -> dict[str, str]:
    """Of each property the least level among all runs; "0" where there is no run."""
    least = {}
    for name in PROPERTIES:
        held = [run[name].level for run in levels.values()]
        least[name] = min(held, key=LEVELS.index, default="0")
    return least
