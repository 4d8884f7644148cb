"""`beforehand score`: its table, its errors in words and in JSON, its choice of columns, `-`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from beforehand.cli import scoring
from beforehand.sources.sheet import Limits

app = typer.Typer(add_completion=False)
app.command(epilog=scoring.EPILOG)(scoring.score)
runner = CliRunner()

HEADER = "forecaster,question,probability,outcome"
GOOD = f"{HEADER}\na,q1,0.62,1\na,q2,0.1,0\nb,q1,0.5,1\nb,q2,0.3,0\n"


def score(*arguments: object, stdin: str | bytes | None = None, columns: int = 80) -> Result:
    return runner.invoke(
        app, [str(part) for part in arguments], input=stdin, env={"COLUMNS": str(columns)}
    )


def table(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def content(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def error(result: Result) -> Any:
    """The object that a refused table leaves on standard output, alone there."""
    assert result.exit_code == 2, result.output
    held = json.loads(result.stdout)
    assert list(held) == ["error"]
    assert set(held["error"]) == {"kind", "where", "what", "todo", "more"}
    return held["error"]


def test_help_says_what_is_read_and_what_can_be_settled() -> None:
    said = " ".join(score("--help", columns=120).stdout.split())
    for part in ("Example: beforehand score", "ROLE=NAME", "- reads standard input", "--skip-bad"):
        assert part in said


def test_an_error_names_line_column_and_how_many_more(tmp_path: Path) -> None:
    path = table(tmp_path, GOOD + "c,q1,62,1\nc,q2,0.5,maybe\nc,q3,31,1\n")
    told = score(path)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith("FormatError: t.csv, line 6, column 'probability': percent?")
    assert "divide by 100 yourself; and 2 more rows: above 1 (1), no outcome (1)" in told.stderr
    one = score(table(tmp_path, GOOD + "c,q1,62,1\nc,q2,31,1\n"))
    assert "; and 1 more row: above 1 (1)\n" in one.stderr
    alone = score(table(tmp_path, GOOD + "c,q1,62,1\n"))
    assert "more row" not in alone.stderr


def test_a_line_that_is_no_row_counts_the_bad_cells_of_the_others(tmp_path: Path) -> None:
    path = table(tmp_path, GOOD + "c,q1\nc,q2,62,1\nc\nc,q3,31,1\nc,q1,0.5,no idea\n")
    found = error(score(path, "--json"))
    assert found["where"] == "t.csv, line 6"
    assert found["what"] == "2 fields where the header has 4"
    assert found["more"] == {"number of fields": 1, "above 1": 2, "no outcome": 1}
    lines = '{"model":"a","qid":"q","p":0.5,"y":1}\n[]\n{"model":"a","qid":"r","p":5,"y":1}\n'
    found = error(score(table(tmp_path, lines, "t.jsonl"), "--json"))
    assert (found["where"], found["more"]) == ("t.jsonl, line 2", {"above 1": 1})


def test_an_error_is_json_where_json_was_asked_for(tmp_path: Path) -> None:
    result = score(table(tmp_path, GOOD + "c,q1,62,1\n"), "--json")
    assert error(result) == {
        "kind": "FormatError",
        "where": "t.csv, line 6, column 'probability'",
        "what": "percent? found 62, above 1, and percents and fractions are mixed (0.62 in line 2)",
        "todo": "divide by 100 yourself",
        "more": {},
    }
    assert result.stderr.startswith("FormatError: t.csv, line 6")
    missing = error(score(tmp_path / "none.csv", "--json"))
    assert (missing["what"], missing["todo"]) == ("no such file", None)
    assert missing["where"].endswith("none.csv")
    grid = error(score(table(tmp_path, GOOD), "--json", "--grid", "0.3"))
    assert (grid["where"], grid["what"]) == (None, "a grid step of 0.3 does not divide 1")
    folder = error(score(table(tmp_path, GOOD), "--json", "--html", tmp_path / "no" / "r.html"))
    assert folder["what"]


def test_outcomes_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    """One question is one event: every row of it is bad, and both words are named."""
    path = table(tmp_path, GOOD + "c,q1,0.4,\nc,q3,0.5,1\nd,q1,0.4,no\ne,q1,missing,1\n")
    found = error(score(path, "--json"))
    assert found["where"] == "t.csv, line 2, column 'outcome'"
    assert found["what"] == ("question 'q1' has the outcome '1' in line 2 and 'no' in line 8")
    assert found["todo"].startswith("one question is one event: correct it, or put the date")
    assert found["more"] == {"contrary outcomes": 4}
    card = content(score(path, "--json", "--skip-bad"))
    assert [(left["reason"], left["count"], left["first"]) for left in card["skipped"]] == [
        ("contrary outcomes", 5, ["line 2", "line 4", "line 6", "line 8", "line 9"])
    ]
    assert {name: held["n"] for name, held in card["forecasters"].items()} == {
        "a": 1,
        "b": 1,
        "c": 1,
    }
    told = score(path, "--skip-bad")
    assert "left out: contrary outcomes: 5 (t.csv, line 2, column 'outcome'" in told.stdout


def test_a_column_is_settled_by_name(tmp_path: Path) -> None:
    text = GOOD.replace("forecaster", "my bot").replace("probability", "chance")
    path = table(tmp_path, text)
    told = score(path, "--column", "forecaster=my bot")
    assert told.exit_code == 2
    assert "or say which with --column probability=NAME" in told.stderr
    assert "columns={" not in told.stderr
    chosen = ("--column", "forecaster=my bot", "--column", "probability=chance")
    assert set(content(score(path, *chosen, "--json"))["forecasters"]) == {"a", "b"}
    two = table(tmp_path, GOOD.replace("outcome", "outcome,my model").replace("\na,", "\na,"))
    two.write_text("model,user,question,p,y\na,b,q,0.5,1\n", encoding="utf-8")
    found = error(score(two, "--json"))
    assert found["todo"] == "rename one, or say which with --column forecaster=model"
    spaced = table(tmp_path, "model,Model Name,question,p,y\na,b,q,0.5,1\n")
    told = score(spaced, "--column", "forecaster=Model Name")
    assert told.exit_code == 0
    wide = table(tmp_path, "model name,user,question,p,y\na,b,q,0.5,1\n")
    asked = error(score(wide, "--json"))["todo"].partition("--column ")[2]
    assert shlex.split(asked) == ["forecaster=model name"]
    card = content(score(wide, "--json", "--column", shlex.split(asked)[0]))
    assert list(card["forecasters"]) == ["a"]


def test_a_role_may_be_left_to_no_column(tmp_path: Path) -> None:
    rows = f"{HEADER},date,created_at\na,q,0.5,1,x,y\n"
    path = table(tmp_path, rows)
    assert "--column time=date" in error(score(path, "--json"))["todo"]
    assert content(score(path, "--json", "--column", "time="))["forecasters"]["a"]["n"] == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["colour=p"], "--column colour=p: 'colour' is no role; roles are forecaster, question"),
        (["probability"], "--column probability: no = in it; write ROLE=NAME"),
        (["time=a", "time=b"], "--column time=b: a second column for the time"),
        (["crowd=nobody"], "t.csv, line 1: 0 columns are named 'nobody'; found 'forecaster'"),
    ],
)
def test_a_choice_that_is_none(given: list[str], said: str, tmp_path: Path) -> None:
    arguments = [part for text in given for part in ("--column", text)]
    told = score(table(tmp_path, GOOD), *arguments)
    assert told.exit_code == 2
    assert said in told.stderr


def test_a_choice_of_columns_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    path = table(tmp_path, "source,id,freeze_datetime,freeze_value,resolved,resolved_to\n")
    told = score(path, "--column", "question=id")
    assert told.exit_code == 2
    assert (
        "a choice of columns is for plain tables, and this is forecastbench-rounds" in told.stderr
    )


def test_standard_input_is_a_table(tmp_path: Path) -> None:
    wanted = content(score(table(tmp_path, GOOD), "--json"))
    found = content(score("-", "--json", stdin=GOOD))
    assert found["source"] == "stdin"
    assert {**found, "source": "t.csv"} == wanted
    frame = pl.read_csv(GOOD.encode(), infer_schema=False)
    found = content(score("-", "--json", stdin=frame.write_ndjson()))
    assert found["input"] == "JSONL"
    assert found["forecasters"] == wanted["forecasters"]
    frame.write_parquet(tmp_path / "t.parquet")
    found = content(score("-", "--json", stdin=(tmp_path / "t.parquet").read_bytes()))
    assert found["forecasters"] == wanted["forecasters"]
    report = tmp_path / "r.html"
    assert score("-", "--html", report, stdin=GOOD).exit_code == 0 and report.is_file()


def test_what_is_wrong_on_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert error(score("-", "--json", stdin=GOOD + "x\n"))["where"] == "stdin, line 6"
    assert error(score("-", "--json", stdin=""))["what"] == "empty"
    found = error(score("-", "--json", stdin='{"model": 1}\n'))
    assert (found["where"], found["what"][:13]) == ("stdin", "no column for")
    monkeypatch.setattr(scoring, "LIMITS", Limits(file_bytes=10))
    assert error(score("-", "--json", stdin=GOOD))["what"] == "over the limit of 10 bytes"


def test_a_crowd_with_gaps_is_noted_and_skill_says_its_n(tmp_path: Path) -> None:
    text = f"{HEADER},crowd\na,q1,0.6,1,0.5\na,q2,0.1,0,\na,q3,0.2,0,0.3\nb,q1,0.5,1,0.6\n"
    path = table(tmp_path, text)
    told = score(path)
    assert told.exit_code == 0
    assert "note: a crowd's probability stands in 3 of 4 forecasts; skill is over" in told.stdout
    varies = "1 question has more than one crowd's probability in different rows, the first 'q1' "
    assert varies + "(0.5 and 0.6); skill compares each row with its own" in told.stdout
    lines = [line.split() for line in told.stdout.splitlines()]
    head = next(line for line in lines if line[:1] == ["forecaster"])
    assert head[-2:] == ["of", "n"]
    rows = {line[0]: line for line in lines if line[:1] in (["a"], ["b"]) and line[1].isdigit()}
    assert (rows["a"][1], rows["a"][-1]) == ("3", "2")
    assert (rows["b"][1], rows["b"][-1]) == ("1", "1")
    plain = score(table(tmp_path, GOOD)).stdout
    assert "of n" not in plain and "note: a crowd" not in plain


def test_the_table_fits_a_terminal(tmp_path: Path) -> None:
    rows = [
        f"forecaster-{k},q{n},0.{(n * 7 + k) % 9 + 1}5,{n % 2},0.5"
        for k in range(2)
        for n in range(12_000)
    ]
    told = score(table(tmp_path, "\n".join([f"{HEADER},crowd", *rows])))
    assert "12,000" in told.stdout and "12000" in told.stdout and "…" not in told.stdout
    assert max(len(line) for line in told.stdout.splitlines() if "forecaster-" in line[:14]) <= 80
