"""A declaration is read strictly, and the JSON Schema says the same as the reader."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import time
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from beforehand.errors import FormatError
from beforehand.leagues import shipped
from beforehand.records.declaration import (
    MAX_DECLARATION_BYTES,
    Declaration,
    declaration_schema,
    missing_features,
)

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
SHIPPED = shipped()
LEAGUES = sorted(SHIPPED)
TEXTS = {name: data.decode("utf-8") for name, data in SHIPPED.items()}
VALUES: dict[str, dict[str, Any]] = {name: tomllib.loads(text) for name, text in TEXTS.items()}
SCHEMA = Draft202012Validator(declaration_schema())

Path_ = tuple[str | int, ...]


def parse(text: str | bytes) -> Declaration:
    data = text.encode("utf-8") if isinstance(text, str) else text
    return Declaration.parse(data, "x.toml")


def refusal(text: str | bytes) -> str:
    """What `parse` says of a faulty file, without the label."""
    with pytest.raises(FormatError) as caught:
        parse(text)
    said = str(caught.value)
    assert said.startswith("x.toml: ")
    return said.removeprefix("x.toml: ")


def emit(value: Any) -> str:
    """A TOML value on one line; JSON spells texts as TOML does."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {emit(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(emit(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def emit_file(content: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {emit(value)}\n" for key, value in content.items())


# ---- the five


def test_five_leagues_ship() -> None:
    assert LEAGUES == ["arena", "blind", "council", "depth", "replay"]


@pytest.mark.parametrize("league", LEAGUES)
def test_a_shipped_league_passes_and_its_very_bytes_are_kept(league: str) -> None:
    data = SHIPPED[league]
    declaration = Declaration.parse(data, league)
    assert declaration.data == data
    assert declaration.sha256 == hashlib.sha256(data).hexdigest()
    assert list(SCHEMA.iter_errors(VALUES[league])) == []
    assert declaration.content == VALUES[league]
    assert max(len(line) for line in TEXTS[league].split("\n")) < 200
    # Written otherwise it says the same and is another declaration.
    other = parse(emit_file(VALUES[league]))
    assert other.content == declaration.content
    assert other != declaration


def test_what_each_league_still_waits_for() -> None:
    missing = {name: missing_features(parse(data)) for name, data in SHIPPED.items()}
    assert missing["replay"] == []
    assert missing["blind"] == []
    for league in ("arena", "council", "depth"):
        assert len(missing[league]) > 5
        for sentence in missing[league]:
            key = re.match(r"\[*([a-z_]+)", sentence)
            assert key is not None
            assert key.group(1) in VALUES[league]
            assert sentence.endswith(" yet.")


def test_what_the_engine_reads_of_the_replay() -> None:
    replay = parse(SHIPPED["replay"])
    assert replay.name == "human-2024-07"
    assert replay.origin == "demo.beforehand.example/human-2024-07/book"
    assert (replay.licence, replay.methodology, replay.segment) == ("CC-BY-SA-4.0", "1", "replay")
    assert replay.attribution.startswith("Karger et al., ForecastBench, ICLR 2025")
    assert "July 2024" in replay.title
    assert replay.simulated
    assert "prove nothing" in replay.why
    assert "\n" not in replay.why + replay.retry + replay.counted_run
    assert (replay.grid, replay.clamp) == (Decimal("0.0001"), Decimal("0.0001"))
    assert replay.cluster == "source_question"
    assert replay.slot == replay.deadline == "2024-07-21T23:59:59Z"
    assert replay.derived == {
        "crowd": "crowd",
        "median": "median",
        "mean": "mean",
        "always_half": "always_half",
        "base_rate": "base_rate",
    }
    assert replay.labels["crowd"] == "crowd at freeze"
    assert "hindsight" in replay.labels["base_rate"]
    assert (replay.rank_by, replay.min_events) == ("paired_gain", 100)
    assert (replay.min_clusters_interval, replay.shared_min) == (10, 30)
    assert set(replay.bodies.values()) == {"line"}
    assert set(replay.bodies) >= {"text", "snapshot", "evidence", "answer"}


@pytest.mark.parametrize("league", LEAGUES)
def test_words_for_a_roster_line_fit_it(league: str) -> None:
    declaration = parse(SHIPPED[league])
    assert 0 < len(declaration.retry) <= 400
    assert 0 < len(declaration.counted_run) <= 400


