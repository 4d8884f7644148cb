"""When a Polymarket market is final, and that nothing else ever makes it so."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from beforehand.errors import FormatError, RemoteError
from beforehand.sources.http import Http
from beforehand.sources.market import Settlement
from beforehand.sources.polymarket import Polymarket
from beforehand.sources.polymarket_settlement import ClobWord, clob_word, judge
from tests.sources.shared_data import shared_file
from tests.sources.venue_rows import clob_market, condition, gamma, market
from tests.sources.venue_server import Answer, FixedClock, Reply, Server, talk

YES, NO, HALF = '["1", "0"]', '["0", "1"]', '["0.5", "0.5"]'


def ended(prices: str | None, oracle: str | None = "resolved", **changes: Any) -> dict[str, Any]:
    """A closed row with these prices and this word of the oracle."""
    return gamma(
        "1",
        **{
            "closed": True,
            "outcomePrices": prices,
            "umaResolutionStatus": oracle,
            "closedTime": "2026-06-24 09:10:57+00",
            "umaEndDate": "2026-06-24T08:00:00Z",
            **changes,
        },
    )


def settled(
    row: Any, clob: Any = None, *, by_list: Any = None, **options: Any
) -> tuple[Settlement, Server]:
    """The settlement of market 1 where Gamma has `row` (None: 404) and the CLOB has `clob`."""

    def answer(path: str, query: dict[str, str]) -> Any:
        match path.split("/")[1:]:
            case ["markets", "1"]:
                return Reply(status=404) if row is None else row
            case ["markets"]:
                return [] if by_list is None else by_list
            case ["markets", name] if name == condition("1"):
                return Reply(status=404) if clob is None else clob
        return Reply(status=404)

    return asked(answer, "1", **options)


def asked(answer: Answer, name: str, **options: Any) -> tuple[Settlement, Server]:
    async def work(server: Server, http: Http) -> Settlement:
        source = Polymarket(
            http, FixedClock(), gamma_url=server.url, clob_url=server.url, **options
        )
        return await source.settlement(name)

    return talk(answer, work)


@pytest.mark.parametrize(
    "prices, outcome, payout",
    [
        (YES, "yes", (1, 0)),
        (NO, "no", (0, 1)),
        (HALF, "void", (Decimal("0.5"), Decimal("0.5"))),
        ('["1.0", "0.00"]', "yes", (1, 0)),
    ],
)
def test_a_closed_resolved_market_with_a_payout_is_final(
    prices: str, outcome: str, payout: tuple[Decimal, Decimal]
) -> None:
    found, _ = settled(ended(prices))
    assert (found.state, found.outcome, found.payout) == ("final", outcome, payout)
    assert found.instant == "2026-06-24T08:00:00Z"
    assert found.market == "1"
    assert json.loads(found.evidence[0].data)["id"] == "1"


def test_v1_b18_an_even_payout_settles_as_void() -> None:
    found, _ = settled(ended(HALF), clob_market(market(), is_50_50_outcome=True, closed=True))
    assert (found.state, found.outcome) == ("final", "void")
    assert found.why == "closed, the oracle says resolved, and it pays YES 0.5, NO 0.5"
    assert found.problems == ()


@pytest.mark.parametrize("prices", [YES, NO, HALF])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("winner", ["", "Yes"])
@pytest.mark.parametrize("oracle", ["proposed", "disputed", "challenged"])
def test_v3_b19_a_proposed_or_disputed_market_is_never_settled(
    oracle: str, winner: str, closed: bool, prices: str
) -> None:
    row = ended(prices, oracle, closed=closed)
    found, _ = settled(row, clob_market(market(), winner))
    assert found.state == ("disputed" if oracle == "disputed" else "proposed")
    assert found.outcome is None and found.payout is None and found.why


def test_v3_a_past_dispute_that_ended_is_final() -> None:
    past = '["proposed", "disputed", "proposed", "disputed"]'
    found, _ = settled(ended(NO, "resolved", umaResolutionStatuses=past))
    assert found.outcome == "no"
    found, _ = settled(ended(NO, None, umaResolutionStatuses=past))
    assert found.state == "disputed"


def test_v4_b20_the_active_flag_and_the_end_date_play_no_part() -> None:
    late = {"active": True, "acceptingOrders": True, "endDate": "2030-01-01T00:00:00Z"}
    found, _ = settled(ended(NO, **late))
    assert found.outcome == "no"


def test_b12_a_market_past_its_end_date_stays_open_until_it_closes() -> None:
    found, _ = settled(gamma("1", endDate="2020-01-01T00:00:00Z", outcomePrices=NO))
    assert (found.state, found.outcome, found.why) == ("open", None, "not closed")
    found, _ = settled(ended(NO, endDate="2020-01-01T00:00:00Z"))
    assert found.outcome == "no"


@pytest.mark.parametrize(
    "prices",
    [
        '["0", "0"]',
        '["0.584", "0.416"]',
        '["0.97", "0.03"]',
        '["1", "1"]',
        '["0.9999996", "0.0000004"]',
        '["2", "-1"]',
        '["1"]',
        '["1", "0", "0"]',
        '["Yes", "No"]',
        '["NaN", "0"]',
        "[broken",
        '{"0": "1"}',
        None,
    ],
)
def test_v5_what_is_no_payout_settles_nothing(prices: str | None) -> None:
    for clob in (None, clob_market(market(), "Yes")):
        found, _ = settled(ended(prices), clob)
        assert (found.state, found.outcome, found.payout) == ("closed", None, None)
        assert "closed, and" in found.why


def test_v5_recorded_scalar_market_settles_nothing() -> None:
    path = shared_file(
        "local-only", "api_samples", "07_pm_gamma_closed_scalar_nonbinary_prices.json"
    )
    assert judge(json.loads(path.read_text()), ClobWord(), reviewed=True).state == "closed"


def test_closed_and_nobody_says_resolved_is_not_final() -> None:
    found, _ = settled(ended(YES, None))
    assert (found.state, found.why) == ("closed", "closed, and nobody says resolved")


def test_the_clobs_winner_settles_a_market_without_the_oracles_word() -> None:
    found, _ = settled(ended(NO, None), clob_market(market(), "No", accepting_orders=True))
    assert (found.outcome, found.payout) == ("no", (0, 1))
    assert "the CLOB names the winner" in found.why
    assert len(found.evidence) == 2


def test_two_endpoints_that_disagree_settle_nothing() -> None:
    found, _ = settled(ended(NO), clob_market(market(), "Yes"))
    assert found.state == "closed" and found.outcome is None
    assert found.problems == ("Gamma YES 0, NO 1, CLOB YES 1, NO 0",)


def test_a_market_from_before_the_oracle_needs_a_persons_review() -> None:
    row = ended(NO, None, umaResolutionStatuses="[]")
    assert settled(row)[0].state == "closed"
    found, _ = settled(row, reviewed=frozenset({"1"}))
    assert found.outcome == "no" and "reviewed by a person" in found.why
    # A half says nothing where nobody resolved: empty pools show it too.
    assert settled(ended(HALF, None), reviewed=frozenset({"1"}))[0].state == "closed"


def test_a_silent_clob_is_a_problem_and_holds_nothing_up() -> None:
    for clob in (None, Reply(b"<html>"), Reply(status=500)):
        found, _ = settled(ended(YES), clob)
        assert found.outcome == "yes"
        assert "the CLOB's word is missing" in found.problems[0]


def test_a_clob_that_contradicts_itself_has_no_word() -> None:
    of = market()
    twice = clob_market(of, "Yes")
    twice["tokens"][1]["winner"] = True
    assert clob_word(twice, of.yes_token).payout is None
    both = clob_market(of, "Yes", is_50_50_outcome=True)
    assert clob_word(both, of.yes_token).problems
    assert clob_word(clob_market(of, "Yes"), "5").problems
    for other in ([], {"closed": True}, {"closed": True, "tokens": "x"}, None):
        assert clob_word(other, of.yes_token).payout is None


def test_v6_the_result_of_a_sibling_is_never_used() -> None:
    sibling = ended(YES) | {"id": "2"}
    with pytest.raises(RemoteError, match="another market than asked for"):
        settled(sibling)
    found, _ = settled(None, by_list=[sibling])
    assert (found.state, found.outcome) == ("open", None)


def test_v7_a_changed_title_changes_nothing_and_no_title_is_searched() -> None:
    found, server = settled(ended(NO, question="A new title", slug="a-new-slug"))
    assert found.outcome == "no"
    assert not any("event" in path or "search" in path for path in server.paths())


def test_v10_v13_the_payout_of_yes_is_found_by_name() -> None:
    found, _ = settled(ended(YES, outcomes='["NO ", "yes"]'))
    assert (found.outcome, found.payout) == ("no", (0, 1))
    found, _ = settled(ended(YES, outcomes='["Up", "Down"]'))
    assert found.state == "closed" and "not exactly Yes and No" in found.why


def test_v23_an_empty_list_is_never_read_as_gone() -> None:
    found, server = settled(None)
    assert (found.state, found.outcome) == ("open", None)
    assert found.why == "not found under its id; that is not read as gone"
    assert found.problems
    assert server.asked[-1] == ("/markets", {"id": "1", "closed": "true"})


def test_v23_a_closed_market_is_found_among_the_closed() -> None:
    found, _ = settled(None, by_list=[{"id": "9"}, ended(YES)])
    assert found.outcome == "yes"
    assert len(found.evidence) >= 2


@pytest.mark.parametrize("name", ["will-it-rain", condition("1"), "", "1/../2", "١"])
def test_v14_another_kind_of_id_is_refused_before_anything_is_sent(name: str) -> None:
    with pytest.raises(FormatError, match="whole number"):
        asked(lambda *_: {}, name)


@pytest.mark.parametrize(
    "answer", [[], "x", {}, {"id": 2}, Reply(b"{"), Reply(b"\xff"), Reply(status=500)]
)
def test_an_answer_in_another_form_is_an_error_and_no_state(answer: Any) -> None:
    with pytest.raises(RemoteError):
        settled(answer)


def test_v50_the_actual_settlement_time_is_taken_and_one_bad_time_stops_nothing() -> None:
    early = ended(YES, endDate="2027-01-01T00:00:00Z")
    assert settled(early)[0].instant == "2026-06-24T08:00:00Z"
    assert settled(ended(YES, umaEndDate="soon"))[0].instant == "2026-06-24T09:10:57Z"
    assert settled(ended(YES, umaEndDate=None, closedTime="bad"))[0].instant is None


def test_the_flag_combinations_that_were_recorded() -> None:
    path = shared_file("local-only", "ctf", "gamma_markets.csv.gz")
    states: Counter[tuple[str, str | None]] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in csv.DictReader(lines):
            outcomes = json.loads(line["outcomes"] or "[]")
            row = {
                "closed": line["closed"],
                # Names do not matter here: the first of two is called yes.
                "outcomes": ["Yes", "No"] if len(outcomes) == 2 else outcomes,
                "outcomePrices": line["outcome_prices"],
                "umaResolutionStatus": line["uma_status"],
                "umaResolutionStatuses": line["uma_statuses"],
            }
            found = judge(row, ClobWord())
            states[found.state, found.outcome] += 1
            if line["closed"] == "False" or line["uma_status"] in ("proposed", "disputed"):
                assert found.outcome is None
    assert states["final", "no"] == 555 + 330 + 96 + 2 + 1
    assert states["final", "yes"] == 192 + 28 + 14
    assert states["disputed", None] == 3
    assert sum(states.values()) > 2000
