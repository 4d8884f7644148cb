"""An evaluation log of inspect_ai in its JSON form, as far as it holds forecasts.

What is read, and nothing else:

* `eval.model` is the forecaster; a sample's `id` the question, its `target`
  the outcome, its `completed_at` the time, its metadata's `crowd` and
  `cluster` these two, where every sample has them;
* the probability is the number under `probability` in the metadata of a
  score, or in its value where that is an object, or the value itself of the
  scorer that the caller names. A bare value is not taken unasked: most
  scorers give marks, and a mark is no forecast;
* a sample with an error, a limit, a refusal or an answer cut short, and a
  score of NaN or "N", is a missing answer with that reason.

A log that did not succeed, was invalidated, or has no samples is refused.
Format: inspect_ai, `log/_log.py`, versions 1 and 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from beforehand.errors import FormatError
from beforehand.sources.faults import Tally, shown
from beforehand.sources.jsontext import Number, as_list, as_object, as_text, read_json
from beforehand.sources.sheet import LIMITS, NESTED, ZIP, Limits, check_file, text_sheet
from beforehand.sources.table import ForecastTable, HasSteps, table_of

VERSIONS = ("1", "2")
KEY = "probability"
STOPPED = {"content_filter": "refused", "max_tokens": "truncated", "model_length": "truncated"}
UNSCORED = ("NaN", "N")
OPTIONAL = ("crowd", "cluster")


def read_inspect_log(
    path: Path | str,
    *,
    scorer: str | None = None,
    skip_bad: bool = False,
    grid: HasSteps | None = None,
    limits: Limits = LIMITS,
) -> ForecastTable:
    """The samples of a log as one forecaster's answers; `scorer` names the score to look into.

    FormatError where it is not said which number is the probability, and for
    everything that is not read. Samples invalidated one by one are kept out.
    """
    path = Path(path)
    log = _open(path, limits)
    spec = as_object(log.get("eval"), f"{path.name}: eval")
    model = as_text(spec, "model", f"{path.name}: eval")
    aside = Tally(path.name, _place)
    rows, places = [], []
    for position, entry in enumerate(as_list(log, "samples", path.name)):
        where = f"{path.name}, {_place(position)}"
        sample = as_object(entry, where)
        if sample.get("invalidation"):
            aside.add("invalidated", position, "the sample was invalidated")
            continue
        rows.append(_row(sample, scorer, where))
        places.append(position)
    if not rows:
        raise FormatError(f"{path.name}: no sample is left to read")
    columns = {name: [row.get(name, "") for row in rows] for name in rows[0]}
    for name in ("time", *OPTIONAL):
        if not all(row.get(name) for row in rows):
            columns.pop(name, None)
    sheet = text_sheet(
        {"forecaster": [model] * len(rows), **columns},
        name=path.name,
        kind="inspect log",
        place=lambda index: _place(places[index]),
        labels={"question": "id", "outcome": "target", "time": "completed_at"},
        notes=[f"task {shown(spec.get('task'))}: each sample is a question"],
    )
    return table_of(sheet, skip_bad=skip_bad, grid=grid, kept_out=aside.left_out())


def _open(path: Path, limits: Limits) -> dict[str, Any]:
    check_file(path, limits)
    with path.open("rb") as file:
        if file.read(len(ZIP)) == ZIP:
            raise FormatError(f"{path.name}: an .eval file; make it JSON with inspect log convert")
    log = as_object(read_json(path, limits), path.name)
    if str(log.get("version")) not in VERSIONS:
        raise FormatError(f"{path.name}: log version {shown(log.get('version'))}; 1 and 2 are read")
    if log.get("status") != "success":
        raise FormatError(
            f"{path.name}: status {shown(log.get('status'))}; a run that did not end is not a "
            "sample of its questions: retry it first (inspect eval-retry)"
        )
    if log.get("invalidated"):
        raise FormatError(f"{path.name}: the log was invalidated")
    if not log.get("samples"):
        raise FormatError(f"{path.name}: no samples (a header only, or logged without samples)")
    return log


def _place(position: int) -> str:
    return f"samples[{position}]"


def _row(sample: dict[str, Any], scorer: str | None, where: str) -> dict[str, str]:
    """The cells of one sample."""
    name = sample.get("id")
    if not isinstance(name, str) or not name:
        raise FormatError(f"{where}: id is {shown(name)}")
    metadata = as_object(sample.get("metadata") or {}, f"{where}: metadata")
    failure = _failure(sample)
    cell = "missing"
    if not failure:
        value = _probability(sample, scorer, where)
        if value is None or value in UNSCORED:
            failure = "no answer"
        else:
            cell = str(value) if isinstance(value, str) else NESTED
    row = {
        "question": str(name),
        "probability": cell,
        "failure": failure,
        "outcome": _target(sample.get("target"), where),
        "time": str(sample.get("completed_at") or ""),
    }
    held = {key: metadata[key] for key in OPTIONAL if metadata.get(key) is not None}
    return row | {key: _text(value) for key, value in held.items()}


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else NESTED


def _target(target: Any, where: str) -> str:
    one = target[0] if isinstance(target, list) and len(target) == 1 else target
    if not isinstance(one, str):
        raise FormatError(f"{where}: target is {shown(target)}; one word for the outcome is read")
    return str(one)


def _failure(sample: dict[str, Any]) -> str:
    """Why there is no answer, before any score is looked at; empty where there is one."""
    if sample.get("error"):
        return "error"
    limit = sample.get("limit")
    if limit:
        kind = limit.get("type") if isinstance(limit, dict) else limit
        return f"limit: {kind}"
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    reason = choices[0].get("stop_reason") if choices and isinstance(choices[0], dict) else None
    return STOPPED.get(str(reason), "")


def _probability(sample: dict[str, Any], scorer: str | None, where: str) -> Any:
    """The number that is the forecast, by the order of the module's docstring; None of none."""
    scores = sample.get("scores")
    if not isinstance(scores, dict) or not scores:
        raise FormatError(f"{where}: no scores")
    if scorer is not None and scorer not in scores:
        raise FormatError(f"{where}: no score {shown(scorer)}; there is {', '.join(scores)}")
    looked = {
        name: as_object(score, f"{where}: scores")
        for name, score in scores.items()
        if scorer in (None, name)
    }
    parts = [
        part for score in looked.values() for part in (score.get("metadata"), score.get("value"))
    ]
    found = [part[KEY] for part in parts if isinstance(part, dict) and KEY in part]
    values = [score.get("value") for score in looked.values()]
    if not found and any(value in UNSCORED for value in values if isinstance(value, str)):
        return None
    if not found and scorer is not None:
        if not isinstance(values[0], Number):
            raise FormatError(f"{where}: the value of {scorer} is {shown(values[0])}, not a number")
        return values[0]
    if len(found) != 1:
        raise FormatError(
            f"{where}: {len(found)} scores have a {KEY}; say which score holds the forecast with "
            f"--scorer NAME (scorer= in Python); there is {', '.join(scores)}"
        )
    return found[0]
