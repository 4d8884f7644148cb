"""Money: reserved before every call, settled to what it cost, and never past the cap."""

# ruff: noqa: N802 - the ids of the rules and faults are written as they are

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beforehand.forecasters.forecaster import Reply
from beforehand.records.forecast import Answer
from beforehand.records.record import Record
from beforehand.records.run import Ask, Run
from beforehand.stages.ledger import Ledger
from tests.stages.live_world import (
    FIRST_SLOT,
    MODELS,
    Behaviour,
    Killed,
    LiveLeague,
    answers,
    dies,
    fails,
    in_turn,
    made_market,
)
from tests.stages.raw_book import (
    Line,
    attempts_of,
    lines_of,
    most_committed,
    of_kind,
    said,
    sums,
    week_of,
)

RUN = "2026-01-05T1000"
SECOND_SLOT = "2026-01-05T22:00:00Z"
EXACT = "0.01"  # what a made-up model reserves


def read(league: LiveLeague) -> list[Line]:
    return lines_of(league.folder / "league")


def capped(
    folder: Path,
    cap: str,
    behaviours: Mapping[str, Behaviour] | None = None,
    *,
    markets: int = 4,
    asked: int = 2,
    changes: Mapping[str, str] | None = None,
) -> LiveLeague:
    """A league under a cap; its models cost exactly what they reserve where nothing is said."""
    return LiveLeague.begin(
        folder,
        behaviours or {name: answers("0.4", EXACT) for name in MODELS},
        markets=markets,
        changes={
            'cap = "50.00"': f'cap = "{cap}"',
            "markets = 12": f"markets = {asked} ",
            "per_topic = 3": "per_topic = 99",
            **(changes or {}),
        },
    )


def asked_of(lines: list[Line]) -> Counter[str]:
    """How many models each question was first asked of."""
    return Counter(ask["questions"][0] for ask in of_kind(lines, "ask", why="first"))


# ---- the cap


def test_B30_fifty_calls_at_once_stay_within_the_cap_together(tmp_path: Path) -> None:
    """Fifty parallel calls of 0.10 against 1.00."""
    league = capped(
        tmp_path,
        "1.00",
        {"model-a": answers("0.4", "0.10")},
        markets=50,
        asked=50,
        changes={"min_hours = 24": "min_hours = 1"},
    )
    model = league.models["model-a"]
    model.price, model.delay = Decimal("0.10"), 0.02
    done = league.tick_at(FIRST_SLOT)
    assert len(model.calls) == 10 and done.closed == {RUN: "stopped_budget"}
    assert most_committed(read(league)) == {"2026-W02": Decimal("1.00")}


@pytest.mark.parametrize(
    ("cap", "calls"), [("0.0599", 3), ("0.06", 6), ("0.0299", 0), ("0.03", 3), ("0", 0)]
)
def test_U1_the_cap_is_met_to_the_cent_and_whole_markets_are_asked(
    tmp_path: Path, cap: str, calls: int
) -> None:
    league = capped(tmp_path, cap)
    done = league.tick_at(FIRST_SLOT)
    lines = read(league)
    assert done.calls == calls == len(of_kind(lines, "ask"))
    assert set(asked_of(lines).values()) <= {3}
    assert done.closed == {RUN: "complete" if calls == 6 else "stopped_budget"}


@pytest.mark.parametrize(("cap", "markets"), [("0.05", 2), ("0.10", 6)])
def test_U1_a_market_that_fits_once_open_reservations_are_settled_is_asked(
    tmp_path: Path, cap: str, markets: int
) -> None:
    """The cap holds few markets at what is reserved for them, and all at what they cost."""
    models = {name: answers("0.4", "0.004") for name in MODELS}
    league = capped(tmp_path, cap, models, markets=markets, asked=markets)
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    assert len(of_kind(lines, "ask")) == 3 * markets, "stopped by what was only reserved"
    assert most_committed(lines)["2026-W02"] <= Decimal(cap)


