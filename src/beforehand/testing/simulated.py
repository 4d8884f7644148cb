"""Events and markets of the simulated venues, each made from its seed, day and number alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from beforehand.testing.chance import digest, integer, normal, pick, quantile, uniform
from beforehand.testing.fate import KALSHI, LIVENESS, POLYMARKET, Fate, fate_of
from beforehand.testing.rows import quotes, tight_quotes, words
from beforehand.testing.walk import HOUR, Walk
from beforehand.testing.wording import MARK, TOPICS, filled, question, rules

DAY = 24 * HOUR
LONGEST_HOURS = 720
SIDES = (("Up", "Down"), ("Over", "Under"), ("Home", "Away"))

_TOPIC_SHARES = (0.18, 0.15, 0.14, 0.12, 0.12, 0.09, 0.12, 0.08)
_FORMS = (("binary", 0.64), ("ladder", 0.12), ("choice", 0.16), ("sides", 0.08))
# How a market's order book is kept: most are well kept, some are traps.
_BOOKS = (
    ("usual", 0.86),
    ("thin", 0.04),
    ("ghost", 0.03),
    ("one_sided", 0.03),
    ("stale", 0.02),
    ("missing", 0.01),
    ("crossed", 0.01),
)


@dataclass(eq=False, slots=True)
class SimMarket:
    """One market: YES pays where the event's hidden number ends in (low, high].

    `kind` is `market`, `other` (the catch-all of a neg-risk event),
    `withdrawn` (a candidate that leaves early) or `placeholder` (listed and
    never deployed: no price, no tokens).
    """

    event: SimEvent
    fate: Fate
    place: int
    id: str
    kind: str
    title: str
    question: str
    description: str
    outcomes: tuple[str, str]
    low: float
    high: float
    spread: float
    book: str
    volume: float
    condition: str
    question_id: str
    tokens: tuple[str, str]

    def chance(self, now: int) -> float:
        """The hidden probability of YES at `now`."""
        return self.event.walk.chance(self.low, self.high, now)

    @property
    def won(self) -> bool:
        """Whether YES is what happens, however the venue settles it."""
        return self.event.walk.ends_in(self.low, self.high)

    @property
    def end(self) -> str:
        """How it is finally paid: `yes`, `no`, `void`, `scalar`, or `never`."""
        kind = self.fate.kind
        if self.fate.settled is None:
            return "never"
        return {"fifty": "void", "scalar": "scalar"}.get(kind) or ("yes" if self.won else "no")


@dataclass(eq=False, slots=True)
class SimEvent:
    """What groups markets that end together. `ends` is the scheduled end, which may lie."""

    venue: str
    id: str
    day: int
    number: int
    form: str
    topic: str
    title: str
    start: int
    ends: int
    walk: Walk
    fate: Fate
    markets: list[SimMarket] = field(default_factory=list)

    @property
    def neg_risk(self) -> bool:
        """Whether exactly one of its markets wins, and the venue says so."""
        return self.form == "choice"


def drawn(shares: tuple[tuple[str, float], ...], *name: object) -> str:
    """A word of a table of words and their shares, which sum to 1."""
    left = uniform(*name)
    for word, share in shares:
        left -= share
        if left < 0:
            return word
    return shares[0][0]


def make_event(seed: int, venue: str, day: int, number: int, ids: Callable[..., str]) -> SimEvent:
    """The event of that number listed on that day. `ids` names it and its markets."""
    name = (seed, venue, day, number)
    topic = drawn(tuple(zip(TOPICS, _TOPIC_SHARES, strict=True)), "topic", *name)
    form = drawn(_FORMS, "form", *name)
    if venue == "kalshi" and form == "sides":
        form = "binary"
    start = day * DAY + integer(0, 23, "start", *name) * HOUR
    hours = int(132 * math.exp(0.75 * normal("hours", *name)))
    hours = min(max(hours, 24), LONGEST_HOURS)
    closes = start + hours * HOUR
    event = SimEvent(
        venue=venue,
        id=ids(day, number, topic),
        day=day,
        number=number,
        form=form,
        topic=topic,
        title="",
        start=start,
        ends=_scheduled(start, closes, *name),
        walk=Walk(start, hours, *name),
        fate=fate_of(closes, KALSHI if venue == "kalshi" else POLYMARKET, *name),
    )
    _add_markets(event, seed, ids)
    return event


def _scheduled(start: int, closes: int, *name: object) -> int:
    """The end a venue announces: mostly the close; else before it, long before, or after it."""
    how = drawn(
        (("true", 0.84), ("after", 0.06), ("before", 0.08), ("long_before", 0.02)), "ends", *name
    )
    if how == "after":
        return closes + integer(24, 96, "after", *name) * HOUR
    if how == "before":
        return max(start + HOUR, closes - integer(6, 30, "before", *name) * HOUR)
    if how == "long_before":
        return max(start + HOUR, closes - integer(120, 288, "before", *name) * HOUR)
    return closes


def _add_markets(event: SimEvent, seed: int, ids: Callable[..., str]) -> None:
    name = (seed, event.venue, event.day, event.number)
    table = words()["topics"][event.topic]
    form = pick(table["binary" if event.form == "sides" else event.form], "words", *name)
    general = {} if event.form in ("binary", "sides") else {_gap(form): "one of these"}
    event.title = f"{MARK} event {event.id}: {filled(form, *name, **general)}"
    for place, (kind, given, low, high) in enumerate(_stretches(event, *name)):
        market = ids(event.day, event.number, event.topic, place)
        asked = filled(form, *name, **given)
        outcomes = pick(SIDES, "sides", *name) if event.form == "sides" else ("Yes", "No")
        event.markets.append(
            SimMarket(
                event=event,
                fate=_withdrawal(event) if kind == "withdrawn" else event.fate,
                place=place,
                id=market,
                kind=kind,
                title=str(next(iter(given.values()), "")),
                question=question(market, asked, event.ends),
                description=rules(outcomes, event.ends),
                outcomes=outcomes,
                low=low,
                high=high,
                spread=_spread(*name, place),
                book="usual" if kind != "market" else drawn(_BOOKS, "book", *name, place),
                volume=3000 * math.exp(1.4 * normal("volume", *name, place)),
                condition=condition_id(seed, market) if kind != "placeholder" else "",
                question_id="0x" + digest("question", *name).hex()[:-2] + f"{place:02x}",
                tokens=(token_id(seed, market, 0), token_id(seed, market, 1)),
            )
        )


def _withdrawal(event: SimEvent) -> Fate:
    """The end of a candidate that leaves early: settled as NO while its event still trades."""
    closes = event.start + (event.walk.hours // 3) * HOUR
    proposed = closes + HOUR
    return Fate("usual", closes, proposed, None, proposed + LIVENESS, False)


Stretch = tuple[str, dict[str, object], float, float]


def _stretches(event: SimEvent, *name: object) -> list[Stretch]:
    """Kind, words and stretch of each market of an event."""
    if event.form == "ladder":
        count = integer(3, 4, "count", *name)
        bounds = sorted(0.9 * normal("bound", *name, place) for place in range(count))
        base = integer(2, 9, "base", *name) * 10
        return [
            ("market", {"step": base + 5 * place}, bound, math.inf)
            for place, bound in enumerate(bounds)
        ]
    if event.form == "choice":
        return _choices(event, *name)
    bid, ask = pick(quotes(), "opening", *name)
    opening = min(max((bid + ask) / 2, 0.02), 0.98)
    if uniform("flip", *name) < 0.3:
        opening = 1 - opening
    return [("market", {}, -quantile(opening), math.inf)]


def _choices(event: SimEvent, *name: object) -> list[Stretch]:
    """Candidates whose stretches cover the line side by side, then the venue's own oddities."""
    lists = words()
    count = integer(3, 6, "count", *name)
    weights = [math.exp(normal("weight", *name, place)) for place in range(count + 1)]
    total, passed, bounds = sum(weights), 0.0, [-math.inf]
    for weight in weights[:-1]:
        passed += weight / total
        bounds.append(quantile(passed))
    bounds.append(math.inf)
    found: list[Stretch] = []
    for place in range(count):
        given: dict[str, object] = {
            "person": f"{pick(lists['first'], 'first', *name, place)} {lists['last'][place]}",
            "place": lists["place"][(place * 3 + event.number) % 20],
            "firm": lists["firm"][place],
            "thing": pick(lists["thing"], "thing", *name, place),
            "option": place + 1,
        }
        form = pick(words()["topics"][event.topic]["choice"], "words", *name)
        gap = _gap(form)
        found.append(("market", {gap: given[gap]}, bounds[place], bounds[place + 1]))
    found.append(("other", {gap: "another"}, bounds[count], math.inf))
    if uniform("withdrawn", *name) < 0.4:
        found.append(("withdrawn", {gap: "a withdrawn candidate"}, math.inf, math.inf))
    if event.venue == "kalshi":
        return found
    found.append(("placeholder", {gap: "a later candidate"}, math.inf, math.inf))
    return found


def _gap(form: str) -> str:
    """The gap of a form that tells the markets of an event apart: a step, else the first."""
    return "step" if "{step}" in form else form.partition("{")[2].partition("}")[0]


def _spread(*name: object) -> float:
    """A recorded spread: of a well kept book in six of ten, else of any."""
    among = tight_quotes() if uniform("kept", *name) < 0.6 else quotes()
    bid, ask = pick(among, "spread", *name)
    return ask - bid


def condition_id(seed: int, market: str) -> str:
    """The condition id; its last 16 digits hold the market's number, so it can be looked up."""
    return "0x" + digest("condition", seed, market).hex()[:48] + _number(market)


def token_id(seed: int, market: str, side: int) -> str:
    """A token id of 76 to 78 digits, whose last bits hold the market's number and the side."""
    raw = digest("token", seed, market).hex()[:45] + _number(market) + str(side)
    return str(int("f" + raw, 16))


def _number(market: str) -> str:
    return f"{int(market):016x}" if market.isdecimal() else digest(market).hex()[:16]
