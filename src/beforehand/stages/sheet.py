"""A sheet of forecasts: a CSV with the columns `question` and `p`, for those who write no JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from beforehand.errors import FormatError
from beforehand.records.forecast import Cell
from beforehand.stages.submission import MAX_FORECASTS, MAX_SUBMISSION_BYTES, check_probability

COLUMNS = ("question", "p")
LEAST_PREFIX = 6
SHOWN_QUESTIONS = 3
Contracts = Mapping[str, Mapping[str, str]]


def read_sheet(data: bytes, questions: Contracts) -> tuple[Cell, ...]:
    """The forecasts in a CSV, its questions named by id, market id or the beginning of either.

    `questions` are those of the run, each with its event contract. FormatError
    names the line and what to do.
    """
    cells: list[Cell] = []
    lines: dict[str, int] = {}
    for number, row in _rows(data):
        where = f"line {number}"
        if len(row) != len(COLUMNS):
            raise FormatError(f"{where}: {len(row)} values; two belong here, question and p")
        word, p = (value.strip(" \t") for value in row)
        check_probability(p, where)
        question = named_question(word, questions, where)
        if question in lines:
            raise FormatError(
                f"{where}: {word!r:.80} is the question of line {lines[question]} already; "
                "give each question once"
            )
        lines[question] = number
        cells.append(Cell(question=question, p=p))
    if not cells:
        raise FormatError("the sheet holds no forecast: a line each, question,p")
    return tuple(cells)


def _rows(data: bytes) -> list[tuple[int, list[str]]]:
    """The rows below the header, each with the line that it ends on."""
    if len(data) > MAX_SUBMISSION_BYTES:
        raise FormatError(f"a sheet over {MAX_SUBMISSION_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}; save the sheet as UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: list[tuple[int, list[str]]] = []
    try:
        header = [name.strip(" \t") for name in next(reader, [])]
        if tuple(header) != COLUMNS:
            raise FormatError(
                f"line 1: the columns are {', '.join(map(repr, header)) or 'missing'}; "
                "they must be question,p, separated by a comma"
            )
        for row in reader:
            if row:
                found.append((reader.line_num, row))
            if len(found) > MAX_FORECASTS:
                raise FormatError(f"more than {MAX_FORECASTS} forecasts")
    except csv.Error as error:
        raise FormatError(f"line {reader.line_num}: not CSV: {error}") from None
    return found


def named_question(word: str, questions: Contracts, where: str) -> str:
    """The id of the question that a word names; FormatError where it names none, or several."""
    if word in questions:
        return word
    ids = {
        name: (name.partition(":")[2], _market(contract)) for name, contract in questions.items()
    }
    exact = [name for name, (_, market) in ids.items() if word and word == market]
    if len(exact) == 1:
        return exact[0]
    begun = word.removeprefix("evc1:")
    long = len(begun) >= LEAST_PREFIX
    found = exact or [
        name for name, both in ids.items() if long and any(one.startswith(begun) for one in both)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(sorted(found)[:3])
        raise FormatError(f"{where}: {word!r:.80} could be any of {listed}; write more of the id")
    short = "" if long else f" (the beginning of an id has at least {LEAST_PREFIX} characters)"
    asked = ", ".join(list(questions)[:SHOWN_QUESTIONS]) + ", …" * (
        len(questions) > SHOWN_QUESTIONS
    )
    raise FormatError(
        f"{where}: {word!r:.80} names no question of this run{short}; it asks {asked or 'nothing'}"
    )


def _market(contract: Mapping[str, str]) -> str:
    """The id of an event at its source, under either name that contracts give it."""
    return contract.get("market") or contract.get("source_id") or ""
