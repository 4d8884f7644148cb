"""One line: what is sealed, how it is stored, and that any JSON spelling of it is read alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.line import make_line, read_line
from beforehand.book.store import FileStore
from beforehand.errors import FormatError
from beforehand.records.codec import MAX_LINE_BYTES

from .plain_chain import BOOKKEEPING, chained, j, seed_script, sha, stored

HEX = "ab" * 32

# Keys around the bookkeeping keys in sorting order, those keys themselves (deeper
# down), and keys that look like them once written out: a quote in a key is \\", so
# the key a"link is written "a\\"link" and holds "link".
awkward = st.sampled_from(
    [
        *("at", "kind", "link", "n", "prev", "seal", "lin", "links", "n0", "m", "o", "a", "zz"),
        *('"link"', 'a"link', 'kz"link', 'x"link', '!"n', 'mz"n', 'o"prev', 'q"seal', 'z"seal'),
        *("prev\\", 'seal"', "\\", '"', "~", "!", "{", "}"),
    ]
)
texts = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    st.sampled_from(
        [
            *('"link": "', '", "link": "', '"n": 1', '"prev": ""', '"seal": "', '\\"link\\": '),
            *('link": ', "\u2028", "\u0085", "\x7f", "\x00", "\r\n", "é", "e\u0301", "𝄞", "\uffff"),
        ]
    ),
)
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), texts, st.sampled_from(["", HEX])
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(awkward, inner, max_size=3)
    ),
    max_leaves=8,
)
contents = st.dictionaries(
    awkward.filter(lambda key: key not in BOOKKEEPING), values, max_size=5
).map(lambda content: {"at": "2026-01-05T12:00:00Z", "kind": "note", **content})


def spellings(value: dict[str, Any]) -> list[bytes]:
    """One JSON value in many spellings, J first."""
    turned = dict(reversed(value.items()))
    return [
        j(value),
        json.dumps(turned).encode(),
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
        json.dumps(turned, indent=3).replace("\n", "\r").encode(),
        b"  " + j(value) + b"\t\r ",
        escaped(value),
    ]


def escaped(value: dict[str, Any]) -> bytes:
    """The value with every character of every text and key as an escape."""

    def spell(item: Any) -> str:
        if isinstance(item, str):
            units = item.encode("utf-16-be", "surrogatepass").hex()
            return '"' + "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)) + '"'
        if isinstance(item, dict):
            return "{" + ",".join(f"{spell(k)}:{spell(v)}" for k, v in item.items()) + "}"
        if isinstance(item, list):
            return "[" + ",".join(spell(each) for each in item) + "]"
        return json.dumps(item)

    return spell(value).encode("ascii")


def own_hashes(value: dict[str, Any]) -> tuple[str, str]:
    """Seal and link by the definition."""
    content = {k: v for k, v in value.items() if k not in BOOKKEEPING}
    linked = {k: v for k, v in value.items() if k != "link"}
    return sha(j(content)), sha(j(linked))


# ---- writing


def test_toy_chain_of_the_standard() -> None:
    # sealed-standard 2.1
    one = make_line({"at": "2026-01-01T00:00:00Z", "kind": "note", "text": "first — π"}, 1, "")
    assert one.seal == "2e2f6d25e76360f5f1395281724ce45e44dfde6f833429e55b7437bc67c07347"
    assert one.link == "a049c192bccdc6ec1acdb32d2e4c50519332c90e8d7fed2a24fa9aa59b755597"
    prefix = "bddf700acce317323f8eb836b37a89069246b6a6dfc95e18bc104097335e3cb3"
    assert sha(one.raw + b"\n") == prefix


def test_toy_line_with_a_float_is_read_though_never_made() -> None:
    content = {
        "at": "2026-01-01T00:00:01Z",
        "kind": "answer",
        "items": {"SPX": {"1d": {"prob_up": 54, "target": 7678.59}}},
    }
    with pytest.raises(FormatError, match="target"):
        make_line(content, 2, HEX)
    toy = {"at": "2026-01-01T00:00:00Z", "kind": "note", "text": "first — π"}
    data = stored(chained([toy, content]))
    assert sha(data) == "bd987ea1d7ddfe704afbd7a703eab283ef3c0df13978bfea944b4987c9e020d5"
    value, seal, link = read_line(data.split(b"\n")[1])
    assert (value["seal"], value["link"]) == (seal, link)
    assert seal == "4039f2f66cc882aad149b7e3845efa31373bf311b297cdebf2aa51179e57b1f2"
    assert link == "d5d29df817ac21ee5824e4d9b565003e4567aa7ea236238f99c4d62274b393e7"


def test_book_vector_is_written_to_the_byte(book_vector: dict[str, Any]) -> None:
    prev = ""
    for raw, wanted in zip(
        book_vector["book"].encode("utf-8").split(b"\n"), book_vector["lines"], strict=False
    ):
        value = json.loads(raw)
        content = {k: v for k, v in value.items() if k not in BOOKKEEPING}
        line = make_line(content, wanted["n"], prev)
        assert (line.seal, line.link, line.raw) == (wanted["seal"], wanted["link"], raw)
        prev = line.link


@given(contents, st.integers(1, 10**9), st.sampled_from(["", HEX]))
def test_a_line_is_j_of_content_and_bookkeeping(content: dict[str, Any], n: int, prev: str) -> None:
    line = make_line(content, n, prev)
    stored_line = json.loads(line.raw)
    assert line.raw == j(stored_line)
    assert stored_line == {**content, "n": n, "prev": prev, "seal": line.seal, "link": line.link}
    assert (line.seal, line.link) == own_hashes(stored_line)
    assert b"\n" not in line.raw


@pytest.mark.parametrize("key", BOOKKEEPING)
def test_bookkeeping_keys_cannot_stand_in_content(key: str) -> None:
    with pytest.raises(FormatError, match=key):
        make_line({"at": "2026-01-05T12:00:00Z", "kind": "note", key: 1}, 1, "")
    inside = {"at": "2026-01-05T12:00:00Z", "kind": "note", "inside": {key: 1}}
    assert read_line(make_line(inside, 1, "").raw)[0]["inside"] == {key: 1}


def test_a_line_too_long_is_refused_at_writing() -> None:
    parts = ["x" * 200_000] * 5
    base = {"at": "2026-01-05T12:00:00Z", "kind": "note", "parts": parts}
    room = MAX_LINE_BYTES - len(make_line(base, 1, "").raw) - len(', "more": ""') - 1
    longest = make_line({**base, "more": "y" * room}, 1, "")
    assert len(longest.raw) + 1 == MAX_LINE_BYTES
    assert read_line(longest.raw)[1] == longest.seal
    with pytest.raises(FormatError, match="limit"):
        make_line({**base, "more": "y" * (room + 1)}, 1, "")


# ---- reading


@given(contents, st.integers(1, 10**9), st.sampled_from(["", HEX]))
def test_any_spelling_of_a_line_gives_the_same_hashes(
    content: dict[str, Any], n: int, prev: str
) -> None:
    line = make_line(content, n, prev)
    value = json.loads(line.raw)
    for raw in spellings(value):
        assert read_line(raw) == (value, line.seal, line.link)


@given(
    st.dictionaries(st.one_of(awkward, texts), values, max_size=5),
    st.dictionaries(st.sampled_from(BOOKKEEPING), values, max_size=4),
)
def test_whatever_the_bookkeeping_is_the_hashes_are_those_of_the_definition(
    content: dict[str, Any], bookkeeping: dict[str, Any]
) -> None:
    # a damaged or forged line: its hashes are told right all the same, in every spelling
    value = {**content, **bookkeeping}
    for raw in spellings(value):
        assert read_line(raw) == (value, *own_hashes(value))


mixed = st.one_of(
    *(
        values,
        st.floats(allow_nan=False, allow_infinity=False),
        st.lists(st.integers(), max_size=2),
    ),
    st.sampled_from(
        ["%s", "%", "%%", "%(x)s", "1", "true", "null", "[1]", "{}", "1.5", "\\", "None"]
    ),
)


@given(
    st.lists(
        st.fixed_dictionaries({"at": mixed, "kind": mixed, "x": mixed, "%s": mixed}),
        min_size=2,
        max_size=8,
    )
)
def test_one_line_does_not_teach_another_with_the_same_keys(batch: list[dict[str, Any]]) -> None:
    plain = {"at": "a", "kind": "k", "x": "x", "%s": 1}
    for value in chained([plain, plain, *batch, plain]):
        for raw in spellings(value):
            assert read_line(raw) == (value, value["seal"], value["link"])


@pytest.mark.parametrize("key", ["link", "prev", "seal"])
@pytest.mark.parametrize(
    "text", ["", "a", "é", "𝄞", "\x7f", '"', "\\", "\n", "\t", "\x01", "\u2028", 'x"n": 1']
)
def test_odd_texts_in_bookkeeping_are_hashed_as_they_are(key: str, text: str) -> None:
    value = {"at": "x", "kind": "note", "link": "l", "n": 1, "prev": "p", "seal": "s", key: text}
    for raw in spellings(value):
        assert read_line(raw)[1:] == own_hashes(value)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"a": 1},
        {"zz": 1},
        {"a": 1, "zz": 1},
        {"m": 1, "o": 1, "q": 1},
        {"deep": {"link": "x", "n": 7, "prev": "", "seal": "y"}},
        {"deep": [{"link": HEX}], "zz": '", "link": "' + HEX},
        {'x"link': HEX, 'x"n': 1, 'x"prev': "", 'x"seal': HEX},
        {'a"link': HEX, 'a"n': 1, 'a"prev': "", 'a"seal': HEX},
        {'kz"link': 1},
        {'lz"n': 2},
        {'o"prev': 1},
        {'q"seal': 1},
        {"{": 1, 'a"link': "\\", 'link": "': 1},
        {"text": '"link": "' + HEX + '", "n": 1, "prev": "", "seal": "x"}'},
    ],
    ids=range(15),
)
def test_contents_that_imitate_bookkeeping(content: dict[str, Any]) -> None:
    value = chained([content])[0]
    for raw in spellings(value):
        assert read_line(raw) == (value, value["seal"], value["link"])


def test_the_same_content_seals_alike_wherever_it_stands() -> None:
    # the seal leaves n and prev out: identical content is seen to be identical
    content = {"at": "2026-01-05T12:00:00Z", "kind": "note"}
    one, two = make_line(content, 1, ""), make_line(content, 2, HEX)
    assert one.seal == two.seal
    assert one.link != two.link


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("nothing", b""),
        ("spaces", b"   "),
        ("not JSON", b"{"),
        ("a list", b"[1]"),
        ("a text", b'"x"'),
        ("a number", b"1"),
        ("null", b"null"),
        ("two objects", b"{} {}"),
        ("something after", b'{"a": 1}x'),
        ("not UTF-8", b'{"a": "\xff"}'),
        ("overlong UTF-8", b'{"a": "\xc0\xaf"}'),
        ("a surrogate in UTF-8's shape", b'{"a": "\xed\xa0\x80"}'),
        ("UTF-16", '{"a": 1}'.encode("utf-16")),
        ("byte order mark", b'\xef\xbb\xbf{"a": 1}'),
        ("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00"),
        ("single quotes", b"{'a': 1}"),
        ("trailing comma", b'{"a": 1,}'),
        ("a comment", b'{"a": 1} // x'),
        ("a key twice", b'{"a": 1, "a": 1}'),
        ("a key twice, J but for that", b'{"a": 1, "a": 2, "b": 1}'),
        ("a key twice, deeper", b'{"a": {"b": 1, "b": 1}}'),
        ("a key twice, once escaped", b'{"a": 1, "\\u0061": 1}'),
        ("link twice", b'{"a": 1, "link": "x", "link": "y", "n": 1, "prev": "", "seal": "z"}'),
        ("NaN", b'{"a": NaN}'),
        ("Infinity", b'{"a": Infinity}'),
        ("-Infinity", b'{"a": [-Infinity]}'),
        ("1e400", b'{"a": 1e400}'),
        ("-1e400", b'{"a": {"b": [-1e400]}}'),
        ("a lone surrogate", b'{"a": "\\ud800"}'),
        ("a lone surrogate as key", b'{"\\udfff": 1}'),
        ("an integer of 5000 digits", b'{"a": ' + b"7" * 5000 + b"}"),
        ("nested 100000 deep", b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        ("a control character in a text", b'{"a": "\x01"}'),
        ("a tab in a text", b'{"a": "\t"}'),
    ],
)
def test_what_is_no_line_is_refused(name: str, raw: bytes) -> None:
    with pytest.raises(FormatError):
        read_line(raw)


def test_a_surrogate_pair_is_one_character() -> None:
    value, seal, _ = read_line(b'{"a": "\\ud834\\udd1e"}')
    assert value == {"a": "𝄞"}
    assert seal == sha(j({"a": "𝄞"}))


@pytest.mark.parametrize(
    ("spelling", "printed"),
    [
        ("54.0", "54.0"),
        ("1e5", "100000.0"),
        ("1E16", "1e+16"),
        ("0.0000001", "1e-07"),
        ("-0.0", "-0.0"),
        ("0.1", "0.1"),
        ("1.10", "1.1"),
        ("-0", "0"),
    ],
)
def test_numbers_are_hashed_as_python_prints_them(spelling: str, printed: str) -> None:
    raw = b'{"a": ' + spelling.encode() + b"}"
    assert read_line(raw)[1] == sha(b'{"a": ' + printed.encode() + b"}")


# ---- the seed's own script


def test_the_seeds_script_passes_on_our_book(tmp_path: Path) -> None:
    texts = ["\u2028", "\u2029", "\u0085", "\r", "\r\n", "\x0b\x0c\x1c", "\ufeff", "first — π", "𝄞"]
    with FileStore(tmp_path) as store:
        for text in texts:
            content = {"at": "2026-01-05T12:00:00Z", "kind": "note", "text": text}
            store.append(store.size, [content, {**content, "items": {"n": 1, "link": text}}])
    assert seed_script(tmp_path / "book.jsonl") == 2 * len(texts)


@given(st.lists(contents, min_size=1, max_size=5))
def test_what_we_write_the_seeds_script_reads(batch: list[dict[str, Any]]) -> None:
    prev, lines = "", []
    for n, content in enumerate(batch, 1):
        line = make_line(content, n, prev)
        prev = line.link
        lines.append(json.loads(line.raw))
    assert lines == chained(batch)
