"""The service score, and what an undisclosed answer does to the others of its forecaster."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from beforehand.book.bodies import body_path
from beforehand.book.folder import DirectoryFolder
from beforehand.book.reader import BookReader
from beforehand.cli.publication import publish_league
from beforehand.errors import FormatError
from beforehand.publish.conformance.conform import read_exhibit
from beforehand.publish.conformance.runs import check_counted
from beforehand.publish.fold import LeagueFold, fold_book
from beforehand.publish.leaderboard import score_league
from beforehand.publish.rows import build_rows
from beforehand.publish.unrevealed import Unrevealed
from beforehand.records.declaration import Declaration
from beforehand.records.resolution import Resolution
from beforehand.records.run import Seat
from beforehand.stages.draining import drain_inbox
from beforehand.stages.inbox import Inbox
from tests.publish.blind_league import (
    SETTLED,
    BlindBook,
    blind_declaration,
    entry_of,
    later,
    model_seats,
)
from tests.relay.made_league import AFTER, START, MadeLeague, declaration, make_league
from tests.stages.raw_book import lines_of, of_kind

SLOT = "2026-01-05T10:00:00Z"


def served() -> Declaration:
    return blind_declaration(
        also='also = ["ece", "paper_pnl"]=>also = ["service_score"]\nservice_fill = "0.25"'
    )


def test_the_fill_is_of_what_never_came_and_enters_no_other_score() -> None:
    """Two answers of three; the third never came: its 0.25 stands in the service score alone."""
    book = BlindBook(served())
    run = book.run(SLOT, dict.fromkeys((1, 2, 3), ("0.4", "0.5")), seats=model_seats(("ant",)))
    book.say(run, "ant", 1, "0.9")
    book.say(run, "ant", 2, "0.2")
    book.say(run, "ant", 3, None)
    book.close(run)
    for number, outcome in ((1, "yes"), (2, "no"), (3, "yes")):
        book.settle(number, outcome)
    entry = entry_of(book.scores(), "ant")
    held = entry["service"]
    assert [held[end] for end in ("stated", "filled", "not_revealed", "awaited")] == [2, 1, 0, 0]
    wanted = (Fraction(1, 100) + Fraction(4, 100) + Fraction(1, 4)) / 3
    assert held["brier"]["mean"] == f"{float(wanted):.6f}"
    assert entry["brier_events"] == "0.025000"
    assert entry_of(book.scores(), "crowd")["service"] is None


def test_no_service_score_where_none_is_declared() -> None:
    book = BlindBook()
    run = book.run(SLOT, {1: ("0.4", "0.5")}, seats=model_seats(("ant",)))
    book.say(run, "ant", 1, "0.9")
    book.close(run)
    book.settle(1, "yes")
    assert entry_of(book.scores(), "ant")["service"] is None


def hidden(fold: LeagueFold, place: int) -> LeagueFold:
    """The fold as it is where the body of one answer was due and is not there."""
    line, answer, _ = fold.answers[place]
    fold.answers[place] = (line, answer, None)
    sha256 = answer.bodies[0].sha256
    lost = Unrevealed(line, "answer", "answer", answer.run, answer.forecaster, sha256, SLOT)
    fold.not_revealed = (lost,)
    return fold


def test_attack_a_closed_answer_that_nobody_asked_for_takes_no_place() -> None:
    """Caught by: it is not_asked, closed as well as open; else it shuts out the model's own."""
    book = BlindBook(served())
    run = book.run(SLOT, {1: ("0.4", "0.5")}, seats=model_seats(("ant",)))
    book.answer(run, "ant", 1, "0.5")
    book.say(run, "ant", 1, "0.9")
    book.close(run)
    book.settle(1, "yes")
    for fold in (book.fold(), hidden(book.fold(), 0)):
        rows = [row for row in build_rows(fold) if row.forecaster == "ant"]
        assert [(row.p, row.status) for row in rows][-1] == ("0.9", "counted")
        assert rows[0].status == "not_asked"
        service = entry_of(score_league(fold), "ant")["service"]
        assert (service["stated"], service["not_revealed"]) == (1, 0)


