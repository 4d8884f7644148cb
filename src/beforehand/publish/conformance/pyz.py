"""Building `conform.pyz`: the checker's own modules as one file that Python runs by itself.

Byte for byte the same for the same sources: names sorted, one fixed time, no
compression that a version of zlib could change.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import sys
import zipfile
from functools import lru_cache
from pathlib import Path

from beforehand.errors import IntegrityError
from beforehand.records.codec import digest

ROOT = "beforehand.publish.conformance.command"
PACKAGE = "beforehand"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MAIN = f"""\
import sys

if sys.version_info < (3, 11):
    sys.exit("could not check: conform.pyz needs Python 3.11 or newer")

from {ROOT} import conform_main

sys.exit(conform_main(sys.argv[1:]))
"""


@lru_cache(maxsize=1)
def build_pyz() -> bytes:
    """The bytes of `conform.pyz`; IntegrityError where a module needs more than Python."""
    sources: dict[str, bytes] = {"__main__.py": _MAIN.encode("utf-8")}
    waiting = [ROOT]
    while waiting:
        name = waiting.pop()
        path, data = _source(name)
        if path in sources:
            continue
        sources[path] = data
        waiting += [*_needs(name, data), *_parents(name)]
    held = io.BytesIO()
    held.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(sources):
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, sources[path])
    return held.getvalue()


def pyz_sha256() -> str:
    """The SHA-256 of `conform.pyz`."""
    return digest(build_pyz())


def _source(name: str) -> tuple[str, bytes]:
    """A module's path in the archive and its bytes."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or not spec.has_location:
        raise IntegrityError(f"the module {name} has no source")
    tail = "/__init__.py" if spec.submodule_search_locations is not None else ".py"
    return name.replace(".", "/") + tail, Path(spec.origin).read_bytes()


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _needs(name: str, data: bytes) -> list[str]:
    """The modules of ours that a module imports; another one's stops the build."""
    if name == PACKAGE:  # its lazy names are not the checker's
        return []
    found = []
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for needed in names:
            top = needed.split(".", maxsplit=1)[0]
            if top == PACKAGE:
                found.append(needed)
            elif top not in {*sys.stdlib_module_names, "__future__"}:
                raise IntegrityError(f"{name} needs {needed}: a checker needs only Python")
    return found
