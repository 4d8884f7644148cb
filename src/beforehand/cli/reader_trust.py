"""Whom a reader trusts, from a folder of the reader's own.

TRUST/bitcoin-headers.json, tsa/NAME/…, trusted_root.json, signers/, clones.json
TRUST/witnesses.txt    a verifier key a line; `quorum N` may stand first
TRUST/seen/            lists and checkpoints that the reader got elsewhere
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import read_trust
from beforehand.book.cosignature import WitnessKey, check_witness_keys
from beforehand.errors import FormatError

SEEN_NAME = "seen"
WITNESSES_NAME = "witnesses.txt"
MAX_WITNESSES_BYTES = 1 << 16


@dataclass(frozen=True)
class ReaderTrust:
    """Whom a reader trusts; `given` is whether a folder of trust was named at all.

    `seen` is a folder of what the reader kept: it is compared, and never trusted.
    """

    trust: Trust = field(default_factory=Trust)
    witnesses: tuple[WitnessKey, ...] = ()
    quorum: int = 0
    given: bool = False
    seen: Path | None = None

    @classmethod
    def read(cls, folder: Path | None, *, rehearsal: bool = False) -> ReaderTrust:
        """The trust in a folder; none where no folder is given."""
        if folder is None:
            return cls()
        if not folder.is_dir():
            raise FormatError(f"--trust {folder} is not a folder")
        keys, quorum = _witnesses(folder / WITNESSES_NAME)
        seen = folder / SEEN_NAME
        return cls(
            read_trust(folder, rehearsal=rehearsal),
            keys,
            quorum,
            given=True,
            seen=seen if seen.is_dir() else None,
        )


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
    check_witness_keys(keys)
    if quorum is not None and quorum > len(keys):
        raise FormatError(f"{path}: a quorum of {quorum} among {len(keys)} witnesses")
    return keys, quorum or len(keys)
