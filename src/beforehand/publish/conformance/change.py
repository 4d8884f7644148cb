"""Requirement 15: a new methodology is a new segment, and no score crosses from one to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer
from beforehand.publish.conformance.said import listed, number, text
from beforehand.publish.conformance.scores import board_place


def check_segments(exhibit: Exhibit) -> Check:
    """Requirement 15."""
    check = Check(15)
    if exhibit.form == "table":
        versions = {row.other.get("methodology", "") for row in exhibit.rows or ()}
        if "" in versions or not versions:
            check.gap(
                "no row says under which methodology it was made",
                "give every row its methodology version",
            )
        check.gap(
            "a table cannot show that corrections left the original in place", "publish the record"
        )
        return check
    if exhibit.form == "book":
        _check_versions(check, exhibit)
    else:
        _check_declared(check, exhibit)
        _check_board(check, exhibit)
        _check_corrected(check, exhibit)
    if not check.faults and exhibit.segments:
        check.saw(
            f"{len(exhibit.segments)} segments, each with its methodology; every run names one, "
            "and no published score crosses their ends",
            exhibit.at_line(exhibit.segments[0].n),
        )
        if exhibit.corrections:
            check.saw(
                f"{len(exhibit.corrections)} corrections are appended, and what they correct "
                "stands",
                exhibit.at_line(exhibit.corrections[0].n),
            )
        check.holds_since(exhibit.first_at or None)
    elif not check.faults:
        check.gap("the record names no segment", "seal a segment line for each methodology")
    return check


def _check_declared(check: Check, exhibit: Exhibit) -> None:
    named: dict[str, str] = {}
    bodies = {body.n for body in exhibit.bodies if body.role == "methodology"}
    for held in exhibit.segments:
        place = exhibit.at_line(held.n)
        if not held.methodology:
            check.fault("the segment names no methodology version", place)
        if held.n not in bodies:
            check.fault("the segment carries no hash of its methodology", place)
        again = held.segment in named
        if named.setdefault(held.segment, held.methodology) != held.methodology:
            check.fault(
                f"the methodology of the segment {held.segment[:60]!r} changed from "
                f"{named[held.segment][:40]!r} to {held.methodology[:40]!r} within it",
                place,
            )
        elif again:  # what it was scored by would be what was declared since
            check.fault(f"the segment {held.segment[:60]!r} is begun a second time", place)
    first = {held.segment: held.n for held in reversed(exhibit.segments)}
    for run in exhibit.runs:
        if first.get(run.segment, run.n) >= run.n:
            check.fault(
                f"the run names the segment {run.segment[:60]!r}, which does not stand before it",
                exhibit.at_line(run.n),
            )
    current = ""
    events = sorted(
        [(s.n, "s", s.segment) for s in exhibit.segments]
        + [(r.n, "r", r.segment) for r in exhibit.runs]
    )
    for n, what, name in events:
        if what == "s":
            current = name
        elif name != current:
            check.fault(
                f"the run is of the segment {name[:60]!r}, and {current[:60]!r} had begun",
                exhibit.at_line(n),
            )


def _check_board(check: Check, exhibit: Exhibit) -> None:
    """A board is of one segment; its counts are those of that segment's rows."""
    if exhibit.board is None or exhibit.rows is None:
        return
    segment_of = {run.run: run.segment for run in exhibit.runs}
    counted: dict[str, Counter[str]] = {}
    for row in exhibit.rows:
        if row.status == "counted":
            counted.setdefault(row.forecaster, Counter())[segment_of.get(row.run, "")] += 1
    segments = {name for held in counted.values() for name in held}
    boards = {board_place(exhibit).file: exhibit.board, **exhibit.earlier_boards}
    for file, board in boards.items():
        wanted = text(board, "segment")
        if len(segments) > 1 and not wanted:
            check.fault(
                f"one board over {len(segments)} segments: its scores are pooled across them",
                Pointer(file),
            )
        elif wanted:
            _check_counts(check, board, wanted, counted, Pointer(file))


def _check_counts(
    check: Check,
    board: Mapping[str, Any],
    wanted: str,
    counted: Mapping[str, Counter[str]],
    place: Pointer,
) -> None:
    for entry in listed(board, "forecasters"):
        name = text(entry, "forecaster")
        own = counted.get(name, Counter())[wanted]
        if isinstance(entry, dict) and number(entry, "n_counted") not in (own, None):
            check.fault(
                f"{name[:60]!r}: {entry['n_counted']!r:.20} scored on a board of "
                f"{wanted[:60]!r}, which has {own}",
                place,
            )


def _check_corrected(check: Check, exhibit: Exhibit) -> None:
    """What a correction corrects stands where it stood, and is of the kind it must be."""
    outcomes = {held.n for held in exhibit.outcomes}
    fixes = {item.n for item in exhibit.corrections if item.outcome}
    for item in exhibit.corrections:
        named = {n for n in item.lines if type(n) is int}
        if item.outcome and not named & (outcomes | fixes):
            check.fault(
                "the correction changes an outcome, and names no line that gave one",
                exhibit.at_line(item.n),
            )
    if exhibit.board is not None and "corrections" in exhibit.board:
        told = len(listed(exhibit.board, "corrections"))
        # A line that stands twice is requirement 2's.
        own = len({repr(replace(item, n=0)) for item in exhibit.corrections})
        if told != own:
            check.fault(
                f"the board tells of {told} corrections, the record has {own}",
                board_place(exhibit),
            )


def _check_versions(check: Check, exhibit: Exhibit) -> None:
    """The seed's rows carry the version themselves."""
    versions: dict[str, set[str]] = {}
    for row in exhibit.rows or ():
        version = row.other.get("methodology", "")
        if not version:
            check.fault("the row carries no methodology version", row.place)
            return
        versions.setdefault(row.run, set()).add(version)
    for run, held in versions.items():
        if len(held) > 1:
            check.fault(
                f"the run {run[:60]!r} has rows of {len(held)} methodology versions",
                exhibit.at_line(None),
            )
