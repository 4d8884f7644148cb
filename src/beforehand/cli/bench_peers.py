"""What the libraries an analyst would use do for the same measures: the peers of `bench`.

Each peer is given its table ready in its own form, outside the clock, and the
form of the query that was fastest for it. Per measure it returns an array by
forecaster: the Brier score, the log loss, the calibration error on ten bins,
Murphy's five terms; `together` is the four from one pass. `corp` is mcb, dsc
and unc. A peer that is not installed is None.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLAMP = 1e-4
BINS = 10
MEASURES = ("brier", "log_loss", "ece", "murphy")

Floats = NDArray[np.float64]
Ways = dict[str, Callable[[], Any]]


@dataclass(frozen=True, eq=False)
class Rows:
    """`stated` is float64 [questions, forecasters], `happened` uint8 [questions].

    A row is one forecaster's answer to one question, question after question.
    """

    stated: Floats
    happened: NDArray[np.uint8]

    @property
    def forecasters(self) -> int:
        """How many there are."""
        return int(self.stated.shape[1])

    def columns(self) -> dict[str, NDArray[Any]]:
        """The long table: forecaster f, probability p, outcome y, one row an answer."""
        questions, forecasters = self.stated.shape
        return {
            "f": np.tile(np.arange(forecasters, dtype=np.int16), questions),
            "p": self.stated.reshape(-1),
            "y": np.repeat(self.happened.view(np.int8), forecasters),
        }


def module(name: str) -> Any | None:
    """A library, where it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def measure_peers(rows: Rows, threads: int) -> dict[str, Ways | None]:
    """Each peer's way to each measure, and to the four together."""
    polars, duckdb = module("polars"), module("duckdb")
    columns = rows.columns()
    return {
        "numpy": numpy_ways(rows),
        "polars": None if polars is None else polars_ways(polars, columns, rows.forecasters),
        "duckdb": None
        if duckdb is None
        else duckdb_ways(duckdb, columns, rows.forecasters, threads),
    }


def corp_peers(rows: Rows) -> dict[str, Callable[[], Floats] | None]:
    """Each peer's way to the CORP terms of all forecasters: [forecasters, (mcb, dsc, unc)]."""
    diagnostics, sklearn = module("model_diagnostics.scoring"), module("sklearn.isotonic")
    columns = np.ascontiguousarray(rows.stated.T)
    happened = rows.happened.astype(np.float64)
    return {
        "model-diagnostics": None
        if diagnostics is None
        else lambda: _diagnostics_corp(diagnostics, columns, happened),
        "scikit-learn": None
        if sklearn is None
        else lambda: _sklearn_corp(sklearn.isotonic_regression, columns, happened),
    }


def numpy_ways(rows: Rows) -> Ways:
    """Plain numpy over the table of questions by forecasters."""
    p, happened = rows.stated, rows.happened
    y, n = happened.astype(np.float64), len(happened)
    shift = BINS * np.arange(rows.forecasters)

    def log_losses() -> Floats:
        held = np.clip(p, CLAMP, 1 - CLAMP)
        return -np.log(np.where(happened[:, None] == 1, held, 1 - held))

    def sums(names: str) -> list[Floats]:
        place = (np.minimum((p * BINS).astype(np.int64), BINS - 1) + shift).reshape(-1)
        flat, long = p.reshape(-1), np.repeat(y, rows.forecasters)
        weights: Mapping[str, Callable[[], Any]] = {
            "n": lambda: None,
            "p": lambda: flat,
            "y": lambda: long,
            "s": lambda: flat * flat,
            "t": lambda: flat * long,
            "l": lambda: log_losses().reshape(-1),
        }
        size = BINS * rows.forecasters
        made = [np.bincount(place, weights[name](), size) for name in names]
        return [found.astype(np.float64).reshape(-1, BINS) for found in made]

    def ece() -> Floats:
        stated, came = sums("py")
        found: Floats = np.abs(stated - came).sum(axis=1) / n
        return found

    return {
        "brier": lambda: (np.einsum("ij,ij->j", p, p) - 2 * (y @ p) + y.sum()) / n,
        "log_loss": lambda: log_losses().mean(axis=0),
        "ece": ece,
        "murphy": lambda: five_terms(*sums("npyst")),
        "together": lambda: together(sums("npystl")),
    }


def polars_ways(polars: Any, columns: Mapping[str, Any], forecasters: int) -> Ways:
    """Lazy polars queries, grouped by one whole number; streaming where that was faster."""
    frame = polars.DataFrame(dict(columns)).lazy()
    f, p, y = (polars.col(name) for name in "fpy")
    key = (f * BINS + (p * BINS).cast(polars.Int16).clip(0, BINS - 1)).alias("key")
    held = p.clip(CLAMP, 1 - CLAMP)
    log = -polars.when(y == 1).then(held).otherwise(1 - held).log()
    sums = {
        "n": polars.len(),
        "p": p.sum(),
        "y": y.cast(polars.Int64).sum(),
        "s": (p * p).sum(),
        "t": (p * y).sum(),
        "l": log.sum(),
    }

    def mean(loss: Any) -> Floats:
        table = frame.group_by("f").agg(loss.mean().alias("value")).sort("f").collect()
        found: Floats = table["value"].to_numpy()
        return found

    def binned(names: str, engine: str = "in-memory") -> list[Floats]:
        asked = [sums[name].alias(name) for name in names]
        found = frame.with_columns(key).group_by("key").agg(asked).collect(engine=engine)
        return placed({name: found[name].to_numpy() for name in ("key", *names)}, forecasters)

    def ece() -> Floats:
        n, stated, came = binned("npy")
        found: Floats = np.abs(stated - came).sum(axis=1) / n.sum(axis=1)
        return found

    return {
        "brier": lambda: mean((p - y) ** 2),
        "log_loss": lambda: mean(log),
        "ece": ece,
        "murphy": lambda: five_terms(*binned("npyst")),
        "together": lambda: together(binned("npystl", "streaming")),
    }


