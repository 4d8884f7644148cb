"""Mutants of the record itself, of history rewritten after its stamp, and of the stamps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beforehand.testing.mutants_events import (
    AM,
    LAST,
    NEXT,
    PM,
    declared,
    drop,
    lose_body,
    move,
    put,
)
from beforehand.testing.mutants_files import Files
from beforehand.testing.mutants_kinds import ChangeFiles, ChangeLines, Mutant, said
from beforehand.testing.mutants_league import Draft, ref, stand_in


def record_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [*_record(), *_rewritten(), *_anchors()]


# ---- requirement 2


def _note(label: str, **fields: Any) -> dict[str, Any]:
    """A correction that changes no outcome."""
    return {"_label": label, "at": "2026-01-08T10:00:00Z", "kind": "correction",
            "what": "a word", "source": "made-up", "reason": "a typing error",
            "lines": [ref("q1")], **fields}  # fmt: skip


def _after_correction(line: dict[str, Any]) -> ChangeLines:
    return lambda draft: draft.insert_after("correction", line)


def _second_outcome(draft: Draft) -> None:
    first = draft.line("q1/outcome")
    other = "no" if first["outcome"] == "yes" else "yes"
    draft.insert_after("q3/outcome", {**first, "_label": "again", "outcome": other})


def _record() -> list[Mutant]:
    return [
        said(2, "snapshot-unhashed", "a snapshot without the hash of what was shown",
              drop(f"{AM}/snapshot", "bodies")),
        said(2, "snapshot-unnamed", "a run that names no snapshot",
              put(f"{AM}/run", snapshot_line=ref("nowhere"))),
        said(2, "snapshot-other-kind", "a run that names another line as its snapshot",
              put(f"{AM}/run", snapshot_line=ref("q1"))),
        said(2, "question-unhashed", "a question without the hash of its text",
              drop("q2", "bodies")),
        said(2, "question-unpublished", "a question whose text was never published",
              lose_body("q2")),
        said(2, "ask-unpublished", "a sent text that was never published",
              lose_body(f"{NEXT}/ant/ask1")),
        said(2, "snapshot-unpublished", "a snapshot that was never published",
              lose_body(f"{NEXT}/snapshot")),
        said(2, "methodology-unpublished", "a methodology that was never published",
              lose_body("s2")),
        said(2, "correction-of-later-line", "a correction of a line that comes after it",
              _after_correction(_note("note", lines=[ref("release")]))),
        said(2, "correction-of-itself", "a correction of its own line",
              _after_correction(_note("note", lines=[ref("note")]))),
        said(2, "correction-of-nothing", "a correction that names no line",
              _after_correction(_note("note", lines=[]))),
        said(2, "correction-of-line-0", "a correction of a line that cannot be",
              _after_correction(_note("note", lines=[0]))),
        said(2, "correction-without-reason", "a correction without its reason",
              put("correction", reason="")),
        said(2, "correction-without-source", "a correction without its source",
              put("correction", source="")),
        said(2, "second-outcome", "a second outcome, and no correction", _second_outcome),
        said(2, "time-runs-back", "a line dated before the one ahead of it",
              put(f"{AM}/close", at="2026-01-05T10:00:00Z")),
        said(2, "time-unreadable", "a line whose time is none",
              put(f"{AM}/close", at="yesterday")),
    ]  # fmt: skip


def _rewritten() -> list[Mutant]:
    """History changed after it was stamped; chain, tree and signatures are all made anew."""
    kept: dict[str, Any] = {"stamped_before": True}
    return [
        said(2, "rewritten-line", "one probability changed after its stamp", _other_p,
              attack="rewritten line", **kept),
        said(2, "inserted-line", "a line put in after the stamp", _inserted,
              attack="inserted line", **kept),
        said(2, "deleted-line", "a line taken out after the stamp", _deleted,
              attack="rewritten line", **kept),
        said(2, "dropped-tail", "the end cut off after the last stamp", _cut,
              attack="dropped tail after a stamp", **kept),
        said(2, "correction-edits-history", "an outcome edited in place and no correction",
              _edited, attack="a correction that edits history", **kept),
        said(2, "moved-line", "two lines exchanged after the stamp",
              move("q2", "q3"), attack="rewritten line", **kept),
        said(2, "renamed-forecaster", "answers given to another after the stamp", _swapped,
              attack="rewritten line", **kept),
    ]  # fmt: skip


def _other_p(draft: Draft) -> None:
    draft.line(f"{AM}/hum/answer")["cells"][0]["p"] = "0.99"


def _inserted(draft: Draft) -> None:
    draft.insert_after("q2", {"_label": "late", "kind": "note", "text": "put in later"})


def _deleted(draft: Draft) -> None:
    before = draft.lines[draft.place(f"{AM}/close") - 1]["_label"]
    draft.lines.remove(draft.line(f"{AM}/close"))
    for anchor in ("rfc3161", "rekor"):
        draft.line(f"{AM}/{anchor}")["checkpoint_size"] = ref(before)


def _cut(draft: Draft) -> None:
    draft.lines = draft.lines[: draft.place(f"{LAST}/hum/answer")]


def _edited(draft: Draft) -> None:
    line = draft.line("q8/outcome")
    line["outcome"] = "no" if line["outcome"] == "yes" else "yes"


def _swapped(draft: Draft) -> None:
    first, second = draft.line(f"{AM}/ant/answer"), draft.line(f"{AM}/hum/answer")
    first["cells"][0]["p"], second["cells"][0]["p"] = (
        second["cells"][0]["p"],
        first["cells"][0]["p"],
    )


# ---- requirement 3


def _unstamped(*runs: str) -> ChangeLines:
    def change(draft: Draft) -> None:
        draft.outside = [held for held in draft.outside if not any(r in held[0] for r in runs)]
        labels = {f"{run}/{anchor}" for run in runs for anchor in ("rfc3161", "rekor")}
        draft.lines = [line for line in draft.lines if line["_label"] not in labels]

    return change


def _pending(draft: Draft) -> None:
    draft.outside = []
    for line in draft.of_kind("proof"):
        line["state"] = "pending"


def _no_channel(draft: Draft) -> None:
    draft.lines = [line for line in draft.lines if line.get("anchor") != "rekor"]


def _no_channel_of(run: str) -> ChangeLines:
    def change(draft: Draft) -> None:
        draft.lines = [line for line in draft.lines if line["_label"] != f"{run}/rekor"]

    return change


def _stamped_early(draft: Draft) -> None:
    label = f"{LAST}/run"
    draft.outside = [(name, label if LAST in name else held) for name, held in draft.outside]
    for anchor in ("rfc3161", "rekor"):
        draft.line(f"{LAST}/{anchor}")["checkpoint_size"] = ref(label)


def _all_by(data: Callable[[str], bytes], anchor: str = "") -> ChangeLines:
    """Every proof of the log replaced by other bytes, under another name where one is given."""

    def change(draft: Draft) -> None:
        for line in draft.of_kind("proof"):
            if line["anchor"] == "rekor":
                line["anchor"] = anchor or "rekor"
                line["bodies"][1] = draft.body("proof", data(line["_label"]), line["at"])

    return change


def _only_detached(draft: Draft) -> None:
    draft.lines = [line for line in draft.lines if line["kind"] != "proof"]


def _detached_as(end: str | None, data: bytes | None = None) -> ChangeFiles:
    """The files beside each list under another ending, with other bytes, or gone."""

    def change(files: Files) -> None:
        for name in [name for name in files if name.endswith(".tsr")]:
            held = files.pop(name)
            if end is not None:
                files[name + end] = held if data is None else data

    return change


def _list_of_others(draft: Draft) -> None:
    label = f"{LAST}/rfc3161"
    other = draft.body("list", b"A list that names no book.\n", draft.line(label)["at"])
    draft.line(label)["bodies"][0] = other


def _anchors() -> list[Mutant]:
    return [
        said(3, "bare-lists", "lists alone, and nobody who stamped them", _only_detached,
              files=_detached_as(None)),
        said(3, "pending-beside-lists", "nothing but promises beside the lists", _only_detached,
              files=_detached_as(".pending"), attack="a pending proof shown as anchored"),
        said(3, "empty-beside-lists", "empty files beside the lists", _only_detached,
              files=_detached_as("", b"")),
        said(3, "promise-as-complete", "a calendar's promise sealed as a complete proof",
              _all_by(lambda name: stand_in("opentimestamps", name)),
              attack="a pending OTS shown as anchored"),
        said(3, "authority-named-git", "a time-stamping authority that is called git",
              _all_by(lambda name: stand_in("rfc3161", f"another over {name}"), "git")),
        said(3, "list-of-other-lines", "a proof line with a list of other lines",
              _list_of_others),
        said(3, "no-stamp", "no run was ever stamped", _unstamped(AM, PM, NEXT, LAST)),
        said(3, "last-run-unstamped", "the last run was not stamped", _unstamped(LAST)),
        said(3, "run-stamped-with-the-next", "a run was stamped only with the next one",
              _unstamped(AM)),
        said(3, "uncounted-run-unstamped", "a run that does not count was not stamped",
              _unstamped(PM)),
        said(3, "all-pending", "every proof is pending and shown as an anchor", _pending),
        said(3, "no-foreign-channel", "no digest stands on a channel outside the operator",
              _no_channel),
        said(3, "one-run-on-no-channel", "the digest of one run stands on no channel outside",
              _no_channel_of(NEXT)),
        said(3, "last-run-on-no-channel", "the digest of the last run stands on no channel outside",
              _no_channel_of(LAST)),
        said(3, "no-margin", "no margin is stated", declared("margin_minutes = 120\n", "")),
        said(3, "stamped-before-the-answers", "the stamp was taken before the answers came",
              _stamped_early),
    ]  # fmt: skip
