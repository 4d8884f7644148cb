"""A made-up league that takes submissions: one run, three questions, two entrants with keys."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from beforehand.book.bodies import body_path
from beforehand.book.manifest import MANIFEST_FORMAT, MANIFEST_PATH, sign_manifest
from beforehand.book.reader import BookReader
from beforehand.clock import SimulatedClock, instant_key
from beforehand.records.codec import digest
from beforehand.records.declaration import Declaration
from beforehand.records.forecast import Cell
from beforehand.records.record import BodyRef
from beforehand.records.run import Roster, Run, Seat
from beforehand.records.snapshot import Quote, Snapshot
from beforehand.stages.declare import declare, open_league, reopen_league
from beforehand.stages.key import SigningKey
from beforehand.stages.pen import Pen
from beforehand.stages.submission import Submission
from tests.small_league import small_declaration, small_question

START = "2026-01-01T00:00:00Z"
DEADLINE = "2026-01-01T02:00:00Z"
AFTER = "2026-01-01T03:00:00Z"
RUN = "2026-01-01T0000"
ORIGIN = "test.example/small/book"


def declaration(submission: str | None = "deadline", answer: str = "deadline") -> Declaration:
    """The small declaration with rules for the two bodies of a submission."""
    text = small_declaration().data.decode("utf-8")
    rules = f'answer = "{answer}"'
    if submission is not None:
        rules += f'\nsubmission = "{submission}"'
    changed = text.replace('answer = "deadline"', rules)
    assert changed != text or submission is None
    return Declaration.parse(changed.encode("utf-8"), "small.toml")


@dataclass
class MadeLeague:
    """The league's folder with its book in it, its questions' ids and its entrants' keys."""

    folder: Path
    clock: SimulatedClock
    ids: list[str]
    keys: dict[str, SigningKey]

    @property
    def book(self) -> Path:
        """The folder of the book."""
        return self.folder / "league"

    def pen(self) -> Pen:
        """Open the book for writing; the caller closes it."""
        return reopen_league(self.book, self.clock)

    def league_key(self) -> SigningKey:
        """The key that signs checkpoints and receipts."""
        return SigningKey.load(ORIGIN, self.book / "keys" / "signing.pem")

    def submission(self, who: str = "ada", p: str = "0.62", **changes: object) -> Submission:
        """A signed submission of one probability for all questions."""
        values: dict[str, object] = {
            "origin": ORIGIN,
            "run": RUN,
            "forecaster": who,
            "forecasts": tuple(Cell(question=name, p=p) for name in self.ids),
            **changes,
        }
        return Submission(**values).signed(self.keys[who])  # type: ignore[arg-type]

    def publish_bare(self, to: Path, as_of: str) -> Path:
        """A public folder with a signed manifest and the book, and every body that is due."""
        reader = BookReader(self.book)
        lines = list(reader.lines())
        book = b"".join(line + b"\n" for line in lines)
        base = to / "api" / "v1" / "small"
        base.mkdir(parents=True, exist_ok=True)
        (base / "book.jsonl").write_bytes(book)
        for line in lines:
            for body in json.loads(line).get("bodies", ()):
                if body.get("due") and instant_key(body["due"]) <= instant_key(as_of):
                    path = base / body_path(body["sha256"])
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(reader.read_body(body["sha256"]))
        key = self.league_key()
        league = {
            "league": "small",
            "path": "api/v1/small",
            "origin": ORIGIN,
            "key": key.verifier.text(),
            "lines": len(lines),
            "book_sha256": digest(book),
            "root": "00" * 32,
        }
        unsigned = {
            "format": MANIFEST_FORMAT,
            "as_of": as_of,
            "leagues": [league],
            "files": [],
        }
        (to / MANIFEST_PATH).write_bytes(sign_manifest(unsigned, [(key.verifier, key.sign)]))
        return to


def make_league(
    folder: Path, declared: Declaration | None = None, *, named: bool = True
) -> MadeLeague:
    """The league at its start, its run open; it names its questions, or says their lines."""
    folder.mkdir(parents=True, exist_ok=True)
    clock = SimulatedClock(folder / "clock", START)
    declared = declared or declaration()
    keys = {
        name: SigningKey.make(name, folder / f"{name}.pem") for name in ("ada", "eve", "mallory")
    }
    with open_league(folder / "league", declared, clock) as pen:
        declare(pen, declared, folder / "league")
        made = [small_question(number, START) for number in (1, 2, 3)]
        pen.write(lambda at: [question for question, _ in made], [text for _, text in made])
        ids = [question.question for question, _ in made]
        _begin(pen, ids, keys, named)
    return MadeLeague(folder, clock, ids, keys)


def _begin(pen: Pen, ids: list[str], keys: dict[str, SigningKey], named: bool) -> None:
    raw = b'{"made": "up"}\n'
    quote = Quote(question=ids[0], read_at=START, bid="0.40", ask="0.44", volume="900")
    seats = (
        Seat("ada", "accepted", key=keys["ada"].verifier.text()),
        Seat("eve", "accepted", key=keys["eve"].verifier.text()),
        Seat("keyless", "accepted"),
        Seat("model", "asked", key=keys["mallory"].verifier.text()),
    )
    first = pen.store.size + 1
    pen.write(
        lambda at: [
            Snapshot(
                at=at, bodies=(BodyRef("snapshot", digest(raw), at),), run=RUN, quotes=(quote,)
            ),
            Roster(
                at=at, run=RUN, seats=seats, deadline=DEADLINE, retry="none", counted_run="only"
            ),
            Run(
                at=at,
                run=RUN,
                segment="replay",
                slot=START,
                counted=True,
                snapshot_line=first,
                roster_line=first + 1,
                questions=tuple(ids) if named else None,
                question_lines=None if named else (first - 3, first - 1),
            ),
        ],
        [raw],
    )
