"""Fetching a published league over HTTP into a folder, every read under a limit."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

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
WORKERS = 8


def is_url(text: str) -> bool:
    """Whether an argument names something to fetch."""
    return text.startswith(("https://", "http://"))


def fetch_public(url: str, folder: Path, progress: Callable[[str, int, int], None]) -> None:
    """Fetch the manifest at `url`, then every file it lists, into `folder`.

    RemoteError where something cannot be fetched; FormatError where the
    manifest is unreadable or lists a name that leads out of the folder.
    """
    base = url.removesuffix("index.html").rstrip("/") + "/"
    data = _get(base + MANIFEST_PATH, MAX_MANIFEST_BYTES)
    manifest = read_manifest(data)
    _put(folder, MANIFEST_PATH, data)
    files = manifest["files"]
    total = sum(entry["bytes"] for entry in files)
    if total > MAX_TOTAL_BYTES:
        raise FormatError(f"the manifest lists {total} bytes; the limit is {MAX_TOTAL_BYTES}")

    def fetch(entry: dict[str, object]) -> None:
        name, size = str(entry["path"]), entry["bytes"]
        if not isinstance(size, int) or size < 0:
            raise FormatError(f"the manifest gives {name!r:.80} no size")
        _put(folder, name, _get(base + urllib.parse.quote(name), size + 1))

    wanted = [{"path": CHECKER_PATH, "bytes": MAX_CHECKER_BYTES}, *files]
    with ThreadPoolExecutor(WORKERS) as pool:
        for done, _ in enumerate(pool.map(fetch, wanted), 1):
            progress("fetch", done, len(wanted))


def _get(url: str, limit: int) -> bytes:
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "beforehand"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:  # noqa: S310 - is_url
            data: bytes = reply.read(limit + 1)
    except urllib.error.HTTPError as error:
        retryable = error.code in (408, 425, 429) or error.code >= 500
        raise RemoteError(f"{url}: HTTP {error.code}", retryable=retryable) from None
    except (urllib.error.URLError, OSError) as error:
        raise RemoteError(f"{url}: {error}", retryable=True) from None
    except ValueError as error:
        raise FormatError(f"{url}: {error}") from None
    if len(data) > limit:
        raise FormatError(f"{url} is over the limit of {limit} bytes")
    return data


def _put(folder: Path, name: str, data: bytes) -> None:
    parts = PurePosixPath(name).parts
    unsafe = not parts or name.startswith("/") or "\\" in name or ".." in parts or ":" in parts[0]
    if unsafe or "\x00" in name:
        raise FormatError(f"the manifest lists a name that leads out of the folder: {name!r:.80}")
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