def test_what_the_four_seeds_say_is_declared() -> None:
    blind, council, depth, arena = (VALUES[k] for k in ("blind", "council", "depth", "arena"))
    assert blind["answers"]["price"] == "hidden"
    assert blind["schedule"]["cron"] == ["0 10 * * *", "0 22 * * *"]
    assert blind["schedule"]["timezone"] == "UTC"
    assert blind["schedule"]["cohort"] == "iso_week"
    assert Decimal(blind["budget"]["cap"]) > 0
    assert parse(SHIPPED["blind"]).slot is None
    assert {item["rule"] for item in blind["derived"]} >= {"crowd", "mean"}

    assert len(council["questions"]["indicators"]) == 12
    assert [item["name"] for item in council["questions"]["horizons"]] == ["1d", "1w", "1m", "6m"]
    schedule = council["schedule"]
    assert (schedule["calendar"], schedule["timezone"]) == ("XNYS", "America/New_York")
    assert schedule["seal_before"] == "open"
    assert not re.search(r"\d\d:\d\d|Z\b", json.dumps(schedule))  # no clock literal
    assert council["counted_run"]["rule"] == "scheduled_run"
    assert [item["name"] for item in council["portfolios"]] == ["ordinary", "pro"]
    assert sum(group["seats"] for group in council["roster"]["groups"]) == 14

    assert depth["trading"]["threshold"] == "0.6"
    assert depth["trading"]["stake"] == "confidence_times_lot"
    assert set(depth["trading"]["measures"]) >= {"cwr", "apy", "sharpe"}
    assert set(depth["snapshot"]["holds"]) >= {"depth", "headlines"}
    assert len(depth["roster"]["seats"]) == 7

    assert arena["questions"]["select"]["markets"] == 7
    assert arena["schedule"]["kind"] == "rounds"
    assert (arena["board"]["rank_by"], arena["board"]["against"]) == ("paired_gain", "crowd")


# ---- one fault each, by hand: (league, what stands there, the fault, the path, the reason)

