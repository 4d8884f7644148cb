"""Rule B2 and fault B16: what an answer gives away of the price that was hidden."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.forecasters.leaks import audit, denied, host_of, number_stands, numbers_like

DENY = ("polymarket.com", "kalshi.com", "manifold.markets", "oddspage.example")


def test_b16_a_rationale_that_names_a_venue_is_flagged() -> None:
    assert audit("Polymarket at 7%") == ("venue_name",)
    assert audit("The implied probability is 7%") == ("odds_words",)


@pytest.mark.parametrize(
    "text",
    [
        "POLYMARKET has it",
        "Poly\u200bmarket has it",
        "Ｐｏｌｙｍａｒｋｅｔ has it",
        "polymarket's page",
        "Kalshi traders",
        "on Manifold Markets",
        "see manifold.markets/x",
        "Metaculus says",
        "a Betfair price",
        "PredictIt and Predict It",
        "see oddspage.example for it",
        "CME FedWatch shows",
    ],
)
def test_b2_venues_by_name(text: str) -> None:
    assert "venue_name" in audit(text, deny_sites=DENY)


@pytest.mark.parametrize(
    "text",
    [
        "bookmakers expect",
        "Bookies' favourite",
        "a sportsbook",
        "bettors lean",
        "the betting odds",
        "betting markets favour",
        "prediction markets say",
        "an implied probability of 7%",
        "market-implied path",
        "odds of 5/2",
        "the odds are +150",
        "at 5-2 odds",
        "it trades at 62¢",
        "currently priced at 62%",
        "trading around 7 cents",
        "traders give it 40%",
        "Markets currently assign a 62% chance",
        "futures are pricing in about 80 %",
        "community forecast",
        "crowd probability",
        "the moneyline",
    ],
)
def test_b2_words_of_odds(text: str) -> None:
    assert audit(text) == ("odds_words",)


@pytest.mark.parametrize(
    "text",
    [
        "An odd result in an even year.",
        "The odds are low, against all odds.",
        "What are the odds?",
        "The stock market fell; the market for housing is slow.",
        "Market prices of wheat rose by 7%.",
        "The manifold is a space; an augur speaks; the pinnacle of limitless ambition.",
        "Traders fled. The index rose 3%.",
        "The trading day ends at 4 pm.",
        "She is favoured; polls give her 52%.",
        "Inflation of 2.5% was implied by the data.",
        "The probability of rain is 30%.",
        "They bet on reform.",
        "Futures of the club are unclear; 40% of members left.",
        "The price is 62 dollars.",
        "A poly marketing campaign.",
        "Options for the government: cut 10% of staff.",
        "Community support was 60%.",
        "In 2024/25 on average 3-2 on aggregate.",
    ],
)
def test_b2_everyday_words_are_no_leak(text: str) -> None:
    assert audit(text, deny_sites=DENY) == ()


def test_b2_citations_of_denied_sites() -> None:
    for url in (
        "https://polymarket.com/event/x",
        "https://clob.polymarket.com/x",
        "HTTPS://WWW.POLYMARKET.COM./x",
        "https://user@kalshi.com:443/a",
        "www.kalshi.com/a",
        "https://www.betfair.com/x",
    ):
        assert "venue_citation" in audit("", [url], deny_sites=DENY), url
    for url in ("https://notkalshi.com/", "https://market.example.org/", "", "https://[bad"):
        assert audit("", [url], deny_sites=["kalshi.com"]) == ()
    assert not denied("https://kalshi.com.example.org/", ["kalshi.com"])
    assert "venue_citation" in audit("[1](https://kalshi.com/m)", deny_sites=DENY)


def test_b2_deny_list_is_the_leagues() -> None:
    assert denied("https://a.example.org/x", ["example.org"])
    assert not denied("https://a.example.org/x", [])
    assert not denied("https://a.example.org/x", ["", "https://"])
    assert host_of("https://WWW.Example.org:8080/x") == "example.org"


def test_b2_the_crowds_number_where_it_is_known() -> None:
    crowd = Decimal("0.62")
    assert audit("I saw 62%", crowd=crowd, stated="0.4") == ("crowd_number",)
    assert audit("I say 62%", crowd=crowd, stated="0.620") == ()
    assert audit("I saw 62%") == ()
    assert audit("I saw 26%", crowd=crowd) == ()
    assert audit("I saw 62%", crowd=crowd, stated="not a number") == ("crowd_number",)


@given(st.decimals("0.001", "0.999", places=3))
def test_b2_every_way_to_write_a_price_is_found(crowd: Decimal) -> None:
    for form in numbers_like(crowd):
        assert number_stands(f"It is {form} now", crowd), form
        assert number_stands(f"({form})", crowd), form
        assert not number_stands(f"It is 7{form} now", crowd) or form.startswith("."), form


def test_b2_what_was_not_looked_through_is_flagged() -> None:
    assert audit("x" * ((1 << 18) + 1) + "Polymarket") == ("too_long",)


@given(st.text())
def test_b2_an_audit_never_raises(text: str) -> None:
    assert set(audit(text, [text], deny_sites=[text], crowd=Decimal("0.5"))) <= {
        *("venue_name", "venue_citation", "odds_words", "crowd_number", "too_long")
    }


@pytest.mark.parametrize(
    "text",
    [
        "traders " * 100_000,
        "markets are now are now giving " * 30_000,
        "1-" * 400_000,
        "https://" * 100_000,
        "trading at " * 80_000,
        "0.6" * 300_000,
        "\u200b" * 900_000,
        "ﷺ" * 300_000,
    ],
)
def test_b2_a_hostile_text_takes_bounded_time(text: str) -> None:
    started = time.monotonic()
    audit(text, deny_sites=DENY, crowd=Decimal("0.62"))
    assert time.monotonic() - started < 6.0
