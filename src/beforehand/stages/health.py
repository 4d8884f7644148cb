"""The health of a league: conditions that an operator should know of, as its book says them.

`conditions` is pure: records, the present time and a few facts in, conditions
out. Each has an id that stays the same as long as it holds, so that it is
told once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from beforehand.anchors.queue import SUBMIT, Item
from beforehand.book.bodies import body_path
from beforehand.book.store import write_synced
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.evidence import Erased, ProofLine
from beforehand.records.forecast import Answer
from beforehand.records.record import Record, Unknown
from beforehand.records.run import Ask, Close, Roster, Run
from beforehand.stages.inbox import Backlog
from beforehand.stages.ledger import Ledger
from beforehand.stages.status import counted

Records = Sequence[tuple[int, Record | Unknown]]

KINDS = (
    *("missed_slot", "run_failed", "run_stopped", "stalled_slot", "budget", "failing_seat"),
    *("dead_anchor", "pending_anchor", "overdue_body", "inbox_backlog", "inbox_refused"),
)
WORDS = ("ok", "warning", "critical")
HEALTH_NAME = "state/health.json"
HEALTH_FORMAT = "beforehand-health/1"
LAST_ASKS = 20
LEAST_ASKS = 5
ALL_FAILED_FROM = 3
RELIABILITY = Decimal("0.80")
BUDGET_SHARE = Decimal("0.80")
# A missed slot is told this long, whatever follows it in the same tick.
MISSED_HOURS = 24
PENDING_HOURS = 24
STALLED_MINUTES = 15
# A body that fell due a moment ago is shown by the next publication.
OVERDUE_MINUTES = 60
WAITING_MANY = 200
SENTENCE = 400
# An attempt that was never made says nothing about the seat.
_NOT_ASKED = ("budget",)


@dataclass(frozen=True)
class Condition:
    """Something that is wrong now. `since` is when it began, `severity` warning or critical."""

    id: str
    kind: str
    severity: str
    since: str
    sentence: str


def conditions(
    records: Records,
    declaration: Declaration,
    now: str,
    *,
    backlog: Backlog | None = None,
    is_shown: Callable[[str], bool] | None = None,
    waiting: Sequence[Item] = (),
) -> list[Condition]:
    """Everything that is wrong now, in a stable order.

    `waiting` is what the anchors' queue holds: a submission that is refused
    leaves no proof line, so that the book alone never tells of it.
    `is_shown` says whether a body, by its hash, is where it should be once it
    is due (the public folder); without it overdue bodies are not looked for.
    """
    found = [
        *_ended_badly(records, now),
        *_stalled(records, declaration, now),
        *_budget(records, declaration, now),
        *_failing_seats(records, declaration),
        *_dead_anchors(waiting, now),
        *_pending_anchors(records, now),
        *_overdue(records, now, is_shown),
        *_backlog(backlog or Backlog(), now),
    ]
    return sorted(found, key=lambda each: (KINDS.index(each.kind), each.id))


def _condition(kind: str, what: str, severity: str, since: str, sentence: str) -> Condition:
    return Condition(f"{kind}:{what}" if what else kind, kind, severity, since, sentence[:SENTENCE])


# ---- slots and runs

_BAD_ENDS = {
    "missed": ("missed_slot", "critical", "was missed and is never made up for"),
    "failed": ("run_failed", "critical", "failed: no valid answer came"),
    "stopped_budget": ("run_stopped", "warning", "stopped at the budget"),
}


def _ended_badly(records: Records, now: str) -> Iterator[Condition]:
    """Slots that ended badly, as long as no later slot has ended well.

    A missed slot stays for a day after it was sealed: after an outage the tick
    that seals it completes the next slot too, and nobody would hear of it.
    """
    bad: list[Close] = []
    answered: dict[str, bool] = {}
    recent = instant_key(now) - timedelta(hours=MISSED_HOURS)
    for _, record in records:
        if isinstance(record, Close) and record.status == "complete":
            bad = [
                each for each in bad if each.status == "missed" and instant_key(each.at) > recent
            ]
        elif isinstance(record, Close):
            bad.append(record)
        elif isinstance(record, Answer):
            valid = record.status == "answered"
            answered[record.run] = answered.get(record.run, False) or valid
    for close in bad:
        kind, severity, words = _BAD_ENDS[close.status]
        if answered.get(close.run) is False:
            severity = "critical"  # it cost something, and brought nothing
        why = f": {close.why}" if close.why else ""
        yield _condition(kind, close.run, severity, close.at, f"The slot {close.slot} {words}{why}")


def _stalled(records: Records, declaration: Declaration, now: str) -> Iterator[Condition]:
    """Runs of a schedule that should have been closed and are not."""
    if declaration.content["schedule"]["kind"] != "cron":
        return
    deadlines = {n: record.deadline for n, record in records if isinstance(record, Roster)}
    closed = {record.run for _, record in records if isinstance(record, Close)}
    late = instant_key(now) - timedelta(minutes=STALLED_MINUTES)
    for _, record in records:
        if not isinstance(record, Run) or record.run in closed:
            continue
        deadline = deadlines.get(record.roster_line, record.slot)
        if instant_key(deadline) < late:
            sentence = f"The run {record.run} is still open; its deadline was {deadline}"
            yield _condition("stalled_slot", record.run, "critical", deadline, sentence)


# ---- money


def _budget(records: Records, declaration: Declaration, now: str) -> Iterator[Condition]:
    """The period of the present time, from its 80 % on; told again once it is used up.

    A cap of zero is no missing one: whatever is spent under it is over it.
    """
    ledger = Ledger.begin(declaration.content)
    cap = ledger.cap
    if cap is None:
        return
    period, since, near = ledger.period(now), "", cap * BUDGET_SHARE
    for n, record in records:
        ledger.take(n, record)
        used = ledger.account(period).committed
        if used < near or not used:
            since = ""
        elif not since:
            since = record.at if isinstance(record, Record) else now
    if not since:
        return
    used = ledger.account(period).committed
    severity = "critical" if used >= cap else "warning"
    share = f" ({used * 100 / cap:.0f} %)" if cap else ""
    sentence = f"{used} of {cap} {ledger.currency} are spent or reserved in {period}{share}"
    yield _condition("budget", period, severity, since, sentence)


# ---- seats


def last_asks(records: Records) -> dict[str, list[bool]]:
    """Of each asked forecaster's last questions, oldest first, whether a valid answer came."""
    return {name: [ok for ok, _ in held][-LAST_ASKS:] for name, held in _asked_of(records).items()}


