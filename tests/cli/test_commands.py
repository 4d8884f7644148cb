"""Every command: help with an example, the same exit codes, errors that say what to do."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Demo, beforehand

COMMANDS = (
    ("demo",),
    ("verify",),
    ("serve",),
    ("publish",),
    ("declare",),
    ("prove",),
    ("rehearse",),
    ("init",),
    ("doctor",),
    ("tick",),
    ("run",),
    ("status",),
    ("costs",),
    ("export",),
    ("backup",),
    ("restore",),
    ("release",),
    ("release", "build"),
    ("release", "verify"),
    ("release", "replicate"),
    ("contract", "id"),
    ("contract", "check"),
    ("bench",),
    ("bench", "verify"),
    ("bench", "live"),
    ("bench", "faults"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: tuple[str, ...]) -> None:
    run = beforehand(*command, "--help")
    assert run.returncode == 0
    if command not in (("release",), ("bench",)):
        assert f"beforehand {' '.join(command)}" in " ".join(run.stdout.split())
        assert "Example" in run.stdout


def test_without_a_command_it_says_where_to_begin() -> None:
    run = beforehand()
    assert "beforehand demo" in run.stdout + run.stderr
    assert beforehand("--version").stdout.strip() == "0.1.0"


@pytest.mark.parametrize("name", ["blind", "council", "depth", "arena", "replay"])
def test_the_shipped_declarations_pass_their_check(name: str, tmp_path: Path) -> None:
    run = beforehand("declare", name, "--check", "--json")
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert said["valid"] is True
    runs = name in ("replay", "blind")
    assert bool(said["cannot_run_yet"]) == (not runs)
    if not runs:
        run = beforehand("declare", name, "--dir", tmp_path / "x")
        assert run.returncode == 2 and "cannot be started by this version" in run.stderr


def test_a_faulty_declaration_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[league]\nnmae = 'x'\n")
    run = beforehand("declare", file, "--check")
    assert run.returncode == 2
    assert "mine.toml" in run.stderr
    run = beforehand("declare", tmp_path / "none.toml", "--check")
    assert run.returncode == 2 and "neither a file nor a shipped declaration" in run.stderr


def test_verify_exit_codes(demo: Demo, tmp_path: Path) -> None:
    run = beforehand("verify", demo.public, "--json")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["result"] == "sound"
    league = report["leagues"]["human-2024-07"]
    assert (league["lines"], league["answers"], league["time"]) == (1580, 40, "simulated")
    assert "0 different" in league["recounted"]
    assert beforehand("verify", demo.folder / "tampered").returncode == 1
    for arguments in (
        [tmp_path],
        [tmp_path / "none"],
        ["http://127.0.0.1:9/"],
        ["--nonsense"],
        [demo.public, "--require", "operator"],
        [demo.public, "--as-of", "yesterday"],
        [demo.public, "--processes", "0"],
    ):
        run = beforehand("verify", *arguments)
        assert run.returncode == 2, (arguments, run.stdout, run.stderr)


def test_verify_with_the_operator_known(demo: Demo) -> None:
    league = json.loads((demo.public / "api/v1/leagues.json").read_bytes())[0]
    checkpoint = demo.public / "api/v1/human-2024-07/checkpoints/1002"
    held = ["--origin", league["origin"], "--key", league["key"], "--since", checkpoint]
    run = beforehand("verify", demo.public, *held, "--require", "operator,since")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "NOT CHECKED" not in run.stdout
    run = beforehand("verify", demo.public, "--origin", "example.org/other/book")
    assert run.returncode == 1
    assert "yours is example.org/other/book" in run.stdout
    assert beforehand("verify", demo.public, "--require", "live").returncode == 2


def test_a_lone_book_is_walked_and_the_rest_said_to_be_unchecked(demo: Demo) -> None:
    book = demo.public / "api/v1/human-2024-07/book.jsonl"
    run = beforehand("verify", book)
    assert run.returncode == 0, run.stderr
    assert "a bare book" in run.stdout
    tampered = demo.folder / "tampered/api/v1/human-2024-07/book.jsonl"
    assert beforehand("verify", tampered).returncode == 1


@pytest.mark.parametrize("command", ["status", "costs"])
def test_a_league_without_a_schedule_is_said_to_have_none(command: str, demo: Demo) -> None:
    run = beforehand(command, demo.folder)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    said = " ".join(run.stderr.split())
    assert f"look at what it published, beforehand serve {demo.public}" in said


def test_a_simulated_league_has_one_sentence_for_its_levels(demo: Demo) -> None:
    run = beforehand("verify", demo.public)
    assert run.returncode == 0
    assert "levels: 0 throughout, as in every simulated league" in run.stdout
    assert "P1a" not in run.stdout
    told = json.loads(beforehand("verify", demo.public, "--json").stdout)
    assert told["leagues"]["human-2024-07"]["least_levels"]["P1a"] == "0"


@pytest.mark.parametrize(
    ("name", "what", "command"),
    [
        ("note.txt.seal", "the seal of one text", "beforehand reveal {}/note.txt.seal"),
        ("note.txt.opening", "what opens a seal", "beforehand reveal {}/note.txt.seal"),
        ("mine.receipt", "an intake's receipt", "beforehand receipt check {}/mine.receipt PUBLIC"),
    ],
)
def test_what_another_command_checks_is_named_with_it(
    name: str, what: str, command: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("{}")
    run = beforehand("verify", tmp_path / name)
    assert run.returncode == 2
    assert f"{name} is {what}" in run.stderr
    assert command.format(tmp_path) in run.stderr


def test_a_proof_with_one_changed_byte_is_a_finding_that_names_the_file(
    demo: Demo, tmp_path: Path
) -> None:
    file = tmp_path / "one.proof"
    line = next(
        n
        for n, raw in enumerate((demo.public / "api/v1/human-2024-07/book.jsonl").open(), 1)
        if '"answer_rows"' in raw
    )
    told = beforehand("prove", demo.public, "--line", line, "--out", file)
    assert told.returncode == 0
    advice = told.stdout.splitlines()[-1]
    assert advice.startswith("Check it with: ") and advice.endswith("--key KEY"), "one line"
    assert beforehand("verify", file).returncode == 0
    whole = json.loads(file.read_bytes())
    held = bytearray(base64.b64decode(whole["bodies"][0]["data"]))
    held[len(held) // 2] ^= 1
    whole["bodies"][0]["data"] = base64.b64encode(held).decode("ascii")
    file.write_text(json.dumps(whole))
    run = beforehand("verify", file)
    assert run.returncode == 1, run.stderr
    assert f"one.proof: the enclosed body {whole['bodies'][0]['role']!r}: hashes to" in run.stdout
    checker = [sys.executable, "-I", demo.public / "api/v1/verify.py", file]
    alone = subprocess.run(checker, capture_output=True, text=True, check=False)
    assert alone.returncode == 1, alone.stderr
    assert "hashes to" in alone.stdout, "the one-file checker says the same"
    file.write_text("{}")
    assert subprocess.run(checker, capture_output=True, check=False).returncode == 2
    run = beforehand("verify", file)
    assert run.returncode == 2
    assert f"{file}: it is no proof file" in run.stderr


def test_release_freezes_verifies_and_is_a_prefix_of_what_comes(demo: Demo, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    shutil.copytree(demo.folder, folder, ignore=shutil.ignore_patterns("tampered"))
    run = beforehand("release", "build", folder, "--name", "v1")
    assert run.returncode == 0, run.stdout + run.stderr
    release = folder / "releases" / "v1"
    assert sorted(path.name for path in release.iterdir()) == [
        "README.md",
        "release.json",
        "v1.zip",
    ]
    again = beforehand("release", "build", folder, "--name", "v1")
    assert again.returncode == 0 and "sealed in the book before" in again.stdout
    lines = (folder / "league/book.jsonl").read_bytes().splitlines()
    assert len(lines) == 1581
    assert json.loads(lines[-1])["kind"] == "release"
    run = beforehand("release", "verify", release, "--against", folder / "public")
    assert run.returncode == 0, run.stdout + run.stderr
    run = beforehand("publish", folder)
    assert run.returncode == 0 and "1581 lines published" in run.stdout, run.stdout + run.stderr
    assert beforehand("verify", folder / "public").returncode == 0
    run = beforehand("release", "verify", release, "--against", folder / "public")
    assert run.returncode == 0, run.stdout + run.stderr
    told = json.loads((release / "release.json").read_bytes())
    for key, lie in (
        ("code", {**told["code"], "sha256": "0" * 64}),
        ("as_of", "2020-01-01T00:00:00Z"),
    ):
        (release / "release.json").write_text(json.dumps({**told, key: lie}), encoding="utf-8")
        run = beforehand("release", "verify", release)
        assert run.returncode == 1 and "release.json" in run.stdout, lie
    (release / "release.json").write_text(json.dumps(told), encoding="utf-8")
    later = folder / "public/api/v1/human-2024-07/book.jsonl"
    later.write_bytes(later.read_bytes().replace(b"0.75", b"0.85", 1))
    run = beforehand("release", "verify", release, "--against", folder / "public")
    assert run.returncode == 1 and "does not begin with" in run.stdout
    whole = (release / "v1.zip").read_bytes()
    (release / "v1.zip").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    run = beforehand("release", "verify", release)
    assert run.returncode == 1 and "not the zip" in run.stdout
    assert beforehand("release", "build", folder, "--name", "../x").returncode == 2


def test_two_releases_of_the_same_folder_are_the_same_bytes(demo: Demo, tmp_path: Path) -> None:
    from beforehand.publish.release import build_release

    first = build_release(demo.public, tmp_path / "a", "v")
    second = build_release(demo.public, tmp_path / "b", "v")
    assert (first / "v.zip").read_bytes() == (second / "v.zip").read_bytes()
