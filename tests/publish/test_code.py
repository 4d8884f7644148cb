"""A release names the code that scored it, file by file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import beforehand
from beforehand.publish.code import code_content, source_hashes

ROOT = Path(beforehand.__file__).parent


def test_every_source_file_is_named_by_the_hash_of_its_bytes() -> None:
    wanted = {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in ROOT.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert source_hashes() == wanted
    assert {"scoring/exact.py", "publish/rows.py", "book/verify.py"} <= wanted.keys()


def test_the_environment_is_named_too() -> None:
    content = code_content()
    assert content["version"] == beforehand.__version__
    assert content["python"].startswith("CPython 3.")
    assert {"numpy", "polars", "cryptography"} <= content["dependencies"].keys()
    assert len(content["sha256"]) == 64
