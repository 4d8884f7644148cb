"""Which markets a slot asks: every rule, every reason, the same bytes every time."""

from __future__ import annotations

import json
import random
import tomllib
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from typing import Any

import pytest

from beforehand.errors import RuleError
from beforehand.sources.market import Depth, Level, Listing, Market, Refused
from beforehand.sources.selection import Rules, Selection, select, shortlist
from beforehand.sources.selection_pool import pool_bytes

NOW = "2026-06-21T10:00:00Z"
BLIND = Rules(
    order="volume_24h",
    markets=12,
    per_event=1,
    per_topic=3,
    min_hours=24,
    max_hours=192,
    price_low=Decimal("0.05"),
    price_high=Decimal("0.95"),
    max_spread=Decimal("0.10"),
)


def market(name: str, **changes: Any) -> Market:
    """An eligible market in an event and a topic of its own."""
    made = Market(
        venue="polymarket",
        id=name,
        event=f"e{name}",
        topic=f"t{name}",
        question=f"Will {name} happen?",
        description="rules",
        yes_token="1" * 70,
        closes="2026-06-25T10:00:00Z",
        accepting=True,
        closed=False,
        bid=Decimal("0.40"),
        ask=Decimal("0.44"),
        volume=Decimal(900),
        volume_24h=Decimal(100),
    )
    return replace(made, **changes)


def depth(name: str, bid: str | None = "0.40", ask: str | None = "0.44", **changes: Any) -> Depth:
    made = Depth(
        market=name,
        read_at=NOW,
        bids=(Level(Decimal(bid), Decimal(5)),) if bid else (),
        asks=(Level(Decimal(ask), Decimal(5)),) if ask else (),
        last=None,
        evidence=(),
    )
    return replace(made, **changes)


def chosen(selection: Selection) -> list[str]:
    return [each.market.id for each in selection.chosen]


def reasons(selection: Selection) -> dict[str, str]:
    return {each.market.id: each.reason for each in selection.dropped}


def dropped(rules: Rules = BLIND, **changes: Any) -> tuple[str, str] | None:
    """Why the listing alone drops a market with these changes."""
    found = shortlist(Listing((market("1", **changes),)), rules, NOW).dropped
    return (found[0].reason, found[0].said) if found else None


def read_until_settled(
    listing: Listing, rules: Rules, depths: dict[str, Depth | str]
) -> tuple[Selection, list[str]]:
    """As a slot does it: read what is wanted until nothing is; and what was read."""
    have: dict[str, Depth | str] = {}
    read: list[str] = []
    while True:
        found = select(listing, have, rules, NOW)
        if found.settled:
            return found, read
        read += found.wanted
        have |= {name: depths[name] for name in found.wanted}


def test_the_rules_of_the_blind_league() -> None:
    text = files("beforehand.leagues").joinpath("blind.toml").read_text(encoding="utf-8")
    # A floor of volume is what this league adds: the standard's requirement 9 asks for one.
    expected = replace(BLIND, min_volume_24h=Decimal(500))
    assert Rules.of(tomllib.loads(text)["questions"]["select"]) == expected


@pytest.mark.parametrize("name", ["blind", "depth", "arena"])
def test_the_rules_of_every_shipped_league_are_known(name: str) -> None:
    text = files("beforehand.leagues").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    assert Rules.of(tomllib.loads(text)["questions"]["select"]).markets


def test_a_rule_that_is_not_known_is_refused() -> None:
    for wrong in ({"order": "volume", "markets": 1, "luck": 3}, {"order": "luck", "markets": 1}):
        with pytest.raises(RuleError, match=r"luck|order"):
            Rules.of(wrong)


def test_an_eligible_market_is_kept() -> None:
    assert dropped() is None


@pytest.mark.parametrize(
    "changes, reason, said",
    [
        ({"closed": True}, "not_trading", "closed"),
        ({"accepting": False}, "not_trading", "takes no orders"),
        ({"event_at": "2026-06-21T09:00:00Z"}, "event_begun", "began 2026-06-21T09:00:00Z"),
        ({"closes": ""}, "horizon", "names no end"),
        ({"closes": "2026-06-22T09:59:59Z"}, "horizon", "under 24 hours"),
        ({"closes": "2026-06-29T10:00:01Z"}, "horizon", "over 192 hours"),
        ({"closes": "2020-01-01T00:00:00Z"}, "horizon", "under 24 hours"),
        ({"bid": None}, "one_sided", "no bid"),
        ({"ask": None}, "one_sided", "no ask"),
        ({"ask": Decimal("0.51")}, "spread", "0.11, most is 0.10"),
        ({"bid": Decimal("0.02"), "ask": Decimal("0.06")}, "price", "middle 0.04"),
        ({"bid": Decimal("0.95"), "ask": Decimal("0.97")}, "price", "middle 0.96"),
    ],
)
def test_the_listing_drops_with_a_reason(changes: dict[str, Any], reason: str, said: str) -> None:
    found = dropped(**changes)
    assert found is not None
    assert found[0] == reason and said in found[1]


