"""One call after a tick: health, metrics, alerts, ping, each from the same facts."""

from __future__ import annotations

from pathlib import Path

from beforehand.anchors.queue import SUBMIT, Queue
from beforehand.relay.alerts import DEADMAN_ENV, WEBHOOK_ENV
from beforehand.relay.watch import Watched, keep_watch
from beforehand.stages.anchoring import QUEUE_NAME
from beforehand.stages.draining import drain_inbox
from beforehand.stages.inbox import Inbox
from tests.relay.made_league import AFTER, MadeLeague, declaration, make_league
from tests.relay.served import served
from tests.relay.test_alerts import SECRET, Hook, hook

__all__ = ["hook"]


def watch(league: MadeLeague, hook: Hook, now: str, **more: object) -> Watched:
    with league.pen() as pen:
        return keep_watch(
            league.folder,
            pen.records(),
            declaration(),
            now,
            environ={WEBHOOK_ENV: hook.url, DEADMAN_ENV: hook.url},
            **more,  # type: ignore[arg-type]
        )


def test_what_is_wrong_reaches_all_who_ask(tmp_path: Path, hook: Hook) -> None:
    league = make_league(tmp_path / "league")
    Inbox(league.folder).accept(league.submission(), league.league_key(), league.clock.now())
    seen = watch(league, hook, AFTER)
    assert [each.id for each in seen.conditions] == ["inbox_backlog"]
    assert seen.problems == ()
    assert [method for method, _, _ in hook.seen] == ["POST", "GET"]
    assert "CRITICAL" in hook.texts[0]
    with served(league) as server:
        assert server.get("/healthz")[1]["status"] == "critical"
        assert b"beforehand_inbox_waiting 1" in server.ask("GET", "/metrics")[2]
    with league.pen() as pen:
        drain_inbox(pen, league.folder)
    assert watch(league, hook, AFTER).conditions == ()
    assert "OVER" in hook.texts[1]
    for path in league.folder.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


def test_an_anchor_that_refuses_all_is_told_and_counted(tmp_path: Path, hook: Hook) -> None:
    league = make_league(tmp_path / "league")
    queue = Queue(league.folder / QUEUE_NAME)
    item = queue.add("tsa", "ab" * 32, SUBMIT, "2025-12-01T00:00:00Z")
    queue.failed(item, AFTER, "HTTP 403")
    seen = watch(league, hook, AFTER)
    assert [each.id for each in seen.conditions] == ["dead_anchor:tsa"]
    assert "HTTP 403" in hook.texts[0]
    figures = (league.folder / "state" / "metrics.prom").read_text()
    assert 'beforehand_condition{id="dead_anchor:tsa",severity="warning"} 1' in figures
    queue.done(queue.items[0])
    assert watch(league, hook, AFTER).conditions == ()


def test_a_tick_that_failed_is_not_pinged(tmp_path: Path, hook: Hook) -> None:
    league = make_league(tmp_path / "league")
    watch(league, hook, AFTER, went_well=False, told=3)
    assert hook.seen == []
    figures = (league.folder / "state" / "metrics.prom").read_text()
    assert "beforehand_tick_problems 3\n" in figures


def test_what_the_public_folder_lacks_is_overdue(tmp_path: Path, hook: Hook) -> None:
    league = make_league(tmp_path / "league")
    Inbox(league.folder).accept(league.submission(), league.league_key(), league.clock.now())
    with league.pen() as pen:
        drain_inbox(pen, league.folder)
    early = league.publish_bare(tmp_path / "public", "2026-01-01T00:00:01Z")
    seen = watch(league, hook, AFTER, public=early)
    assert [each.kind for each in seen.conditions] == ["overdue_body"]
    assert watch(league, hook, AFTER, public=tmp_path / "none").conditions == ()
    later = league.publish_bare(tmp_path / "public", AFTER)
    assert watch(league, hook, AFTER, public=later).conditions == ()