@pytest.mark.parametrize("opened", [True, False])
def test_attack_a_late_answer_after_one_that_turned_out_badly(opened: bool) -> None:
    """Caught by: what stands is what is served; neither 0.81 nor the worst becomes the fill."""
    book = BlindBook(served())
    seats = (*model_seats(("ant",)), Seat("ada", "accepted"))
    run = book.run(SLOT, {1: ("0.4", "0.5"), 2: ("0.4", "0.5")}, seats=seats)
    book.say(run, "ant", 1, "0.5")
    book.say(run, "ant", 2, "0.5")
    book.answer(run, "ada", 1, "0.9")
    book.close(run)
    book.answer(run, "ada", 1, "0.1", at=later(SLOT, minutes=90))
    book.settle(1, "no")
    book.answer(run, "ada", 1, "0", at=later(SETTLED, minutes=1))
    fold = book.fold()
    if not opened:
        hidden(fold, 2)
    held = entry_of(score_league(fold), "ada")["service"]
    assert [held[end] for end in ("stated", "filled", "not_revealed")] == [opened, 0, not opened]
    assert held["brier"]["mean"] == ("0.810000" if opened else "1.000000")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('also = ["ece", "paper_pnl"]=>also = ["service_score"]', "service_fill"),
        ('also = ["ece", "paper_pnl"]=>service_fill = "0.25"', "service_score"),
        ('entry = "asked"=>entry = "asked"\nnot_revealed = "worst_in_service"', "service_score"),
        ('entry = "asked"=>entry = "asked"\nnot_revealed = "half"', "not_revealed"),
    ],
)
def test_a_rule_without_its_score_is_refused(change: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        blind_declaration(change=change)


# ---- accepted answers: nobody knows what a closed one was about


@pytest.fixture
def twice(tmp_path: Path) -> MadeLeague:
    """Ada has answered question 1, then question 2, in two sealed answers; 1 and 2 are settled."""
    made = make_league(tmp_path / "league", declaration())
    for place in (0, 1):
        submission = made.submission(
            forecasts=made.submission().forecasts[place : place + 1], p="0.6"
        )
        Inbox(made.folder).accept(submission, made.league_key(), START)
        with made.pen() as pen:
            drain_inbox(pen, made.folder)
    made.clock.step_to(AFTER)
    with made.pen() as pen:
        pen.write(
            lambda at: [
                Resolution(
                    at=at, question=name, outcome="yes", instant=AFTER, source="s", final="f"
                )
                for name in made.ids
            ]
        )
    return made


def test_attack_the_first_of_two_sealed_answers_is_kept_back(twice: MadeLeague) -> None:
    """Caught by: it stands on every question of its run, so that no later one counts there."""
    lines = of_kind(lines_of(twice.book), "answer")
    assert len(lines) == 2
    lost = next(body["sha256"] for body in lines[0]["bodies"] if body["role"] == "answer")
    reader = BookReader(twice.book)

    def rows(hidden: str) -> set[tuple[int, str]]:
        def has(sha256: str) -> bool:
            return sha256 != hidden

        def read(sha256: str) -> bytes | None:
            return reader.read_body(sha256) if has(sha256) else None

        fold = fold_book(reader.lines(), read, AFTER, has)
        return {(row.line, row.status) for row in build_rows(fold) if row.forecaster == "ada"}

    first, second = (line["n"] for line in lines)
    assert rows("") == {(first, "counted"), (second, "counted")}
    assert rows(lost) == {(first, "not_revealed"), (second, "not_counted")}


def test_attack_a_table_that_counts_the_second_of_two_sealed_answers(tmp_path: Path) -> None:
    """Caught by requirement 6 from the lines, also where no recount can be made of the board."""
    book = BlindBook(served())
    run = book.run(SLOT, {1: ("0.4", "0.5")}, seats=model_seats(("ant",)))
    book.say(run, "ant", 1, "0.2")
    line = book.ask(run, "ant", 1, attempt=2)
    book.answer(run, "ant", 1, "0.9", ask_line=line)
    book.close(run)
    book.settle(1, "yes")
    pen = book.write(tmp_path / "league")
    first, second = (held["n"] for held in of_kind(lines_of(tmp_path / "league"), "answer"))
    lost = of_kind(lines_of(tmp_path / "league"), "answer")[0]["bodies"][0]["sha256"]
    (tmp_path / "league" / body_path(lost)).unlink()
    public, now = tmp_path / "public", pen.now()[0]
    publish_league(tmp_path / "league", pen.key, public, now, lambda *step: None)
    exhibit = read_exhibit(DirectoryFolder(public), now)
    assert check_counted(exhibit).faults == []
    place, row = next((n, r) for n, r in enumerate(exhibit.rows or ()) if r.line == first)
    assert row.status == "not_revealed" and exhibit.rows is not None
    exhibit.rows[place] = replace(row, line=second, status="counted", p="0.9", brier="0.01")
    ((said, _),) = check_counted(exhibit).faults
    assert f"line {second} counts" in said and said.endswith(f"line {first}")
