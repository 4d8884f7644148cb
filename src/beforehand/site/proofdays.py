"""The book by day (UTC): which lines, checkpoints and dated evidence belong to which day's page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.stamps import PublishedEvidence, PublishedStamp
from beforehand.site.ledger import Ledger, LineFact
from beforehand.site.view import SiteView

# Lines of one page: a longer day has further pages, so that nothing is left out.
LINES_A_PAGE = 500
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True)
class Sealed:
    """A checkpoint of the day: its size and root, and the list over it, None where it has none."""

    size: int
    at: str
    root: str
    stamp: PublishedStamp | None


@dataclass
class Day:
    """What a day holds. `dated` is evidence that states this day and is over another day's lines.

    Lines and checkpoints are in the order of the book; a checkpoint is of the
    day of the last line that it covers.
    """

    day: str
    lines: list[LineFact] = field(default_factory=list)
    sealed: list[Sealed] = field(default_factory=list)
    dated: list[tuple[PublishedStamp, PublishedEvidence]] = field(default_factory=list)

    def parts(self) -> list[Sequence[LineFact]]:
        """The lines as they are dealt to pages, one part at least."""
        steps = range(0, len(self.lines), LINES_A_PAGE)
        return [self.lines[start : start + LINES_A_PAGE] for start in steps] or [()]

    def names(self) -> list[str]:
        """The names of the day's pages: the day itself, then `DAY-2` and on."""
        return [self.day, *(f"{self.day}-{n}" for n in range(2, len(self.parts()) + 1))]


def day_of(at: str) -> str:
    """The day (UTC) of an instant, "" where the text is none.

    >>> day_of("2026-01-05T11:00:00Z"), day_of("../2026")
    ('2026-01-05', '')
    """
    try:
        instant_key(at)
    except FormatError:
        return ""
    found = _DAY.match(at)
    return found.group() if found else ""


def proof_days(view: SiteView, ledger: Ledger) -> dict[str, Day]:
    """Every day that has lines or evidence dated to it, the oldest first."""
    days: dict[str, Day] = {}
    for fact in ledger.facts.values():
        if day := day_of(fact.at):
            days.setdefault(day, Day(day)).lines.append(fact)
    stamps = {stamp.size: stamp for stamp in view.stamps}
    day_at: dict[int, str] = {}
    for size, _, root in sorted(view.checkpoints):
        fact = ledger.facts.get(size)
        day = day_at[size] = day_of(fact.at) if fact is not None else ""
        if fact is not None and day:
            days[day].sealed.append(Sealed(size, fact.at, root, stamps.get(size)))
    for stamp, evidence, day in _dated(view.stamps):
        if day != day_at.get(stamp.size):
            days.setdefault(day, Day(day)).dated.append((stamp, evidence))
    return {day: days[day] for day in sorted(days)}


def _dated(
    stamps: Sequence[PublishedStamp],
) -> Iterator[tuple[PublishedStamp, PublishedEvidence, str]]:
    """Evidence over its own list, once for each day that it states."""
    for stamp in stamps:
        for evidence in stamp.evidence:
            if evidence.stated is not None and evidence.stated.fits:
                for day in sorted({day_of(time.at) for time in evidence.stated.times} - {""}):
                    yield stamp, evidence, day