def duckdb_ways(duckdb: Any, columns: Mapping[str, Any], forecasters: int, threads: int) -> Ways:
    """SQL over a table in memory."""
    base = duckdb.connect()
    base.execute(f"set threads={threads}")
    base.register("given", dict(columns))
    base.execute("create table answers as select * from given")
    base.unregister("given")
    key = f"cast(f as int) * {BINS} + least({BINS - 1}, cast(floor(p * {BINS}) as int))"
    held = f"greatest({CLAMP}, least({1 - CLAMP}, p))"
    log = f"-ln(case when y = 1 then {held} else 1 - {held} end)"
    sums = {
        "n": "count(*)",
        "p": "sum(p)",
        "y": "sum(y)",
        "s": "sum(p * p)",
        "t": "sum(p * y)",
        "l": f"sum({log})",
    }

    def asked(query: str) -> dict[str, Any]:
        found: dict[str, Any] = base.execute(query).fetchnumpy()
        return found

    def mean(loss: str) -> Floats:
        found: Floats = asked(f"select avg({loss}) v from answers group by f order by f")["v"]  # noqa: S608
        return found

    def binned(names: str) -> list[Floats]:
        terms = ", ".join(f'{sums[name]} "{name}"' for name in names)
        return placed(
            asked(f"select {key} key, {terms} from answers group by all"),  # noqa: S608
            forecasters,
        )

    def ece() -> Floats:
        n, stated, came = binned("npy")
        found: Floats = np.abs(stated - came).sum(axis=1) / n.sum(axis=1)
        return found

    return {
        "brier": lambda: mean("(p - y) * (p - y)"),
        "log_loss": lambda: mean(log),
        "ece": ece,
        "murphy": lambda: five_terms(*binned("npyst")),
        "together": lambda: together(binned("npystl")),
    }


def placed(found: Mapping[str, NDArray[Any]], forecasters: int) -> list[Floats]:
    """Sums by key as arrays [forecasters, bins], 0 where a bin has no row."""
    held = []
    for name, values in found.items():
        if name != "key":
            whole = np.zeros(forecasters * BINS)
            whole[found["key"]] = np.asarray(values, dtype=np.float64)
            held.append(whole.reshape(forecasters, BINS))
    return held


def five_terms(n: Floats, p: Floats, y: Floats, s: Floats, t: Floats) -> Floats:
    """unc, rel, res, wbv, wbc from sums by forecaster and bin: rows, p, y, p squared, p y."""
    rows = n.sum(axis=1)
    base = y.sum(axis=1) / rows

    def over(top: Floats) -> Floats:
        return np.divide(top, n, out=np.zeros_like(n), where=n > 0)

    spread = n * (over(y) - base[:, None]) ** 2
    terms = (over((p - y) ** 2), spread, s - over(p * p), 2 * (t - over(p * y)))
    return np.stack([base * (1 - base), *(term.sum(axis=1) / rows for term in terms)], axis=1)


def together(sums: list[Floats]) -> dict[str, Floats]:
    """The four measures from the sums of one pass."""
    n, p, y, s, t, log = sums
    rows = n.sum(axis=1)
    return {
        "brier": (s - 2 * t + y).sum(axis=1) / rows,
        "log_loss": log.sum(axis=1) / rows,
        "ece": np.abs(p - y).sum(axis=1) / rows,
        "murphy": five_terms(n, p, y, s, t),
    }


def _diagnostics_corp(scoring: Any, columns: Floats, happened: Floats) -> Floats:
    loss, names = scoring.SquaredError(), ("miscalibration", "discrimination", "uncertainty")
    found = []
    for stated in columns:
        terms = scoring.decompose(y_obs=happened, y_pred=stated, scoring_function=loss)
        found.append([float(terms[name][0]) for name in names])
    return np.array(found)


def _sklearn_corp(isotonic: Callable[..., Any], columns: Floats, happened: Floats) -> Floats:
    found = []
    for stated in columns:
        points, place, size = np.unique(stated, return_inverse=True, return_counts=True)
        share = np.bincount(place, happened) / size
        fitted = isotonic(share, sample_weight=size)
        rows, base = len(stated), float(happened.mean())
        inner = float((share * (1 - share) * size).sum())
        score = (((points - share) ** 2 * size).sum() + inner) / rows
        best = (((fitted - share) ** 2 * size).sum() + inner) / rows
        unc = base * (1 - base)
        found.append([score - best, unc - best, unc])
    return np.array(found)
