"""`beforehand.score`: the frame, its printing, its picture and its LaTeX; and what import loads."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import beforehand
from beforehand.errors import FormatError
from beforehand.site import scores
from beforehand.site.scores import Scores, latex
from beforehand.sources.formats import read_any
from tests.site.html_check import Page
from tests.site.test_report import NAMES, made_frame


@pytest.fixture(scope="module")
def scored() -> Scores:
    return beforehand.score(made_frame())


def test_import_loads_nothing() -> None:
    code = (
        "import sys, beforehand; dir(beforehand); "
        "print([m for m in sys.modules if m.startswith('beforehand.') "
        "or m.split('.')[0] in ('numpy', 'polars', 'jinja2', 'importlib.resources')])"
    )
    said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True)
    assert said.stdout.decode().strip() == "[]"


def test_the_lazy_names_are_named_and_others_are_not_there() -> None:
    assert set(beforehand.__all__) <= set(dir(beforehand))
    assert beforehand.read is read_any
    assert beforehand.score is scores.score
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        _ = beforehand.guess  # type: ignore[attr-defined]


def test_the_frame_holds_the_content(scored: Scores) -> None:
    frame = scored.frame
    assert frame.height == len(NAMES)
    assert sorted(frame["forecaster"]) == sorted(NAMES)
    for row in frame.iter_rows(named=True):
        held = scored.content["forecasters"][row["forecaster"]]
        assert [row["n"], row["brier"], row["ece"]] == [held["n"], held["brier"], held["ece"]]
        assert [row["brier_low"], row["brier_high"]] == held["brier_interval"]
        assert row["murphy_res"] == held["murphy"]["res"]
        assert row["corp_mcb"] == held["corp"]["mcb"]
        assert row["cox_slope"] == held["cox"]["slope"]
        assert [row["skill"], row["skill_n"]] == [held["skill"]["mean"], held["skill"]["n"]]
        assert row["log_loss_clamped"] == held["log_loss_clamped"]
    assert frame.schema["n"] == pl.Int64
    assert frame.schema["brier"] == pl.Float64


def test_a_path_a_frame_and_the_grid_are_taken(tmp_path: Path) -> None:
    frame = made_frame(("ada", "bob"))
    frame.write_csv(tmp_path / "t.csv")
    by_path, by_frame = beforehand.score(str(tmp_path / "t.csv")), beforehand.score(frame)
    assert by_path.frame.equals(by_frame.frame)
    assert beforehand.score(frame, grid="0.01").content["grid"] == "1/100"
    renamed = frame.rename({"forecaster": "whom"})
    named = beforehand.score(renamed, columns={"forecaster": "whom"})
    assert named.frame.equals(by_frame.frame)
    for wrong in ("0", "1e-4", "0.3"):
        with pytest.raises(FormatError):
            beforehand.score(frame, grid=wrong)
    with pytest.raises(FormatError, match="give a path, a polars frame or a pandas frame"):
        beforehand.score({"p": [1]})
    bad = frame.with_columns(probability=pl.lit("7"))
    with pytest.raises(FormatError, match=r"row index 0, .* and 71 more rows"):
        beforehand.score(bad)


def test_a_pandas_frame_is_scored_as_the_polars_one() -> None:
    import pandas  # of the extra `test`

    frame = made_frame(("ada", "bob"))
    other = pandas.DataFrame(frame.to_dict(as_series=False))
    assert beforehand.score(other).frame.equals(beforehand.score(frame).frame)
    numbers = other.assign(
        probability=other["probability"].astype(float), crowd=other["crowd"].astype(float)
    )
    assert beforehand.score(numbers).frame.equals(beforehand.score(frame).frame)


def test_nothing_resolved_gives_nulls() -> None:
    rows = {"forecaster": ["a"], "question": ["q"], "probability": ["0.5"], "outcome": ["void"]}
    held = beforehand.score(pl.DataFrame(rows))
    assert held.frame["n"].to_list() == [0]
    assert held.frame["brier"].to_list() == [None]
    assert "—" in repr(held)
    assert r"\textemdash{}" in held.to_latex()
    ElementTree.fromstring(held.plot())


def test_it_prints_and_ends_with_the_sentence(scored: Scores) -> None:
    text = str(scored)
    assert text == repr(scored)
    assert scored.sentence == scored.content["standing"]["sentence"]
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\x00" not in text
    first = scored.frame.row(0, named=True)
    assert f"{first['brier']:.4f}" in text.splitlines()[1]
    json.dumps(scored.content, allow_nan=False)


def test_a_notebook_shows_escaped_names(scored: Scores) -> None:
    shown = scored._repr_html_()
    page = Page(shown)
    assert [fault for fault in page.faults if "> " in fault or "closes" in fault] == [
        f"0 <{name}>" for name in ()
    ]
    assert "<script" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_the_picture_stands_alone_and_is_written(scored: Scores, tmp_path: Path) -> None:
    target = tmp_path / "skill.svg"
    text = scored.plot(target)
    assert target.read_text(encoding="utf-8") == text
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert len(root.findall(f"{space}circle")) == len(NAMES)
    assert not root.findall(f".//{space}script")
    named = {name.rpartition("}")[2] for held in root.iter() for name in held.attrib}
    assert not named & {"href", "src", "style"}
    assert "url(" not in text
    assert "@import" not in text
    with pytest.raises(FormatError, match="is a folder"):
        scored.plot(tmp_path)


def test_to_html_writes_the_report(scored: Scores, tmp_path: Path) -> None:
    scored.to_html(str(tmp_path / "r.html"))
    assert Page((tmp_path / "r.html").read_text(encoding="utf-8")).faults == []


KNOWN = re.compile(
    r"\\(?:textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar|textemdash)\{\}"
    r"|\\[{}$&#%_]|-\{\}|\$-\$"
)


def test_latex_is_balanced_and_every_special_is_escaped(scored: Scores) -> None:
    text = scored.to_latex()
    lines = text.splitlines()
    rows = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(rows) == len(NAMES)
    for row, name in zip(rows, scored.frame["forecaster"], strict=True):
        head, cells = row[: row.index("} & ") + 1], row[row.index("} & ") + 1 :]
        assert (head[0], head[-1]) == ("{", "}")
        assert not re.search(r"[\\{}$&#%_^~<>|]", KNOWN.sub("", head[1:-1])), name
        assert cells.count("&") == 7
        assert re.fullmatch(r"[ &0-9.+to]*", KNOWN.sub("", cells.removesuffix(r" \\")))
    bare = re.sub(r"\\[\\{}$&#%_,]", "", text)
    depth = 0
    for mark in bare:
        depth += (mark == "{") - (mark == "}")
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert text.isprintable() or set(text) - {c for c in text if c.isprintable()} == {"\n"}


def test_latex_of_every_special_character() -> None:
    assert latex("\\{}$&#%_^~<>|") == (
        r"\textbackslash{}\{\}\$\&\#\%\_\textasciicircum{}\textasciitilde{}"
        r"\textless{}\textgreater{}\textbar{}"
    )
    assert latex("a\n%b\tc") == r"a \%b c"
    assert latex("a---b") == "a-{}-{}-b"
    assert latex("[x]") == "[x]"  # rows put it in braces


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(scores).failed == 0
