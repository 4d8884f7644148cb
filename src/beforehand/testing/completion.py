"""Chat completions and the list of models, as a router of many providers writes them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from beforehand.testing.chance import digest
from beforehand.testing.personalities import SIMULATED, personality_of
from beforehand.testing.replies import BEHAVIOURS, Ask, Reply

PROVIDER = "Simulated"
# Not the time: the same attempt gives the same bytes.
CREATED = 1767225600


def completion_tokens(reply: Reply) -> int:
    """About how many tokens a reply has."""
    return (len(reply.content or "") + len(reply.reasoning or "")) // 4 + 12


def completion(
    ask: Ask, reply: Reply, name: str, tokens: tuple[int, int], cost: Decimal
) -> dict[str, Any]:
    """A chat completion as a router of many providers writes it."""
    if reply.whole is not None:
        return dict(reply.whole)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": reply.content,
        "refusal": reply.refusal,
        "reasoning": reply.reasoning,
    }
    if reply.citations:
        message["annotations"] = [
            {"type": "url_citation", "url_citation": {"url": url, "title": "A page", "content": ""}}
            for url in reply.citations
        ]
    found: dict[str, Any] = {
        "id": "gen-" + digest("reply", ask.model, name).hex()[:24],
        "provider": PROVIDER,
        "model": reply.served or ask.model,
        "object": "chat.completion",
        "created": CREATED,
        "system_fingerprint": "fp_" + digest("print", ask.model).hex()[:10],
        "choices": [
            {
                "index": 0,
                "logprobs": None,
                "finish_reason": reply.finish,
                "native_finish_reason": reply.finish,
                "message": message,
            }
        ],
    }
    if reply.usage:
        found["usage"] = {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
            # At most eight places, so the shortest text of the float is the cost itself.
            "cost": float(cost),
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }
    return found


def models_list() -> dict[str, Any]:
    """The list of models with their prices for one token."""
    names = [f"sim/{name}-1" for name in SIMULATED]
    names += ["script/" + name.replace("_", "-") for name in BEHAVIOURS]
    rows = []
    for name in names:
        who = personality_of(name)
        if who is not None:
            prices = {
                "prompt": f"{who.prompt_price / 1_000_000:f}",
                "completion": f"{who.completion_price / 1_000_000:f}",
            }
            rows.append(
                {
                    "id": name,
                    "object": "model",
                    "created": CREATED,
                    "owned_by": "simulated",
                    "pricing": prices,
                }
            )
    return {"object": "list", "data": rows}
