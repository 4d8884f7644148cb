"""What Polymarket lists: every page, each market once, every refusal counted with its reason."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from beforehand.errors import RemoteError
from beforehand.sources.http import Http, HttpRules
from beforehand.sources.http_body import decode_json
from beforehand.sources.market import Listing, Refused
from beforehand.sources.polymarket import Polymarket
from beforehand.sources.polymarket_market import read_market
from beforehand.sources.polymarket_negrisk import event_sums
from tests.sources.venue_rows import Gamma, gamma, market, token
from tests.sources.venue_server import (
    FAST,
    RECORDED,
    Answer,
    FixedClock,
    Reply,
    Server,
    recorded,
    talk,
)


def listed(answer: Answer, *, rules: HttpRules = FAST, **options: Any) -> tuple[Listing, Server]:
    async def work(server: Server, http: Http) -> Listing:
        source = Polymarket(
            http, FixedClock(), gamma_url=server.url, clob_url=server.url, **options
        )
        return await source.listing()

    return talk(answer, work, rules=rules)


def why(**changes: Any) -> str:
    """Why a made row with these changes is refused."""
    found = read_market(gamma("1", **changes))
    assert isinstance(found, Refused), found
    return found.reason


@pytest.mark.parametrize(
    ("closes", "instant"),
    [
        # The last minute of an Eastern day is the next day's in UTC.
        ("2026-01-05T23:59:00-05:00", "2026-01-06T04:59:00Z"),
        ("2026-07-05T23:59:00-04:00", "2026-07-06T03:59:00Z"),
        ("2026-01-06T00:30:00+09:00", "2026-01-05T15:30:00Z"),
        ("2026-01-05", ""),
        ("2026-01-05T23:59:00", ""),
    ],
)
def test_b13_a_market_s_end_is_an_instant_and_never_a_calendar_label(
    closes: str, instant: str
) -> None:
    assert market("1", endDate=closes).closes == instant


def test_a_recorded_page_is_read_whole() -> None:
    rows = recorded("gamma_markets_open.json")
    found, _ = listed(Gamma({"markets": rows, "events": []}))
    assert found.complete and not found.problems and not found.refused
    first = found.markets[0]
    assert (first.id, first.event, first.closes) == ("540817", "23784", "2026-07-31T12:00:00Z")
    assert (first.bid, first.ask, first.last) == (Decimal("0.5"), Decimal("0.52"), Decimal("0.5"))
    assert first.volume_24h == Decimal("2502.2865490000004")
    assert first.yes_token.startswith("980224902696924")
    assert first.no_token.startswith("538315530618830")
    assert first.fee_rate == Decimal("0.05") and first.fee_exponent == 1
    assert not first.neg_risk
    assert found.evidence[0].data.startswith(b'{"markets"')


def test_v19_v20_every_page_is_read_by_key() -> None:
    rows = [gamma(str(n)) for n in range(1, 1201)]
    found, server = listed(Gamma({"markets": rows}))
    assert [each.id for each in found.markets] == [str(n) for n in range(1, 1201)]
    assert found.complete
    assert len(found.evidence) == 3
    assert server.paths() == ["/markets/keyset"] * 3
    assert [query.get("after_cursor") for _, query in server.asked] == [None, "c500", "c1000"]
    assert not any("offset" in query for _, query in server.asked)


def test_v19_a_full_last_page_without_a_cursor_is_not_trusted() -> None:
    found, _ = listed(lambda *_: {"markets": [gamma(str(n)) for n in range(500)]})
    assert not found.complete
    assert "the last page is full" in found.problems[0]
    assert len(found.markets) == 500


def test_v20_a_market_on_two_pages_stands_once() -> None:
    def moving(path: str, query: dict[str, str]) -> Any:
        if "after_cursor" not in query:
            return {"markets": [gamma("1"), gamma("2")], "next_cursor": "a"}
        return {"markets": [gamma("2"), gamma("3")]}

    found, _ = listed(moving)
    assert [each.id for each in found.markets] == ["1", "2", "3"]
    assert found.complete


def test_v21_a_repeated_page_is_an_error_and_ends_the_walk() -> None:
    counted = Counter[str]()

    def stuck(path: str, query: dict[str, str]) -> Any:
        counted[path] += 1
        return {"markets": [gamma("1"), gamma("2")], "next_cursor": f"c{counted[path]}"}

    found, _ = listed(stuck)
    assert counted["/markets/keyset"] == 2
    assert not found.complete
    assert "repeats page 1" in found.problems[0]
    assert len(found.markets) == 2


def test_v25_a_cursor_that_comes_again_ends_the_walk() -> None:
    names = iter(range(1, 100))

    def circle(path: str, query: dict[str, str]) -> Any:
        return {"markets": [gamma(str(next(names)))], "next_cursor": "same"}

    found, server = listed(circle)
    assert len(server.asked) == 2
    assert not found.complete and "followed before" in found.problems[0]


def test_v25_pages_without_rows_end_the_walk() -> None:
    cursors = iter(range(1, 100))
    found, server = listed(lambda *_: {"markets": [], "next_cursor": f"c{next(cursors)}"})
    assert len(server.asked) == 3
    assert not found.complete


def test_v22_an_ignored_sort_key_is_said() -> None:
    rows = [gamma("1", volume24hr=1), gamma("2", volume24hr=9)]
    found, server = listed(Gamma({"markets": rows}), order="volume24hr")
    assert server.asked[0][1]["order"] == "volume24hr"
    assert "not sorted by 'volume24hr'" in found.problems[0]
    sorted_found, _ = listed(Gamma({"markets": rows[::-1]}), order="volume24hr")
    assert not sorted_found.problems
    snake, _ = listed(Gamma({"markets": rows}), order="volume_24hr")
    assert "no row has the field" in snake.problems[0]


def test_v16_every_dropped_row_is_counted_with_its_reason() -> None:
    rows: list[Any] = [
        gamma("1"),
        gamma("2", outcomes='["Up", "Down"]'),
        gamma("3", clobTokenIds=None),
        gamma("4", outcomes="[broken"),
        {"question": "no id"},
        "no object",
        17,
    ]
    found, _ = listed(Gamma({"markets": rows}))
    assert [each.id for each in found.markets] == ["1"]
    assert len(found.markets) + len(found.refused) == len(rows)
    assert all(each.id and each.reason for each in found.refused)


def test_v16_a_changed_form_gives_reasons_and_never_silence() -> None:
    rows = [{"marketId": "1", "title": "renamed"}, {"id": "2", "state": "OPEN"}]
    found, _ = listed(Gamma({"markets": rows}))
    assert not found.markets
    assert [each.reason for each in found.refused] == [
        "no id",
        "no closed flag; the form of a market changed",
    ]


def test_v17_placeholders_are_refused_with_their_reason() -> None:
    undeployed = {"conditionId": "", "active": False, "outcomePrices": None, "clobTokenIds": None}
    assert "no condition id" in why(**undeployed)
    assert "not active" in why(active=False)
    assert "catch-all" in why(negRiskOther=True, outcomePrices=None)
    assert why(enableOrderBook=False) == "no order book"
    assert why(closed=True) == "closed"


def test_v10_b21_labels_are_matched_without_blanks_and_case() -> None:
    for outcomes in ('["YES", "NO"]', '["Yes ", " no"]', ["yes", "No"]):
        assert market("1", outcomes=outcomes).yes_token == token("1", "yes")


def test_v13_yes_is_found_by_name_and_never_by_place() -> None:
    turned = market("1", outcomes='["No", "Yes"]')
    assert turned.yes_token == token("1", "no")
    assert turned.no_token == token("1", "yes")


def test_v15_other_outcomes_are_refused_and_never_called_yes() -> None:
    row = recorded("gamma_market_up_down.json")
    found = read_market(row)
    assert isinstance(found, Refused)
    assert found.reason == "outcomes are not exactly Yes and No: Up, Down"
    for outcomes in ('["Yes"]', '["Yes", "No", "Maybe"]', '["Yes", "Yes"]', '["Rams", "No"]'):
        assert "not exactly Yes and No" in why(outcomes=outcomes)


@pytest.mark.parametrize(
    ("outcomes", "eligible"),
    [
        ('["Yes", "No"]', True),
        ('["No", "Yes"]', True),
        ('["Yes"]', False),
        ('["Yes", "No", "Draw"]', False),
        ('["Yes", "Yes"]', False),
        ('["Over", "Under"]', False),
        ('["Lakers", "Yes"]', False),
        ("[]", False),
        ("null", False),
    ],
)
def test_m2_a_market_is_eligible_with_exactly_yes_and_no(outcomes: str, eligible: bool) -> None:
    found = read_market(gamma("1", outcomes=outcomes))
    assert isinstance(found, Refused) is not eligible


def test_v14_ids_that_are_no_tokens_are_refused() -> None:
    for tokens in ('["0x12", "0x13"]', '["a-slug", "b"]', '["5", "5"]', '["5"]', "null"):
        assert why(clobTokenIds=tokens) == "not two token ids"
    assert why(conditionId="a-slug") == "its condition id is none"


def test_v11_b22_a_missing_price_is_none_and_never_a_half() -> None:
    for missing in ({"bestBid": None, "bestAsk": None}, {"bestBid": 0, "bestAsk": 1}):
        found = market("1", **missing, lastTradePrice=0, outcomePrices='["0.5", "0.5"]')
        assert (found.bid, found.ask, found.last) == (None, None, None)


def test_v35_fees_come_from_the_markets_own_schedule() -> None:
    row = decode_json((RECORDED / "gamma_market_up_down.json").read_bytes())
    crypto = read_market({**row, "outcomes": '["Yes","No"]'})
    assert not isinstance(crypto, Refused)
    assert (crypto.fee_rate, crypto.fee_exponent) == (Decimal("0.25"), 2)
    assert market("1", feesEnabled=False).fee_rate == 0
    for unknown in ({"feesEnabled": None}, {"feeSchedule": None}, {"feeSchedule": {"rate": "x"}}):
        assert market("1", **unknown).fee_rate is None


def test_v47_b12_the_end_date_is_a_hint_and_drops_nothing() -> None:
    rows = [gamma("1", endDate="2020-01-01T00:00:00Z"), gamma("2", endDate=None)]
    found, _ = listed(Gamma({"markets": rows}))
    assert [each.closes for each in found.markets] == ["2020-01-01T00:00:00Z", ""]


def test_times_are_utc_and_a_day_alone_is_no_time() -> None:
    found = market("1", endDate="2026-07-31", gameStartTime="2026-07-30 19:00:00+00")
    assert (found.closes, found.event_at) == ("", "2026-07-30T19:00:00Z")


def test_the_category_is_the_events_and_asked_for_where_a_row_lacks_it() -> None:
    rows = [gamma("1", events=[{"id": "e1"}]), gamma("2", events=[{"id": "e2"}])]
    events = [
        {"id": "e1", "slug": "one", "tags": [{"slug": "world"}, {"slug": "sports"}]},
        {"id": "e2", "category": "Crypto"},
    ]
    found, server = listed(Gamma({"markets": rows, "events": events}))
    assert [each.topic for each in found.markets] == ["sports", "crypto"]
    assert found.markets[0].tags == ("world", "sports")
    assert server.paths() == ["/markets/keyset", "/events/keyset"]
    assert len(found.evidence) == 2


def test_missing_categories_are_said() -> None:
    found, _ = listed(Gamma({"markets": [gamma("1", events=[{"id": "e1"}])]}))
    assert [each.topic for each in found.markets] == ["other"]
    assert not found.complete
    assert "categories of events are missing" in found.problems[0]


def test_v26_a_page_that_fails_keeps_what_came_before_it() -> None:
    def breaks(path: str, query: dict[str, str]) -> Any:
        if "after_cursor" in query:
            return Reply(status=500)
        return {"markets": [gamma("1")], "next_cursor": "c1"}

    found, server = listed(breaks)
    assert [each.id for each in found.markets] == ["1"]
    assert not found.complete
    assert "page 2" in found.problems[0] and "status 500" in found.problems[0]
    assert len(server.asked) == 1 + FAST.attempts


@pytest.mark.parametrize(
    "answer", [[], {"data": []}, {"markets": {}}, Reply(b"<html>"), Reply(b'{"markets": [')]
)
def test_a_first_page_in_another_form_is_an_error(answer: Any) -> None:
    with pytest.raises(RemoteError):
        listed(lambda *_: answer)


def test_neg_risk_sums_are_reported_and_never_normalised() -> None:
    event = [{"id": "e", "slug": "e", "tags": [{"slug": "politics"}]}]
    rows = [
        gamma(str(n), negRisk=True, events=event, bestBid=bid, bestAsk=ask)
        for n, (bid, ask) in enumerate([(0.5, 0.52), (0.4, 0.42), (0.2, 0.22)])
    ]
    found, _ = listed(Gamma({"markets": rows}))
    assert found.warnings == ("event e: the 3 YES prices sum to 1.13 (bids 1.1, asks 1.16)",)
    assert [each.bid for each in found.markets] == [Decimal("0.5"), Decimal("0.4"), Decimal("0.2")]
    # A group that is no negative-risk event, or has an unpriced member, has no sum.
    placeholder = gamma("9", negRisk=True, events=event, active=False)
    assert listed(Gamma({"markets": [*rows, placeholder]}))[0].warnings == ()
    assert event_sums([market("1"), market("2")]) == []


def test_health_warnings_of_the_venue_are_in_the_listing() -> None:
    page = b'{"markets": []}'
    headers = {"Sunset": "Fri, 01 May 2026 00:00:00 GMT"}
    found, _ = listed(lambda *_: Reply(page, headers=headers))
    assert "announces its end" in found.warnings[0]


def test_a_hostile_text_stays_text() -> None:
    found = market("1", question="x\ud800y", description="\x00\x1b[31m" + "z" * 100_000)
    assert found.question == "x?y"
    found.description.encode("utf-8")