def test_U1_the_order_is_drawn_so_that_not_always_the_least_traded_market_is_dropped(
    tmp_path: Path,
) -> None:
    league = capped(tmp_path, "0.03", asked=4)
    asked, again = set(), []
    for week, day in enumerate(("05", "12", "19", "26")):
        closes = f"2026-0{1 if week < 3 else 2}-{['08', '15', '22', '01'][week]}T12:00:00Z"
        league.venue.markets = [made_market(n, closes=closes) for n in range(1, 5)]
        league.tick_at(f"2026-01-{day}T10:00:00Z")
        lines = read(league)
        markets = {q["question"]: q["contract"]["market"] for q in of_kind(lines, "question")}
        (question,) = asked_of(of_kind(lines, "ask", run=f"2026-01-{day}T1000"))
        asked.add(markets[question])
        again.append(markets[question])
    assert len(asked) > 1, again


def test_U1_selection_order_is_kept_where_it_is_declared(tmp_path: Path) -> None:
    league = capped(
        tmp_path, "0.03", asked=4, changes={'order = "seeded_random"': 'order = "selection"'}
    )
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    (question,) = asked_of(lines)
    assert question == of_kind(lines, "run")[0]["questions"][0]


# ---- what an attempt costs


def test_U1_an_unknown_cost_keeps_its_reservation(tmp_path: Path) -> None:
    league = capped(tmp_path, "0.09", {name: answers("0.4", None) for name in MODELS})
    league.tick_at(FIRST_SLOT)
    assert sums(read(league), "week")["2026-W02"].committed == Decimal("0.06")
    done = league.tick_at(SECOND_SLOT)
    assert done.calls == 3 and done.closed == {"2026-01-05T2200": "stopped_budget"}


def test_U1_a_cost_above_its_reservation_counts_in_full_and_is_shown(tmp_path: Path) -> None:
    league = capped(tmp_path, "0.10", {name: answers("0.4", "0.02") for name in MODELS})
    league.tick_at(FIRST_SLOT)
    pen, situation = league.open()
    with pen:
        account = situation.ledger.accounts["2026-W02"]
        assert (account.spent, account.over) == (Decimal("0.12"), Decimal("0.06"))
    done = league.tick_at(SECOND_SLOT)
    assert done.calls == 0 and done.closed == {"2026-01-05T2200": "stopped_budget"}


def test_B31_retries_and_re_asks_are_reserved_and_paid_like_any_call(tmp_path: Path) -> None:
    """Fail, fail, valid: the cost of three, and one forecast."""
    costly = in_turn(
        fails("timeout", retryable=True, cost="0.003"),
        fails("unparseable", cost="0.002"),
        answers("0.4", "0.001"),
    )
    league = capped(tmp_path, "50", {"model-a": costly}, asked=1)
    league.tick_at(FIRST_SLOT)
    lines = read(league)
    (held,) = attempts_of(lines).values()
    assert [ask["why"] for ask, _ in held] == ["first", "retry", "reask"]
    assert all(ask["reserved"] == EXACT for ask, _ in held)
    assert sums(lines)["model-a"].spent == Decimal("0.006")
    assert len(said(tmp_path / "league", lines)) == 1


@pytest.mark.parametrize(
    "first", [fails("timeout", retryable=True, cost=EXACT), fails("unparseable", cost=EXACT)]
)
def test_U1_a_second_attempt_that_does_not_fit_is_not_made_and_the_run_says_why(
    tmp_path: Path, first: Behaviour
) -> None:
    behaviours = {name: answers("0.4", EXACT) for name in MODELS}
    league = capped(tmp_path, "0.06", {**behaviours, "model-b": in_turn(first, answers("0.5"))})
    done = league.tick_at(FIRST_SLOT)
    lines = read(league)
    assert most_committed(lines) == {"2026-W02": Decimal("0.06")}
    assert len(of_kind(lines, "ask")) == 6
    assert done.closed == {RUN: "stopped_budget"}
    assert "budget" in of_kind(lines, "close")[0]["why"]


