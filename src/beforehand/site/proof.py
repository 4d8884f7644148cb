"""The proof pages: a day's stamps, channels and lines, and the index of days.

They show what is published and what evidence says of itself. The operator
makes them, and nothing on them is a check: each prints the commands of one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from beforehand.anchors.evidence_file import LIST_NAME
from beforehand.book.stamped_list import StampedList
from beforehand.errors import FormatError
from beforehand.publish.stamps import (
    STAMPS_NAME,
    WITNESS_NAME,
    PublishedEvidence,
    PublishedStamp,
)
from beforehand.records.codec import digest
from beforehand.site.catalogue import Catalogue
from beforehand.site.ledger import LineFact
from beforehand.site.proofdays import Day, Sealed, day_of
from beforehand.site.text import NOTHING, count, cut

MEANINGS = {
    "kept": "a file that its anchor gave lies beside the list; nothing on this page checks it",
    "pending": "a promise: proves nothing yet",
    "failed": "the anchor gave nothing for a day, which the book says; it proves nothing",
    "none kept": "declared, and no file lies beside the list: not answered yet, or not asked",
    "not asked": "no list over this checkpoint is published, which is what anchors are asked with",
}


def proof_index(catalogue: Catalogue) -> dict[str, Any]:
    """What `proofs.html.j2` shows: every day, the newest first."""
    return {
        "days": [_listed(day) for day in reversed(catalogue.proof_days.values())],
        "undated": count(sum(not day_of(fact.at) for fact in catalogue.ledger.facts.values())),
        "meanings": list(MEANINGS.items()),
    }


def proof_page(day: Day, part: int, catalogue: Catalogue) -> dict[str, Any]:
    """What `proof.html.j2` shows of a day: its `part`-th page, from 0."""
    names, lines = day.names(), day.parts()[part]
    sizes = range(lines[0].n, lines[-1].n + 1) if lines else range(0)
    sealed = [held for held in day.sealed if held.size in sizes]
    stamps = [_stamp(held, catalogue) for held in sealed]
    days = list(catalogue.proof_days)
    place = days.index(day.day)
    return {
        "day": day.day,
        "part": part + 1,
        "parts_of": [(name, n) for n, name in enumerate(names, 1)],
        "facts": [
            (count(len(day.lines)), "line" if len(day.lines) == 1 else "lines", ""),
            (count(len(day.sealed)), "checkpoint" if len(day.sealed) == 1 else "checkpoints", ""),
            (count(sum(held.stamp is not None for held in day.sealed)), "with a stamped list", ""),
        ],
        "before": days[place - 1] if place else "",
        "after": days[place + 1] if place + 1 < len(days) else "",
        "stamps": stamps,
        "words": [(word, MEANINGS[word]) for word in MEANINGS if word in _states(stamps)],
        "dated": [_dated(stamp, each, catalogue) for stamp, each in day.dated] if not part else [],
        "runs": list(_runs(day.day, catalogue)) if not part else [],
        "failures": [_failure(fact) for fact in lines if _is_failure(fact)],
        "lines": [_line(fact, catalogue) for fact in lines],
        "example": _example(sealed, catalogue),
    }


def _listed(day: Day) -> dict[str, Any]:
    stamped = [held.stamp for held in day.sealed if held.stamp is not None]
    files = [evidence for stamp in stamped for evidence in stamp.evidence]
    return {
        "day": day.day,
        "first": day.lines[0].n if day.lines else NOTHING,
        "last": day.lines[-1].n if day.lines else NOTHING,
        "lines": count(len(day.lines)),
        "checkpoints": count(len(day.sealed)),
        "stamped": count(len(stamped)),
        "kept": count(sum(not each.pending for each in files)),
        "pending": count(sum(each.pending for each in files)),
        "failures": count(sum(_is_failure(fact) for fact in day.lines)),
        "dated": count(len(day.dated)),
    }


# ---- stamps and their channels


def _stamp(held: Sealed, catalogue: Catalogue) -> dict[str, Any]:
    path = f"{STAMPS_NAME}/{held.size}/{LIST_NAME}"
    return {
        "size": held.size,
        "at": held.at,
        "root": held.root,
        "note": f"checkpoints/{held.size}",
        "list": path if held.stamp is not None else "",
        "sha256": digest(held.stamp.listed) if held.stamp is not None else "",
        "fits": _fits(held),
        "channels": list(_channels(held, catalogue)),
    }


def _fits(held: Sealed) -> str:
    """Whether the list names this very checkpoint, in words; "" where there is no list."""
    if held.stamp is None:
        return ""
    try:
        trees = StampedList.parse(held.stamp.listed).trees
    except FormatError as error:
        return f"it is no stamped list: {error!s:.200}"
    same = any((tree.size, tree.root.hex()) == (held.size, held.root) for tree in trees)
    return "it names this size and root" if same else "it does not name this size and root"


def _channels(held: Sealed, catalogue: Catalogue) -> Iterator[dict[str, Any]]:
    """One entry a channel and file: those the declaration names, and whatever else is there."""
    said = catalogue.proof_lines.get(held.size, {})
    files: dict[str, list[PublishedEvidence]] = {}
    for evidence in held.stamp.evidence if held.stamp is not None else ():
        files.setdefault(evidence.anchor, []).append(evidence)
    for anchor in dict.fromkeys([*_declared(catalogue), *files, *said]):
        lines = said.get(anchor, [])
        for evidence in files.get(anchor, ()):
            yield _channel(held.size, anchor, evidence, lines)
        if anchor not in files:
            yield {
                **_empty(anchor, lines),
                "state": _unkept(held, lines),
            }


def _unkept(held: Sealed, lines: Sequence[LineFact]) -> str:
    if any(fact.content.get("state") == "failed" for fact in lines):
        return "failed"
    return "none kept" if held.stamp is not None else "not asked"


def _empty(anchor: str, lines: Sequence[LineFact]) -> dict[str, Any]:
    return {
        "anchor": cut(anchor, 60),
        "href": "",
        "name": "",
        "sha256": "",
        "fault": "",
        "times": [],
        "words": "",
        "lines": [(fact.n, str(fact.content.get("state"))) for fact in lines],
    }


def _channel(
    size: int, anchor: str, evidence: PublishedEvidence, lines: Sequence[LineFact]
) -> dict[str, Any]:
    told = {
        **_empty(anchor, lines),
        "state": "pending" if evidence.pending else "kept",
        "href": f"{STAMPS_NAME}/{size}/{quote(evidence.name)}",
        "name": cut(evidence.name, 80),
        "sha256": evidence.sha256,
    }
    said = evidence.stated
    if said is not None and said.fits is False:
        told["fault"] = "it is over something else than this list: it proves nothing of it"
    elif said is not None:
        told["times"] = [(time.at, cut(time.clock, 120)) for time in said.times]
        told["words"] = cut(said.words, 300)
    return told


def _declared(catalogue: Catalogue) -> list[str]:
    """The channels that the declaration names; authorities by their own names where it does."""
    declared: Mapping[str, Any] = catalogue.fold.declaration.content.get("anchors", {})
    names: list[str] = []
    for word in declared.get("use", ()):
        names += declared.get("authorities") or [] if word == "rfc3161" else [word]
    return names


def _states(stamps: Sequence[Mapping[str, Any]]) -> set[str]:
    return {channel["state"] for stamp in stamps for channel in stamp["channels"]}


def _dated(
    stamp: PublishedStamp, evidence: PublishedEvidence, catalogue: Catalogue
) -> dict[str, Any]:
    """Evidence of this day over an earlier checkpoint, with the page of that one."""
    told = _channel(stamp.size, evidence.anchor, evidence, ())
    return {**told, "size": stamp.size, "href_day": catalogue.proof_href(stamp.size)}


def _example(sealed: Sequence[Sealed], catalogue: Catalogue) -> dict[str, str] | None:
    """The commands for the page's last stamp with evidence over its list, else its last list."""
    stamps = [held.stamp for held in sealed if held.stamp is not None]
    if not stamps:
        return None
    stamp = next((stamp for stamp in reversed(stamps) if _to_check(stamp)), stamps[-1])
    base = f"api/v1/{catalogue.view.league}"
    path = f"{base}/{STAMPS_NAME}/{stamp.size}/"
    evidence = _to_check(stamp)
    return {
        "size": str(stamp.size),
        "book": f"{base}/book.jsonl",
        "list": f"{path}{LIST_NAME}",
        "evidence": shlex.quote(path + evidence) if evidence else "",
    }


