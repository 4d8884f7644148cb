#!/usr/bin/env python3
"""Write the SHA-256 of the one-file checker where README and the docs print it.

    python3 scripts/checker_hash.py

Run it after any change to errors, clock, records.codec or book; a test compares the two.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from beforehand.publish.checkers import checker_sha256

ROOT = Path(__file__).resolve().parent.parent
FILES = ("README.md", "docs/verify.md")
LINE = re.compile(r"^(SHA-256 of the checker \(verify\.py\): )[0-9a-f]{64}$", re.MULTILINE)


def main() -> int:
    """Put the hash in every place; 1 where a place is missing."""
    value = checker_sha256()
    for name in FILES:
        path = ROOT / name
        text, found = LINE.subn(rf"\g<1>{value}", path.read_text(encoding="utf-8"))
        if not found:
            print(f"{name}: no line for the hash", file=sys.stderr)
            return 1
        path.write_text(text, encoding="utf-8")
    print(value)
    return 0


if __name__ == "__main__":
    sys.exit(main())
