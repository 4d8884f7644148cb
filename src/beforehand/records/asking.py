"""The part of a declaration's grammar that says what is asked, when, of whom, and who sees it."""

from __future__ import annotations

from collections.abc import Mapping

from beforehand.records.declared import (
    DECLARED_AMOUNT,
    DECLARED_COUNT,
    DECLARED_FRACTION,
    DECLARED_SEARCH,
    DECLARED_SHOWN,
    DECLARED_SPAN,
    DeclaredVariant,
    declared_words,
)
from beforehand.records.league import Origin
from beforehand.records.run import Seat
from beforehand.records.shape import (
    Choice,
    Flag,
    Instant,
    Integer,
    Listed,
    Name,
    Optional,
    Shape,
    Table,
    Text,
)

_TIME_ZONE = Text(
    60, pattern=r"[A-Za-z]+(/[A-Za-z0-9_+-]+)*", words="a time zone of the tz database"
)
_CRON_TEXT = Text(
    100,
    pattern=r"[0-9A-Za-z*,/-]+( [0-9A-Za-z*,/-]+){4}",
    words='a cron expression of five fields, as the text "0 10 * * *",',
)
_LOCAL_TIME = Text(5, 5, r"([01]\d|2[0-3]):[0-5]\d", "a local time HH:MM")
_EVM_ADDRESS = Text(42, 42, r"0x[0-9a-fA-F]{40}", "an EVM address")

LEAGUE_TABLE = Table(
    {
        "name": Name(),
        "title": Text(200),
        "about": Optional(Text(2000)),
        "origin": Origin(),
        "licence": Text(60, pattern=r"[A-Za-z0-9][A-Za-z0-9.+-]*", words="an SPDX licence name"),
        "attribution": Text(400),
    }
)

SEGMENT_TABLE = Table(
    {
        "name": Name(),
        "methodology": Text(60),
        "time": Choice(("simulated", "live")),
        "counted": Flag(),
        "why": Text(2000),
    }
)

_SELECT_TABLE = Table(
    {
        "order": Choice(("volume_24h", "volume", "liquidity")),
        "markets": DECLARED_COUNT,
        "per_event": Optional(DECLARED_COUNT),
        "per_topic": Optional(DECLARED_COUNT),
        "min_hours": Optional(DECLARED_SPAN),
        "max_hours": Optional(DECLARED_COUNT),
        "price_low": Optional(DECLARED_FRACTION),
        "price_high": Optional(DECLARED_FRACTION),
        "max_spread": Optional(DECLARED_FRACTION),
        "min_volume_24h": Optional(DECLARED_AMOUNT),
        "tags_out": Optional(Listed(Text(60), most=200)),
        "needs": Optional(declared_words("depth", "headlines")),
    }
)

_REFERENCE_RULE = Choice(("session_open", "close_of_intake"))
_END_RULE = Choice(("session_close", "local_time"))
_INDICATOR_TABLE = Table(
    {
        "code": Name(20),
        "name": Text(80),
        "symbol": Text(40),
        "unit": Choice(("price", "index", "yield")),
        "reference": Optional(_REFERENCE_RULE),
        "end": Optional(_END_RULE),
        "end_local": Optional(_LOCAL_TIME),
        "end_local_half_day": Optional(_LOCAL_TIME),
        "rolls": Optional(Flag()),
        "fund": Optional(Text(20)),
        "crowd": Optional(declared_words("polymarket", "kalshi")),
    }
)

_HORIZON_TABLE = Table(
    {"name": Name(20), "sessions_after": DECLARED_SPAN, "calendar_days": Optional(DECLARED_COUNT)}
)

_CLUSTER_RULE = Choice(("source_question", "venue_event", "session", "round"))
_VENUE_KEYS: Mapping[str, Shape] = {"cluster": _CLUSTER_RULE, "select": _SELECT_TABLE}

QUESTIONS_TABLE = DeclaredVariant(
    "from",
    {
        "archive": {"cluster": _CLUSTER_RULE, "archive": Name()},
        "polymarket": _VENUE_KEYS,
        "kalshi": _VENUE_KEYS,
        "indicators": {
            "cluster": _CLUSTER_RULE,
            "provider": Text(80),
            "reference": _REFERENCE_RULE,
            "end": Choice(("session_close",)),
            "indicators": Listed(_INDICATOR_TABLE, most=500, least=1),
            "horizons": Listed(_HORIZON_TABLE, most=50, least=1),
        },
    },
)

_COUNTED_SLOT = Table(
    {
        "name": Name(20),
        "minutes_before_open": DECLARED_COUNT,
        "second_wave_minutes": Optional(DECLARED_COUNT),
    }
)
_OTHER_SLOT = Table({"name": Name(20), "cron": _CRON_TEXT, "why": Text(400)})

SCHEDULE_TABLE = DeclaredVariant(
    "kind",
    {
        "once": {"slot": Instant(), "deadline": Instant()},
        "cron": {
            "cron": Listed(_CRON_TEXT, most=50, least=1),
            "timezone": _TIME_ZONE,
            "deadline_minutes": DECLARED_COUNT,
            "grace_minutes": DECLARED_SPAN,
            "missed": Choice(("never_backfilled",)),
            "cohort": Choice(("iso_week", "none")),
            "others": Optional(Listed(_OTHER_SLOT, most=50)),
        },
        "sessions": {
            "calendar": Name(20),
            "timezone": _TIME_ZONE,
            "seal_before": Choice(("open",)),
            "counted": _COUNTED_SLOT,
            "others": Optional(Listed(_OTHER_SLOT, most=50)),
        },
        "rounds": {
            "rounds": DECLARED_COUNT,
            "campaigns": DECLARED_COUNT,
            "markets_least": Integer(1, 20),
            "commit_hours": DECLARED_COUNT,
            "reveal_after_hours": DECLARED_COUNT,
            "reveal_hours": DECLARED_COUNT,
        },
    },
)

