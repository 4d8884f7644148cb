"""Requirements 5 and 6: every run is published, and which one counts was settled beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from beforehand.clock import instant_text
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.folder_form import is_due
from beforehand.publish.conformance.result import Check, Pointer, counted
from beforehand.publish.conformance.said import IN_TIME, Answer, Body, Row, Run, before, moment
from beforehand.publish.conformance.undisclosed import hidden_answers
from beforehand.publish.counted_run import outside_grace, slot_key
from beforehand.publish.cron import fits_cron

# The closed vocabularies of a row's status: ours, and the seed's.
STATUSES = frozenset(
    (
        *("counted", "open", "stale", "void", "missing", "pending", "sealed", "after_outcome"),
        *("late", "not_counted", "not_on_roster", "not_asked", "uncounted_run", "not_revealed"),
        *("counted_50", "no_answer", "refused_shape", "refused"),
    )
)
# Ten years: what is longer is no deadline of a run.
MOST_MINUTES = 10 * 366 * 24 * 60
_READABLE = "declare it as cron in a zone of the tz database"
RULES = ("only_run", "every_run", "scheduled_run")
_DISCLOSED = ("answer", "reply", "reasoning", "identity", "submission", "answer_rows")


def check_runs(exhibit: Exhibit) -> Check:
    """Requirement 5."""
    check = Check(5)
    rows = exhibit.rows
    if rows is None:
        check.gap("no table of forecasts is published", "publish one row a forecast of every run")
    else:
        for row in rows:
            if row.status and row.status not in STATUSES:
                check.fault(
                    f"the status {row.status[:40]!r} is in no published vocabulary", row.place
                )
    if exhibit.form == "table":
        check.gap(
            "a lone table cannot show that no run was left out of it",
            "publish the record of runs and asks beside it",
        )
        if rows and not any(row.other.get("status") or row.other.get("run_role") for row in rows):
            check.gap("no row says whether it counts", "label every row with its status")
        return check
    for run in exhibit.runs:
        if run.counted is None and exhibit.form == "folder":
            check.fault("the run carries no label: counted or not", exhibit.at_line(run.n))
        if run.counted is False and not run.why and exhibit.form == "folder":
            check.fault("the run does not count, and nothing says why", exhibit.at_line(run.n))
    if rows is not None:
        _check_rows(check, exhibit, rows)
    _check_disclosed(check, exhibit)
    if exhibit.runs and rows is not None and not check.faults:
        check.saw(
            f"{counted(len(exhibit.runs), 'run')}; every ask and stated answer has a row "
            "with a label",
            exhibit.at_line(exhibit.runs[0].n),
        )
        check.seen.append(
            "not excluded: models asked outside the record, and the replies thrown away"
        )
        check.holds_since(exhibit.first_at or None)
    if not exhibit.runs and not check.faults:
        check.gap("the record holds no run line", "seal a line for every run")
    return check


def _check_rows(check: Check, exhibit: Exhibit, rows: Iterable[Row]) -> None:
    """Nothing that the record holds is missing from the table, and no run is the table's own."""
    published = {(row.run, row.forecaster, row.question) for row in rows}
    named = {run.run for run in exhibit.runs} | set(exhibit.closes)
    for row in rows:
        if row.run not in named:
            check.fault(f"the run {row.run[:60]!r} stands in no line of the record", row.place)
            break
    shown = {key[0] for key in published}
    answered = {answer.run for answer in exhibit.answers}
    for run in exhibit.runs:
        if exhibit.form == "book" and run.run not in answered:
            continue
        if run.questions and run.run not in shown:
            check.fault(f"no row of the run {run.run[:60]!r} is published", exhibit.at_line(run.n))
    for n, run_name, forecaster, question, what in _expected(exhibit):
        if run_name in named and (run_name, forecaster, question) not in published:
            check.fault(
                f"{what} of {forecaster[:60]!r} on {question[:40]!r} has no row", exhibit.at_line(n)
            )


