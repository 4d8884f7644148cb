"""A league's declaration: the sealed TOML file that fixes its rules before the first line.

Numbers that score or cost are decimal text; a float is refused, because what
a program reads from `0.1` is not the number that was written. The very bytes
are kept: their SHA-256 stands in line 1 of the book.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from beforehand.errors import FormatError
from beforehand.records.asking import (
    ANCHORS_TABLE,
    ANSWERS_TABLE,
    ARM_TABLE,
    BODIES_TABLE,
    BUDGET_TABLE,
    COUNTED_RUN_TABLE,
    LEAGUE_TABLE,
    ONCHAIN_TABLE,
    QUESTIONS_TABLE,
    ROSTER_TABLE,
    SCHEDULE_TABLE,
    SEGMENT_TABLE,
    SNAPSHOT_TABLE,
)
from beforehand.records.codec import digest
from beforehand.records.coherence import check_coherence
from beforehand.records.event_contract import (
    CONTRACT_TABLE,
    ContractProfile,
    contract_profile,
)
from beforehand.records.features import missing_in
from beforehand.records.judging import (
    BOARD_TABLE,
    DERIVED_TABLE,
    PORTFOLIO_TABLE,
    PRIMARY_TABLE,
    READERS_TABLE,
    RESOLUTION_TABLE,
    SCORING_TABLE,
    SEASON_TABLE,
    TRADING_TABLE,
    VOICES_TABLE,
)
from beforehand.records.lineup import ENTRANT_TABLE, MODEL_TABLE
from beforehand.records.shape import Choice, Listed, Optional, Table

DECLARATION_FORMAT = "beforehand-declaration/1"
MAX_DECLARATION_BYTES = 256 << 10
# A key of very many parts costs the TOML reader quadratic time.
MAX_DOTS_A_LINE = 64

DECLARATION_TABLE = Table(
    {
        "format": Choice((DECLARATION_FORMAT,)),
        "league": LEAGUE_TABLE,
        "segment": SEGMENT_TABLE,
        "questions": QUESTIONS_TABLE,
        "contract": Optional(CONTRACT_TABLE),
        "schedule": SCHEDULE_TABLE,
        "counted_run": COUNTED_RUN_TABLE,
        "answers": ANSWERS_TABLE,
        "resolution": RESOLUTION_TABLE,
        "scoring": SCORING_TABLE,
        "board": BOARD_TABLE,
        "bodies": BODIES_TABLE,
        "derived": Optional(Listed(DERIVED_TABLE, most=200)),
        "roster": Optional(ROSTER_TABLE),
        "models": Optional(Listed(MODEL_TABLE, most=200)),
        "entrants": Optional(Listed(ENTRANT_TABLE, most=5000)),
        "snapshot": Optional(SNAPSHOT_TABLE),
        "anchors": Optional(ANCHORS_TABLE),
        "budget": Optional(BUDGET_TABLE),
        "season": Optional(SEASON_TABLE),
        "primary": Optional(PRIMARY_TABLE),
        "voices": Optional(VOICES_TABLE),
        "arms": Optional(Listed(ARM_TABLE, most=20)),
        "readers": Optional(READERS_TABLE),
        "trading": Optional(TRADING_TABLE),
        "portfolios": Optional(Listed(PORTFOLIO_TABLE, most=20)),
        "onchain": Optional(ONCHAIN_TABLE),
    }
)


@dataclass(frozen=True)
class Declaration:
    """A declaration that keeps to the grammar: its bytes and what they say.

    `content` is the TOML value, for the keys that have no attribute here.
    """

    data: bytes
    sha256: str
    content: Mapping[str, Any] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, data: bytes, label: str) -> Self:
        """The declaration in `data`; FormatError names `label`, the path and what is wrong."""
        content = _declared_toml(data, label)
        try:
            _refuse_declared_floats(content, "")
            DECLARATION_TABLE.check(content, "")
            check_coherence(content)
            if "contract" in content:
                contract_profile(content["contract"])
        except FormatError as error:
            said = str(error)
            said = f"top level{said}" if said.startswith(":") else said.removeprefix(".")
            raise FormatError(f"{label}: {said}") from None
        return cls(data, digest(data), content)

    def _word(self, table: str, key: str) -> str:
        return str(self.content[table][key])

    @property
    def name(self) -> str:
        """The league's name, safe as a file name."""
        return self._word("league", "name")

    @property
    def title(self) -> str:
        """The league's title for readers."""
        return self._word("league", "title")

    @property
    def origin(self) -> str:
        """The name under which the book is signed."""
        return self._word("league", "origin")

    @property
    def licence(self) -> str:
        """The SPDX name of the licence of what is published."""
        return self._word("league", "licence")

    @property
    def attribution(self) -> str:
        """Whom a user of the data must name."""
        return self._word("league", "attribution")

    @property
    def methodology(self) -> str:
        """The methodology version of the first segment."""
        return self._word("segment", "methodology")

    @property
    def segment(self) -> str:
        """The name of the first segment."""
        return self._word("segment", "name")

    @property
    def simulated(self) -> bool:
        """Whether the first segment runs in simulated time."""
        return self._word("segment", "time") == "simulated"

    @property
    def why(self) -> str:
        """Why the first segment's time is what it is."""
        return self._word("segment", "why")

    @property
    def retry(self) -> str:
        """The retry policy in words, as a roster line carries it."""
        return self._word("answers", "retry")

    @property
    def counted_run(self) -> str:
        """The rule for the run that counts in words, as a roster line carries it."""
        return self._word("counted_run", "words")

    @property
    def slot(self) -> str | None:
        """The instant that the only run stands for; None where runs have a schedule."""
        held: str | None = self.content["schedule"].get("slot")
        return held

    @property
    def deadline(self) -> str | None:
        """The deadline of the only run; None where runs have a schedule."""
        held: str | None = self.content["schedule"].get("deadline")
        return held

    @property
    def archive(self) -> str | None:
        """The shipped archive that questions come from; None where they come from elsewhere."""
        name = self.content["questions"].get("archive")
        return None if name is None else str(name)

    @property
    def contract(self) -> ContractProfile | None:
        """How the league names its event contracts beside our own id; None where it does not."""
        table = self.content.get("contract")
        return None if table is None else contract_profile(table)

    @property
    def cluster(self) -> str:
        """What events are clustered by, such as `source_question`."""
        return self._word("questions", "cluster")

    @property
    def final(self) -> str:
        """Whose word ends a question."""
        return self._word("resolution", "final")

    @property
    def grid(self) -> Decimal:
        """The step of the grid a probability sits on when it is scored."""
        return Decimal(self._word("scoring", "grid"))

    @property
    def clamp(self) -> Decimal:
        """How near 0 and 1 a probability may come in a logarithm."""
        return Decimal(self._word("scoring", "clamp"))

    @property
    def bodies(self) -> dict[str, str]:
        """The rule of each declared role; a role that is not declared is due with its line."""
        return dict(self.content["bodies"])

    @property
    def derived(self) -> dict[str, str]:
        """The rule of each derived forecaster by name, in the declared order."""
        return {item["forecaster"]: item["rule"] for item in self.content.get("derived", [])}

    @property
    def labels(self) -> dict[str, str]:
        """The label of each derived forecaster by name."""
        return {item["forecaster"]: item["label"] for item in self.content.get("derived", [])}

    @property
    def rank_by(self) -> str:
        """The measure of the ranking."""
        return self._word("board", "rank_by")

    @property
    def min_events(self) -> int:
        """How many resolved events a forecaster needs for a rank."""
        return int(self.content["board"]["min_events"])

    @property
    def min_clusters_interval(self) -> int:
        """From how many clusters an interval is printed."""
        return int(self.content["board"]["min_clusters_interval"])

    @property
    def shared_min(self) -> int:
        """From how many events scores on the shared set are printed."""
        return int(self.content["board"]["shared_min"])


