"""A format is told by what stands in the file, and read_any says which it took."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from beforehand.errors import FormatError
from beforehand.sources.formats import FORMATS, detect, read_any
from beforehand.sources.superforecasters import SHIPPED
from tests.sources.made_download import MADE_FORECASTS, MADE_QUESTIONS, download
from tests.sources.shared_data import CHECKOUT
from tests.sources.shared_data import SHIPPED as DATA

LOG = DATA / "inspect_log" / "small_league.json"


DELIB = DATA / "delib_ai_wisdom"


def test_every_format_is_told_by_its_content(tmp_path: Path) -> None:
    """No name helps: each file is copied to a name that says nothing."""
    fb = DATA / "forecastbench"
    people = CHECKOUT / "src" / "beforehand" / "data" / SHIPPED
    made = tmp_path / "made"
    made.mkdir()
    answers = {
        "organization": "L",
        "model": "m",
        "question_set": "x.json",
        "forecasts": [{"id": "1", "source": "infer", "forecast": 0.5}],
    }
    (made / "set.json").write_text(json.dumps(answers), encoding="utf-8")
    (made / "rows.jsonl").write_text('{"model": "a", "id": "q", "p": 0.5, "y": 1}\n')
    pl.DataFrame({"model": ["a"], "id": ["q"], "p": [0.5], "y": [1]}).write_parquet(made / "p")
    found = {
        LOG: "inspect-log",
        fb / "2026-03-29-llm.json": "forecastbench-questions",
        made / "set.json": "forecastbench-forecasts",
        fb / "market_questions.csv.gz": "forecastbench-rounds",
        people / "superforecaster_individual.csv": "forecastbench-people",
        DELIB / "forecasts.csv.gz": "delib-ai-wisdom",
        download(made, MADE_FORECASTS, MADE_QUESTIONS): "metaculus",
        made / "rows.jsonl": "table",
        made / "p": "table",
    }
    assert set(found.values()) == set(FORMATS)
    for place, (path, name) in enumerate(found.items()):
        copy = tmp_path / f"file{place}"
        shutil.copyfile(path, copy)
        assert detect(copy) == name
        table = read_any(path)
        assert table.notes[0].startswith(f"read as {name}, told by ")
        assert read_any(path, name).notes[0] == f"read as {name}, as asked"


def test_files_that_lie_together_are_read_together(tmp_path: Path) -> None:
    fb = DATA / "forecastbench"
    assert (read_any(fb / "2026-03-29-llm.json").outcome >= 0).sum() == 1
    alone = shutil.copy(fb / "2026-03-29-llm.json", tmp_path)
    assert set(read_any(alone).outcome.tolist()) == {-2}
    shutil.copy(fb / "2026-03-29_resolution_set.json", tmp_path)
    path = tmp_path / "answers.json"
    entry = {"id": "DGS20", "source": "fred", "forecast": 0.5, "resolution_date": "2026-04-05"}
    held = {"organization": "L", "model": "m", "question_set": "2026-03-29-llm.json"}
    path.write_text(json.dumps(held | {"forecasts": [entry]}), encoding="utf-8")
    assert read_any(path).outcome.tolist() in ([0], [1])


NO_FORMAT: dict[str, tuple[bytes, str]] = {
    "outcomes alone": (
        b'{"resolutions": [], "question_set": "x"}',
        "holds outcomes and no forecast",
    ),
    "packed table": (gzip.compress(b"forecaster,question,p,y\na,q,0.5,1\n"), "unpack it first"),
    "packed JSON": (gzip.compress(b'{"eval": 1}'), "unpack it first"),
    "broken gzip": (b"\x1f\x8b\x08broken", "unpack it first"),
    "nothing": (b"", "empty"),
    "broken JSON": (b"{", "not JSON"),
    "line ends": (b"\x8b\r,\r", "no header|not UTF-8|carriage returns"),
}


@pytest.mark.parametrize("case", NO_FORMAT)
def test_what_is_no_format(case: str, tmp_path: Path) -> None:
    content, said = NO_FORMAT[case]
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=said):
        read_any(path)
    with pytest.raises(FormatError, match="'excel' is no format; there are table, forecastbench-"):
        read_any(path, "excel")
    with pytest.raises(FormatError, match="no such file"):
        read_any(tmp_path / "none")