def _expected(exhibit: Exhibit) -> Iterable[tuple[int, str, str, str, str]]:
    for answer in exhibit.answers:
        for question, p in (answer.cells or {}).items():
            if p is not None:
                yield answer.n, answer.run, answer.forecaster, question, "a stated answer"
    for ask in exhibit.asks:
        for question in ask.questions:
            yield ask.n, ask.run, ask.forecaster, question, "an ask"


def _check_disclosed(check: Check, exhibit: Exhibit) -> None:
    """What is due is there; a person may have what is theirs erased, and no model's answer is."""
    asked = {
        answer.n
        for answer in exhibit.answers
        if (seat := exhibit.seat_of(answer.run, answer.forecaster)) and seat.entry == "asked"
    }
    for body in exhibit.bodies if exhibit.form == "folder" else ():
        if body.role not in _DISCLOSED:
            continue
        if body.sha256 in exhibit.erased:
            if body.n in asked:
                check.fault(
                    f"the {body.role} of a model was erased, as only a person's may be",
                    exhibit.at_line(body.n),
                )
            continue
        if (body.kind, body.role) == ("answer", "answer"):
            _check_due(check, exhibit, body)
        if is_due(body.due, exhibit.as_of) and exhibit.read_body(body.sha256) is None:
            check.fault(
                f"its {body.role} was due at {body.due} and was never disclosed",
                exhibit.at_line(body.n),
            )


def _check_due(check: Check, exhibit: Exhibit, body: Body) -> None:
    """A closed answer is due when its run ends, as declared: else it would never be overdue."""
    run = exhibit.run_named(body.run)
    if run is None or exhibit.declaration_at(body.n, "bodies", "answer") != "deadline":
        return
    roster = exhibit.roster_of(run)
    # A roster that puts the deadline off is requirement 6's.
    ends = [_declared_deadline(exhibit, run), None if roster is None else moment(roster.deadline)]
    last = max((each for each in ends if each is not None), default=None)
    due = moment(body.due or "")
    if last is not None and (due is None or due > last):
        check.fault(
            f"its answer is due {f'at {body.due:.40}' if body.due else 'at no time'}, and its run "
            f"ends at {instant_text(last)}",
            exhibit.at_line(body.n),
        )


# ---- requirement 6


def check_counted(exhibit: Exhibit) -> Check:
    """Requirement 6."""
    check = Check(6)
    if exhibit.form == "table":
        _check_once(check, exhibit.rows or [], "row")
        check.gap(
            "a table cannot show that the rule was declared before the runs",
            "seal the rule for the run that counts before the first run, and publish it",
        )
        return check
    rule = exhibit.declaration("counted_run", "rule")
    place = exhibit.at_declaration()
    late = [run for run in exhibit.runs if run.n < exhibit.declared_line]
    if late:
        check.fault("the rule was declared after a run had begun", place)
    if exhibit.declared is None:
        check.gap(
            "the declaration is not published, or cannot be read",
            "publish the declaration's bytes under the hash that line 1 names",
        )
    elif rule not in RULES:
        check.fault("the declaration holds no rule for the run that counts", place)
    else:
        _apply(check, exhibit, str(rule))
    _check_labels_first(check, exhibit)
    _check_once(check, [row for row in exhibit.rows or [] if row.kind != "derived"], "answer")
    _check_first_answers(check, exhibit)
    if exhibit.runs and rule in RULES and not check.faults:
        check.saw(
            f"the rule {rule!r} stands in line {exhibit.declared_line}, before the first run; "
            f"applied to the sealed times of {counted(len(exhibit.runs), 'run')} it gives the "
            "published labels",
            place,
        )
        if exhibit.rows is None:
            check.gap("no table of forecasts shows which answer counts", "publish it")
        check.holds_since(exhibit.first_at or None)
    return check


