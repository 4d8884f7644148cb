"""What `beforehand doctor` says of one thing: good, a warning, bad, or not checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass

GOOD, WARNING, BAD, UNCHECKED = "good", "warning", "bad", "not checked"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what, how it is, and the words for it.

    What is bad keeps the league from running as it is declared. A warning may
    pass by itself, and what was not looked at is never good.
    """

    what: str
    state: str
    said: str

    def content(self) -> dict[str, str]:
        """As JSON values."""
        return asdict(self)
