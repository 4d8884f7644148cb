"""Mutants of bytes: lines that do not fit their seals, mirrors, and files changed after signing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from beforehand.records.codec import seal_json
from beforehand.testing.mutants_files import BASE, Files
from beforehand.testing.mutants_kinds import BYTES, RAW, ChangeFiles, ChangeRaws, Mutant

BOOK = f"{BASE}/book.jsonl"


def byte_mutants() -> list[Mutant]:
    """All mutants of this file."""
    return [*_below_seals(), *_mirrors(), *_after_signing()]


# ---- lines below their seals; tree, checkpoints and manifest are signed over them as they are


def _raw(name: str, fault: str, change: ChangeRaws, **more: Any) -> Mutant:
    return Mutant(f"r02-{name}", 2, RAW, fault, raws=change, **more)


def _edit(kind: str, change: Callable[[dict[str, Any]], None]) -> ChangeRaws:
    """Change the object of the last line of a kind and leave its hashes as they were."""

    def changed(raws: list[bytes]) -> list[bytes]:
        place = _last(raws, kind)
        value = json.loads(raws[place])
        change(value)
        return [*raws[:place], seal_json(value), *raws[place + 1 :]]

    return changed


def _last(raws: list[bytes], kind: str) -> int:
    return max(n for n, raw in enumerate(raws) if json.loads(raw)["kind"] == kind)


def _flip(text: str) -> str:
    return ("0" if text[0] != "0" else "1") + text[1:]


def _twice(raws: list[bytes]) -> list[bytes]:
    """A second `why`-like key in one line: two texts, one seal."""
    place = _last(raws, "release")
    return [*raws[:place], raws[place].replace(b"{", b'{"release": "another", ', 1)]


def _resealed_alone(value: dict[str, Any]) -> None:
    value["reason"] = "another reason"


def _swapped(raws: list[bytes]) -> list[bytes]:
    place = _last(raws, "close")
    return [*raws[:place], raws[place + 1], raws[place], *raws[place + 2 :]]


def _doubled(raws: list[bytes]) -> list[bytes]:
    place = _last(raws, "close")
    return [*raws[: place + 1], raws[place], *raws[place + 1 :]]


def _below_seals() -> list[Mutant]:
    return [
        _raw("content-changed", "a line changed below its seal", _edit("close", lambda v: v.update(
            why="changed"))),
        _raw("correction-changed", "a correction changed below its seal",
             _edit("correction", _resealed_alone)),
        _raw("seal-changed", "a seal that is not of its content",
             _edit("close", lambda v: v.update(seal=_flip(v["seal"])))),
        _raw("link-changed", "a link that is not of its line",
             _edit("close", lambda v: v.update(link=_flip(v["link"])))),
        _raw("prev-changed", "a line that names another line before it",
             _edit("close", lambda v: v.update(prev=_flip(v["prev"])))),
        _raw("number-changed", "a line with another number",
             _edit("close", lambda v: v.update(n=v["n"] + 1))),
        _raw("number-a-text", "a line whose number is a text",
             _edit("close", lambda v: v.update(n=str(v["n"])))),
        _raw("no-kind", "a line without a kind", _edit("close", lambda v: v.pop("kind"))),
        _raw("duplicate-key", "a key that stands twice in one line", _twice,
             attack="duplicate keys"),
        _raw("lines-swapped", "two lines exchanged", _swapped),
        _raw("line-doubled", "one line written twice", _doubled),
        _raw("unreadable-line", "a line that is no JSON", lambda raws: [*raws, b"{not json"]),
        _raw("line-endings", "a mirror rewrote the line endings, and signed its bytes",
             lambda raws: [raw + b"\r" for raw in raws],
             attack="line endings rewritten by a mirror"),
        _raw("byte-order-mark", "a byte order mark before the first line",
             lambda raws: [b"\xef\xbb\xbf" + raws[0], *raws[1:]],
             collateral=(3, 9, 16)),
    ]  # fmt: skip


# ---- published bytes, nothing signed anew; the manifest differs too (requirement 11)


def _bytes(name: str, number: int, fault: str, change: ChangeFiles, **more: Any) -> Mutant:
    more.setdefault("collateral", (11,) if number != 11 else ())
    return Mutant(f"r{number:02d}-{name}", number, BYTES, fault, files=change, **more)


def _in_file(suffix: str, change: Callable[[bytes], bytes]) -> ChangeFiles:
    def changed(files: Files) -> None:
        name = next(name for name in sorted(files) if name.endswith(suffix) or suffix in name)
        files[name] = change(files[name])

    return changed


def _lost(part: str) -> ChangeFiles:
    def changed(files: Files) -> None:
        del files[next(name for name in sorted(files) if part in name)]

    return changed


def _bit(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def _mirrors() -> list[Mutant]:
    return [
        _bytes("bit-of-the-book", 2, "one bit of the book's last line flipped",
               lambda f: f.update({BOOK: f[BOOK][:-30] + _bit(f[BOOK][-30:])})),
        _bytes("mirror-line-endings", 2, "a mirror rewrote the line endings",
               lambda f: f.update({BOOK: f[BOOK].replace(b"\n", b"\r\n")}),
               attack="line endings rewritten by a mirror"),
        _bytes("no-last-line-feed", 2, "the last line has no line feed",
               lambda f: f.update({BOOK: f[BOOK][:-1]})),
        _bytes("last-line-lost", 2, "the last line was lost",
               lambda f: f.update({BOOK: f[BOOK][: f[BOOK].rindex(b"\n", 0, -1) + 1]})),
        _bytes("tile-changed", 2, "one bit of a tile flipped", _in_file("tile/0/", _bit)),
        _bytes("tile-lost", 2, "a tile was lost",
               _lost("/tile/entries/")),
        _bytes("checkpoint-signature", 2, "a checkpoint whose signature is false",
               _in_file(f"{BASE}/checkpoint", lambda d: d[:-8] + b"AAAAAAA\n")),
        _bytes("checkpoint-size", 2, "a checkpoint over another size",
               _in_file(f"{BASE}/checkpoint", lambda d: d.replace(b"\n1", b"\n2", 1))),
        _bytes("checkpoint-lost", 2, "the checkpoint was lost",
               _lost(f"{BASE}/checkpoint")),
    ]  # fmt: skip


def _after_signing() -> list[Mutant]:
    return [
        _bytes("file-changed", 11, "a published file changed after it was signed",
               _in_file("recount.py", _bit)),
        _bytes("file-lost", 11, "a listed file is missing",
               _lost("2026-01-05-am.txt.rfc3161.tsr")),
        _bytes("file-unlisted", 11, "a file that the manifest does not list",
               lambda f: f.update({f"{BASE}/extra.csv": b"a,b\n"})),
        _bytes("manifest-signature", 11, "a manifest whose signature is false",
               _in_file("manifest.json", lambda d: d.replace(b'"2026-02-01T', b'"2026-02-02T'))),
        _bytes("manifest-form", 11, "a manifest that is not in its canonical form",
               _in_file("manifest.json", lambda d: d.replace(b": ", b":", 1))),
        _bytes("ask-file-changed", 11, "a published question is not what its name says",
               _in_file("/asks/", _bit)),
    ]  # fmt: skip
