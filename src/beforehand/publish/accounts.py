"""Paper accounts: each row's capped Kelly stake at the prices of its own run's start."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from beforehand.publish.gains import board_share, board_text, scored_units
from beforehand.publish.rows import Row
from beforehand.publish.rules import Rules
from beforehand.scoring.paper import Stake, kelly_stake

PAPER_LABEL = "secondary: paper money against the crowd's price, never the headline"


def stake_of(row: Row, rules: Rules) -> Stake | None:
    """What a counted row stakes; None where its run had no crowd.

    A crowd without two sides, as an archive gives it, is bought and sold at
    its one price.
    """
    if row.crowd_units is None:
        return None
    grid = rules.grid
    crowd = grid.probability(row.crowd_units)
    bid = Fraction(row.bid) if row.bid else crowd
    ask = Fraction(row.ask) if row.ask else crowd
    own = grid.probability(scored_units(row))
    return kelly_stake(own, crowd, bid, ask, rules.kelly_cap)


def profit_of(row: Row, rules: Rules) -> Fraction | None:
    """What a counted row's stake brought, in bankrolls; None where there was no crowd."""
    stake = stake_of(row, rules)
    return None if stake is None else stake.profit(row.happened)


def paper_account(counted: Sequence[Row], rules: Rules) -> dict[str, Any]:
    """The account over counted rows as JSON: total, and how much of it one row is.

    `largest_share` is the largest row's part of all that was won and lost, in
    absolute value; `total_without_largest` the account without that row.
    """
    profits = [(row, value) for row in counted if (value := profit_of(row, rules)) is not None]
    staked = [(row, value) for row, value in profits if value]
    largest = max(
        staked, key=lambda held: (abs(held[1]), held[0].run, held[0].question), default=None
    )
    total = sum((value for _, value in profits), Fraction(0))
    turned = sum((abs(value) for _, value in profits), Fraction(0))
    return {
        "label": PAPER_LABEL,
        "n": len(profits),
        "staked": len(staked),
        "won": sum(value > 0 for _, value in staked),
        "total": board_text(total) if profits else None,
        "mean": board_text(total / len(profits)) if profits else None,
        "largest": board_text(largest[1]) if largest else None,
        "largest_run": largest[0].run if largest else None,
        "largest_question": largest[0].question if largest else None,
        "largest_share": board_text(abs(largest[1]) / turned) if largest else None,
        "total_without_largest": board_text(total - largest[1]) if largest else None,
        "rows_won_share": board_share(sum(value > 0 for _, value in staked), len(staked)),
    }
