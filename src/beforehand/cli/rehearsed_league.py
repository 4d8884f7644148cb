"""The league that is rehearsed: the shipped blind declaration on replicas, in simulated time."""

from __future__ import annotations

from pathlib import Path

from beforehand.cli.league_folder import DECLARATION_NAME, SETTINGS_NAME
from beforehand.errors import IntegrityError
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration
from beforehand.testing.replicas import Replicas

SEATS = (
    ("sharp", "Simulated Lab A", "sharp", False),
    ("plain", "Simulated Lab A", "plain", False),
    ("hedger", "Simulated Lab B", "hedger", True),
    ("noisy", "Simulated Lab B", "noisy", True),
    ("bold", "Simulated Lab C", "bold", False),
    ("flaky", "Simulated Lab C", "flaky", True),
)


def write_league(folder: Path, models: int, replicas: Replicas) -> None:
    """Declaration and settings; what a begun rehearsal has already is left as it is."""
    if not (folder / SETTINGS_NAME).is_file():
        (folder / SETTINGS_NAME).write_text(
            "[venue]\n"
            f'gamma = "{replicas.gamma}"\nclob = "{replicas.clob}"\n'
            "requests_per_second = 10000\n\n[asking]\nbackoff_milliseconds = 5\n",
            encoding="ascii",
        )
    if not (folder / DECLARATION_NAME).is_file():
        text = rehearsal_declaration(models, replicas.models)
        Declaration.parse(text.encode("utf-8"), "the rehearsal's declaration")
        (folder / DECLARATION_NAME).write_text(text, encoding="utf-8")


def rehearsal_declaration(models: int, endpoint: str) -> str:
    """The shipped blind declaration, in simulated time, with the replica's models."""
    text = shipped()["blind"].decode("utf-8")
    head, tail = text[: text.index("\n[[models]]")], text[text.index("\n[snapshot]") :]
    seats = "".join(_seat(*seat, endpoint) for seat in SEATS[:models])
    text = head + "\n" + seats + tail
    for old, new in (
        ('name = "blind"', 'name = "rehearsal"'),
        ('title = "Blind models', 'title = "Rehearsal (simulated): blind models'),
        ("blind.beforehand.example/blind/book", "rehearsal.beforehand.example/rehearsal/book"),
        ("The operator of the blind league", "Simulated: nobody's forecasts on no real market"),
        ('time = "live"', 'time = "simulated"'),
        (
            "The first segment. Every answer is sealed before its market has resolved.",
            "A rehearsal: venue, models and time are simulated, and its stamps prove nothing.",
        ),
        ("seats = 6", f"seats = {models}"),
        (
            'use = ["opentimestamps", "rfc3161", "rekor"]\n'
            'authorities = ["freetsa", "digicert", "sectigo"]\nquorum = 2\n',
            "use = []\n",
        ),
        ('beacon = "drand"\n', ""),
    ):
        if old not in text:
            raise IntegrityError(f"the shipped blind declaration no longer says {old!r}")
        text = text.replace(old, new, 1)
    return text


def _seat(name: str, company: str, family: str, open_weights: bool, endpoint: str) -> str:
    return f"""
[[models]]
forecaster = "{name}"
via = "chat"
endpoint = "{endpoint}"
model = "sim/{name}-1"
version = "1"
company = "{company}"
family = "{family}"
open_weights = {str(open_weights).lower()}
temperature = "sent"
structured = "json_schema"
search = "none"
max_tokens = 400
timeout_seconds = 5
price_prompt = "1"
price_completion = "4"
"""
