"""What the commands show: progress bars on long work, tables, and errors with the next step."""

from __future__ import annotations

import contextlib
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from beforehand import errors
from beforehand.errors import BeforehandError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

# How long a command that only reads and signs waits for a tick to end.
TURN_SECONDS = 20.0

Report = Callable[[str, int, int], None]
MOST_PLACES = 6


def aligned(amounts: Sequence[str]) -> list[str]:
    """Amounts of one column with as many places as the longest needs, at most MOST_PLACES.

    For people only: what is exact stands in --json and in the tables.

    >>> aligned(["0.5", "12.25", "0.0000001", "0"])
    ['0.500000', '12.250000', '<0.000001', '0.000000']
    """
    values = [Decimal(amount) for amount in amounts]
    needed = [len(amount.partition(".")[2]) for amount in amounts]
    unit = Decimal(1).scaleb(-min(max(needed, default=0), MOST_PLACES))
    return [
        f"<{unit:f}" if 0 < value < unit / 2 else format(_to(value, unit), "f") for value in values
    ]


def folded(line: str, width: int) -> str:
    """A line of a report in at most `width` columns, what follows set in under it.

    A word that is longer than that stays whole, so that it can be copied.

    >>> print(folded("  to do: keep a record", 16))
      to do: keep
          a record
    """
    indent = len(line) - len(line.lstrip()) + 4
    return textwrap.fill(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def show_line(line: str) -> None:
    """Print a line of a report: folded on a terminal, whole where a program reads it."""
    text = folded(line, out.width) if out.is_terminal else line
    out.print(text, markup=False, soft_wrap=True)


def _to(value: Decimal, unit: Decimal) -> Decimal:
    return value.quantize(unit, rounding=ROUND_HALF_EVEN)


@contextlib.contextmanager
def progress_bars() -> Iterator[Report]:
    """A bar a step: call with the step's name, how much is done, how much there is."""
    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=False) as bars:
        tasks: dict[str, TaskID] = {}
        last: list[TaskID] = []

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                if last:
                    _finish(bars, last[-1])
                tasks[step] = bars.add_task(step, total=total)
                last.append(tasks[step])
            bars.update(tasks[step], completed=done, total=total)

        yield report
        if last:
            _finish(bars, last[-1])


def _finish(bars: Progress, task: TaskID) -> None:
    bars.update(task, completed=bars.tasks[task].total)


@contextlib.contextmanager
def errors_named(next_step: str = "", *, as_json: bool = False) -> Iterator[None]:
    """An error of ours, or of the disk, ends the command with its message and exit code 2.

    With `as_json` it is an object on standard output as well.
    """
    try:
        yield
    except BeforehandError as error:
        if as_json:
            typer.echo(json.dumps({"error": error_content(error)}, indent=1, ensure_ascii=False))
        err.print(f"[bold red]{_branch(error)}[/]: ", end="")
        err.print(str(error), markup=False, soft_wrap=True)
        if next_step:
            err.print(next_step, markup=False)
        raise typer.Exit(2) from None
    except OSError as error:
        if as_json:
            typer.echo(json.dumps({"error": error_content(error)}, indent=1, ensure_ascii=False))
        err.print(f"{type(error).__name__}: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None


def error_content(error: Exception) -> dict[str, Any]:
    """An error as JSON values; `where`, `todo` and `more`, the other bad rows, where it has them.

    >>> error_content(OSError("disk full"))
    {'kind': 'OSError', 'where': None, 'what': 'disk full', 'todo': None, 'more': {}}
    """
    return {
        "kind": _branch(error),
        "where": getattr(error, "where", None) or None,
        "what": getattr(error, "what", None) or str(error),
        "todo": getattr(error, "todo", None) or None,
        "more": dict(getattr(error, "more", None) or {}),
    }


def _branch(error: Exception) -> str:
    """The branch of the error tree that says who must act; else the error's own name."""
    names = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return next(names, type(error).__name__)
