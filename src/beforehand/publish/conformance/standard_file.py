"""`standard.json`: what a league says of itself. Its files by role, its keys, and its claims.

A claim is a requirement's status with the date since when it holds and
pointers to the evidence. It is the league's word: the checks look at the files
that it maps, and the report says beside each claim whether they show it.

    {"format": "beforehand-standard/1", "title": "…", "origin": "…", "keys": ["…"],
     "files": {"book": "…", "asks": "…", "forecasts": "…", "profile": "…",
               "stamps": ["…"], "texts": ["…"], "more": ["…"]},
     "claims": [{"requirement": 1, "status": "PASS", "since": "…",
                 "evidence": [{"file": "…", "line": 3}]}]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from beforehand.book.folder import Folder, is_below, read_file
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.publish.conformance.result import (
    FAIL,
    NOT_APPLICABLE,
    PASS,
    REQUIREMENTS,
    STATUSES,
    UNVERIFIABLE,
    Pointer,
)
from beforehand.records.codec import decode_json

STANDARD_NAME = "standard.json"
STANDARD_FORMAT = "beforehand-standard/1"
MAX_STANDARD_BYTES = 4 << 20
MAX_MAPPED = 20_000
MAX_NAME_CHARS = 300
MAX_CLAIM_EVIDENCE = 50
ONE, MANY = ("book", "asks", "forecasts", "profile"), ("stamps", "texts", "more")

_KEYS = {"format", "title", "origin", "keys", "files", "claims"}
_CLAIM_KEYS = {"requirement", "status", "since", "evidence"}
_WORDS = {
    FAIL: "contradicted: the files show that it is not met",
    UNVERIFIABLE: "not shown by the files",
    NOT_APPLICABLE: "not applicable: the requirement does not speak of this league",
}


@dataclass(frozen=True)
class Claim:
    """What a league claims of one requirement; `since` is "" where it gives no date."""

    requirement: int
    status: str
    since: str = ""
    evidence: tuple[Pointer, ...] = ()


@dataclass(frozen=True)
class StandardFile:
    """A league's own manifest of claims."""

    title: str = ""
    origin: str = ""
    keys: tuple[str, ...] = ()
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    @classmethod
    def read(cls, folder: Folder) -> StandardFile | None:
        """The one at the root of a folder; None where there is none."""
        if not folder.has(STANDARD_NAME):
            return None
        return cls.parse(read_file(folder, STANDARD_NAME, MAX_STANDARD_BYTES))

    @classmethod
    def parse(cls, data: bytes) -> StandardFile:
        """The manifest in a file's bytes; FormatError says what in it has not its form."""
        try:
            value = decode_json(data)
            if not isinstance(value, dict) or value.get("format") != STANDARD_FORMAT:
                raise FormatError(f"its format is not {STANDARD_FORMAT!r}")
            _known(value, _KEYS, "it")
            return cls(
                _word(value, "title", 200),
                _word(value, "origin", 300),
                tuple(_words(value.get("keys", []), "keys")),
                _files(value.get("files", {})),
                _claims(value.get("claims", [])),
            )
        except FormatError as error:
            raise FormatError(f"{STANDARD_NAME}: {error}") from None

    def one(self, role: str) -> str | None:
        """The file that plays a role, None where none does."""
        return next(iter(self.files.get(role, ())), None)

    def names(self) -> list[str]:
        """Every file that is mapped, once, sorted."""
        return sorted({name for named in self.files.values() for name in named})


def _known(value: Mapping[str, Any], names: set[str], where: str) -> None:
    unknown = ", ".join(sorted(set(value) - names))
    if unknown:
        known = ", ".join(sorted(names))
        raise FormatError(f"{where} does not know {unknown:.200}; it knows {known}")


def _word(value: Mapping[str, Any], key: str, most: int) -> str:
    held = value.get(key, "")
    if not isinstance(held, str) or len(held) > most or not held.isprintable():
        raise FormatError(f"{key} is no printable text of at most {most} characters")
    return held