def test_U1_failed_and_late_calls_are_paid_for_too(tmp_path: Path) -> None:
    league = capped(tmp_path, "50", asked=1)
    league.models["model-a"].behaviour = fails("refused", cost="0.007")
    league.models["model-b"].behaviour = fails("internal", cost=None)

    def broken(question: str, attempt: int) -> Reply:
        raise OSError("the scaffold fell over")

    league.models["model-c"].behaviour = broken
    league.tick_at(FIRST_SLOT)
    held = sums(read(league))
    assert held["model-a"].spent == Decimal("0.007")
    assert held["model-b"].standing == held["model-c"].standing == Decimal(EXACT)


def test_U1_what_was_lost_with_its_process_keeps_its_reservation(tmp_path: Path) -> None:
    league = capped(tmp_path, "0.07")
    league.models["model-a"].behaviour = in_turn(dies, answers("0.4", EXACT))
    with pytest.raises(Killed):
        league.tick_at(FIRST_SLOT)
    league.tick()
    lines = read(league)
    assert most_committed(lines)["2026-W02"] <= Decimal("0.07")
    lost = [ask for held in attempts_of(lines).values() for ask, answer in held
            if answer and answer["status"] == "not_answered"]  # fmt: skip
    assert lost and sum(s.standing for s in sums(lines).values()) == Decimal("0.01") * len(lost)


def test_U1_a_process_that_dies_again_and_again_pays_within_the_declared_attempts(
    tmp_path: Path,
) -> None:
    league = capped(tmp_path, "50", {"model-a": dies}, asked=1)
    league.clock.step_to(FIRST_SLOT)
    for _ in range(10):
        try:
            league.tick()
        except Killed:
            continue
        break
    asks = of_kind(read(league), "ask")
    assert [ask["why"] for ask in asks] == ["first", "resumed", "resumed"]
    assert of_kind(read(league), "close")


@pytest.mark.parametrize("price", ["0.0000001", "1E-7", "1E+1", "0", "0.10", "12345678.12345678"])
def test_U1_any_price_can_be_reserved(tmp_path: Path, price: str) -> None:
    league = capped(tmp_path, "999999999999", asked=1)
    league.models["model-a"].price = Decimal(price)
    try:
        done = league.tick_at(FIRST_SLOT)
    except Exception as error:
        pytest.fail(f"the whole round ended: {type(error).__name__}: {error}")
    assert done.closed == {RUN: "complete"}
    (ask,) = of_kind(read(league), "ask", forecaster="model-a")
    assert Decimal(ask["reserved"]) == Decimal(price)


@pytest.mark.parametrize("price", ["NaN", "-1", "Infinity"])
def test_U1_a_reservation_that_is_no_amount_never_reaches_the_far_side(
    tmp_path: Path, price: str
) -> None:
    league = capped(tmp_path, "1.00")
    league.models["model-a"].price = Decimal(price)
    try:
        league.tick_at(FIRST_SLOT)
    except Exception as error:
        pytest.fail(f"the whole tick ended: {type(error).__name__}: {error}")
    assert not league.models["model-a"].calls


def test_B30_models_that_cost_nothing_are_asked_under_a_cap_of_nothing(tmp_path: Path) -> None:
    league = capped(tmp_path, "0", {name: answers("0.4", "0") for name in MODELS})
    for model in league.models.values():
        model.price = Decimal(0)
    assert league.tick_at(FIRST_SLOT).closed == {RUN: "complete"}


def test_without_a_budget_nothing_is_stopped(tmp_path: Path) -> None:
    league = capped(tmp_path, "50")
    text = league.declaration.data.decode("utf-8")
    bare = type(league.declaration).parse(text[: text.index("\n[budget]")].encode(), "bare")
    fresh = LiveLeague.begin(tmp_path / "two")
    pen, _ = fresh.open()
    with pen:
        ledger = Ledger.of(pen.records(), bare.content)
        assert ledger.cap is None and ledger.fits(FIRST_SLOT, [Decimal(10**12)])


# ---- after the cap


