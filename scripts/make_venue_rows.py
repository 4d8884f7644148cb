#!/usr/bin/env python3
"""Make the table that the simulated venue draws quotes and sizes from.

    python3 scripts/make_venue_rows.py RECORDED [OUT]

RECORDED is a folder with `books/polymarket_us_2026_top/top_of_book_10min.csv.gz`
and `markets/polymarket_us_2026/markets_resolved.csv.gz` (CC BY 4.0) and
`books/polymarket_clob_full/book.json` (MIT). OUT is where `quotes.csv` and
`sizes.csv` go (default: the package's data folder). The same input gives the
same bytes. Origin and licences stand beside the tables, in LICENSE.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "src/beforehand/data/simulated_venue"


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a gzipped CSV with a header."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def two_sided(recorded: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """One quote for each market and day: the day's first with a bid below its ask.

    One a day, because the rows of ten minutes later repeat it.
    """
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for row in read_rows(recorded / "books/polymarket_us_2026_top/top_of_book_10min.csv.gz"):
        key = (row["slug"], row["ts"][:10])
        if key not in found and row["bid"] and row["ask"]:
            bid, ask = Decimal(row["bid"]), Decimal(row["ask"])
            if 0 < bid < ask < 1:
                found[key] = (row["bid"], row["ask"])
    return found


def write_quotes(recorded: Path, out: Path) -> int:
    """`quotes.csv`: bid and ask of settled markets; how many rows."""
    settled = {
        row["slug"]
        for row in read_rows(recorded / "markets/polymarket_us_2026/markets_resolved.csv.gz")
    }
    found = [quote for key, quote in two_sided(recorded).items() if key[0] in settled]
    rows = sorted(found, key=lambda quote: (Decimal(quote[0]), Decimal(quote[1])))
    lines = ["bid,ask", *(f"{bid},{ask}" for bid, ask in rows)]
    (out / "quotes.csv").write_text("\n".join(lines) + "\n", encoding="ascii")
    return len(rows)


def write_sizes(recorded: Path, out: Path) -> int:
    """`sizes.csv`: the sizes that waited at the levels of a recorded book, best first."""
    book = json.loads((recorded / "books/polymarket_clob_full/book.json").read_bytes())
    levels = sorted(book["asks"], key=lambda level: Decimal(level["price"]))
    lines = ["size", *(level["size"] for level in levels)]
    (out / "sizes.csv").write_text("\n".join(lines) + "\n", encoding="ascii")
    return len(levels)


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    recorded, out = Path(arguments[0]), Path(arguments[1]) if arguments[1:] else OUT
    out.mkdir(parents=True, exist_ok=True)
    print(f"{write_quotes(recorded, out)} quotes, {write_sizes(recorded, out)} sizes in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
