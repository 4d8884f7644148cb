"""Event contracts of our own leagues: ids on every row, files by hash, no id for two of them."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from beforehand.book.options import Options
from beforehand.cli.publication import publish_league
from beforehand.cli.verification import verify_published
from beforehand.clock import SimulatedClock
from beforehand.errors import FormatError, IntegrityError, RuleError
from beforehand.publish.conformance.conform import conform_folder
from beforehand.publish.contracts import ContractRegister
from beforehand.publish.recount import recount_folder
from beforehand.records.codec import digest
from beforehand.records.declaration import Declaration
from beforehand.records.event_contract import contract_profile
from beforehand.sources.forecastbench import ArchivedEvent, Key, _event
from beforehand.stages.contracts import CONTRACT_FIELDS
from beforehand.stages.declare import declare, open_league, reopen_league
from beforehand.stages.observe import seal_questions
from beforehand.testing.memory_folder import MemoryFolder
from tests import small_league
from tests.small_league import small_declaration, small_question
from tests.stages.live_world import LiveLeague, made_market

from .conftest import AS_OF, Published, publish_small

PROFILE = """
[contract]
keys = ["asset", "horizon", "end_at", "rule", "resolver_version", "reference_at"]
first = 4
null = ["reference_at"]

[contract.from]
asset = "market"
horizon = "line.horizon"
end_at = "closes"
rule = "line.text_sha256"