def test_U2_past_the_cap_slots_are_said_settling_goes_on_and_the_next_week_is_fresh(
    tmp_path: Path,
) -> None:
    league = capped(tmp_path, "0.06")
    league.venue.markets = [made_market(n, closes="2026-01-13T09:00:00Z") for n in range(1, 5)]
    league.play_until("2026-01-11T23:00:00Z")
    league.venue.outcomes = {"m1": "yes", "m2": "no"}
    league.tick_at("2026-01-12T02:00:00Z")
    lines = read(league)
    statuses = [close["status"] for close in of_kind(lines, "close")]
    assert statuses[0] == "complete" and set(statuses[1:]) == {"stopped_budget"}
    assert len(of_kind(lines, "ask")) == 6 and len(of_kind(lines, "run")) == len(statuses)
    assert len(of_kind(lines, "resolution")) == 2
    league.venue.markets = [made_market(n, closes="2026-01-15T12:00:00Z") for n in range(5, 9)]
    done = league.tick_at("2026-01-12T10:00:00Z")
    assert done.closed == {"2026-01-12T1000": "complete"} and done.calls == 6
    pen, situation = league.open()
    with pen:
        accounts = situation.ledger.accounts
        assert {name: held.spent for name, held in accounts.items()} == {
            "2026-W02": Decimal("0.06"),
            "2026-W03": Decimal("0.06"),
        }


def test_U2_a_slot_that_ends_on_sunday_night_is_paid_by_its_own_week(tmp_path: Path) -> None:
    league = capped(tmp_path, "0.06", changes={"deadline_minutes = 60": "deadline_minutes = 300"})
    league.venue.markets = [made_market(n, closes="2026-01-15T12:00:00Z") for n in range(1, 5)]
    league.models["model-a"].behaviour = in_turn(dies, answers("0.4", EXACT))
    with pytest.raises(Killed):
        league.tick_at("2026-01-11T22:00:00Z")
    for _ in range(2):  # resumed on Monday; model-a dies once more, at the other market
        with suppress(Killed):
            league.tick_at("2026-01-12T00:03:00Z")
    held = sums(read(league), "week")
    assert set(held) == {"2026-W02"} and held["2026-W02"].committed <= Decimal("0.06")


@pytest.mark.parametrize(
    ("per", "second", "fresh"),
    [
        ("league", "2026-02-02T10:00:00Z", False),
        ("month", "2026-01-26T10:00:00Z", False),
        ("month", "2026-02-02T10:00:00Z", True),
    ],
)
def test_U2_a_cap_for_a_league_or_a_month(
    tmp_path: Path, per: str, second: str, fresh: bool
) -> None:
    league = capped(tmp_path, "0.06", changes={'per = "cohort"': f'per = "{per}"'})
    league.tick_at(FIRST_SLOT)
    closes = f"{second[:8]}{int(second[8:10]) + 3:02}T12:00:00Z"
    league.venue.markets = [made_market(n, closes=closes) for n in range(5, 9)]
    assert league.tick_at(second).calls == (6 if fresh else 0)


# ---- any book at all

