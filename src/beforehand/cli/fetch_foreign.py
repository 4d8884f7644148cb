"""Fetching another league's public files: one file, a `standard.json`, or the seed's open files.

What lies at an address is found out by asking, in this order: one bare file
by its ending, a folder of this package by its manifest, a league's own
`standard.json`, the seed's layout (its book, chain of asks, texts and proof
pages). Every read is under a limit, and nothing that is read chooses an
address outside the folder that was named, or the seed's proof pages on the
same host.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from beforehand.book.manifest import MANIFEST_PATH
from beforehand.cli.fetch import (
    MAX_TOTAL_BYTES,
    Progress,
    fetch_listed,
    fetch_manifest,
    folder_url,
    get_if_there,
    place_below,
    put_file,
    save_if_there,
)
from beforehand.errors import FormatError
from beforehand.publish.conformance.book_form import MAX_ASK_BYTES
from beforehand.publish.conformance.evidence import MAX_EVIDENCE_BYTES
from beforehand.publish.conformance.standard_file import (
    MAX_STANDARD_BYTES,
    STANDARD_NAME,
    StandardFile,
)
from beforehand.publish.conformance.tables import MAX_JSON_BYTES, MAX_TABLE_BYTES
from beforehand.publish.conformance.walk_lines import MAX_BYTES as MAX_BOOK_BYTES
from beforehand.records.codec import MAX_LINE_BYTES, is_digest

BARE = {".csv": MAX_TABLE_BYTES, ".jsonl": MAX_BOOK_BYTES}
SEED_BOOK = "council-book.jsonl"
SEED_API = "api/v1/"
SEED_TABLES = {
    "council-forecasts.csv": MAX_TABLE_BYTES,
    "leaderboard.json": MAX_JSON_BYTES,
    "diagnostics.json": MAX_JSON_BYTES,
    "climatology.json": MAX_JSON_BYTES,
}
SEED_PROOF = "markets/proof/"
# What lies beside a list of the seed, whether its page names it or not.
SEED_EVIDENCE = (".ots", ".freetsa.tsr", ".digicert.tsr", ".sectigo.tsr", ".rekor.json")
MAX_PAGE_BYTES = 4 << 20
MAX_DAYS = 400
MAX_LISTS_A_DAY = 200
MAX_TEXTS = 5000

_PROOF_FILE = re.compile(r"[0-9]{6}Z\.txt(?:\.[A-Za-z0-9-]{1,30}){0,4}", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def fetch_league(url: str, folder: Path, progress: Progress) -> Path:
    """Fetch what a league publishes at `url` into `folder`; the folder or file to judge.

    RemoteError where something cannot be fetched; FormatError where nothing
    that is known lies there, naming what was looked for, or where it is over a limit.
    """
    path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
    limit = BARE.get(path[path.rfind(".") :].lower()) if "." in path else None
    if limit is not None:
        return _bare(url, path, folder, limit)
    base = folder_url(url)
    manifest = fetch_manifest(base)
    if manifest is not None:
        fetch_listed(base, manifest, folder, progress)
        return folder
    claimed = get_if_there(base + STANDARD_NAME, MAX_STANDARD_BYTES)
    if claimed is not None:
        _mapped(base, claimed, folder, progress)
        return folder
    for api in ("", SEED_API):
        if save_if_there(base + api + SEED_BOOK, folder / SEED_BOOK, MAX_BOOK_BYTES) is not None:
            _Seed(base, base + api, folder, progress).fetch()
            return folder
    raise FormatError(
        f"{base} shows nothing that can be judged. Looked for: {MANIFEST_PATH} (a folder of this "
        f"package), {STANDARD_NAME} (a league's own map of its files), {SEED_BOOK} and "
        f"{SEED_API}{SEED_BOOK} (the seed's open files). Give the folder that holds one of them, "
        "or the address of one .csv or .jsonl file"
    )


def _bare(url: str, path: str, folder: Path, limit: int) -> Path:
    name = path.rpartition("/")[2]
    place = place_below(folder, name)
    if save_if_there(url, place, limit) is None:
        raise FormatError(f"{url}: no such file is there")
    return place


def _mapped(base: str, data: bytes, folder: Path, progress: Progress) -> None:
    """Every file that a `standard.json` maps; one that is not there is a fault of the checks."""
    standard = StandardFile.parse(data)
    put_file(folder, STANDARD_NAME, data)
    big = {standard.one(role) for role in ("book", "asks")}
    names, total = standard.names(), 0
    for done, name in enumerate(names, 1):
        limit = MAX_BOOK_BYTES if name in big else MAX_TABLE_BYTES
        address = base + urllib.parse.quote(name)
        total += save_if_there(address, place_below(folder, name), limit) or 0
        if total > MAX_TOTAL_BYTES:
            raise FormatError(f"{base}: its files are over the limit of {MAX_TOTAL_BYTES} bytes")
        progress("fetch", done, len(names))


class _Seed:
    """The seed's open files around a book that was fetched: spec 1.5 and 1.6."""

    def __init__(self, base: str, api: str, folder: Path, progress: Progress) -> None:
        self._base, self._api, self._folder = base, api, folder
        self._progress = progress
        self._total = 0

    def fetch(self) -> None:
        """The chain of asks, the tables, the questions' texts, and the proofs of every day."""
        self._save(self._api + "asks.jsonl", "asks.jsonl", MAX_BOOK_BYTES)
        for name, limit in SEED_TABLES.items():
            self._save(self._api + name, name, limit)
        texts, days = _named(self._folder / SEED_BOOK, self._folder / "asks.jsonl")
        for done, sha256 in enumerate(texts, 1):
            name = f"asks/{sha256}.md"
            self._save(self._api + name, name, MAX_ASK_BYTES)
            self._progress("texts", done, len(texts))
        for done, day in enumerate(days, 1):
            self._proofs(day)
            self._progress("proofs", done, len(days))

    def _proofs(self, day: str) -> None:
        """Every list of a day that its page names, with the evidence beside it."""
        for root in _proof_roots(self._base, self._api):
            page = get_if_there(f"{root}{day}/", MAX_PAGE_BYTES)
            if page is None:
                continue
            named = set(_PROOF_FILE.findall(page.decode("utf-8", "replace")))
            lists = _first({name[:11] for name in named}, MAX_LISTS_A_DAY, "lists of a day")
            wanted = named | {name + ending for name in lists for ending in SEED_EVIDENCE}
            for name in sorted(wanted | set(lists)):
                place = f"{SEED_PROOF}{day}/{name}"
                self._save(f"{root}{day}/{name}", place, MAX_EVIDENCE_BYTES)
            return

    def _save(self, address: str, name: str, limit: int) -> None:
        self._total += save_if_there(address, place_below(self._folder, name), limit) or 0
        if self._total > MAX_TOTAL_BYTES:
            raise FormatError(f"{self._base}: over the limit of {MAX_TOTAL_BYTES} bytes in all")


