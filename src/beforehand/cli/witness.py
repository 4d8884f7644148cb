"""`beforehand witness key|follow|serve|compare`: stand witness for other leagues' books."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from beforehand.book.checkpoint import MAX_NOTE_BYTES, VerifierKey
from beforehand.book.consistency import LeafTree
from beforehand.book.cosignature import WitnessKey, note_parts
from beforehand.book.fraud import fraud_between, is_shown
from beforehand.book.reader import BookReader
from beforehand.book.store import write_synced
from beforehand.cli.screen import errors_named, out
from beforehand.clock import SystemClock
from beforehand.errors import FormatError, RuleError
from beforehand.relay.witness_home import make_witness, open_witness
from beforehand.relay.witness_logs import FollowedLogs
from beforehand.relay.witness_state import WitnessState
from beforehand.stages.status import counted

app = typer.Typer(
    help="Stand witness for other leagues: cosign one history of each book, never two.",
    no_args_is_help=True,
)

Folder = Annotated[Path, typer.Option("--dir", help="The witness's folder.")]


@app.command(epilog="Example: beforehand witness key --dir witness --name witness.example.org/w1")
def key(
    folder: Folder,
    name: Annotated[
        str | None, typer.Option(help="A new witness's name: an address without https://.")
    ] = None,
) -> None:
    """Print the witness's key for others to pin; with --name, make the witness first."""
    with errors_named():
        if name is not None:
            made = make_witness(folder, name)
        else:
            held = open_witness(folder).verifier
            made = WitnessKey(held.name, held.public)
        out.print(made.text(), markup=False, soft_wrap=True)


@app.command(epilog="Example: beforehand witness follow example.org/blind/book KEY --dir witness")
def follow(
    origin: Annotated[str, typer.Argument(help="The book's origin: line 1 of its checkpoint.")],
    log_key: Annotated[str, typer.Argument(metavar="KEY", help="The book's verifier key.")],
    folder: Folder,
) -> None:
    """Follow a book: its checkpoints are cosigned from now on, under this key for ever."""
    with errors_named():
        held = open_witness(folder).verifier
        state = WitnessState(folder, WitnessKey(held.name, held.public))
        try:
            parsed, logs = VerifierKey.parse(log_key), FollowedLogs(folder)
            logs.check(origin, parsed)
            state.pin(origin, parsed)
            fresh, size = logs.add(origin, parsed), state.size(origin)
        finally:
            state.close()
        out.print("followed" if fresh else f"was followed before: {counted(size, 'line')} cosigned")


@app.command(
    epilog="Example: beforehand witness serve --dir witness --port 8710. "
    "Put a server with TLS in front of it."
)
def serve(
    folder: Folder,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 0,
    host: Annotated[str, typer.Option(help="The address to bind.")] = "127.0.0.1",
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Tell clients apart by X-Forwarded-For.")
    ] = False,
) -> None:
    """Serve the witness protocol (c2sp.org/tlog-witness)."""
    with errors_named():
        try:
            from beforehand.relay.intake import Limits
            from beforehand.relay.witness import WitnessServer, serve_witness
        except ImportError:
            raise RuleError(
                "the witness needs the live parts; in a clone of the repository: "
                "pip install -c constraints.txt '.[live]'"
            ) from None

        async def served() -> None:
            limits = Limits(behind_proxy=behind_proxy)
            witness = WitnessServer(folder, SystemClock(), open_witness(folder), limits)
            await serve_witness(witness, host, port, _told)

        try:
            asyncio.run(served())
        except KeyboardInterrupt:
            out.print("stopped")


def _told(host: str, port: int) -> None:
    out.print(f"Witness at http://{host}:{port}/ (Ctrl-C stops it)", soft_wrap=True)


@app.command(
    epilog="Example: beforehand witness compare mine theirs --key KEY --out proof.fraud. "
    "Exit codes: 0 they agree, 1 fraud is shown, 2 it could not be shown."
)
def compare(
    one: Annotated[Path, typer.Argument(help="A signed checkpoint.")],
    other: Annotated[Path, typer.Argument(help="Another, of the same book.")],
    log_key: Annotated[str, typer.Option("--key", help="The book's verifier key.")],
    book: Annotated[
        Path | None, typer.Option(help="The folder with the book.jsonl of the larger one.")
    ] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where a conflict goes.")] = None,
) -> None:
    """Compare two checkpoints that readers kept; a conflict is written as a fraud proof."""
    with errors_named():
        notes = [_read_note(path) for path in (one, other)]
        tree = None if book is None else _tree_of(book, notes)
        proof = fraud_between(notes[0], notes[1], VerifierKey.parse(log_key), tree=tree)
        if proof is None:
            out.print("they agree")
            return
        if out_file is not None:
            write_synced(out_file, proof.data())
            out.print(f"{out_file} holds both", markup=False, soft_wrap=True)
        shown = is_shown(proof)
        out.print(
            "they contradict each other, and the key signed both"
            if shown
            else "two sizes and nothing to compare them by: give the larger one's book with --book"
        )
    raise typer.Exit(1 if shown else 2)


def _read_note(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(MAX_NOTE_BYTES + 1)


def _tree_of(folder: Path, notes: list[bytes]) -> LeafTree:
    sizes = [note_parts(note)[0].split("\n")[1] for note in notes]
    if not all(size.isdecimal() for size in sizes):
        raise FormatError("a checkpoint states its size on its second line")
    return LeafTree.of_lines(BookReader(folder).lines(), max(map(int, sizes)))
