"""Forecasters of other people: found, hashed, made, and held to the same contract."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beforehand.cli.world import forecasters_of
from beforehand.errors import RuleError
from beforehand.forecasters import template
from beforehand.forecasters.chat import ChatForecaster
from beforehand.forecasters.command import CommandForecaster
from beforehand.forecasters.connections import Connections
from beforehand.forecasters.forecaster import BlindQuestion, Reply
from beforehand.forecasters.function import FunctionForecaster
from beforehand.forecasters.plugin import GROUP, find_plugin, load_forecaster, sealed_plugins
from beforehand.forecasters.sealed import ChangedPlugin, seated_plugin
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration
from beforehand.records.league import League
from beforehand.records.lineup import MODEL_TABLE, Lineup
from beforehand.testing.forecaster_contract import check_forecaster, check_reply
from tests.forecasters.chat_server import KEY, QUESTION, model

PYTHON = sys.executable


def table(plugin: str = "mine", **more: Any) -> dict[str, Any]:
    made = {
        "via": "plugin",
        "forecaster": "my-scaffold",
        "model": "several",
        "plugin": plugin,
        "price_ask": "0.25",
        **more,
    }
    MODEL_TABLE.check(made, "model")
    return made


def install(
    folder: Path, name: str, points: dict[str, str], code: str, *, record: bool = True
) -> None:
    """A package as pip would have left it."""
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    listed = "".join(f"{point} = {value}\n" for point, value in points.items())
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{listed}")
    if record:
        (info / "RECORD").write_text(f"{name}.py,sha256=x,1\n")


GOOD = """
from beforehand.forecasters.template import make

def other_name(model):
    return make({**model, "forecaster": "else"})

def nothing(model):
    return object()

def breaks(model):
    raise KeyError("secret")

def refuses(model):
    from beforehand.errors import RuleError
    raise RuleError("set MY_KEY")

number = 7
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    name = f"made_up_{tmp_path.name}".replace("-", "_")
    points = {
        part: f"{name}:{value}"
        for part, value in {
            "mine": "make",
            "other": "other_name",
            "nothing": "nothing",
            "breaks": "breaks",
            "refuses": "refuses",
            "number": "number",
            "gone": "gone",
        }.items()
    }
    install(tmp_path, name, points, GOOD)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_plugin_is_found_made_and_keeps_the_contract(installed: Path) -> None:
    made = load_forecaster(table())
    assert made.name == "my-scaffold"
    check_forecaster(lambda: load_forecaster(table()))
    found = find_plugin("mine")
    digest = hashlib.sha256(next(installed.glob("*/RECORD")).read_bytes()).hexdigest()
    assert (found.version, found.sha256) == ("1.2", digest)
    sealed = sealed_plugins([table(), table(), model()])
    assert sealed == ({"name": f"{found.distribution}:mine", "version": "1.2", "sha256": digest},)
    League.own["plugins"].check(list(sealed), "plugins")


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("absent", "no installed package brings it; there are breaks, command"),
        ("gone", "does not load: AttributeError"),
        ("number", "nothing that can be called"),
        ("nothing", "no request, ask, close"),
        ("breaks", "failed: KeyError"),
        ("refuses", "set MY_KEY"),
        ("other", "made 'else' where 'my-scaffold' is seated"),
    ],
)
def test_plugin_that_does_not_load_stops_whoever_names_it(
    installed: Path, plugin: str, words: str
) -> None:
    with pytest.raises(RuleError, match=words) as raised:
        load_forecaster(table(plugin))
    assert "secret" not in str(raised.value)


def test_plugin_of_two_packages_or_without_a_record(installed: Path) -> None:
    install(installed, "second", {"mine": "second:make", "bare": "second:make"}, GOOD, record=False)
    with pytest.raises(RuleError, match="2 packages bring it"):
        find_plugin("mine")
    with pytest.raises(RuleError, match="RECORD"):
        find_plugin("bare")