def _proof_roots(base: str, api: str) -> list[str]:
    """Where proof pages may lie: below the folder, or at their own place on the same host."""
    parts = urllib.parse.urlsplit(api)
    host = f"{parts.scheme}://{parts.netloc}/"
    return list(dict.fromkeys((base + SEED_PROOF, host + SEED_PROOF)))


def _lines(path: Path) -> Iterator[dict[str, object]]:
    """The objects of a file of lines; what is none is a finding of the checks."""
    if not path.is_file():
        return
    with path.open("rb") as stream:
        while raw := stream.readline(MAX_LINE_BYTES):
            try:
                value = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def _named(*paths: Path) -> tuple[list[str], list[str]]:
    """The hashes of questions' texts and the days that the lines of the seed's chains name."""
    texts: set[str] = set()
    days: set[str] = set()
    for line in (line for path in paths for line in _lines(path)):
        texts |= {
            held
            for held in (line.get("ask_sha256"), line.get("sha256"))
            if isinstance(held, str) and is_digest(held)
        }
        day = str(line.get("at"))[:10]
        days |= {day} if _DAY.fullmatch(day) else set()
        if len(texts) > MAX_TEXTS:
            break
    return _first(texts, MAX_TEXTS, "questions' texts"), _first(days, MAX_DAYS, "days")


def _first(held: set[str], most: int, what: str) -> list[str]:
    if len(held) > most:
        raise FormatError(f"{len(held)} {what}; the limit is {most}: fetch them, and give a folder")
    return sorted(held)