def _asked_of(records: Records) -> dict[str, list[tuple[bool, str]]]:
    """By forecaster, each question asked of it in each run: whether it came out, and when last."""
    asks: dict[int, tuple[str, str, Any]] = {}
    ended: dict[tuple[str, str, Any], tuple[bool, str]] = {}
    for n, record in records:
        if isinstance(record, Ask):
            asks[n] = (record.forecaster, record.run, record.questions)
        elif isinstance(record, Answer) and record.ask_line in asks:
            if record.status in _NOT_ASKED:
                continue
            key = asks.pop(record.ask_line)
            before = ended.pop(key, (False, ""))[0]
            ended[key] = before or record.status == "answered", record.at
    found: dict[str, list[tuple[bool, str]]] = {}
    for (name, _, _), how in ended.items():
        found.setdefault(name, []).append(how)
    return found


def _failing_seats(records: Records, declaration: Declaration) -> Iterator[Condition]:
    least = Decimal(declaration.content["board"].get("min_reliability", RELIABILITY))
    for name, every in _asked_of(records).items():
        held = every[-LAST_ASKS:]
        good, n = sum(ok for ok, _ in held), len(held)
        all_failed = good == 0 and n >= ALL_FAILED_FROM
        if not all_failed and (n < LEAST_ASKS or Decimal(good) / n >= least):
            continue
        severity = "critical" if all_failed else "warning"
        given, asked = counted(good, "valid answer"), counted(n, "question")
        sentence = f"{name} gave {given} to its last {asked}"
        yield _condition("failing_seat", name, severity, _first_failure(held), sentence)


def _first_failure(held: Sequence[tuple[bool, str]]) -> str:
    return next(at for ok, at in held if not ok)


# ---- proofs and bodies


def _dead_anchors(waiting: Iterable[Item], now: str) -> Iterator[Condition]:
    """Anchors that have taken no submission of some checkpoint for a day."""
    old = instant_key(now) - timedelta(hours=PENDING_HOURS)
    by_anchor: dict[str, list[Item]] = {}
    for item in waiting:
        if item.task == SUBMIT and instant_key(item.since) < old:
            by_anchor.setdefault(item.anchor, []).append(item)
    for anchor, held in by_anchor.items():
        first = min(held, key=lambda item: instant_key(item.since))
        sentence = (
            f"{anchor} has taken no submission of {len(held)} checkpoints for over "
            f"{PENDING_HOURS} hours: {first.reason or 'it was not tried'}"
        )
        yield _condition("dead_anchor", anchor, "warning", first.since, sentence)


