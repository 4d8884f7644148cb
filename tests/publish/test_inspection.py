"""A dishonest operator: books that are well signed and wrong in one thing, each found by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.bodies import SealedBody, body_path
from beforehand.book.checkpoint import Checkpoint, sign_note
from beforehand.book.line import make_line
from beforehand.book.manifest import sign_manifest
from beforehand.book.options import Options
from beforehand.book.report import MAX_FINDINGS, Report
from beforehand.book.tiles import tile_files
from beforehand.book.tree import line_leaf, tree_root
from beforehand.book.verify import report_lines, verify_folder
from beforehand.records.codec import BOOKKEEPING, digest, seal_json
from beforehand.testing.memory_folder import MemoryFolder
from tests.small_league import DEADLINE, RUN, SALT

from .conftest import AS_OF, Published

BASE = "api/v1/small"
Lines = list[dict[str, Any]]
Change = Callable[[Lines, dict[str, bytes]], None]


def resigned(small: Published, change: Change) -> dict[str, bytes]:
    """The small league with its lines changed, chained, treed and signed anew by its own key."""
    lines: Lines = []
    for raw in small.files[f"{BASE}/book.jsonl"].splitlines():
        value = json.loads(raw)
        lines.append({key: item for key, item in value.items() if key not in BOOKKEEPING})
    bodies = {
        name.rpartition("/")[2]: data
        for name, data in small.files.items()
        if name.startswith(f"{BASE}/bodies/")
    }
    change(lines, bodies)
    raws, prev = [], ""
    for n, content in enumerate(lines, 1):
        line = make_line(content, n, prev)
        raws.append(line.raw)
        prev = line.link
    return published(small, raws, bodies)


def published(small: Published, raws: list[bytes], bodies: dict[str, bytes]) -> dict[str, bytes]:
    key = small.key
    book = b"".join(raw + b"\n" for raw in raws)
    root = tree_root(line_leaf(raw) for raw in raws)
    point = Checkpoint(key.verifier.name, len(raws), root)
    files = {
        f"{BASE}/book.jsonl": book,
        f"{BASE}/checkpoint": sign_note(point.text(), key.verifier, key.sign).encode(),
    }
    entries = (bytes.fromhex(digest(raw + b"\n")) for raw in raws)
    files |= {f"{BASE}/{name}": data for name, data in tile_files(entries)}
    files |= {f"{BASE}/{body_path(name)}": data for name, data in bodies.items()}
    league = {
        "league": "small",
        "path": BASE,
        "origin": key.verifier.name,
        "key": key.verifier.text(),
        "lines": len(raws),
        "root": root.hex(),
        "book_sha256": digest(book),
    }
    listed = [
        {"path": name, "bytes": len(data), "sha256": digest(data)}
        for name, data in sorted(files.items())
    ]
    unsigned = {
        "format": "beforehand-manifest/1",
        "as_of": AS_OF,
        "leagues": [league],
        "files": listed,
    }
    manifest = sign_manifest(unsigned, [(key.verifier, key.sign)])
    return {**files, "api/v1/manifest.json": manifest}


def verified(small: Published, change: Change, **options: Any) -> Report:
    files = resigned(small, change)
    return verify_folder(MemoryFolder(files), Options(as_of=AS_OF, **options))


def of_kind(lines: Lines, kind: str) -> dict[str, Any]:
    return next(line for line in lines if line["kind"] == kind)


def nothing(lines: Lines, bodies: dict[str, bytes]) -> None:
    return


def test_signed_anew_without_a_change_it_is_sound(small: Published) -> None:
    assert verified(small, nothing).findings == []


def put(lines: Lines, kind: str, **fields: Any) -> None:
    of_kind(lines, kind).update(fields)


def no_declaration(lines: Lines, bodies: dict[str, bytes]) -> None:
    del bodies[of_kind(lines, "league")["declaration_sha256"]]


def other_declaration(data: bytes) -> Change:
    def change(lines: Lines, bodies: dict[str, bytes]) -> None:
        league = of_kind(lines, "league")
        del bodies[league["declaration_sha256"]]
        bodies[digest(data)] = data
        league["declaration_sha256"] = digest(data)
        league["bodies"][0]["sha256"] = digest(data)

    return change


def sealed_answer(lines: Lines) -> dict[str, Any]:
    return next(line for line in lines if line["kind"] == "answer" and "bodies" in line)


def with_body(data: bytes) -> Change:
    def change(lines: Lines, bodies: dict[str, bytes]) -> None:
        answer = sealed_answer(lines)
        del bodies[answer["bodies"][0]["sha256"]]
        bodies[digest(data)] = data
        answer["bodies"][0]["sha256"] = digest(data)

    return change


def sealed(content: bytes, **other: str) -> bytes:
    header = {
        "origin": "test.example/small/book",
        "run": RUN,
        "forecaster": "bob",
        "role": "answer",
        "salt": SALT,
        **other,
    }
    return SealedBody(**header, content=content).data()  # type: ignore[arg-type]


def second_resolution(lines: Lines, bodies: dict[str, bytes]) -> None:
    lines.append({**lines[-1], "outcome": "yes"})


def answer_after_outcome(lines: Lines, bodies: dict[str, bytes]) -> None:
    first = next(line for line in lines if line["kind"] == "answer" and "cells" in line)
    lines.append({**first, "at": lines[-1]["at"], "forecaster": "ada"})


def lost_correction(lines: Lines, bodies: dict[str, bytes]) -> None:
    lines.append(
        {
            "at": lines[-1]["at"],
            "kind": "correction",
            "lines": [2],
            "what": "outcome",
            "source": "s",
            "reason": "r",
            "outcome": "yes",
        }
    )


def reused_salt(lines: Lines, bodies: dict[str, bytes]) -> None:
    answer = sealed_answer(lines)
    data = sealed(seal_json({"cells": []}) + b" ")
    bodies[digest(data)] = data
    place = lines.index(answer)
    lines.insert(place + 1, {**answer, "bodies": [{**answer["bodies"][0], "sha256": digest(data)}]})


def twice_named(lines: Lines, bodies: dict[str, bytes]) -> None:
    lines.insert(lines.index(sealed_answer(lines)) + 1, dict(sealed_answer(lines)))


@pytest.mark.parametrize(
    ("change", "step", "said"),
    [
        (lambda ls, bs: put(ls, "league", origin="test.example/other/book"), 5, "its origin"),
        (lambda ls, bs: put(ls, "league", key="nonsense"), 5, "its key"),
        (lambda ls, bs: ls.pop(0), 5, "not a league line"),
        (lambda ls, bs: ls.append(ls[0] | {"at": ls[-1]["at"]}), 3, "second league line"),
        (no_declaration, 6, "the declaration is not among the bodies"),
        (other_declaration(b"\xff"), 6, "is no declaration"),
        (other_declaration(b"a = [\n"), 6, "is no declaration"),
        (other_declaration(b"a" + b".a" * 80 + b" = 1\n"), 6, "more than 64 dots"),
        (other_declaration(b'[bodies]\nanswer = "someday"\n'), 6, "none of this version's"),
        (other_declaration(b'[bodies]\nanswer = "never"\n'), 6, "by the declared rule at None"),
        (other_declaration(b"bodies = 3\n"), 6, "by the declared rule"),
        (with_body(b"plain"), 6, "carries no salt"),
        (with_body(sealed(b"x")[:40]), 6, "header"),
        (with_body(sealed(b"not json")), 6, "is no answer"),
        (with_body(sealed(b"[]")), 6, "no list of cells"),
        (with_body(sealed(b'{"cells": []}', forecaster="ada")), 6, "its header is not of"),
        (reused_salt, 6, "its salt was used before"),
        (twice_named, 6, "was named before"),
        (
            lambda ls, bs: put(ls, "question", bodies=[{"role": "text", "sha256": "x"}]),
            6,
            "is not a SHA-256",
        ),
        (lambda ls, bs: put(ls, "roster", deadline="2026-01-02T00:00:01Z"), 6, "declared rule at"),
        (lambda ls, bs: put(ls, "roster", run="other"), 7, "is not its roster"),
        (lambda ls, bs: put(ls, "run", roster_line=2), 7, "is not its roster"),
        (lambda ls, bs: put(ls, "run", roster_line=99), 3, "earlier lines"),
        (lambda ls, bs: put(ls, "question", horizon="1d", contract={"a": "b"}), 3, "not the hash"),
        (lambda ls, bs: put(ls, "question", contract={"a": 1}), 3, "texts only"),
        (lambda ls, bs: put(ls, "segment", time="later"), 3, "time is 'later'"),
        (lambda ls, bs: put(ls, "answer", ask_line=2), 3, "ask"),
        (second_resolution, 7, "again"),
        (answer_after_outcome, 7, "after its resolution"),
        (lost_correction, 7, "none gives one"),
        (lambda ls, bs: ls.append({"at": "2020-01-01T00:00:00Z", "kind": "note"}), 3, "is before"),
        (lambda ls, bs: bs.update({"ab" * 32: b"stray"}), 6, "no line names"),
    ],
)
def test_each_wrong_is_found_at_its_step(
    small: Published, change: Change, step: int, said: str
) -> None:
    report = verified(small, change)
    texts = [finding.text() for finding in report.findings]
    assert any(finding.step == step and said in finding.text() for finding in report.findings), (
        texts
    )


def seat_twice(lines: Lines, bodies: dict[str, bytes]) -> None:
    roster = of_kind(lines, "roster")
    roster["seats"].append(dict(roster["seats"][0]))


def test_a_doubled_seat_is_a_finding(small: Published) -> None:
    report = verified(small, seat_twice)
    assert any("more than once" in finding.message for finding in report.findings)


def test_an_erased_body_is_counted_and_an_unknown_kind_is_kept_and_noted(small: Published) -> None:
    def change(lines: Lines, bodies: dict[str, bytes]) -> None:
        sha256 = of_kind(lines, "snapshot")["bodies"][0]["sha256"]
        del bodies[sha256]
        at = lines[-1]["at"]
        erased = {"at": at, "kind": "erased", "line": 6, "body_sha256": sha256, "why": "asked"}
        lines += [erased, {"at": at, "kind": "weather", "sky": "clear"}]

    report = verified(small, change)
    assert report.findings == []
    assert report.leagues["small"]["bodies_erased"] == 1
    assert any("weather (1)" in note for note in report.notes)


def test_lines_beyond_the_last_checkpoint_are_said(small: Published) -> None:
    files = resigned(small, nothing)
    raws = files[f"{BASE}/book.jsonl"].splitlines()
    last = json.loads(raws[-1])
    more = make_line({"at": last["at"], "kind": "note"}, len(raws) + 1, last["link"])
    longer = published(small, [*raws, more.raw], bodies_of(files))
    for name in files:
        if "/tile/" in name or name.endswith("checkpoint"):
            longer[name] = files[name]
    longer = {name: data for name, data in longer.items() if "/tile/" not in name or name in files}
    report = verify_folder(MemoryFolder(relisted(small, longer)), Options(as_of=AS_OF))
    assert report.findings == []
    assert any("beyond the last checkpoint" in note for note in report.notes)


def bodies_of(files: dict[str, bytes]) -> dict[str, bytes]:
    return {n.rpartition("/")[2]: d for n, d in files.items() if n.startswith(f"{BASE}/bodies/")}


def relisted(small: Published, files: dict[str, bytes]) -> dict[str, bytes]:
    manifest = json.loads(files.pop("api/v1/manifest.json"))
    del manifest["signature"]
    manifest["files"] = [
        {"path": name, "bytes": len(data), "sha256": digest(data)}
        for name, data in sorted(files.items())
    ]
    signed = sign_manifest(manifest, [(small.key.verifier, small.key.sign)])
    return {**files, "api/v1/manifest.json": signed}


@pytest.mark.parametrize(
    ("since", "said"),
    [
        (lambda small, files: other_origin(small), "is not a checkpoint of"),
        (lambda small, files: rewritten(small), "rewritten"),
        (lambda small, files: files[f"{BASE}/checkpoint"].replace(b"\xe2\x80\x94 test", b"x"), ""),
    ],
)
def test_the_readers_checkpoint_decides(
    small: Published, since: Callable[[Published, dict[str, bytes]], bytes], said: str
) -> None:
    files = resigned(small, nothing)
    report = verify_folder(MemoryFolder(files), Options(as_of=AS_OF, since=since(small, files)))
    assert any(f.step == 8 and said in f.message for f in report.findings)


def other_origin(small: Published) -> bytes:
    point = Checkpoint("test.example/elsewhere/book", 3, bytes(32))
    return sign_note(point.text(), small.key.verifier, small.key.sign).encode()


def rewritten(small: Published) -> bytes:
    point = Checkpoint(small.key.verifier.name, 3, bytes(32))
    return sign_note(point.text(), small.key.verifier, small.key.sign).encode()


def test_a_flood_of_findings_is_counted_past_the_limit() -> None:
    report = Report(AS_OF)
    for n in range(MAX_FINDINGS + 7):
        report.find(3, f"line {n}", "wrong")
    assert (len(report.findings), report.more_findings) == (MAX_FINDINGS, 7)
    assert any("7 findings more" in line for line in report_lines(report))
    assert report.content()["result"] == "findings"


def test_the_checkers_command_line(
    small: Published, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from beforehand.book.checker import checker_main

    public = str(small.public)
    assert checker_main([public]) == 0
    assert "result at" in capsys.readouterr().out
    assert checker_main([public, "--json", "--as-of", DEADLINE, "--processes", "2"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["as_of"] == DEADLINE
    held = small.public / BASE / "checkpoint"
    origin, key = small.key.verifier.name, small.key.verifier.text()
    known = ["--origin", origin, "--key", key, "--since", str(held)]
    assert checker_main([public, *known, "--require", "operator,since"]) == 0
    assert checker_main([public, "--require", "operator"]) == 2
    assert checker_main([public, "--key", "other"]) == 1
    assert checker_main([str(small.public / BASE / "book.jsonl")]) == 0
    assert "a bare book" in capsys.readouterr().out
    for wrong in (
        [str(tmp_path)],
        [str(tmp_path / "none")],
        [public, "--since", str(tmp_path)],
        [public, "--require", "magic"],
        [public, "--processes", "0"],
        ["--help"],
        [],
    ):
        assert checker_main(wrong) == (0 if wrong == ["--help"] else 2), wrong


def test_whatever_breaks_in_the_checker_is_could_not_check(
    monkeypatch: pytest.MonkeyPatch, small: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    from beforehand.book import checker

    def broken(*arguments: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(checker, "verify_path", broken)
    assert checker.checker_main([str(small.public)]) == 2
    assert "the checker itself failed" in capsys.readouterr().err


def test_a_lone_book_is_compared_with_the_readers_checkpoint(small: Published) -> None:
    from beforehand.book.verify import verify_book

    book = small.files[f"{BASE}/book.jsonl"]
    held = small.files[f"{BASE}/checkpoint"]
    whole = MemoryFolder({"book.jsonl": book})
    known = {"since": held, "key": small.key.verifier.text()}
    report = verify_book(whole, "book.jsonl", Options(as_of=AS_OF, require=("since",), **known))
    assert (report.findings, report.exit_code) == ([], 0)
    assert any("prove nothing about when" in note for note in report.notes)
    cut = MemoryFolder({"book.jsonl": b"".join(book.splitlines(keepends=True)[:5])})
    report = verify_book(cut, "book.jsonl", Options(as_of=AS_OF, since=held))
    assert [finding.step for finding in report.findings] == [8]
    assert any("signature of your checkpoint" in item for item in report.not_checked)
    report = verify_book(whole, "book.jsonl", Options(as_of=AS_OF, since=rewritten(small)))
    assert "rewritten" in report.findings[0].message
    other = Options(as_of=AS_OF, since=held, key="nonsense")
    assert verify_book(whole, "book.jsonl", other).findings[0].step == 8


def test_a_file_without_a_line_is_never_sound() -> None:
    from beforehand.book.verify import verify_book

    for data, code in ((b"", 2), (b"no line feed", 1)):
        report = verify_book(MemoryFolder({"b": data}), "b", Options(as_of=AS_OF))
        assert report.exit_code == code
        assert any("no whole line" in item for item in report.unmet)


def test_renamed_columns_of_the_database_are_found(small: Published) -> None:
    import sqlite3

    from beforehand.publish.recount import recount_folder

    from .test_recount import resigned as with_file

    name = f"{BASE}/league.sqlite"
    base = sqlite3.connect(":memory:")
    base.deserialize(small.files[name])
    for old, new in (("brier", "x"), ("others_brier", "brier"), ("x", "others_brier")):
        base.execute(f"ALTER TABLE forecasts RENAME COLUMN {old} TO {new}")
    base.commit()
    files = with_file(small, name, base.serialize())
    assert recount_folder(MemoryFolder(files))["small"].different >= 1
