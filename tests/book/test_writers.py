"""Several writers, a full disk, a folder that cannot be written: each in processes of its own."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import beforehand
from beforehand.book.store import FileStore
from beforehand.errors import ConflictError

from .plain_chain import note, notes, seed_script, sha, walked

SOURCE = Path(beforehand.__file__).resolve().parents[1]
BEGIN = "import sys; from pathlib import Path; from beforehand.book.store import FileStore\n"
NOTE = 'dict(at="2026-01-05T12:00:00Z", kind="note", who=WHO, k=k, text="x" * 300)'


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process that runs `code` and knows nothing but the standard library and us."""
    return subprocess.Popen(
        [sys.executable, "-S", "-c", BEGIN + code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str], seconds: float = 60) -> str:
    out, errors = process.communicate(timeout=seconds)
    assert process.returncode == 0, errors
    return out.strip()


TRY = """
from beforehand.errors import ConflictError
try:
    with FileStore(Path(sys.argv[1]), wait=float(sys.argv[2])) as store:
        print(store.size)
except ConflictError as error:
    print("conflict:", error)
"""


def test_a_second_writer_in_another_process_gets_a_conflict(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        store.append(0, notes(3))
        answer = said(child(TRY, tmp_path, 0))
        assert answer.startswith("conflict:")
        assert str(tmp_path) in answer
        store.append(3, [note(3)])
    assert said(child(TRY, tmp_path, 0)) == "4"


def test_a_second_writer_in_this_process_gets_a_conflict_too(tmp_path: Path) -> None:
    with FileStore(tmp_path), pytest.raises(ConflictError):
        FileStore(tmp_path)
    FileStore(tmp_path).close()


def test_a_second_writer_waits_as_long_as_it_said(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        begin = time.monotonic()
        with pytest.raises(ConflictError):
            FileStore(tmp_path, wait=0.3)
        assert 0.3 <= time.monotonic() - begin < 3
        waiting = child(TRY, tmp_path, 30)
        time.sleep(0.3)
        store.append(0, notes(2))
    assert said(waiting) == "2"


def test_the_lock_file_removed_does_not_let_two_writers_in(tmp_path: Path) -> None:
    # somebody "cleans up" the lock: the book itself is still held
    with FileStore(tmp_path) as store:
        (tmp_path / "book.lock").unlink()
        with pytest.raises(ConflictError):
            FileStore(tmp_path)
        store.append(0, notes(1))


def test_the_lock_ends_with_its_process(tmp_path: Path) -> None:
    holder = child(
        "import os, time\nstore = FileStore(Path(sys.argv[1]))\n"
        "print('held', flush=True); time.sleep(60)",
        tmp_path,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(ConflictError):
        FileStore(tmp_path)
    holder.kill()
    holder.communicate()
    FileStore(tmp_path).close()


RETRY = f"""
from beforehand.errors import ConflictError
import time
WHO, wait = int(sys.argv[2]), float(sys.argv[3])
conflicts = 0
for k in range(50):
    while True:
        try:
            with FileStore(Path(sys.argv[1]), wait=wait) as store:
                store.append(store.size, [{NOTE}, {NOTE}])
            break
        except ConflictError:
            conflicts += 1
            time.sleep(0.002)
print(conflicts)
"""


@pytest.mark.parametrize("wait", [0, 60])
def test_eight_writers_never_interleave(tmp_path: Path, wait: float) -> None:
    writers = [child(RETRY, tmp_path, who, wait) for who in range(8)]
    conflicts = [int(said(writer, 120)) for writer in writers]
    assert (sum(conflicts) > 0) is (wait == 0)
    assert seed_script(tmp_path / "book.jsonl") == 800
    assert walked((tmp_path / "book.jsonl").read_bytes()).findings == []
    with FileStore(tmp_path) as store:
        lines = [eval(raw, {}) for raw in store.lines()]  # J of these is Python too
    pairs = [(line["who"], line["k"]) for line in lines]
    assert pairs[::2] == pairs[1::2], "a batch stands together"
    for who in range(8):
        assert [k for w, k in pairs[::2] if w == who] == list(range(50))


# ---- a full disk

FILL = """
import hashlib, os
limit = int(sys.argv[2])
if limit:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
body = os.urandom(int(sys.argv[3]))
named = [dict(role="text", sha256=hashlib.sha256(body).hexdigest())] if body else []
store = FileStore(Path(sys.argv[1]))
failed = 0
for k in range(4000):
    line = dict(at="2026-01-05T12:00:00Z", kind="note", k=k, text="x" * 700, bodies=named)
    try:
        store.append(store.size, [line] * 5, [body] if body else [])
    except OSError as error:
        failed += 1
        if failed == 3:
            break
    else:
        if failed:
            sys.exit("appended after the disk was full")
assert failed == 3, failed
print(store.size, store.root().hex())
"""


def after_full(folder: Path, answer: str) -> None:
    """What must hold of a book whose writer met a full disk, and said this."""
    size, root = answer.split()
    with FileStore(folder) as store:
        assert store.cut == 0, "a failed write is cut back at once"
        assert (store.size, store.root().hex()) == (int(size), root)
    assert walked((folder / "book.jsonl").read_bytes()).findings == []
    for path in (folder / "bodies").rglob("*"):
        if path.is_file():
            assert sha(path.read_bytes()) == path.name, "nothing half-written is left"


@pytest.mark.parametrize("limit", [10_000, 50_001, 100_003])
def test_at_the_limit_of_a_file_append_raises_and_leaves_nothing(
    tmp_path: Path, limit: int
) -> None:
    answer = said(child(FILL, tmp_path, limit, 0))
    assert int(answer.split()[0]) > 0
    after_full(tmp_path, answer)


def test_a_body_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    answer = said(child(FILL, tmp_path, 10_000, 20_000))
    assert answer.split()[0] == "0"
    after_full(tmp_path, answer)


def mounted(folder: Path) -> bool:
    """A file system of 256 KiB on `folder`, where this user may mount one."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = b"size=256k"
    return libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", 0, size) == 0


def test_on_a_full_disk_append_raises_and_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    limit = 0 if mounted(small) else 256 << 10
    try:
        for name, body in (("first", 0), ("second", 3000)):
            answer = said(child(FILL, small / name, limit, body))
            if name == "first":
                assert int(answer.split()[0]) > 0
                # the disk is full: make room again, as an operator would
                after_full(small / name, answer)
                (small / "first" / "book.jsonl").unlink()
            else:
                after_full(small / name, answer)
    finally:
        ctypes.CDLL(None).umount2(str(small).encode(), 2)


# ---- a folder that cannot be written

AS_NOBODY = """
import os
folder = Path(sys.argv[1])
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    FileStore(folder)
except BaseException as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("kept", [False, True])
def test_a_folder_that_cannot_be_written_is_named(kept: bool) -> None:
    folder = Path("/tmp") / f"beforehand-read-only-{os.getpid()}-{kept}"
    folder.mkdir(mode=0o755)
    try:
        if kept:
            with FileStore(folder) as store:
                store.append(0, notes(1))
        before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
        folder.chmod(0o555)
        for path in folder.iterdir():
            path.chmod(0o444)
        answer = said(child(AS_NOBODY, folder))
        assert answer.split()[0] in ("PermissionError", "RuleError", "ConflictError")
        assert str(folder) in answer
        assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    finally:
        folder.chmod(0o755)
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises((OSError, ValueError), match="file"):
        FileStore(tmp_path / "file")
