"""Answers with any JSON in any field: refused with a reason or said as an error, never a crash."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from beforehand.errors import RemoteError
from beforehand.sources import kalshi_book, kalshi_market, kalshi_settlement, polymarket_book
from beforehand.sources.http_body import decode_json
from beforehand.sources.market import Depth, Market, Refused
from beforehand.sources.polymarket_market import event_info, read_market
from beforehand.sources.polymarket_settlement import ClobWord, clob_word, judge
from beforehand.sources.venue_fields import instant, unix_instant
from tests.sources.test_kalshi import kalshi
from tests.sources.venue_rows import book, clob_market, gamma, market
from tests.sources.venue_server import packed

OF = market()
numbers = st.one_of(st.integers(), st.decimals(allow_nan=False, allow_infinity=False))
near = st.sampled_from(
    [
        *("", "0", "1", "0.5", "-1", "1e5", "NaN", "true", '["1"]', '["0.5","0.5"]', "[", "{}"),
        *("Yes", "resolved", "disputed", "finalized", "scalar", "2026-06-24T08:00:00Z", "9" * 400),
    ]
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=8), near),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


def changed(row: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A good row, as decoded JSON, with any value in some of its fields or some of them away."""
    good = decode_json(packed(row))
    edits = st.dictionaries(st.sampled_from(sorted(good)), values, max_size=4)
    gone = st.sets(st.sampled_from(sorted(good)), max_size=2)
    return st.builds(
        lambda edit, away: {k: v for k, v in (good | edit).items() if k not in away}, edits, gone
    )


def check(depth: Depth) -> None:
    """Every level is a price strictly between 0 and 1, sorted, with a size."""
    for side, turn in ((depth.bids, -1), (depth.asks, 1)):
        prices = [turn * each.price for each in side]
        assert prices == sorted(prices)
        assert all(0 < each.price < 1 and each.size > 0 for each in side)


@given(changed(gamma("1")))
def test_any_row_of_gamma_is_a_market_or_a_reason(row: dict[str, Any]) -> None:
    found = read_market(row)
    if isinstance(found, Refused):
        assert found.reason
        return
    assert isinstance(found, Market) and found.yes_token != found.no_token
    for price in (found.bid, found.ask, found.last):
        assert price is None or (isinstance(price, Decimal) and 0 < price < 1)
    assert found.question.encode() and found.event


ENDED = gamma("1", closed=True, outcomePrices='["1", "0"]', umaResolutionStatus="resolved")


@given(changed(ENDED), changed(clob_market(OF, "Yes")))
def test_any_ending_is_a_state_and_final_only_with_a_payout(
    row: dict[str, Any], clob: dict[str, Any]
) -> None:
    word = clob_word(clob, OF.yes_token)
    for found in (judge(row, word), judge(row, ClobWord(), reviewed=True)):
        assert found.state in ("open", "closed", "proposed", "disputed", "final") and found.why
        assert (found.state == "final") == (found.outcome is not None)
        if found.payout is not None:
            assert found.payout[0] + found.payout[1] == 1
            assert row["closed"] is True or str(row["closed"]).lower() == "true"


@given(changed(book(OF, [("0.4", "5")], [("0.6", "7")])))
def test_any_book_is_depth_or_an_error(content: dict[str, Any]) -> None:
    with suppress(RemoteError):
        check(polymarket_book.read_book(content, OF, "here"))


@given(values)
def test_any_json_at_all_is_no_book(content: Any) -> None:
    with suppress(RemoteError):
        check(polymarket_book.read_book(content, OF, "here"))
    with suppress(RemoteError):
        check(kalshi_book.read_book(content, "T", "here"))
    polymarket_book.token_problem(content, OF)
    clob_word(content, OF.yes_token)
    event_info(content if isinstance(content, dict) else {"tags": content, "category": content})


@given(st.sampled_from(["orderbook", "orderbook_fp"]), st.lists(values, max_size=4), values)
def test_any_book_of_kalshi_is_depth_or_an_error(name: str, yes: list[Any], no: Any) -> None:
    for suffix in ("", "_dollars"):
        content = {name: {f"yes{suffix}": yes, f"no{suffix}": no}}
        with suppress(RemoteError):
            check(kalshi_book.read_book(content, "T", "here"))


@given(changed(kalshi()), changed(kalshi(status="finalized", result="scalar")))
def test_any_row_of_kalshi_is_a_market_or_a_reason(
    row: dict[str, Any], ended: dict[str, Any]
) -> None:
    found = kalshi_market.read_market(row, {"event_ticker": "E"}, "here")
    assert isinstance(found, Market) or found.reason
    settled = kalshi_settlement.judge(ended)
    assert (settled.state == "final") == (settled.outcome is not None)
    assert settled.payout is None or sum(settled.payout) == 1


@given(values)
def test_any_time_is_an_instant_or_none(value: Any) -> None:
    assert instant(value) == "" or instant(value).endswith("Z")
    assert unix_instant(value) == "" or unix_instant(value).endswith("Z")