def _words(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or len(value) > MAX_MAPPED:
        raise FormatError(f"{where} is no list of at most {MAX_MAPPED} texts")
    for each in value:
        if not isinstance(each, str) or len(each) > MAX_NAME_CHARS or not each.isprintable():
            raise FormatError(f"{where} is not of printable texts up to {MAX_NAME_CHARS} long")
    return value


def _files(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise FormatError("files is no table of roles")
    _known(value, {*ONE, *MANY}, "files")
    held = {}
    for role, named in value.items():
        names = _words(named if role in MANY else [named], f"files.{role}")
        for name in names:
            _check_name(name, f"files.{role}")
        held[role] = tuple(names)
    if not held.get("book") and not held.get("forecasts"):
        raise FormatError("files maps neither a book nor forecasts: there is nothing to judge")
    return held


def _check_name(name: str, where: str) -> None:
    first = name.split("/", maxsplit=1)[0]
    if not is_below(name) or "\\" in name or ":" in first or not name.isprintable():
        raise FormatError(f"{where}: {name!r:.80} is no name of a file below this one")


def _claims(value: Any) -> tuple[Claim, ...]:
    if not isinstance(value, list) or len(value) > len(REQUIREMENTS):
        raise FormatError(f"claims is no list of at most {len(REQUIREMENTS)}")
    claims = tuple(_claim(each) for each in value)
    if len({claim.requirement for claim in claims}) != len(claims):
        raise FormatError("claims names one requirement twice")
    return claims


def _claim(value: Any) -> Claim:
    if not isinstance(value, dict):
        raise FormatError("a claim is no table")
    _known(value, _CLAIM_KEYS, "a claim")
    number, status = value.get("requirement"), value.get("status")
    if type(number) is not int or not 1 <= number <= len(REQUIREMENTS):
        raise FormatError(f"a claim's requirement is a number from 1 to {len(REQUIREMENTS)}")
    if status not in STATUSES:
        raise FormatError(f"the claim on requirement {number}: status is one of {STATUSES}")
    since = _word(value, "since", 40)
    if since:
        instant_key(since)
    named = value.get("evidence", [])
    if not isinstance(named, list) or len(named) > MAX_CLAIM_EVIDENCE:
        raise FormatError(f"the claim on requirement {number}: evidence is no list of pointers")
    return Claim(number, status, since, tuple(_pointer(each, number) for each in named))


def _pointer(value: Any, number: int) -> Pointer:
    where = f"the evidence of requirement {number}"
    if not isinstance(value, dict) or not isinstance(value.get("file"), str):
        raise FormatError(f"{where} names no file")
    _known(value, {"file", "line"}, where)
    _check_name(value["file"], where)
    line = value.get("line")
    if line is not None and (type(line) is not int or line < 1):
        raise FormatError(f"{where}: a line is a number from 1")
    return Pointer(value["file"], line)


def compare_claims(
    standard: StandardFile, told: Sequence[Mapping[str, Any]], folder: Folder
) -> list[dict[str, Any]]:
    """Every claim beside what the files show of its requirement (`told`, as in the report)."""
    found = {item["id"]: item for item in told}
    return [_compared(claim, found[claim.requirement], folder) for claim in standard.claims]


def _compared(claim: Claim, item: Mapping[str, Any], folder: Folder) -> dict[str, Any]:
    absent = [each.file for each in claim.evidence if not folder.has(each.file)]
    said = _judged(claim, item)
    if absent:
        said += f"; its evidence {absent[0]:.80} is not there"
    return {
        "requirement": claim.requirement,
        "claimed": claim.status,
        "claimed_since": claim.since or None,
        "found": item["status"],
        "found_since": item["since"],
        "shown": claim.status == item["status"] == PASS and said == "shown",
        "said": said,
        "evidence": [each.content() for each in claim.evidence],
    }


def claim_lines(report: Mapping[str, Any]) -> list[str]:
    """A sentence on each claim of a report, and one on all; none where nothing is claimed."""
    standard = report.get("standard")
    if standard is None:
        return []
    claims = standard["claims"]
    lines = [f"{STANDARD_NAME}: {standard['shown']} of {len(claims)} claims are shown by the files"]
    for each in claims:
        since = f" since {each['claimed_since']}" if each["claimed_since"] else ""
        words = f"claimed {each['claimed']}{since}: {each['said']}"
        lines.append(f"requirement {each['requirement']}, {words}")
    return lines


def _judged(claim: Claim, item: Mapping[str, Any]) -> str:
    """One sentence on a claim; "shown" alone where the files show all of it."""
    if claim.status != PASS:
        return "the league does not claim that it is met"
    if item["status"] != PASS:
        return _WORDS[item["status"]]
    if claim.since and not item["since"]:
        return f"met, and the files show no date since when; {claim.since} is the league's word"
    if claim.since and not _is_from(claim.since, item["since"]):
        return f"met, and shown since {item['since']:.40} only, which is later than claimed"
    return "shown"


def _is_from(claimed: str, shown: str) -> bool:
    """Whether a claim's date is no earlier than that which the files show."""
    try:
        return instant_key(claimed) >= instant_key(shown)
    except FormatError:  # a date of the league's own lines that nobody can read
        return False
