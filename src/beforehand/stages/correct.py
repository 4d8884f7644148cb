"""A correction: a later word on earlier lines, appended; what it names stands as it stood.

Such a word moves no number. A forecast is never moved by anything; an outcome
is moved by the correction that settling seals when the declared source changes
its own word (`settling`), and by no operator's.
"""

from __future__ import annotations

from collections.abc import Sequence

from beforehand.errors import RuleError
from beforehand.records.resolution import Correction
from beforehand.stages.pen import Pen

WHAT = "a word on these lines; nothing is moved by it"
MOST_LINES = 1000


def correct_lines(pen: Pen, lines: Sequence[int], why: str, source: str) -> tuple[int, bool]:
    """Seal a correction of earlier lines; its line's number, and whether it is new.

    The same word on the same lines is sealed once. RuleError where a line is
    named twice, or is not in the book yet; FormatError for a reason or a
    source that no line may hold.
    """
    _check_lines(lines, pen.store.size)
    named = tuple(sorted(lines))
    for n, record in pen.records():
        if (
            isinstance(record, Correction)
            and record.outcome is None
            and (record.lines, record.reason, record.source) == (named, why, source)
        ):
            pen.checkpoint()
            return n, False
    content = Correction(at="", lines=named, what=WHAT, source=source, reason=why).content()

    def build(at: str) -> list[Correction]:
        return [Correction.of({**content, "at": at})]

    (line,) = pen.write(build)
    pen.checkpoint()
    return line.n, True


def _check_lines(lines: Sequence[int], size: int) -> None:
    if not lines or len(lines) > MOST_LINES:
        raise RuleError(f"name from 1 to {MOST_LINES} lines, not {len(lines)}")
    if len(set(lines)) < len(lines):
        raise RuleError("a line is named twice")
    for n in lines:
        if not 1 <= n <= size:
            raise RuleError(
                f"line {n} is not in the book, which has {size}: a correction names earlier lines"
            )
