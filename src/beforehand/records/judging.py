"""The part of a declaration's grammar that says how answers are settled, scored and compared."""

from __future__ import annotations

from collections.abc import Mapping

from beforehand.records.declared import (
    DECLARED_AMOUNT,
    DECLARED_COUNT,
    DECLARED_FRACTION,
    DECLARED_SPAN,
    DeclaredVariant,
    declared_words,
)
from beforehand.records.shape import (
    Choice,
    Digest,
    Flag,
    Integer,
    Listed,
    Name,
    Optional,
    Shape,
    Table,
    Text,
)

_DERIVED_KEYS: Mapping[str, Shape] = {"forecaster": Name(), "label": Text(200)}
_HINDSIGHT_LABEL = Text(200, pattern=r".*[Hh]indsight.*", words='a label with the word "hindsight"')

DERIVED_TABLE = DeclaredVariant(
    "rule",
    {
        "crowd": {
            **_DERIVED_KEYS,
            "price": Choice(("freeze_value", "mid", "mid_at_commit_deadline")),
            "max_spread": Optional(DECLARED_FRACTION),
            "max_age_minutes": Optional(DECLARED_COUNT),
            "min_volume": Optional(DECLARED_AMOUNT),
            "between_strikes": Optional(Choice(("linear",))),
        },
        "mean": {**_DERIVED_KEYS, "least": DECLARED_COUNT},
        "median": {**_DERIVED_KEYS, "least": DECLARED_COUNT},
        "always_half": _DERIVED_KEYS,
        "base_rate": {**_DERIVED_KEYS, "label": _HINDSIGHT_LABEL},
        "always_no": _DERIVED_KEYS,
        "favourite": _DERIVED_KEYS,
        "random": {**_DERIVED_KEYS, "seed": Integer()},
        "momentum": {**_DERIVED_KEYS, "probability": DECLARED_FRACTION},
        "climatology": {
            **_DERIVED_KEYS,
            "first_year": Integer(1900, 2200),
            "last_year": Integer(1900, 2200),
            "sha256": Optional(Digest()),
        },
        "consensus": {
            **_DERIVED_KEYS,
            "least": DECLARED_COUNT,
            "trim_from": DECLARED_COUNT,
            "trim_each_end": DECLARED_SPAN,
            "family_divisor": DECLARED_COUNT,
            "first_of_family": Choice(("lowest_answering_seat",)),
            "low": DECLARED_FRACTION,
            "high": DECLARED_FRACTION,
        },
        "shadow_consensus": {
            **_DERIVED_KEYS,
            "of": Name(),
            "correlation_floor": DECLARED_FRACTION,
        },
    },
)

_FINAL_WORD = Text(200)

RESOLUTION_TABLE = DeclaredVariant(
    "from",
    {
        "archive": {
            "final": _FINAL_WORD,
            "other_than_0_or_1": Choice(("void",)),
            "unresolved": Choice(("open",)),
        },
        "venue": {
            "final": _FINAL_WORD,
            "half": Choice(("void",)),
            "every_hours": DECLARED_COUNT,
            "recheck_days": DECLARED_SPAN,
            "stale_days": DECLARED_COUNT,
        },
        "bars": {
            "final": _FINAL_WORD,
            "bar": Choice(("1m",)),
            "reference_bar": Choice(("first_at_or_after_reference",)),
            "end_bar": Choice(("last_at_or_before_end",)),
            "outcome": Choice(("strict_rise",)),
            "late": Choice(("own_event",)),
            "corrections": Choice(("sealed_line",)),
            "draw_share": DECLARED_FRACTION,
            "draw_sessions": DECLARED_COUNT,
            "draw_minutes": DECLARED_COUNT,
            "draw_edge": Choice(("inclusive", "exclusive")),
        },
        "conditional_tokens": {
            "final": _FINAL_WORD,
            "half": Choice(("void",)),
            "yes_slot": Integer(0, 1),
            "settle": Choice(("each_market_when_resolved", "once_per_round")),
        },
    },
)

SCORING_TABLE = Table(
    {
        "primary": Choice(("brier",)),
        "grid": Choice(("0.1", "0.01", "0.001", "0.0001")),
        "clamp": DECLARED_FRACTION,
        "also": Optional(declared_words("ece", "paper_pnl", "all_wrong", "service_score")),
        "ece_bins": Optional(Integer(2, 100)),
        "ece_least": Optional(DECLARED_COUNT),
        "kelly_cap": Optional(DECLARED_FRACTION),
        "service_fill": Optional(DECLARED_FRACTION),
    }
)

