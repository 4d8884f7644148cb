"""The verification of what a league published, from its files alone. The recipe:

 1. Read the manifest: its form is canonical, and each league's key signed it.
 2. Hash every file the manifest lists; nothing is missing, nothing is unlisted
    (the manifest itself and the checker excepted).
 3. Walk the chain: every line parses, is numbered, names the link before it,
    and its content and bookkeeping hash to its seal and link; time never runs back.
 4. Build the tree over the raw lines and compare every tile.
 5. Open every checkpoint: signed by the key in force at its size, under the
    book's origin, with the root that the lines give at that size.
 6. Hash every body: present once due or revealed, as the lines say, else it is
    found as not revealed; due times follow the declared rule; sealed bodies carry
    a header that fits, and no salt twice; the cells of an opened answer give the
    root its line carried.
 7. Match asks, answers and rosters; no answer stands after an outcome it answers,
    and no outcome changes but by a correction.
 8. Compare the operator with the origin and key the reader holds, and the book
    with the checkpoint the reader kept (`--since`), where given.

Nothing is trusted but the reader's own origin, key and old checkpoint; what
was not given is reported as not checked. Scores are recounted by `recount.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from beforehand.book.checkpoint import VerifierKey
from beforehand.book.folder import Folder, hash_file, printable, read_file
from beforehand.book.inspection import Inspection
from beforehand.book.kept import check_kept, compare_kept, kept_checkpoint
from beforehand.book.manifest import (
    CHECKER_PATH,
    MANIFEST_PATH,
    MAX_MANIFEST_BYTES,
    check_manifest_signature,
    read_manifest,
)
from beforehand.book.options import REQUIREMENTS, Options
from beforehand.book.report import Report
from beforehand.book.walk import ChainWalk, Pieces, in_this_process
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError


def verify_folder(folder: Folder, options: Options, walk: Pieces | None = None) -> Report:
    """Verify a published folder; the report says what was found.

    `walk` gives the checked pieces of a book, in order; the default does it
    in this process. FormatError means that it could not be checked at all.
    """
    report = Report(options.as_of)
    instant_key(options.as_of)
    if not folder.has(MANIFEST_PATH):
        raise FormatError(f"{MANIFEST_PATH} is missing: give the folder that holds api/ (public/)")
    options.progress("manifest")
    data = read_file(folder, MANIFEST_PATH, MAX_MANIFEST_BYTES)
    try:
        manifest = read_manifest(data)
    except FormatError as error:
        report.find(1, MANIFEST_PATH, str(error))
        return report
    _check_signatures(manifest, report)
    options.progress("files")
    _check_files(folder, manifest, report)
    for league in manifest["leagues"]:
        Inspection(folder, league, options, report, walk or in_this_process).check()
    _check_requirements(options, report)
    return report


def verify_book(folder: Folder, name: str, options: Options, walk: Pieces | None = None) -> Report:
    """Steps 3 and 4 on a bare book file, such as another league's; the rest is not checked.

    A checkpoint that the reader kept (`since`) is compared with the lines, its
    signature only where a key is given. A file without a line is not checked.
    """
    report = Report(options.as_of)
    held = None if options.since is None else kept_checkpoint(options.since)
    chain = ChainWalk(folder, name, name, report, sizes=set() if held is None else {held.size})
    chain.walk(walk or in_this_process)
    if not chain.frontier.size:
        report.unmet.append(f"{name} holds no whole line: there was nothing to check")
    if held is not None:
        compare_kept(report, f"{name}: --since", held, chain)
        if options.key is None:
            report.not_checked.append("the signature of your checkpoint: give --key")
        else:
            check_kept(report, f"{name}: --since", options.since or b"", options.key)
    times = sorted(chain.facts.times)
    if times and times != ["live"]:
        said = ", ".join(times)
        report.notes.append(f"time is {said}: its stamps prove nothing about when (level 0)")
    chain.facts.close()
    report.leagues[name] = chain.summary()
    report.not_checked += ["files, tiles, checkpoints, bodies, answers and operator: a bare book"]
    _check_requirements(options, report)
    return report


def _check_signatures(manifest: dict[str, Any], report: Report) -> None:
    for league in manifest["leagues"]:
        try:
            check_manifest_signature(manifest, VerifierKey.parse(league["key"]))
        except (FormatError, IntegrityError) as error:
            report.find(1, MANIFEST_PATH, str(error))


def _check_files(folder: Folder, manifest: dict[str, Any], report: Report) -> None:
    listed: dict[str, dict[str, Any]] = {}
    for entry in manifest["files"]:
        if entry["path"] in listed:
            report.find(1, MANIFEST_PATH, f"lists {entry['path']!r:.200} twice")
        listed[entry["path"]] = entry
    present = set(folder.names())
    for name in sorted(present - listed.keys() - {MANIFEST_PATH, CHECKER_PATH}):
        report.find(2, printable(name), "is not in the manifest")
    for name in sorted(listed.keys() - present):
        report.find(2, printable(name), "is in the manifest and missing")
    for name in sorted(listed.keys() & present):
        try:
            size, hashed = hash_file(folder, name)
        except FormatError as error:
            report.find(2, printable(name), str(error))
            continue
        if hashed != listed[name]["sha256"]:
            report.find(2, printable(name), f"hashes to {hashed}, the manifest says otherwise")
        elif size != listed[name]["bytes"]:
            said = listed[name]["bytes"]
            report.find(2, printable(name), f"has {size} bytes, the manifest says {said}")


def _check_requirements(options: Options, report: Report) -> None:
    for wanted in options.require:
        if wanted not in REQUIREMENTS:
            raise FormatError(
                f"unknown requirement {wanted!r:.40}; known: {', '.join(REQUIREMENTS)}"
            )
        met = {
            "operator": options.origin is not None and options.key is not None,
            "since": options.since is not None,
            "live": bool(report.leagues)
            and all(league.get("time") == "live" for league in report.leagues.values()),
        }[wanted]
        if not met:
            report.unmet.append(f"{wanted}: required and not reached")


# Of a league's summary, what is told first, or by whoever adds it.
_UNTOLD_KEYS = frozenset(
    (
        *("lines", "root", "kinds", "last_link", "sha256", "levels", "least_levels", "brackets"),
        *("not_revealed", "fraud_proofs"),
    )
)


def report_lines(report: Report) -> Iterable[str]:
    """The report for a person, one line at a time, each safe to print."""
    yield from map(printable, _lines_of(report))


def _lines_of(report: Report) -> Iterable[str]:
    for name, league in report.leagues.items():
        yield f"{name}: {league['lines']} lines, root {league['root']}"
        for key, value in league.items():
            if key not in _UNTOLD_KEYS:
                yield f"  {key.replace('_', ' ')}: {value}"
    yield from (f"FINDING {finding.text()}" for finding in report.findings)
    if report.more_findings:
        yield f"… and {report.more_findings} findings more"
    yield from (f"note: {note}" for note in report.notes)
    yield from (f"not checked: {item}" for item in report.not_checked)
    yield from (f"UNMET {item}" for item in report.unmet)
    words = {0: "sound", 1: "findings", 2: "could not check"}
    yield f"result at {report.as_of}: {words[report.exit_code]}"
