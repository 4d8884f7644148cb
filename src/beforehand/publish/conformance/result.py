"""What a check found: a status, sentences, pointers to the evidence, and since when it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

PASS = "PASS"  # noqa: S105 - a status, no password
FAIL = "FAIL"
UNVERIFIABLE = "UNVERIFIABLE"
NOT_APPLICABLE = "NOT_APPLICABLE"
STATUSES = (PASS, FAIL, UNVERIFIABLE, NOT_APPLICABLE)

# By whose clock a requirement holds since an instant.
OPERATOR = "the operator's clock"
ANCHORED = "others' evidence"

MUST = "MUST"
SHOULD = "SHOULD"

MAX_FAULTS = 20
MAX_POINTERS = 12
MAX_SAID = 600


@dataclass(frozen=True)
class Requirement:
    """One requirement of the standard: number, level, what it asks and why."""

    id: int
    level: str
    title: str
    why: str


REQUIREMENTS = (
    Requirement(
        1, MUST, "Event contract fixed first; model, version and mode sealed in the answer",
        "A forecast of an event that is described later can be made to fit any outcome."),
    Requirement(
        2, MUST, "Append-only, hash-chained record; question and snapshot hashed into the run",
        "Without it a later text cannot be told from the one that was sealed."),
    Requirement(
        3, MUST, "Head anchored outside the operator at every run, and published elsewhere",
        "A chain proves order; only somebody else's clock proves time."),
    Requirement(
        4, MUST, "One reference per common event, after the seal; only equal contracts are pooled",
        "Forecasts of two events averaged together score neither."),
    Requirement(
        5, MUST, "Every run is published, counted or not, with its label",
        "Who may leave a run out can choose the best one."),
    Requirement(
        6, MUST, "The counted run follows from a rule declared before the runs",
        "A rule applied afterwards is a choice among results."),
    Requirement(
        7, MUST, "The event asked is scored by a strictly proper rule, over all rows",
        "Otherwise the best score goes to another probability than the honest one."),
    Requirement(
        8, MUST, "Missing answers are reported and not filled in; quality, coverage, service apart",
        "A forecaster who answers only easy questions, or a filled 50 %, looks skilful."),
    Requirement(
        9, MUST, "Beside the scores: 50 %, a sealed climatology, and a crowd price with its volume",
        "Skill is a difference, and the benchmark must not be chosen after the fact."),
    Requirement(
        10, MUST, "No rank before a minimum; clustered intervals; a margin before no difference",
        "Forecasts of one day are no independent proofs of skill."),
    Requirement(
        11, MUST, "Data and scoring code are published, and every file has a checksum",
        "A score that nobody else can compute is a claim."),
    Requirement(
        12, MUST, "Each answer is sealed on arrival, not in a batch",
        "Between arrival and seal the operator can read, compare and choose."),
    Requirement(
        13, SHOULD, "Outgoing questions and the roster of expected answers are sealed first",
        "An ask that leaves no trace can be repeated until the answer pleases."),
    Requirement(
        14, MUST, "A consensus stands beside its count, mean correlation and N_eff",
        "Ten models that err together are one voice."),
    Requirement(
        15, MUST, "A new methodology opens a new segment; a correction is a new line",
        "Results under two rules are not one result."),
    Requirement(
        16, MUST, "Readers are assigned once, at random, counted once, not stored by address",
        "A reader who may choose a group, or vote twice, measures nothing."),
    Requirement(
        17, SHOULD, "Diagnostics of dependence, sources and costs stand beside the scores",
        "They show what a single number hides."),
)  # fmt: skip


@dataclass(frozen=True)
class Pointer:
    """Where to look: a published file, a line or row of it (from 1), and what stands there."""

    file: str
    line: int | None = None
    note: str = ""

    def content(self) -> dict[str, Any]:
        """As JSON."""
        held: dict[str, Any] = {"file": clip(self.file, 300)}
        if self.line is not None:
            held["line"] = self.line
        if self.note:
            held["note"] = clip(self.note, 300)
        return held


def clip(text: str, most: int = MAX_SAID) -> str:
    """Printable text of at most so many characters, made safe for any terminal."""
    shown = text if text.isprintable() else "".join(c if c.isprintable() else "�" for c in text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def counted(number: int, one: str) -> str:
    """How many there are, in words that fit one as well.

    >>> counted(1, "run"), counted(2, "run")
    ('1 run', '2 runs')
    """
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


@dataclass
class Check:
    """One requirement under judgement. Faults win over gaps, gaps over what was seen."""

    id: int
    faults: list[tuple[str, Pointer | None]] = field(default_factory=list)
    more_faults: int = 0
    gaps: list[tuple[str, str]] = field(default_factory=list)
    unmet: list[tuple[str, Pointer | None]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    evidence: list[Pointer] = field(default_factory=list)
    since: str | None = None
    since_by: str = OPERATOR
    absent: str = ""

    def fault(self, said: str, place: Pointer | None = None) -> None:
        """What breaks the requirement; past a limit only the number is kept."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append((clip(said), place))
        else:
            self.more_faults += 1

    def gap(self, said: str, do: str = "") -> None:
        """What the public files do not show, and what would show it."""
        if (clip(said), clip(do)) not in self.gaps:
            self.gaps.append((clip(said), clip(do)))

    def should(self, said: str, place: Pointer | None = None) -> None:
        """What a SHOULD within a MUST asks for and is not met: said, and no failure of the MUST."""
        if len(self.unmet) < MAX_FAULTS:
            self.unmet.append((clip(said), place))

    def saw(self, said: str, *places: Pointer) -> None:
        """What was looked at and holds."""
        self.seen.append(clip(said))
        self.evidence += places

    def holds_since(self, *instants: str | None) -> None:
        """The latest of the instants from which the parts hold."""
        known = [at for at in (*instants, self.since) if at]
        self.since = max(known) if known else None

    def not_applicable(self, said: str) -> None:
        """The requirement does not speak of this league."""
        self.absent = clip(said)

    @property
    def status(self) -> str:
        """The verdict. "Not checked" is never "passed"."""
        if self.faults:
            return FAIL
        if self.absent:
            return NOT_APPLICABLE
        return PASS if self.seen and not self.gaps else UNVERIFIABLE

    def content(self) -> dict[str, Any]:
        """The verdict as JSON."""
        requirement = REQUIREMENTS[self.id - 1]
        status = self.status
        found = [*self.faults, *self.unmet]
        pointers = [place for _, place in found if place is not None]
        pointers += [place for place in self.evidence if place not in pointers]
        return {
            "id": self.id,
            "status": status,
            "level": requirement.level,
            "title": requirement.title,
            "why": requirement.why,
            "said": [*self._sentences()],
            "should": [said for said, _ in self.unmet],
            "do": [do for _, do in self.gaps if do] if status != PASS else [],
            "evidence": [place.content() for place in pointers[:MAX_POINTERS]],
            "more_evidence": max(0, len(pointers) - MAX_POINTERS) + self.more_faults,
            "since": self.since if status == PASS else None,
            "since_by": self.since_by if status == PASS and self.since else None,
        }

    def _sentences(self) -> Iterable[str]:
        for said, place in self.faults:
            yield said if place is None else f"{_named(place)}: {said}"
        if self.more_faults:
            yield f"and {self.more_faults} faults more"
        if self.absent:
            yield self.absent
        for said, place in self.unmet:
            yield f"SHOULD is not met: {said if place is None else f'{_named(place)}: {said}'}"
        for said, _ in self.gaps:
            yield f"not shown: {said}"
        yield from self.seen


def _named(place: Pointer) -> str:
    return clip(place.file, 300) + ("" if place.line is None else f" line {place.line}")