FAULTS: list[tuple[str, str, str, str, str]] = [
    ("replay", 'name = "human-2024-07"', 'name = "human 2024"', "league.name", "a name"),
    ("replay", 'name = "human-2024-07"', "name = 7", "league.name", "a name"),
    ("replay", 'name = "human-2024-07"\n', "", "league", "'name' is missing"),
    ("replay", "demo.beforehand.example/human-2024-07/book", "demo", "league.origin", "an origin"),
    ("replay", "demo.beforehand.example/", "demo.beforehand.example/a b/", "league.origin", "an o"),
    ("replay", "demo.beforehand.example/", "https://demo.example/", "league.origin", "an origin"),
    ("replay", '"CC-BY-SA-4.0"', '"CC BY-SA 4.0"', "league.licence", "an SPDX"),
    ("replay", 'format = "beforehand-declaration/1"', 'format = "2"', "format", "one of"),
    ("replay", 'format = "beforehand-declaration/1"', "", "top level", "'format' is missing"),
    ("replay", "[segment]", "[segments]", "top level", "unknown key 'segments'"),
    ("replay", "[segment]", "[extra]\n[segment]", "top level", "unknown key 'extra'; known are"),
    ("replay", "[segment]", "[segment]\nnote = 1", "segment", "unknown key 'note'; known are"),
    ("replay", 'time = "simulated"', 'time = "fast"', "segment.time", "one of simulated, live"),
    ("replay", "counted = true", "counted = 1", "segment.counted", "true or false"),
    ("replay", 'from = "archive"\narchive', 'from = "feed"\narchive', "questions.from", "one of"),
    ("replay", 'archive = "fore', 'select = "fore', "questions", "unknown key 'select'"),
    ("replay", '"source_question"', '"row"', "questions.cluster", "one of"),
    (
        "replay",
        'slot = "2024-07-21T23:59:59Z"',
        'slot = "2024-07-21"',
        "schedule.slot",
        "not an instant",
    ),
    (
        "replay",
        'slot = "2024-07-21T23:59:59Z"',
        "slot = 2024-07-21T23:59:59Z",
        "schedule.slot",
        "not an instant",
    ),
    ("replay", 'kind = "once"\n', "", "schedule", "'kind' is missing"),
    ("replay", 'kind = "once"', 'kind = "once"\ncron = []', "schedule", "unknown key 'cron'"),
    ("replay", 'grid = "0.0001"', "grid = 0.0001", "scoring.grid", "0.0001 is a float; write"),
    ("replay", 'grid = "0.0001"', "grid = 1e-4", "scoring.grid", "1e-4 is a float; write"),
    ("replay", 'grid = "0.0001"', 'grid = "0.0003"', "scoring.grid", "one of"),
    ("replay", 'clamp = "0.0001"', 'clamp = "1e-4"', "scoring.clamp", "decimal text"),
    ("replay", 'clamp = "0.0001"', 'clamp = "+0.1"', "scoring.clamp", "decimal text"),
    ("replay", 'clamp = "0.0001"', 'clamp = "1.5"', "scoring.clamp", "between 0 and 1"),
    ("replay", 'clamp = "0.0001"', 'clamp = "-0.1"', "scoring.clamp", "between 0 and 1"),
    ("replay", 'clamp = "0.0001"', "clamp = nan", "scoring.clamp", "nan is a float"),
    ("replay", "ece_bins = 10", "ece_bins = 1", "scoring.ece_bins", "an integer from 2"),
    ("replay", "ece_bins = 10", "ece_bins = true", "scoring.ece_bins", "an integer"),
    ("replay", 'also = ["ece"]', 'also = "ece"', "scoring.also", "a list"),
    ("replay", 'also = ["ece"]', 'also = ["ec"]', "scoring.also[0]", "one of"),
    ("replay", "min_events = 100", "min_events = 0", "board.min_events", "an integer from 1"),
    ("replay", "min_events = 100", "min_events = -3", "board.min_events", "an integer from 1"),
    ("replay", "min_events = 100", "min_events = 99.5", "board.min_events", "99.5 is a float"),
    ("replay", "shared_min = 30", "", "board", "'shared_min' is missing"),
    ("replay", 'answer = "line"', 'answer = "never"', "bodies.answer", "one of line, deadline"),
    ("replay", 'text = "line"', 'text = "deadline"', "bodies.text", "one of line, never"),
    ("replay", 'text = "line"', 'texts = "line"', "bodies", "unknown key 'texts'"),
    ("replay", "base rate, in hindsight", "base rate", "derived[4].label", "hindsight"),
    ("replay", 'price = "freeze_value"', 'price = "close"', "derived[0].price", "one of"),
    ("replay", 'rule = "median"\nleast = 1', 'rule = "median"', "derived[1]", "'least' is missing"),
    ("replay", 'rule = "median"\n', 'rule = "mode"\n', "derived[1].rule", "one of"),
    ("replay", 'rule = "median"\n', 'rule = "median"\ntrim = 1\n', "derived[1]", "unknown key 'tr"),
    ("blind", "markets = 12", 'markets = "12"', "questions.select.markets", "an integer"),
    ("blind", "markets = 12", "market = 12", "questions.select", "unknown key 'market'"),
    ("blind", 'price_low = "0.05"', "price_low = 0.05", "questions.select.price_low", "is a float"),
    ("blind", '"0 10 * * *"', '"10:00"', "schedule.cron[0]", "cron expression"),
    (
        "blind",
        'missed = "never',
        'others = [{name = "x", cron = ["0 12 * * *"], why = "w"}]\nmissed = "never',
        "schedule.others[0].cron",
        'as the text "0 10 * * *"',
    ),
    ("blind", 'timezone = "UTC"', 'timezone = "+00:00"', "schedule.timezone", "a time zone"),
    ("blind", 'cap = "50.00"', 'cap = "-1"', "budget.cap", "between 0 and"),
    ("blind", 'cap = "50.00"', "cap = 50", "budget.cap", "decimal text"),
    ("blind", 'currency = "USD"', 'currency = "usd"', "budget.currency", "a currency code"),
    ("blind", "seats = 6", "seats = 0", "roster.groups[0].seats", "an integer from 1"),
    ("blind", "attempts = 3", "attempts = 21", "answers.attempts", "an integer from 1 to 20"),
    ("blind", '["opentimestamps", ', '["sundial", ', "anchors.use[0]", "one of"),
    (
        "council",
        'end_local = "15:00"',
        'end_local = "3 PM"',
        "questions.indicators[4].end_local",
        "",
    ),
    ("council", 'unit = "yield"', 'unit = "%"', "questions.indicators[4].unit", "one of"),
    ("council", "calendar_days = 7", "weeks = 1", "questions.horizons[1]", "unknown key 'weeks'"),
    ("council", 'seal_before = "open"', 'seal_before = "13:30Z"', "schedule.seal_before", "one of"),
    ("council", 'low = "0.02"', "low = 2e-2", "derived[0].low", "is a float"),
    ("council", 'addresses = "never_stored"', 'addresses = "kept"', "readers.addresses", "one of"),
    ("depth", 'threshold = "0.6"', 'threshold = "60"', "trading.threshold", "between 0 and 1"),
    ("depth", '"20", "50"', '"20", 50', "trading.lots[2]", "decimal text"),
    ("arena", 'tokens = "0x4D97', 'tokens = "0x', "onchain.conditional_tokens", "an EVM address"),
    ("arena", "yes_slot = 0", "yes_slot = 2", "resolution.yes_slot", "an integer from 0 to 1"),
]


