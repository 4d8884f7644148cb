"""Opening a segment: what it waits for, what it does once, and what the book then refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from beforehand.book.bodies import body_path
from beforehand.book.reader import BookReader
from beforehand.errors import FormatError, RuleError
from beforehand.publish.fold import fold_book
from beforehand.records.codec import decode_json, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.league import Segment
from beforehand.stages.declare import declaration_of, segment_line
from beforehand.stages.pen import open_body
from beforehand.stages.segment import open_segment
from tests.stages.live_world import (
    FIRST_SLOT,
    Killed,
    LiveLeague,
    MadeModel,
    answers,
    dies,
    live_declaration,
)
from tests.stages.raw_book import lines_of, of_kind

OTHERS = ("model-a", "model-b", "model-d")
SECOND = {'name = "s1"': 'name = "s2"', "The first segment.": "Another model takes part."}


def opened(league: LiveLeague, declaration: Declaration) -> tuple[int, bool]:
    pen, situation = league.open()
    with pen:
        return open_segment(pen, situation, declaration)


@pytest.fixture
def league(tmp_path: Path) -> LiveLeague:
    """A league after its first slot."""
    held = LiveLeague.begin(tmp_path / "live")
    held.tick_at(FIRST_SLOT)
    return held


def test_the_new_lineup_is_asked_from_the_next_run_on(league: LiveLeague) -> None:
    """In the middle of a week too: a frozen cohort is frozen within its segment."""
    second = live_declaration(OTHERS, SECOND)
    line, new = opened(league, second)
    assert new and opened(league, second) == (line, False)
    league.declaration = second
    league.models["model-d"] = MadeModel("model-d", answers("0.7"))
    league.tick_at("2026-01-05T22:00:00Z")
    lines = lines_of(league.folder / "league")
    first, after = of_kind(lines, "run")
    rosters = {roster["run"]: roster for roster in of_kind(lines, "roster")}
    assert (first["segment"], after["segment"]) == ("s1", "s2")
    seats = [seat["forecaster"] for seat in rosters[after["run"]]["seats"]]
    assert seats == list(OTHERS)
    with league.open()[0] as pen:
        assert declaration_of(pen).sha256 == second.sha256


def test_bodies_that_a_kill_left_behind_are_used(league: LiveLeague) -> None:
    second = live_declaration(OTHERS, SECOND)
    path = league.folder / "league" / body_path(second.sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(second.data)  # written, and then no line
    line, new = opened(league, second)
    assert new
    held = of_kind(lines_of(league.folder / "league"), "segment")
    assert [each["n"] for each in held] == [2, line]


def test_a_run_that_is_open_belongs_to_the_segment_before(tmp_path: Path) -> None:
    behaviours = {"model-a": dies, "model-b": answers("0.4"), "model-c": answers("0.5")}
    league = LiveLeague.begin(tmp_path / "live", behaviours)
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    with pytest.raises(RuleError, match="is open: tick"):
        opened(league, live_declaration(OTHERS, SECOND))
    assert len(of_kind(lines_of(tmp_path / "live/league"), "segment")) == 1


def test_a_name_is_used_once(league: LiveLeague) -> None:
    second = live_declaration(OTHERS, SECOND)
    opened(league, second)
    league.declaration = second
    back = live_declaration(OTHERS, {"The first segment.": "Back to the first."})
    with pytest.raises(RuleError, match="had a segment 's1' before"):
        opened(league, back)


@pytest.mark.parametrize(
    ("changes", "declared", "said"),
    [
        (SECOND, False, "names its declaration"),
        ({**SECOND, 'answer = "deadline"': 'answer = "line"'}, True, "changes bodies"),
        ({"The first segment.": "No other name."}, True, "a name of its own"),
    ],
)
def test_what_another_writer_sealed_is_not_scored(
    league: LiveLeague, changes: dict[str, str], declared: bool, said: str
) -> None:
    """The fold judges by the same rules as the command: a book by another program gains nothing."""
    second = live_declaration(OTHERS, changes)
    text = b"# made up\n"

    def build(at: str) -> list[Segment]:
        line = segment_line(second, text, at)
        if not declared:
            return [line]
        bodies = (*line.bodies, open_body("declaration", second.data, at))
        content = {**line.content(), "declaration_sha256": second.sha256}
        content["bodies"] = [body.content() for body in bodies]
        return [Segment.of(content)]

    with league.open()[0] as pen:
        pen.write(build, [text, second.data] if declared else [text])
    reader = BookReader(league.folder / "league")
    with pytest.raises(FormatError, match=said):
        fold_book(reader.lines(), reader.read_body)


def test_attack_an_old_segment_is_sealed_again_under_the_new_rules(league: LiveLeague) -> None:
    """Caught by: a line of a name that was there is refused; else s1 is scored by s2's rules."""
    second = live_declaration(OTHERS, {**SECOND, "min_events = 30": "min_events = 1"})
    opened(league, second)
    lines = list(BookReader(league.folder / "league").lines())
    reader = BookReader(league.folder / "league")
    assert fold_book(lines, reader.read_body).declarations["s1"].min_events == 30
    with pytest.raises(FormatError, match="'s1' began on line 2"):
        fold_book([*lines, lines[1]], reader.read_body)


def test_attack_a_run_under_the_name_of_a_segment_to_come(league: LiveLeague) -> None:
    """Caught by: a run is of the segment in force; else later rules score it, or none do."""
    opened(league, live_declaration(OTHERS, SECOND))
    reader = BookReader(league.folder / "league")
    lines = []
    for raw in reader.lines():
        value = decode_json(raw)
        if value["kind"] == "run":
            value["segment"] = "s2"
        lines.append(seal_json(value))
    with pytest.raises(FormatError, match="the run is of the segment 's2'"):
        fold_book(lines, reader.read_body)
