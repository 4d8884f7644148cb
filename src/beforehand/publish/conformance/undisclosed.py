"""Requirement 8 of answers that were due and never disclosed: shown as such, never passed over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from beforehand.book.bodies import body_path
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.folder_form import is_due
from beforehand.publish.conformance.result import Check, Pointer, counted
from beforehand.publish.conformance.said import Answer, Row, listed, number, text

NOT_REVEALED = "not_revealed"
RULES = ("worst_in_service", "absent")
# What else a row of such an answer may say: why it would not have counted anyway.
_OUT = ("late", "uncounted_run", "not_on_roster", "not_asked", "not_counted")


def check_undisclosed(check: Check, exhibit: Exhibit, rows: Iterable[Row]) -> None:
    """Every due answer that is not among the files has its rows, and no other answer has such."""
    hidden = hidden_answers(exhibit)
    held = [row for row in rows if row.kind != "derived"]
    for row in held:
        if row.line in hidden and row.status not in (NOT_REVEALED, *_OUT):
            check.fault(
                f"the answer of line {row.line} was due and never disclosed, and the row says "
                f"{row.status[:40]!r}",
                row.place,
            )
        elif row.status == NOT_REVEALED and row.line not in hidden:
            check.fault(
                f"the row says not_revealed, and the answer of line {row.line} is none that is "
                "due and missing",
                row.place,
            )
    _check_listed(check, exhibit, hidden, held)
    _check_counts(check, exhibit)
    if hidden and not check.faults:
        check.saw(
            f"{counted(len(hidden), 'answer')} that was due and never disclosed stands as "
            "not_revealed in the table, and in no quality score",
            exhibit.at_line(min(hidden)),
        )


def hidden_answers(exhibit: Exhibit) -> dict[int, Answer]:
    """The answers whose body was due, or was erased, and is not among the files; by line."""
    lines = {
        body.n
        for body in exhibit.bodies
        if (body.kind, body.role) == ("answer", "answer")
        # The table is of the moment of its publication, whenever it is judged.
        and (body.sha256 in exhibit.erased or is_due(body.due, exhibit.published_at))
        and not exhibit.folder.has(f"{exhibit.base}/{body_path(body.sha256)}")
    }
    return {answer.n: answer for answer in exhibit.answers if answer.n in lines}


def _check_listed(
    check: Check, exhibit: Exhibit, hidden: dict[int, Answer], held: Iterable[Row]
) -> None:
    """What such an answer was asked stands in the table, by whatever line."""
    there = {(row.run, row.forecaster, row.question) for row in held}
    asked = {ask.n: ask.questions for ask in exhibit.asks}
    for answer in hidden.values():
        for question in asked.get(answer.ask_line or 0, ()):
            if (answer.run, answer.forecaster, question) not in there:
                check.fault(
                    "the answer was due and never disclosed, and no row of the table says so",
                    exhibit.at_line(answer.n),
                )
                break


def _check_counts(check: Check, exhibit: Exhibit) -> None:
    """The board counts such rows, and scores them by the declared rule."""
    if exhibit.board is None:
        return
    place = Pointer(f"{exhibit.base}/leaderboard.json".lstrip("/"))
    own: Counter[str] = Counter(
        row.forecaster for row in exhibit.board_rows() if row.status == NOT_REVEALED
    )
    for entry in listed(exhibit.board, "forecasters"):
        name = text(entry, "forecaster") if isinstance(entry, dict) else ""
        said = number(entry, "n_not_revealed") if isinstance(entry, dict) else None
        if own[name] != (said or 0):
            check.fault(
                f"{name[:60]!r}: {said or 0} not revealed published, {own[name]} in the rows",
                place,
            )
    declared = exhibit.declaration("answers", "not_revealed")
    rules = exhibit.board.get("rules")
    said_rule = rules.get(NOT_REVEALED) if isinstance(rules, dict) else None
    if declared in RULES and said_rule not in (None, declared):
        check.fault(
            f"the board takes {said_rule!r:.40} for answers that were never disclosed, and "
            f"{declared!r:.40} was declared",
            place,
        )
