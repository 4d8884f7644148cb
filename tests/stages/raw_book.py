"""A book read plainly, with json and Decimal alone: what the tests hold the stages against."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Cell = tuple[str, str, str]


def lines_of(folder: Path) -> list[Line]:
    """Every whole line of the book in `folder`."""
    data = (folder / "book.jsonl").read_bytes()
    return [json.loads(raw) for raw in data[: data.rfind(b"\n") + 1].split(b"\n") if raw]


def of_kind(lines: list[Line], kind: str, **equal: Any) -> list[Line]:
    """The lines of a kind whose values are these."""
    return [
        line
        for line in lines
        if line["kind"] == kind and all(line.get(key) == value for key, value in equal.items())
    ]


def body_of(folder: Path, line: Line, role: str) -> bytes:
    """The bytes of a line's body, without the header of a sealed one."""
    sha256 = next(body["sha256"] for body in line["bodies"] if body["role"] == role)
    data = (folder / "bodies" / sha256[:2] / sha256).read_bytes()
    return data.split(b"\n", 2)[2] if data.startswith(b"beforehand-body/1\n") else data


def cell_of(ask: Line) -> Cell:
    """Who was asked what in which run."""
    (question,) = ask["questions"]
    return ask["run"], ask["forecaster"], question


def answers_by_ask(lines: list[Line]) -> dict[int, Line]:
    """The answer line of each ask line; an ask with two answers is refused."""
    found: dict[int, Line] = {}
    for line in of_kind(lines, "answer"):
        if "ask_line" in line:
            assert line["ask_line"] not in found, f"two answers to line {line['ask_line']}"
            found[line["ask_line"]] = line
    return found


def attempts_of(lines: list[Line]) -> dict[Cell, list[tuple[Line, Line | None]]]:
    """By cell, its ask lines in order, each with its answer line."""
    ended = answers_by_ask(lines)
    found: dict[Cell, list[tuple[Line, Line | None]]] = defaultdict(list)
    for ask in of_kind(lines, "ask"):
        found[cell_of(ask)].append((ask, ended.get(ask["n"])))
    return dict(found)


def said(folder: Path, lines: list[Line]) -> dict[Cell, str]:
    """The probability of every valid answer; a cell with two valid answers is refused."""
    found: dict[Cell, str] = {}
    for cell, held in attempts_of(lines).items():
        for _, answer in held:
            if answer is None or answer["status"] != "answered":
                continue
            assert cell not in found, f"{cell} has two valid answers"
            cells = answer.get("cells") or json.loads(body_of(folder, answer, "answer"))["cells"]
            (stated,) = cells
            assert stated["question"] == cell[2]
            found[cell] = stated.get("p", "")
    return found


@dataclass
class Sums:
    """Money counted anew: charged, and reserved without a known charge."""

    spent: Decimal = Decimal(0)
    standing: Decimal = Decimal(0)
    over: Decimal = Decimal(0)
    asks: int = 0

    @property
    def committed(self) -> Decimal:
        return self.spent + self.standing


def week_of(slot: str) -> str:
    """The ISO week of a slot's date."""
    year, week, _ = date.fromisoformat(slot[:10]).isocalendar()
    return f"{year}-W{week:02}"


def sums(lines: list[Line], key: str = "forecaster") -> dict[str, Sums]:
    """Money by forecaster, or by `week` of the slot; ask by ask."""
    slots = {line["run"]: line["slot"] for line in of_kind(lines, "run")}
    ended = answers_by_ask(lines)
    found: dict[str, Sums] = defaultdict(Sums)
    for ask in of_kind(lines, "ask"):
        name = week_of(slots[ask["run"]]) if key == "week" else ask[key]
        reserved, answer = Decimal(ask["reserved"]), ended.get(ask["n"])
        found[name].asks += 1
        if answer is None or "cost" not in answer:
            found[name].standing += reserved
        else:
            found[name].spent += Decimal(answer["cost"])
            found[name].over += max(Decimal(0), Decimal(answer["cost"]) - reserved)
    return dict(found)


def most_committed(lines: list[Line]) -> dict[str, Decimal]:
    """By week, the most that was charged or reserved at any line of the book."""
    slots = {line["run"]: line["slot"] for line in of_kind(lines, "run")}
    now: dict[str, Decimal] = defaultdict(Decimal)
    most: dict[str, Decimal] = defaultdict(Decimal)
    reserved: dict[int, tuple[str, Decimal]] = {}
    for line in lines:
        if line["kind"] == "ask":
            week = week_of(slots[line["run"]])
            reserved[line["n"]] = week, Decimal(line["reserved"])
            now[week] += Decimal(line["reserved"])
        elif line["kind"] == "answer" and line.get("ask_line") in reserved and "cost" in line:
            week, amount = reserved.pop(line["ask_line"])
            now[week] += Decimal(line["cost"]) - amount
        for week, amount in now.items():
            most[week] = max(most[week], amount)
    return dict(most)