@pytest.mark.parametrize(("league", "old", "new", "path", "reason"), FAULTS)
def test_one_fault_is_refused_by_path_and_by_the_schema(
    league: str, old: str, new: str, path: str, reason: str
) -> None:
    assert old in TEXTS[league]
    faulty = TEXTS[league].replace(old, new, 1)
    said = refusal(faulty)
    assert said.startswith(f"{path}: ")
    assert reason in said
    assert not SCHEMA.is_valid(tomllib.loads(faulty))


# What no single key shows, so that the schema cannot say it.
CONTRADICTIONS: list[tuple[str, str, str, str, str]] = [
    ("replay", 'clamp = "0.0001"', 'clamp = "0.00015"', "scoring.clamp", "multiple of the grid"),
    ("replay", 'clamp = "0.0001"', 'clamp = "0"', "scoring.clamp", "above 0"),
    ("replay", 'clamp = "0.0001"', 'clamp = "0.5"', "scoring.clamp", "below 0.5"),
    ("replay", 'confidence = "0.95"', 'confidence = "1"', "board.confidence", "between 0 and 1"),
    ("replay", 'against = "leave_one_out_median"\n', "", "board", '"against"'),
    ("replay", '"leave_one_out_median"', '"climatology"', "board.against", "no [[derived]]"),
    ("replay", '"paired_gain"', '"cwr"', "board.rank_by", "[trading]"),
    ("replay", '"student_t"', '"cluster_bootstrap"', "board", '"resamples"'),
    ("replay", 'forecaster = "mean"', 'forecaster = "median"', "derived[2].forecaster", "twice"),
    (
        "replay",
        'deadline = "2024-07-21',
        'deadline = "2024-07-20',
        "schedule.slot",
        "above deadline",
    ),
    ("replay", 'deadline = "2024-07-21', 'deadline = "2024-07-32', "schedule.deadline", "no date"),
    ("blind", 'price_low = "0.05"', 'price_low = "0.96"', "questions.select.price_low", "above"),
    ("blind", "min_hours = 24", "min_hours = 200", "questions.select.min_hours", "above max_hours"),
    ("council", 'low = "0.02"', 'low = "0.99"', "derived[0].low", "above high"),
    ("council", 'code = "NDX"', 'code = "SPX"', "questions.indicators[1].code", "twice"),
    ("council", 'end_local = "15:00", ', "", "questions.indicators[4]", '"end_local"'),
    ("council", 'horizon = "1d"', 'horizon = "2d"', "primary.horizon", "not a declared horizon"),
    ("council", 'name = "pro"', 'name = "ordinary"', "portfolios[1].name", "twice"),
    ("council", "first_session = 11", "first_session = 127", "primary.first_session", "above last"),
]


@pytest.mark.parametrize(("league", "old", "new", "path", "reason"), CONTRADICTIONS)
def test_keys_that_contradict_are_refused(
    league: str, old: str, new: str, path: str, reason: str
) -> None:
    assert old in TEXTS[league]
    said = refusal(TEXTS[league].replace(old, new, 1))
    assert said.startswith(f"{path}: ")
    assert reason in said


