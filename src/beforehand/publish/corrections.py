"""Corrections as a publication tells them: which lines each is a word on, and what it moved.

Standard library only: `recount.py` is made of this very file.
"""

from __future__ import annotations

from typing import Any

from beforehand.publish.fold import LeagueFold


def corrections_told(fold: LeagueFold) -> list[dict[str, Any]]:
    """Every correction in the order of the book, as JSON.

    `outcome` is null for a word that moves nothing; else `questions` are those
    whose outcome this line gives as it stands now.
    """
    standing: dict[int, list[str]] = {}
    for question, settled in fold.settled.items():
        standing.setdefault(settled.line, []).append(question)
    return [
        {
            "line": n,
            "at": held.at,
            "lines": list(held.lines),
            "what": held.what,
            "source": held.source,
            "reason": held.reason,
            "outcome": held.outcome,
            "questions": [] if held.outcome is None else standing.get(n, []),
        }
        for n, held in fold.corrections.items()
    ]
