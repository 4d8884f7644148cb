"""The simulated models: how well each knows, how it is priced, and how it misbehaves.

A statistical model reads the market's hidden probability through noise. With
z the normal quantile of that probability, it says

    F(gain * (z + shared * S + own * O)),

S a draw of the question that all models share, O one of its own. The price
has no such noise, so the crowd beats every model; O averages out, so their
mean beats most of them; S and the outcome do not, so their errors go together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from beforehand.testing.chance import below, normal, quantile, uniform
from beforehand.testing.truth import Known

SHARED = 0.6
LEAST = 0.005


@dataclass(frozen=True)
class Personality:
    """What one model id stands for. Prices are money per million tokens.

    `habits` are behaviours with the share of requests that meet them, drawn
    anew for each attempt. `schema` says that it honours a response_format.
    """

    gain: float = 0.8
    shared: float = SHARED
    own: float = 0.65
    prompt_price: Decimal = Decimal("0.50")
    completion_price: Decimal = Decimal("2.00")
    places: int = 2
    schema: bool = True
    habits: Mapping[str, float] = field(default_factory=dict)


# sim/NAME-1, sim/NAME-2 and so on are models of one kind with noise of their own.
SIMULATED: Mapping[str, Personality] = {
    "sharp": Personality(
        0.9, SHARED, 0.45, Decimal("3.00"), Decimal("15.00"), 3, habits={"leak": 0.04}
    ),
    "plain": Personality(),
    "hedger": Personality(0.5, SHARED, 0.6, Decimal("0.25"), Decimal("1.25")),
    "noisy": Personality(
        0.7, SHARED, 1.1, Decimal("0.10"), Decimal("0.40"), schema=False, habits={"fenced": 0.3}
    ),
    "bold": Personality(1.4, SHARED, 0.6, habits={"leak": 0.08}),
    "flaky": Personality(
        0.8,
        SHARED,
        0.75,
        Decimal("0.15"),
        Decimal("0.60"),
        schema=False,
        habits={
            "refuse_text": 0.01,
            "refuse_filter": 0.01,
            "truncated": 0.01,
            "prose": 0.02,
            "percent": 0.03,
            "two_answers": 0.01,
            "rate_limited": 0.02,
            "error": 0.02,
            "swapped": 0.01,
            "leak": 0.05,
            "stall": 0.001,
        },
    ),
    # A reasoning model: it answers 400 to a temperature.
    "strict": Personality(0.85, SHARED, 0.5, habits={"no_temperature": 1.0}),
}

_ID = re.compile(r"(sim|script)/([a-z0-9_-]+?)(?:-(\d+))?")


def personality_of(model: str) -> Personality | None:
    """What a model id stands for; None where it stands for nothing.

    `script/BEHAVIOUR` always behaves in that one way.
    """
    match = _ID.fullmatch(model)
    if match is None:
        return None
    family, name = match[1], match[2]
    if family == "sim":
        return SIMULATED.get(name) if match[3] else None
    return Personality(habits={name.replace("-", "_"): 1.0})


def probability(
    seed: int, model: str, who: Personality, question: str, known: Known | None
) -> float:
    """What a statistical model says to a question, at its own number of places."""
    if known is not None:
        level = quantile(min(max(known.chance, LEAST), 1 - LEAST))
    else:
        level = 0.9 * normal("unknown", seed, question)
    noise = who.shared * normal("shared", seed, question)
    noise += who.own * normal("own", seed, model, question)
    said = below(who.gain * (level + noise))
    edge = 10.0**-who.places
    return min(max(round(said, who.places), edge), 1 - edge)


def habit_of(who: Personality, *name: object) -> str:
    """The behaviour of one attempt: "answer", or one of the habits."""
    left = uniform("habit", *name)
    for habit, share in who.habits.items():
        if left < share:
            return habit
        left -= share
    return "answer"
