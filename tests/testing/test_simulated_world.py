"""The simulated world: prices that are calibrated, one world for one seed, and traps enough."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest

from beforehand.testing.chance import integer, normals
from beforehand.testing.depth import book_of, quote_of
from beforehand.testing.personalities import SIMULATED, probability
from beforehand.testing.simulated import DAY, SimMarket
from beforehand.testing.truth import Known
from beforehand.testing.walk import HOUR, Walk
from beforehand.testing.world import World

NOON = 20_600 * DAY + 12 * HOUR
SIX = ("sharp", "plain", "hedger", "noisy", "bold", "flaky")


def moments(seed: int, days: int) -> list[tuple[SimMarket, int]]:
    """One market of each event of so many days, at one moment of its life."""
    found = []
    world = World(seed)
    for day in range(20_000, 20_000 + days):
        for event in world.day("polymarket", day):
            market = event.markets[integer(0, len(event.markets) - 1, "of", event.id)]
            step = integer(1, event.walk.hours - 1, "when", event.id)
            if market.kind in ("market", "other"):
                found.append((market, event.start + step * HOUR))
    return found


def test_the_hidden_probability_is_calibrated_in_every_tenth() -> None:
    cells: dict[int, list[tuple[float, bool]]] = {}
    for market, moment in moments(5, 250):
        chance = market.chance(moment)
        cells.setdefault(min(int(chance * 10), 9), []).append((chance, market.won))
    assert len(cells) == 10
    for rows in cells.values():
        expected = sum(chance for chance, _ in rows)
        spread = math.sqrt(sum(chance * (1 - chance) for chance, _ in rows))
        # Four standard errors: independent events, so a right world fails once in a thousand runs.
        assert abs(sum(won for _, won in rows) - expected) < 4 * spread + 0.5


def test_the_middle_of_the_quotes_leans_to_neither_side() -> None:
    off = []
    for market, moment in moments(6, 150):
        quote = quote_of(market, moment)
        if market.book == "usual" and quote.bid is not None and quote.ask is not None:
            assert 0 < quote.bid < quote.ask < 1000
            off.append(quote.middle / 1000 - market.chance(moment))
    assert len(off) > 1000
    assert abs(sum(off) / len(off)) < 0.002


def test_the_price_is_a_martingale() -> None:
    """Over many walks, the mean of a later price is the earlier one."""
    walks = [Walk(0, 200, "martingale", number) for number in range(4000)]
    later = [walk.chance(0.4, math.inf, 150 * HOUR) for walk in walks]
    first = walks[0].chance(0.4, math.inf, 0)
    assert first == pytest.approx(0.34458, abs=1e-5)
    assert abs(sum(later) / len(later) - first) < 4 * 0.5 / math.sqrt(len(later))


def test_draws_are_standard_normal() -> None:
    draws = normals(20_000, "draws")
    assert abs(sum(draws) / len(draws)) < 0.03
    assert abs(sum(each * each for each in draws) / len(draws) - 1) < 0.05


def test_candidates_sum_to_one_and_ladders_are_ordered() -> None:
    forms: Counter[str] = Counter()
    for event in World(3).open("polymarket", NOON):
        forms[event.form] += 1
        chances = [market.chance(NOON) for market in event.markets]
        if event.form == "choice":
            assert sum(chances) == pytest.approx(1)
            assert sum(market.won for market in event.markets) == 1
        elif event.form == "ladder":
            assert all(high >= low for high, low in itertools.pairwise(chances))
    assert set(forms) == {"binary", "ladder", "choice", "sides"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_there_are_always_enough_markets_topics_and_traps(seed: int) -> None:
    world = World(seed)
    kinds: Counter[str] = Counter()
    books: Counter[str] = Counter()
    fates: Counter[str] = Counter()
    horizons = []
    for day in range(0, 42, 3):
        now = NOON + day * DAY
        events = list(world.open("polymarket", now))
        live = [
            market
            for event in events
            for market in event.markets
            if market.kind != "placeholder" and now < market.fate.closes
        ]
        assert 200 <= len(live) <= 450
        assert len({event.topic for event in events}) >= 7
        # Enough for a slot of twelve, one of each event.
        assert len(eligible_events(live, now)) >= 12
        horizons += [event.ends - now for event in events]
        kinds.update(market.kind for market in live)
        books.update(market.book for market in live)
        fates.update(event.fate.kind for event in events)
    assert set(kinds) == {"market", "other", "withdrawn"}
    assert set(books) >= {"usual", "thin", "ghost", "one_sided", "stale", "missing", "crossed"}
    assert set(fates) >= {"usual", "disputed", "fifty", "unproposed", "unsettled"}
    assert min(horizons) < 0 < 25 * DAY < max(horizons)


def eligible_events(live: list[SimMarket], now: int) -> set[str]:
    """The events a blind league could choose from: near, quoted tightly, and undecided."""
    found = set()
    for market in live:
        quote = quote_of(market, now)
        if quote.bid is None or quote.ask is None or quote.ask - quote.bid > 100:
            continue
        near = DAY <= market.event.ends - now <= 8 * DAY
        if near and 50 <= quote.middle <= 950 and market.outcomes == ("Yes", "No"):
            found.add(market.event.id)
    return found


def test_a_seed_is_one_world_and_another_seed_another() -> None:
    def seen(seed: int) -> list[tuple[str, float, bool]]:
        events = World(seed).open("polymarket", NOON)
        return [
            (market.question, market.chance(NOON), market.won)
            for event in events
            for market in event.markets
        ]

    assert seen(4) == seen(4)
    assert seen(4) != seen(5)


def test_a_market_is_found_by_each_of_its_ids_and_by_no_other() -> None:
    world = World(9)
    event = next(event for event in world.open("polymarket", NOON) if event.form == "choice")
    market = event.markets[1]
    again = World(9).market("polymarket", market.id, NOON)
    assert again is not None and again.question == market.question
    assert world.by_condition(market.condition, NOON) is market
    assert world.by_token(market.tokens[1], NOON) == (market, 1)
    assert world.by_condition(market.condition[:-1] + "0", NOON) is None
    assert World(8).by_token(market.tokens[0], NOON) is None
    assert world.by_token("12", NOON) is None
    # Not before it is listed.
    assert world.market("polymarket", market.id, event.start - 1) is None


def test_an_event_ends_in_order() -> None:
    for day in range(20_500, 20_560):
        for event in World(2).day("polymarket", day):
            fate = event.fate
            known = [each for each in (fate.proposed, fate.disputed, fate.settled) if each]
            assert known == sorted(known)
            assert all(each > fate.closes for each in known)
            assert fate.state(fate.closes - 1) == "open"
            assert fate.state(fate.closes) == "closed"


def test_books_are_ladders_around_the_quote() -> None:
    for event in World(3).open("polymarket", NOON):
        for market in event.markets:
            found = book_of(market, NOON)
            if market.book != "usual" or found is None:
                continue
            bids, asks, quote = found
            assert [price for price, _ in bids] == sorted({p for p, _ in bids}, reverse=True)
            assert [price for price, _ in asks] == sorted({p for p, _ in asks})
            assert (bids[0][0] if bids else None) == quote.bid
            assert (asks[0][0] if asks else None) == quote.ask
            assert all(size >= 5 for _, size in bids + asks)


def test_the_crowd_beats_the_ensemble_and_the_ensemble_the_models() -> None:
    said: dict[str, list[float]] = {name: [] for name in ("crowd", "ensemble", *SIX)}
    outcomes = []
    for market, moment in moments(11, 120):
        chance = market.chance(moment)
        if not 0.05 < chance < 0.95:
            continue
        known = Known(market.question, market.id, chance, market.end)
        each = [
            probability(11, f"sim/{name}-1", SIMULATED[name], market.question, known)
            for name in SIX
        ]
        for name, value in zip(SIX, each, strict=True):
            said[name].append(value)
        said["crowd"].append(chance)
        said["ensemble"].append(sum(each) / len(each))
        outcomes.append(float(market.won))
    losses = {name: brier(values, outcomes) for name, values in said.items()}
    models = [losses[name] for name in SIX]
    assert losses["crowd"] < losses["ensemble"] < sum(models) / len(models)
    assert losses["crowd"] < min(models)
    together = [
        correlation(errors(said[one], outcomes), errors(said[other], outcomes))
        for one, other in itertools.combinations(SIX, 2)
    ]
    assert 0.75 < sum(together) / len(together) < 0.92


def errors(said: list[float], outcomes: list[float]) -> list[float]:
    return [value - outcome for value, outcome in zip(said, outcomes, strict=True)]


def brier(said: list[float], outcomes: list[float]) -> float:
    return sum(each * each for each in errors(said, outcomes)) / len(said)


def correlation(one: list[float], other: list[float]) -> float:
    mean, mean2 = sum(one) / len(one), sum(other) / len(other)
    pairs = [(a - mean, b - mean2) for a, b in zip(one, other, strict=True)]
    across = sum(a * b for a, b in pairs)
    return across / math.sqrt(sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs))
