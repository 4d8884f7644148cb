"""What a declaration says about counting and ranking, as exact values.

Records keep a declaration as it was written; here its words become the
numbers that rows and boards are computed with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from beforehand.records.declaration import Declaration
from beforehand.scoring.exact import Grid

ECE_LEAST = 30
# What the text of the methodology says, and a league seals, where its declaration names no rule.
NOT_REVEALED = "worst_in_service"
MOVED = Fraction(1, 10)
# Derived forecasters that say something of their own, and not a constant.
CONTESTANTS = ("crowd", "mean", "median")


@dataclass(frozen=True)
class Rules:
    """The declared rules.

    `asked` leagues ask models, the others accept answers; in `blind` ones what
    is asked hides the price. `crowd_price` is the
    declared price of the crowd, "" where no crowd is derived; `max_spread`,
    `max_age_minutes` and `min_volume` are None where they are not declared. `least` is the
    least number of members of each pool, by its name. `service_fill` is what an
    expected answer that never came loses in the service score, None where none
    is declared; `not_revealed` what one does that was never disclosed.
    """

    grid: Grid
    derived: Mapping[str, str]
    asked: bool
    blind: bool
    crowd_price: str
    max_spread: Fraction | None
    max_age_minutes: int | None
    min_volume: Fraction | None
    price_low: Fraction | None
    price_high: Fraction | None
    least: Mapping[str, int]
    stale_days: int | None
    weekly: bool
    against: str
    on: str
    weigh: str
    min_events: int
    min_reliability: Fraction | None
    min_clusters_interval: int
    shared_min: int
    also: tuple[str, ...]
    kelly_cap: Fraction
    ece_least: int
    service_fill: Fraction | None
    not_revealed: str

    @classmethod
    def of(cls, declaration: Declaration) -> Rules:
        """The rules of a declaration."""
        content = declaration.content
        derived: list[dict[str, Any]] = content.get("derived", [])
        crowd: dict[str, Any] = next((d for d in derived if d["rule"] == "crowd"), {})
        select = content["questions"].get("select", {})
        board, scoring = content["board"], content["scoring"]
        return cls(
            grid=Grid.of(declaration.grid),
            derived=declaration.derived,
            asked=content["answers"]["entry"] == "asked",
            blind=content["answers"]["entry"] == "asked"
            and content["answers"].get("price") == "hidden",
            crowd_price=crowd.get("price", ""),
            max_spread=_exact(crowd.get("max_spread")),
            max_age_minutes=crowd.get("max_age_minutes"),
            min_volume=_exact(crowd.get("min_volume")),
            price_low=_exact(select.get("price_low")),
            price_high=_exact(select.get("price_high")),
            least={d["forecaster"]: d.get("least", 1) for d in derived},
            stale_days=content["resolution"].get("stale_days"),
            weekly=content["schedule"].get("cohort") == "iso_week",
            against=board.get("against", "leave_one_out_median"),
            on=board["on"],
            weigh=board["weigh"],
            min_events=declaration.min_events,
            min_reliability=_exact(board.get("min_reliability")),
            min_clusters_interval=declaration.min_clusters_interval,
            shared_min=declaration.shared_min,
            also=tuple(scoring.get("also", ())),
            kelly_cap=_exact(scoring.get("kelly_cap")) or Fraction(1),
            ece_least=scoring.get("ece_least", ECE_LEAST),
            service_fill=_exact(scoring.get("service_fill")),
            not_revealed=content["answers"].get("not_revealed", NOT_REVEALED),
        )

    @property
    def against_crowd(self) -> bool:
        """Whether forecasters are ranked by what they gain on the crowd."""
        return self.against == "crowd"

    def named(self, rule: str) -> str | None:
        """The first derived forecaster of a rule; None where none is declared."""
        return next((name for name, held in self.derived.items() if held == rule), None)


def _exact(value: Any) -> Fraction | None:
    """Declared decimal text as an exact number."""
    return None if value is None else Fraction(value)