def test_an_archive_s_answers_belong_to_its_questions() -> None:
    content = copy.deepcopy(VALUES["replay"])
    content["questions"] = VALUES["blind"]["questions"]
    assert refusal(emit_file(content)).startswith('answers.from: "archive" needs questions.from')


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xef\xbb\xbf" + SHIPPED["replay"], "byte order mark"),
        (SHIPPED["replay"] + b"# caf\xe9\n", "not UTF-8 at byte"),
        (SHIPPED["replay"].replace(b"\n", b"\r", 1), "not TOML"),
        (TEXTS["replay"].encode("utf-16"), "not UTF-8 at byte 0"),
        (SHIPPED["replay"] + b"#" * MAX_DECLARATION_BYTES, "the limit is 262144"),
        (SHIPPED["replay"] + b"[league]\n", "not TOML: Cannot declare ('league',) twice (at line"),
        (
            SHIPPED["replay"].replace(b"shared_min", b"min_events", 1),
            "not TOML: Cannot overwrite a value (at line",
        ),
        (SHIPPED["replay"] + b"[x\n", "not TOML"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"a = " + b"9" * 5000, "not TOML"),
        (b"a" + b".a" * 100_000 + b" = 1", "line 1: more than 64 dots"),
        (b"", "top level: the key 'format' is missing"),
    ],
)
def test_a_file_that_is_no_declaration_is_refused_at_once(data: bytes, reason: str) -> None:
    start = time.monotonic()
    assert reason in refusal(data)
    assert time.monotonic() - start < 5


def test_a_fault_of_encoding_names_its_line() -> None:
    lines = SHIPPED["replay"].count(b"\n")
    assert refusal(SHIPPED["replay"] + b"# caf\xe9\n").startswith(f"line {lines + 1}: ")


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda t: t.encode())))
def test_noise_is_refused_in_our_own_words(data: bytes) -> None:
    refusal(data)


# ---- one fault each, everywhere


