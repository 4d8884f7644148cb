"""A made-up league that meets as many requirements as its own files can show.

It is the valid member of the mutation corpus: contents of lines in order,
each with a label, and the bodies that they name. A line points at another by
`ref(label)`, so that a mutant may insert or drop lines and only the fault
that it is made for is there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from beforehand.book.bodies import SealedBody
from beforehand.records.codec import ascii_json, digest, seal_json
from beforehand.records.question import question_id
from beforehand.testing.mutants_declaration import DECLARATION

ORIGIN = "corpus.beforehand.example/corpus/book"
LEAGUE = "corpus"
AS_OF = "2026-02-01T00:00:00Z"
ASKED = ("ant", "bee", "cat")
SEATS = (*ASKED, "hum")
WITHHELD = "cat"
GROUPS = ("blind", "seeing")
GRID = "0.0001"
MIN_EVENTS = 6
MIN_CLUSTERS = 3
READER_SEED = b"a seed that was committed before the first reader came\n"
# The hash of the list over the lines that a proof line names, put in when they are chained.
THE_LIST = "LIST"
OTS_MAGIC = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94"

# Run, segment, first hour, counted, its questions' numbers.
RUNS = (
    ("2026-01-05-am", "s1", "2026-01-05", 10, True, range(1, 6)),
    ("2026-01-05-pm", "s1", "2026-01-05", 18, False, range(6, 8)),
    ("2026-01-06-am", "s1", "2026-01-06", 10, True, range(8, 13)),
    ("2026-01-07-am", "s2", "2026-01-07", 10, True, range(13, 16)),
)


@dataclass
class Draft:
    """Contents of lines, bodies by hash, and what the league publishes besides.

    `outside` holds stamped lists: name, and the label of the last line each
    covers. `climatology` is the table whose hash the declaration seals. `vouch`
    gives real evidence of a kind over a list, where the stand-ins are not enough.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    bodies: dict[str, bytes] = field(default_factory=dict)
    outside: list[tuple[str, str]] = field(default_factory=list)
    climatology: dict[str, Any] = field(default_factory=dict)
    readers: list[dict[str, str]] = field(default_factory=list)
    vouch: Callable[[str, bytes], bytes] | None = None

    def add(self, label: str, at: str, kind: str, **content: Any) -> dict[str, Any]:
        """Append a line under a label."""
        line = {"_label": label, "at": at, "kind": kind, **content}
        self.lines.append(line)
        return line

    def body(self, role: str, data: bytes, due: str | None) -> dict[str, Any]:
        """Keep a body and give its reference."""
        self.bodies[digest(data)] = data
        return {"role": role, "sha256": digest(data), "due": due}

    def line(self, label: str) -> dict[str, Any]:
        """The line of a label."""
        return next(line for line in self.lines if line["_label"] == label)

    def place(self, label: str) -> int:
        """Where the line of a label stands, from 0."""
        return self.lines.index(self.line(label))

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """All lines of a kind."""
        return [line for line in self.lines if line["kind"] == kind]

    def insert_after(self, label: str, line: dict[str, Any]) -> None:
        """Put a line behind another; its time is that one's where it has none."""
        place = self.place(label)
        self.lines.insert(place + 1, {"at": self.lines[place]["at"], **line})


def ref(label: str) -> dict[str, str]:
    """A reference to a line, by its label."""
    return {"$ref": label}


