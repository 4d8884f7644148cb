"""What `bench tally` and `bench corp` measure: the rows made for it, and the product's ways.

The extra memory of a way is measured in a process of its own, which loads the
input, notes what it holds, and says how far its peak rose above that.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beforehand.cli.bench_peers import Rows
from beforehand.errors import FormatError
from beforehand.scoring import fast
from beforehand.scoring.columns import pack
from beforehand.scoring.decompose import murphy
from beforehand.scoring.exact import Grid
from beforehand.scoring.isotonic import corp
from beforehand.scoring.measures import brier, ece, log_loss
from beforehand.scoring.rounding import on_grid, tally_of_probabilities
from beforehand.scoring.tally import Tally

GRID = Grid(10_000)
SEED = 20261129
MEBIBYTE = 1 << 20
_SCORE = "from beforehand.cli.main import run; run()"
_CHILD = "from beforehand.cli.bench_inputs import tell_growth; tell_growth()"

Found = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The same rows three ways: a table, float columns, and packed words by forecaster."""

    rows: Rows
    columns: Mapping[str, NDArray[Any]]
    packed: NDArray[np.uint16]
    offsets: NDArray[np.int64]
    ingest_s: float

    @property
    def names(self) -> list[str]:
        """The forecasters."""
        return [f"model-{place:03d}" for place in range(self.rows.forecasters)]


@dataclass(frozen=True)
class Engine:
    """How the product runs: threads, and numba or not (None: where it is installed)."""

    threads: int = 2
    use_fast: bool | None = None

    @property
    def compiled(self) -> bool:
        """Whether the compiled loops are taken."""
        return fast.available() if self.use_fast is None else fast.wanted(0, self.use_fast)

    def said(self) -> dict[str, Any]:
        """The engine as JSON; FormatError where numba is asked for and not there."""
        if not 1 <= self.threads <= fast.MAX_THREADS:
            raise FormatError(f"1 to {fast.MAX_THREADS} threads, not {self.threads}")
        return {"threads": self.threads if self.compiled else 1, "numba": self.compiled}


def make_rows(n: int, forecasters: int) -> Rows:
    """About n rows, in stretches: calibrated chances seen through more and more noise."""
    if not 1 <= forecasters <= 1000 or n < 2 * forecasters:
        raise FormatError(f"{n} rows are less than two for each of {forecasters} forecasters")
    questions, rng = n // forecasters, np.random.default_rng(SEED)
    stated = np.empty((questions, forecasters))
    happened = np.empty(questions, dtype=np.uint8)
    noise = np.linspace(0.3, 1.0, forecasters)
    for start in range(0, questions, 1 << 16):
        part = slice(start, min(start + (1 << 16), questions))
        chance = rng.beta(1.2, 1.2, part.stop - start)
        happened[part] = rng.random(chance.size) < chance
        seen = np.log(chance / (1 - chance))[:, None]
        seen = seen + noise * rng.standard_normal((chance.size, forecasters))
        stated[part] = np.rint(GRID.steps / (1 + np.exp(-seen))) / GRID.steps
    return Rows(stated, happened)


def ingest(rows: Rows) -> Inputs:
    """The rows as columns, and packed by the product; the seconds of the second step."""
    columns = rows.columns()
    began = time.perf_counter()
    units = on_grid(columns["p"], GRID).units
    packed, offsets = pack(units, columns["y"], columns["f"], rows.forecasters, GRID)
    return Inputs(rows, columns, packed, offsets, time.perf_counter() - began)


def four_measures(tally: Tally) -> Found:
    """The four measures of all forecasters, as the peers give them."""
    held = [tally.row(name) for name in tally.forecasters]
    terms = [murphy(row, GRID) for row in held]
    keys = ("unc", "rel", "res", "wbv", "wbc")
    return {
        "brier": _floats([brier(row, GRID) for row in held]),
        "log_loss": _floats([log_loss(row, GRID).value for row in held]),
        "ece": _floats([ece(row, GRID) for row in held]),
        "murphy": _floats([[getattr(term, key) for key in keys] for term in terms]),
    }


def corp_terms(tally: Tally) -> Found:
    """mcb, dsc and unc of all forecasters."""
    terms = [corp(tally.row(name), GRID) for name in tally.forecasters]
    return {"corp": _floats([[getattr(t, key) for key in ("mcb", "dsc", "unc")] for t in terms])}


