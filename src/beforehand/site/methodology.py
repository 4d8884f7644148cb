"""The methodology page: every formula with its function and source, and the sealed text."""

from __future__ import annotations

from typing import Any

from beforehand.site.catalogue import Catalogue
from beforehand.site.formulas import FORMULAS
from beforehand.site.skillformulas import SKILL_FORMULAS

VERSIONS = {"1": FORMULAS, "2": SKILL_FORMULAS}
TEXT_CHARS = 100_000
ROLE = "methodology"


def methodology_page(catalogue: Catalogue) -> dict[str, Any]:
    """What `methodology.html.j2` shows: the formulas of the version that fits the league."""
    segments = list(catalogue.fold.segments.values())
    version = "2" if catalogue.skilled else "1"
    return {
        "version": version,
        "formulas": VERSIONS[version],
        "others": [held.methodology for held in segments if held.methodology != version],
        "sealed": [_sealed(segment, catalogue) for segment in segments],
    }


def _sealed(segment: Any, catalogue: Catalogue) -> dict[str, Any]:
    """The text that a segment's line names, as far as it is here."""
    ref = next((body for body in segment.bodies if body.role == ROLE), None)
    data = None if ref is None else catalogue.view.read_body(ref.sha256)
    text = (data or b"").decode("utf-8", "replace")
    return {
        "segment": segment,
        "body": None if ref is None else catalogue.body(ref.sha256, ROLE),
        "text": text[:TEXT_CHARS],
        "more": max(0, len(text) - TEXT_CHARS),
    }
