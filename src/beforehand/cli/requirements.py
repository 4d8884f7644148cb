"""What a reader insists on: `operator`, `since` and `live`, and levels such as `P1b=2+`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from beforehand.book.folder import printable
from beforehand.book.options import REQUIREMENTS
from beforehand.book.report import Report
from beforehand.errors import FormatError
from beforehand.publish.levels import LEVELS, PROPERTIES


@dataclass(frozen=True)
class Requirements:
    """The words that the recipe itself checks, and the least level of each property."""

    words: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Requirements:
        """What stands between the commas; FormatError names what is unknown."""
        words: list[str] = []
        levels: dict[str, str] = {}
        for each in filter(None, map(str.strip, text.split(","))):
            name, separator, level = each.partition("=")
            if separator:
                if name in levels:
                    raise FormatError(f"{name:.40} is required twice")
                levels[name] = _level(name, level)
            elif name in PROPERTIES:
                raise FormatError(f"{name} needs a level, as in {name}=2+")
            elif name not in REQUIREMENTS:
                known = ", ".join((*REQUIREMENTS, *(f"{name}=LEVEL" for name in PROPERTIES)))
                raise FormatError(f"unknown requirement {name!r:.40}; known: {known}")
            else:
                words.append(name)
        return cls(tuple(words), levels)

    def add_unmet(self, report: Report) -> None:
        """Say in the report which level is not reached; every run of every league counts."""
        for name, level in self.levels.items():
            held = {
                league: told["least_levels"][name]
                for league, told in report.leagues.items()
                if "least_levels" in told
            }
            wanted = f"{name}={level}: required"
            if not held:
                report.unmet.append(f"{wanted}, and a published folder alone has levels")
            report.unmet += [
                f"{wanted}, and {printable(league)} reaches {reached}"
                for league, reached in held.items()
                if LEVELS.index(reached) < LEVELS.index(level)
            ]
            if held:
                report.unmet += [
                    f"{wanted}, and {printable(league)} shows none"
                    for league in report.leagues
                    if league not in held
                ]


def _level(name: str, level: str) -> str:
    if name not in PROPERTIES:
        raise FormatError(f"unknown property {name!r:.40}; known: {', '.join(PROPERTIES)}")
    if level not in LEVELS:
        raise FormatError(f"unknown level {level!r:.40} of {name}; known: {', '.join(LEVELS)}")
    return level
