"""`beforehand bench`: how fast the verifier and the scores are on this machine."""

from __future__ import annotations

import hashlib
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from beforehand.book.folder import DirectoryFolder
from beforehand.book.line import make_line
from beforehand.book.parallel import in_processes
from beforehand.book.report import Report
from beforehand.book.walk import ChainWalk, Pieces, in_this_process
from beforehand.cli import bench_faults, bench_live, bench_proof, bench_told
from beforehand.cli.screen import err, errors_named, out, progress_bars
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError

BOOK_NAME = "book.jsonl"
FIRST_AT = "2026-01-05T12:00:00Z"
MEBIBYTE = 1 << 20
GOALS = {"one_process": 0.35, "two_processes": 0.6}
NAMES = {
    "floor": "floor: json.loads and two SHA-256 a line",
    "one_process": "chain, seals and tree, one process",
    "two_processes": "chain, seals and tree, two processes",
}
EPILOG = (
    "Example: beforehand bench verify --lines 100000. "
    "Exit codes: 0 measured, 1 a run gave a wrong result, 2 bad input."
)

app = typer.Typer(help="How fast this machine does what takes long.", no_args_is_help=True)
app.command("tally", epilog=bench_told.EPILOG)(bench_told.bench_tally)
app.command("corp", epilog=bench_told.EPILOG)(bench_told.bench_corp)
app.command("all", epilog=bench_told.EPILOG)(bench_told.bench_all)
app.command("live", epilog=bench_live.EPILOG)(bench_live.bench_live)
app.command("proof", epilog=bench_proof.EPILOG)(bench_proof.bench_proof)
app.command("faults", epilog=bench_faults.EPILOG)(bench_faults.bench_faults)


@app.callback()
def _bench() -> None:
    """How fast this machine does what takes long."""


