"""The report as one HTML file: every text escaped, no script, a policy that loads nothing."""

from __future__ import annotations

import base64
from hashlib import sha256
from html import escape
from typing import Any

from beforehand.publish.conformance.standard_file import claim_lines

STYLE = """\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;
padding:.4rem .6rem;border-bottom:1px solid #8886}ul{margin:0;padding-left:1.1rem}
.s{font-weight:600;white-space:nowrap}.FAIL{color:#b3261e}.PASS{color:#1b6e3c}
.UNVERIFIABLE{color:#8a5a00}.NOT_APPLICABLE{color:#666}
@media(prefers-color-scheme:dark){.FAIL{color:#ff8a80}.PASS{color:#7bd99b}.UNVERIFIABLE{color:#ffcc66}
.NOT_APPLICABLE{color:#aaa}}code{overflow-wrap:anywhere}"""


def page(report: dict[str, Any]) -> str:
    """The whole page."""
    name = f"Conformance of {report['league']}"
    claims = report["claims"]
    body = [
        _el("h1", name),
        _el("p", f"{report['form_words']}, judged at {report['as_of']}: {report['result']}. "
            + ", ".join(f"{n} {status}" for status, n in report["counts"].items())),
        "<table><thead><tr><th>No</th><th>Status</th><th>Requirement</th><th>What was seen</th>"
        "</tr></thead><tbody>",
        *(_row(item) for item in report["requirements"]),
        "</tbody></table>",
        _el("h2", f"Ladder of claims: rung {claims['reached']} of {len(claims['rungs'])}"),
        "<ol>",
        *(_el("li", _rung(rung)) for rung in claims["rungs"]),
        "</ol>",
        *_claimed(report),
        _el("h2", "Not excluded"),
        _list(report["not_excluded"]),
    ]  # fmt: skip
    code = base64.b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{code}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"{_el('title', name)}\n<style>{STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _claimed(report: dict[str, Any]) -> list[str]:
    """What the league claims itself, where it publishes that."""
    lines = claim_lines(report)
    return [_el("h2", "What the league claims"), _list(lines)] if lines else []


def _el(tag: str, said: str) -> str:
    return f"<{tag}>{escape(said)}</{tag}>"


def _list(items: list[str]) -> str:
    return "<ul>" + "".join(_el("li", item) for item in items) + "</ul>"


def _row(item: dict[str, Any]) -> str:
    status = escape(item["status"])
    places = [_place(place) for place in item["evidence"]]
    since = f" since {item['since']} by {item['since_by']}" if item["since"] else ""
    said = item["said"] + [f"to do: {do}" for do in item["do"]]
    shown = "".join(f"<li><code>{escape(place)}</code></li>" for place in places)
    return (
        f'<tr><td>{item["id"]}</td><td class="s {status}">{status}{escape(since)}</td>'
        f"<td>{escape(item['level'])}: {escape(item['title'])}<br><small>{escape(item['why'])}"
        f"</small></td><td>{_list(said)}<ul>{shown}</ul></td></tr>"
    )


def _place(place: dict[str, Any]) -> str:
    line = f" line {place['line']}" if place.get("line") else ""
    name: str = place["file"]
    return name + line


def _rung(rung: dict[str, Any]) -> str:
    mark = "reached" if rung["reached"] else f"not reached ({rung['why']})"
    told = f"{rung['title']}: {mark}. Supports: {rung['supports']}."
    return f"{told} Leaves open: {rung['leaves_open']}."
