"""The shipped tables of the simulated venue: made from the recordings, and small."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from beforehand.testing.rows import TIGHT, quotes, sizes, tight_quotes, words
from tests.sources.shared_data import CHECKOUT, shared_file

SHIPPED = CHECKOUT / "src" / "beforehand" / "data" / "simulated_venue"


def test_the_tables_hold_quotes_and_sizes() -> None:
    assert len(quotes()) > 1000 and len(sizes()) > 100
    assert all(0 < bid < ask < 1 for bid, ask in quotes())
    assert all(ask - bid <= TIGHT + 1e-9 for bid, ask in tight_quotes())
    assert len(words()["topics"]) == 8


def test_the_tables_carry_their_licence_and_stay_small() -> None:
    licence = (SHIPPED / "LICENSE").read_text(encoding="utf-8")
    for name in ("quotes.csv", "sizes.csv", "words.json", "CC BY 4.0", "MIT License"):
        assert name in licence
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 50_000


def test_the_tables_are_what_the_script_makes_of_the_recordings(tmp_path: Path) -> None:
    book = shared_file("books", "polymarket_clob_full", "book.json")
    spec = importlib.util.spec_from_file_location(
        "make_venue_rows", CHECKOUT / "scripts" / "make_venue_rows.py"
    )
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.main([str(book.parents[2]), str(tmp_path)]) == 0
    for name in ("quotes.csv", "sizes.csv"):
        assert (tmp_path / name).read_bytes() == (SHIPPED / name).read_bytes()
