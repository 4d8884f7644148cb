"""`beforehand bench tally`, `corp` and `all`: the commands, and how they say what was measured."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from beforehand.cli import bench_scores as scores
from beforehand.cli.bench_inputs import Engine
from beforehand.cli.screen import err, errors_named, out

EPILOG = (
    "Example: beforehand bench tally --n 10000000. Goals stand beside the figures. "
    "Exit codes: 0 measured and all equal, 1 product and peers differ, 2 bad input."
)
N = Annotated[int, typer.Option("--n", min=2, help="How many rows, about.")]
Forecasters = Annotated[int, typer.Option(min=1, max=1000, help="How many forecasters.")]
Repeats = Annotated[int, typer.Option(min=1, help="How often each way has its turn.")]
Threads = Annotated[int, typer.Option(min=1, max=64, help="Threads of the product.")]
Fast = Annotated[
    bool | None, typer.Option("--fast/--no-fast", help="With numba or without; default: if there.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def bench_tally(
    n: N = 10_000_000,
    forecasters: Forecasters = 20,
    repeats: Repeats = 3,
    threads: Threads = 2,
    fast: Fast = None,
    as_json: AsJson = False,
) -> None:
    """Time Brier, log loss, calibration error and five-term Murphy against polars, duckdb, numpy.

    From the column as it is ingested, and from raw columns of floats.
    """
    with errors_named():
        result = scores.bench("tally", n, forecasters, repeats, Engine(threads, fast))
    _scores_told({"tally": result}, result, as_json)


def bench_corp(
    n: N = 10_000_000,
    forecasters: Forecasters = 20,
    repeats: Repeats = 3,
    threads: Threads = 2,
    fast: Fast = None,
    as_json: AsJson = False,
) -> None:
    """Time the CORP decomposition against model-diagnostics and scikit-learn."""
    with errors_named():
        result = scores.bench("corp", n, forecasters, repeats, Engine(threads, fast))
    _scores_told({"corp": result}, result, as_json)


def bench_all(
    n: N = 10_000_000,
    forecasters: Forecasters = 20,
    repeats: Repeats = 3,
    threads: Threads = 2,
    fast: Fast = None,
    as_json: AsJson = False,
) -> None:
    """Time `tally`, `corp`, and `beforehand score` on a CSV of a million rows, or n if fewer."""
    engine = Engine(threads, fast)
    with errors_named():
        parts = {
            task: scores.bench(task, n, forecasters, repeats, engine) for task in ("tally", "corp")
        }
        parts["score"] = scores.bench_score(min(n, scores.SCORE_ROWS))
    _scores_told(parts, parts, as_json)


def _scores_told(parts: dict[str, Any], whole: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(whole, indent=1, allow_nan=False))
    else:
        show(parts)
    raise typer.Exit(0 if all(part["right"] for part in parts.values()) else 1)


def show(parts: dict[str, Any]) -> None:
    """Every figure beside its goal, the peers by measure, and what was compared."""
    columns: dict[str, dict[str, Any]] = {}
    for name, part in parts.items():
        if name != "score":
            columns[f"{name}, ingested"] = part
        if "raw" in part:
            columns[f"{name}, float columns"] = part["raw"]
    table = Table(title="product, peers and floor of one run")
    for heading in ("", *columns):
        table.add_column(heading, justify="right" if heading else "left")
    for cells in zip(*map(_cells, columns.values()), strict=True):
        table.add_row(cells[0][0], *(text for _, text in cells))
    out.print(table)
    for name, part in parts.items():
        if name == "score":
            _show_score(part)
        else:
            _show_part(name, part)


def _cells(part: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures of one column, each with its label."""
    goals, floor, ratio = part["goals"], part.get("floor_s"), part["ratio_best_peer"]
    faster, slower, most = "–", "", ""
    if ratio is not None:
        faster = f"{ratio:.1f} times, median {part['ratio_best_peer_median']:.1f}"
    if floor is not None:
        slower = f"{part['ratio_floor']:.2f} times, median {part['ratio_floor_median']:.2f}"
        most = f"{goals['ratio_floor']:g} or less"
    return [
        ("product", seconds(part["product_s"])),
        ("  median", seconds(part["product_median_s"])),
        ("best peer", seconds(part["best_peer_s"]) or "not installed"),
        ("  faster than it", faster),
        ("  goal", f"{goals['ratio_best_peer']:g} or more"),
        ("floor", seconds(floor)),
        ("  slower than it", slower),
        ("  goal", most),
        ("extra memory", f"{part['extra_mb']:.0f} MB"),
        ("  goal", f"{goals['extra_mb']:g} MB or less"),
    ]


def _show_part(name: str, part: dict[str, Any]) -> None:
    engine = part["product"]
    said = [
        f"{name}: {part['forecasters']} forecasters, {part['repeats']} repeats in turn; fastest of "
        f"all runs, and median. Threads: product {engine['threads']}, "
        + ", ".join(f"{peer} {count}" for peer, count in part["peer_threads"].items() if count)
        + f". Numba {'on' if engine['numba'] else 'off'}, first call "
        f"{seconds(part['product_first_s'])}, ingest (once) {seconds(part['ingest_s'])}."
    ]
    for peer, spent in part["peers_s"].items():
        if isinstance(spent, dict):
            told = ", ".join(f"{key} {seconds(value)}" for key, value in spent.items())
        else:
            told = spent if isinstance(spent, str) else seconds(spent)
        said.append(f"  {peer}: {told}")
    if "vector_floor_s" in part:
        said.append(
            f"  floor: {part['floor']}; the same sum compiled to vectors takes "
            f"{seconds(part['vector_floor_s'])}"
        )
    apart = max(part["largest_difference"].values(), default=0.0)
    said.append(f"  product and peers differ by {apart:.1e} at most ({scores.CLOSE:g} allowed)")
    told = ", ".join(f"{key} {'yes' if held else 'NO'}" for key, held in part["same_bits"].items())
    said.append(f"  the same to the last bit: {told}")
    said += [f"  by convention: {text}" for text in part.get("conventions", ())]
    for line in said:
        out.print(line, markup=False, soft_wrap=True)
    if not part["right"]:
        err.print("product and peers found different things: this is a fault", style="red")


def _show_score(part: dict[str, Any]) -> None:
    out.print(
        f"score: a CSV of {part['rows']:,} rows in {part['seconds']:.2f} s, Python's start "
        f"included (goal for a million: under {part['goals']['seconds']:g} s)",
        soft_wrap=True,
    )


def seconds(value: float | None) -> str:
    """Seconds for reading.

    >>> seconds(0.01234), seconds(2.5), seconds(None)
    ('12.3 ms', '2.50 s', '')
    """
    if value is None:
        return ""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.1f} ms"
