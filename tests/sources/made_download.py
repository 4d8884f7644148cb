"""A Metaculus download as its own README describes the columns, with made-up rows."""

from __future__ import annotations

from pathlib import Path

FORECASTS = (
    "Question ID,Forecaster ID,Forecaster Username,Is Bot,Start Time,End Time,Probability Yes"
)


QUESTIONS = "Question ID,Question Title,Post ID,Question Type,Resolution"


def download(folder: Path, forecasts: str, questions: str) -> Path:
    (folder / "question_data.csv").write_text(f"{QUESTIONS}\n{questions}", encoding="utf-8")
    path = folder / "forecast_data.csv"
    path.write_text(f"{FORECASTS}\n{forecasts}", encoding="utf-8")
    return path


MADE_QUESTIONS = (
    '1,"Will A, or B?",10,binary,yes\n2,B,10,binary,annulled\n3,C,30,numeric,17.5\n'
    "4,D,40,binary,\n5,E,50,binary,Ambiguous\n"
)


MADE_FORECASTS = (
    "1,,recency_weighted,,2025-11-21 08:40:44.575108+00:00,2025-11-21 10:30:10.908193+00:00,0.69\n"
    "1,,recency_weighted,,2025-11-21 10:30:10.908193+00:00,,0.595\n"
    "1,77,bot-a,True,2025-11-21 10:30:00+00:00,,0.1\n"
    "2,77,bot-a,True,2025-11-21 10:30:00+00:00,,0.2\n"
    "3,77,bot-a,True,2025-11-21 10:30:00+00:00,,\n"
    "4,78,,True,2025-11-21 10:30:00+00:00,,0.4\n"
    "5,77,bot-a,True,2025-11-21 10:30:00+00:00,,0.5\n"
)
