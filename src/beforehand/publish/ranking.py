"""Who is ranked, and on which forecasts: the set that every ranked forecaster shares.

A forecaster with too few valid answers, or who was asked too little of what is
resolved, is listed without a rank and does not make the set smaller.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from beforehand.errors import IntegrityError
from beforehand.publish.gains import board_text, is_scored, loss, mean_loss, simple_mean
from beforehand.publish.reliability import Attended, Key
from beforehand.publish.rows import Row
from beforehand.publish.rules import CONTESTANTS, Rules
from beforehand.records.codec import digest, seal_json
from beforehand.scoring.exact import decimal_places

# An entrant who could be ranked but for this is told where it would stand.
FROM_OUTSIDE = "from outside: it may have seen the price that is hidden from the models"
Scored = Mapping[str, Mapping[Key, Row]]


def scored_by_key(by_forecaster: Mapping[str, Sequence[Row]]) -> dict[str, dict[Key, Row]]:
    """Every forecaster's counted rows by run and question."""
    return {
        name: {(row.run, row.question): row for row in rows if is_scored(row)}
        for name, rows in by_forecaster.items()
    }


@dataclass(frozen=True)
class SharedSet:
    """The keys on which the forecasters of `names` are compared, and why others are not there.

    `questions` is how many the set is of, each market once.
    """

    keys: tuple[Key, ...]
    names: tuple[str, ...]
    left_out: Mapping[str, str]
    questions: int

    def rows(self, scored: Mapping[Key, Row]) -> list[Row]:
        """One forecaster's rows on the set."""
        return [scored[key] for key in self.keys if key in scored]

    def told(self) -> dict[str, Any]:
        """Size and hash as JSON."""
        return {
            "n": len(self.keys),
            "questions": self.questions,
            "sha256": digest(seal_json([list(key) for key in self.keys])),
        }


def shared_set(
    scored: Scored,
    kinds: Mapping[str, str],
    attended: Mapping[str, Attended],
    rules: Rules,
    within: Collection[Key] | None = None,
) -> SharedSet:
    """The counted forecasts with a crowd that every reliable contestant has.

    Where models are asked, they alone make the set: an entrant from outside
    could else choose, by silence or by answering what nobody was asked, on
    what the models are compared. `within` limits all of it to some runs and
    questions, a cohort.
    """
    people = [name for name, kind in kinds.items() if kind != "derived"]
    makers = [name for name in people if kinds[name] == "asked" or not rules.asked]
    keys_of = {
        name: {
            key
            for key, row in scored[name].items()
            if row.crowd_units is not None and (within is None or key in within)
        }
        for name in makers
    }
    resolved = set().union(*keys_of.values()) if makers else set()
    left_out = {}
    for name in people:
        why = _why_left_out(attended.get(name, Attended()), resolved, rules, within)
        if why:
            left_out[name] = why
    names = tuple(name for name in makers if name not in left_out)
    common = sorted(set.intersection(*(keys_of[name] for name in names))) if names else []
    questions = {scored[names[0]][key].weighed_as for key in common}
    return SharedSet(tuple(common), names, left_out, len(questions))


def _why_left_out(
    held: Attended, resolved: set[Key], rules: Rules, within: Collection[Key] | None
) -> str:
    least = rules.min_reliability
    valid = [key for key in held.valid if within is None or key in within]
    tried = len(valid) + sum(within is None or key in within for key in held.failed)
    if not valid:
        return "no valid answer yet"
    if least is None:
        return ""
    share = Fraction(len(valid), tried)
    if share < least:
        return (
            f"valid answers to {_percent(share)} of what was asked; a rank needs {_percent(least)}"
        )
    asked = sum(key in held.valid or key in held.failed for key in resolved)
    if resolved and Fraction(asked, len(resolved)) < least:
        part = _percent(Fraction(asked, len(resolved)))
        return f"asked in {part} of the resolved forecasts; a rank needs {_percent(least)}"
    return ""


def _percent(share: Fraction) -> str:
    return decimal_places(share * 100, 1).removesuffix(".0") + " %"


