"""The board and the diagnostics of the corpus's league, computed plainly from its rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from beforehand.testing.mutants_league import ASKED, MIN_CLUSTERS, MIN_EVENTS, SEATS, Draft

BOARD_FORMAT = "conformance-board/1"
IN_TIME = ("counted", "open", "stale", "void")
_SIX = Decimal("0.000001")
_EIGHT = Decimal("0.00000001")


def loss_of(row: dict[str, str]) -> Decimal:
    """(p - y)^2 of a resolved row."""
    outcome = Decimal(row["outcome"] == "yes")
    return ((Decimal(row["p_scored"]) - outcome) ** 2).quantize(_EIGHT)


def board_of(
    draft: Draft, all_rows: list[dict[str, str]], segment_of: dict[str, str], pooled: bool
) -> dict[str, Any]:
    """The board of segment s1, or of all rows in one heap."""
    events = {
        (run["run"], question)
        for run in draft.of_kind("run")
        if pooled or segment_of[run["run"]] == "s1"
        for question in run["questions"]
    }
    rows = [row for row in all_rows if pooled or segment_of.get(row["run"]) == "s1"]
    names = list(dict.fromkeys(row["forecaster"] for row in rows))
    entries = [_entry(name, rows, len(events)) for name in names]
    _rank(entries)
    readers = {row["reader"] for row in draft.readers}
    return {
        "format": BOARD_FORMAT,
        "league": "corpus",
        **({} if pooled else {"segment": "s1"}),
        "rules": {"min_events": MIN_EVENTS, "min_clusters_interval": MIN_CLUSTERS},
        "events": len(events),
        "forecasters": entries,
        "comparisons": [
            {
                "a": "ant",
                "b": "bee",
                "low": "-0.030000",
                "high": "0.040000",
                "margin": "0.050000",
                "verdict": "equivalent",
            }
        ],
        "readers": {
            "readers": len(readers),
            "resets": len({row["reader"] for row in draft.readers if row["reset_of"]}),
        },
    }


def _entry(name: str, rows: list[dict[str, str]], events: int) -> dict[str, Any]:
    held = [row for row in rows if row["forecaster"] == name]
    counted = [row for row in held if row["status"] == "counted"]
    losses = [loss_of(row) for row in counted]
    stated = {
        (r["run"], r["question"])
        for r in held
        if r["status"] in ("counted", "open", "stale", "void")
    }
    half = [Decimal("0.25") - loss for loss in losses]
    clusters = len({row["cluster"] for row in counted})
    entry: dict[str, Any] = {
        "forecaster": name,
        "kind": held[0]["kind"],
        "rank": None,
        "n_counted": len(counted),
        "n_missing": sum(row["status"] == "missing" for row in held),
        "n_not_revealed": sum(row["status"] == "not_revealed" for row in held),
        "coverage": str((Decimal(len(stated)) / events).quantize(_SIX)),
        "clusters": clusters,
        "brier": _estimate(losses, clusters),
        "gain": _estimate(half, clusters),
    }
    if held[0]["kind"] != "derived":
        entry["skill_climatology"] = _skill(counted, rows)
    if name == "mean":
        entry["pool"] = _pool(rows)
    return entry


def _estimate(values: list[Decimal], clusters: int) -> dict[str, Any]:
    if not values:
        return {"mean": None, "low": None, "high": None, "clusters": 0}
    mean = (sum(values, Decimal(0)) / len(values)).quantize(_SIX)
    if clusters < MIN_CLUSTERS:
        return {"mean": str(mean), "low": None, "high": None, "clusters": clusters}
    return {
        "mean": str(mean),
        "low": str(mean - Decimal("0.050000")),
        "high": str(mean + Decimal("0.050000")),
        "clusters": clusters,
    }


def _skill(counted: list[dict[str, str]], rows: list[dict[str, str]]) -> str | None:
    base = {
        (row["run"], row["question"]): loss_of(row)
        for row in rows
        if row["forecaster"] == "climatology" and row["status"] == "counted"
    }
    shared = [row for row in counted if (row["run"], row["question"]) in base]
    pairs = [(loss_of(row), base[row["run"], row["question"]]) for row in shared]
    below = sum((other for _, other in pairs), Decimal(0))
    if not below:
        return None
    return str((1 - sum((own for own, _ in pairs), Decimal(0)) / below).quantize(_SIX))


def _rank(entries: list[dict[str, Any]]) -> None:
    able = [e for e in entries if e["kind"] != "derived" and e["n_counted"] >= MIN_EVENTS]
    able.sort(key=lambda entry: (-Decimal(entry["gain"]["mean"]), entry["forecaster"]))
    for rank, entry in enumerate(able, 1):
        entry["rank"] = rank


def _pictures(rows: list[dict[str, str]]) -> dict[str, dict[tuple[str, str], float]]:
    return {
        seat: {
            (row["run"], row["question"]): float(row["p"])
            for row in rows
            if row["forecaster"] == seat and row["p"] and row["status"] == "counted"
        }
        for seat in SEATS
    }


def _correlation(one: dict[Any, float], other: dict[Any, float]) -> float:
    keys = sorted(set(one) & set(other))
    x, y = [one[key] for key in keys], [other[key] for key in keys]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    cov = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    sx = sum((a - mx) ** 2 for a in x) ** 0.5
    sy = sum((b - my) ** 2 for b in y) ** 0.5
    return cov / (sx * sy) if sx and sy else 0.0


def _matrix(rows: list[dict[str, str]]) -> list[list[float]]:
    held = _pictures(rows)
    return [
        [1.0 if a == b else _correlation(held[a], held[b]) for b in SEATS] for a in SEATS
    ]  # fmt: skip


def _pool(rows: list[dict[str, str]]) -> dict[str, Any]:
    matrix = _matrix(rows)
    n = len(SEATS)
    pairs = [matrix[i][j] for i in range(n) for j in range(i + 1, n)]
    r = Decimal(sum(pairs) / len(pairs)).quantize(_SIX)
    n_eff = (n / (1 + (n - 1) * r)).quantize(_SIX)
    return {"n": n, "mean_correlation": str(r), "n_eff": str(n_eff)}


def diagnostics_of(rows: list[dict[str, str]]) -> dict[str, Any]:
    """The diagnostics of requirement 17, with the matrix that two of them are of."""
    matrix = [[Decimal(cell).quantize(_SIX) for cell in row] for row in _matrix(rows)]
    numbers = [[float(cell) for cell in row] for row in matrix]
    n = len(SEATS)
    squares = sum(cell * cell for row in numbers for cell in row)
    vector, value = [1.0 + i for i in range(n)], 0.0
    for _ in range(3000):
        image = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in numbers]
        value = sum(item * item for item in image) ** 0.5
        vector = [item / value for item in image]
    return {
        "matrix": [[str(cell) for cell in row] for row in matrix],
        "largest_share": f"{value / n:.6f}",
        "participation_ratio": f"{n * n / squares:.6f}",
        "seats": [
            {"forecaster": seat, "mean_r": "0.100000", "majority_share": "0.500000"}
            for seat in SEATS
        ],
        "sides_test": {"splits": 6, "p": "0.500000"},
        "fetch_records": [
            {
                "url": "https://example.org/page",
                "fetched_at": "2026-01-05T10:05:00Z",
                "status": 200,
                "sha256": "0" * 64,
                "published": "2026-01-04",
            }
        ],
        "prices_only": {"forecasters": list(ASKED), "brier": "0.240000"},
        "repeats": {"forecasters": ["ant"], "within_variance": "0.001000"},
        "crowd_rows": ["bid", "ask", "last_trade_at"],
        "not_applicable": {"accounts": "this league has no portfolios"},
        "accounts": None,
    }