def tables(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The place of every table."""
    if isinstance(value, dict):
        yield path
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tables(item, (*path, key))


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The place of every text, number, flag and list of such."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    else:
        yield path


def spoken(path: Path_) -> str:
    said = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return said.removeprefix(".") or "top level"


def at(content: Any, path: Path_) -> Any:
    for part in path:
        content = content[part]
    return content


@pytest.mark.parametrize("league", LEAGUES)
def test_an_unknown_key_is_refused_at_every_level(league: str) -> None:
    for path in tables(VALUES[league]):
        content = copy.deepcopy(VALUES[league])
        at(content, path)["surprise"] = "line"
        said = refusal(emit_file(content))
        assert said.startswith(f"{spoken(path)}: unknown key 'surprise'; known are ")
        assert not SCHEMA.is_valid(content)


@pytest.mark.parametrize("league", LEAGUES)
def test_a_value_of_another_type_is_refused_at_every_key(league: str) -> None:
    kinds = {tuple(p for p in path if isinstance(p, str)): path for path in leaves(VALUES[league])}
    for path in kinds.values():
        content = copy.deepcopy(VALUES[league])
        held = at(content, path[:-1])
        for wrong in ({"a": 1}, [[1]], 7 if isinstance(held[path[-1]], str) else "seven"):
            held[path[-1]] = wrong
            assert refusal(emit_file(content)).startswith(spoken(path))
            assert not SCHEMA.is_valid(content)
        held[path[-1]] = 0.5
        assert refusal(emit_file(content)).startswith(f"{spoken(path)}: 0.5 is a float; write")
        assert not SCHEMA.is_valid(content)


@pytest.mark.parametrize("league", LEAGUES)
def test_reader_and_schema_agree_on_which_keys_may_go(league: str) -> None:
    """A key that the schema needs is missed by name; without any other the rest still stands."""
    contradictions = 0
    for path in [*leaves(VALUES[league]), *tables(VALUES[league])]:
        if not path or isinstance(path[-1], int):
            continue
        content = copy.deepcopy(VALUES[league])
        del at(content, path[:-1])[path[-1]]
        if SCHEMA.is_valid(content):
            try:
                parse(emit_file(content))
            except FormatError:
                contradictions += 1
        else:
            said = refusal(emit_file(content))
            assert said.startswith(f"{spoken(path[:-1])}: the key {path[-1]!r} is missing")
    assert contradictions < 10


# ---- what cannot be run


@pytest.mark.parametrize(
    ("addition", "sentence"),
    [
        (
            "[season]\nsessions = 60\ndevelopment_sessions = 20\n",
            "[season]: this version cannot keep a season yet.",
        ),
        (
            "[season]\nsessions = 10\ndevelopment_sessions = 0\n",
            "[season]: this version cannot keep a season yet.",
        ),
        (
            '[[arms]]\nname = "a"\nshows = []\nsearch = "none"\nevery = "run"\nscored = true\n'
            '[[arms]]\nname = "b"\nshows = []\nsearch = "none"\nevery = "run"\nscored = true\n',
            "[[arms]]: this version cannot ask in several arms yet.",
        ),
        (
            '[[derived]]\nforecaster = "no"\nlabel = "always no"\nrule = "always_no"\n',
            'derived[5].rule = "always_no": this version cannot compute this derived forecaster '
            "yet.",
        ),
    ],
)
def test_one_feature_too_many_is_named(addition: str, sentence: str) -> None:
    assert missing_features(parse(TEXTS["replay"] + addition)) == [sentence]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('answer = "line"', 'headlines = "deadline"', "withhold a body"),
        ('text = "line"', 'text = "never"', "withhold a body"),
        ('weigh = "cluster"', 'weigh = "row"', "weigh events in this way"),
        ('"forecastbench-2024-07-21"', '"another"', "find that archive among its own"),
        ('"freeze_value"', '"mid_at_commit_deadline"', "read a crowd price at this moment"),
    ],
)
def test_one_other_setting_is_named(old: str, new: str, sentence: str) -> None:
    found = missing_features(parse(TEXTS["replay"].replace(old, new, 1)))
    assert len(found) == 1
    assert f": this version cannot {sentence} yet." in found[0]


def test_answers_can_wait_for_the_deadline() -> None:
    text = TEXTS["replay"].replace('answer = "line"', 'answer = "deadline"')
    assert missing_features(parse(text)) == []


def test_a_whole_number_written_as_a_float_is_a_float() -> None:
    faulty = TEXTS["replay"].replace("min_events = 100", "min_events = 100.0")
    assert refusal(faulty).startswith("board.min_events: 100.0 is a float; write")


def test_nothing_asked_for_is_nothing_missing() -> None:
    spare = "[anchors]\nuse = []\n[bodies]\n"
    text = TEXTS["replay"].replace("[bodies]", spare, 1)
    assert missing_features(parse(text.replace("also = [", "# also = [", 1))) == []
    no_derived = copy.deepcopy(VALUES["replay"])
    del no_derived["derived"]
    assert parse(emit_file(no_derived)).derived == {}
    assert parse(emit_file({**no_derived, "derived": [], "arms": []})).labels == {}


# ---- what is published about the grammar


def test_the_schema_in_the_reference_is_the_one_of_the_code() -> None:
    Draft202012Validator.check_schema(declaration_schema())
    wanted = json.dumps(declaration_schema(), indent=2, sort_keys=True) + "\n"
    assert (REFERENCE / "declaration.schema.json").read_text(encoding="utf-8") == wanted


def grammar(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, set[str]]]]:
    """Every table of the grammar: its path, its keys, and the words each key may have."""
    keys: dict[str, set[str]] = {}
    inner: dict[str, dict[str, Any]] = {}
    for table in schema.get("oneOf", [schema]):
        assert table["additionalProperties"] is False
        for key, rule in table["properties"].items():
            item = rule.get("items", rule)
            keys.setdefault(key, set()).update(item.get("enum", ()))
            if "properties" in item or "oneOf" in item:
                inner[f"{path}.{key}".removeprefix(".")] = item
    yield path, keys
    for name, item in inner.items():
        yield from grammar(item, name)


def test_the_reference_page_tells_every_key_and_every_word() -> None:
    page = (REFERENCE / "declaration.md").read_text(encoding="utf-8")
    told: dict[str, dict[str, str]] = {}
    for section in page.split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        name = "" if heading == "The file" else heading.strip("`[]")
        rows = re.findall(r"^\| `(\w+)` \| (.*)$", body, re.MULTILINE)
        assert name not in told
        assert len(rows) == len(dict(rows))
        told[name] = dict(rows)
    known = dict(grammar(declaration_schema()))
    assert set(told) == set(known)
    for name, keys in known.items():
        assert set(told[name]) == set(keys), name
        for key, words in keys.items():
            for word in words:
                assert f'`"{word}"`' in told[name][key], f"{name}.{key}"
