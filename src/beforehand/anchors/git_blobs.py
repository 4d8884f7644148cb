"""Every small file that a reader's clone ever held, whatever commit or branch it stands in.

All refs and the reflog are walked, so what a forced push took away is there as
long as the clone keeps it. The clone is only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from beforehand.anchors.git_history import Reading
from beforehand.errors import FormatError

MAX_OBJECTS = 500_000
MAX_BLOBS_BYTES = 256 << 20


def small_blobs(clone: Path, most_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Every file of at most `most_bytes`, with a name under which some commit holds it.

    FormatError where the clone cannot be read, is shallow, or is over a limit:
    then nothing is said of its whole history.
    """
    if not clone.is_dir():
        raise FormatError(f"the clone {clone} is not there")
    git = Reading(clone)
    code, shallow = git.ask("rev-parse", "--is-shallow-repository")
    if code != 0:
        raise FormatError(f"{clone} is no clone that git can read")
    if shallow.strip() != b"false":
        raise FormatError(f"{clone} is shallow: fetch its whole history (git fetch --unshallow)")
    names = _names(git, clone)
    sizes = _blob_sizes(git, list(names))
    wanted = [name for name, size in sizes.items() if size <= most_bytes]
    if sum(sizes[name] for name in wanted) > MAX_BLOBS_BYTES:
        raise FormatError(f"{clone}: small files of over {MAX_BLOBS_BYTES} bytes in all")
    yield from ((names[name], data) for name, data in _contents(git, wanted))


def _names(git: Reading, clone: Path) -> dict[str, str]:
    """Every object of the history by its id, with its path where it has one."""
    code, out = git.ask("rev-list", "--objects", "--all", "--reflog")
    if code != 0:
        raise FormatError(f"{clone}: its history cannot be walked")
    lines = out.decode("utf-8", "replace").split("\n")[:-1]
    if len(lines) > MAX_OBJECTS:
        raise FormatError(f"{clone}: over {MAX_OBJECTS} objects")
    return {name: path for name, _, path in (line.partition(" ") for line in lines)}


def _blob_sizes(git: Reading, names: list[str]) -> dict[str, int]:
    asked = "".join(f"{name}\n" for name in names).encode("ascii")
    code, out = git.ask("cat-file", "--batch-check", data=asked)
    if code != 0:
        raise FormatError("the clone's objects cannot be listed")
    found = (line.split(" ") for line in out.decode("ascii", "replace").split("\n"))
    return {each[0]: int(each[2]) for each in found if len(each) == 3 and each[1] == "blob"}


def _contents(git: Reading, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """The bytes of blobs, as `git cat-file --batch` prints them: a header, then so many bytes."""
    asked = "".join(f"{name}\n" for name in names).encode("ascii")
    code, out = git.ask("cat-file", "--batch", data=asked)
    if code != 0:
        raise FormatError("the clone's objects cannot be read")
    at = 0
    for name in names:
        end = out.index(b"\n", at)
        header = out[at:end].decode("ascii", "replace").split(" ")
        if header[:2] != [name, "blob"]:
            raise FormatError(f"the clone lacks the object {name}")
        size = int(header[2])
        yield name, out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