def _pending_anchors(records: Records, now: str) -> Iterator[Condition]:
    pending: dict[tuple[str, int], str] = {}
    complete: set[tuple[str, int]] = set()
    for _, record in records:
        if isinstance(record, ProofLine):
            key = record.anchor, record.checkpoint_size
            if record.state == "complete":
                complete.add(key)
            else:
                pending.setdefault(key, record.at)
    old = instant_key(now) - timedelta(hours=PENDING_HOURS)
    by_anchor: dict[str, list[tuple[int, str]]] = {}
    for (anchor, size), at in pending.items():
        if (anchor, size) not in complete and instant_key(at) < old:
            by_anchor.setdefault(anchor, []).append((size, at))
    for anchor, held in by_anchor.items():
        first = min((at for _, at in held), key=instant_key)
        sizes = ", ".join(str(size) for size, _ in held[:5]) + (", …" if len(held) > 5 else "")
        sentence = (
            f"{anchor} has not confirmed {counted(len(held), 'checkpoint')} for over "
            f"{PENDING_HOURS} hours (sizes {sizes})"
        )
        yield _condition("pending_anchor", anchor, "warning", first, sentence)


def _overdue(
    records: Records, now: str, is_shown: Callable[[str], bool] | None
) -> Iterator[Condition]:
    """Withheld bodies that are due and not where they should be, one condition a run."""
    if is_shown is None:
        return
    erased = {record.body_sha256 for _, record in records if isinstance(record, Erased)}
    missing: dict[str, list[tuple[str, str]]] = {}
    for n, name, due, sha256 in _due_bodies(records, now):
        if sha256 not in erased and not is_shown(sha256):
            missing.setdefault(name, []).append((due, f"line {n}"))
    for name, held in missing.items():
        first = min((due for due, _ in held), key=instant_key)
        lines = ", ".join(dict.fromkeys(line for _, line in held[:5]))
        bodies = counted(len(held), f"body of {name} was", f"bodies of {name} were")
        sentence = f"{bodies} due at {first} and not shown ({lines})"
        yield _condition("overdue_body", name, "critical", first, sentence)


def _due_bodies(records: Records, now: str) -> Iterator[tuple[int, str, str, str]]:
    moment = instant_key(now) - timedelta(minutes=OVERDUE_MINUTES)
    for n, record in records:
        if not isinstance(record, Record):
            continue
        for body in record.bodies:
            if body.due is None or body.due == record.at or instant_key(body.due) > moment:
                continue
            yield n, str(getattr(record, "run", "the book")), body.due, body.sha256


# ---- the inbox


def _backlog(backlog: Backlog, now: str) -> Iterator[Condition]:
    if backlog.waiting and backlog.oldest is not None and backlog.promised_by is not None:
        begun, end = instant_key(backlog.oldest), instant_key(backlog.promised_by)
        moment = instant_key(now)
        broken, half = moment > end, moment > begun + (end - begun) / 2
        if broken or half or backlog.waiting >= WAITING_MANY:
            what = "was" if broken else "is"
            sentence = (
                f"{counted(backlog.waiting, 'submission waits', 'submissions wait')} to be "
                "sealed, the oldest since "
                f"{backlog.oldest}; it {what} promised by {backlog.promised_by}"
            )
            severity = "critical" if broken else "warning"
            yield _condition("inbox_backlog", "", severity, backlog.oldest, sentence)
    if backlog.refused:
        files = counted(backlog.refused, "file")
        sentence = f"{files} of the inbox could not be sealed: see inbox/refused"
        yield _condition("inbox_refused", "", "warning", now, sentence)


def worst(found: Iterable[Condition]) -> str:
    """The word for all of them together: ok, warning or critical."""
    return max((each.severity for each in found), key=WORDS.index, default="ok")


def shown_in(folder: Path) -> Callable[[str], bool]:
    """Whether a body stands in a published league's folder (`public/api/v1/LEAGUE`)."""
    return lambda sha256: (folder / body_path(sha256)).is_file()


def write_health(folder: Path, found: Sequence[Condition], now: str) -> None:
    """Leave the conditions where the intake's /healthz finds them."""
    value = {
        "format": HEALTH_FORMAT,
        "as_of": now,
        "status": worst(found),
        "conditions": [asdict(each) for each in found],
    }
    write_synced(folder / HEALTH_NAME, seal_json(value) + b"\n")


def read_health(folder: Path) -> str:
    """The word that was last left; "unknown" where there is none."""
    try:
        status = decode_json((folder / HEALTH_NAME).read_bytes())["status"]
    except (OSError, FormatError, KeyError, TypeError):
        return "unknown"
    return status if status in WORDS else "unknown"
