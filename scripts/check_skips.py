#!/usr/bin/env python3
"""Fail on every skipped test that the list of allowed skips does not name.

    python3 scripts/check_skips.py JUNIT_XML [ALLOWED_SKIPS]

Exit codes: 0 every skip is allowed, 1 some are not, 2 the files cannot be read
or the report holds no test. An expected failure counts as a skip.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

LIST = Path(__file__).resolve().parent.parent / "tests" / "allowed_skips.txt"


def read_allowed(text: str) -> list[tuple[re.Pattern[str], str]]:
    """The patterns and reasons of a list; ValueError names a line that is not of its form."""
    allowed = []
    for number, written in enumerate(text.splitlines(), 1):
        line = written.strip()
        if not line or line.startswith("#"):
            continue
        pattern, _, reason = line.partition(" ")
        if not reason.strip():
            raise ValueError(f"line {number}: a pattern without a reason")
        try:
            allowed.append((re.compile(pattern), reason.strip()))
        except re.error as error:
            raise ValueError(f"line {number}: {pattern} is no pattern: {error}") from None
    return allowed


def skipped_tests(report: ET.Element) -> tuple[int, list[tuple[str, str]]]:
    """How many tests a JUnit report holds, and the id and message of each skipped one."""
    cases = list(report.iter("testcase"))
    skips = []
    for case in cases:
        names = (case.get("classname"), case.get("name"))
        skips += [
            ("::".join(name for name in names if name), mark.get("message") or "no reason given")
            for mark in case.findall("skipped")
        ]
    return len(cases), skips


def main(arguments: list[str]) -> int:
    if arguments in (["--help"], ["-h"]) or not 1 <= len(arguments) <= 2:
        print(__doc__)
        return 0 if arguments in (["--help"], ["-h"]) else 2
    place = Path(arguments[1]) if len(arguments) == 2 else LIST
    try:
        tests, skips = skipped_tests(ET.parse(arguments[0]).getroot())
        allowed = read_allowed(place.read_text(encoding="utf-8"))
    except (OSError, ET.ParseError, ValueError) as error:
        print(f"check_skips.py: {error}")
        return 2
    if not tests:
        print(f"check_skips.py: {arguments[0]} holds no test")
        return 2
    refused = 0
    used = set()
    for test, message in skips:
        reason = None
        for pattern, why in allowed:
            if pattern.fullmatch(test):
                used.add(pattern)
                reason = why
        refused += reason is None
        print(f"{'allowed' if reason else 'NOT ALLOWED'}: {test}: {reason or message}")
    for pattern, _ in allowed:
        if pattern not in used:
            print(f"note: nothing was skipped under {pattern.pattern}")
    print(f"{tests} tests, {len(skips)} skipped, {refused} of them not allowed")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