def test_plugin_that_is_not_the_declared_one_is_told_and_runs_none_of_its_code(
    installed: Path,
) -> None:
    told: list[str] = []
    sealed = sealed_plugins([table()])
    made = seated_plugin(table(), sealed, told.append)
    assert not isinstance(made, ChangedPlugin) and told == []
    record = next(installed.glob("*/RECORD"))
    record.write_text(record.read_text() + "more.py,sha256=y,2\n")
    made = seated_plugin(table(), sealed, told.append)
    reply = ran(made)
    assert (made.name, reply.status, reply.detail) == (
        "my-scaffold",
        "model_mismatch",
        "plugin_changed",
    )
    assert reply.cost == made.request(QUESTION).reserved == 0
    assert len(told) == 1 and "my-scaffold" in told[0] and sealed[0]["sha256"][:12] in told[0]
    check_forecaster(lambda: seated_plugin(table(), sealed, told.append))
    version = [{**sealed_plugins([table()])[0], "version": "1.1"}]
    assert isinstance(seated_plugin(table(), version, told.append), ChangedPlugin)
    package = [{**version[0], "name": "another:mine"}]
    assert isinstance(seated_plugin(table(), package, told.append), ChangedPlugin)
    assert "another 1.1" in told[-1]


def test_plugin_that_was_never_sealed_or_is_ours_is_told_and_asked(installed: Path) -> None:
    told: list[str] = []
    assert seated_plugin(table(), None, told.append).name == "my-scaffold" and told == []
    made = seated_plugin(table(), (), told.append)
    assert not isinstance(made, ChangedPlugin) and "was not sealed" in told[0]
    ours = table("command", options=["true"])
    older = [{**sealed_plugins([ours])[0], "version": "0.0.1"}]
    made = seated_plugin(ours, older, told.append)
    assert isinstance(made, CommandForecaster) and "beforehand 0.0.1" in told[1]


def test_plugin_template_keeps_the_contract() -> None:
    check_forecaster(lambda: template.make(table()))


# ---- a program


def command(code: str, seconds: float = 10, **more: Any) -> CommandForecaster:
    return CommandForecaster(
        "program", [PYTHON, "-c", code], price=Decimal("0.25"), seconds=seconds, **more
    )


def ran(forecaster: Any, seconds: float = 10) -> Reply:
    reply = asyncio.run(forecaster.ask(forecaster.request(QUESTION), seconds=seconds))
    check_reply(reply)
    return reply


ECHO = """
import json, sys
asked = json.load(sys.stdin)
assert asked["format"] == "beforehand-question/1" and asked["reask"] is False
print(json.dumps({"rationale": asked["question"], "probability": 0.62, "cost": 0.01,
                  "citations": ["https://a.example/1", 7], "model": "mine"}))
"""


def test_command_is_asked_by_json_and_keeps_the_contract() -> None:
    reply = ran(command(ECHO))
    assert (reply.status, reply.probability, reply.cost) == ("answered", "0.62", Decimal("0.01"))
    assert (reply.rationale, reply.served_model) == (QUESTION.question, "mine")
    assert reply.citations == ("https://a.example/1",)
    check_forecaster(lambda: command(ECHO.replace("False", "False or True")))
    made = load_forecaster(table("command", options=[PYTHON, "-c", ECHO]))
    assert ran(made).probability == "0.62" and made.request(QUESTION).reserved == Decimal("0.25")


@pytest.mark.parametrize(
    ("code", "status", "detail"),
    [
        ("print('I think 70%')", "unparseable", "no_object"),
        ("print('{\"probability\": 70}')", "out_of_range", "above_one"),
        ("pass", "empty", "blank"),
        ("print('{\"probability\": 0.5}'); raise SystemExit(3)", "internal", "exit_3"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "unparseable", "not_utf8"),
        ("print('x' * 1_000_000)", "unparseable", "too_large"),
        ("while True: print('x' * 100_000)", "unparseable", "too_large"),
        ("import os; os.kill(os.getpid(), 9)", "internal", "exit_-9"),
    ],
)
def test_command_that_misbehaves_fails_its_own_answer(code: str, status: str, detail: str) -> None:
    reply = ran(command(code))
    assert (reply.status, reply.detail, reply.probability) == (status, detail, None)


def test_command_and_template_flag_what_the_league_denies(installed: Path) -> None:
    """An answer that cites a denied site is flagged, whoever gives it."""
    cites = 'print(\'{"probability": 0.5, "citations": ["https://odds.test/1"]}\')'
    seat = table("command", options=[PYTHON, "-c", cites])
    text = shipped()["blind"].decode().replace("deny_sites = [", 'deny_sites = [\n  "odds.test",')
    declaration = Declaration.parse(text.encode(), "blind.toml")
    made = forecasters_of(Lineup((seat,)), declaration, Connections())["my-scaffold"]
    assert "venue_citation" in ran(made).leaks
    assert ran(load_forecaster(seat)).leaks == ()

    async def estimate(question: BlindQuestion, seconds: float) -> dict[str, Any]:
        return {"probability": 0.5, "citations": ["https://odds.test/1"]}

    mine: Any = load_forecaster(table(), ["odds.test"])
    mine.estimate = estimate
    assert "venue_citation" in ran(mine).leaks


