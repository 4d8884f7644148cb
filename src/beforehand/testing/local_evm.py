"""An EVM chain on this machine: anvil (Foundry), a real node, as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from beforehand.anchors.evm_node import EvmNode
from beforehand.errors import RemoteError, RuleError

START_SECONDS = 20.0
CHAIN = 31337


def find_anvil() -> str:
    """The anvil to use: what BEFOREHAND_ANVIL names, else the one on PATH; "" for none."""
    given = os.environ.get("BEFOREHAND_ANVIL")
    return given if given is not None else shutil.which("anvil") or ""


class LocalEvm:
    """A chain of one node, which mines a block for each transaction, while it is entered.

    `key` is that of an account which the node has given ether on its chain;
    everyone knows it, and it is worth nothing anywhere else.
    """

    def __init__(self, folder: Path, *, chain: int = CHAIN) -> None:
        self.folder, self.chain = folder, chain
        self.key = b""
        self.url = ""

    def __enter__(self) -> Self:
        anvil = find_anvil()
        if not anvil:
            raise RuleError("no anvil: npm install @foundry-rs/anvil, and name it in PATH")
        self.folder.mkdir(parents=True, exist_ok=True)
        port, config = _free_port(), self.folder / "anvil.json"
        config.unlink(missing_ok=True)
        command = [anvil, "--host", "127.0.0.1", "--port", str(port), "--silent"]
        command += ["--chain-id", str(self.chain), "--config-out", str(config)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.url = f"http://127.0.0.1:{port}"
        self.node = EvmNode(self.url)
        try:
            self.key = self._wait(config)
        except BaseException:
            self._stop()
            raise
        return self

    def _wait(self, config: Path) -> bytes:
        """The account's key, once the node answers and has written down what it made."""
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                self.node.number("eth_chainId")
                told = json.loads(config.read_text(encoding="utf-8"))
                return bytes.fromhex(told["private_keys"][0].removeprefix("0x"))
            except (RemoteError, OSError, ValueError):
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.02)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def mine(self, blocks: int) -> None:
        """Make so many empty blocks."""
        self.node.call("anvil_mine", hex(blocks))


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
