"""`beforehand seal` and `beforehand reveal`: one forecast, table or note, without a league."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.book.seal_file import (
    COMPLETE_STAMP,
    MAX_OPENING_BYTES,
    MAX_SEALED_BYTES,
    PENDING_STAMP,
    QUEUED,
    SealFile,
    Stamp,
)
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.cli.screen import errors_named
from beforehand.cli.seal_anchors import (
    ANCHORS,
    UNASKED,
    SealSettings,
    seal_anchors,
    waiting_anchors,
)
from beforehand.clock import SystemClock
from beforehand.errors import FormatError, RuleError
from beforehand.stages.lone_seal import (
    OPENING_SUFFIX,
    SEAL_SUFFIX,
    Asked,
    Revealed,
    opening_path,
    read_limited,
    read_seal,
    restamp,
    reveal,
    seal_content,
    seal_path,
    write_new,
)
from beforehand.stages.status import counted

SEAL_EPILOG = (
    "Example: beforehand seal forecast.csv, then beforehand seal --upgrade forecast.csv.seal. "
    "Exit codes: 0 sealed and every anchor answered, 2 not sealed, or an anchor is still queued."
)
REVEAL_EPILOG = (
    "Example: beforehand reveal forecast.csv.seal --out copy.csv. Exit codes: 0 it is what was "
    "sealed, 1 it is not or its evidence is false, 2 could not check."
)

SHOWN_CHARS, SHOWN_LINES = 20_000, 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", re.ASCII)


def seal(
    file: Annotated[
        str, typer.Argument(help="The file to seal, - for standard input; or a .seal to upgrade.")
    ],
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Ask again for what a FILE.seal still lacks.")
    ] = False,
    stamp: Annotated[
        str | None,
        typer.Option(
            help=f"Anchors to ask, by comma: {', '.join(ANCHORS)}. Without it: "
            f"{', '.join(UNASKED)}; with --upgrade, those that the seal waits for."
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help="A folder whose settings.toml names the anchors' addresses."),
    ] = None,
    no_stamp: Annotated[bool, typer.Option("--no-stamp", help="Open no connection.")] = False,
    calendar: Annotated[
        list[str] | None, typer.Option(help="An OpenTimestamps calendar, instead of the public.")
    ] = None,
    authority: Annotated[
        list[str] | None, typer.Option(help="A time-stamping authority, instead of the public.")
    ] = None,
    by: Annotated[str, typer.Option(help="Whose it is; sealed with it.")] = "",
    name: Annotated[
        str, typer.Option(help="What standard input is called, and its files.")
    ] = "note",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Commit to a text now, show it later: writes FILE.seal (public) and FILE.opening (secret)."""
    clock = SystemClock()
    with errors_named(as_json=as_json):
        anchors: list[Asked] = []
        lacking: dict[str, str] = {}
        held = SealSettings.read(settings)
        given = (held, clock, calendar or (), authority or ())
        if upgrade:
            target = Path(file)
            if not target.is_file():
                raise FormatError(f"{target} is not a file: give the FILE.seal to upgrade")
            if stamp is None and not no_stamp:
                anchors, lacking = waiting_anchors(read_seal(target), *given)
        if not no_stamp and (stamp is not None or not upgrade):
            anchors = seal_anchors(",".join(UNASKED) if stamp is None else stamp, *given)
        if not upgrade:
            content, path = _to_seal(file, name)
            seal_content(content, path, clock, by)
            target = seal_path(path)
            if not as_json:
                _say_sealed(target)
        done = restamp(target, anchors, clock, None if as_json else _say_stamp)
        for anchor, todo in () if as_json else lacking.items():
            _say(f"  {anchor}: not asked: {todo}")
    if as_json:
        typer.echo(json.dumps(_seal_told(target, done), indent=1))
    elif any(each.state != COMPLETE_STAMP for each in done.stamps):
        where = f" --settings {settings}" if settings is not None else ""
        _say(f"Later: beforehand seal --upgrade {target}{where}")
    raise typer.Exit(2 if any(each.state == QUEUED for each in done.stamps) else 0)


