"""`beforehand tick` with several slots due: each run reaches the foreign channel by itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from beforehand.clock import SimulatedClock

from .conftest import beforehand
from .live_replicas import written_league

CHANGES = (
    ('cron = ["0 10 * * *", "0 22 * * *"]', 'cron = ["0,10,20 10 * * *"]'),
    ("use = []", 'use = ["git"]'),
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_each_run_of_one_tick_has_its_digest_in_the_repository(tmp_path: Path) -> None:
    far = tmp_path / "far.git"
    new = ["git", "init", "--quiet", "--bare", "--initial-branch=main", str(far)]
    subprocess.run(new, check=True)
    with written_league(tmp_path) as (folder, _):
        file = folder / "declaration.toml"
        text = file.read_text(encoding="utf-8")
        for old, fresh in CHANGES:
            assert old in text, old
            text = text.replace(old, fresh, 1)
        file.write_text(text, encoding="utf-8")
        with (folder / "settings.toml").open("a", encoding="utf-8") as settings:
            settings.write(f'\n[anchors]\ngit = "{far}"\n')
        done = beforehand("declare", folder)
        assert done.returncode == 0, done.stdout + done.stderr
        SimulatedClock(folder / "clock").step_to("2026-01-05T10:20:00Z")
        done = beforehand("tick", folder)
        assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(raw) for raw in (folder / "league/book.jsonl").read_bytes().splitlines()]
    begun = [line["n"] for line in lines if line["kind"] == "run"]
    assert len(begun) == 3, "three slots were due, and one tick began them all"
    stamped = sorted(
        int(path.parent.name) for path in (folder / "stamps").glob("*/list.txt.git.json")
    )
    answers = {
        line["run"]: line["n"] for line in lines if line["kind"] == "answer" and line.get("run")
    }
    for last, following in zip(answers.values(), [*begun[1:], len(lines) + 1], strict=True):
        assert any(last <= size < following for size in stamped), (last, following, stamped)
    count = ["git", "--git-dir", str(far), "rev-list", "--count", "main"]
    pushed = subprocess.run(count, capture_output=True, text=True, check=True)
    assert int(pushed.stdout) == len(stamped)