def valid_league(seed: int = 1) -> Draft:
    """The valid league; the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - a made-up league, no secret
    draft = Draft()
    draft.climatology = _climatology(chance)
    _open(draft)
    for name, segment, day, hour, counted, numbers in RUNS:
        if segment == "s2":
            _segment(draft, "s2", f"{day}T09:00:00Z", "2", ())
        _run(draft, chance, (name, segment, day, hour, counted), numbers)
    _end(draft)
    draft.readers = _readers(draft, chance)
    return draft


def sealed_climatology(table: Mapping[str, Any]) -> str:
    """The seal of the climatology: the hash of its ASCII form, without the seal itself."""
    return digest(ascii_json({key: value for key, value in table.items() if key != "sha256"}))


def _climatology(chance: random.Random) -> dict[str, Any]:
    table = {
        "rule": "share of yes among past events of the same kind",
        "table": [
            {
                "event": f"made-up:e{number}",
                "p": f"0.{chance.randrange(30, 70)}",
                "n": 120,
                "window": ["2016-01-01", "2025-12-31"],
            }
            for number in range(1, 16)
        ],
    }
    return {**table, "sha256": sealed_climatology(table)}


def _open(draft: Draft) -> None:
    at = "2026-01-05T08:00:00Z"
    text = DECLARATION.replace("CLIMATOLOGY", sealed_climatology(draft.climatology))
    declared = draft.body("declaration", text.encode(), at)
    draft.add(
        "league", at, "league", bodies=[declared], league=LEAGUE, origin=ORIGIN, key="KEY",
        recovery=digest(b"recovery"), declaration_sha256=declared["sha256"],
    )  # fmt: skip
    seed = draft.body("reader_seed", READER_SEED, at)
    _segment(draft, "s1", at, "1", (seed,))


def _segment(
    draft: Draft, name: str, at: str, methodology: str, more: tuple[dict[str, Any], ...]
) -> None:
    text = f"# Methodology {methodology}\n\nBrier over all rows; missing answers are counted.\n"
    body = draft.body("methodology", text.encode(), at)
    draft.add(
        name, at, "segment", bodies=[body, *more], segment=name, methodology=methodology,
        time="live", why="Made up for testing checkers. Nobody forecast anything.", counted=True,
    )  # fmt: skip


def contract_of(number: int, day: str, hour: int) -> dict[str, str]:
    """The event contract of a question."""
    return {
        "source": "made-up",
        "market": f"m{number}",
        "rule": "yes if the drawn number is even",
        "closes": f"{day}T{hour + 4:02d}:00:00Z",
    }


def _run(
    draft: Draft, chance: random.Random, run: tuple[str, str, str, int, bool], numbers: range
) -> None:
    """Questions, snapshot, roster, run, asks and answers, references, outcomes, stamp."""
    name, segment, day, hour, counted = run
    at = f"{day}T{hour:02d}:00:00Z"
    ids = [_question(draft, number, day, hour) for number in numbers]
    _begin(draft, chance, (name, segment, at, counted), ids)
    deadline = f"{day}T{hour + 1:02d}:00:00Z"
    for place, forecaster in enumerate(SEATS):
        _exchange(draft, chance, (name, day, hour, place), forecaster, ids, deadline)
    draft.add(f"{name}/close", deadline, "close", run=name, slot=at, status="complete")
    _stamp(draft, name, deadline)
    _settle(draft, chance, ids, day, hour)


def _question(draft: Draft, number: int, day: str, hour: int) -> str:
    at = f"{day}T{hour - 1:02d}:30:00Z"
    contract = contract_of(number, day, hour)
    text = f"Will the number drawn as {contract['market']} be even?\n".encode()
    draft.add(
        f"q{number}", at, "question", bodies=[draft.body("text", text, at)],
        question=question_id(contract), contract=contract, cluster=f"made-up:e{number}",
        horizon="1d", source="made-up", type="dataset",
    )  # fmt: skip
    return question_id(contract)


def _begin(
    draft: Draft, chance: random.Random, run: tuple[str, str, str, bool], ids: list[str]
) -> None:
    name, segment, at, counted = run
    quotes = []
    for question in ids:
        bid = chance.randrange(20, 78)
        quotes.append(
            {"question": question, "read_at": at, "bid": f"0.{bid}", "ask": f"0.{bid + 2}",
             "last": f"0.{bid + 1}", "volume": str(1000 + 10 * bid)}
        )  # fmt: skip
    raw = seal_json({"run": name, "shown": "as read"}) + b"\n"
    draft.add(
        f"{name}/snapshot", at, "snapshot", bodies=[draft.body("snapshot", raw, at)], run=name,
        quotes=quotes,
    )  # fmt: skip
    seats = [_seat(forecaster) for forecaster in SEATS]
    draft.add(
        f"{name}/roster", at, "roster", run=name, seats=seats,
        deadline=f"{at[:11]}{int(at[11:13]) + 1:02d}:00:00Z", retry="one retry",
        counted_run="the scheduled morning run",
    )  # fmt: skip
    why = {} if counted else {"why": "A reference calculation: only the morning run counts."}
    draft.add(
        f"{name}/run", at, "run", run=name, segment=segment, slot=at, counted=counted,
        snapshot_line=ref(f"{name}/snapshot"), roster_line=ref(f"{name}/roster"),
        questions=ids, **why,
    )  # fmt: skip


def _seat(forecaster: str) -> dict[str, str]:
    if forecaster not in ASKED:
        return {"forecaster": forecaster, "entry": "accepted", "mode": "human"}
    return {
        "forecaster": forecaster,
        "entry": "asked",
        "model": f"lab/{forecaster}-1",
        "version": "2026-01-01",
        "mode": "no search",
        "provider": "lab",
        "family": forecaster,
    }


def _exchange(
    draft: Draft,
    chance: random.Random,
    when: tuple[str, str, int, int],
    forecaster: str,
    ids: list[str],
    deadline: str,
) -> None:
    """One forecaster's asks and answers of a run: `bee` fails once, `ant` skips a question."""
    name, day, hour, place = when
    minute = 2 + 6 * place
    cells: list[dict[str, Any]] = [
        {"question": question, "p": f"0.{chance.randrange(12, 88)}"} for question in ids
    ]
    if forecaster == "ant":
        cells[-1] = {"question": ids[-1], "missing": "refused"}

    def at(second: int) -> str:
        return f"{day}T{hour:02d}:{minute + second // 60:02d}:{second % 60:02d}Z"

    label = f"{name}/{forecaster}"
    if forecaster not in ASKED:
        draft.add(
            f"{label}/answer", at(5), "answer", run=name, forecaster=forecaster,
            status="answered", received_at=at(3), cells=cells,
        )  # fmt: skip
        return
    text = f"# {name}\n\nGive a probability for each question.\n".encode()
    attempts = 2 if forecaster == "bee" else 1
    for attempt in range(1, attempts + 1):
        start = 60 * (attempt - 1)
        draft.add(
            f"{label}/ask{attempt}", at(start), "ask", bodies=[draft.body("ask", text, at(start))],
            run=name, forecaster=forecaster, attempt=attempt, questions=list(ids),
            why="first" if attempt == 1 else "retry",
        )  # fmt: skip
        draft.bodies[digest(text)] = text
        if attempt < attempts:
            draft.add(
                f"{label}/failed", at(start + 20), "answer", run=name, forecaster=forecaster,
                status="timeout", ask_line=ref(f"{label}/ask{attempt}"),
                requested_model=f"lab/{forecaster}-1", received_at=at(start + 20),
                cells=[{"question": question, "missing": "timeout"} for question in ids],
            )  # fmt: skip
    start = 60 * (attempts - 1)
    said: dict[str, Any] = {"cells": cells}
    if forecaster == WITHHELD:
        salt = sha256(f"{name}{forecaster}".encode()).hexdigest()
        hidden = SealedBody(ORIGIN, name, forecaster, "answer", salt, seal_json(said) + b"\n")
        said = {"bodies": [draft.body("answer", hidden.data(), deadline)]}
    draft.add(
        f"{label}/answer", at(start + 30), "answer", run=name, forecaster=forecaster,
        status="answered", ask_line=ref(f"{label}/ask{attempts}"),
        requested_model=f"lab/{forecaster}-1", served_model=f"lab/{forecaster}-1-2026-01-01",
        received_at=at(start + 28), **said,
    )  # fmt: skip