[contract.constant]
resolver_version = "venue-final/1"
"""
SHORT = '\n[contract]\nkeys = ["source", "source_id", "rule"]\nhex = 4\n'
# Their contracts have the same four digits.
TWINS = (17, 292)


def published_live(folder: Path, profile: str = PROFILE) -> Path:
    """A league of one slot about made-up markets, its answers withheld, published."""
    league = LiveLeague.begin(folder / "live", changes={"\n[schedule]": f"{profile}\n[schedule]"})
    league.tick_at("2026-01-05T10:00:00Z")
    public = league.folder / "public"
    with reopen_league(league.folder / "league", league.clock) as pen:
        pen.checkpoint()
        publish_league(
            league.folder / "league", pen.key, public, league.clock.now(), lambda *step: None
        )
    return public


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published_live(tmp_path_factory.mktemp("contracts"))


def base_of(public: Path) -> Path:
    return next(public.glob("api/v1/*/book.jsonl")).parent


def questions_of(public: Path) -> list[dict[str, Any]]:
    lines = [json.loads(raw) for raw in (base_of(public) / "book.jsonl").open("rb")]
    return [line for line in lines if line["kind"] == "question"]


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"))))


def test_without_a_profile_the_contract_id_is_the_hash_of_the_file(small: Published) -> None:
    rows = table(small.files["api/v1/small/forecasts.csv"])
    assert rows
    for row in rows:
        assert row["contract_id"] == row["question"]
        assert (row["event_id"], row["event_id_v2"]) == ("", "")
        data = small.files[f"api/v1/small/contracts/{row['contract_id'][5:]}.json"]
        assert "evc1:" + digest(data) == row["contract_id"]
        schema = json.loads(small.files["api/v1/small/contract.schema.json"])
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(json.loads(data), schema)


def test_a_declared_profile_names_every_row_from_sealed_facts(live: Path) -> None:
    base = base_of(live)
    profile = contract_profile(
        json.loads((base / "contract-profile.json").read_bytes())["contract"]
    )
    schema = json.loads((base / "contract.schema.json").read_bytes())
    wanted = {}
    for line in questions_of(live):
        contract = {
            "asset": line["contract"]["market"],
            "horizon": line["horizon"],
            "end_at": line["contract"]["closes"],
            "rule": line["contract"]["text_sha256"],
            "resolver_version": "venue-final/1",
            "reference_at": None,
        }
        jsonschema.validate(contract, schema)
        text = json.dumps(contract, sort_keys=True, separators=(",", ":")).encode()
        wanted[line["question"]] = (
            "evc1:" + digest(text),
            profile.first_event_id(contract),
            "ev2-" + digest(text)[:16],
        )
        assert (base / "contracts" / f"{digest(text)}.json").read_bytes() == text
    rows = table((base / "forecasts.csv").read_bytes())
    assert rows and {row["question"] for row in rows} <= set(wanted)
    for row in rows:
        held = (row["contract_id"], row["event_id"], row["event_id_v2"])
        assert held == wanted[row["question"]]
    with sqlite3.connect(base / "league.sqlite") as data:
        held = data.execute("SELECT question, contract_id, event_id, event_id_v2 FROM questions")
        assert {row[0]: row[1:] for row in held} == wanted


def test_a_contract_holds_nothing_that_is_not_on_a_public_line_or_declared(live: Path) -> None:
    lines = questions_of(live)
    public = {text for line in lines for text in (*line["contract"].values(), line["horizon"])}
    public |= {body["sha256"] for line in lines for body in line["bodies"]}
    for path in (base_of(live) / "contracts").iterdir():
        said = json.loads(path.read_bytes())
        assert {value for value in said.values() if value is not None} <= public | {"venue-final/1"}


def test_recount_verify_and_conform_read_the_ids(live: Path) -> None:
    (result,) = recount_folder(MemoryFolder.of(live)).values()
    assert result.different == 0, result.places
    as_of = "2026-01-05T10:30:00Z"
    assert verify_published(live, Options(as_of=as_of)).findings == []
    report = conform_folder(MemoryFolder.of(live), as_of)
    assert report["requirements"][0]["status"] == "PASS"
    said = " ".join(report["requirements"][0]["said"])
    assert "each contract lies under its hash" in said


@pytest.mark.parametrize("column", ["contract_id", "event_id", "event_id_v2"])
def test_a_row_under_another_id_is_found_by_recount_and_conform(live: Path, column: str) -> None:
    files = MemoryFolder.of(live).files
    name = next(name for name in files if name.endswith("/forecasts.csv"))
    row = table(files[name])[0]
    other = row[column][:-1] + ("0" if row[column][-1] != "0" else "1")
    changed = {**files, name: files[name].replace(row[column].encode(), other.encode(), 1)}
    (result,) = recount_folder(MemoryFolder(changed)).values()
    assert result.different == 1 and column in result.places[0]
    report = conform_folder(MemoryFolder(changed), "2026-01-05T10:30:00Z")
    first = report["requirements"][0]
    assert first["status"] == "FAIL"
    assert any(f"{column} is '{other}'" in said for said in first["said"])
    assert {"file": name, "line": 2} in first["evidence"]


def test_a_contract_file_that_is_changed_or_lacking_fails_requirement_1(live: Path) -> None:
    files = MemoryFolder.of(live).files
    name = next(name for name in files if "/contracts/" in name)
    for changed in ({**files, name: b"{}"}, {k: v for k, v in files.items() if k != name}):
        first = conform_folder(MemoryFolder(changed), "2026-01-05T10:30:00Z")["requirements"][0]
        assert first["status"] == "FAIL", first


def test_contracts_that_are_not_published_at_all_leave_requirement_1_open(live: Path) -> None:
    files = {k: v for k, v in MemoryFolder.of(live).files.items() if "/contracts/" not in k}
    first = conform_folder(MemoryFolder(files), "2026-01-05T10:30:00Z")["requirements"][0]
    assert first["status"] == "UNVERIFIABLE"
    assert any("are not published" in said for said in first["said"])


# ---- what states no whole contract


def test_a_market_that_lacks_a_key_is_not_asked_and_the_pool_says_why(tmp_path: Path) -> None:
    profile = PROFILE.replace('asset = "market"', 'asset = "yes_token"')
    changes = {"\n[schedule]": f"{profile}\n[schedule]"}
    league = LiveLeague.begin(tmp_path / "live", changes=changes)
    league.venue.markets = [replace(made_market(1), yes_token=""), made_market(2)]
    league.tick_at("2026-01-05T10:00:00Z")
    raws = [path.read_bytes() for path in (league.folder / "league" / "bodies").rglob("*")
            if path.is_file()]  # fmt: skip
    assert any(b"the event contract lacks asset" in raw for raw in raws)
    asked = [json.loads(raw) for raw in (league.folder / "league" / "book.jsonl").open("rb")]
    markets = [line["contract"]["market"] for line in asked if line["kind"] == "question"]
    assert markets == ["m2"]


def test_a_key_that_nothing_could_state_stops_the_declaration(tmp_path: Path) -> None:
    changes = {"\n[schedule]": '\n[contract]\nkeys = ["price_symbol"]\n\n[schedule]'}
    with pytest.raises(RuleError, match=r"nothing states 'price_symbol' .* \[contract.from\]"):
        LiveLeague.begin(tmp_path / "live", changes=changes)


def with_profile(text: str) -> Declaration:
    return Declaration.parse(small_declaration().data + text.encode("utf-8"), "small.toml")


def test_an_archived_event_that_lacks_a_key_stops_the_sealing(tmp_path: Path) -> None:
    declaration = with_profile('[contract]\nkeys = ["source_id", "resolution_date"]\n')
    contract = {"source_id": "q1", "resolution_date": ""}
    event = ArchivedEvent(contract, "made-up:q1", "1d", "made-up", "market", b"text", None)
    key: Key = ("made-up", "q1", "")
    clock = SimulatedClock(tmp_path / "clock", small_league.START)
    with open_league(tmp_path, declaration, clock) as pen:
        declare(pen, declaration, tmp_path)
        size = pen.store.size
        with pytest.raises(FormatError, match=r"made-up:q1, 1d: .* lacks resolution_date"):
            seal_questions(pen, {key: event})
        assert pen.store.size == size


def test_the_known_fields_are_those_that_questions_have(live: Path) -> None:
    for line in questions_of(live):
        assert tuple(sorted(line["contract"])) == tuple(sorted(CONTRACT_FIELDS["polymarket"]))
    archived = _event(("acled", "q1", "2024-08-01"), {}, "2024-07-21")
    assert tuple(sorted(archived.contract)) == tuple(sorted(CONTRACT_FIELDS["archive"]))


# ---- one id, two contracts


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small league under four-digit ids, with two questions that share one."""
    declared = with_profile(SHORT)
    monkeypatch.setattr(small_league, "small_declaration", lambda: declared)
    monkeypatch.setattr(
        small_league,
        "small_question",
        lambda number, at: small_question(TWINS[number - 1] if number < 3 else number, at),
    )


