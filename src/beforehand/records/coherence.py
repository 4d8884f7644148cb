"""What the keys of a declaration must have in common, beyond the shape of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from beforehand.clock import instant_key
from beforehand.errors import FormatError

# In each of these tables the first key may not be above the second.
_DECLARED_ORDERS = (
    ("questions.select", "price_low", "price_high"),
    ("questions.select", "min_hours", "max_hours"),
    ("schedule", "slot", "deadline"),
    ("derived", "first_year", "last_year"),
    ("derived", "low", "high"),
    ("primary", "first_session", "last_session"),
    ("readers", "confidence_low", "confidence_high"),
    ("portfolios", "weight_low", "weight_high"),
    ("portfolios", "gross_low", "gross_high"),
)
# In each of these lists no two tables may have the same value under the key.
_DECLARED_NAMES = (
    ("derived", "forecaster"),
    ("questions.indicators", "code"),
    ("questions.horizons", "name"),
    ("roster.groups", "name"),
    ("roster.seats", "forecaster"),
    ("models", "forecaster"),
    ("entrants", "forecaster"),
    ("arms", "name"),
    ("portfolios", "name"),
)


def declared_at(content: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every `(place, value)` under a dotted path; each table of a list is gone into.

    >>> list(declared_at({"arms": [{"name": "open"}]}, "arms.name"))
    [('.arms[0].name', 'open')]
    """
    places: list[tuple[str, Any]] = [("", content)]
    for key in path.split("."):
        found: list[tuple[str, Any]] = []
        for where, value in places:
            if not isinstance(value, dict) or key not in value:
                continue
            held, place = value[key], f"{where}.{key}"
            if isinstance(held, list) and all(isinstance(item, dict) for item in held):
                found += [(f"{place}[{n}]", item) for n, item in enumerate(held)]
            else:
                found.append((place, held))
        places = found
    yield from places


def check_coherence(content: Mapping[str, Any]) -> None:
    """FormatError, naming the place, where two keys of a checked declaration contradict."""
    for path, low, high in _DECLARED_ORDERS:
        for where, table in declared_at(content, path):
            if (
                low in table
                and high in table
                and _declared_key(table[low]) > _declared_key(table[high])
            ):
                raise FormatError(f"{where}.{low}: {table[low]} is above {high}, {table[high]}")
    for path, key in _DECLARED_NAMES:
        seen: set[str] = set()
        for where, table in declared_at(content, path):
            if table[key] in seen:
                raise FormatError(f"{where}.{key}: {table[key]!r} stands twice")
            seen.add(table[key])
    _check_declared_scoring(content["scoring"])
    _check_declared_service(content)
    _check_declared_archive(content)
    _check_declared_board(content)
    _check_declared_questions(content)
    _check_declared_cells(content)
    _check_declared_runs(content)
    _check_declared_anchors(content)
    for where, identity in declared_at(content, "models.identity"):
        if identity == "sealed":
            raise FormatError(
                f"{where}: a declaration is public; list a sealed identity in roster.toml"
            )


def _declared_key(value: Any) -> Any:
    """Instants as times, decimal text as numbers, integers as they are."""
    if not isinstance(value, str):
        return value
    return instant_key(value) if "T" in value else Decimal(value)


def _check_declared_scoring(scoring: Mapping[str, Any]) -> None:
    grid, clamp = Decimal(scoring["grid"]), Decimal(scoring["clamp"])
    if not 0 < clamp < Decimal("0.5") or clamp % grid:
        raise FormatError(
            f".scoring.clamp: {clamp} is not a multiple of the grid, {grid}, above 0 and below 0.5"
        )


def _check_declared_service(content: Mapping[str, Any]) -> None:
    """A service score and what it fills in go together; the worst in it needs that there is one."""
    scoring, answers = content["scoring"], content["answers"]
    scored = "service_score" in scoring.get("also", ())
    if scored and "service_fill" not in scoring:
        raise FormatError('.scoring.also: "service_score" needs the key "service_fill"')
    if "service_fill" in scoring and not scored:
        raise FormatError('.scoring.service_fill: needs "service_score" in scoring.also')
    if answers["entry"] == "committed" or "not_revealed" not in answers:
        return
    if content["bodies"].get("answer", "line") == "line":
        raise FormatError('.answers.not_revealed: needs bodies.answer = "deadline"')
    if answers["not_revealed"] == "worst_in_service" and not scored:
        raise FormatError(
            '.answers.not_revealed: "worst_in_service" needs "service_score" in scoring.also'
        )