def _stamp(draft: Draft, name: str, at: str) -> None:
    """A stamped list of everything so far, and the lines that say who vouches for it."""
    last = draft.lines[-1]["_label"]
    draft.outside.append((f"proof/{name[:10]}/{name}.txt", last))
    for anchor in ("rfc3161", "rekor"):
        listed = {"role": "list", "sha256": THE_LIST, "due": at}
        proof = draft.body("proof", stand_in(anchor, name), at)
        draft.add(
            f"{name}/{anchor}", at, "proof", bodies=[listed, proof],
            anchor=anchor, checkpoint_size=ref(last), state="complete",
        )  # fmt: skip


def stand_in(kind: str, name: str) -> bytes:
    """Evidence that is of its kind by its first bytes, and that no verifier accepts."""
    words = f"{kind} evidence of {name}: made up, and no verifier accepts it\n"
    if kind == "rekor":
        return seal_json({"mediaType": "application/x-stand-in", "says": words}) + b"\n"
    if kind == "opentimestamps":  # a calendar's promise, and no block
        return OTS_MAGIC + bytes.fromhex("83dfe30d2ef90c8e") + words.encode()
    return b"\x30" + words.encode()


def _settle(draft: Draft, chance: random.Random, ids: list[str], day: str, hour: int) -> None:
    """A reference an event after the run, and outcomes after that; the last one is void."""
    taken, ended = f"{day}T{hour + 2:02d}:00:00Z", f"{day}T{hour + 4:02d}:00:00Z"
    labels = {line["question"]: line["_label"] for line in draft.of_kind("question")}
    for question in ids:
        draft.add(
            f"{labels[question]}/reference", taken, "reference", question=question,
            price=str(chance.randrange(100, 200)), instant=taken, source="made-up",
            final="made-up",
        )  # fmt: skip
    for place, question in enumerate(ids):
        outcome = "void" if len(ids) == 5 and place == 4 else ("yes", "no")[chance.randrange(2)]
        raw = f"{question} {outcome}\n".encode()
        draft.add(
            f"{labels[question]}/outcome", ended, "resolution",
            bodies=[draft.body("evidence", raw, ended)], question=question, outcome=outcome,
            instant=ended, source="made-up", final="made-up",
        )  # fmt: skip


