"""What the commands show: progress bars on long work, tables, and errors with the next step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from beforehand.errors import BeforehandError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Report = Callable[[str, int, int], None]


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
        tasks: dict[str, object] = {}
        last: list[object] = []

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                if last:
                    _finish(bars, last[-1])
                tasks[step] = bars.add_task(step, total=total)
                last.append(tasks[step])
            bars.update(tasks[step], completed=done, total=total)  # type: ignore[arg-type]

        yield report
        if last:
            _finish(bars, last[-1])


def _finish(bars: Progress, task: object) -> None:
    held = bars.tasks[task]  # type: ignore[index]
    bars.update(task, completed=held.total)  # type: ignore[arg-type]


@contextlib.contextmanager
def errors_named(next_step: str = "") -> Iterator[None]:
    """An error of ours, or of the disk, ends the command with its message and exit code 2."""
    try:
        yield
    except BeforehandError as error:
        err.print(f"[bold red]{type(error).__name__}[/]: ", end="")
        err.print(str(error), markup=False, soft_wrap=True)
        if next_step:
            err.print(next_step, markup=False)
        raise typer.Exit(2) from None
    except OSError as error:
        err.print(f"{type(error).__name__}: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
