"""Fixing the questions of a round and sealing what the crowd said when they were fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from beforehand.errors import FormatError
from beforehand.records.codec import digest
from beforehand.records.question import Question, question_id
from beforehand.records.record import BodyRef
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.sources.forecastbench import ArchivedEvent, Key
from beforehand.stages.contracts import unstated
from beforehand.stages.declare import declaration_of
from beforehand.stages.pen import Pen, open_body

Wrote = Callable[[int], None]


def seal_questions(
    pen: Pen, events: Mapping[Key, ArchivedEvent], wrote: Wrote | None = None
) -> dict[Key, str]:
    """One question line an event, its text as a body; what is in the book stays. Ids by event.

    FormatError, before any line is written, where an event does not state all of
    the contract that the league declares.
    """
    ids = {key: question_id(event.contract) for key, event in events.items()}
    held = {record.question for _, record in pen.records() if isinstance(record, Question)}
    fresh = [key for key in events if ids[key] not in held]
    texts = list({events[key].text for key in fresh})
    digests = {text: digest(text) for text in texts}

    declaration = declaration_of(pen)

    def build(at: str) -> list[Question]:
        made = [
            Question(
                at=at,
                bodies=(BodyRef("text", digests[events[key].text], at),),
                question=ids[key],
                contract=dict(events[key].contract),
                cluster=events[key].cluster,
                horizon=events[key].horizon,
                source=events[key].source,
                type=events[key].type,
            )
            for key in fresh
        ]
        for question in made:
            if lacking := unstated(declaration, question):
                raise FormatError(f"{question.cluster}, {question.horizon}: {lacking}")
        return made

    if fresh:
        pen.write(build, texts, wrote)
    return ids


def seal_snapshot(
    pen: Pen,
    run: str,
    events: Mapping[Key, ArchivedEvent],
    ids: Mapping[Key, str],
    raw: bytes,
    read_at: str,
) -> None:
    """The crowd's prices for one run, with the bytes they were read from; done once."""
    if any(isinstance(record, Snapshot) and record.run == run for _, record in pen.records()):
        return
    quotes = tuple(
        Quote(question=ids[key], read_at=read_at, crowd=event.crowd)
        for key, event in events.items()
        if event.crowd is not None
    )
    pen.write(
        lambda at: [
            Snapshot(at=at, bodies=(open_body("snapshot", raw, at),), run=run, quotes=quotes)
        ],
        [raw],
    )
