"""The walk over a book: what is sound, what is a finding, and at which line."""

from __future__ import annotations

import gzip
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beforehand.book.chain import check_piece, cut_pieces
from beforehand.book.report import Report
from beforehand.book.walk import ChainWalk, in_this_process
from beforehand.errors import FormatError

from . import plain_tree
from .plain_chain import (
    OneBook,
    chained,
    j,
    note,
    notes,
    places,
    sealed,
    sha,
    stored,
    walked,
)

BOOK = chained(notes(12))
DATA = stored(BOOK)
RAWS = DATA.split(b"\n")[:-1]


def at_line(n: int) -> str:
    return f"book.jsonl line {n}"


def rewritten(n: int, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The book with line `n` changed, and nothing else."""
    lines = [dict(line) for line in BOOK]
    change(lines[n - 1])
    return stored(lines)


# ---- sound books


def test_a_sound_book_has_no_findings() -> None:
    report = walked(DATA)
    assert report.findings == []
    assert report.exit_code == 0
    league = report.leagues["book.jsonl"]
    assert (league["lines"], league["sha256"]) == (12, sha(DATA))
    assert (league["last_link"], league["last_at"]) == (BOOK[-1]["link"], BOOK[-1]["at"])
    entries = [plain_tree.sha(raw + b"\n") for raw in RAWS]
    assert league["root"] == plain_tree.mth(entries).hex()


def test_a_bare_book_says_what_was_not_checked() -> None:
    assert walked(DATA).not_checked


def test_the_chain_of_the_vector_is_sound(book_vector: dict[str, Any]) -> None:
    piece = check_piece(book_vector["book"].encode("utf-8"), 1)
    assert piece.findings == []
    assert piece.last_link == book_vector["lines"][-1]["link"]
    assert piece.kinds["kind-of-the-future"] == 1


def test_an_empty_book_has_no_finding_and_is_not_checked() -> None:
    report = walked(b"")
    assert report.exit_code == 2
    assert (report.findings, report.leagues["book.jsonl"]["lines"]) == ([], 0)


def test_a_book_like_the_seeds_is_sound() -> None:
    # floats, kinds of its own, keys that are not ours, insertion order, spaces
    contents = [
        {"kind": "run", "at": "2026-10-20T12:30:00Z", "crowd": {"odds": 0.615, "vol": 1e6}},
        {"kind": "answer", "at": "2026-10-20T12:31:10Z", "items": {"GOLD": {"1d": 54.0}}},
        {"kind": "score_h", "at": "2026-10-20T12:31:10Z", "of": 3, "note": "ß — π"},
    ]
    data = b"".join(
        json.dumps(line, ensure_ascii=n % 2 == 0, indent=None).encode() + b"\n"
        for n, line in enumerate(chained(contents))
    )
    assert walked(data).findings == []


@pytest.mark.parametrize(
    "text", ["\u2028", "\u2029", "\u0085", "\x1c", "\x0b", "\x0c", "\r", "\ufeff"]
)
def test_only_a_line_feed_ends_a_line(text: str) -> None:
    report = walked(stored(chained([note(0, text=f"a{text}b"), note(1)])))
    assert (report.findings, report.leagues["book.jsonl"]["lines"]) == ([], 2)


def test_other_spellings_of_a_line_pass_the_chain_and_change_the_tree() -> None:
    # bytes and meaning are committed separately (sealed-standard 2.1)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in BOOK)
    report = walked(data)
    assert report.findings == []
    assert report.leagues["book.jsonl"]["root"] != walked(DATA).leagues["book.jsonl"]["root"]
    assert report.leagues["book.jsonl"]["sha256"] == sha(data) != sha(DATA)


def test_a_mirror_with_crlf_is_not_repaired() -> None:
    # "BOM, gzip'd or CRLF mirrors fail - good": the prefix and the tree are over the bytes
    data = DATA.replace(b"\n", b"\r\n")
    league = walked(data).leagues["book.jsonl"]
    sound = walked(DATA).leagues["book.jsonl"]
    assert league["sha256"] == sha(data) != sound["sha256"]
    assert league["root"] != sound["root"]


# ---- findings


@pytest.mark.parametrize(
    ("name", "data", "first"),
    [
        ("byte order mark", b"\xef\xbb\xbf" + DATA, 1),
        ("gzip", gzip.compress(DATA, mtime=0), 1),
        ("blank line", DATA.replace(b"\n", b"\n\n", 1), 2),
        ("blank first line", b"\n" + DATA, 1),
        ("blank last line", DATA + b"\n", 13),
        ("UTF-16", DATA.decode().encode("utf-16-le"), 1),
        ("NUL bytes after a crash", DATA + bytes(100) + b"\n", 13),
        ("a tail", DATA + b'{"at"', 13),
        ("the last line feed lost", DATA[:-1], 12),
        ("only a tail", b"x", 1),
        ("swapped", stored([*BOOK[:4], BOOK[5], BOOK[4], *BOOK[6:]]), 5),
        ("dropped", stored([*BOOK[:4], *BOOK[5:]]), 5),
        ("first dropped", stored(BOOK[1:]), 1),
        ("duplicated", stored([*BOOK[:5], BOOK[4], *BOOK[5:]]), 6),
        ("inserted", stored([*BOOK[:5], sealed(note(4), 6, BOOK[4]["link"]), *BOOK[5:]]), 7),
        ("replaced", stored([*BOOK[:5], sealed(note(6), 6, BOOK[4]["link"]), *BOOK[6:]]), 7),
        ("another book's line", stored([*BOOK[:5], chained(notes(7)[1:])[5], *BOOK[6:]]), 6),
        ("two books joined", DATA + DATA, 13),
    ],
)
def test_a_finding_names_the_line(name: str, data: bytes, first: int) -> None:
    report = walked(data)
    assert report.exit_code == 1
    assert places(report)[0] == at_line(first)


@pytest.mark.parametrize("n", [1, 2, 7, 12])
@pytest.mark.parametrize("value", [None, True, 1.0, "1", 0, -1, 5000, 2**70, [], {}])
def test_a_wrong_n_is_a_finding(n: int, value: Any) -> None:
    # resealed, so that only the number is wrong: True and 1.0 equal 1 in Python
    content = note(n - 1)
    linked = {**content, "n": value, "prev": BOOK[n - 1]["prev"], "seal": sha(j(content))}
    forged = {**linked, "link": sha(j(linked))}
    report = walked(stored([*BOOK[: n - 1], forged]))
    assert places(report) == [at_line(n)]


@pytest.mark.parametrize("key", ["n", "prev", "seal", "link", "at", "kind"])
@pytest.mark.parametrize("value", [..., None, "", "?", "x", 7, [], {}, "\n", "é"])
def test_a_bookkeeping_key_missing_or_wrong_is_a_finding(key: str, value: Any) -> None:
    def change(line: dict[str, Any]) -> None:
        if value is ...:
            del line[key]
        else:
            line[key] = value

    for n in (1, 6, 12):
        if key == "prev" and n == 1 and value == "":
            continue
        if key == "n" and value == n:
            continue
        report = walked(rewritten(n, change))
        assert places(report)[0] == at_line(n)


def test_a_changed_content_resealed_but_not_relinked_is_a_finding() -> None:
    def change(line: dict[str, Any]) -> None:
        line["k"] = 99
        line["seal"] = sha(j(note(5) | {"k": 99}))

    assert places(walked(rewritten(6, change))) == [at_line(6)]


def test_a_rewritten_line_breaks_the_next_one() -> None:
    forged = sealed(note(5) | {"k": 99}, 6, BOOK[4]["link"])
    assert places(walked(stored([*BOOK[:5], forged, *BOOK[6:]]))) == [at_line(7)]


def test_every_bit_flip_of_the_vector_is_found_at_its_line(book_vector: dict[str, Any]) -> None:
    data = book_vector["book"].encode("utf-8")
    for place in range(len(data)):
        n = data.count(b"\n", 0, place) + 1
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            pieces = list(cut_pieces_of(bytes(changed)))
            if not changed.endswith(b"\n"):
                continue  # an unterminated tail: its own test
            found = [k for piece in pieces for k, _, _ in check_piece(*piece).findings]
            assert found
            assert found[0] == n


def cut_pieces_of(data: bytes) -> list[tuple[bytes, int]]:
    return [(piece, first_n) for _, first_n, piece in cut_pieces(BytesIO(data)) if first_n]


def test_time_that_runs_back_is_a_finding() -> None:
    times = ["2026-01-05T12:00:01Z", "2026-01-05T12:00:01.5Z", "2026-01-05T12:00:01Z"]
    lines = chained({"at": at, "kind": "note"} for at in times)
    assert places(walked(stored(lines))) == [at_line(3)]
    equal = ["2026-01-05T12:00:01Z", "2026-01-05T12:00:01.0Z", "2026-01-05T12:00:01.000000Z"]
    assert walked(stored(chained({"at": at, "kind": "note"} for at in equal))).findings == []


@pytest.mark.parametrize(
    "at",
    [
        *("2026-01-05T12:00:00", "2026-01-05T12:00:00+00:00", "2026-01-05 12:00:00Z"),
        *("2026-01-05T24:00:00Z", "2026-01-05T12:00:60Z", "2026-02-29T12:00:00Z"),
        *("2026-01-05T12:60:00Z", "2026-01-05T12:00:00.Z", "2026-01-05t12:00:00z", " "),
    ],
)
@pytest.mark.parametrize("first", ["2026-01-05T12:00:00Z", "2026-01-05T12:00:00.5Z"])
def test_a_time_that_is_no_instant_is_a_finding(first: str, at: str) -> None:
    lines = chained([{"at": first, "kind": "note"}, {"at": at, "kind": "note"}])
    assert places(walked(stored(lines))) == [at_line(2)]


# ---- seams between pieces: what holds inside a piece holds across one

LONG = chained(notes(8200))
SEAM = 4096


@pytest.mark.parametrize("n", [SEAM - 1, SEAM, SEAM + 1, SEAM + 2, 2 * SEAM, 2 * SEAM + 1])
def test_damage_at_a_seam_is_found_at_its_line(n: int) -> None:
    dropped = walked(stored([*LONG[: n - 1], *LONG[n:]]))
    assert places(dropped)[0] == at_line(n)
    forged = sealed(note(n - 1) | {"k": -1}, n, LONG[n - 2]["link"])
    replaced = walked(stored([*LONG[: n - 1], forged, *LONG[n:]]))
    assert places(replaced) == [at_line(n + 1)]
    raws = stored(LONG).split(b"\n")
    raws[n - 1] = b"no JSON"
    broken = walked(b"\n".join(raws))
    assert places(broken)[0] == at_line(n)


@pytest.mark.parametrize("n", [100, 256, 257, SEAM, SEAM + 1])
def test_time_that_runs_back_at_a_seam_is_found(n: int) -> None:
    contents = notes(n)
    contents[-1]["at"] = "2026-01-05T00:00:00Z"
    report = walked(stored(chained(contents)))
    assert places(report) == [at_line(n)]


@pytest.mark.parametrize("seed", range(3))
def test_long_lines_change_where_pieces_are_cut_and_nothing_else(seed: int) -> None:
    rng = random.Random(seed)
    lines = chained(note(k, text="x" * rng.choice([0, 5000, 9000])) for k in range(2600))
    data = stored(lines)
    report = walked(data)
    assert report.findings == []
    league = report.leagues["book.jsonl"]
    entries = [plain_tree.sha(raw + b"\n") for raw in data.split(b"\n")[:-1]]
    assert league["root"] == plain_tree.mth(entries).hex()
    assert league["sha256"] == sha(data)


# ---- prefixes


def roots_at(data: bytes, sizes: set[int]) -> ChainWalk:
    report = Report("2026-12-31T00:00:00Z")
    walk = ChainWalk(OneBook(data), "book.jsonl", "book.jsonl", report, sizes)
    walk.walk(in_this_process)
    assert report.findings == []
    return walk


@given(st.integers(0, 300), st.sets(st.integers(0, 300), max_size=6), st.data())
@settings(max_examples=40)
def test_a_prefix_of_a_valid_book_verifies_up_to_its_checkpoint(
    size: int, sizes: set[int], data: st.DataObject
) -> None:
    whole = stored(LONG[:300])
    wanted = {k for k in sizes if k <= size} | {size}
    part = b"".join(j(line) + b"\n" for line in LONG[:size])
    short, long = roots_at(part, set(wanted)), roots_at(whole, set(wanted))
    for k in wanted:
        entries = [plain_tree.sha(j(line) + b"\n") for line in LONG[:k]]
        assert short.roots[k] == long.roots[k] == plain_tree.mth(entries)
        if k:
            assert short.prefixes[k] == long.prefixes[k] == sha(stored(LONG[:k]))


@pytest.mark.parametrize("size", [1, 255, 256, 257, 4095, 4096, 4097, 8192, 8200])
def test_roots_and_prefixes_at_the_edges_of_tiles_and_pieces(size: int) -> None:
    walk = roots_at(stored(LONG), {size, size // 2 or 1, 8200})
    entries = [plain_tree.sha(j(line) + b"\n") for line in LONG]
    assert walk.roots[size] == plain_tree.mth(entries[:size])
    assert walk.prefixes[size] == sha(stored(LONG[:size]))
    assert walk.roots[8200] == plain_tree.mth(entries)


# ---- what a hostile book may not do


def test_a_line_of_millions_of_columns_could_not_be_checked_and_soon() -> None:
    data = DATA + b'{"a": "' + b"x" * 5_000_000 + b'"}\n' + DATA
    begin = time.perf_counter()
    with pytest.raises(FormatError, match="line 13 "):
        walked(data)
    assert time.perf_counter() - begin < 2


def test_memory_does_not_grow_with_the_length_of_lines() -> None:
    # 64 lines of the greatest length: the walk holds a few at a time, not all
    class Lazy(OneBook):
        def open(self, name: str) -> Any:
            return Stream()

    class Stream:
        def __init__(self) -> None:
            self.left, self.rest = 64, b""

        def __enter__(self) -> Stream:
            return self

        def __exit__(self, *error: object) -> None:
            self.rest = b""

        def read(self, size: int) -> bytes:
            if not self.rest and self.left:
                self.left -= 1
                self.rest = b'"' + b"x" * 1_000_000 + b'"\n'
            given, self.rest = self.rest[:size], self.rest[size:]
            return given

    report = Report("2026-12-31T00:00:00Z")
    walk = ChainWalk(Lazy(b""), "book.jsonl", "book.jsonl", report, set())
    tracemalloc.start()
    walk.walk(in_this_process)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert walk.frontier.size == 64
    assert peak < 40 << 20


def peak_of(count: int) -> int:
    """The most memory that a walk over `count` lines takes, the book itself left out."""
    prev = ""
    parts = []
    for k in range(count):
        line = sealed(note(k), k + 1, prev)
        prev = line["link"]
        parts.append(j(line))
    data = b"\n".join(parts) + b"\n"
    del parts
    book = OneBook(data)
    tracemalloc.start()
    report = Report("2026-12-31T00:00:00Z")
    walk = ChainWalk(book, "book.jsonl", "book.jsonl", report, set())
    walk.walk(in_this_process)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (report.findings, walk.frontier.size) == ([], count)
    return peak


@pytest.mark.slow
def test_memory_of_the_walk_hardly_grows_with_the_lines() -> None:
    few, many = peak_of(20_000), peak_of(200_000)
    assert many < 2 * few


plain_values = st.one_of(
    st.sampled_from([None, True, False, 0, 1, -1, 7, 2**63, 2**70, -(2**70), 0.5, -0.0, 1e300]),
    st.sampled_from(["", "x", "r", "0" * 64, "\x00", "2026-01-05T12:00:00Z", "é", "𝄞", "["]),
)
nested_values = st.recursive(
    plain_values,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["role", "sha256", "due", "a"]), inner, max_size=3),
    ),
    max_leaves=6,
)
json_values = st.one_of(plain_values, nested_values)

# What the later steps of the recipe read of each kind, with a usual value.
AT = "2026-01-05T12:00:00Z"
USUAL: dict[str, dict[str, Any]] = {
    "league": {"league": "l", "origin": "o", "key": "k", "declaration_sha256": "0" * 64},
    "segment": {"segment": "s", "time": "live"},
    "question": {"question": "q", "contract": {}},
    "roster": {"run": "r", "deadline": AT, "seats": []},
    "run": {"run": "r", "roster_line": 1, "snapshot_line": 1},
    "ask": {"run": "r", "forecaster": "f"},
    "answer": {"run": "r", "forecaster": "f", "status": "answered", "ask_line": 1},
    "erased": {"line": 1, "body_sha256": "0" * 64},
    "note": {"bodies": [{"role": "x", "sha256": "0" * 64, "due": AT}]},
}
said_oddly = st.sampled_from([(kind, key) for kind in USUAL for key in [*USUAL[kind], "bodies"]])


@given(st.lists(st.tuples(said_oddly, json_values), min_size=1, max_size=5))
@settings(max_examples=400)
def test_whatever_a_line_says_the_walk_ends_with_a_report(
    said: list[tuple[tuple[str, str], Any]],
) -> None:
    # a hostile value is a finding at its line, never an exception that hides all others
    contents = [{"at": AT, "kind": kind, **USUAL[kind], key: value} for (kind, key), value in said]
    broken = sealed({"at": "x"}, 99, "")
    report = walked(stored([*chained(contents), broken]))
    assert at_line(len(contents) + 1) in places(report)


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "roster", "run": "r", "deadline": "2026-01-05T12:00:00Z", "seats": 7},
        {"kind": "roster", "run": "r", "deadline": "2026-01-05T12:00:00Z", "seats": True},
        {"kind": "answer", "run": "r", "forecaster": "f", "status": "x", "ask_line": 2**70},
        {"kind": "answer", "run": "r", "forecaster": "f", "status": "x", "ask_line": -(2**70)},
        {"kind": "question", "question": "q", "contract": {"a": [1.5, None]}},
        {"kind": "note", "bodies": {"role": "x"}},
        {"kind": "note", "bodies": [{"role": "x", "sha256": "y", "due": 5}]},
        {"kind": "erased", "body_sha256": 2**70},
    ],
)
def test_a_value_of_the_wrong_type_is_a_finding_at_its_line(content: dict[str, Any]) -> None:
    report = walked(stored(chained([note(0), {"at": "2026-01-05T12:00:00Z", **content}])))
    assert places(report) == [at_line(2)]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"at": "2026-01-05T12:00:00Z", "kind": "note", "big": 9007199254740993}',
        '{"at": "2026-01-05T12:00:00Z", "kind": "note", "é": 1}'.encode(),
        b'{"at": "2026-01-05T12:00:00Z", "kind": "note", "deep": ' + b"[" * 50 + b"]" * 50 + b"}",
    ],
    ids=["integer beyond 2^53", "non-ASCII key", "deep nesting"],
)
def test_what_the_writer_refuses_the_reader_flags(raw: bytes) -> None:
    # DESIGN 3: "a reader demands an integer n, flags the rest"
    report = walked(stored(chained([json.loads(raw)])))
    assert report.findings or any("line 1" in text for text in report.notes)
