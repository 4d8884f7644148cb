"""One league with everything that could be counted wrongly, against fractions reckoned by hand.

Two segments, an extra run, answers that are not revealed, one that is revealed
late, an outcome that was corrected and a word that moves nothing, event
contracts with short ids. `publish`, `recount.py`, `verify` and `conform` are
asked about the same folder.
"""

from __future__ import annotations

import asyncio
import csv
import json
import sqlite3
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import pytest

from beforehand.stages.correct import correct_lines
from beforehand.stages.segment import open_segment
from beforehand.stages.tick import tick
from tests.cli.test_not_revealed import Played
from tests.stages.live_world import (
    FIRST_SLOT,
    LiveLeague,
    MadeModel,
    answers,
    fails,
    live_declaration,
    made_market,
)
from tests.stages.raw_book import lines_of, of_kind

from .conftest import beforehand

CHANGES = {
    'cron = ["0 10 * * *", "0 22 * * *"]': 'cron = ["0 10 * * *"]',
    'rule = "every_run"': 'rule = "scheduled_run"',
    'also = ["ece", "paper_pnl"]': 'also = ["ece", "paper_pnl", "service_score"]\n'
    'service_fill = "0.25"',
    "[schedule]": '[contract]\nkeys = ["question", "closes", "text", "rule"]\nfirst = 2\n'
    'from = { text = "line.text_sha256" }\nconstant = { rule = "venue" }\n\n[schedule]',
}
SECOND = {
    **CHANGES,
    'cron = ["0 10 * * *", "0 22 * * *"]': 'cron = ["0 15 * * *"]',
    'name = "s1"': 'name = "s2"',
    "The first segment.": "Runs are made in the afternoon.",
    'also = ["ece", "paper_pnl"]': 'also = ["ece", "paper_pnl", "service_score"]\n'
    'service_fill = "0.5"',
}
AFTER = "2026-01-12T14:00:00Z"
P = {"model-a": Fraction(35, 100), "model-b": Fraction(45, 100), "model-c": Fraction(55, 100)}


def loss(p: Fraction, happened: bool) -> Fraction:
    return (p - int(happened)) ** 2


