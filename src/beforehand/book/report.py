"""What a verification found: findings, notes, and what was not checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_FINDINGS = 200
MAX_WORDS = 1000


def clipped(text: str, most: int = MAX_WORDS) -> str:
    """A text of at most so many characters, the last a sign that more was there."""
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: the step of the recipe, the place, and what is wrong there."""

    step: int
    place: str
    message: str

    def text(self) -> str:
        """One line for a person."""
        return f"step {self.step}: {self.place}: {self.message}"


@dataclass
class Report:
    """The result. "Not checked" is never "passed"."""

    as_of: str
    findings: list[Finding] = field(default_factory=list)
    more_findings: int = 0
    notes: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)
    leagues: dict[str, dict[str, Any]] = field(default_factory=dict)

    def find(self, step: int, place: str, message: str) -> None:
        """Add a finding; past the limit only their number is kept."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(step, clipped(place), clipped(message)))
        else:
            self.more_findings += 1

    @property
    def exit_code(self) -> int:
        """0 sound, 1 findings, 2 a required level was not reached."""
        if self.findings:
            return 1
        return 2 if self.unmet else 0

    def content(self) -> dict[str, Any]:
        """The report as JSON values."""
        words = {0: "sound", 1: "findings", 2: "could not check"}
        return {
            "result": words[self.exit_code],
            "as_of": self.as_of,
            "findings": [vars(finding) for finding in self.findings],
            "more_findings": self.more_findings,
            "notes": self.notes,
            "not_checked": self.not_checked,
            "unmet": self.unmet,
            "leagues": self.leagues,
        }