def _apply(check: Check, exhibit: Exhibit, rule: str) -> None:
    """The declared rule on the runs, by their sealed times alone."""
    counted = [run for run in exhibit.runs if run.counted]
    if rule == "only_run" and len(counted) > 1:
        check.fault(
            f"only one run counts by the rule, and {len(counted)} are labelled so",
            exhibit.at_line(counted[1].n),
        )
    slots: dict[datetime | str, Run] = {}
    for run in counted:
        if slot_key(run.slot) in slots:
            check.fault(
                f"two runs count for the slot {run.slot[:40]!r}: the second is a rerun",
                exhibit.at_line(run.n),
            )
        slots.setdefault(slot_key(run.slot), run)
    if rule == "every_run":
        segments = {held.segment for held in exhibit.segments if held.counted is not False}
        for run in exhibit.runs:
            if run.counted is False and run.segment in segments:
                check.fault(
                    "every run counts by the rule, and this one was left out",
                    exhibit.at_line(run.n),
                )
    _check_schedule(check, exhibit, counted, rule)
    for run in counted:
        _check_deadline(check, exhibit, run)


def _check_deadline(check: Check, exhibit: Exhibit, run: Run) -> None:
    """A run waits for answers until its declared deadline: a later one would be chosen for it."""
    roster, wanted = exhibit.roster_of(run), _declared_deadline(exhibit, run)
    said = None if roster is None else moment(roster.deadline)
    # One that is no time is requirement 13's.
    if roster is not None and said is not None and wanted is not None and said != wanted:
        check.fault(
            f"its deadline {roster.deadline[:40]!r} is not the declared one, "
            f"{instant_text(wanted)}",
            exhibit.at_line(roster.n),
        )


def _declared_deadline(exhibit: Exhibit, run: Run) -> datetime | None:
    """When a run of this slot ends by the declaration; None where that says nothing."""
    once = exhibit.declaration_at(run.n, "schedule", "deadline")
    minutes = exhibit.declaration_at(run.n, "schedule", "deadline_minutes")
    at = moment(run.slot)
    if at is not None and type(minutes) is int and 0 <= minutes < MOST_MINUTES:
        try:
            return at + timedelta(minutes=minutes)
        except OverflowError:
            return None
    return moment(once) if isinstance(once, str) else None


def _check_schedule(check: Check, exhibit: Exhibit, counted: Iterable[Run], rule: str) -> None:
    for run in counted:
        at = moment(run.slot)
        crons = exhibit.declaration_at(run.n, "schedule", "cron")
        zone = exhibit.declaration_at(run.n, "schedule", "timezone")
        once = exhibit.declaration_at(run.n, "schedule", "slot")
        if isinstance(once, str) and run.slot != once:
            check.fault(
                f"its slot {run.slot[:40]!r} is not the declared one", exhibit.at_line(run.n)
            )
        grace = exhibit.declaration_at(run.n, "schedule", "grace_minutes")
        late = outside_grace({"schedule": {"grace_minutes": grace}}, run.slot, run.at)
        if late:
            check.fault(f"it counts, and is {late}", exhibit.at_line(run.n))
        if isinstance(crons, list) and at is not None:
            fits = [fits_cron(str(cron), at, str(zone)) for cron in crons[:50]]
            if None not in fits and True not in fits:
                check.fault(
                    f"its slot {run.slot[:40]!r} is not on the declared schedule",
                    exhibit.at_line(run.n),
                )
            elif True not in fits:
                check.gap("the declared schedule could not be read here", _READABLE)
    if rule == "scheduled_run":
        begun: set[datetime | str] = set()
        for run in exhibit.runs:
            at, again = moment(run.slot), slot_key(run.slot) in begun
            begun.add(slot_key(run.slot))
            crons = exhibit.declaration_at(run.n, "schedule", "cron")
            zone = exhibit.declaration_at(run.n, "schedule", "timezone")
            if not isinstance(crons, list):
                continue
            told = [at and fits_cron(str(cron), at, str(zone)) for cron in crons[:50]]
            if run.counted is False and True in told and not again:
                check.fault(
                    "the run of the schedule counts by the rule, and was left out",
                    exhibit.at_line(run.n),
                )
            elif run.counted is False and None in told:
                check.gap("the declared schedule could not be read here", _READABLE)
    calendar = exhibit.declaration("schedule", "calendar")
    if isinstance(calendar, str):
        check.gap(
            f"the sessions of the calendar {calendar[:20]} are not in the standard library",
            "compare each slot with the exchange's calendar",
        )


