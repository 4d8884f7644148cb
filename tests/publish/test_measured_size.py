"""The size of the board's interval, measured on the demo's own round under exchangeability.

The null: within each source question, whoever answered it might have been anybody else who did.
Their mean gains over the average of the others are dealt out anew, question by question; the true
gain of everybody is then 0, and a nominal 5 % interval should miss it in 5 % of deals.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from beforehand.book.reader import BookReader
from beforehand.cli.replay import replay
from beforehand.publish.fold import fold_book
from beforehand.publish.gains import loss
from beforehand.publish.leaderboard import build_board
from beforehand.publish.rows import build_rows
from beforehand.scoring.exact import Grid

DEALS = 4000


@pytest.mark.slow
def test_the_interval_is_somewhat_short_on_this_round_and_no_more(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    replay(tmp_path / "league", tmp_path / "clock", lambda *step: None).store.close()
    reader = BookReader(tmp_path / "league")
    fold = fold_book(reader.lines(), reader.read_body)
    rows = build_rows(fold)
    grid = Grid(10_000)
    gains: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.kind != "derived" and row.status == "counted" and row.others_loss is not None:
            gain = float(row.others_loss - loss(row, grid)) / grid.steps**2
            gains.setdefault(row.cluster, {}).setdefault(row.forecaster, []).append(gain)
    board = build_board(fold, rows)
    ranked = [e["forecaster"] for e in board["forecasters"] if e["rank"] is not None]
    dealt: dict[str, list[np.ndarray]] = {name: [] for name in ranked}
    rng = np.random.default_rng(20261129)
    for held in gains.values():
        names = list(held)
        means = np.array([np.mean(held[name]) for name in names])
        deal = rng.permuted(np.tile(means, (DEALS, 1)), axis=1)
        for place, name in enumerate(names):
            if name in dealt:
                dealt[name].append(deal[:, place])
    sizes = {}
    for name, columns in dealt.items():
        table = np.stack(columns, axis=1)
        t = table.mean(axis=1) / stats.sem(table, axis=1)
        sizes[name] = float(np.mean(np.abs(t) > stats.t.ppf(0.975, table.shape[1] - 1)))
    average, worst = np.mean(list(sizes.values())), max(sizes.values())
    record_property("average_size", round(float(average), 4))
    record_property("worst_size", round(worst, 4))
    print(f"nominal 5 %: {average:.1%} on average, {worst:.1%} at worst, over {len(ranked)} ranked")
    assert 0.04 < average < 0.08
    assert worst < 0.16
