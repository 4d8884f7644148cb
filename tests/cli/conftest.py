"""The demo, run once as a user runs it, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

START = "import sys; from beforehand.cli.main import run; sys.argv[0] = 'beforehand'; run()"

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def beforehand(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run the command as its console script does."""
    return subprocess.run(
        [sys.executable, "-c", START, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={
            "COLUMNS": "100",
            "PATH": "/usr/bin:/bin",
            "TERM": "dumb",
            # The very code that the tests import, whatever is installed beside it.
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
    )


@dataclass(frozen=True)
class Demo:
    """The finished demo: its folder and what it printed."""

    folder: Path
    printed: str

    @property
    def public(self) -> Path:
        return self.folder / "public"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo") / "d"
    run = beforehand("demo", "--no-serve", "--dir", folder)
    assert run.returncode == 0, run.stdout + run.stderr
    return Demo(folder, run.stdout)
