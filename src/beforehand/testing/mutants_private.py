"""A private league: one seat of the valid league is hidden, and later revealed; and its mutants.

Who a hidden seat is stands in a salted body of role `identity` on the roster
line of each run, as the engine seals it. The seat and its answers name no model.
"""

from __future__ import annotations

from beforehand.book.bodies import SealedBody
from beforehand.records.codec import seal_json
from beforehand.testing.mutants_events import declared
from beforehand.testing.mutants_kinds import ChangeLines, Mutant, said
from beforehand.testing.mutants_league import ORIGIN, RUNS, Draft, ref, valid_league

HIDDEN = "bee"
_TELLING = ("model", "version", "mode", "provider", "family")


def private_league(seed: int = 1, *, revealed: bool = False) -> Draft:
    """The valid league with a hidden seat; `revealed`, once who it is was shown."""
    draft = valid_league(seed)
    hide(draft)
    if revealed:
        reveal(draft)
    else:
        for sha256 in identities(draft).values():
            del draft.bodies[sha256]
    return draft


def hide(draft: Draft, of: str = HIDDEN, model: str = f"lab/{HIDDEN}-1") -> None:
    """Hide the seat in every run. `of` is whom the bodies' headers name, `model` who it is."""
    rule = 'answer = "deadline"\n'
    declared(rule, rule + 'identity = "never"\n')(draft)
    for number, (run, *_) in enumerate(RUNS):
        roster = draft.line(f"{run}/roster")
        seat = next(seat for seat in roster["seats"] if seat["forecaster"] == HIDDEN)
        for key in _TELLING:
            seat.pop(key, None)
        told = seal_json({"forecaster": HIDDEN, **({"model": model} if model else {})}) + b"\n"
        body = SealedBody(ORIGIN, run, of, "identity", f"{number + 1:02x}" * 32, told)
        roster["bodies"] = [draft.body("identity", body.data(), None)]
    for line in draft.of_kind("answer"):
        if line["forecaster"] == HIDDEN:
            line.pop("requested_model", None)
            line.pop("served_model", None)


def identities(draft: Draft) -> dict[str, str]:
    """The hash of each run's identity body, by the label of its roster."""
    return {
        line["_label"]: line["bodies"][0]["sha256"]
        for line in draft.of_kind("roster")
        if line.get("bodies")
    }


def reveal(draft: Draft) -> None:
    """The lines that show who it was; the bodies are published."""
    at = draft.lines[-1]["at"]
    for label, sha256 in identities(draft).items():
        draft.add(
            f"{label}/revealed", at, "revealed", line=ref(label), body_sha256=sha256,
            why="released",
        )  # fmt: skip


def private_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [
        said(1, "hidden-uncommitted", "a hidden seat whose identity nobody sealed", _uncommitted),
        said(1, "hidden-once-for-two", "two hidden seats and one identity", _two_seats),
        said(1, "hidden-of-another", "a revealed identity of another seat", _revealed(of="ant")),
        said(1, "hidden-nameless", "a revealed identity that names no model", _revealed(model="")),
    ]  # fmt: skip


def _uncommitted(draft: Draft) -> None:
    hide(draft)
    for label, sha256 in identities(draft).items():
        del draft.bodies[sha256]
        del draft.line(label)["bodies"]


def _two_seats(draft: Draft) -> None:
    hide(draft)
    for label, sha256 in identities(draft).items():
        del draft.bodies[sha256]
        for seat in draft.line(label)["seats"]:
            if seat["forecaster"] == "ant":
                for key in _TELLING:
                    seat.pop(key, None)
    for line in draft.of_kind("answer"):
        if line["forecaster"] == "ant":
            line.pop("requested_model", None)
            line.pop("served_model", None)


def _revealed(**changed: str) -> ChangeLines:
    def change(draft: Draft) -> None:
        hide(draft, **changed)
        reveal(draft)

    return change
