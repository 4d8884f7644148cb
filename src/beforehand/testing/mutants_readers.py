"""Mutants of consensus, segments on a board, readers and diagnostics."""

from __future__ import annotations

from typing import Any

from beforehand.testing.mutants_boards import drop_file
from beforehand.testing.mutants_events import declared
from beforehand.testing.mutants_kinds import COMPUTED, ChangeTables, Mutant, said, told
from beforehand.testing.mutants_scores import (
    change_board,
    change_entry,
)
from beforehand.testing.mutants_tables import Tables


def reader_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [*_consensus(), *_segments(), *_readers(), *_diagnostics()]


# ---- requirements 14 and 15


def _pool(**fields: Any) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        pool = tables.entry("mean")["pool"]
        for name, value in fields.items():
            if value == "":
                pool.pop(name, None)
            else:
                pool[name] = value

    return change


def _consensus() -> list[Mutant]:
    return [
        told(
            14,
            "bare",
            "a consensus without any of its three numbers",
            change_entry("mean", pool=None),
        ),
        told(14, "no-count", "a consensus without its count", _pool(n="")),
        told(
            14,
            "no-correlation",
            "a consensus without its mean correlation",
            _pool(mean_correlation=""),
        ),
        told(14, "no-n-eff", "a consensus without its N_eff", _pool(n_eff="")),
        told(
            14,
            "n-eff-flattered",
            "an N_eff that is the plain count",
            _pool(n_eff="4.000001", mean_correlation="0.300000"),
        ),
        told(14, "n-eff-unexplained", "no N_eff, and nothing says why", _pool(n_eff=None)),
    ]


def _pooled(tables: Tables, numbers: dict[str, int]) -> None:
    tables.again(pooled=True)


def _segments() -> list[Mutant]:
    return [
        told(
            15,
            "pooled",
            "one board over two methodologies",
            _pooled,
            attack="statistics pooled across segments",
        ),
        told(
            15,
            "correction-untold",
            "a correction that the board does not tell of",
            change_board(lambda board: board.update(corrections=[])),
            attack="a correction that edits history",
        ),
    ]


# ---- requirement 16


def _reader(place: int, **fields: str) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        tables.readers[place].update(fields)

    return change


def _second_vote(tables: Tables, numbers: dict[str, int]) -> None:
    tables.readers.insert(1, {**tables.readers[0], "p": "0.95"})


def _other_group(tables: Tables, numbers: dict[str, int]) -> None:
    """Another group for one reader, in all rows."""
    name = tables.readers[0]["reader"]
    for row in tables.readers:
        if row["reader"] == name:
            row["group"] = "seeing" if row["group"] == "blind" else "blind"


def _reassigned(tables: Tables, numbers: dict[str, int]) -> None:
    row = tables.readers[1]
    row["group"] = "seeing" if row["group"] == "blind" else "blind"


def _readers() -> list[Mutant]:
    return [
        told(16, "address", "a reader's address is published", _reader(0, ip="192.0.2.7")),
        told(
            16,
            "hashed-address",
            "the hash of a reader's address is published",
            _reader(0, ip_hash="0" * 64),
        ),
        told(
            16,
            "address-as-name",
            "a reader is named by an address",
            _reader(0, why="from 2001:db8:0:0:0:0:0:1"),
        ),
        told(
            16,
            "mail",
            "a reader's mail address is published",
            _reader(0, why="somebody@example.org"),
        ),
        told(16, "reassigned", "a reader who was assigned anew", _reassigned),
        told(16, "not-drawn", "a reader in another group than the seed draws", _other_group),
        told(16, "unknown-group", "a group that no dictionary has", _reader(0, group="gold")),
        told(16, "second-vote", "a second forecast of one reader counts", _second_vote),
        told(
            16,
            "after-reference",
            "a reader's forecast after the reference counts",
            _reader(0, sealed_at="2026-01-05T12:00:00Z"),
        ),
        told(
            16,
            "first-left-out",
            "a reader's first forecast does not count",
            _reader(0, counted="0"),
        ),
        told(
            16,
            "reset-as-same",
            "a reset identifier is taken for the reader it was",
            _reader(0, reset_of="r001"),
        ),
        told(
            16,
            "resets-unreported",
            "the share of resets is not reported",
            change_board(lambda board: board["readers"].pop("resets")),
        ),
        said(
            16,
            "no-dictionary",
            "the groups are labelled nowhere",
            declared('groups = ["blind", "seeing"]\n', ""),
        ),
    ]


# ---- requirement 17


def _diagnostic(name: str, value: Any) -> ChangeTables:
    def change(tables: Tables, numbers: dict[str, int]) -> None:
        if value is None:
            tables.diagnostics.pop(name)
        else:
            tables.diagnostics[name] = value

    return change


def _diagnostics() -> list[Mutant]:
    parts = ("largest_share", "participation_ratio", "seats", "sides_test", "fetch_records",
             "prices_only", "repeats", "crowd_rows")  # fmt: skip
    return [
        *(
            told(
                17,
                f"no-{name.replace('_', '-')}",
                f"the diagnostic {name} is missing",
                _diagnostic(name, None),
            )
            for name in parts
        ),
        told(
            17,
            "share-wrong",
            "a largest share that the matrix does not give",
            _diagnostic("largest_share", "0.100000"),
        ),
        told(
            17,
            "ratio-wrong",
            "a participation ratio that the matrix does not give",
            _diagnostic("participation_ratio", "4.000000"),
        ),
        told(
            17,
            "fetch-unhashed",
            "a fetch record without the hash of what was fetched",
            _diagnostic("fetch_records", [{"url": "https://example.org/", "status": 200}]),
        ),
        Mutant(
            "r17-none",
            17,
            COMPUTED,
            "no diagnostics are published",
            files=drop_file("diagnostics.json"),
        ),
    ]
