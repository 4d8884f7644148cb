"""The store: one writer, lines in order, bodies before lines, all or nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beforehand.book.store import FileStore
from beforehand.book.tree import line_leaf, tree_root
from beforehand.errors import ConflictError, FormatError, IntegrityError

from .plain_chain import OneBook, chained, note, notes, seed_script, sha, stored, walked

TEXT = b"What will happen?\n"


def naming(k: int, *bodies: bytes) -> dict[str, Any]:
    return note(k, bodies=[{"role": "text", "sha256": sha(data)} for data in bodies])


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def book(folder: Path) -> bytes:
    return (folder / "book.jsonl").read_bytes()


# ---- append and open again


def test_what_is_appended_is_there_again(tmp_path: Path) -> None:
    contents = notes(7)
    with FileStore(tmp_path) as store:
        assert (store.size, store.last_link, store.last_at) == (0, "", "")
        first = store.append(0, contents[:3])
        assert [line.n for line in first] == [1, 2, 3]
        store.append(3, contents[3:])
        root, link = store.root(), store.last_link
    assert book(tmp_path) == stored(chained(contents))
    with FileStore(tmp_path) as store:
        assert (store.size, store.root(), store.last_link) == (7, root, link)
        assert store.last_at == contents[-1]["at"]
        assert list(store.lines()) == book(tmp_path).split(b"\n")[:-1]
        assert store.root() == tree_root(line_leaf(raw) for raw in store.lines())
        store.append(7, [note(7)])
    assert book(tmp_path) == stored(chained(notes(8)))
    assert seed_script(tmp_path / "book.jsonl") == 8


def test_how_lines_are_batched_changes_no_byte(tmp_path: Path) -> None:
    for name, step in (("one", 1), ("three", 3), ("all", 300)):
        with FileStore(tmp_path / name) as store:
            for start in range(0, 300, step):
                store.append(start, notes(300)[start : start + step])
            roots = store.root()
        with FileStore(tmp_path / name) as store:
            assert store.root() == roots
    assert book(tmp_path / "one") == book(tmp_path / "three") == book(tmp_path / "all")


def test_appending_nothing_changes_nothing(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        assert store.append(0, []) == []
        assert (store.size, book(tmp_path)) == (0, b"")


@pytest.mark.parametrize("expected", [0, 1, 3, -1, 2**60])
def test_a_wrong_expected_size_is_a_conflict_and_writes_nothing(
    tmp_path: Path, expected: int
) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, notes(2))
        before = files_below(tmp_path), book(tmp_path)
        with pytest.raises(ConflictError):
            store.append(expected, [naming(2, TEXT)], [TEXT])
        assert (files_below(tmp_path), book(tmp_path)) == before


def test_a_closed_store_appends_nothing(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.close()
    store.close()
    with pytest.raises(ConflictError):
        store.append(0, notes(1))


# ---- what is refused leaves no trace

REFUSED: dict[str, dict[str, Any]] = {
    "a float": note(3, p=0.5),
    "a big integer": note(3, big=2**53 + 1),
    "a bookkeeping key": note(3, prev="x"),
    "a non-ASCII key": note(3, é=1),
    "a lone surrogate": note(3, text="\ud800"),
    "bytes": note(3, text=b"x"),
    "no at": {"kind": "note"},
    "at not an instant": {"at": "yesterday", "kind": "note"},
    "at a number": {"at": 5, "kind": "note"},
    "at without a zone": {"at": "2026-01-05T12:00:00", "kind": "note"},
    "time running back": {"at": "2026-01-05T00:00:00Z", "kind": "note"},
    "no kind": {"at": note(3)["at"]},
    "kind not a text": {"at": note(3)["at"], "kind": 7},
    "a line too long": note(3, parts=["x" * 200_000] * 6),
    "a body neither given nor kept": naming(3, b"elsewhere"),
    "bodies not a list": note(3, bodies={"sha256": sha(TEXT)}),
    "a body without a hash": note(3, bodies=[{"role": "text"}]),
    "a body that is a text": note(3, bodies=[sha(TEXT)]),
    "a body whose hash is a number": note(3, bodies=[{"role": "text", "sha256": 7}]),
    "a body whose hash is a list": note(3, bodies=[{"role": "text", "sha256": []}]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_line_refuses_its_whole_batch(tmp_path: Path, name: str) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, notes(2))
        before = files_below(tmp_path), book(tmp_path), store.root()
        with pytest.raises(FormatError):
            store.append(2, [naming(2, TEXT), REFUSED[name]], [TEXT])
        assert (files_below(tmp_path), book(tmp_path), store.root()) == before
        store.append(2, [note(2)])
    with FileStore(tmp_path) as store:
        assert store.size == 3


values = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just(0.5))


@given(
    st.dictionaries(
        st.sampled_from(["at", "kind", "bodies", "n", "text", "é", "a b", ""]),
        st.one_of(st.sampled_from([note(0)["at"], "note"]), values, st.lists(values, max_size=2)),
        max_size=5,
    )
)
@settings(max_examples=300)
def test_whatever_was_appended_can_be_opened_and_verified(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, Any]
) -> None:
    # "never yields a book that fails its own verification"
    folder = tmp_path_factory.mktemp("any")
    with FileStore(folder) as store:
        try:
            store.append(0, [content])
        except FormatError:
            return
    with FileStore(folder) as store:
        assert store.size == 1
    assert walked(book(folder)).findings == []


def test_equal_times_follow_each_other_in_any_spelling(tmp_path: Path) -> None:
    times = ["2026-01-05T12:00:00Z", "2026-01-05T12:00:00.000Z", "2026-01-05T12:00:00Z"]
    with FileStore(tmp_path) as store:
        for at in times:
            store.append(store.size, [{"at": at, "kind": "note"}])
        with pytest.raises(FormatError):
            store.append(3, [{"at": "2026-01-05T11:59:59.999999Z", "kind": "note"}])
    with FileStore(tmp_path) as store, pytest.raises(FormatError):
        store.append(3, [{"at": "2026-01-05T11:59:59.999999Z", "kind": "note"}])


# ---- bodies


def test_a_body_is_kept_under_its_hash(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, [naming(0, TEXT, b""), naming(1, TEXT)], [TEXT, b""])
        assert store.read_body(sha(TEXT)) == TEXT
        assert store.read_body(sha(b"")) == b""
    name = sha(TEXT)
    assert (tmp_path / "bodies" / name[:2] / name).read_bytes() == TEXT
    with FileStore(tmp_path) as store:  # and named again later, without being given
        store.append(2, [naming(2, TEXT)])
        assert store.read_body(name) == TEXT


def test_a_body_given_in_vain_is_refused(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        for contents in ([note(0)], [naming(0, b"other")], []):
            with pytest.raises(FormatError):
                store.append(0, contents, [TEXT])
        assert files_below(tmp_path) == {"book.jsonl", "book.lock"}


def test_a_body_that_is_not_kept_is_said_not_to_be(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store, pytest.raises(FormatError):
        store.read_body(sha(TEXT))


def test_a_kept_body_that_was_changed_is_never_handed_out(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, [naming(0, TEXT)], [TEXT])
        path = tmp_path / "bodies" / sha(TEXT)[:2] / sha(TEXT)
        path.write_bytes(TEXT[:-1] + b"?")
        with pytest.raises(IntegrityError):
            store.read_body(sha(TEXT))


@pytest.mark.parametrize("damage", [b"", b"short", TEXT[:-1] + b"?"])
def test_a_line_never_names_a_damaged_body(tmp_path: Path, damage: bytes) -> None:
    # the bytes are in hand: what is on disk must be these, whatever was there
    with FileStore(tmp_path) as store:
        store.append(0, [naming(0, TEXT)], [TEXT])
        path = tmp_path / "bodies" / sha(TEXT)[:2] / sha(TEXT)
        path.write_bytes(damage)
        store.append(1, [naming(1, TEXT)], [TEXT])
        assert store.read_body(sha(TEXT)) == TEXT


@pytest.mark.parametrize("damage", [b"", TEXT[:-1] + b"?"])
def test_a_body_not_given_must_be_kept_whole(tmp_path: Path, damage: bytes) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, [naming(0, TEXT)], [TEXT])
        (tmp_path / "bodies" / sha(TEXT)[:2] / sha(TEXT)).write_bytes(damage)
        with pytest.raises((FormatError, IntegrityError)):
            store.append(1, [naming(1, TEXT)])


@pytest.mark.parametrize("name", ["../book.jsonl", "../../secret", "/etc/hostname", "x" * 64, ""])
def test_a_body_is_named_by_a_hash_and_by_nothing_else(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a" / "b"
    (tmp_path / "secret").write_bytes(b"not a body")
    with FileStore(folder) as store:
        (folder / "bodies").mkdir()
        with pytest.raises(FormatError):
            store.append(0, [note(0, bodies=[{"role": "text", "sha256": name}])])
        with pytest.raises(FormatError):
            store.read_body(name)


# ---- opening


@pytest.mark.parametrize("tail", [b"{", b"x" * 70_000, b"\xff", b"\x00" * 4096, b" ", b"}\r"])
def test_an_unterminated_tail_is_cut_and_nothing_else(tmp_path: Path, tail: bytes) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, notes(3))
    whole = book(tmp_path)
    (tmp_path / "book.jsonl").write_bytes(whole + tail)
    with FileStore(tmp_path) as store:
        assert (store.size, store.cut) == (3, len(tail))
        assert book(tmp_path) == whole
        store.append(3, [note(3)])
    assert book(tmp_path) == stored(chained(notes(4)))


def test_a_book_torn_at_any_byte_of_its_last_two_lines_opens(tmp_path: Path) -> None:
    contents = notes(4)
    whole = stored(chained(contents))
    lengths = [len(stored(chained(contents[:k]))) for k in range(5)]
    path = tmp_path / "book.jsonl"
    for end in range(lengths[2], len(whole) + 1):
        path.write_bytes(whole[:end])
        left = max(k for k in range(5) if lengths[k] <= end)
        with FileStore(tmp_path) as store:
            assert (store.size, store.cut) == (left, end - lengths[left])
            assert book(tmp_path) == whole[: lengths[left]]
            store.append(left, contents[left:])
        assert book(tmp_path) == whole


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 258, 300])
@pytest.mark.parametrize("damage", ["digit", "garbage", "dropped", "time"])
def test_a_terminated_line_that_is_wrong_refuses_the_book(
    tmp_path: Path, n: int, damage: str
) -> None:
    contents = notes(300)
    raws = stored(chained(contents)).split(b"\n")[:-1]
    wanted = n
    if damage == "digit":
        raws[n - 1] = raws[n - 1].replace(b'"k": ', b'"k": 9')
    elif damage == "garbage":
        raws[n - 1] = b"\x00" * 100
    elif damage == "dropped":
        del raws[n - 1]
    else:
        contents[n - 1]["at"] = "2027-01-01T00:00:00Z"  # so that the next runs back
        raws = stored(chained(contents)).split(b"\n")[:-1]
        wanted = n + 1
    data = b"\n".join(raws) + b"\n"
    (tmp_path / "book.jsonl").write_bytes(data)
    if wanted > len(raws):
        return  # the last line dropped or later than all others: still a sound book
    with pytest.raises(IntegrityError, match=rf"line {wanted}\b"):
        FileStore(tmp_path)
    assert book(tmp_path) == data, "a refused book is left as it was"
    (tmp_path / "book.jsonl").unlink()
    FileStore(tmp_path).close()  # and the lock is given back


def test_a_refused_book_keeps_its_tail(tmp_path: Path) -> None:
    # what refuses to go on leaves the evidence as it found it
    data = b'{"not": "a line of a book"}\n{"and a tail'
    (tmp_path / "book.jsonl").write_bytes(data)
    with pytest.raises(IntegrityError):
        FileStore(tmp_path)
    assert book(tmp_path) == data


def test_a_line_too_long_refuses_the_book(tmp_path: Path) -> None:
    (tmp_path / "book.jsonl").write_bytes(b"x" * (3 << 20) + b"\n")
    with pytest.raises((IntegrityError, FormatError), match="line 1 "):
        FileStore(tmp_path)


# ---- checkpoints


def test_a_checkpoint_is_kept_and_never_replaced(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, notes(12))
        assert store.checkpoints() == {}
        store.keep_checkpoint(10, b"ten")
        store.keep_checkpoint(9, b"nine")
        store.keep_checkpoint(10, b"another ten")
    with FileStore(tmp_path) as store:
        assert list(store.checkpoints().items()) == [(9, b"nine"), (10, b"ten")]


def test_a_stamped_line_is_never_cut(tmp_path: Path) -> None:
    # sealed-standard 5: "truncate only an unterminated tail, never a stamped line"
    with FileStore(tmp_path) as store:
        store.append(0, notes(3))
        store.keep_checkpoint(3, b"a signed note over three lines")
    (tmp_path / "book.jsonl").write_bytes(book(tmp_path)[:-1])
    before = book(tmp_path)
    with pytest.raises(IntegrityError):
        FileStore(tmp_path)
    assert book(tmp_path) == before


def test_a_book_behind_its_own_checkpoint_is_not_appended_to(tmp_path: Path) -> None:
    # an old copy of the book beside the checkpoints: the next one signed would
    # contradict the last (tlog-checkpoint: a log MUST NOT sign such a one)
    with FileStore(tmp_path) as store:
        store.append(0, notes(3))
        old = book(tmp_path)
        store.append(3, [note(3)])
        store.keep_checkpoint(4, b"a signed note over four lines")
    (tmp_path / "book.jsonl").write_bytes(old)
    with pytest.raises(IntegrityError):
        FileStore(tmp_path)


# ---- a fault in the middle


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", range(1, 8))
def test_after_a_failed_sync_the_book_is_what_it_was_or_the_store_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, call: int
) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, notes(2))
        real, seen = os.fsync, 0

        def failing(handle: int) -> None:
            nonlocal seen
            seen += 1
            if seen == call:
                raise error
            real(handle)

        monkeypatch.setattr(os, "fsync", failing)
        long = naming(2, TEXT) | {"text": "x" * 500}
        try:
            store.append(2, [long], [TEXT])
        except BaseException as raised:
            assert raised is error
            size = 2
        else:
            size = 3
        monkeypatch.setattr(os, "fsync", real)
        try:
            store.append(size, [note(3)])
        except ConflictError:
            assert size == 2  # refusing to go on is as good as having cut back
    with FileStore(tmp_path) as store:
        assert store.cut == 0
        assert store.size >= size
    assert walked(book(tmp_path)).findings == []


def test_body_then_line_each_synced_before_append_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "Order on every append: body fsync, line fsync"
    folder = tmp_path / "new" / "book"
    synced: list[tuple[str, int]] = []
    real = os.fsync

    def watching(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        length = len(book(folder)) if (folder / "book.jsonl").exists() else 0
        synced.append((str(path.relative_to(tmp_path)), length))
        real(handle)

    monkeypatch.setattr(os, "fsync", watching)
    with FileStore(folder) as store:
        opened = len(synced)
        store.append(0, [naming(0, TEXT)], [TEXT])
        length = len(book(folder))
        prefix = "new/book/bodies/" + sha(TEXT)[:2]
        parts = [name for name, _ in synced if name.startswith(prefix + "/.")]
        assert len(parts) == 1, "the body's own bytes"
        for name in (prefix, "new/book/bodies", "new/book"):
            assert (name, 0) in synced[opened:], "the folders that name it, before the line"
        assert synced[-1] == ("new/book/book.jsonl", length)
        assert [size for _, size in synced[:-1]] == [0] * (len(synced) - 1)
        # a folder made for the book is itself a name in the folder above
        for name in ("new/book", "new", "."):
            assert name in [each for each, _ in synced[:opened]]


def test_a_book_is_read_by_others_while_it_is_written(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        for k in range(5):
            store.append(k, [note(k)])
            assert walked(book(tmp_path)).findings == []
    assert OneBook(book(tmp_path)).names() == ["book.jsonl"]