def why_not_on_shared(
    name: str,
    kind: str,
    shared: SharedSet,
    scored: Mapping[Key, Row],
    has_interval: bool,
    rules: Rules,
) -> str:
    """Why a forecaster takes no rank on the shared set, "" where it takes one.

    The crowd and the pools rank beside the models; baselines do not, nor does
    an entrant from outside where the models are blind: it can look the price
    up, at the deadline, when the crowd's is an hour old.
    """
    if kind == "derived" and rules.derived.get(name) not in CONTESTANTS:
        return "a baseline, not a contestant"
    if name in shared.left_out:
        return shared.left_out[name]
    missing = sum(key not in scored for key in shared.keys)
    if missing:
        return f"no forecast on {missing} of the {len(shared.keys)} shared"
    if shared.questions < rules.min_events:
        return f"fewer than {rules.min_events} resolved questions in the shared set"
    if not has_interval:
        return f"fewer than {rules.min_clusters_interval} events in the shared set"
    if kind == "accepted" and rules.blind:
        return FROM_OUTSIDE
    return ""


def why_not_on_own(kind: str, counted: Sequence[Row], has_interval: bool, rules: Rules) -> str:
    """Why a forecaster takes no rank on its own questions, "" where it takes one."""
    if kind == "derived":
        return "derived, not a contestant"
    if len({row.weighed_as for row in counted}) < rules.min_events:
        return f"fewer than {rules.min_events} resolved events"
    if not has_interval:
        return f"fewer than {rules.min_clusters_interval} questions to compare on"
    return ""


def give_ranks(entries: list[dict[str, Any]], gains: Mapping[str, Fraction | None]) -> None:
    """Rank by the exact gain, the most first; equal gains share a rank. The others follow, by n."""

    def exact(entry: dict[str, Any]) -> Fraction:
        gain = gains[entry["forecaster"]]
        if gain is None:  # a rank demands an interval, and an interval a mean
            raise IntegrityError(f"{entry['forecaster']} is ranked and has no gain")
        return gain

    ranked = [entry for entry in entries if not entry["why_unranked"]]
    ranked.sort(key=lambda entry: (-exact(entry), entry["forecaster"]))
    for place, entry in enumerate(ranked, 1):
        before = ranked[place - 2] if place > 1 else None
        tie = before is not None and exact(before) == exact(entry)
        entry["rank"] = before["rank"] if tie and before else place
    rest = [entry for entry in entries if entry["why_unranked"]]
    for entry in rest:
        gain = gains[entry["forecaster"]]
        if entry["why_unranked"] == FROM_OUTSIDE and gain is not None:
            place = 1 + sum(exact(other) > gain for other in ranked)
            entry["why_unranked"] += f"; beside them it would stand at place {place}"
    rest.sort(key=lambda e: (e["kind"] != "derived", -e["n_counted"], e["forecaster"]))
    entries[:] = ranked + rest


def own_shared(names: Sequence[str], scored: Scored, rules: Rules) -> dict[str, Any]:
    """The events that every ranked forecaster of its own questions answered, as JSON."""
    held = {name: {key[1]: row for key, row in scored[name].items()} for name in names}
    common = sorted(set.intersection(*map(set, held.values()))) if names else []
    grid = rules.grid
    losses = {
        name: simple_mean(grid.brier(loss(held[name][question], grid)) for question in common)
        for name in names
    }
    return {
        "n": len(common),
        "questions": len(common),
        "least": rules.shared_min,
        "sha256": digest(seal_json(common)),
        "brier": losses if len(common) >= rules.shared_min else None,
    }


def shared_told(
    shared: SharedSet, ranked: Sequence[str], scored: Scored, rules: Rules
) -> dict[str, Any]:
    """The shared set with the loss of everyone ranked on it, as JSON.

    `forecasters` are those whose answers make the set; pools, the crowd and
    entrants from outside are compared on it and never make it smaller.
    """
    losses = {name: board_text(mean_loss(shared.rows(scored[name]), rules).mean) for name in ranked}
    return {
        **shared.told(),
        "least": rules.shared_min,
        "forecasters": list(shared.names),
        "brier": losses if ranked and shared.questions >= rules.shared_min else None,
    }
