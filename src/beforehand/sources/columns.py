"""Which column plays which part: names that are recognised, and the faults of a header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from beforehand.sources.faults import TableError, shown

# Upper and lower case, spaces, hyphens and underscores make no difference.
NAMES: Mapping[str, tuple[str, ...]] = {
    "forecaster": (
        *("forecaster", "forecaster_id", "forecaster_name", "model", "model_name", "model_id"),
        *("user", "user_id", "username", "agent", "agent_id", "bot", "participant"),
    ),
    "question": ("question", "question_id", "qid", "id", "market", "market_id"),
    "probability": (
        *("probability", "p", "prob", "forecast", "prediction", "probability_yes", "prob_yes"),
        *("p_yes", "yes_probability", "predicted_probability", "forecast_probability"),
    ),
    "outcome": (
        *("outcome", "resolved_to", "result", "resolution", "y", "label", "y_true", "actual"),
    ),
    "crowd": (
        *("crowd", "market_price", "crowd_p", "price", "crowd_probability", "crowd_prob"),
        *("market_probability", "market_prob", "community_prediction"),
    ),
    "cluster": (
        *("cluster", "cluster_id", "event", "event_id", "event_cluster", "session", "session_id"),
        *("group", "group_id"),
    ),
    "time": (
        *("time", "date", "datetime", "timestamp", "created_at", "forecast_time", "submitted_at"),
    ),
    "segment": ("segment", "segment_id"),
    "side": ("side", "answer_side", "direction"),
    "status": (
        *("status", "failure", "failure_code", "failure_reason", "missing", "missing_reason"),
        *("error", "error_code"),
    ),
}
REQUIRED = ("forecaster", "question", "probability", "outcome")
_SAME = re.compile(r"[\s_\-]+")
_NUMBER = re.compile(r"\s*[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?%?\s*", re.ASCII)


@dataclass(frozen=True)
class Columns:
    """The place of each role in the header, and what is to be said about the choice."""

    places: Mapping[str, int]
    notes: tuple[str, ...]


class ColumnError(TableError):
    """A role that two columns could play, or none; its `todo` ends in how to settle it in Python.

    `todo` is what else can be done, `role` and `column` the choice that would settle it.
    """

    def __init__(self, where: str, what: str, todo: str, role: str, column: str) -> None:
        self.role, self.column, self._parts = role, column, (where, what, todo)
        super().__init__(where, what, f"{todo}, or say which with columns={{{role!r}: {column!r}}}")

    def said(self, choice: str) -> TableError:
        """The same error with another way to write the choice, such as an option of a command.

        >>> error = ColumnError("t.csv", "no column for the time", "rename one", "time", "when")
        >>> str(error.said("--column time=when"))
        't.csv: no column for the time; rename one, or say which with --column time=when'
        """
        where, what, todo = self._parts
        return TableError(where, what, f"{todo}, or say which with {choice}")


def plain_name(name: str) -> str:
    """A column name as it is compared.

    >>> plain_name(" Question_ID ")
    'questionid'
    """
    return _SAME.sub("", name.casefold())


_ROLES = {plain_name(name): role for role, names in NAMES.items() for name in names}


def recognise(
    header: Sequence[str], where: str, chosen: Mapping[str, str | None] | None = None
) -> Columns:
    """The columns of a header; `chosen` settles a role by column name, or says it has none.

    FormatError names two columns that could play one role, a role that no
    column plays, and a header that is none.

    >>> recognise(["Model", "qid", "p", "y"], "t.csv").places["forecaster"]
    0
    """
    chosen = dict(chosen or {})
    places = _chosen_places(header, where, chosen)
    candidates: dict[str, list[int]] = {}
    for place, name in enumerate(header):
        role = _ROLES.get(plain_name(name))
        if role is not None and role not in chosen and place not in places.values():
            candidates.setdefault(role, []).append(place)
    for role, found in candidates.items():
        if len(found) > 1:
            first, second = (header[place] for place in found[:2])
            what = f"{shown(first)} and {shown(second)} could both be the {role}"
            raise ColumnError(where, what, "rename one", role, first)
        places[role] = found[0]
    for role in REQUIRED:
        if role not in places and any(_NUMBER.fullmatch(name) for name in header):
            raise TableError(
                where,
                f"{_listed(header)} look like data; the line with the column names is missing",
                f"put {','.join(REQUIRED)} above it",
            )
        if role not in places:
            what = f"no column for the {role}; found {_listed(header)}"
            todo = f"name it one of {', '.join(NAMES[role])}"
            raise ColumnError(where, what, todo, role, "NAME")
    return Columns(places, _notes(header, places))


def _chosen_places(
    header: Sequence[str], where: str, chosen: Mapping[str, str | None]
) -> dict[str, int]:
    places = {}
    for role, name in chosen.items():
        if role not in NAMES:
            raise TableError("columns", f"{role!r} is no role", f"roles are {', '.join(NAMES)}")
        if name is None:
            continue
        if list(header).count(name) != 1:
            raise TableError(
                where,
                f"{list(header).count(name)} columns are named {shown(name)}",
                f"found {_listed(header)}",
            )
        places[role] = list(header).index(name)
    return places


def _notes(header: Sequence[str], places: Mapping[str, int]) -> tuple[str, ...]:
    notes = [
        f"column {header[place]!r} is read as the {role}"
        for role, place in sorted(places.items(), key=lambda item: item[1])
        if header[place] != role
    ]
    rest = [name for place, name in enumerate(header) if place not in places.values()]
    if rest:
        notes.append(f"columns passed over: {_listed(rest)}")
    return tuple(notes)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(shown(name) for name in names[:12]) + more