def test_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    child = f"import time; time.sleep(3); open({str(mark)!r}, 'w')"
    starts = f"import subprocess, time; subprocess.Popen([{PYTHON!r}, '-c', {child!r}])"
    code = f"{starts}; time.sleep(60)"
    started = time.monotonic()
    reply = ran(command(code), seconds=0.7)
    assert (reply.status, reply.retryable, reply.cost) == ("timeout", True, None)
    assert time.monotonic() - started < 2.8
    time.sleep(3)
    assert not mark.exists()


def test_command_reads_nothing_or_is_not_there() -> None:
    long = BlindQuestion("q", "x" * 50_000)
    deaf = command("print('{\"probability\": 0.5}')")
    reply = asyncio.run(deaf.ask(deaf.request(long), seconds=10))
    assert reply.probability == "0.5"
    absent = CommandForecaster("program", ["/no/such/program"], price=Decimal(0))
    reply = ran(absent)
    assert (reply.status, reply.detail, reply.cost) == ("internal", "not_started", 0)
    with pytest.raises(RuleError, match="no program"):
        CommandForecaster("program", [], price=Decimal(0))


def test_command_uses_no_shell() -> None:
    words = ["echo", '{"probability": 0.5}', "; echo $HOME"]
    made = CommandForecaster("p", words, price=Decimal(0))
    assert b"; echo $HOME" in ran(made).raw


# ---- a function


def test_function_answers_in_every_form() -> None:
    async def later(question: BlindQuestion) -> Decimal:
        return Decimal("0.100")

    answers: list[tuple[Any, str | None]] = [
        (lambda _: 0.1, "0.1"),
        (lambda _: Decimal("0.10"), "0.10"),
        (lambda _: 1, "1"),
        (lambda _: "70%", "0.70"),
        (lambda _: {"rationale": "r", "probability": Decimal("0.3")}, "0.3"),
        (later, "0.100"),
        (lambda _: None, None),
        (lambda _: 70, None),
        (lambda _: float("nan"), None),
        (lambda _: object(), None),
        (lambda _: 1 / 0, None),
    ]
    for function, wanted in answers:
        reply = ran(FunctionForecaster("f", function))
        assert reply.probability == wanted
    check_forecaster(lambda: FunctionForecaster("f", lambda _: 0.5, price=Decimal("0.1")))
    priced = FunctionForecaster("f", lambda _: {"probability": 0.3, "cost": Decimal("0.2")})
    assert ran(priced).cost == Decimal("0.2")
    broken = ran(FunctionForecaster("f", lambda _: 1 / 0))
    assert (broken.status, broken.detail) == ("internal", "ZeroDivisionError")


def test_function_that_takes_too_long() -> None:
    async def slow(question: BlindQuestion) -> float:
        await asyncio.sleep(30)
        return 0.5

    reply = ran(FunctionForecaster("f", slow), seconds=0.1)
    assert (reply.status, reply.retryable) == ("timeout", True)


# ---- the contract, and an installation without aiohttp


def test_chat_keeps_the_contract() -> None:
    check_forecaster(lambda: ChatForecaster(model(), key=KEY, connections=Connections()), seconds=5)


def test_contract_notices_what_is_wrong() -> None:
    class Unmarked(FunctionForecaster):
        def request(self, question: BlindQuestion, *, reask: bool = False) -> Any:
            return super().request(question)

    class Filling(FunctionForecaster):
        async def ask(self, request: Any, *, seconds: float) -> Reply:
            return Reply("timeout", probability="0.5")

    for wrong in (Unmarked, Filling):
        with pytest.raises(AssertionError):
            check_forecaster(lambda made=wrong: made("f", lambda _: 0.5))


def test_without_aiohttp_the_form_is_there_and_asking_says_what_to_install() -> None:
    code = """
import sys
sys.modules["aiohttp"] = None
import beforehand.forecasters.forecaster, beforehand.forecasters.plugin
import beforehand.forecasters.chat, beforehand.forecasters.reparse
import beforehand.testing.forecaster_contract
assert "pytest" not in sys.modules
from beforehand.errors import RuleError
from beforehand.forecasters.connections import Connections
try:
    Connections()
except RuleError as error:
    assert "pip install -c constraints.txt '.[live]'" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([PYTHON, "-c", code], check=True)
