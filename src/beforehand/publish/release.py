"""Releases: an immutable, deposit-ready copy of a publication.

A release is a folder of three files: `NAME.zip` (the public folder, byte for
byte the same for the same content), `release.json` (what it covers, by hash)
and `README.md` for the archive that keeps it. Its book is a prefix of every
later one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import beforehand
from beforehand.book.folder import DirectoryFolder, Folder, hash_file, read_file
from beforehand.book.manifest import MANIFEST_PATH, MAX_MANIFEST_BYTES, read_manifest
from beforehand.errors import FormatError, IntegrityError, RuleError
from beforehand.publish.code import CODE_PATH, MAX_CODE_BYTES, code_content
from beforehand.publish.recount import read_lines
from beforehand.records.codec import decode_json, digest

RELEASE_FORMAT = "beforehand-release/1"
MAX_UNPACKED_BYTES = 8 << 30
MAX_RELEASE_BYTES = 64 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


def build_release(public: Path, out: Path, name: str) -> Path:
    """Freeze `public` as `out/name`; RuleError where that release is there already."""
    target = out / name
    if target.exists():
        raise RuleError(f"{target} is there already: a release never changes; choose another name")
    folder = DirectoryFolder(public)
    manifest_bytes = read_file(folder, MANIFEST_PATH, MAX_MANIFEST_BYTES)
    manifest = read_manifest(manifest_bytes)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=out) as made:
        fresh = Path(made) / name
        fresh.mkdir()
        _zip(folder, fresh / f"{name}.zip")
        size, hashed = hash_file(DirectoryFolder(fresh), f"{name}.zip")
        content = {
            "format": RELEASE_FORMAT,
            "release": name,
            "made_with": f"beforehand {beforehand.__version__}",
            "code": decode_json(read_file(folder, CODE_PATH, MAX_CODE_BYTES)),
            "as_of": manifest["as_of"],
            "manifest_sha256": digest(manifest_bytes),
            "zip": {"path": f"{name}.zip", "bytes": size, "sha256": hashed},
            "leagues": manifest["leagues"],
        }
        (fresh / "release.json").write_bytes(_json(content))
        (fresh / "README.md").write_text(_readme(content), encoding="utf-8")
        fresh.rename(target)
    return target


def _zip(folder: Folder, path: Path) -> None:
    """Every file in name order with one fixed time, so that equal content gives equal bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in folder.names():
            entry = zipfile.ZipInfo(f"public/{name}", _EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            with folder.open(name) as stream, archive.open(entry, "w") as kept:
                shutil.copyfileobj(stream, kept, 1 << 20)


def release_content(release: Path) -> dict[str, Any]:
    """The `release.json` of a release's folder; FormatError where it is none."""
    content = decode_json(read_file(DirectoryFolder(release), "release.json", MAX_RELEASE_BYTES))
    if not isinstance(content, dict) or content.get("format") != RELEASE_FORMAT:
        raise FormatError(f"{release / 'release.json'} does not say that it is {RELEASE_FORMAT}")
    return content


def open_release(release: Path, into: Path) -> dict[str, Any]:
    """Unpack a release into `into/public` and give its `release.json`.

    IntegrityError where the zip or its manifest is not the one named there,
    FormatError where it holds a name that leads out of the folder, or is over
    a limit.
    """
    folder, content = DirectoryFolder(release), release_content(release)
    named = content["zip"]
    if hash_file(folder, named["path"]) != (named["bytes"], named["sha256"]):
        raise IntegrityError(f"{release / named['path']} is not the zip that release.json names")
    with zipfile.ZipFile(release / named["path"]) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED_BYTES:
            raise FormatError(f"{named['path']} unpacks to more than {MAX_UNPACKED_BYTES} bytes")
        for entry in archive.infolist():
            parts = PurePosixPath(entry.filename).parts
            if entry.is_dir() or not parts or parts[0] != "public" or ".." in parts:
                raise FormatError(f"{named['path']} holds the odd name {entry.filename!r:.80}")
            archive.extract(entry, into)
    manifest = read_file(DirectoryFolder(into / "public"), MANIFEST_PATH, MAX_MANIFEST_BYTES)
    if digest(manifest) != content["manifest_sha256"]:
        raise IntegrityError("the manifest in the zip is not the one that release.json names")
    if read_manifest(manifest)["leagues"] != content["leagues"]:
        raise IntegrityError("release.json and the manifest name different leagues or lines")
    if read_manifest(manifest)["as_of"] != content["as_of"]:
        raise IntegrityError("release.json and the manifest state different times")
    code = read_file(DirectoryFolder(into / "public"), CODE_PATH, MAX_CODE_BYTES)
    if decode_json(code) != content.get("code"):
        raise IntegrityError("release.json names another code than the publication in the zip")
    return content


def other_code(content: dict[str, Any]) -> str:
    """What differs where a release was scored by other code than this, "" where nothing does."""
    scored, here = content["code"], code_content()
    if scored.get("sha256") == here["sha256"]:
        return ""
    files = scored.get("files") or {}
    names = {*files, *here["files"]}
    differing = sum(files.get(name) != here["files"].get(name) for name in names)
    return (
        f"it was scored by {scored.get('package')} {scored.get('version')} (sources "
        f"{str(scored.get('sha256'))[:16]}…), this is {here['version']} ({here['sha256'][:16]}…): "
        f"{differing} files differ; a recount with this version is another code's"
    )


def check_prefix(content: dict[str, Any], later: Folder) -> list[str]:
    """What is wrong where a later publication does not begin with this release's books."""
    manifest = read_manifest(read_file(later, MANIFEST_PATH, MAX_MANIFEST_BYTES))
    books = {league["origin"]: league for league in manifest["leagues"]}
    problems = []
    for league in content["leagues"]:
        name, lines = league["league"], league["lines"]
        held = books.get(league["origin"])
        if held is None:
            problems.append(f"{name}: the later publication has no book of {league['origin']}")
            continue
        hasher, found = hashlib.sha256(), 0
        for raw in read_lines(later, f"{held['path']}/book.jsonl", lines):
            hasher.update(raw + b"\n")
            found += 1
        if found < lines:
            problems.append(f"{name}: the later book has {found} lines, the release {lines}")
        elif hasher.hexdigest() != league["book_sha256"]:
            problems.append(
                f"{name}: the later book does not begin with the release's {lines} lines"
            )
    return problems


def _readme(content: dict[str, Any]) -> str:
    leagues = "\n".join(
        f"- {league['league']}: {league['lines']} line{'s' * (league['lines'] != 1)} of "
        f"{league['origin']}, "
        f"root {league['root']}, key {league['key']}"
        for league in content["leagues"]
    )
    return (
        f"# {content['release']}\n\n"
        "A frozen publication of sealed forecasts. The zip holds the whole public folder: books, "
        "bodies, tables, pages, the checker and the recount.\n\n"
        f"{leagues}\n\n"
        f"SHA-256 of the zip: {content['zip']['sha256']}\n\n"
        "Check it with Python alone, after unpacking:\n\n"
        "    python3 -I public/api/v1/verify.py public\n"
        "    python3 -I public/api/v1/recount.py public\n\n"
        "The licence and attribution of the data stand in each league's datapackage.json.\n"
    )


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).encode("utf-8") + b"\n"
