"""The pool a slot chose from, as bytes to be sealed before any model is called."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

from beforehand.errors import RuleError
from beforehand.records.codec import seal_text
from beforehand.sources.market import Listing, Market
from beforehand.sources.selection import Chosen, Rules, Selection

POOL_FORMAT = "beforehand-pool/1"


def pool_bytes(listing: Listing, selection: Selection, rules: Rules, now: str) -> bytes:
    """The pool as canonical JSON: every market, chosen or not, with its figures and its reason.

    RuleError while depth is still wanted: a provisional choice is never sealed.
    """
    if selection.wanted:
        raise RuleError(f"depth of {len(selection.wanted)} markets is wanted before a pool is made")
    content = {
        "format": POOL_FORMAT,
        "now": now,
        "rules": _plain(rules),
        "complete": listing.complete,
        "problems": list(listing.problems),
        "warnings": list(listing.warnings),
        "chosen": [_figures(each.market) | _measured(each) for each in selection.chosen],
        "dropped": [
            _figures(each.market) | {"reason": each.reason, "said": each.said}
            for each in selection.dropped
        ],
        "refused": [{"id": each.id, "reason": each.reason} for each in listing.refused],
    }
    return (seal_text(content) + "\n").encode("utf-8")


def _said(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


def _plain(rules: Rules) -> dict[str, Any]:
    given = {field.name: getattr(rules, field.name) for field in fields(rules)}
    return {
        key: _said(value)
        if isinstance(value, Decimal)
        else list(value)
        if isinstance(value, tuple)
        else value
        for key, value in given.items()
        if value is not None
    }


def _figures(market: Market) -> dict[str, Any]:
    decimals = {
        name: _said(getattr(market, name))
        # A fee of null is unknown, which is not the same as none.
        for name in ("bid", "ask", "volume", "volume_24h", "liquidity", "fee_rate")
    }
    texts = {
        name: getattr(market, name)
        for name in ("venue", "id", "event", "topic", "question", "closes", "expected", "event_at")
    }
    return texts | decimals | {"fee_exponent": market.fee_exponent, "tags": list(market.tags)}


def _measured(chosen: Chosen) -> dict[str, Any]:
    depth = chosen.depth
    if depth is None:
        return {"crowd": None}
    return {
        "crowd": _said(chosen.crowd),
        "depth_bid": _said(depth.bid),
        "depth_ask": _said(depth.ask),
        "depth_read_at": depth.read_at,
        "depth_notes": list(depth.notes),
    }