def _check_declared_cells(content: Mapping[str, Any]) -> None:
    """Salts hide what is withheld; a public cell needs none."""
    salted = content["answers"].get("cells") == "salted"
    if salted and content["bodies"].get("answer", "line") == "line":
        raise FormatError('.answers.cells: "salted" needs bodies.answer = "deadline"')


def _check_declared_runs(content: Mapping[str, Any]) -> None:
    """Which run counts is a choice only where there are several, and only by a schedule."""
    rule, schedule = content["counted_run"]["rule"], content["schedule"]
    if schedule.get("others") and rule != "scheduled_run":
        raise FormatError(
            f'.schedule.others: counted_run.rule = "{rule}" would count them; '
            'slots that do not count need "scheduled_run"'
        )
    if rule == "scheduled_run" and schedule["kind"] not in ("cron", "sessions"):
        raise FormatError(
            f'.counted_run.rule: "scheduled_run" needs a schedule of several runs, and '
            f'schedule.kind = "{schedule["kind"]}" has none; write "only_run"'
        )


def _check_declared_anchors(content: Mapping[str, Any]) -> None:
    """Who stamps every answer is one of the authorities that are declared."""
    anchors = content.get("anchors", {})
    each = anchors.get("each_answer", ())
    if each and "rfc3161" not in anchors["use"]:
        raise FormatError('.anchors.each_answer: a token an answer needs "rfc3161" in anchors.use')
    for name in each:
        if name not in anchors.get("authorities", [name]):
            raise FormatError(f".anchors.each_answer: {name!r:.60} is none of anchors.authorities")


def _check_declared_archive(content: Mapping[str, Any]) -> None:
    """Answers and outcomes of an archive belong to its own questions."""
    if content["questions"]["from"] == "archive":
        return
    for place in ("answers.from", "resolution.from"):
        for where, value in declared_at(content, place):
            if value == "archive":
                raise FormatError(f'{where}: "archive" needs questions.from = "archive"')


def _check_declared_board(content: Mapping[str, Any]) -> None:
    board = content["board"]
    if not 0 < Decimal(board["confidence"]) < 1:
        raise FormatError(f".board.confidence: {board['confidence']} is not between 0 and 1")
    if board["rank_by"] == "paired_gain" and "against" not in board:
        raise FormatError('.board: rank_by = "paired_gain" needs the key "against"')
    if board["rank_by"] == "cwr" and "trading" not in content:
        raise FormatError('.board.rank_by: "cwr" needs the table [trading]')
    rules = {rule for _, rule in declared_at(content, "derived.rule")}
    against = board.get("against", "leave_one_out_median")
    if against != "leave_one_out_median" and against not in rules:
        raise FormatError(f'.board.against: no [[derived]] has the rule "{against}"')
    if board["interval"] == "cluster_bootstrap" or "bootstrap_from" in board:
        for key in ("resamples", "seed"):
            if key not in board:
                raise FormatError(f'.board: a bootstrap needs the key "{key}"')


def _check_declared_questions(content: Mapping[str, Any]) -> None:
    for where, item in declared_at(content, "questions.indicators"):
        if item.get("end") == "local_time" and "end_local" not in item:
            raise FormatError(f'{where}: end = "local_time" needs the key "end_local"')
    horizons = [name for _, name in declared_at(content, "questions.horizons.name")]
    named = {name for _, name in declared_at(content, "derived.forecaster")}
    for where, primary in declared_at(content, "primary"):
        if primary["horizon"] not in horizons:
            raise FormatError(f"{where}.horizon: {primary['horizon']!r} is not a declared horizon")
        for key in ("forecaster", "against"):
            if primary[key] not in named:
                raise FormatError(f"{where}.{key}: {primary[key]!r} is not a derived forecaster")