AMOUNT = st.decimals("0", "3", places=2).map(lambda amount: abs(amount))
COSTS = st.one_of(st.none(), AMOUNT)
STATUSES = ("answered", "timeout", "unparseable", "refused", "internal", "transport")


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.sampled_from(range(4)), AMOUNT, st.one_of(st.just("lost"), COSTS)),
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_the_ledger_is_the_sum_of_what_was_charged_and_what_may_be(attempts, random) -> None:
    slots = ["2026-01-05T10:00:00Z", "2026-01-11T22:00:00Z", "2026-01-12T10:00:00Z",
             "2026-12-31T10:00:00Z"]  # fmt: skip
    records: list[Record] = [
        Run(at=slot, run=f"r{n}", segment="s", slot=slot, counted=True, snapshot_line=1,
            roster_line=1, questions=())
        for n, slot in enumerate(slots)
    ]  # fmt: skip
    waiting, spent, standing, over = [], Counter(), Counter(), Counter()
    for slot, reserved, cost in attempts:
        records.append(
            Ask(at=slots[-1], run=f"r{slot}", forecaster="f", attempt=1, questions=("q",),
                reserved=str(reserved))
        )  # fmt: skip
        week = week_of(slots[slot])
        if cost != "lost":
            text = None if cost is None else str(cost)
            waiting.append((len(records), f"r{slot}", text))
        if cost in ("lost", None):
            standing[week] += reserved
        else:
            spent[week] += cost
            over[week] += max(Decimal(0), cost - reserved)
        if waiting and random.random() < 0.5:
            records.append(ended(*waiting.pop(random.randrange(len(waiting)))))
    records += [ended(*each) for each in waiting]
    ledger = Ledger("USD", Decimal("10"), "cohort")
    for n, record in enumerate(records, 1):
        ledger.take(n, record)
    total = ledger.total()
    for week, account in ledger.accounts.items():
        assert account.spent == spent[week] and account.standing == standing[week]
        assert account.over == over[week] and account.committed == spent[week] + standing[week]
    assert total.spent == sum(spent.values()) and total.standing == sum(standing.values())
    assert total.asks == len(attempts)


def ended(line: int, run: str, cost: str | None) -> Answer:
    return Answer(
        at="2026-12-31T10:00:00Z",
        run=run,
        forecaster="f",
        status="answered",
        ask_line=line,
        cost=cost,
    )


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[str, str | None]]:
    attempts = st.tuples(
        st.sampled_from(STATUSES),
        st.sampled_from([None, "0", "0.004", "0.01"]),
    )
    return draw(st.lists(attempts, min_size=1, max_size=4))


def scripted(script: list[tuple[str, str | None]]) -> Behaviour:
    steps = [
        answers("0.4", cost) if status == "answered"
        else fails(status, retryable=status in ("timeout", "transport"), cost=cost)
        for status, cost in script
    ]  # fmt: skip
    return in_turn(*steps)


@settings(max_examples=8)
@given(
    st.lists(scripts(), min_size=3, max_size=3),
    st.integers(0, 14),
    st.lists(st.sampled_from(["0.01", "0.02", "0.005"]), min_size=3, max_size=3),
)
def test_U1_whatever_the_models_do_the_cap_holds_and_markets_are_whole(
    given_scripts: list[list[tuple[str, str | None]]], cents: int, prices: list[str]
) -> None:
    """No cost here is above its reservation, so nothing may pass the cap, at any line."""
    with tempfile.TemporaryDirectory() as folder:
        cap = Decimal(cents) / 100
        league = capped(
            Path(folder),
            f"{cap:.2f}",
            {name: scripted(script) for name, script in zip(MODELS, given_scripts, strict=True)},
            markets=3,
            asked=3,
        )
        for model, price in zip(league.models.values(), prices, strict=True):
            model.price = max(Decimal(price), Decimal("0.01"))
        league.tick_at(FIRST_SLOT)
        lines = read(league)
        assert all(most <= cap for most in most_committed(lines).values())
        assert set(asked_of(lines).values()) <= {3}
        (close,) = of_kind(lines, "close")
        if len(asked_of(lines)) < 3:
            assert "budget" in close["why"] and close["status"] != "complete"
        for held in attempts_of(lines).values():
            assert [answer is None for _, answer in held] == [False] * len(held)
            valid = [n for n, (_, answer) in enumerate(held) if answer["status"] == "answered"]
            assert valid in ([], [len(held) - 1])


def test_a_reply_that_says_what_it_cost_is_believed_to_the_last_place(tmp_path: Path) -> None:
    cost = Decimal("0.000001234567")

    def exact(question: str, attempt: int) -> Reply:
        return replace(answers("0.4")(question, attempt), cost=cost)

    league = capped(tmp_path, "50", {"model-a": exact}, asked=2)
    league.tick_at(FIRST_SLOT)
    assert sums(read(league))["model-a"].spent == 2 * cost
    pen, situation = league.open()
    with pen:
        assert situation.ledger.total().spent == Decimal("0.000002469134")
