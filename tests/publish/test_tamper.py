"""Every byte of a small published league, changed one at a time, is found and its place named."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from beforehand.book.manifest import CHECKER_PATH, MANIFEST_PATH
from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.book.verify import verify_folder
from beforehand.errors import FormatError
from beforehand.testing.memory_folder import MemoryFolder

from .conftest import Published

BASE = "api/v1/small/"


def check(files: dict[str, bytes], options: Options) -> Report:
    return verify_folder(MemoryFolder(files), options)


def test_the_league_as_published_is_sound(small: Published, options: Options) -> None:
    report = check(small.files, options)
    assert report.findings == []
    assert report.exit_code == 0
    assert report.leagues["small"]["bodies"] > 0


def proof_files(small: Published) -> list[str]:
    """What proves: book, bodies, tiles, checkpoints, manifest; tables and schemas are hashed too
    and have a test of their own, as they are long and all alike to the checker."""
    parts = ("book.jsonl", "bodies/", "tile/", "checkpoint")
    return [
        name
        for name in small.files
        if name == MANIFEST_PATH or name.startswith(tuple(BASE + part for part in parts))
    ]


@pytest.mark.parametrize("part", ["book.jsonl", "bodies/", "tile/", "checkpoint", "manifest"])
def test_every_byte_flipped_is_a_finding_that_names_the_place(
    small: Published, options: Options, part: str
) -> None:
    flips = 0
    for name in proof_files(small):
        if part not in name:
            continue
        whole = small.files[name]
        for place in range(len(whole)):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << place % 8
            report = check({**small.files, name: bytes(flipped)}, options)
            flips += 1
            assert report.findings, f"{name} byte {place} was not found"
            if name.endswith("book.jsonl"):
                line = whole.count(b"\n", 0, place) + 1
                named = any(
                    finding.place.endswith((f"line {line}", f"line {line + 1}"))
                    or finding.message.endswith(f"hash {line - 1}")
                    for finding in report.findings
                )
                assert named, (place, [finding.text() for finding in report.findings])
            elif name == MANIFEST_PATH:
                assert any(MANIFEST_PATH in f.place or f.step in (1, 2, 5) for f in report.findings)
            else:
                assert any(finding.place == name for finding in report.findings)
    assert flips > 100


def test_every_other_published_file_is_covered_too(small: Published, options: Options) -> None:
    for name, whole in small.files.items():
        if name == CHECKER_PATH:
            continue
        for place in (0, len(whole) // 2, len(whole) - 1):
            flipped = bytearray(whole)
            flipped[place] ^= 0x04
            report = check({**small.files, name: bytes(flipped)}, options)
            assert report.findings, f"{name} byte {place}"


def test_a_dropped_file_is_named(small: Published, options: Options) -> None:
    for name in small.files:
        files = {other: data for other, data in small.files.items() if other != name}
        if name == MANIFEST_PATH:
            with pytest.raises(FormatError, match=r"manifest\.json is missing"):
                check(files, options)
        elif name != CHECKER_PATH:
            report = check(files, options)
            assert any(finding.place == name for finding in report.findings), name


def test_an_added_file_is_named(small: Published, options: Options) -> None:
    for name in ("x", "api/v1/small/bodies/aa/" + "a" * 64, "api/v1/small/tile/9/000", ".hidden"):
        report = check({**small.files, name: b"more"}, options)
        assert any(finding.place == name for finding in report.findings), name


def test_two_exchanged_files_are_both_named(small: Published, options: Options) -> None:
    bodies = [name for name in small.files if "/bodies/" in name]
    for first, second in pairwise(bodies):
        files = dict(small.files)
        files[first], files[second] = files[second], files[first]
        places = {finding.place for finding in check(files, options).findings}
        assert {first, second} <= places


def test_a_change_that_leaves_the_json_equal_is_caught_by_the_tree(
    small: Published, options: Options
) -> None:
    """A space more in a line: seals and links still fit; the tree and the tiles do not."""
    name = BASE + "book.jsonl"
    book = small.files[name].replace(b'"kind": "question"', b'"kind":  "question"', 1)
    report = check({**small.files, name: book}, options)
    assert all(finding.step in (2, 3, 4, 5) for finding in report.findings)
    assert any("/tile/entries/" in finding.place for finding in report.findings)
    line = book[: book.find(b'"kind":  ')].count(b"\n")
    assert any(finding.message.endswith(f"hash {line}") for finding in report.findings)


@pytest.mark.parametrize("how", ["swap", "drop", "double", "truncate"])
def test_lines_moved_about_are_found(small: Published, options: Options, how: str) -> None:
    name = BASE + "book.jsonl"
    lines = small.files[name].splitlines(keepends=True)
    for place in range(1, len(lines)):
        moved = lines[:]
        if how == "swap":
            moved[place - 1], moved[place] = moved[place], moved[place - 1]
        elif how == "drop":
            del moved[place]
        elif how == "double":
            moved.insert(place, moved[place])
        else:
            moved = moved[:place]
        assert check({**small.files, name: b"".join(moved)}, options).findings, place


def test_a_manifest_signed_by_another_key_is_refused(small: Published, options: Options) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from beforehand.book.manifest import sign_manifest

    other = Ed25519PrivateKey.generate()
    manifest = json.loads(small.files[MANIFEST_PATH])
    del manifest["signature"]
    forged = sign_manifest(manifest, [(small.key.verifier, other.sign)])
    report = check({**small.files, MANIFEST_PATH: forged}, options)
    assert [finding.step for finding in report.findings] == [1]


def test_a_truncation_past_the_held_checkpoint_shows_only_with_since(
    small: Published, options: Options, tmp_path: object
) -> None:
    """The operator cuts the book, republishes and re-signs: sound by itself, refused with the
    checkpoint a reader kept; and the report without it says what it cannot see."""
    from pathlib import Path

    from beforehand.book.reader import BookReader
    from beforehand.publish.public import seal_public, write_data

    folder = Path(str(tmp_path)) / "cut"
    notes = BookReader(small.league).checkpoints()
    first = sorted(notes)[1]
    (folder / "checkpoints").mkdir(parents=True)
    lines = list(BookReader(small.league).lines())[:first]
    (folder / "book.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    (folder / "bodies").symlink_to(small.league / "bodies")
    for size, note in notes.items():
        if size <= first:
            (folder / "checkpoints" / str(size)).write_bytes(note)
    public = Path(str(tmp_path)) / "public"
    data = write_data(BookReader(folder), small.key.verifier, public, options.as_of)
    seal_public(public, [(data, small.key.verifier, small.key.sign)], options.as_of)
    files = MemoryFolder.of(public).files
    without = check(files, options)
    assert without.exit_code == 0
    assert any("--since" in item for item in without.not_checked)
    held = small.files[BASE + "checkpoint"]
    report = check(files, Options(as_of=options.as_of, since=held))
    assert any("cut or rolled back" in finding.message for finding in report.findings)
    whole = check(small.files, Options(as_of=options.as_of, since=notes[first]))
    assert whole.findings == []


def test_embargoed_bodies_are_withheld_and_missed_only_once_due(
    tmp_path_factory: pytest.TempPathFactory, options: Options
) -> None:
    from .conftest import publish_small

    early = "2026-01-01T12:00:00Z"
    held = publish_small(tmp_path_factory.mktemp("early"), as_of=early)
    now = check(held.files, Options(as_of=early))
    assert now.findings == []
    assert now.leagues["small"]["bodies_embargoed"] == 4, "Bob's answer, three outcomes"
    later = check(held.files, options)
    assert any("was due at" in finding.message for finding in later.findings)
