"""Metrics in the text exposition format of Prometheus (0.0.4).

A tick writes the league's figures to a file, as a textfile collector reads
them; the intake serves that file with its own counters behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from beforehand.book.store import write_synced
from beforehand.clock import instant_key
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Answer
from beforehand.records.record import Record, Unknown
from beforehand.stages.health import Condition, last_asks
from beforehand.stages.inbox import Backlog
from beforehand.stages.ledger import Ledger

METRICS_NAME = "state/metrics.prom"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Samples = Sequence[tuple[Mapping[str, str], "int | Decimal"]]


@dataclass(frozen=True)
class Family:
    """One metric: its name, what it is, `counter` or `gauge`, and a value a set of labels."""

    name: str
    help: str
    type: str
    samples: Samples

    def text(self) -> str:
        """The family's lines."""
        lines = [f"# HELP {self.name} {_escaped(self.help)}", f"# TYPE {self.name} {self.type}"]
        for labels, value in self.samples:
            inside = ",".join(
                f'{key}="{_escaped(held, quoted=True)}"' for key, held in labels.items()
            )
            lines.append(f"{self.name}{{{inside}}} {value}" if inside else f"{self.name} {value}")
        return "\n".join(lines) + "\n"


def _escaped(text: str, *, quoted: bool = False) -> str:
    held = text.replace("\\", "\\\\").replace("\n", "\\n")
    return held.replace('"', '\\"') if quoted else held


def exposition(families: Iterable[Family]) -> str:
    """The text of several families."""
    return "".join(family.text() for family in families)


def league_families(
    records: Sequence[tuple[int, Record | Unknown]],
    declaration: Declaration,
    conditions: Sequence[Condition],
    now: str,
    backlog: Backlog | None = None,
    problems: int = 0,
) -> list[Family]:
    """What a league's book and health come to, as metrics; `problems` is how many a tick told."""
    waits = backlog or Backlog()
    last = records[-1][1] if records else None
    answers: dict[tuple[str, str], int] = {}
    for _, record in records:
        if isinstance(record, Answer):
            key = record.forecaster, record.status
            answers[key] = answers.get(key, 0) + 1
    return [
        Family("beforehand_lines", "Lines of the book.", "gauge", [({}, len(records))]),
        Family(
            "beforehand_last_line_timestamp_seconds",
            "When the book's last line was written.",
            "gauge",
            [({}, _seconds(last.at))] if isinstance(last, Record) else [],
        ),
        Family(
            "beforehand_tick_timestamp_seconds",
            "When these figures were made.",
            "gauge",
            [({}, _seconds(now))],
        ),
        Family(
            "beforehand_tick_problems",
            "Problems that the last tick told.",
            "gauge",
            [({}, problems)],
        ),
        Family(
            "beforehand_answers_total",
            "Answer lines, by forecaster and status.",
            "counter",
            [({"forecaster": who, "status": how}, n) for (who, how), n in answers.items()],
        ),
        Family(
            "beforehand_seat_reliability",
            "Share of a seat's last asks that brought a valid answer.",
            "gauge",
            [
                ({"forecaster": who}, Decimal(sum(held)) / len(held))
                for who, held in last_asks(records).items()
            ],
        ),
        *_money(Ledger.of(records, declaration.content), now),
        Family("beforehand_inbox_waiting", "Waiting submissions.", "gauge", [({}, waits.waiting)]),
        Family("beforehand_inbox_refused", "Refused submissions.", "gauge", [({}, waits.refused)]),
        Family(
            "beforehand_condition",
            "1 for each condition that holds now.",
            "gauge",
            [({"id": each.id, "severity": each.severity}, 1) for each in conditions],
        ),
    ]


def _money(ledger: Ledger, now: str) -> list[Family]:
    period = ledger.period(now)
    account = ledger.account(period)
    label = {"currency": ledger.currency, "period": period}
    families = [
        Family(
            "beforehand_spent", "Money charged in this period.", "gauge", [(label, account.spent)]
        ),
        Family(
            "beforehand_reserved",
            "Money reserved and not settled in this period.",
            "gauge",
            [(label, account.standing)],
        ),
    ]
    if ledger.cap is not None:
        families.append(
            Family("beforehand_budget_cap", "The hard limit.", "gauge", [(label, ledger.cap)])
        )
    return families


def _seconds(instant: str) -> int:
    return int(instant_key(instant).timestamp())


def write_metrics(folder: Path, families: Iterable[Family]) -> None:
    """Put the league's figures where the intake, or a textfile collector, finds them."""
    write_synced(folder / METRICS_NAME, exposition(families).encode("utf-8"))


def read_metrics(folder: Path) -> str:
    """The league's figures as last written; nothing where no tick has written any."""
    path = folder / METRICS_NAME
    return path.read_text("utf-8") if path.is_file() else ""