def declaration_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a declaration's TOML value.

    It says all that one key can be asked by itself; what two keys must have
    in common only `Declaration.parse` checks.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The declaration of a league",
        **DECLARATION_TABLE.schema(),
    }


def missing_features(declaration: Declaration) -> list[str]:
    """What a valid declaration asks for and this version cannot run, one sentence each."""
    return missing_in(declaration.content)


class _DeclaredFloat(str):
    """A float as it was written, to be refused once its place is known."""


def _declared_toml(data: bytes, label: str) -> dict[str, Any]:
    if len(data) > MAX_DECLARATION_BYTES:
        raise FormatError(f"{label}: {len(data)} bytes; the limit is {MAX_DECLARATION_BYTES}")
    if data.startswith(b"\xef\xbb\xbf"):
        raise FormatError(f"{label}: begins with a byte order mark; save it as UTF-8 without one")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{label}: line {line}: not UTF-8 at byte {error.start}") from None
    for number, line_text in enumerate(text.split("\n"), 1):
        if line_text.count(".") > MAX_DOTS_A_LINE:
            raise FormatError(f"{label}: line {number}: more than {MAX_DOTS_A_LINE} dots")
    try:
        return tomllib.loads(text, parse_float=_DeclaredFloat)
    except RecursionError:
        raise FormatError(f"{label}: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or an integer of too many digits
        raise FormatError(f"{label}: not TOML: {error}") from None


def _refuse_declared_floats(value: Any, where: str) -> None:
    if isinstance(value, _DeclaredFloat):
        raise FormatError(
            f'{where}: {value:.40} is a float; write decimal text, "{value:.40}", because a '
            "binary float is not the number you wrote"
        )
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_declared_floats(item, f"{where}.{key}")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            _refuse_declared_floats(item, f"{where}[{position}]")
