"""A new segment of a running league: another declaration from this line on, in the same book.

What was asked before stays under the rules it was asked by, and no statistic
crosses the line. What may not change is `records.succession`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from beforehand.errors import FormatError, RuleError
from beforehand.records.declaration import Declaration
from beforehand.records.league import Segment
from beforehand.records.succession import check_succession
from beforehand.stages.declare import check_runs, declaration_of, methodology_text, segment_line
from beforehand.stages.pen import Pen, open_body
from beforehand.stages.situation import Situation
from beforehand.stages.tick import due_slots


def open_segment(
    pen: Pen,
    situation: Situation,
    declaration: Declaration,
    plugins: Sequence[Mapping[str, str]] = (),
) -> tuple[int, bool]:
    """Seal a declaration as a new segment; its line's number, and whether it is new.

    The same text is sealed once. One line with its bodies is one append, so
    that whoever is killed has done it or not. RuleError where this version
    cannot run it, where something stays as it was that must change (the
    segment's name, its reason) or changes what must stay, and where a run is
    open or a slot due: those belong to the segment before.
    """
    sealed = declaration_of(pen)
    if declaration.sha256 == sealed.sha256:
        pen.checkpoint()
        return _line_in_force(pen), False
    check_runs(declaration)
    try:
        check_succession(sealed, declaration)
    except FormatError as error:
        raise RuleError(str(error)) from None
    names = {record.segment for _, record in pen.records() if isinstance(record, Segment)}
    if declaration.segment in names:
        raise RuleError(
            f"the book had a segment {declaration.segment!r} before: give it a new name"
        )
    if declaration.why == sealed.why:
        raise RuleError("segment.why is the last segment's: say why there is another one")
    _check_idle(pen, situation)
    text = methodology_text(declaration)

    def build(at: str) -> list[Segment]:
        line = segment_line(declaration, text, at)
        return [
            replace(
                line,
                bodies=(*line.bodies, open_body("declaration", declaration.data, at)),
                declaration_sha256=declaration.sha256,
                plugins=tuple(dict(plugin) for plugin in plugins),
            )
        ]

    (line,) = pen.write(build, [text, declaration.data])
    pen.checkpoint()
    return line.n, True


def _check_idle(pen: Pen, situation: Situation) -> None:
    """Nothing of the segment before is under way or due."""
    situation.catch_up(pen.records())
    waiting = [run.run.run for run in situation.open_runs()]
    if waiting:
        raise RuleError(f"the run {waiting[0]} is open: tick until it is closed, then try again")
    if "cron" in situation.declaration.content["schedule"]:
        due = due_slots(situation, pen.now()[0])
        if due:
            raise RuleError(
                f"the slot {due[0].at} is due and neither begun nor sealed as missed: tick first"
            )


def _line_in_force(pen: Pen) -> int:
    """The line of the last segment."""
    return max(n for n, record in pen.records() if isinstance(record, Segment))
