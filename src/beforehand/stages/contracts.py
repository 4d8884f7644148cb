"""A declared contract profile against what questions of a league state, before any is sealed."""

from __future__ import annotations

from beforehand.errors import FormatError, RuleError
from beforehand.records.declaration import Declaration
from beforehand.records.event_contract import LINE_FACTS
from beforehand.records.question import Question

# What the contract of a sealed question holds, by where questions come from.
_VENUE = ("source", "market", "yes_token", "question", "text_sha256", "closes")
CONTRACT_FIELDS = {
    "polymarket": _VENUE,
    "kalshi": _VENUE,
    "archive": ("benchmark", "source", "source_id", "forecast_due", "resolution_date", "rule"),
}


def check_profile(declaration: Declaration) -> None:
    """RuleError where the profile has a key that no question of this league could state."""
    profile = declaration.contract
    if profile is None:
        return
    origin = str(declaration.content["questions"]["from"])
    fields = CONTRACT_FIELDS.get(origin, ())
    for key in profile.keys:
        source = profile.sources.get(key, key)
        if key in profile.constants or source in (*fields, *LINE_FACTS):
            continue
        if key in profile.nullable and key not in profile.sources:
            continue  # declared as what no question states
        raise RuleError(
            f"contract.keys: nothing states {key!r:.80} of a question from {origin}; give it under "
            f"[contract.from] one of {', '.join((*fields, *LINE_FACTS))}, or a text under "
            "[contract.constant]"
        )


def unstated(declaration: Declaration, question: Question) -> str:
    """What the declared contract lacks in this question, in words; "" where it lacks nothing."""
    profile = declaration.contract
    if profile is None:
        return ""
    try:
        profile.contract_from(question)
    except FormatError as error:
        return str(error)
    return ""