COUNTED_RUN_TABLE = Table(
    {"rule": Choice(("only_run", "every_run", "scheduled_run")), "words": Text(400)}
)

# Whether one cell of a withheld answer can be proved without the others.
_CELLS_RULE = Optional(Choice(("plain", "salted")))
# What an answer counts in the service score that is due and never disclosed.
_NOT_REVEALED = Choice(("worst_in_service", "absent"))

ANSWERS_TABLE = DeclaredVariant(
    "entry",
    {
        "accepted": {
            "from": Choice(("archive", "agents")),
            "cells": _CELLS_RULE,
            "not_revealed": Optional(_NOT_REVEALED),
            "retry": Text(400),
        },
        "asked": {
            "cells": _CELLS_RULE,
            "not_revealed": Optional(_NOT_REVEALED),
            "price": Choice(("hidden", "shown")),
            "shows": DECLARED_SHOWN,
            "per_ask": Choice(("one_question", "all_questions")),
            "search": DECLARED_SEARCH,
            "deny_sites": Optional(Listed(Text(100), most=200)),
            "temperature": Optional(DECLARED_AMOUNT),
            "attempts": Integer(1, 20),
            "reasks": Integer(0, 5),
            "retry": Text(400),
        },
        "committed": {
            "price": Choice(("hidden", "shown")),
            "open_to_all": Flag(),
            "changes": Choice(("none", "last_before_deadline")),
            "not_revealed": _NOT_REVEALED,
            "retry": Text(400),
        },
    },
)

_GROUP_TABLE = Table(
    {
        "name": Name(40),
        "side": Optional(Text(60)),
        "seats": DECLARED_COUNT,
        "forecasts": Flag(),
        "trades": Flag(),
    }
)

ROSTER_TABLE = Table(
    {
        "frozen": Choice(("season", "cohort", "run")),
        "groups": Listed(_GROUP_TABLE, most=100),
        "seats": Optional(Listed(Seat.shape, most=10_000)),
    }
)

SNAPSHOT_TABLE = Table(
    {
        "holds": declared_words("quotes", "depth", "headlines", "indicators", "futures"),
        "depth_levels": Optional(DECLARED_COUNT),
        "headlines_source": Optional(Text(200)),
        "headlines_per_event": Optional(DECLARED_COUNT),
        "headlines_undated": Optional(Choice(("dropped", "marked"))),
    }
)

ARM_TABLE = Table(
    {
        "name": Name(40),
        "shows": DECLARED_SHOWN,
        "search": DECLARED_SEARCH,
        "every": Choice(("run", "week")),
        "repeats": Optional(DECLARED_COUNT),
        "scored": Flag(),
    }
)

# A body of question text or evidence stands on a line of no run, so that there
# is no deadline it could be due at. Scores need the answers, some day.
_ANY_BODY_RULE = ("line", "deadline", "never")
BODY_ROLES: Mapping[str, tuple[str, ...]] = {
    "text": ("line", "never"),
    "evidence": ("line", "never"),
    "answer": ("line", "deadline"),
    **dict.fromkeys(("snapshot", "depth", "headlines", "ask"), _ANY_BODY_RULE),
    **dict.fromkeys(("reply", "reasoning", "identity", "answer_rows"), _ANY_BODY_RULE),
    # What an entrant from outside sent and signed, whole.
    "submission": _ANY_BODY_RULE,
}
BODIES_TABLE = Table({role: Optional(Choice(rules)) for role, rules in BODY_ROLES.items()})

ANCHORS_TABLE = Table(
    {
        "use": declared_words(
            "opentimestamps", "rfc3161", "rekor", "witness", "git", "archive", "evm"
        ),
        "authorities": Optional(Listed(Name(), most=20)),
        "each_answer": Optional(Listed(Name(), most=20, least=1)),
        "quorum": Optional(DECLARED_COUNT),
        "margin_minutes": Optional(DECLARED_SPAN),
        "beacon": Optional(Choice(("bitcoin_tip", "drand"))),
    }
)

BUDGET_TABLE = Table(
    {
        "currency": Text(3, 3, r"[A-Z]{3}", "a currency code"),
        "cap": DECLARED_AMOUNT,
        "per": Choice(("league", "cohort", "month")),
        "reserve": Choice(("before_call",)),
        "whole_questions": Flag(),
        "order": Choice(("seeded_random", "selection")),
    }
)

ONCHAIN_TABLE = Table(
    {
        "chain": Name(40),
        "chain_id": DECLARED_COUNT,
        "conditional_tokens": _EVM_ADDRESS,
        "identity_registry": Optional(_EVM_ADDRESS),
        "reputation_registry": Optional(_EVM_ADDRESS),
        "domain": Name(60),
        "commitment": Choice(("tight_big_endian",)),
        "unit": Choice(("basis_points",)),
        "relayer": Flag(),
    }
)
