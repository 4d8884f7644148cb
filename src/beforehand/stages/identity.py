"""Who stands behind a seat: sealed with the roster, and revealed by a line of its own.

A hidden seat has a name on the roster and nothing else. What it is, with its
settings, is a salted body of role `identity` on the same line, one a run, so
that no other model can take the seat unseen. It is shown when the league's
rule says so, or by `revealed` lines, after which every verifier demands it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from beforehand.book.bodies import SALT_BYTES, SealedBody, open_sealed
from beforehand.errors import RuleError
from beforehand.records.codec import decode_json, digest, seal_json
from beforehand.records.declaration import Declaration
from beforehand.records.evidence import Revealed
from beforehand.records.lineup import Lineup, is_hidden
from beforehand.records.record import BodyRef
from beforehand.records.run import Roster
from beforehand.stages.pen import Pen

IDENTITY = "identity"
# What names the model too: the request to it, and what its endpoint sent back.
_TELLING_ROLES = (IDENTITY, "ask", "reply", "reasoning")


def check_hidden(declaration: Declaration, lineup: Lineup) -> None:
    """RuleError where a seat is hidden and a body that names its model would be public at once."""
    if not any(map(is_hidden, lineup.models)):
        return
    open_roles = [role for role in _TELLING_ROLES if declaration.bodies.get(role, "line") == "line"]
    if open_roles:
        raise RuleError(
            "a sealed identity needs bodies that wait: declare "
            + ", ".join(f'{role} = "never"' for role in open_roles)
            + ' (or "deadline") under [bodies]'
        )


def identity_bodies(declaration: Declaration, run: str, lineup: Lineup) -> list[bytes]:
    """The sealed body of every hidden seat, for the roster line of a run."""
    return [
        SealedBody(
            declaration.origin,
            run,
            model["forecaster"],
            IDENTITY,
            secrets.token_hex(SALT_BYTES),
            seal_json(dict(model)) + b"\n",
        ).data()
        for model in lineup.models
        if is_hidden(model)
    ]


def identity_refs(
    declaration: Declaration, bodies: Sequence[bytes], deadline: str
) -> tuple[BodyRef, ...]:
    """How a roster line names them: due at its deadline, or never."""
    rule = declaration.bodies.get(IDENTITY)
    due = deadline if rule == "deadline" else None
    return tuple(BodyRef(IDENTITY, digest(data), due) for data in bodies)


def hidden_models(pen: Pen, roster: Roster) -> list[Mapping[str, Any]]:
    """The hidden models of a roster, as they were sealed with it."""
    return [decode_json(body.content) for _, body in _sealed_identities(pen, roster)]


def reveal_identity(pen: Pen, forecaster: str, why: str) -> list[str]:
    """Seal that the identity bodies of a seat are public; the hashes of those newly revealed.

    Done once each. RuleError where no roster hides the seat.
    """
    known = False
    shown = {r.body_sha256 for _, r in pen.records() if isinstance(r, Revealed)}
    found: list[tuple[int, str]] = []
    for n, record in pen.records():
        if not isinstance(record, Roster):
            continue
        for sha256, body in _sealed_identities(pen, record):
            if body.forecaster == forecaster:
                known = True
                if sha256 not in shown:
                    found.append((n, sha256))
    if not known:
        raise RuleError(f"no roster of this book hides who {forecaster!r:.80} is")
    if found:
        pen.write(
            lambda at: [Revealed(at=at, line=n, body_sha256=sha256, why=why) for n, sha256 in found]
        )
        pen.checkpoint()
    return [sha256 for _, sha256 in found]


def _sealed_identities(pen: Pen, roster: Roster) -> Iterator[tuple[str, SealedBody]]:
    for ref in roster.bodies:
        if ref.role == IDENTITY:
            yield ref.sha256, open_sealed(pen.store.read_body(ref.sha256))
