"""What others saw of a published league: its stamps checked against a reader's own trust.

What is not in the reader's folder is not trusted, and what it would have shown is
reported as not checked, never as passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from beforehand.anchors.anchor import CHECKS, REFUSED, Subject
from beforehand.anchors.lone import check_bytes
from beforehand.book.bodies import is_sealed, open_sealed
from beforehand.book.checkpoint import Checkpoint, VerifierKey, is_size
from beforehand.book.cosignature import (
    WitnessKey,
    cosignature_instant,
    cosignatures,
    note_parts,
    quorum_time,
)
from beforehand.book.key_history import key_history
from beforehand.book.manifest import MANIFEST_PATH, read_manifest
from beforehand.book.proof_file import STAMPED_LIST_NAME, ProofFile
from beforehand.book.report import Report
from beforehand.book.tree import Frontier, line_leaf
from beforehand.cli.brackets import answers_told, is_after, run_brackets
from beforehand.cli.declared import declared_content, find_mislabelled, with_margin
from beforehand.cli.exclusivity import search_for_second, shown_league
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.cli.stamp_checks import check_stamps
from beforehand.errors import FormatError, IntegrityError
from beforehand.publish.levels import (
    NEED_TOKENS,
    PROPERTIES,
    Cosigned,
    least_levels,
    run_levels,
)
from beforehand.publish.run_facts import read_fields
from beforehand.publish.stamps import WITNESS_NAME
from beforehand.stages.status import counted

SHOWN_RUNS = 12
SIMULATED = (
    "levels: 0 throughout, as in every simulated league: its time is made up, so nothing can be "
    "proved about when. That is no fault; what this report calls sound was checked (--json has "
    "the levels)"
)
SAID = ("kind", "forecaster", "run", "status")
SHOWN_CELLS = 3


def add_levels(report: Report, public: Path, given: ReaderTrust, as_of: str) -> None:
    """Check every stamp of every league and add the levels of its runs to the report.

    Evidence that does not match is a finding of step 10; what could not be
    checked is said.
    """
    paths = _paths(report, public)
    for name in list(report.leagues):
        if name not in paths:
            continue
        base = public / paths[name]
        book = base / "book.jsonl"
        if not book.is_file():
            continue
        with book.open("rb") as stream:
            lines = stream.read().split(b"\n")[:-1]
        declared = declared_content(report, base, paths[name], lines)
        anchors: Mapping[str, Any] = declared.get("", {}).get("anchors", {})
        reader = with_margin(given, anchors)
        checked = check_stamps(report, base, paths[name], lines, reader, as_of)
        witnessed = _witnessed(report, base, paths[name], lines, reader, as_of)
        if report.leagues[name].get("time") == "live":
            beacon = anchors.get("beacon")
            brackets = run_brackets(report, lines, paths[name], checked, reader, beacon)
            report.leagues[name]["brackets"] = brackets
        searched = search_for_second(report, name, shown_league(base, lines), reader)
        levels = run_levels(
            lines,
            checked,
            sound=not report.findings,
            witnessed=witnessed,
            quorum=anchors.get("quorum", NEED_TOKENS),
            declared=declared,
            searched=searched,
        )
        find_mislabelled(report, lines, paths[name], declared)
        report.leagues[name]["levels"] = {
            run: {key: level.content() for key, level in held.items()}
            for run, held in levels.items()
        }
        report.leagues[name]["least_levels"] = least_levels(levels)


def _paths(report: Report, public: Path) -> dict[str, str]:
    """Where the book that was verified lies, by league; a name of two leagues is that of none."""
    try:
        leagues = read_manifest((public / MANIFEST_PATH).read_bytes())["leagues"]
    except (OSError, FormatError):
        return {}
    names = Counter(str(entry["league"]) for entry in leagues)
    for name, count in names.items():
        if count > 1:
            report.find(1, MANIFEST_PATH, f"{count} leagues have the name {name!r:.80}")
    return {
        str(entry["league"]): str(entry["path"]).rstrip("/")
        for entry in leagues
        if names[str(entry["league"])] == 1
    }


def _witnessed(
    report: Report,
    base: Path,
    path: str,
    lines: Sequence[bytes],
    reader: ReaderTrust,
    as_of: str,
) -> list[Cosigned]:
    """Which checkpoints of this very book a quorum of the reader's witnesses cosigned, and when."""
    witnesses = _others(report, lines, path, reader)
    if len(witnesses) < reader.quorum or not witnesses:
        return []
    origin = read_fields(lines[0]).get("origin")
    found: dict[int, tuple[bytes, int]] = {}
    for note_path in sorted((base / "checkpoints").glob("[0-9]*")):
        if not is_size(note_path.name):
            continue  # a finding of step 5
        try:
            note = note_path.read_bytes()
            at = quorum_time(cosignatures(note, witnesses, as_of), reader.quorum)
            point = Checkpoint.parse(note_parts(note)[0])
        except (OSError, FormatError, IntegrityError) as error:
            report.find(10, f"{path}/checkpoints/{note_path.name}", str(error))
            continue
        if at is not None and point.origin == origin:
            found[point.size] = (point.root, at)
    return [
        Cosigned(size, cosignature_instant(found[size][1]))
        for size, root in _roots(lines, set(found))
        if root == found[size][0]
    ]


def _roots(lines: Sequence[bytes], sizes: set[int]) -> Iterator[tuple[int, bytes]]:
    """The roots over the first lines, at those sizes that the book has."""
    frontier = Frontier()
    for size, raw in enumerate(lines[: max(sizes, default=0)], 1):
        frontier.append(line_leaf(raw))
        if size in sizes:
            yield size, frontier.root()