def test_publishing_refuses_one_id_with_two_contracts_and_names_both(
    twins: None, tmp_path: Path
) -> None:
    with pytest.raises(IntegrityError, match="stands for two contracts") as caught:
        publish_small(tmp_path)
    for number in TWINS:
        question, _ = small_question(number, small_league.START)
        assert question.question in str(caught.value)
        assert f'"source_id":"q{number}"' in str(caught.value)
    assert not (tmp_path / "public" / "api" / "v1" / "small" / "forecasts.csv").exists()


def test_attack_a_contract_id_collision(
    twins: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught by comparing the contracts behind an id, in the sealed questions themselves."""

    def careless(self: ContractRegister, n: int, question: Any) -> None:
        assert self.profile is not None
        self.ids[question.question] = self.profile.ids(self.profile.contract_from(question))

    with monkeypatch.context() as patched:
        patched.setattr(ContractRegister, "take", careless)
        small = publish_small(tmp_path)
    report = verify_published(small.public, Options(as_of=AS_OF))
    found = [finding for finding in report.findings if finding.step == 9]
    assert len(found) == 1 and "stands for two contracts" in found[0].message
    assert report.exit_code == 1
    run = subprocess.run(
        [sys.executable, "-I", small.public / "api/v1/recount.py", small.public],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1 and "stands for two contracts" in run.stdout
    told = conform_folder(MemoryFolder(small.files), AS_OF)["requirements"]
    assert told[3]["status"] == "FAIL"
    assert any("stands for two contracts" in said for said in told[3]["said"])


def test_the_same_contract_twice_is_no_collision() -> None:
    register = ContractRegister(contract_profile({"keys": ["source", "rule"]}))
    for number in (1, 2):
        register.take(number, small_question(number, small_league.START)[0])
    assert len(register.ids) == 2 and len(register.files()) == 1