def reveal_seal(
    file: Annotated[Path, typer.Argument(help="The public file, FILE.seal.")],
    opening: Annotated[
        Path | None, typer.Option(help="The secret file (default: FILE.opening beside it).")
    ] = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write what was sealed to this new file.")
    ] = None,
    trust: Annotated[
        Path | None,
        typer.Option(help="A folder of what you trust: blocks, authorities, logs, witnesses."),
    ] = None,
    rehearsal: Annotated[
        bool, typer.Option("--rehearsal", help="Take a test network's blocks; proves nothing.")
    ] = False,
    as_of: Annotated[str | None, typer.Option(help="Judge certificates at this instant.")] = None,
    require_time: Annotated[
        bool, typer.Option("--require-time", help="Exit code 2 where no time is proved.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check an opening against its seal, show what was sealed, and since when it stood."""
    with errors_named(as_json=as_json):
        held = _seal_in(file)
        place = opening or opening_path(file)
        data = read_limited(place, MAX_OPENING_BYTES) if place.is_file() else None
        known = ReaderTrust.read(trust, rehearsal=rehearsal)
        now = as_of or SystemClock().now()
        found = reveal(held, data, known.trust, now, known.witnesses, known.quorum)
        if out_file is not None and found.body is not None:
            write_new(out_file, found.body.content, 0o644)
    code = found.exit_code
    if code == 0 and require_time and found.not_after is None:
        code = 2
    if as_json:
        typer.echo(json.dumps(_revealed_told(found, code), indent=1))
    else:
        for line in _revealed_lines(found, place, out_file):
            _say(line)
        if code == 2 and found.exit_code == 0:
            _say("UNMET time: required, and no evidence proves one")
    raise typer.Exit(code)


def _seal_in(file: Path) -> SealFile:
    """The seal in a file; FormatError says where the seal is, where this is the text or opening."""
    if not file.is_file():
        raise FormatError(f"{file} is not a file: give the FILE.seal that `beforehand seal` wrote")
    try:
        return read_seal(file)
    except FormatError as error:
        text = file.with_suffix("") if file.suffix == OPENING_SUFFIX else file
        beside = seal_path(text)
        if beside != file and beside.is_file():
            todo = f"its seal is beside it: beforehand reveal {beside}"
        elif file.suffix == SEAL_SUFFIX:
            todo = "get it again from whoever published it"
        else:
            todo = f"give a FILE.seal; to make one of this file: beforehand seal {file}"
        why = str(error).removeprefix(f"{file}: ")
        raise FormatError(f"{file} is no seal ({why}): {todo}") from None


# ---- what is sealed, and by whom it is stamped


def _to_seal(file: str, name: str) -> tuple[bytes, Path]:
    if file == "-":
        if not _NAME.fullmatch(name):
            raise FormatError(f"--name {name!r:.80}: letters, digits, dots and dashes")
        content = sys.stdin.buffer.read(MAX_SEALED_BYTES + 1)
        return content, Path(name)
    path = Path(file)
    if path.suffix == SEAL_SUFFIX:
        raise RuleError(f"{path} is a seal already; to complete it: beforehand seal --upgrade")
    if not path.is_file():
        raise FormatError(f"{path} is not a file; give one, or - for standard input")
    return read_limited(path, MAX_SEALED_BYTES), path


# ---- what is printed


def _say(text: str) -> None:
    typer.echo(_safe(text))


def _safe(text: str) -> str:
    """A text safe to print: what is not printable is shown by its escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _say_sealed(target: Path) -> None:
    held = read_seal(target)
    _say(f"sealed: {held.commitment} at {held.at} by this machine's clock")
    _say(f"  {target}: publish it, or send it to whoever should be able to check")
    _say(f"  {opening_path(target)}: keep it secret and keep it safe: without it nothing opens")


def _say_stamp(stamp: Stamp) -> None:
    words = {
        COMPLETE_STAMP: f"has answered, {counted(len(stamp.data), 'byte')}",
        PENDING_STAMP: "has promised; nothing is anchored yet",
        QUEUED: f"has not answered, and is queued: {stamp.reason}",
    }
    _say(f"  {stamp.anchor}: {words[stamp.state]}")


def _seal_told(target: Path, held: SealFile) -> dict[str, Any]:
    return {
        "seal": str(target),
        "opening": str(opening_path(target)),
        "commitment": held.commitment,
        "at": held.at,
        "evidence": [
            {key: value for key, value in stamp.content().items() if key != "data"}
            for stamp in held.stamps
        ],
    }


def _revealed_told(found: Revealed, code: int) -> dict[str, Any]:
    words = {0: "checks", 1: "findings", 2: "could not check"}
    body = found.body
    return {
        "result": words[code],
        "commitment": found.seal.commitment,
        "problem": found.problem,
        "name": None if body is None else body.run,
        "by": None if body is None else body.forecaster,
        "bytes": None if body is None else len(body.content),
        "said_at": found.seal.at,
        "existed_no_later_than": found.not_after,
        "evidence": [
            {"anchor": anchor, "result": verdict.result, "words": verdict.words}
            for anchor, verdict in found.verdicts
        ],
    }


def _revealed_lines(found: Revealed, place: Path, target: Path | None) -> Iterable[str]:
    held, body = found.seal, found.body
    if body is None:
        yield f"{found.result}: {place}: {found.problem}"
    else:
        whose = f" by {body.forecaster}" if body.forecaster else ""
        yield f"this is what was sealed: {body.run}{whose}, {counted(len(body.content), 'byte')}"
    yield f"commitment {held.commitment}"
    yield f"sealed at {held.at} by its own clock, which proves nothing"
    if not held.stamps:
        yield "no evidence: nobody else was asked"
    for anchor, verdict in found.verdicts:
        for line in verdict.text().split("\n"):
            yield f"  {anchor}: {line}"
    yield f"existed no later than: {found.not_after or 'not shown'}"
    if body is not None:
        yield "does not exclude: other texts, sealed beside this one and never shown"
        yield from _content_lines(body.content, target)


def _content_lines(content: bytes, target: Path | None) -> Iterable[str]:
    """What was sealed, as far as a screen takes it."""
    if target is not None:
        yield f"written to {target}"
        return
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        held = counted(len(content), "byte that is", "bytes that are")
        yield f"{held} no text: write it with --out FILE"
        return
    lines = text[:SHOWN_CHARS].split("\n")
    yield "-" * 20
    yield from lines[:SHOWN_LINES]
    if len(text) > SHOWN_CHARS or len(lines) > SHOWN_LINES:
        yield "… there is more: write it with --out FILE"
