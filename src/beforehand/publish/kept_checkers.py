"""Every version of the checkers that a league has published, kept by its hash.

    api/v1/checkers/SHA256.py      verify.py or recount.py as it was
    api/v1/checkers/SHA256.pyz     conform.pyz as it was
    api/v1/checkers/index.json     which is which, of which version, since when

A reader who ran a checker before finds the very bytes again, whatever is
published since. Unlike `verify.py` itself these stand in the signed manifest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import beforehand
from beforehand.errors import FormatError
from beforehand.publish.checkers import build_recount, build_verify
from beforehand.publish.conformance.pyz import build_pyz
from beforehand.records.codec import decode_json, digest, is_digest

FOLDER = "api/v1/checkers"
INDEX = f"{FOLDER}/index.json"
MAX_CHECKERS = 1000
MAX_CHECKER_BYTES = 16 << 20
MAX_INDEX_BYTES = 1 << 20
_SUFFIXES = {"verify.py": ".py", "recount.py": ".py", "conform.pyz": ".pyz"}


def keep_checkers(before: Path, fresh: Path, as_of: str) -> None:
    """Write this version's checkers into `fresh`, and those that `before` kept.

    FormatError where what was kept is not what its index says: history is not
    dropped in silence.
    """
    held = _kept(before)
    names = {each["sha256"] for each in held}
    (fresh / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, data in (
        ("verify.py", build_verify()),
        ("recount.py", build_recount()),
        ("conform.pyz", build_pyz()),
    ):
        sha256 = digest(data)
        (fresh / FOLDER / f"{sha256}{_SUFFIXES[name]}").write_bytes(data)
        if sha256 not in names:
            held.append(
                {
                    "name": name,
                    "sha256": sha256,
                    "version": beforehand.__version__,
                    "since": as_of,
                }
            )
    for each in held:
        if each["sha256"] in names:
            path = f"{FOLDER}/{each['sha256']}{_SUFFIXES[each['name']]}"
            (fresh / path).write_bytes(_read(before / path, each["sha256"]))
    text = json.dumps(held, indent=1, sort_keys=True) + "\n"
    (fresh / INDEX).write_text(text, encoding="ascii")


def _kept(before: Path) -> list[dict[str, Any]]:
    index = before / INDEX
    if not index.is_file():
        return []
    if index.stat().st_size > MAX_INDEX_BYTES:
        raise FormatError(f"{index} is over {MAX_INDEX_BYTES} bytes")
    held = decode_json(index.read_bytes())
    if not isinstance(held, list) or len(held) > MAX_CHECKERS:
        raise FormatError(f"{index} is no list of up to {MAX_CHECKERS} checkers")
    for each in held:
        known = isinstance(each, dict) and each.get("name") in _SUFFIXES
        if not known or not is_digest(each.get("sha256")):
            raise FormatError(f"{index} names a checker by no known name and hash")
    return held


def _read(path: Path, sha256: str) -> bytes:
    if not path.is_file() or path.stat().st_size > MAX_CHECKER_BYTES:
        raise FormatError(f"{path}: a published checker is gone; put its bytes back, then publish")
    data = path.read_bytes()
    if digest(data) != sha256:
        raise FormatError(f"{path} is not the checker of its hash; put its bytes back")
    return data