BOARD_TABLE = Table(
    {
        "rank_by": Choice(("paired_gain", "brier", "cwr")),
        "against": Optional(
            Choice(("leave_one_out_median", "crowd", "climatology", "always_half"))
        ),
        "on": Choice(("own_questions", "shared_set")),
        "weigh": Choice(("row", "question", "cluster")),
        "min_events": DECLARED_COUNT,
        "min_clusters": Optional(DECLARED_COUNT),
        "min_reliability": Optional(DECLARED_FRACTION),
        "per_horizon": Optional(Flag()),
        "interval": Choice(("student_t", "cluster_bootstrap")),
        "confidence": DECLARED_FRACTION,
        "min_clusters_interval": Integer(2, 1_000_000),
        "bootstrap_from": Optional(DECLARED_COUNT),
        "resamples": Optional(DECLARED_COUNT),
        "seed": Optional(Integer()),
        "shared_min": DECLARED_COUNT,
    }
)

SEASON_TABLE = Table(
    {
        "sessions": DECLARED_COUNT,
        "development_sessions": DECLARED_SPAN,
        "blind_from_session": Optional(DECLARED_COUNT),
    }
)

PRIMARY_TABLE = Table(
    {
        "forecaster": Name(),
        "against": Name(),
        "horizon": Name(20),
        "first_session": DECLARED_COUNT,
        "last_session": DECLARED_COUNT,
        "method": Choice(("moving_block_bootstrap",)),
        "block_sessions": DECLARED_COUNT,
        "resamples": DECLARED_COUNT,
        "seed": Integer(),
        "confidence": DECLARED_FRACTION,
        "margin": DECLARED_FRACTION,
    }
)

VOICES_TABLE = Table(
    {
        "headline": Choice(("pearson",)),
        "variants": declared_words(
            *("one_per_group", "about_half", "about_climatology", "participation_ratio"),
            *("largest_share", "consensus_removed", "errors", "per_seat"),
        ),
        "group_out": Listed(Name(20), most=500),
        "unanimous_from": DECLARED_COUNT,
    }
)

READERS_TABLE = Table(
    {
        "groups": Listed(Name(40), least=2, most=10),
        "assignment": Choice(("once_at_random",)),
        "confidence_low": DECLARED_FRACTION,
        "confidence_high": DECLARED_FRACTION,
        "counts": Choice(("first_per_question_and_session",)),
        "close": Choice(("reference",)),
        "addresses": Choice(("never_stored",)),
    }
)

TRADING_TABLE = Table(
    {
        "threshold": DECLARED_FRACTION,
        "keep": Choice(("at_or_above", "above")),
        "stake": Choice(("confidence_times_lot", "flat_lot")),
        "lot": DECLARED_AMOUNT,
        "lots": Listed(DECLARED_AMOUNT, most=100),
        "fill": Choice(("sweep_asks",)),
        "no_depth": Choice(("no_fill",)),
        "fee": Choice(("venue_schedule", "none")),
        "half_pays": DECLARED_FRACTION,
        "hold_floor_minutes": DECLARED_COUNT,
        "year_days": DECLARED_COUNT,
        "measures": declared_words(
            *("cwr", "flat_return", "mean_return", "apy", "return_ratio", "sharpe"),
            *("accuracy", "temporal_error"),
        ),
        "strategies": Listed(Name(40), most=50),
        "skip": Choice(("unpenalised",)),
    }
)

PORTFOLIO_TABLE = Table(
    {
        "name": Name(40),
        "start": DECLARED_AMOUNT,
        "sides": Choice(("long", "long_short")),
        "weight_low": DECLARED_FRACTION,
        "weight_high": DECLARED_FRACTION,
        "gross_low": DECLARED_AMOUNT,
        "gross_high": DECLARED_AMOUNT,
        "cost": DECLARED_FRACTION,
        "cash": Choice(("treasury_bill_13_week", "none")),
        "execute": Choice(("first_price_after_open",)),
        "execute_minutes": DECLARED_COUNT,
        "breach": Choice(("refused",)),
        "ratios_from_sessions": DECLARED_COUNT,
        "actions": Listed(Name(40), most=50),
        "indicators_out": Optional(Listed(Name(20), most=500)),
        "baselines": Listed(Name(40), most=50),
        "no_trade_shadow": Flag(),
    }
)