def mean_of(values: Collection[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def text(value: Fraction) -> str:
    return f"{float(value):.6f}"


def extra(league: LiveLeague, instant: str) -> None:
    league.clock.step_to(instant)
    pen, situation = league.open()
    with pen:
        asyncio.run(tick(pen, situation, league.world(), league.folder, "to look at it"))


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> LiveLeague:
    folder = tmp_path_factory.mktemp("all") / "live"
    behaviours = {
        "model-a": answers("0.35"),
        "model-b": answers("0.45"),
        "model-c": answers("0.55"),
        "model-d": fails("refused"),
    }
    held = LiveLeague.begin(folder, behaviours, changes=CHANGES)
    (folder / "declaration.toml").write_bytes(held.declaration.data)
    held.tick_at(FIRST_SLOT)
    extra(held, "2026-01-05T13:37:00Z")
    held.venue.outcomes = {"m1": "yes", "m2": "no", "m3": "yes", "m4": "no"}
    held.tick_at("2026-01-08T14:00:00Z")
    held.venue.outcomes["m2"] = "yes"  # the venue changes its own word
    held.tick_at("2026-01-08T20:00:00Z")
    with held.open()[0] as pen:
        for source in ("a reader", "another reader"):
            correct_lines(pen, [5], "a typing error in the title", source)
    pen, situation = held.open()
    held.declaration = live_declaration(tuple(behaviours), SECOND)
    with pen:
        open_segment(pen, situation, held.declaration)
    (folder / "declaration.toml").write_bytes(held.declaration.data)
    held.venue.markets += [made_market(n, closes="2026-01-12T12:00:00Z") for n in (11, 12)]
    held.models["model-d"] = MadeModel("model-d", answers("0.9"))
    held.tick_at("2026-01-09T15:00:00Z")
    held.venue.outcomes |= {"m11": "no", "m12": "yes"}
    held.tick_at(AFTER)
    return held


def entries(board: dict[str, Any]) -> dict[str, Any]:
    return {entry["forecaster"]: entry for entry in board["forecasters"]}


def assert_reproduced(played: Played, listed: int) -> None:
    """The published checker, `verify` and `conform` agree with what is published."""
    assert played.recount().returncode == 0
    run = beforehand("verify", played.folder / "public", "--as-of", AFTER, "--json")
    report = json.loads(run.stdout)
    told = [finding["message"] for finding in report["findings"]]
    assert len(told) == listed and all(said.startswith("not revealed: ") for said in told)
    run = beforehand("conform", played.folder / "public", "--as-of", AFTER, "--json")
    judged = {held["id"]: held for held in json.loads(run.stdout)["requirements"]}
    for number in (1, 2, 4, 6, 7, 8, 11, 15):
        assert judged[number]["status"] == "PASS", judged[number]["said"]
    assert judged[5]["status"] == ("FAIL" if listed else "PASS")


def test_every_denominator_of_a_league_with_everything_at_once(league: LiveLeague) -> None:
    played = Played(league.folder)
    lines = lines_of(league.folder / "league")
    runs = {run["run"]: (run["segment"], run["counted"]) for run in of_kind(lines, "run")}
    first, extra_run, second = runs
    assert runs == {first: ("s1", True), extra_run: ("s1", False), second: ("s2", True)}
    # Of each of these two questions one is kept back: of a in the first, of b in the second.
    order = [answer["ask_line"] for answer in of_kind(lines, "answer", run=first)]
    assert order == sorted(order)
    hidden = [
        of_kind(lines, "answer", forecaster="model-a", run=first)[0],
        of_kind(lines, "answer", forecaster="model-b", run=first)[1],
        of_kind(lines, "answer", forecaster="model-c", run=second)[0],
    ]
    kept = {played.body(line): played.body(line).read_bytes() for line in hidden}
    for path in kept:
        path.unlink()
    played.publish()
    earlier = json.loads((played.data / "segments/s1.json").read_text())
    board = played.board()

    # First segment: both events happened, the second by a correction.
    of, a, b, c = entries(earlier), *(loss(P[name], True) for name in P)
    quarter = Fraction(1, 4)
    for name, own, missing, closed, served in (
        ("model-a", [a], 0, 1, [a, Fraction(1)]),
        ("model-b", [b], 0, 1, [b, Fraction(1)]),
        ("model-c", [c, c], 0, 0, [c, c]),
        ("model-d", [], 2, 0, [quarter, quarter]),
    ):
        held = of[name]
        assert (held["n_counted"], held["n_missing"], held["n_not_revealed"], held["n_out"]) == (
            len(own), missing, closed, 2,
        )  # fmt: skip
        assert held["coverage"] == text(Fraction(len(own), 2))
        assert held["brier"]["mean"] == (text(mean_of(own)) if own else None)
        assert held["service"]["brier"]["mean"] == text(mean_of(served))
        assert held["brier"]["low"] is None and held["brier"]["n"] == len(own)
    assert of["ensemble"]["reliability"]["failures"] == {"too_few_members": 2}
    assert (earlier["events"], board["events"]) == (2, 2), "an extra run offers nothing"

    # Second segment: its own fill, its own roster, 11 did not happen and 12 did.
    of = entries(board)
    both = {name: (loss(p, False), loss(p, True)) for name, p in P.items()}
    assert of["model-a"]["brier"]["mean"] == text(mean_of(both["model-a"]))
    shown = both["model-c"][0 if of["model-c"]["brier"]["mean"] == text(both["model-c"][0]) else 1]
    assert of["model-c"]["service"]["brier"]["mean"] == text((shown + 1) / 2)
    assert of["model-d"]["coverage"] == "1.000000" and of["model-d"]["n_out"] == 0
    assert of["ensemble"]["n_counted"] == 2, "a pool of the three that are shown"
    moved = {held["line"]: len(held["questions"]) for held in earlier["corrections"]}
    assert sorted(moved.values()) == [0, 0, 1]
    assert [held["questions"] for held in board["corrections"]] == [[], [], []]
    of_both = [league.folder / "public/blind" / name for name in ("segment/s1/", "")]
    told = [(path / "index.html").read_text() for path in of_both]
    assert ["the outcome, to yes" in page for page in told] == [True, False]
    assert_rows(played)
    assert_reproduced(played, 3)

    for path, data in kept.items():  # late, and then it is scored as any other
        path.write_bytes(data)
    played.publish()
    earlier = json.loads((played.data / "segments/s1.json").read_text())
    assert entries(earlier)["model-a"]["service"]["brier"]["mean"] == text(a)
    assert entries(earlier)["ensemble"]["brier"]["mean"] == text(loss(mean_of(P.values()), True))
    assert_reproduced(played, 0)

    ghost = played.data / "segments/s0.json"
    ghost.write_bytes((played.data / "segments/s1.json").read_bytes())
    run = played.recount()
    assert run.returncode == 1 and "segments/s0.json: a board of no earlier segment" in run.stdout
    ghost.unlink()


def assert_rows(played: Played) -> None:
    """No row of an uncounted run has a loss, each is of one segment, and ids are per event."""
    with (played.data / "forecasts.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert all(not row["brier"] for row in rows if row["status"] != "counted")
    out = [row for row in rows if row["status"] == "uncounted_run"]
    assert {row["run"] for row in out} == {"2026-01-05T1337"} and len(out) == 2 * 8
    assert len({row["event_id_v2"] for row in rows}) == 4 == len({row["question"] for row in rows})
    with sqlite3.connect(played.data / "league.sqlite") as base:
        query = "SELECT segment, count(*) FROM forecasts GROUP BY segment ORDER BY segment"
        assert base.execute(query).fetchall() == [("s1", 32), ("s2", 16)]
