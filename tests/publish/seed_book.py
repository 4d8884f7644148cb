"""A small book in the seed's format, made from what the text says of it.

The chain's public files are not available; kinds and fields are those the
text names (spec 1.1 to 1.7), and every number is made up.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from beforehand.book.line import make_line
from beforehand.records.codec import digest
from beforehand.records.event_contract import ContractProfile

ASK = b"Give the probability of a rise for each market and horizon.\n"
SEATS = ("ChatGPT", "Claude")
PROFILE = ContractProfile()


def contract(asset: str) -> dict[str, str]:
    return {
        "asset": asset,
        "horizon": "1d",
        "reference_at": "2026-10-20T13:30:00Z",
        "end_at": "2026-10-20T20:00:00Z",
        "rule": "strict_rise",
        "resolver_version": "2",
        "reference_rule": "first_1m_bar_at_or_after_reference_at",
        "price_provider": "yahoo_finance_chart_v8_1m",
        "price_symbol": f"^{asset}",
    }


def chain(contents: list[dict[str, Any]]) -> bytes:
    raws, prev = [], ""
    for n, content in enumerate(contents, 1):
        line = make_line(content, n, prev)
        raws.append(line.raw + b"\n")
        prev = line.link
    return b"".join(raws)


def answer(seat: str, at: str, booked: str, p: int) -> dict[str, Any]:
    return {
        "at": at,
        "booked_at": booked,
        "kind": "answer",
        "run_id": "2026-10-20-am",
        "seat": seat,
        "model": f"{seat} 6.1",
        "mode": "browsing",
        "ask_sha256": digest(ASK),
        "own_sha256": digest(seat.encode()),
        "items": {"SPX": {"1d": {"prob_up": p, "action": "hold"}}},
    }


def book_lines() -> list[dict[str, Any]]:
    run = {
        "at": "2026-10-20T12:30:00Z",
        "kind": "run",
        "run_id": "2026-10-20-am",
        "ask_sha256": digest(ASK),
        "snapshot_sha256": digest(b"prices"),
        "roster": {"US": list(SEATS)},
        "methodology": {"version": "2", "session_run": "scheduled"},
    }
    return [
        run,
        answer("ChatGPT", "2026-10-20T12:31:11Z", "2026-10-20T12:31:30Z", 54),
        answer("Claude", "2026-10-20T12:42:02Z", "2026-10-20T12:42:30Z", 48),
        {"at": "2026-10-20T20:30:36Z", "kind": "score", "run_id": "2026-10-20-am", "of": 2},
        {"at": "2026-10-21T08:00:00Z", "kind": "correction", "of": [2], "same_as": 2},
        {"at": "2026-10-21T08:00:00Z", "kind": "council_talk", "text": "a shadow track"},
    ]


def rows(**changed: str) -> list[dict[str, str]]:
    held = []
    for line, (seat, p) in enumerate((("ChatGPT", "54"), ("Claude", "48")), 2):
        fields = contract("SPX")
        held.append(
            {
                "run_id": "2026-10-20-am",
                "session": "2",
                "seat": seat,
                "model": f"{seat} 6.1",
                "mode": "browsing",
                "line": str(line),
                "sealed_at": "2026-10-20T12:45:00Z",
                "status": "counted",
                "prob_up": p,
                "ref": "7678.59",
                "close": "7690.00",
                "run_role": "session_run",
                "same_event": "true",
                "cell_status": "elicited",
                "event_id": PROFILE.first_event_id(fields),
                "event_id_v2": PROFILE.event_id(fields),
                "methodology_version": "2",
                **fields,
                **changed,
            }
        )
    return held


def table(held: list[dict[str, str]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(held[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(held)
    return out.getvalue().encode()


def seed_files() -> dict[str, bytes]:
    """The files of a small council, a stamped list in the seed's layout among them."""
    book = chain(book_lines())
    covered = 3
    prefix = b"".join(book.splitlines(keepends=True)[:covered])
    link = json.loads(book.splitlines()[covered - 1])["link"]
    stamped = (
        f"daily/council/book.jsonl: {covered} lines, sha256 {digest(prefix)}, last link {link}\n"
        "The file is taken as stored; each line is counted with its final LF.\n"
    )
    asks = [
        {"at": "2026-10-20T04:16:39Z", "kind": "declaration", "text": "the morning run counts"},
        *(
            {
                "at": "2026-10-20T12:30:09Z",
                "kind": "ask",
                "run_id": "2026-10-20-am",
                "seat": seat,
                "sha256": digest(ASK),
            }
            for seat in SEATS
        ),
    ]
    return {
        "council-book.jsonl": book,
        "asks.jsonl": chain(asks),
        f"asks/{digest(ASK)}.md": ASK,
        "council-forecasts.csv": table(rows()),
        "markets/proof/2026-10-20/130025Z.txt": stamped.encode(),
        "markets/proof/2026-10-20/130025Z.txt.ots": b"a stand-in for a proof",
    }
