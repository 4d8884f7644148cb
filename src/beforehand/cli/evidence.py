"""What others saw of a published league: its stamps checked against a reader's own trust.

    TRUST/bitcoin-headers.json, tsa/NAME/…, trusted_root.json, signers/, clones.json
    TRUST/witnesses.txt    a verifier key a line; `quorum N` may stand first

What is not in the folder is not trusted, and what it would have shown is
reported as not checked, never as passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beforehand.anchors.anchor import CHECKS, REFUSED, Subject, unchecked
from beforehand.anchors.beacon_check import check_beacon
from beforehand.anchors.lone import check_bytes, check_evidence
from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import read_trust
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.cosignature import WitnessKey, cosignatures, quorum_time
from beforehand.book.proof_file import STAMPED_LIST_NAME, ProofFile
from beforehand.book.report import Report
from beforehand.book.stamped_list import StampedList, check_listed
from beforehand.clock import instant_key
from beforehand.errors import BeforehandError, FormatError, IntegrityError
from beforehand.publish.levels import PROPERTIES, Checked, least_levels, run_levels
from beforehand.publish.stamps import WITNESS_NAME
from beforehand.records.codec import decode_json
from beforehand.stages.anchoring import LIST_NAME, PENDING_SUFFIX, STAMPS, kept_stamps

WITNESSES_NAME = "witnesses.txt"
MAX_WITNESSES_BYTES = 1 << 16
SHOWN_RUNS = 12


@dataclass(frozen=True)
class ReaderTrust:
    """Whom a reader trusts; `given` is whether a folder of trust was named at all."""

    trust: Trust = field(default_factory=Trust)
    witnesses: tuple[WitnessKey, ...] = ()
    quorum: int = 0
    given: bool = False

    @classmethod
    def read(cls, folder: Path | None, *, rehearsal: bool = False) -> ReaderTrust:
        """The trust in a folder; none where no folder is given."""
        if folder is None:
            return cls()
        if not folder.is_dir():
            raise FormatError(f"--trust {folder} is not a folder")
        keys, quorum = _witnesses(folder / WITNESSES_NAME)
        return cls(read_trust(folder, rehearsal=rehearsal), keys, quorum, given=True)


def _witnesses(path: Path) -> tuple[tuple[WitnessKey, ...], int]:
    if not path.is_file():
        return (), 0
    if path.stat().st_size > MAX_WITNESSES_BYTES:
        raise FormatError(f"{path} is over {MAX_WITNESSES_BYTES} bytes")
    lines = [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
    quorum = None
    if lines and lines[0].startswith("quorum "):
        said = lines.pop(0).removeprefix("quorum ").strip()
        if not said.isdigit() or int(said) < 1:
            raise FormatError(f"{path}: quorum {said!r:.20} is not a number from 1")
        quorum = int(said)
    keys = tuple(WitnessKey.parse(line) for line in lines if not line.startswith("#"))
    if quorum is not None and quorum > len(keys):
        raise FormatError(f"{path}: a quorum of {quorum} among {len(keys)} witnesses")
    return keys, quorum or len(keys)


def add_levels(report: Report, public: Path, reader: ReaderTrust, as_of: str) -> None:
    """Check every stamp of every league and add the levels of its runs to the report.

    Evidence that does not match is a finding of step 10; what could not be
    checked is said.
    """
    for name in list(report.leagues):
        base = public / "api" / "v1" / name
        book = base / "book.jsonl"
        if not book.is_file():
            continue
        checked = _check_stamps(report, base, name, reader, as_of)
        witnessed = _witnessed(report, base, name, reader, as_of)
        with book.open("rb") as stream:
            lines = stream.read().split(b"\n")[:-1]
        levels = run_levels(lines, checked, sound=not report.findings, witnessed=witnessed)
        report.leagues[name]["levels"] = {
            run: {key: level.content() for key, level in held.items()}
            for run, held in levels.items()
        }
        report.leagues[name]["least_levels"] = least_levels(levels)
        if report.leagues[name].get("time") != "simulated":
            report.leagues[name]["brackets"] = _brackets(report, lines, name, checked, reader)


def _brackets(
    report: Report,
    lines: Sequence[bytes],
    name: str,
    checked: Sequence[Checked],
    reader: ReaderTrust,
) -> dict[str, dict[str, str | None]]:
    """Between which instants each run line was made, as far as others say; `at` lies in between."""
    held: dict[str, dict[str, str | None]] = {}
    for n, raw in enumerate(lines, 1):
        if b'"kind": "run"' not in raw:
            continue
        value = decode_json(raw)
        if value.get("kind") != "run":
            continue
        place, run, at = f"api/v1/{name}/book.jsonl line {n}", str(value["run"]), str(value["at"])
        since = _not_before(report, value, place, reader)
        until = _not_after(n, checked)
        held[run] = {"not_before": since, "at": at, "not_after": until}
        if since is not None and instant_key(at) < instant_key(since):
            report.find(10, place, f"at {at} is before its beacon, which is of {since}")
        if until is not None and instant_key(at) > instant_key(until):
            report.find(10, place, f"at {at} is after {until}, when others had it already")
    return held


def _not_before(
    report: Report, value: Mapping[str, Any], place: str, reader: ReaderTrust
) -> str | None:
    beacon = value.get("beacon")
    if not isinstance(beacon, dict):
        return None
    try:
        found = check_beacon(beacon, reader.trust.bitcoin)
    except (FormatError, IntegrityError) as error:
        report.find(10, place, f"its beacon: {error}")
        return None
    if found.instant is None:
        report.not_checked.append(f"{place}: beacon {found.words}")
    return found.instant


def _not_after(n: int, checked: Sequence[Checked]) -> str | None:
    """The earliest instant by which others had line `n`; None where nobody says."""
    times = [
        each.verdict.not_after
        for each in checked
        if each.size >= n and each.verdict.result == CHECKS and each.verdict.not_after
    ]
    return min(times, key=instant_key, default=None)


def _check_stamps(
    report: Report, base: Path, name: str, reader: ReaderTrust, as_of: str
) -> list[Checked]:
    """The verdict on every piece of evidence whose list the book keeps to."""
    checked: list[Checked] = []
    for stamp in kept_stamps(base):
        place = f"api/v1/{name}/{STAMPS}/{stamp.size}/{stamp.path.name}"
        listed = stamp.path.with_name(LIST_NAME)
        if stamp.path.name.endswith(PENDING_SUFFIX):
            report.not_checked.append(f"{place}: pending, a promise and no proof")
            continue
        if stamp.anchor == "witness":
            continue  # its lines stand on the checkpoint
        try:
            _check_list(base, listed, stamp.size)
            verdict = check_bytes(stamp.data(), Subject.of_file(listed), reader.trust, as_of)
        except (OSError, FormatError, IntegrityError) as error:
            report.find(10, place, str(error))
            continue
        if verdict.result == REFUSED and reader.given:
            report.find(10, place, verdict.words)
        elif verdict.result != CHECKS:
            report.not_checked.append(f"{place}: present, not checked: {verdict.words}")
        checked.append(Checked(stamp.anchor, stamp.size, verdict))
    return checked


def _check_list(base: Path, listed: Path, size: int) -> None:
    stamped = StampedList.parse(listed.read_bytes())
    with (base / "book.jsonl").open("rb") as stream:
        book = check_listed(stream, stamped)
    if book.lines != size:
        raise IntegrityError(f"the list is over {book.lines} lines and lies with those over {size}")


def _witnessed(report: Report, base: Path, name: str, reader: ReaderTrust, as_of: str) -> int:
    """The size of the newest checkpoint that a quorum of the reader's witnesses cosigned."""
    if not reader.witnesses:
        return 0
    newest = 0
    notes = sorted((base / "checkpoints").glob("[0-9]*"), key=lambda path: int(path.name))
    for path in notes:
        note = path.read_bytes()
        try:
            found = cosignatures(note, list(reader.witnesses), as_of)
            point = Checkpoint.parse(note.decode("utf-8").partition("\n\n")[0] + "\n")
        except (BeforehandError, UnicodeDecodeError) as error:
            report.find(10, f"api/v1/{name}/checkpoints/{path.name}", str(error))
            continue
        if quorum_time(found, reader.quorum) is not None:
            newest = max(newest, point.size)
    return newest