def _others(
    report: Report, lines: Sequence[bytes], path: str, reader: ReaderTrust
) -> list[WitnessKey]:
    """The reader's witnesses without those that sign with a key of the book itself."""
    if not reader.witnesses or not lines:
        return []
    try:
        own = {key.public for _, key in key_history(lines).changes}
    except FormatError:
        return []
    same = [key.name for key in reader.witnesses if key.public in own]
    if same:
        listed = ", ".join(same)
        report.not_checked.append(f"{path}: {listed}: the book's own key is no witness of it")
    return [key for key in reader.witnesses if key.public not in own]


def add_proof_evidence(report: Report, path: Path, reader: ReaderTrust, as_of: str) -> None:
    """Check the evidence that a proof file encloses, over the list that it encloses too."""
    proof = ProofFile.parse(path.read_bytes())
    report.notes += _said_by(proof)
    _add_proof_cosignatures(report, proof, path.name, reader, as_of)
    listed = next((each for each in proof.evidence if each.name == STAMPED_LIST_NAME), None)
    if listed is None:
        return
    subject, at = Subject.of_bytes(listed.data), str(read_fields(proof.line).get("at"))
    gaps: dict[str, None] = {}
    for each in proof.evidence:
        if each is listed or each.name == WITNESS_NAME:
            continue
        verdict = check_bytes(each.data, subject, reader.trust, as_of)
        unsaid = f"evidence {each.name} ({len(each.data)} bytes): present, not checked here"
        if verdict.result == CHECKS:
            report.not_checked = [said for said in report.not_checked if said != unsaid]
            when = f", no later than {verdict.not_after}" if verdict.not_after else ""
            report.notes.append(f"{each.name}: {verdict.words}, level {verdict.level}{when}")
            gaps |= dict.fromkeys(verdict.excludes_not)
            if verdict.not_after and is_after(at, verdict.not_after):
                report.notes.append(
                    f"{each.name}: the line's at, {at}, is after that: its time is simulated, or "
                    "its clock was wrong"
                )
        elif verdict.result == REFUSED and reader.given:
            report.find(10, f"{path.name}: {each.name}", verdict.words)
    report.notes += [f"not excluded: {gap}" for gap in gaps]
    said = "whether its segment's time is live: one line does not say it"
    report.not_checked.append(said)


def _opened(data: bytes) -> bytes:
    """What a sealed body holds under its salt; one of no such form is a finding elsewhere."""
    try:
        return open_sealed(data).content if is_sealed(data) else data
    except FormatError:
        return b""


def _said_by(proof: ProofFile) -> list[str]:
    """What the proved line says, in its own words: whose, on what, and with which probability."""
    value = read_fields(proof.line)
    said = [f"{key} {value[key]:.200}" for key in SAID if isinstance(value.get(key), str)]
    sources = [value, *(read_fields(_opened(body.data)) for body in proof.bodies)]
    lists = [source["cells"] for source in sources if isinstance(source.get("cells"), list)]
    cells = [cell for held in lists for cell in held if isinstance(cell, dict) and "p" in cell]
    for cell in cells[:SHOWN_CELLS]:
        said.append(f"{cell['p']!s:.40} for {cell.get('question')!s:.200}")
    if len(cells) > SHOWN_CELLS:
        more = len(cells) - SHOWN_CELLS
        said.append(f"and {counted(more, 'more probability', 'more probabilities')}")
    return [f"it says: {', '.join(said)}"] if said else []


def _add_proof_cosignatures(
    report: Report, proof: ProofFile, name: str, reader: ReaderTrust, as_of: str
) -> None:
    """By when enough of the reader's witnesses had cosigned the proof's checkpoint."""
    try:
        own = VerifierKey.parse(proof.key).public
        witnesses = [key for key in reader.witnesses if key.public != own]
        found = cosignatures(proof.note, witnesses, as_of) if witnesses else []
        at = quorum_time(found, reader.quorum) if witnesses else None
    except (FormatError, IntegrityError) as error:
        report.find(10, f"{name}: its checkpoint", str(error))
        return
    if at is not None:
        instant = cosignature_instant(at)
        report.notes.append(f"{reader.quorum} of your witnesses cosigned it by {instant}")
    elif reader.witnesses:
        report.not_checked.append("the checkpoint: too few of your witnesses cosigned it")


def level_lines(league: Mapping[str, Any]) -> list[str]:
    """The levels of a league for a person: the least of each property, then run by run."""
    levels: Mapping[str, Mapping[str, Mapping[str, str]]] = league.get("levels", {})
    if not levels:
        return []
    if league.get("time") == "simulated":
        return [SIMULATED]
    least = league["least_levels"]
    lines = ["levels (0 the operator's word, 1 its chain, 2 anchored outside, 2+ signed time):"]
    lines += [f"  {key:<13}{least[key]:<4}{said}" for key, said in PROPERTIES.items()]
    last = list(levels.items())[-1]
    for run, held in list(levels.items())[-SHOWN_RUNS:]:
        told = " ".join(f"{key} {held[key]['level']}" for key in PROPERTIES)
        lines.append(f"  run {run}: {told}")
    if len(levels) > SHOWN_RUNS:
        more = counted(len(levels) - SHOWN_RUNS, "run")
        lines.append(f"  … and {more} before; --json has them all")
    lines.append(f"  of run {last[0]}:")
    for key in PROPERTIES:
        level = last[1][key]
        lines.append(f"    {key}: {level['evidence']}; does not exclude: {level['not_excluded']}")
    return [*lines, *answers_told(league)]