def _floats(values: Any) -> NDArray[np.float64]:
    return np.array(values, dtype=object).astype(np.float64)


def packed_tally(inputs: Inputs, engine: Engine, words: NDArray[np.uint16] | None = None) -> Tally:
    """The tally of the ingested column, or of its rows in another order."""
    held = inputs.packed if words is None else words
    return Tally.of_packed(
        held, inputs.offsets, inputs.names, GRID, threads=engine.threads, use_fast=engine.compiled
    )


def raw_tally(inputs: Inputs, engine: Engine) -> Tally:
    """The tally of the float columns."""
    p, y, f = (inputs.columns[name] for name in "pyf")
    return tally_of_probabilities(
        p, y, f, inputs.names, GRID, threads=engine.threads, use_fast=engine.compiled
    )[0]


WAYS: dict[str, Callable[[Inputs, Engine], Found]] = {
    "tally": lambda inputs, engine: four_measures(packed_tally(inputs, engine)),
    "raw": lambda inputs, engine: four_measures(raw_tally(inputs, engine)),
    "corp": lambda inputs, engine: corp_terms(packed_tally(inputs, engine)),
}


def extra_mb(inputs: Inputs, task: str, engine: Engine) -> float:
    """MiB that one way needs beyond its input, numba and its compiling included."""
    with tempfile.TemporaryDirectory(prefix="beforehand-bench-") as folder:
        if task == "raw":
            np.save(f"{folder}/stated.npy", inputs.rows.stated)
            np.save(f"{folder}/happened.npy", inputs.rows.happened)
        else:
            np.save(f"{folder}/packed.npy", inputs.packed)
            np.save(f"{folder}/offsets.npy", inputs.offsets)
        said = (task, str(engine.threads), str(int(engine.compiled)))
        command = [sys.executable, "-c", _CHILD, folder, *said]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FormatError(f"the process that measures memory failed: {done.stderr[-500:]}")
    return int(done.stdout) / MEBIBYTE


def tell_growth() -> None:
    """The process of `extra_mb`: prints by how many bytes its peak rose above its input."""
    folder, task, threads, compiled = sys.argv[1:]
    nothing = np.zeros(0)
    if task == "raw":
        stated, happened = (np.load(f"{folder}/{name}.npy") for name in ("stated", "happened"))
        rows = Rows(stated, happened)
        inputs = Inputs(rows, rows.columns(), nothing.astype(np.uint16), nothing.astype(int), 0)
    else:
        packed, offsets = (np.load(f"{folder}/{name}.npy") for name in ("packed", "offsets"))
        rows = Rows(np.zeros((0, offsets.size - 1)), nothing.astype(np.uint8))
        inputs = Inputs(rows, {}, packed, offsets, 0)
    before = _start_of_peak()
    WAYS[task](inputs, Engine(int(threads), bool(int(compiled))))
    print(max(0, _peak() - before))


def _start_of_peak() -> int:
    """What this process holds now; on Linux its peak is counted anew from here."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()
    except OSError:
        return _peak()


def _peak() -> int:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def timed_score(rows: int) -> dict[str, Any]:
    """The wall time of `beforehand score` on a CSV of so many rows, Python's start included."""
    held = make_rows(rows, min(20, rows // 2))
    with tempfile.TemporaryDirectory(prefix="beforehand-bench-") as folder:
        path = Path(folder) / "forecasts.csv"
        write_csv(path, held)
        size = path.stat().st_size
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", _SCORE, "score", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - began
    if done.returncode:
        raise FormatError(f"beforehand score ended with {done.returncode}: {done.stderr[-500:]}")
    return {"rows": held.stated.size, "bytes": size, "seconds": seconds}


def write_csv(path: Path, rows: Rows) -> None:
    """A table of forecasts, question after question."""
    with path.open("w") as stream:
        stream.write("forecaster,question,probability,outcome\n")
        pairs = zip(rows.stated.tolist(), rows.happened.tolist(), strict=True)
        for question, (stated, happened) in enumerate(pairs):
            stream.writelines(
                f"model-{place:02d},q{question:07d},{value:.4f},{happened}\n"
                for place, value in enumerate(stated)
            )
