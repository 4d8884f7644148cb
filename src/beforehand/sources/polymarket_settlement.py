"""How a Polymarket market stands, judged from its two records; prices alone never suffice.

Final is what is closed, and has resolved (the oracle says resolved, or the
CLOB names a winner, or a person has reviewed a market from before the
oracle), and whose prices are a payout: (1, 0), (0, 1) or (0.5, 0.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from beforehand.sources.polymarket_market import yes_index
from beforehand.sources.venue_fields import Row, flag, instant, number, text, texts

_PROPOSED = ("proposed", "challenged", "reproposed", "posed", "requested")
_HALF = Decimal("0.5")
_PAYOUTS = {
    (Decimal(1), Decimal(0)): "yes",
    (Decimal(0), Decimal(1)): "no",
    (_HALF, _HALF): "void",
}


@dataclass(frozen=True)
class Judgement:
    """A state, what it rests on, and with "final" the outcome and payout of YES and NO."""

    state: str
    why: str
    outcome: str | None = None
    payout: tuple[Decimal, Decimal] | None = None
    instant: str | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClobWord:
    """What the CLOB's own record says: the payout of YES and NO that its winner means, or None."""

    payout: tuple[Decimal, Decimal] | None = None
    problems: tuple[str, ...] = ()


def clob_word(content: Any, yes_token: str) -> ClobWord:
    """The CLOB's word on a market: one winner among exactly two tokens, or an even split.

    >>> tokens = [{"token_id": "1", "winner": False}, {"token_id": "2", "winner": True}]
    >>> clob_word({"closed": True, "tokens": tokens}, "1").payout
    (Decimal('0'), Decimal('1'))
    """
    if not isinstance(content, dict) or flag(content.get("closed")) is not True:
        return ClobWord()
    tokens = content.get("tokens")
    rows = [each for each in tokens if isinstance(each, dict)] if isinstance(tokens, list) else []
    if len(rows) != 2 or yes_token not in {text(each.get("token_id")) for each in rows}:
        return ClobWord(problems=("the CLOB's tokens are not this market's",))
    winners = [text(each.get("token_id")) for each in rows if flag(each.get("winner")) is True]
    if flag(content.get("is_50_50_outcome")) is True:
        if winners and len(winners) != 2:
            return ClobWord(problems=("the CLOB names an even split and a winner",))
        return ClobWord((_HALF, _HALF))
    if len(winners) != 1:
        return ClobWord(problems=("the CLOB names two winners",) if winners else ())
    yes = Decimal(int(winners[0] == yes_token))
    return ClobWord((yes, 1 - yes))


def yes_token_of(row: Row) -> str:
    """The token of YES in a row of Gamma; "" where the row is no Yes/No market with two tokens."""
    place, tokens = yes_index(texts(row.get("outcomes"))), texts(row.get("clobTokenIds")) or ()
    return tokens[place] if place is not None and len(tokens) == 2 else ""


def judge(row: Row, clob: ClobWord, *, reviewed: bool = False) -> Judgement:
    """The state of the market in a row of Gamma, with the CLOB's word on it.

    `active`, the end date and whether orders are still accepted play no part:
    all three lag or lie. `reviewed` says that a person looked at this market,
    which settles one without any word of oracle or CLOB.

    >>> row = {"closed": True, "outcomes": '["Yes", "No"]', "outcomePrices": '["0", "0"]',
    ...        "umaResolutionStatus": "resolved"}
    >>> judge(row, ClobWord()).why
    'closed, and its prices 0, 0 are no payout'
    """
    oracle = oracle_state(row)
    problems = clob.problems
    if oracle == "disputed":
        return Judgement("disputed", "the proposed outcome is in dispute", problems=problems)
    if oracle in _PROPOSED:
        return Judgement("proposed", f"the oracle's last word is {oracle!r}", problems=problems)
    if flag(row.get("closed")) is not True:
        return Judgement("open", _open_words(oracle), problems=problems)
    payout, wrong = payout_of(row)
    if payout is None:
        return Judgement("closed", f"closed, and {wrong}", problems=problems)
    if clob.payout is not None and clob.payout != payout:
        return Judgement(
            "closed",
            "closed, and Gamma and CLOB name different payouts",
            problems=(*problems, f"Gamma {_said(payout)}, CLOB {_said(clob.payout)}"),
        )
    if oracle == "resolved":
        rests = "the oracle says resolved"
    elif clob.payout is not None:
        rests = "the CLOB names the winner"
    elif reviewed and payout != (_HALF, _HALF):
        rests = "from before the oracle, reviewed by a person"
    else:
        return Judgement("closed", "closed, and nobody says resolved", problems=problems)
    return Judgement(
        "final",
        f"closed, {rests}, and it pays {_said(payout)}",
        _PAYOUTS[payout],
        payout,
        instant(row.get("umaEndDate")) or instant(row.get("closedTime")) or None,
        problems,
    )


def oracle_state(row: Row) -> str:
    """The oracle's last word, "" for none. The history counts only where the state is absent.

    >>> oracle_state({"umaResolutionStatus": "resolved", "umaResolutionStatuses": '["disputed"]'})
    'resolved'
    >>> oracle_state({"umaResolutionStatuses": '["proposed", "disputed"]'})
    'disputed'
    """
    now = text(row.get("umaResolutionStatus")).lower()
    history = texts(row.get("umaResolutionStatuses")) or ()
    return now or (history[-1].strip().lower() if history else "")


def payout_of(row: Row) -> tuple[tuple[Decimal, Decimal] | None, str]:
    """What YES and NO were paid, or None and why the prices are no payout.

    Never the larger of two prices: (0, 0) and (0.58, 0.42) name no winner.
    """
    place = yes_index(texts(row.get("outcomes")))
    if place is None:
        return None, "its outcomes are not exactly Yes and No"
    given = texts(row.get("outcomePrices"))
    prices = tuple(number(each) for each in given or ())
    if given is None or len(prices) != 2:
        return None, "it has no two prices"
    yes, no = prices[place], prices[1 - place]
    if yes is None or no is None or (yes, no) not in _PAYOUTS:
        return None, f"its prices {', '.join(given)[:90]} are no payout"
    return (yes, no), ""


def _said(payout: tuple[Decimal, Decimal]) -> str:
    return f"YES {payout[0].normalize():f}, NO {payout[1].normalize():f}"


def _open_words(oracle: str) -> str:
    return f"not closed, though the oracle says {oracle!r}" if oracle else "not closed"
