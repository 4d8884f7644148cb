"""Rung 4 of the ladder: every outcome is what a second, independent source says too.

A `confirmation` line names the question, the second source's value and the
line that settled it, and carries what that source said as evidence. Nothing
passes by a name alone: the evidence is published and hashes to its name.
"""

from __future__ import annotations

from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import counted
from beforehand.publish.conformance.said import Confirmation, Outcome

LEFT_OPEN = (
    "two sources that copy one another; an operator who typed the second one's table; a source "
    "that was chosen question by question once its word was known, and one that differed and was "
    "not sealed; prices and references, of which only the outcome is confirmed"
)


def lacks_second_source(exhibit: Exhibit) -> str:
    """Why not every settled outcome is confirmed; "" where each one is and none differs."""
    settled: dict[str, Outcome] = {}
    for outcome in exhibit.outcomes:
        settled.setdefault(outcome.question, outcome)
    if exhibit.form != "folder" or not settled:
        return "no outcome line of this league can carry a second source's value"
    agreeing, differing = set(), []
    for said in exhibit.confirmations:
        first = settled.get(said.question)
        if first is None or not _is_second(exhibit, said, first):
            continue
        stands = exhibit.outcome_of(said.question)
        if stands is not None and stands[0] == said.value:
            agreeing.add(said.question)
        else:
            differing.append(said.n)
    told = f"{len(agreeing)} of {counted(len(settled), 'outcome')} carry the agreeing value of a "
    told += "second source with its evidence"
    if differing:
        return f"{told}, and {len(differing)} differ (line {differing[0]})"
    return "" if len(agreeing) == len(settled) else told


def _is_second(exhibit: Exhibit, said: Confirmation, first: Outcome) -> bool:
    """Whether a confirmation is of another source, on the line that settled, with evidence."""
    other = _plain(said.source) and _plain(said.source) != _plain(first.source)
    own = {body.sha256 for body in exhibit.bodies_at(first.n)}
    evidence = [
        body.sha256
        for body in exhibit.bodies_at(said.n)
        if body.role == "evidence" and body.sha256 not in own
    ]
    held = any(exhibit.read_body(sha256) for sha256 in evidence)
    return bool(other) and held and said.line == first.n < said.n


def _plain(source: str) -> str:
    return " ".join(source.casefold().split())
