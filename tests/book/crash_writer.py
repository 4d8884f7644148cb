"""A writer that is killed, over and over: run by test_crash.py in a process of its own.

    python -S crash_writer.py FOLDER KILLS SEED

Standard library and `beforehand.book.store` only, so that a child is there at
once. Each round forks a writer that appends in a tight loop and says each size
that `append` returned on a pipe; the parent kills it with SIGKILL somewhere
(also while it still opens the book), opens the book, and checks what is left.
Prints one JSON object: what was seen, or `fault` and where.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from beforehand.book.store import FileStore


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def body_of(n: int, place: int) -> bytes:
    """The body that line `n` names at `place`: anyone can say what it must be."""
    return b"body %d of line %d\n" % (place, n) * (1 + n * 37 % 700)


def bodies_of(n: int) -> list[bytes]:
    return [body_of(n, place) for place in range(max(0, n % 6 - 3))]


def content_of(n: int) -> dict[str, Any]:
    """The content of line `n`; some lines are long, so that a write can be torn."""
    return {
        "at": "2026-01-05T12:00:00Z",
        "kind": "note",
        "text": "π" * (40_000 if n % 8 == 0 else n % 200),
        "bodies": [{"role": "text", "sha256": digest_of(data)} for data in bodies_of(n)],
    }


def write_on(folder: Path, pipe: int, seed: int) -> None:
    """Append batches of one to three lines until killed."""
    rng = random.Random(seed)
    with FileStore(folder) as store:
        while True:
            numbers = range(store.size + 1, store.size + 1 + rng.randint(1, 3))
            bodies = [data for n in numbers for data in bodies_of(n)]
            store.append(store.size, [content_of(n) for n in numbers], bodies)
            os.write(pipe, b"%d\n" % store.size)


def killed_writer(folder: Path, rng: random.Random) -> int:
    """Start a writer, kill it, give the last size it said (0 for none)."""
    ours, theirs = os.pipe()
    seed, anew = rng.getrandbits(32), rng.random() < 0.1
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        try:
            if anew:  # as cron would: a fresh interpreter, killed while it starts too
                os.dup2(theirs, 1)
                words = [sys.executable, "-S", __file__, "--write", str(folder), str(seed)]
                os.execv(sys.executable, words)
            write_on(folder, theirs, seed)
        finally:
            os._exit(3)  # a writer that ends by itself failed
    os.close(theirs)
    heard, reports = b"", rng.choice([0, 0, 1, 1, 2, 3, 5, 8])
    while heard.count(b"\n") < reports and (piece := os.read(ours, 4096)):
        heard += piece
    wait_for(rng.random() * (0.1 if anew and not reports else 0.004))
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the writer ended by itself"
    while piece := os.read(ours, 4096):
        heard += piece
    os.close(ours)
    return int(heard.split()[-1]) if heard else 0


def wait_for(seconds: float) -> None:
    """Wait finer than sleep does."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def check_lines(raws: list[bytes], first_n: int, prev: str) -> str:
    """The plain walk over lines from `first_n`, by the definition; the last link."""
    for n, raw in enumerate(raws, first_n):
        line = json.loads(raw)
        link = line.pop("link")
        assert line["n"] == n and line["prev"] == prev, f"line {n}: place"
        assert link == digest(line), f"line {n}: link"
        content = {k: v for k, v in line.items() if k not in ("n", "prev", "seal")}
        assert line["seal"] == digest(content), f"line {n}: seal"
        assert content == content_of(n), f"line {n}: content"
        prev = link
    return prev


def digest(value: Any) -> str:
    return digest_of(json.dumps(value, sort_keys=True, ensure_ascii=False).encode())


def main(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    path = folder / "book.jsonl"
    seen = {"kills": 0, "lines": 0, "cut": 0, "unreported": 0, "silent": 0, "left": 0}
    checked, link = 0, ""
    for _ in range(kills):
        said = killed_writer(folder, rng)
        before = path.read_bytes() if path.exists() else b""
        whole = before[: before.rfind(b"\n") + 1]
        with FileStore(folder) as store:
            assert path.read_bytes() == whole, "cut more or less than an unterminated tail"
            assert store.cut == len(before) - len(whole)
            raws = list(store.lines())
            assert store.size == len(raws)
            assert store.size >= max(said, checked), f"{said} reported, {store.size} there"
            link = check_lines(raws[checked:], checked + 1, link)
            assert store.last_link == link
            for n in range(checked + 1, store.size + 1):
                for data in bodies_of(n):
                    assert store.read_body(digest_of(data)) == data, f"body of {n}"
            seen["cut"] += store.cut > 0
            seen["unreported"] += store.size > max(said, checked)
            checked = store.size
        seen["kills"] += 1
        seen["silent"] += said == 0
    check_lines(raws, 1, "")
    seen["lines"] = checked
    names = {digest_of(data) for n in range(1, checked + 1) for data in bodies_of(n)}
    kept = [each for each in (folder / "bodies").rglob("*") if each.is_file()]
    assert names <= {each.name for each in kept}
    seen["left"] = sum(digest_of(each.read_bytes()) != each.name for each in kept)
    return seen


if __name__ == "__main__" and sys.argv[1] == "--write":
    write_on(Path(sys.argv[2]), 1, int(sys.argv[3]))
elif __name__ == "__main__":
    try:
        result = main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    except Exception as error:
        result = {"fault": f"{type(error).__name__}: {error}"}
    print(json.dumps(result))