@pytest.mark.parametrize(
    "changes",
    [
        {"closes": "2026-06-22T10:00:00Z"},
        {"closes": "2026-06-29T10:00:00Z"},
        {"bid": Decimal("0.04"), "ask": Decimal("0.06")},
        {"bid": Decimal("0.94"), "ask": Decimal("0.96")},
        {"ask": Decimal("0.50")},
        {"event_at": "2026-06-24T19:00:00Z"},
    ],
)
def test_the_edges_belong_to_it(changes: dict[str, Any]) -> None:
    assert dropped(**changes) is None


def test_v51_the_least_horizon_counts_from_the_earliest_possible_end() -> None:
    # The venue closes in a fortnight, and expects the result tonight.
    found = dropped(closes="2026-06-25T10:00:00Z", expected="2026-06-21T20:00:00Z")
    assert found == ("horizon", "may end 2026-06-21T20:00:00Z, under 24 hours from now")
    assert dropped(closes="2026-07-10T10:00:00Z", expected="2026-06-24T10:00:00Z") is None


def test_v49_instants_are_compared_and_never_calendar_days() -> None:
    at_midnight = "2026-06-22T04:00:00Z"
    assert dropped(replace(BLIND, min_hours=18), closes=at_midnight) is None
    assert dropped(replace(BLIND, min_hours=19), closes=at_midnight) is not None


def test_tags_and_topics_that_are_out() -> None:
    rules = replace(BLIND, tags_out=("Sports", "weather"))
    assert dropped(rules, tags=("world", "sports ")) == ("tag", "sports ")
    assert dropped(rules, topic="Weather") == ("tag", "Weather")
    assert dropped(rules, tags=("esports",)) is None


def test_the_least_volume() -> None:
    rules = replace(BLIND, min_volume_24h=Decimal(500))
    assert dropped(rules) == ("volume", "100 in 24 hours, least is 500")
    assert dropped(rules, volume_24h=None) == ("volume", "volume of 24 hours is not given")
    assert dropped(rules, volume_24h=Decimal(500)) is None


def test_without_price_rules_no_quote_is_needed() -> None:
    rules = Rules("volume", 5, max_hours=360, needs=("depth", "headlines"))
    assert dropped(rules, bid=None, ask=None) is None
    listing = Listing((market("1", bid=None), market("2", bid=None)))
    found = select(listing, {"1": depth("1", None, "0.9"), "2": depth("2", None, None)}, rules, NOW)
    assert chosen(found) == ["1"] and found.chosen[0].crowd is None
    assert reasons(found) == {"2": "depth_unfit"}


def test_the_largest_come_first_and_ties_go_by_id() -> None:
    listing = Listing(
        (
            market("d", volume_24h=None),
            market("c", volume_24h=Decimal("100.0")),
            market("b", volume_24h=Decimal(100)),
            market("a", volume_24h=Decimal("9.9")),
        )
    )
    assert [each.id for each in shortlist(listing, BLIND, NOW).markets] == ["b", "c", "a", "d"]


def test_caps_for_event_topic_and_all() -> None:
    listing = Listing(
        tuple(
            market(f"{n:02}", volume_24h=Decimal(1000 - n), event=event, topic=topic)
            for n, (event, topic) in enumerate(
                [("a", "x"), ("a", "x"), ("b", "x"), ("c", "x"), ("d", "x"), ("e", "y"), ("f", "z")]
            )
        )
    )
    found = select(listing, None, replace(BLIND, markets=4), NOW)
    assert chosen(found) == ["00", "02", "03", "05"]
    assert reasons(found) == {"01": "per_event", "04": "per_topic", "06": "full"}


def test_only_the_depth_of_what_would_be_chosen_is_wanted() -> None:
    listing = Listing(tuple(market(str(n), volume_24h=Decimal(100 - n)) for n in range(9)))
    rules = replace(BLIND, markets=3)
    depths: dict[str, Depth | str] = {str(n): depth(str(n)) for n in range(9)}
    depths |= {
        "0": depth("0", "0.2", "0.6"),
        "1": "status 500",
        "3": depth("3", flags=("stale",)),
        "4": depth("4", None, "0.44"),
    }
    found, read = read_until_settled(listing, rules, depths)
    assert chosen(found) == ["2", "5", "6"]
    assert read == ["0", "1", "2", "3", "4", "5", "6"]
    assert reasons(found) == {
        "0": "spread",
        "1": "depth_unread",
        "3": "depth_unfit",
        "4": "one_sided",
        "7": "full",
        "8": "full",
    }


def test_a_sibling_takes_the_place_of_a_market_whose_depth_is_unfit() -> None:
    listing = Listing((market("1", event="e"), market("2", event="e", volume_24h=Decimal(50))))
    depths: dict[str, Depth | str] = {"1": depth("1", flags=("crossed",)), "2": depth("2")}
    assert chosen(read_until_settled(listing, BLIND, depths)[0]) == ["2"]


