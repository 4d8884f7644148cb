"""The code that scored, by hash: what a recount must run to be the same recount."""

from __future__ import annotations

import platform
from importlib import metadata, resources
from typing import Any

import beforehand
from beforehand.records.codec import digest, seal_json

PACKAGE = "beforehand"
CODE_PATH = "api/v1/code.json"
MAX_CODE_BYTES = 4 << 20


def code_content() -> dict[str, Any]:
    """Package, version, the SHA-256 of every source file, and the environment it ran in.

    `sha256` is over J of the files alone, so that two machines with the same
    code name the same hash.
    """
    files = source_hashes()
    return {
        "package": PACKAGE,
        "version": beforehand.__version__,
        "sha256": digest(seal_json(files)),
        "files": files,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "dependencies": _dependencies(),
    }


def source_hashes() -> dict[str, str]:
    """Every file of the package that is code or data, by its path in it."""
    found: dict[str, str] = {}
    _walk(resources.files(PACKAGE), "", found)
    return dict(sorted(found.items()))


def _walk(folder: Any, prefix: str, found: dict[str, str]) -> None:
    for item in folder.iterdir():
        if item.name == "__pycache__" or item.name.endswith((".pyc", ".pyo")):
            continue
        path = f"{prefix}{item.name}"
        if item.is_dir():
            _walk(item, f"{path}/", found)
        else:
            found[path] = digest(item.read_bytes())


def _dependencies() -> dict[str, str]:
    """The version of each base dependency that is installed."""
    try:
        wanted = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return {}
    held: dict[str, str] = {}
    for line in wanted:
        name = line.split(";")[0].strip()
        for mark in "<>=!~[ (":
            name = name.split(mark)[0]
        if "extra ==" in line:
            continue
        try:
            held[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return dict(sorted(held.items()))
