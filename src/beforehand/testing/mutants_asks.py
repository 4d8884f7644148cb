"""Mutants of arrival, asks and segments."""

from __future__ import annotations

from beforehand.testing.mutants_events import (
    AM,
    LAST,
    NEXT,
    PM,
    drop,
    move,
    put,
    remove,
)
from beforehand.testing.mutants_kinds import Mutant, said
from beforehand.testing.mutants_league import Draft, ref


def ask_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [*_arrival(), *_asks(), *_segments()]


# ---- requirement 12


def _swap_arrivals(draft: Draft) -> None:
    line = draft.line(f"{NEXT}/hum/answer")
    line["received_at"] = "2026-01-06T10:05:00Z"


def _batch(draft: Draft) -> None:
    for name in ("ant", "bee", "cat"):
        line = draft.line(f"{AM}/{name}/answer")
        line["received_at"] = (
            line["at"][:14] + f"{int(line['at'][14:16]) - 2:02d}" + line["at"][16:]
        )


def _arrival() -> list[Mutant]:
    hum = f"{AM}/hum/answer"
    return [
        said(12, "sealed-late", "an answer sealed ten minutes after it came",
              put(f"{AM}/ant/answer", at="2026-01-05T10:07:59Z",
                  received_at="2026-01-05T10:02:28Z")),
        said(12, "sealed-before-arrival", "an answer sealed before it came",
              put(hum, received_at="2026-01-05T10:25:00Z")),
        said(12, "out-of-order", "an answer that came earlier stands after others",
              _swap_arrivals),
        said(12, "batch", "answers collected and sealed two minutes later", _batch,
              collateral=(13,)),
    ]  # fmt: skip


# ---- requirement 13


def _without_ask(draft: Draft) -> None:
    remove(f"{NEXT}/ant/ask1")(draft)
    draft.line(f"{NEXT}/ant/answer").pop("ask_line")


def _unlogged(draft: Draft) -> None:
    remove(f"{NEXT}/bee/ask1", f"{NEXT}/bee/failed")(draft)


def _other_text(draft: Draft) -> None:
    line = draft.line(f"{AM}/bee/ask2")
    line["bodies"] = [draft.body("ask", b"# A kinder text\n", line["at"])]


def _asks() -> list[Mutant]:
    ant, bee = f"{AM}/ant", f"{AM}/bee"
    return [
        said(13, "answer-without-ask", "an answer without a prior ask", _without_ask,
              attack="an answer without a prior ask"),
        said(13, "unlogged-ask", "the first attempt was made and not logged", _unlogged,
              attack="an unlogged ask"),
        said(13, "ask-of-another", "an answer that hangs on another forecaster's ask",
              put(f"{ant}/answer", ask_line=ref(f"{AM}/roster"))),
        said(13, "ask-after-answer", "an answer whose ask was logged after it",
              move(f"{ant}/ask1", f"{ant}/answer")),
        said(13, "ask-unhashed", "an ask without the hash of its text",
              drop(f"{ant}/ask1", "bodies")),
        said(13, "roster-of-another-run", "a run that names another run's roster",
              put(f"{PM}/run", roster_line=ref(f"{AM}/roster"))),
        said(13, "roster-after-ask", "a roster sealed after the first ask",
              move(f"{PM}/roster", f"{PM}/ant/ask1")),
        said(13, "no-retry-policy", "a roster without its retry policy",
              put(f"{AM}/roster", retry="")),
        said(13, "no-deadline", "a roster without its deadline", put(f"{AM}/roster", deadline="")),
        said(13, "seat-twice", "a forecaster with two seats", lambda d: d.line(
            f"{AM}/roster")["seats"].append(dict(d.line(f"{AM}/roster")["seats"][0]))),
        said(13, "asked-off-roster", "a model was asked that is not on the roster",
              lambda d: d.line(f"{AM}/roster")["seats"].pop(1)),
        said(13, "ask-without-end", "an ask that got no answer and no failure",
              remove(f"{bee}/failed")),
        said(13, "another-text", "asked again with another text, unmarked", _other_text),
        said(13, "answered-before-asked", "an answer that came before its ask",
              put(f"{ant}/answer", received_at="2026-01-05T10:01:30Z")),
    ]  # fmt: skip


# ---- requirement 15


def _changed_within(draft: Draft) -> None:
    first = draft.line("s1")
    bodies = [{**first["bodies"][0], "due": "2026-01-06T08:00:00Z"}]
    draft.insert_after(
        "q7/outcome",
        {**first, "_label": "s1b", "at": draft.line("q8")["at"], "bodies": bodies,
         "methodology": "1b"},
    )  # fmt: skip


def _not_an_outcome(draft: Draft) -> None:
    draft.line("correction")["lines"] = [ref("q2")]


def _segments() -> list[Mutant]:
    return [
        said(15, "methodology-within-segment", "the methodology changed within a segment",
              _changed_within),
        said(15, "unknown-segment", "a run of a segment that was never opened",
              put(f"{PM}/run", segment="s9")),
        said(15, "segment-after-run", "a segment opened after its run",
              move("s2", f"{LAST}/run")),
        said(15, "old-segment", "a run of the old segment after the new one had begun",
              put(f"{LAST}/run", segment="s1")),
        said(15, "segment-without-version", "a segment without its methodology version",
              put("s2", methodology="")),
        said(15, "segment-without-text", "a segment without the hash of its methodology",
              drop("s2", "bodies")),
        said(15, "correction-of-no-outcome", "an outcome changed by a correction of another line",
              _not_an_outcome),
    ]  # fmt: skip