def _end(draft: Draft) -> None:
    """A correction of an outcome, and a frozen release of what stood before."""
    first = draft.line("q2/outcome")
    other = "no" if first["outcome"] == "yes" else "yes"
    draft.add(
        "correction", "2026-01-08T09:00:00Z", "correction", lines=[ref("q2/outcome")],
        what="outcome", source="made-up", reason="The source corrected its number.",
        outcome=other,
    )  # fmt: skip
    draft.add(
        "release", "2026-01-09T09:00:00Z", "release", release="2026-01-09",
        manifest_sha256=digest(b"the manifest of the frozen release"), lines=ref("correction"),
    )  # fmt: skip


def _readers(draft: Draft, chance: random.Random) -> list[dict[str, str]]:
    """Readers' forecasts: once an event and session, in the group that the seed draws."""
    rows = []
    questions = {line["_label"]: line["question"] for line in draft.of_kind("question")}
    for number in range(1, 9):
        reader = f"r{number:03d}"
        drawn = int.from_bytes(sha256(READER_SEED + reader.encode()).digest(), "big")
        for label in ("q1", "q2", "q3"):
            rows.append(
                {
                    "reader": reader,
                    "group": GROUPS[drawn % len(GROUPS)],
                    "session": "2026-01-05",
                    "question": questions[label],
                    "sealed_at": f"2026-01-05T11:{number:02d}:00Z",
                    "p": f"0.{chance.randrange(55, 95)}",
                    "counted": "1",
                    "why": "",
                    "reset_of": "r001" if reader == "r008" else "",
                }
            )
    return rows
