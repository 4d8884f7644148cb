"""`beforehand blocks`: what a reader's own nodes say of the blocks that evidence names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from beforehand.anchors.anchor import MAX_EVIDENCE_BYTES
from beforehand.anchors.evm_check import needed_block
from beforehand.anchors.evm_node import EvmNode
from beforehand.anchors.node import node_headers
from beforehand.anchors.ots_check import needed_heights
from beforehand.anchors.ots_file import MAGIC
from beforehand.anchors.trust_files import (
    EVM_BLOCKS_NAME,
    HEADERS_NAME,
    read_evm_blocks,
    read_headers,
)
from beforehand.book.store import write_synced
from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError
from beforehand.stages.lone_seal import SEAL_SUFFIX, read_seal

EPILOG = (
    "Example: beforehand blocks league/public --trust my-trust --bitcoin-node "
    "http://user:password@127.0.0.1:8332; then beforehand verify league/public --trust my-trust. "
    "Exit codes: 0 everything needed is there, 2 something could not be had."
)
MOST_FILES = 100_000
_ENDS = (".ots", ".json")


def blocks(
    evidence: Annotated[
        list[Path],
        typer.Argument(
            help="Evidence (.ots, an EVM record, a FILE.seal), or folders that hold it."
        ),
    ],
    trust: Annotated[Path, typer.Option(help="Your folder of trust, where the blocks are kept.")],
    bitcoin_node: Annotated[
        str | None,
        typer.Option(envvar="BEFOREHAND_BITCOIN_NODE", help="JSON-RPC of your Bitcoin node."),
    ] = None,
    evm_node: Annotated[
        str | None, typer.Option(envvar="BEFOREHAND_EVM_NODE", help="JSON-RPC of your EVM node.")
    ] = None,
) -> None:
    """Ask your own nodes for the blocks that evidence names, and keep them for offline checks.

    `verify` opens no connection: it takes the blocks from your folder of trust.
    A block that the folder has already is never changed.
    """
    with errors_named():
        heights, numbers = _needed(evidence)
        missing = _bitcoin(trust / HEADERS_NAME, heights, bitcoin_node)
        missing += _evm(trust / EVM_BLOCKS_NAME, numbers, evm_node)
        out.print(
            f"{len(heights)} Bitcoin and {len(numbers)} EVM blocks are needed; "
            f"{len(heights) + len(numbers) - len(missing)} stand in {trust}",
            markup=False,
            soft_wrap=True,
        )
        for each in missing:
            out.print(f"missing: {each}", markup=False, soft_wrap=True)
    raise typer.Exit(2 if missing else 0)


def _needed(evidence: Sequence[Path]) -> tuple[set[int], set[tuple[int, int]]]:
    """The Bitcoin heights, and the EVM chains and numbers, that the evidence names."""
    heights: set[int] = set()
    numbers: set[tuple[int, int]] = set()
    for path, named, data in _pieces(evidence):
        try:
            if data.startswith(MAGIC):
                heights.update(needed_heights(data))
            elif (block := needed_block(data)) is not None:
                numbers.add(block)
        except FormatError as error:
            if named:  # a folder holds much that is no evidence of a block
                raise FormatError(f"{path}: {error}") from None
    return heights, numbers


def _pieces(evidence: Sequence[Path]) -> Iterator[tuple[Path, bool, bytes]]:
    """Each piece of evidence: the file, whether it was named itself, and the bytes."""
    for path, named in _files(evidence):
        if path.suffix == SEAL_SUFFIX:
            for stamp in read_seal(path).stamps:
                yield path, False, stamp.data  # a seal holds evidence of other kinds too
        elif path.stat().st_size <= MAX_EVIDENCE_BYTES:
            yield path, named, path.read_bytes()
        elif named:
            raise FormatError(f"{path} is over {MAX_EVIDENCE_BYTES} bytes")


def _files(evidence: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether it was named itself."""
    count = 0
    for path in evidence:
        if not path.exists():
            raise FormatError(f"{path} does not exist: give evidence or a folder that holds it")
        found: Iterable[Path] = sorted(path.rglob("*")) if path.is_dir() else (path,)
        for each in found:
            if each.is_file() and (each == path or each.suffix in _ENDS):
                count += 1
                if count > MOST_FILES:
                    raise FormatError(f"more than {MOST_FILES} files: name a folder below")
                yield each, each == path


def _bitcoin(path: Path, heights: set[int], node: str | None) -> list[str]:
    """Keep the headers that are not there yet; what could not be had."""
    held = read_headers(path.read_bytes()) if path.is_file() else {}
    wanted = sorted(heights - set(held))
    if not wanted:
        return []
    if node is None:
        return [f"Bitcoin block {height}: give --bitcoin-node" for height in wanted]
    held |= node_headers(node, wanted)
    _write(path, {str(height): raw.hex() for height, raw in sorted(held.items())})
    return []


def _evm(path: Path, numbers: set[tuple[int, int]], url: str | None) -> list[str]:
    """Keep the hashes that are not there yet; what could not be had."""
    held = read_evm_blocks(path.read_bytes()) if path.is_file() else {}
    wanted = sorted(numbers - set(held))
    if not wanted:
        return []
    if url is None:
        return [f"block {number} of chain {chain}: give --evm-node" for chain, number in wanted]
    node = EvmNode(url)
    chain = node.number("eth_chainId")
    missing = [
        f"block {number} of chain {other}: the node is of chain {chain}"
        for other, number in wanted
        if other != chain
    ]
    for other, number in wanted:
        if other == chain:
            block = node.block(number)
            if block is None or block.header.number != number:
                missing.append(f"block {number} of chain {chain}: the node does not have it")
                continue
            held[chain, number] = block.header.hash
    content: dict[str, dict[str, str]] = {}
    for (each, number), block_hash in sorted(held.items()):
        content.setdefault(str(each), {})[str(number)] = "0x" + block_hash.hex()
    _write(path, content)
    return missing


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_synced(path, (json.dumps(content, indent=1) + "\n").encode("ascii"))