def add_proof_evidence(report: Report, path: Path, reader: ReaderTrust, as_of: str) -> None:
    """Check the evidence that a proof file encloses, over the list that it encloses too."""
    proof = ProofFile.parse(path.read_bytes())
    listed = next((each for each in proof.evidence if each.name == STAMPED_LIST_NAME), None)
    if listed is None:
        return
    subject = Subject.of_bytes(listed.data)
    for each in proof.evidence:
        if each is listed or each.name == WITNESS_NAME:
            continue
        verdict = check_bytes(each.data, subject, reader.trust, as_of)
        unsaid = f"evidence {each.name} ({len(each.data)} bytes): present, not checked here"
        if verdict.result == CHECKS:
            report.not_checked = [said for said in report.not_checked if said != unsaid]
            report.notes.append(f"{each.name}: {verdict.words}, level {verdict.level}")
        elif verdict.result == REFUSED and reader.given:
            report.find(10, f"{path.name}: {each.name}", verdict.words)


def level_lines(league: Mapping[str, Any]) -> list[str]:
    """The levels of a league for a person: the least of each property, then run by run."""
    levels: Mapping[str, Mapping[str, Mapping[str, str]]] = league.get("levels", {})
    if not levels:
        return []
    least = league["least_levels"]
    lines = ["levels (0 the operator's word, 1 its chain, 2 anchored outside, 2+ signed time):"]
    lines += [f"  {key:<13}{least[key]:<4}{said}" for key, said in PROPERTIES.items()]
    last = list(levels.items())[-1]
    for run, held in list(levels.items())[-SHOWN_RUNS:]:
        told = " ".join(f"{key} {held[key]['level']}" for key in PROPERTIES)
        lines.append(f"  run {run}: {told}")
    if len(levels) > SHOWN_RUNS:
        lines.append(f"  … and {len(levels) - SHOWN_RUNS} runs before; --json has them all")
    lines.append(f"  of run {last[0]}:")
    for key in PROPERTIES:
        level = last[1][key]
        lines.append(f"    {key}: {level['evidence']}; does not exclude: {level['not_excluded']}")
    return lines


def lone_evidence(file: Path, evidence: Path, reader: ReaderTrust, as_of: str) -> tuple[int, str]:
    """One piece of evidence beside the file it stamps: the exit code, and the words for it."""
    if evidence.name.endswith(PENDING_SUFFIX):
        verdict = unchecked("pending: a promise and no proof")
    else:
        verdict = check_evidence(file, evidence, reader.trust, as_of)
    return verdict.exit_code, verdict.text()
