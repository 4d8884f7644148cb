"""What doctor spends is written down, and told beside the book's money."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from beforehand.cli.trials import TRIALS_NAME, Trials, note_trial, read_trials
from beforehand.errors import FormatError

AT = "2026-01-05T10:00:00Z"


def test_what_was_asked_is_summed_exactly(tmp_path: Path) -> None:
    assert read_trials(tmp_path) == Trials()
    for cost in (Decimal("0.1"), Decimal("0.2"), None):
        note_trial(tmp_path, AT, "plain", cost)
    assert read_trials(tmp_path) == Trials(3, Decimal("0.3"), 1)
    assert read_trials(tmp_path).content() == {
        "asks": 3,
        "spent": "0.3",
        "without_stated_cost": 1,
    }


def test_half_a_last_line_is_none_and_another_line_is_refused(tmp_path: Path) -> None:
    note_trial(tmp_path, AT, "plain", Decimal("0.1"))
    path = tmp_path / TRIALS_NAME
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"at": "2026')
    assert read_trials(tmp_path).asks == 1
    for junk in (b"[]\n", b'{"cost": "much"}\n', b"x\n"):
        path.write_bytes(whole + junk)
        with pytest.raises(FormatError, match="doctor did not write"):
            read_trials(tmp_path)
