"""The metrics are read by Prometheus' own parser as what they are."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from beforehand.relay.metrics import (
    CONTENT_TYPE,
    Family,
    exposition,
    league_families,
    read_metrics,
    write_metrics,
)
from beforehand.stages.draining import drain_inbox
from beforehand.stages.health import Condition
from beforehand.stages.inbox import Backlog, Inbox
from tests.relay.made_league import START, declaration, make_league
from tests.relay.served import served

parser = pytest.importorskip(
    "prometheus_client.parser",
    reason="prometheus_client is not installed: pip install 'beforehand[test]'",
)


def read(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_names_help_types_and_hostile_labels_survive_the_parser() -> None:
    hostile = 'a"b\\c\nd{e="f"} # HELP x π'
    family = Family("beforehand_x", "First \\ line\nsecond.", "gauge", [({"id": hostile}, 3)])
    (parsed,) = parser.text_string_to_metric_families(family.text())
    assert (parsed.name, parsed.type) == ("beforehand_x", "gauge")
    assert parsed.documentation == "First \\ line\nsecond."
    assert parsed.samples[0].labels == {"id": hostile}
    assert family.text().count("\n") == 3


def test_a_league_says_what_it_did_and_how_it_is(tmp_path: Path) -> None:
    league = make_league(tmp_path / "league")
    Inbox(league.folder).accept(league.submission(), league.league_key(), START)
    bad = Condition("budget:league", "budget", "warning", START, "x")
    with league.pen() as pen:
        drain_inbox(pen, league.folder)
        families = league_families(
            pen.records(), declaration(), [bad], START, Backlog(2, 1, START, START)
        )
    found = read(exposition(families))
    assert found["beforehand_lines", ()] == 9
    answered = (("forecaster", "ada"), ("status", "answered"))
    assert found["beforehand_answers_total", answered] == 1
    assert found["beforehand_inbox_waiting", ()] == 2
    assert found["beforehand_condition", (("id", "budget:league"), ("severity", "warning"))] == 1
    assert found["beforehand_tick_timestamp_seconds", ()] == 1767225600


def test_the_intake_serves_both_halves(tmp_path: Path) -> None:
    league = make_league(tmp_path / "league")
    assert read_metrics(league.folder) == ""
    money = Family("beforehand_spent", "Money.", "gauge", [({"currency": "USD"}, Decimal("1.25"))])
    write_metrics(league.folder, [money])
    with served(league) as server:
        server.get("/healthz")
        _, headers, body = server.ask("GET", "/metrics")
    assert headers["Content-Type"] == CONTENT_TYPE
    found = read(body.decode())
    assert found["beforehand_spent", (("currency", "USD"),)] == 1.25
    replies = (("route", "/healthz"), ("status", "200"))
    assert found["beforehand_intake_replies_total", replies] == 1
