"""`beforehand bench proof`: one forecast out of a million lines, by size and by time to check."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.book.checkpoint import Checkpoint, sign_note
from beforehand.book.ed25519 import signature_valid
from beforehand.book.line import make_line
from beforehand.book.options import Options
from beforehand.book.proof_file import STAMPED_LIST_NAME, Enclosed, ProofFile, check_proof
from beforehand.book.stamped_list import ListedBook, StampedList
from beforehand.book.tree import inclusion_path, line_leaf, tree_root
from beforehand.cli.screen import errors_named, out, progress_bars
from beforehand.clock import SystemClock, instant_key, instant_text
from beforehand.publish.checkers import build_verify
from beforehand.stages.key import SigningKey
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served

EPILOG = (
    "Example: beforehand bench proof --lines 1000000. Goals: under 8 kB without tokens, 32 kB "
    "with them, checked in under 50 ms beyond start and imports. Exit codes: 0 measured, 1 the "
    "proof does not check."
)
ORIGIN = "bench.example/proof/book"
FIRST_AT = "2026-01-05T12:00:00Z"
GOALS = {"bytes": 8000, "bytes_with_tokens": 32000, "check_ms": 50.0}
REPEATS = 21


@dataclass(frozen=True)
class Measured:
    """Sizes in bytes, times in milliseconds; `process_ms` is the one-file checker as a program."""

    lines: int
    bytes: int
    bytes_with_tokens: int
    hashes: int
    check_ms: float
    process_ms: float
    sound: bool


def bench_proof(
    lines: Annotated[
        int, typer.Option(min=2, max=20_000_000, help="Lines of the book.")
    ] = 1_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Prove one answer line of a long book, with three tokens and a promise kept, and check it.

    Tokens come from authorities and a calendar on this machine, so they are
    as long as real ones.
    """
    with errors_named(), tempfile.TemporaryDirectory(prefix="beforehand-bench-") as made:
        result = measure(Path(made), lines)
    if as_json:
        out.print_json(json.dumps({**asdict(result), "goals": GOALS}))
    else:
        out.print(
            f"one line of {result.lines:,}: {result.bytes:,} bytes with {result.hashes} hashes, "
            f"{result.bytes_with_tokens:,} with a list, three tokens and an OpenTimestamps proof; "
            f"checked in {result.check_ms:.1f} ms (verify.py as a program: "
            f"{result.process_ms:.0f} ms, start and imports included)",
            soft_wrap=True,
        )
    if not result.sound:
        raise typer.Exit(1)


def measure(folder: Path, lines: int) -> Measured:
    """Make the book, the proof and its evidence, and time the check."""
    signer = SigningKey(ORIGIN, Ed25519PrivateKey.generate())
    raws, leaves, last_link = _lines(lines)
    place = lines // 3
    path = inclusion_path(place, lines, lambda start, end: tree_root(leaves[start:end]))
    point = Checkpoint(ORIGIN, lines, tree_root(leaves))
    note = sign_note(point.text(), signer.verifier, signer.sign).encode("utf-8")
    bare = ProofFile(ORIGIN, signer.verifier.text(), raws[place], tuple(path), note)
    listed = StampedList(
        (ListedBook("book.jsonl", lines, _digest(raws), last_link),), (point,)
    ).data()
    full = ProofFile(
        bare.origin, bare.key, bare.line, bare.path, note, evidence=_evidence(folder, listed)
    )
    data = full.data()
    options = Options(as_of=SystemClock().now(), origin=ORIGIN, key=signer.verifier.text())
    times = []
    for _ in range(REPEATS):
        signature_valid.cache_clear()  # a reader checks each signature once
        begun = time.perf_counter()
        report = check_proof(ProofFile.parse(data), options)
        times.append((time.perf_counter() - begun) * 1000)
    return Measured(
        lines,
        len(bare.data()),
        len(data),
        len(path),
        round(sorted(times)[REPEATS // 2], 2),
        round(_as_program(folder, data), 1),
        report.exit_code == 0,
    )


def _digest(raws: list[bytes]) -> str:
    hasher = hashlib.sha256()
    for raw in raws:
        hasher.update(raw + b"\n")
    return hasher.hexdigest()


def _lines(lines: int) -> tuple[list[bytes], list[bytes], str]:
    """A chained book whose every line is an answer of the usual length."""
    raws: list[bytes] = []
    leaves: list[bytes] = []
    start, prev = instant_key(FIRST_AT), ""
    with progress_bars() as progress:
        for n in range(1, lines + 1):
            content = {
                "at": instant_text(start + timedelta(seconds=n)),
                "kind": "answer",
                "run": "2026-01-05T1000",
                "forecaster": f"model-{n % 7}",
                "status": "answered",
                "cells": [{"question": f"evc1:{n:064x}", "p": "0.62"}],
            }
            line = make_line(content, n, prev)
            raws.append(line.raw)
            leaves.append(line_leaf(line.raw))
            prev = line.link
            if n % 20_000 == 0 or n == lines:
                progress("writing the book", n, lines)
    return raws, leaves, prev


def _evidence(folder: Path, listed: bytes) -> tuple[Enclosed, ...]:
    """The list, three tokens, and an OpenTimestamps proof that was completed by a block."""
    held = [Enclosed(STAMPED_LIST_NAME, listed)]
    for name in ("one", "two", "three"):
        authority = LocalTsa(folder / name, name)
        with Served(authority.serve) as served:
            token = TimeStampAuthority(name, served.url).submit(listed)
        held.append(Enclosed(f"{STAMPED_LIST_NAME}.{name}.tsr", token.data))
    calendar = LocalCalendar(SystemClock())
    with Served(calendar.serve) as served:
        calendar.url = served.url
        anchor = OpenTimestamps(calendars=(served.url,), trusted=(served.url,))
        promise = anchor.submit(listed)
        calendar.mine()
        held.append(Enclosed(f"{STAMPED_LIST_NAME}.ots", anchor.upgrade(promise).data))
    return tuple(held)


def _as_program(folder: Path, data: bytes) -> float:
    """How long the one-file checker takes as a program, in milliseconds; the least of five."""
    checker, proof = folder / "verify.py", folder / "one.proof"
    checker.write_bytes(build_verify())
    proof.write_bytes(data)
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-I", str(checker), str(proof)],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        times.append((time.perf_counter() - begun) * 1000)
    return min(times)
