#!/usr/bin/env python3
"""Write the SHA-256 of the one-file checkers where README and the docs print them.

    python3 scripts/checker_hash.py

Run it after any change to errors, clock, records.codec or book; a test compares the two.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from beforehand.publish.checkers import build_recount, build_verify
from beforehand.records.codec import digest

ROOT = Path(__file__).resolve().parent.parent
FILES = ("README.md", "docs/verify.md")
LINES = (
    (r"^(SHA-256 of the checker \(verify\.py\): )[0-9a-f]{64}$", build_verify),
    (r"^(SHA-256 of the recount \(recount\.py\): )[0-9a-f]{64}$", build_recount),
)


def main() -> int:
    """Put the hashes in every place; 1 where a place is missing."""
    for pattern, build in LINES:
        value = digest(build())
        for name in FILES:
            path = ROOT / name
            text = path.read_text(encoding="utf-8")
            text, found = re.subn(pattern, rf"\g<1>{value}", text, flags=re.MULTILINE)
            if not found:
                print(f"{name}: no line for the hash", file=sys.stderr)
                return 1
            path.write_text(text, encoding="utf-8")
        print(value)
    return 0


if __name__ == "__main__":
    sys.exit(main())