def _check_labels_first(check: Check, exhibit: Exhibit) -> None:
    """A run's label stands before its answers."""
    first: dict[str, int] = {}
    for answer in exhibit.answers:
        first.setdefault(answer.run, answer.n)
    for run in exhibit.runs:
        if exhibit.form == "folder" and first.get(run.run, run.n + 1) < run.n:
            check.fault(
                "the run was labelled after an answer of it had come", exhibit.at_line(run.n)
            )


def _check_once(check: Check, rows: Iterable[Row], what: str) -> None:
    seen: dict[tuple[str, str, str, str], Pointer] = {}
    for row in rows:
        if row.status not in IN_TIME and row.status:
            continue
        if not row.status and (not row.run or not row.p):
            continue
        key = (
            row.run,
            row.forecaster,
            row.question,
            row.other.get("at", "") if not row.run else "",
        )
        if key in seen:
            check.fault(
                f"a second {what} of {row.forecaster[:60]!r} on one event of one run counts",
                row.place,
            )
        seen[key] = row.place


def _check_first_answers(check: Check, exhibit: Exhibit) -> None:
    """The answer that counts is the first that is well formed and in time, and no better one."""
    first = _first_lines(exhibit)
    said = {answer.n for answer in exhibit.answers}
    late = {a.n for a in exhibit.answers if _is_late(exhibit, a)}
    runs = Counter(run.run for run in exhibit.runs if run.counted is False)
    for row in exhibit.rows or ():
        if row.kind == "derived" or row.status not in IN_TIME or row.line is None:
            continue
        if row.run in runs:
            check.fault("the run was declared as not counted, and its row counts", row.place)
        if row.line in late:
            check.fault(
                f"the answer of line {row.line} came after the deadline, and counts", row.place
            )
        expected = first.get((row.run, row.forecaster, row.question))
        if expected not in (None, row.line) and row.line in said - late:
            check.fault(
                f"line {row.line} counts, and the first well-formed answer in time is on "
                f"line {expected}",
                row.place,
            )


def _first_lines(exhibit: Exhibit) -> Mapping[tuple[str, str, str], int]:
    """The line whose word takes each place; one that is closed takes it all the same."""
    found: dict[tuple[str, str, str], int] = {}
    asked = {ask.n: ask.questions for ask in exhibit.asks}
    hidden = hidden_answers(exhibit) if exhibit.form == "folder" else {}
    for answer in exhibit.answers:
        if _is_late(exhibit, answer):
            continue
        said = [question for question, p in (answer.cells or {}).items() if p is not None]
        if answer.cells is None:
            said = list(asked.get(answer.ask_line or 0, ()))
        run, seat = exhibit.run_named(answer.run), exhibit.seat_of(answer.run, answer.forecaster)
        if answer.n in hidden and run is not None and seat is not None and seat.entry == "accepted":
            said = list(run.questions)  # nobody knows what it was about
        for question in said:
            found.setdefault((answer.run, answer.forecaster, question), answer.n)
    return found


def _is_late(exhibit: Exhibit, answer: Answer) -> bool:
    run = exhibit.run_named(answer.run)
    roster = exhibit.roster_of(run) if run else None
    if roster is None:
        return False
    times: list[Any] = [answer.at, answer.received_at]
    return any(at and before(roster.deadline, at) for at in times)
