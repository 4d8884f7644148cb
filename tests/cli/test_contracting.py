"""`beforehand contract`: ids of contracts in files, folders and a published league."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Demo, beforehand

KEYS = ["asset", "horizon", "end_at", "rule"]
CONTRACT = {"asset": "SPX", "horizon": "1d", "end_at": "2026-10-20T20:00:00Z", "rule": "rise"}
PROFILE = '[contract]\nkeys = ["asset", "horizon", "end_at", "rule"]\nfirst = 2\nnull = ["rule"]\n'


def compact(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha(value: Any) -> str:
    return hashlib.sha256(compact(value)).hexdigest()


@pytest.mark.parametrize("command", ["id", "check"])
def test_the_help_names_the_table_of_the_profile(command: str) -> None:
    assert "TOML or JSON with [contract]: keys" in beforehand("contract", command, "--help").stdout


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profile.toml"
    path.write_text(PROFILE, encoding="utf-8")
    return path


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value, indent=1).encode())
    return path


def test_the_ids_of_a_contract_are_printed(tmp_path: Path, profile: Path) -> None:
    file = put(tmp_path / "event.json", CONTRACT)
    run = beforehand("contract", "id", file, "--profile", profile, "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "contract_id": "evc1:" + sha(CONTRACT),
        "event_id": "ev1-" + sha({key: CONTRACT[key] for key in KEYS[:2]})[:16],
        "event_id_v2": "ev2-" + sha(CONTRACT)[:16],
    }
    plain = beforehand("contract", "id", file)
    assert plain.stdout == f"contract_id: evc1:{sha(CONTRACT)}\n"


def test_an_open_key_is_null_by_its_name_and_nothing_else(tmp_path: Path, profile: Path) -> None:
    open_rule = put(tmp_path / "open.json", {**CONTRACT, "rule": None})
    assert beforehand("contract", "id", open_rule, "--profile", profile).returncode == 0
    for wrong, words in (
        ({key: CONTRACT[key] for key in KEYS[:3]}, "lacks rule"),
        ({**CONTRACT, "asset": None}, "asset: None is not a text"),
        ({**CONTRACT, "more": "x"}, "'more', which is no key"),
        ({**CONTRACT, "asset": 5}, "asset: 5 is not a text"),
        ([], "one JSON object"),
        (b'{"asset": "a", "asset": "b"}', "twice"),
        (b"\xff", "UTF-8"),
    ):
        run = beforehand("contract", "id", put(tmp_path / "w.json", wrong), "--profile", profile)
        assert run.returncode == 2 and words in run.stderr, (wrong, run.stderr)


def test_a_question_line_of_the_book_has_the_id_that_it_carries(demo: Demo, tmp_path: Path) -> None:
    base = next(demo.public.glob("api/v1/*/book.jsonl")).parent
    lines = (json.loads(raw) for raw in (base / "book.jsonl").open("rb"))
    line = next(held for held in lines if held["kind"] == "question")
    run = beforehand("contract", "id", put(tmp_path / "line.json", line))
    assert run.stdout == f"contract_id: {line['question']}\n"


def test_a_published_league_is_checked_by_its_data_folder(demo: Demo) -> None:
    base = next(demo.public.glob("api/v1/*/book.jsonl")).parent
    run = beforehand("contract", "check", base, "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    told = json.loads(run.stdout)
    assert told["faults"] == [] and len(told["contracts"]) > 900


def test_a_name_that_is_not_the_hash_is_a_fault(tmp_path: Path, profile: Path) -> None:
    good = put(tmp_path / "c" / f"{sha(CONTRACT)}.json", compact(CONTRACT))
    assert beforehand("contract", "check", good.parent, "--profile", profile).returncode == 0
    put(tmp_path / "c" / ("0" * 64 + ".json"), compact({**CONTRACT, "asset": "NDX"}))
    put(tmp_path / "c" / "broken.json", b"[")
    run = beforehand("contract", "check", good.parent, "--profile", profile)
    assert run.returncode == 1
    assert "not to its name" in run.stdout and "broken.json" in run.stdout
    assert "1 of 3 contracts have their ids: 2 faults" in run.stdout


def test_one_id_with_two_contracts_is_an_error_that_names_both(tmp_path: Path) -> None:
    profile = put(tmp_path / "p.json", {"contract": {"keys": KEYS, "first": 4, "hex": 4}})
    seen: dict[str, dict[str, str]] = {}
    number = 0
    while True:
        contract = {**CONTRACT, "asset": f"A{number}"}
        first = seen.setdefault(sha(contract)[:4], contract)
        if first != contract:
            break
        number += 1
    one = put(tmp_path / "c" / "one.json", first)
    two = put(tmp_path / "c" / "two.json", contract)
    run = beforehand("contract", "check", one.parent, "--profile", profile)
    assert run.returncode == 1
    name = f"ev2-{sha(contract)[:4]}"
    assert f"the id {name} stands for two contracts: {one} and {two}" in run.stdout


def test_what_cannot_be_checked_ends_with_2(tmp_path: Path, profile: Path) -> None:
    (tmp_path / "empty").mkdir()
    bare = put(tmp_path / "bare.toml", b'[league]\ntitle = "x"\n')
    file = put(tmp_path / "event.json", CONTRACT)
    for words, said in (
        (("check", tmp_path / "none"), "is not there"),
        (("check", tmp_path / "empty"), "holds no .json file"),
        (("check", file, "--profile", bare), "has no table [contract]"),
        (("id", tmp_path / "none.json"), "none.json"),
    ):
        run = beforehand("contract", *words)
        assert run.returncode == 2 and said in run.stderr, run.stderr
