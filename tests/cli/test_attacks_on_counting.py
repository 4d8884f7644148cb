"""Attacks on what was asked and what counts, on a published league.

The lines are made anew with the operator's key, and the tables told otherwise than the rules give.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from beforehand.publish.tables import COLUMNS

from .dishonest import WAS, Content, Dishonest, Scene, first, found, level, scene

__all__ = ["scene"]  # the fixture

Row = dict[str, str]


def rewritten_rows(league: Dishonest, change: Callable[[list[Row]], None]) -> None:
    """The published table told otherwise, in a folder that is signed anew."""
    path = league.base / "forecasts.csv"
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    change(rows)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, [c.name for c in COLUMNS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    league.sign_folder()


def remade(scene: Scene, folder: Path, change: Callable[[list[Content]], None]) -> Dishonest:
    league = scene.league.copy(folder)
    league.remake_unstamped(scene.world, change)
    return league


def assert_recounted_otherwise(
    league: Dishonest, scene: Scene, requirement: int, said: str
) -> None:
    """Found by the recount (step 9), and by the requirement on what counts."""
    report = league.verify(scene.trust)
    assert report.exit_code == 1
    assert any(each.step == 9 and "forecasts.csv" in each.place for each in report.findings), found(
        report
    )
    held = league.conform(scene.trust)[requirement]
    assert held["status"] == "FAIL"
    assert any(said in each for each in held["said"]), held["said"]


# ---- what counts


def test_attack_a_late_answer_counted(scene: Scene, tmp_path: Path) -> None:
    """Caught by the sealed deadline: the rule applied to the seals gives `late`."""

    def closed_before(lines: list[Content]) -> None:
        first(lines, "roster")["deadline"] = "2026-01-01T00:00:00Z"

    league = remade(scene, tmp_path, closed_before)
    assert league.verify(scene.trust).exit_code == 0, "late, and told as that"

    def counted(rows: list[Row]) -> None:
        late = [row for row in rows if row["status"] == "late"]
        assert late
        for row in late:
            row.update(status="counted", brier="0.36000000")

    rewritten_rows(league, counted)
    assert_recounted_otherwise(league, scene, 6, "after the deadline")


def test_attack_a_better_rerun_counted(scene: Scene, tmp_path: Path) -> None:
    """Caught by the order of the seals: the first well-formed answer counts, and no later one."""

    def asked_again(lines: list[Content]) -> None:
        at = [line["at"] for line in lines if line["kind"] == "answer"][-1]
        ask = {**first(lines, "ask"), WAS: 1000, "attempt": 2, "why": "retry", "at": at}
        for body in ask["bodies"]:
            body["due"] = at
        better = {**first(lines, "answer"), "ask_line": 1000, "at": at, "received_at": at}
        better["cells"] = [{**better["cells"][0], "p": "0.99"}]
        better["bodies"] = [{**body, "due": at} for body in better["bodies"]]
        del better[WAS]
        place = lines.index(first(lines, "resolution"))
        lines[place:place] = [ask, better]

    league = remade(scene, tmp_path, asked_again)
    assert league.verify(scene.trust).exit_code == 0, found(league.verify(scene.trust))

    (line,) = [each for each in league.contents() if "'0.99'" in str(each)]

    def second(rows: list[Row]) -> None:
        (row,) = [
            row
            for row in rows
            if row["forecaster"] == line["forecaster"]
            and row["question"] == line["cells"][0]["question"]
        ]
        assert (row["status"], row["p"]) == ("counted", "0.4")
        row.update(line=str(line[WAS]), p="0.99", p_scored="0.9900", brier="0.00010000")

    rewritten_rows(league, second)
    assert_recounted_otherwise(league, scene, 6, "first well-formed answer")


# ---- what was asked


def without_ask(lines: list[Content]) -> None:
    ask = first(lines, "ask")
    for line in lines:
        if line.get("ask_line") == ask[WAS]:
            del line["ask_line"]
    lines.remove(ask)


def test_attack_an_answer_without_a_prior_ask(scene: Scene, tmp_path: Path) -> None:
    """Caught by the answer line, which names no ask: both levels that rest on asks are 0."""
    league = remade(scene, tmp_path, without_ask)
    report = league.verify(scene.trust)
    assert level(report, "P3")["level"] == level(report, "completeness")["level"] == "0"
    assert "answers of asked seats name no ask" in level(report, "P3")["evidence"]
    assert "what was asked outside this book" in level(report, "completeness")["not_excluded"]
    held = league.conform(scene.trust)[13]
    assert held["status"] == "FAIL" and "an answer without a prior ask" in held["said"][0]


def test_attack_an_unlogged_ask(scene: Scene, tmp_path: Path) -> None:
    """An ask with its answer is left out: the cell that the roster promised is said to be unasked.

    One that was made and never meant to be logged leaves no trace: "not excluded".
    """

    def left_out(lines: list[Content]) -> None:
        ask = first(lines, "ask")
        lines[:] = [line for line in lines if ask[WAS] not in (line[WAS], line.get("ask_line"))]

    league = remade(scene, tmp_path / "left-out", left_out)
    held = level(league.verify(scene.trust), "completeness")
    assert held["evidence"].startswith("5 asks, each with its answer line"), held
    assert "1 questions of the run were not put to a seat that was asked others" in held["evidence"]
    assert "what was asked outside this book" in held["not_excluded"]

    def second_attempt(lines: list[Content]) -> None:
        first(lines, "ask")["attempt"] = 2

    league = remade(scene, tmp_path / "attempt", second_attempt)
    held = league.conform(scene.trust)[13]
    assert held["status"] == "FAIL"
    assert any("was made and not logged" in said for said in held["said"]), held["said"]


def failed(lines: list[Content]) -> Content:
    """The first answer told as a timeout."""
    answer = first(lines, "answer")
    answer["status"] = "timeout"
    answer["cells"] = [{"question": answer["cells"][0]["question"], "missing": "timeout"}]
    answer["bodies"] = [body for body in answer["bodies"] if body["role"] != "reply"]
    return answer


def test_attack_an_answer_withheld_after_receipt(scene: Scene, tmp_path: Path) -> None:
    """Once an outcome is known: level 0. Before it, "answered and sealed as failed" stands."""

    def once_known(lines: list[Content]) -> None:
        answer = failed(lines)
        lines.remove(answer)
        answer["at"] = answer["received_at"] = lines[-1]["at"]
        lines.append(answer)

    league = remade(scene, tmp_path / "known", once_known)
    held = level(league.verify(scene.trust), "completeness")
    assert held["level"] == "0"
    assert "ended without an answer after an outcome was known" in held["evidence"]
    assert "an answer withheld after it was received" in held["not_excluded"]
    league = remade(scene, tmp_path / "before", lambda lines: failed(lines) and None)
    report = league.verify(scene.trust)
    held = level(report, "completeness")
    assert report.exit_code == 0, found(report)
    assert held["level"] == "1"
    assert "answered and sealed as failed" in held["not_excluded"]
    assert any(
        row["status"] == "missing" and row["why"] == "timeout"
        for row in csv.DictReader((league.base / "forecasts.csv").open(encoding="utf-8"))
    ), "what was withheld is counted as missing"