def _to_check(stamp: PublishedStamp) -> str:
    """Evidence that `verify LIST EVIDENCE` takes: cosignatures are checked with the checkpoint."""
    for each in stamp.evidence:
        if each.stated is not None and each.stated.fits and each.name != WITNESS_NAME:
            return each.name
    return ""


# ---- lines, runs, failures


def _is_failure(fact: LineFact) -> bool:
    return fact.kind == "proof" and fact.content.get("state") == "failed"


def _failure(fact: LineFact) -> dict[str, Any]:
    content = fact.content
    return {
        "n": fact.n,
        "at": fact.at,
        "anchor": cut(str(content.get("anchor")), 60),
        "size": content.get("checkpoint_size", NOTHING),
        "attempts": content.get("attempts", NOTHING),
        "reason": cut(str(content.get("reason", "none given")), 400),
    }


def _line(fact: LineFact, catalogue: Catalogue) -> dict[str, Any]:
    seat = fact.content.get("forecaster")
    named = isinstance(seat, str) and seat in catalogue.by_forecaster
    return {
        "n": fact.n,
        "href": catalogue.href_of(fact.n),
        "kind": cut(fact.kind, 40),
        "seat": cut(seat, 60) if isinstance(seat, str) else NOTHING,
        "page": f"f/{seat}.html" if named else "",
        "at": cut(fact.at, 40),
        "seal": cut(fact.seal, 64) or NOTHING,
        "link": cut(fact.link, 64) or NOTHING,
    }


def _runs(day: str, catalogue: Catalogue) -> Iterator[dict[str, Any]]:
    """The runs that began or whose intake closes this day."""
    fold = catalogue.fold
    for name, (line, record) in fold.runs.items():
        deadline = fold.roster_of(name).deadline
        closed, close = fold.closes.get(name, (None, None))
        if day in (day_of(record.at), day_of(deadline)):
            yield {
                "run": name,
                "line": line,
                "at": record.at,
                "deadline": deadline,
                "closed": close.at if close is not None else "",
                "close_line": closed or "",
            }
