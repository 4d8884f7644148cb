"""How fast the scores are here: the product, its peers and the floor, in one run, in turn.

Every way is run once untimed, then `repeats` times in turn with the others,
so that a busy machine slows all of them. What product and peers found is
compared in the same run, and what the product found without numba, in one
thread and in another order of the rows must be the same to the last bit.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from beforehand.cli.bench_inputs import (
    SEED,
    WAYS,
    Engine,
    Found,
    Inputs,
    corp_terms,
    extra_mb,
    four_measures,
    ingest,
    make_rows,
    packed_tally,
    timed_score,
)
from beforehand.cli.bench_peers import MEASURES, corp_peers, measure_peers, module
from beforehand.cli.screen import err
from beforehand.scoring import fast
from beforehand.scoring.tally import Tally

CLOSE = 1e-9
SCORE_ROWS = 1_000_000
GOALS = {
    "tally": {"ratio_best_peer": 20.0, "ratio_floor": 3.0, "extra_mb": 200.0},
    "raw": {"ratio_best_peer": 3.0, "extra_mb": 200.0},
    "corp": {"ratio_best_peer": 10.0, "extra_mb": 200.0},
    "score": {"seconds": 5.0},
}
"""The least `ratio_best_peer`, and the most of the others."""

CONVENTIONS = (
    "log loss: natural logarithm, p held within 0.0001 of 0 and 1 in all of them; a library's own "
    "clamp is another one (scikit-learn: the epsilon of a double)",
    "calibration error and Murphy: ten bins [low, high), the last closed, and the base rate of "
    "each forecaster; scikit-learn's curve has (low, high] and would differ",
    "the probabilities stand on the grid of 0.0001; others the product rounds to it, and says so",
)
_SPAN_S = 0.1
_MOST_RUNS = 5

Times = dict[str, list[float]]
Ways = Mapping[str, Callable[[], Any]]


def bench(task: str, n: int, forecasters: int, repeats: int, engine: Engine) -> dict[str, Any]:
    """Measure one task, `tally` or `corp`, on about n rows."""
    said = engine.said()  # refuses numba where it is asked for and not there
    err.print(f"… making {n:,} rows", style="dim")
    inputs = ingest(make_rows(n, forecasters))
    result: dict[str, Any] = {
        "task": task,
        "n": inputs.packed.size,
        "forecasters": forecasters,
        "repeats": repeats,
        "grid": "0.0001",
        "python": sys.version.split()[0],
        "product": said,
        "ingest_s": inputs.ingest_s,
    }
    made = (_tally if task == "tally" else _corp)(inputs, engine, repeats)
    return result | made


def _tally(inputs: Inputs, engine: Engine, repeats: int) -> dict[str, Any]:
    """The four measures, from the packed column and from float columns; peers and floor."""
    peers = measure_peers(inputs.rows, engine.threads)
    ways: dict[str, Callable[[], Any]] = {
        "product": lambda: WAYS["tally"](inputs, engine),
        "floor": lambda: int(inputs.packed.sum(dtype=np.uint64)),
        "raw": lambda: WAYS["raw"](inputs, engine),
    }
    if fast.available():
        ways["vector floor"] = vector_sum(inputs)
    for name, held in peers.items():
        ways |= {f"{name} {measure}": way for measure, way in (held or {}).items()}
    times, found = in_turn(ways, repeats)
    own = found["product"]
    apart = [[f"{name} {measure}" for name in peers if peers[name]] for measure in MEASURES]
    best = [min(keys, key=lambda key: min(times[key])) for keys in apart]
    keys = ("brier", "log_loss", "ece", "murphy", "together")
    result = {
        **_ratio(times, "product", best),
        "best_peer": dict(zip(MEASURES, (key.split()[0] for key in best), strict=True)),
        "peers_s": {
            name: {key: min(times[f"{name} {key}"]) for key in keys} if held else "not installed"
            for name, held in peers.items()
        },
        "peers_median_s": {
            name: {key: _mid(times[f"{name} {key}"]) for key in keys}
            for name, held in peers.items()
            if held
        },
        **_floor(times),
        "peer_threads": {"numpy": 1, "polars": _polars_threads(), "duckdb": engine.threads},
        "extra_mb": extra_mb(inputs, "tally", engine),
        "largest_difference": {
            f"{name} {key}": difference(own, found[f"{name} {key}"], key)
            for name, held in peers.items()
            for key in (held or {})
        },
        "same_bits": same_bits(inputs, engine, own, four_measures)
        | {"float columns": same(own, found["raw"])},
        "conventions": list(CONVENTIONS),
    }
    raw = _raw(times, [name for name in peers if peers[name]])
    raw["extra_mb"] = extra_mb(inputs, "raw", engine)
    return judged(result, "tally") | {"raw": judged(raw, "raw")}


def _raw(times: Times, names: list[str]) -> dict[str, Any]:
    """From float columns, against the best peer for the four together: one pass, or four."""
    choices = [[f"{name} together"] for name in names]
    choices += [[f"{name} {measure}" for measure in MEASURES] for name in names]
    total = {tuple(keys): sum(min(times[key]) for key in keys) for keys in choices}
    best = min(total, key=lambda keys: total[keys])
    return {
        **_ratio(times, "raw", best),
        "best_peer": " + ".join(best),
        "peers_s": {
            name: min(spent for keys, spent in total.items() if keys[0].split()[0] == name)
            for name in names
        },
    }


def _corp(inputs: Inputs, engine: Engine, repeats: int) -> dict[str, Any]:
    """CORP of all forecasters from the packed column, against those who offer it."""
    peers = corp_peers(inputs.rows)
    held = {name: way for name, way in peers.items() if way is not None}
    times, found = in_turn({"product": lambda: WAYS["corp"](inputs, engine), **held}, repeats)
    own = found["product"]
    best = ["model-diagnostics"] if "model-diagnostics" in held else list(held)[:1]
    result = {
        **_ratio(times, "product", best),
        "best_peer": best[0] if best else None,
        "peers_s": {k: min(times[k]) if k in held else "not installed" for k in peers},
        "peers_median_s": {name: _mid(times[name]) for name in held},
        "peer_threads": dict.fromkeys(held, 1),
        "extra_mb": extra_mb(inputs, "corp", engine),
        "largest_difference": {name: difference(own, found[name], "corp") for name in held},
        "same_bits": same_bits(inputs, engine, own, corp_terms),
    }
    return judged(result, "corp")


def in_turn(ways: Ways, repeats: int) -> tuple[Times, dict[str, Any]]:
    """The seconds of every run, and what each way found; short ways run a few times a turn."""
    times: Times = {name: [] for name in ways}
    found: dict[str, Any] = {}
    first: Times = {}
    for name, way in ways.items():
        began = time.perf_counter()
        found[name] = way()
        first[f"first {name}"] = [time.perf_counter() - began]
    for repeat in range(1, repeats + 1):
        err.print(f"… round {repeat} of {repeats}, {len(ways)} ways", style="dim")
        for name, way in ways.items():
            spent = 0.0
            for _ in range(_MOST_RUNS):
                began = time.perf_counter()
                way()
                times[name].append(time.perf_counter() - began)
                spent += times[name][-1]
                if spent > _SPAN_S:
                    break
    return times | first, found


def difference(own: Found, found: Any, key: str) -> float:
    """The largest difference of any number of any forecaster."""
    pairs = own.items() if key == "together" else [(key, own[key])]
    theirs = found if key == "together" else {key: found}
    return max(float(np.abs(values - theirs[name]).max()) for name, values in pairs)


def same(own: Found, other: Found) -> bool:
    """Whether every number is the same to the last bit."""
    return all(own[name].tobytes() == values.tobytes() for name, values in other.items())


def same_bits(
    inputs: Inputs, engine: Engine, own: Found, finish: Callable[[Tally], Found]
) -> dict[str, bool]:
    """Whether numpy, one thread, two threads, and shuffled rows give the same bits."""
    shuffled, rng = inputs.packed.copy(), np.random.default_rng(SEED)
    for start, end in zip(inputs.offsets[:-1], inputs.offsets[1:], strict=True):
        rng.shuffle(shuffled[start:end])
    kinds: dict[str, Engine] = {"without numba": Engine(1, False)}
    for threads in (1, 2):
        kinds[f"{threads} thread{'s'[: threads - 1]}"] = Engine(threads, engine.use_fast)
    found = {name: same(own, finish(packed_tally(inputs, kind))) for name, kind in kinds.items()}
    return found | {"rows shuffled": same(own, finish(packed_tally(inputs, engine, shuffled)))}


def vector_sum(inputs: Inputs) -> Callable[[], int]:
    """A compiled sum of the packed column that the compiler can make into vectors."""
    compiled = module("numba").njit(nogil=True)(_sum_loop)  # type: ignore[union-attr]
    return lambda: int(compiled(inputs.packed))


def _sum_loop(words: Any) -> Any:
    total = np.uint64(0)
    for place in range(words.size):
        total += words[place]
    return total


def judged(result: dict[str, Any], goals: str) -> dict[str, Any]:
    """The figures with their goals, which of them are met, and whether all was right."""
    wanted = GOALS[goals]
    met = {
        key: None
        if result[key] is None
        else (result[key] >= goal if key == "ratio_best_peer" else result[key] <= goal)
        for key, goal in wanted.items()
    }
    right = all(value <= CLOSE for value in result.get("largest_difference", {}).values())
    right = right and all(result.get("same_bits", {}).values())
    return result | {"goals": wanted, "met": met, "right": right}


def bench_score(rows: int) -> dict[str, Any]:
    """The wall time of `beforehand score` on a CSV of so many rows, beside its goal."""
    return judged(timed_score(rows), "score")


def _ratio(times: Times, own: str, best: Sequence[str]) -> dict[str, Any]:
    """The product's seconds, and how often they go into those of the best peers together."""
    result: dict[str, Any] = {
        "product_s": min(times[own]),
        "product_median_s": _mid(times[own]),
        "product_first_s": times[f"first {own}"][0],
        "best_peer_s": None,
        "ratio_best_peer": None,
        "ratio_best_peer_median": None,
    }
    if best:
        least = sum(min(times[key]) for key in best)
        middle = sum(_mid(times[key]) for key in best)
        result["best_peer_s"] = least
        result["ratio_best_peer"] = least / result["product_s"]
        result["ratio_best_peer_median"] = middle / result["product_median_s"]
    return result


def _floor(times: Times) -> dict[str, Any]:
    product, floor = times["product"], times["floor"]
    return {
        "floor": "numpy's sum of the packed column, one thread",
        "floor_s": min(floor),
        "floor_median_s": _mid(floor),
        "ratio_floor": min(product) / min(floor),
        "ratio_floor_median": _mid(product) / _mid(floor),
        "vector_floor_s": min(times["vector floor"]) if "vector floor" in times else None,
    }


def _mid(seconds: list[float]) -> float:
    return statistics.median(seconds)


def _polars_threads() -> int | None:
    polars = module("polars")
    return None if polars is None else int(polars.thread_pool_size())
