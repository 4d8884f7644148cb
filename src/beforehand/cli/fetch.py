"""Fetching a published league over HTTP into a folder, every read under a limit."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from beforehand.book.manifest import (
    CHECKER_PATH,
    MANIFEST_PATH,
    MAX_MANIFEST_BYTES,
    read_manifest,
)
from beforehand.errors import FormatError, RemoteError

MAX_TOTAL_BYTES = 4 << 30
MAX_CHECKER_BYTES = 4 << 20
TIMEOUT_S = 30
LEAST_BYTES_A_SECOND = 1024
WORKERS = 8
_PIECE_BYTES = 1 << 20
_NOT_THERE = (404, 410)

Progress = Callable[[str, int, int], None]


def is_url(text: str) -> bool:
    """Whether an argument names something to fetch."""
    return text.startswith(("https://", "http://"))


def folder_url(url: str) -> str:
    """The address of a folder, with a slash at its end."""
    return url.removesuffix("index.html").rstrip("/") + "/"


def fetch_listed(base: str, data: bytes, folder: Path, progress: Progress) -> None:
    """Fetch every file that the manifest `data` of the folder at `base` lists into `folder`.

    RemoteError where something cannot be fetched; FormatError where the
    manifest is unreadable or lists a name that leads out of the folder.
    """
    manifest = read_manifest(data)
    put_file(folder, MANIFEST_PATH, data)
    files = manifest["files"]
    total = sum(entry["bytes"] for entry in files)
    if total > MAX_TOTAL_BYTES:
        raise FormatError(f"the manifest lists {total} bytes; the limit is {MAX_TOTAL_BYTES}")

    def fetch(entry: dict[str, object]) -> None:
        name, size = str(entry["path"]), entry["bytes"]
        if not isinstance(size, int) or size < 0:
            raise FormatError(f"the manifest gives {name!r:.80} no size")
        put_file(folder, name, get_bytes(base + urllib.parse.quote(name), size + 1))

    with ThreadPoolExecutor(WORKERS) as pool:
        for done, _ in enumerate(pool.map(fetch, files), 1):
            progress("fetch", done, len(files))
    # In no manifest by design; that none is published is said by the verifier.
    checker = get_if_there(base + CHECKER_PATH, MAX_CHECKER_BYTES)
    if checker is not None:
        put_file(folder, CHECKER_PATH, checker)


def fetch_manifest(base: str) -> bytes | None:
    """The manifest of the folder at `base`; None where there is none."""
    return get_if_there(base + MANIFEST_PATH, MAX_MANIFEST_BYTES)


class _NotThereError(RemoteError):
    """The address answers that it holds nothing."""


def get_bytes(url: str, limit: int) -> bytes:
    """What is at an address; RemoteError where nothing is, FormatError where it is over `limit`."""
    with _opened(url) as reply:
        return b"".join(_pieces(reply, url, limit))


def get_if_there(url: str, limit: int) -> bytes | None:
    """The same; None where the address answers that nothing is there."""
    try:
        return get_bytes(url, limit)
    except _NotThereError:
        return None


def save_if_there(url: str, path: Path, limit: int) -> int | None:
    """Save what is at an address, piece by piece; its bytes, None where nothing is there."""
    size = 0
    try:
        with _opened(url) as reply:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as out:
                for piece in _pieces(reply, url, limit):
                    size += len(piece)
                    out.write(piece)
            stated = reply.headers.get("Content-Length", "")
            if stated.isdigit() and int(stated) != size:
                raise RemoteError(f"{url}: {size} of {stated} bytes arrived", retryable=True)
    except _NotThereError:
        return None
    return size


def _pieces(reply: Any, url: str, limit: int) -> Iterator[bytes]:
    """A reply's bytes. The socket's limit is per read: a drip is stopped by the clock here."""
    size, begun = 0, time.monotonic()
    while piece := reply.read1(_PIECE_BYTES):
        size += len(piece)
        if size > limit:
            raise FormatError(f"{url} is over the limit of {limit} bytes")
        yield piece
        spent = time.monotonic() - begun
        if spent > TIMEOUT_S and size < spent * LEAST_BYTES_A_SECOND:
            raise RemoteError(f"{url}: {size} bytes in {spent:.0f} s is too slow", retryable=True)


class _SameHost(urllib.request.HTTPRedirectHandler):
    """A redirect within the host is followed; nothing that is read names another one."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        secured = (old.scheme, new.scheme) == ("http", "https") and (old.port, new.port) == (
            None,
            None,
        )
        if old.hostname != new.hostname or not (
            secured or (old.scheme, old.port) == (new.scheme, new.port)
        ):
            raise RemoteError(
                f"{req.full_url} sends on to {newurl!r:.200}: if that is its place, give it"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextmanager
def _opened(url: str) -> Iterator[Any]:
    """The reply of an address, its failures in this package's words."""
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "beforehand"})  # noqa: S310
        opener = urllib.request.build_opener(_SameHost)
        with opener.open(request, timeout=TIMEOUT_S) as reply:
            yield reply
    except urllib.error.HTTPError as error:
        if error.code in _NOT_THERE:
            raise _NotThereError(f"{url}: HTTP {error.code}", retryable=False) from None
        retryable = error.code in (408, 425, 429) or error.code >= 500
        raise RemoteError(f"{url}: HTTP {error.code}", retryable=retryable) from None
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        raise RemoteError(f"{url}: {error!s:.300}", retryable=True) from None
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{url}: {error}") from None


def put_file(folder: Path, name: str, data: bytes) -> None:
    """Write a file below `folder`; FormatError where its name leads out of it."""
    path = place_below(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def place_below(folder: Path, name: str) -> Path:
    """Where a file of a published name is kept; FormatError where that is not below `folder`."""
    parts = PurePosixPath(name).parts
    unsafe = not parts or name.startswith("/") or "\\" in name or ".." in parts or ":" in parts[0]
    if unsafe or "\x00" in name:
        raise FormatError(f"the manifest lists a name that leads out of the folder: {name!r:.80}")
    return folder.joinpath(*parts)