@pytest.mark.parametrize("flag", ["crossed", "stale", "ghost", "hash_mismatch", "no_book"])
def test_v29_no_price_is_taken_from_an_unfit_book(flag: str) -> None:
    found = select(Listing((market("1"),)), {"1": depth("1", flags=(flag,))}, BLIND, NOW)
    assert chosen(found) == [] and reasons(found) == {"1": "depth_unfit"}


def test_v12_the_crowd_is_the_middle_of_the_depth_read_for_this_slot() -> None:
    listing = Listing((market("1"),))
    found = select(listing, {"1": depth("1", "0.60", "0.63")}, BLIND, NOW)
    assert found.chosen[0].crowd == Decimal("0.615")
    for read_at in ("2026-06-21T09:54:59Z", "2026-06-21T22:00:00Z"):
        old = select(listing, {"1": depth("1", read_at=read_at)}, BLIND, NOW)
        assert reasons(old) == {"1": "depth_old"}
    assert chosen(select(listing, {"1": depth("1", read_at="2026-06-21T09:55:00Z")}, BLIND, NOW))


def test_the_final_check_is_on_the_depth_and_not_on_the_listing() -> None:
    found = select(Listing((market("1"),)), {"1": depth("1", "0.96", "0.98")}, BLIND, NOW)
    assert reasons(found) == {"1": "price"}


def test_v18_equal_questions_of_two_venues_stay_two_markets() -> None:
    # Only a person can say that two contracts are one, and which way round.
    same = "Will CPI rise more than 0.3%?"
    both = (
        market("540817", question=same, bid=Decimal("0.40"), ask=Decimal("0.44")),
        market(
            "KXCPI-T0.3", venue="kalshi", question=same, bid=Decimal("0.70"), ask=Decimal("0.73")
        ),
    )
    found = select(Listing(both), None, BLIND, NOW)
    assert [(each.market.venue, each.market.bid) for each in found.chosen] == [
        ("polymarket", Decimal("0.40")),
        ("kalshi", Decimal("0.70")),
    ]


def pool(listing: Listing, depths: dict[str, Depth | str]) -> bytes:
    found, _ = read_until_settled(listing, BLIND, depths)
    return pool_bytes(listing, found, BLIND, NOW)


def test_the_pool_is_the_same_bytes_in_any_order_of_the_listing() -> None:
    markets = [market(str(n), volume_24h=Decimal(n % 5)) for n in range(40)]
    depths: dict[str, Depth | str] = {each.id: depth(each.id) for each in markets}
    first = pool(Listing(tuple(markets)), depths)
    for seed in range(5):
        random.Random(seed).shuffle(markets)
        assert pool(Listing(tuple(markets)), depths) == first


def test_the_pool_holds_every_candidate_with_its_reason() -> None:
    listing = Listing(
        (
            market("1", fee_rate=Decimal("0.05"), fee_exponent=1),
            market("2", closes=""),
            market("3", question="π\u2028"),
        ),
        refused=(Refused("9", "not two token ids"),),
        problems=("page 3: status 500",),
        complete=False,
    )
    data = pool(listing, {"1": depth("1"), "3": depth("3", notes=("midpoint not checked",))})
    content = json.loads(data, parse_float=lambda text: pytest.fail(f"a float: {text}"))
    assert [each["id"] for each in content["chosen"]] == ["1", "3"]
    assert content["chosen"][0]["crowd"] == "0.42"
    assert content["chosen"][0]["fee_rate"] == "0.05" and content["chosen"][0]["fee_exponent"] == 1
    assert content["chosen"][1]["fee_rate"] is None, "unknown, which is not none"
    assert content["chosen"][1]["depth_notes"] == ["midpoint not checked"]
    assert [(each["id"], each["reason"]) for each in content["dropped"]] == [("2", "horizon")]
    assert content["refused"] == [{"id": "9", "reason": "not two token ids"}]
    assert content["complete"] is False and content["problems"] == ["page 3: status 500"]
    assert content["rules"]["max_spread"] == "0.10" and "min_volume_24h" not in content["rules"]
    assert (
        data.endswith(b"}\n")
        and data == json.dumps(content, sort_keys=True, ensure_ascii=False).encode() + b"\n"
    )


def test_a_provisional_choice_is_never_a_pool() -> None:
    listing = Listing((market("1"),))
    with pytest.raises(RuleError, match="is wanted before a pool"):
        pool_bytes(listing, select(listing, {}, BLIND, NOW), BLIND, NOW)


def test_nothing_listed_chooses_nothing() -> None:
    found = select(Listing(()), {}, BLIND, NOW)
    assert found.settled and chosen(found) == []
    assert json.loads(pool_bytes(Listing(()), found, BLIND, NOW))["chosen"] == []