@app.command("verify", epilog=EPILOG)
def bench_verify(
    lines: Annotated[
        int, typer.Option(min=1, max=20_000_000, help="How many lines the book has.")
    ] = 1_000_000,
    width: Annotated[
        int, typer.Option("--bytes", min=300, max=200_000, help="How long a line is, LF included.")
    ] = 300,
    repeats: Annotated[int, typer.Option(min=1, help="How often each way is timed.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Time the chain pass of `verify` against a plain loop over the same book.

    Writes a real book into a temporary folder, then times three ways over it
    in turn: the floor (json.loads and two SHA-256 a line), the chain, seals
    and tree in this process, and the same with two worker processes. Ratios
    are floor/product within one repeat, so that a busy machine slows both.
    """
    with errors_named(), tempfile.TemporaryDirectory(prefix="beforehand-bench-") as folder:
        try:
            path = Path(folder) / BOOK_NAME
            root = write_book(path, lines, width)
            result = measure(path, lines, repeats)
        except OSError as error:
            raise FormatError(
                f"the book could not be written or read in {folder}: {error}"
            ) from None
    result["right"] = result["right"] and result["last_link"] == root
    if as_json:
        out.print_json(json.dumps(result))
    else:
        _show(result)
    raise typer.Exit(0 if result["right"] else 1)


def write_book(path: Path, lines: int, width: int) -> str:
    """Write a chained book of lines `width` bytes long, a second apart; the last link."""
    start, prev = instant_key(FIRST_AT), ""
    bare = len(make_line({"at": FIRST_AT, "kind": "mark", "text": ""}, 1, "0" * 64).raw)
    with progress_bars() as progress, path.open("wb") as stream:
        for n in range(1, lines + 1):
            fill = max(1, width - bare - len(str(n)))
            content = {
                "at": instant_text(start + timedelta(seconds=n)),
                "kind": "mark",
                "text": f"{n % 9973:0{fill}d}"[-fill:],
            }
            line = make_line(content, n, prev)
            stream.write(line.raw + b"\n")
            prev = line.link
            if n % 10_000 == 0 or n == lines:
                progress("writing the book", n, lines)
    return prev


@dataclass
class Timing:
    """One way over the book: its seconds, and what it found."""

    seconds: list[float] = field(default_factory=list)
    found: list[dict[str, Any]] = field(default_factory=list)
    grown: int = 0

    def content(self, lines: int) -> dict[str, Any]:
        return {
            "seconds": [round(second, 4) for second in self.seconds],
            "seconds_min": round(min(self.seconds), 4),
            "seconds_median": round(statistics.median(self.seconds), 4),
            "lines_per_second": round(lines / min(self.seconds)),
            "memory_grew_bytes": self.grown,
        }


def measure(path: Path, lines: int, repeats: int) -> dict[str, Any]:
    """Time the three ways in turn, `repeats` times; whether all of them found the same."""
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "floor": lambda: walk_floor(path),
        "one_process": lambda: walk_chain(path, in_this_process),
        "two_processes": lambda: walk_chain(path, in_processes(2, small=0)),
    }
    timings = {name: Timing() for name in ways}
    for repeat in range(1, repeats + 1):
        for name, way in ways.items():
            err.print(f"… {repeat} of {repeats}: {NAMES[name]}", style="dim")
            before = _peak_bytes()
            began = time.perf_counter()
            found = way()
            timings[name].seconds.append(time.perf_counter() - began)
            timings[name].found.append(found)
            timings[name].grown += _peak_bytes() - before
    one, two = timings["one_process"], timings["two_processes"]
    first = one.found[0]
    result: dict[str, Any] = {
        "lines": lines,
        "bytes": path.stat().st_size,
        "repeats": repeats,
        "python": sys.version.split()[0],
        "right": all(found["lines"] == lines for t in timings.values() for found in t.found)
        and all(found == first and not found["findings"] for found in one.found + two.found),
        "root": first["root"],
        "last_link": first["last_link"],
        "worker_peak_bytes": _peak_bytes(resource.RUSAGE_CHILDREN),
    }
    for name, timing in timings.items():
        result[name] = timing.content(lines)
        if name in GOALS:
            result[name] |= _ratios(timings["floor"].seconds, timing.seconds, GOALS[name])
    return result


def walk_floor(path: Path) -> dict[str, Any]:
    """What no check of seals and leaves can do without: each line read and hashed twice."""
    loads, sha256, count = json.loads, hashlib.sha256, 0
    with path.open("rb") as stream:
        for line in stream:
            loads(line)
            sha256(line).digest()
            sha256(line).digest()
            count += 1
    return {"lines": count}


def walk_chain(path: Path, pieces: Pieces) -> dict[str, Any]:
    """Steps 3 and 4 of the recipe, as `verify` does them on a bare book."""
    report = Report(FIRST_AT)
    chain = ChainWalk(DirectoryFolder(path.parent), path.name, path.name, report, sizes=set())
    chain.walk(pieces)
    return chain.summary() | {"findings": [finding.text() for finding in report.findings]}


def _ratios(floor: list[float], product: list[float], goal: float) -> dict[str, Any]:
    pairs = [first / second for first, second in zip(floor, product, strict=True)]
    return {
        "ratios": [round(ratio, 4) for ratio in pairs],
        "ratio": round(min(floor) / min(product), 4),
        "ratio_median": round(statistics.median(pairs), 4),
        "goal": goal,
    }


def _peak_bytes(who: int = resource.RUSAGE_SELF) -> int:
    """The most memory this process, or the largest of its ended children, has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit


def _show(result: dict[str, Any]) -> None:
    lines, size = result["lines"], result["bytes"]
    table = Table(title=f"{lines:,} lines of {size / lines:.0f} bytes, Python {result['python']}")
    table.add_column("")
    for heading in ("min s", "median s", "lines/s", "ratio", "median", "goal", "memory"):
        table.add_column(heading, justify="right")
    for name, label in NAMES.items():
        timing = result[name]
        ratios = ["", "", ""]
        if name in GOALS:
            ratios = [f"{timing[key]:.2f}" for key in ("ratio", "ratio_median", "goal")]
        table.add_row(
            label,
            f"{timing['seconds_min']:.2f}",
            f"{timing['seconds_median']:.2f}",
            f"{timing['lines_per_second']:,}",
            *ratios,
            f"+{timing['memory_grew_bytes'] / MEBIBYTE:.1f} MiB",
        )
    out.print(table)
    out.print(
        "ratio: fastest floor over fastest product; median: of the repeats, each by itself.",
        soft_wrap=True,
    )
    worker = result["worker_peak_bytes"] / MEBIBYTE
    out.print(
        f"memory: growth of this process's peak; the largest worker had {worker:.1f} MiB.",
        soft_wrap=True,
    )
    if result["right"]:
        out.print(
            f"each way found {lines:,} lines, no findings, root {result['root']}", soft_wrap=True
        )
    else:
        err.print("the ways over the book found different things: this is a fault", style="red")
