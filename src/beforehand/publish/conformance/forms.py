"""The report for other programs: JUnit XML and SARIF 2.1.0. Every text in it is escaped."""

from __future__ import annotations

import json
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from beforehand.publish.conformance.result import (
    FAIL,
    MUST,
    NOT_APPLICABLE,
    PASS,
    UNVERIFIABLE,
    counted,
)
from beforehand.publish.conformance.standard_file import claim_lines

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_KINDS = {FAIL: "fail", PASS: "pass", NOT_APPLICABLE: "notApplicable", UNVERIFIABLE: "open"}


def junit(report: dict[str, Any]) -> str:
    """One test case a requirement: a failed MUST fails, and whatever else is no PASS is skipped.

    So a build stops exactly where the command does; a failed SHOULD stands there with its words.
    """
    items = report["requirements"]
    failed = report["failed"][MUST]
    skipped = len(items) - failed - report["counts"][PASS]
    suite = quoteattr(f"beforehand conform {report['league']}")
    out = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites tests="{len(items)}" failures="{failed}" skipped="{skipped}">',
        f'  <testsuite name={suite} tests="{len(items)}" failures="{failed}" '
        f'skipped="{skipped}" errors="0">',
    ]
    for item in items:
        name = quoteattr(f"{item['id']} {item['level']} {item['title']}")
        out.append(f'    <testcase classname="conformance" name={name}>')
        said = escape("\n".join(item["said"]))
        first = quoteattr((item["said"] or [item["status"]])[0])
        stops = item["status"] == FAIL and item["level"] == MUST
        if stops:
            out.append(f"      <failure message={first}>{said}</failure>")
        elif item["status"] != PASS:
            level = f"{item['level']} " if item["status"] == FAIL else ""
            out.append(f"      <skipped message={quoteattr(level + item['status'])}/>")
        if not stops:
            out.append(f"      <system-out>{said}</system-out>")
        out.append("    </testcase>")
    return "\n".join([*out, "  </testsuite>", "</testsuites>", ""])


def sarif(report: dict[str, Any]) -> str:
    """One result a requirement, with its places."""
    rules, results = [], []
    for item in report["requirements"]:
        rules.append(
            {
                "id": f"R{item['id']}",
                "name": f"Requirement{item['id']}",
                "shortDescription": {"text": item["title"]},
                "fullDescription": {"text": item["why"]},
                "properties": {"level": item["level"]},
            }
        )
        results.append(
            {
                "ruleId": f"R{item['id']}",
                "ruleIndex": item["id"] - 1,
                "kind": _KINDS[item["status"]],
                "level": _level(item),
                "message": {"text": "\n".join(item["said"]) or item["status"]},
                "locations": [_location(place) for place in item["evidence"]],
            }
        )
    driver = {"name": "beforehand conform", "rules": rules}
    value = {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(value, ensure_ascii=True, indent=1) + "\n"


def _level(item: dict[str, Any]) -> str:
    if item["status"] != FAIL:
        return "none"
    return "error" if item["level"] == MUST else "warning"


def _location(place: dict[str, Any]) -> dict[str, Any]:
    held: dict[str, Any] = {"artifactLocation": {"uri": quoted(place["file"])}}
    if place.get("line"):
        held["region"] = {"startLine": place["line"]}
    return {"physicalLocation": held}


def quoted(name: str) -> str:
    """A file's name as a relative URI.

    >>> quoted("a b/ü.csv")
    'a%20b/%C3%BC.csv'
    """
    data = name.encode("utf-8", "replace")
    return "".join(chr(b) if chr(b) in _SAFE else f"%{b:02X}" for b in data)


def text_lines(report: dict[str, Any]) -> list[str]:
    """The report for a terminal."""
    out = [
        f"{report['league']}: {report['form_words']}, "
        f"{counted(report['read']['lines'], 'line')}, {counted(report['read']['rows'], 'row')}"
    ]
    for item in report["requirements"]:
        since = f"  since {item['since']} by {item['since_by']}" if item["since"] else ""
        out.append(
            f"{item['id']:>2} {item['level']:<6} {item['status']:<14} {item['title']}{since}"
        )
        out += [f"      {said}" for said in item["said"][:6]]
        if len(item["said"]) > 6:
            out.append(f"      … {len(item['said']) - 6} more: --json")
        out += [f"      to do: {do}" for do in item["do"][:3]]
    claims = report["claims"]
    out.append(f"claims: rung {claims['reached']} of {len(claims['rungs'])} is reached")
    for rung in claims["rungs"]:
        mark = "reached" if rung["reached"] else f"not reached: {rung['why']}"
        out.append(f"   {rung['rung']} {rung['title']}: {mark}")
    out += claim_lines(report)
    out += [f"not excluded: {what}" for what in report["not_excluded"]]
    told = ", ".join(f"{count} {status}" for status, count in report["counts"].items())
    for item in report["requirements"]:
        if item["status"] == FAIL:
            out.append(f"{item['level']} fails: requirement {item['id']}, {item['title']}")
        if item["should"]:
            out.append(f"SHOULD fails: within requirement {item['id']}, {item['should'][0]}")
    out.append(f"result at {report['as_of']}: {report['result']} ({told})")
    return out
