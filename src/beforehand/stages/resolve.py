"""Sealing outcomes as their sources give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from beforehand.records.codec import digest
from beforehand.records.record import BodyRef
from beforehand.records.resolution import Resolution
from beforehand.sources.forecastbench import ArchivedOutcome, Key
from beforehand.stages.pen import Pen


def resolve(
    pen: Pen,
    outcomes: Sequence[ArchivedOutcome],
    ids: Mapping[Key, str],
    source: str,
    final: str,
    wrote: Callable[[int], None] | None = None,
) -> None:
    """One resolution line an outcome with its evidence; what is settled stays as it is.

    `final` names whose word ends the question, as the league declares it.
    """
    held = {record.question for _, record in pen.records() if isinstance(record, Resolution)}
    fresh = [outcome for outcome in outcomes if ids[outcome.key] not in held]
    if not fresh:
        return

    def build(at: str) -> list[Resolution]:
        return [
            Resolution(
                at=at,
                bodies=(BodyRef("evidence", digest(outcome.evidence), at),),
                question=ids[outcome.key],
                outcome=outcome.outcome,
                instant=outcome.day,
                source=source,
                final=final,
            )
            for outcome in fresh
        ]

    pen.write(build, list({outcome.evidence for outcome in fresh}), wrote)
