"""What a declaration may name and this version cannot run yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beforehand.records.coherence import declared_at

# A key, the values this version runs, and what it cannot do for any other.
# No values: the key itself asks for what is not there yet.
_DECLARED_FEATURES: tuple[tuple[str, tuple[Any, ...], str], ...] = (
    ("segment.counted", (True,), "run a segment that does not count"),
    ("questions.from", ("archive", "polymarket", "kalshi"), "read questions from this source"),
    ("questions.archive", ("forecastbench-2024-07-21",), "find that archive among its own"),
    ("questions.cluster", ("source_question", "venue_event"), "cluster events in this way"),
    ("schedule.kind", ("once", "cron"), "keep this schedule"),
    ("counted_run.rule", ("only_run", "every_run", "scheduled_run"), "choose among several runs"),
    ("answers.entry", ("accepted", "asked"), "take commitments"),
    ("answers.from", ("archive",), "take answers from outside agents"),
    ("answers.price", ("hidden",), "show a price to who forecasts"),
    ("answers.per_ask", ("one_question",), "ask for several questions at once"),
    ("roster.frozen", ("cohort", "run"), "freeze a roster for so long"),
    ("roster.seats", (), "seat models without their settings: list them as [[models]]"),
    ("snapshot.holds", ("quotes",), "keep this in a snapshot"),
    ("questions.select.needs", (), "demand this of a market"),
    (
        "derived.rule",
        ("crowd", "mean", "median", "always_half", "base_rate"),
        "compute this derived forecaster",
    ),
    ("derived.price", ("freeze_value", "mid"), "read a crowd price at this moment"),
    ("derived.between_strikes", (), "interpolate a crowd price"),
    ("resolution.from", ("archive", "venue"), "read outcomes from this source"),
    ("scoring.also", ("ece", "paper_pnl", "service_score"), "compute this measure"),
    ("scoring.ece_bins", (10,), "use another number of calibration bins"),
    ("board.rank_by", ("paired_gain",), "rank by this measure"),
    ("board.against", ("leave_one_out_median", "crowd"), "rank against this forecaster"),
    ("board.on", ("own_questions", "shared_set"), "rank on this set"),
    ("board.weigh", ("cluster", "question"), "weigh events in this way"),
    ("board.min_clusters", (), "demand a number of clusters for a rank"),
    ("board.per_horizon", (False,), "rank each horizon by itself"),
    ("board.interval", ("student_t",), "compute this interval"),
    ("board.confidence", ("0.95",), "compute an interval of this confidence"),
    ("board.bootstrap_from", (), "change to a bootstrap"),
    ("bodies", (), "withhold a body"),
    (
        "anchors.use",
        ("opentimestamps", "rfc3161", "rekor", "witness", "git", "archive", "evm"),
        "anchor a checkpoint in this way",
    ),
    ("season", (), "keep a season"),
    ("primary", (), "read a registered comparison"),
    ("voices", (), "count effective voices"),
    ("arms", (), "ask in several arms"),
    ("readers", (), "run an experiment with readers"),
    ("trading", (), "trade against depth"),
    ("portfolios", (), "keep portfolio leagues"),
    ("onchain", (), "run rounds on a chain"),
)

# The roles that asking and accepting can seal until the deadline.
_WITHHELD_ROLES = ("answer", "answer_rows", "submission", "ask", "reply", "reasoning")

# The roles that say which model stands behind a seat; they may wait for a `revealed` line.
_NAMING_ROLES = ("identity", "ask", "reply", "reasoning")


def missing_in(content: Mapping[str, Any]) -> list[str]:
    """One sentence for every key of a checked declaration that asks for more than there is."""
    found = []
    for path, runs, what in _DECLARED_FEATURES:
        for where, value in declared_at(content, path):
            for key, item in _feature_asked(where.removeprefix("."), value):
                if item not in runs:
                    found.append(f"{key}: this version cannot {what} yet.")
    return list(dict.fromkeys(found))


def _feature_asked(key: str, value: Any) -> list[tuple[str, Any]]:
    """The key as written with what it asks for; nothing where it asks for nothing."""
    if key == "bodies":
        withheld = {
            role: rule
            for role, rule in value.items()
            if rule != "line"
            and not (rule == "deadline" and role in _WITHHELD_ROLES)
            and not (rule in ("deadline", "never") and role in _NAMING_ROLES)
        }
        return [(f'bodies.{role} = "{rule}"', rule) for role, rule in withheld.items()]
    if isinstance(value, dict):
        name = key.partition("[")[0]
        return [(f"[[{name}]]" if name != key else f"[{name}]", value)]
    if isinstance(value, list):
        return [(f'{key} holds "{item}"', item) for item in value]
    if isinstance(value, str):
        return [(f'{key} = "{value}"', value)]
    return [(f"{key} = {str(value).lower()}", value)]
