"""An OpenTimestamps calendar on this machine, over a chain of its own.

It answers as a public calendar does (`/digest`, `/timestamp/HEX`), and as a
node does (JSON-RPC `getblockhash`, `getblockheader`). `/mine` makes a block of
what waits. For rehearsals and tests. Run it:

    python -m beforehand.testing.local_calendar [PORT]
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from beforehand.anchors.extra import extra_module
from beforehand.anchors.opentimestamps import MEDIA
from beforehand.clock import Clock, SystemClock, instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json
from beforehand.testing.local_chain import LocalChain
from beforehand.testing.served import Asked, Served, Told

DIGEST_BYTES = 64  # the longest digest a calendar takes


class LocalCalendar:
    """A calendar. `url` is set once it is served, for a promise names its calendar."""

    def __init__(self, clock: Clock, chain: LocalChain | None = None) -> None:
        self.url = ""
        self.chain = chain or LocalChain()
        self._clock = clock
        self._one = threading.Lock()
        self._waiting: dict[bytes, Any] = {}
        self._anchored: dict[bytes, Any] = {}

    def promise(self, digest: bytes) -> bytes:
        """The path from a digest to this calendar's commitment, with a promise at its end."""
        op, notary = (
            extra_module("opentimestamps.core.op"),
            extra_module("opentimestamps.core.notary"),
        )
        timestamp = extra_module("opentimestamps.core.timestamp")
        with self._one:
            stamp = timestamp.Timestamp(digest)
            count = len(self._waiting) + len(self._anchored)
            salted = stamp.ops.add(op.OpPrepend(count.to_bytes(4, "big")))
            commitment = salted.ops.add(op.OpSHA256())
            commitment.attestations.add(notary.PendingAttestation(self.url))
            self._waiting[commitment.msg] = timestamp.Timestamp(commitment.msg)
            return _bytes(stamp)

    def mine(self) -> int:
        """One block over everything that waits; its height."""
        timestamp = extra_module("opentimestamps.core.timestamp")
        op = extra_module("opentimestamps.core.op")
        notary = extra_module("opentimestamps.core.notary")
        with self._one:
            stamps = list(self._waiting.values()) or [timestamp.Timestamp(bytes(32))]
            tip = timestamp.make_merkle_tree(stamps)
            moment = int(instant_key(self._clock.now()).timestamp())
            mined = self.chain.mine(tip.msg, moment)
            node = tip.ops.add(op.OpPrepend(mined.before)).ops.add(op.OpAppend(mined.after))
            root = node.ops.add(op.OpSHA256()).ops.add(op.OpSHA256())
            root.attestations.add(notary.BitcoinBlockHeaderAttestation(mined.height))
            self._anchored |= self._waiting
            self._waiting.clear()
            return mined.height

    def path(self, commitment: bytes) -> bytes | None:
        """The path from a commitment to its block; None while it waits."""
        stamp = self._anchored.get(commitment)
        return None if stamp is None else _bytes(stamp)

    def serve(self, asked: Asked) -> Told:
        """The calendar's and the node's addresses."""
        if asked.path == "/digest" and asked.method == "POST":
            if not 0 < len(asked.body) <= DIGEST_BYTES:
                return Told(400, b"a digest is posted as bytes", "text/plain")
            return Told(200, self.promise(asked.body), MEDIA)
        if asked.path.startswith("/timestamp/"):
            return self._timestamp(asked.path.removeprefix("/timestamp/"))
        if asked.path == "/mine" and asked.method == "POST":
            return _json({"height": self.mine()})
        if asked.path == "/headers":
            return _json({str(height): raw.hex() for height, raw in self.chain.headers.items()})
        if asked.path == "/" and asked.method == "POST":
            return self._node(asked.body)
        return Told(404, b"not found", "text/plain")

    def _timestamp(self, text: str) -> Told:
        try:
            path = self.path(bytes.fromhex(text))
        except ValueError:
            return Told(400, b"not hex", "text/plain")
        if path is None:
            return Told(404, b"Pending confirmation in Bitcoin blockchain", "text/plain")
        return Told(200, path, MEDIA)

    def _node(self, body: bytes) -> Told:
        """Bitcoin Core's JSON-RPC, the two calls that a header needs."""
        try:
            call = decode_json(body)
            method, (first, *_) = call["method"], call["params"]
            if method == "getblockhash":
                result = _shown(self.chain.headers[first])
            elif method == "getblockheader":
                raws = {_shown(raw): raw.hex() for raw in self.chain.headers.values()}
                result = raws[first]
            else:
                raise KeyError(method)
        except (FormatError, KeyError, TypeError, ValueError):
            return Told(500, b'{"result": null, "error": "no such block"}', "application/json")
        return _json({"result": result, "error": None, "id": 1})


def _shown(raw: bytes) -> str:
    bitcoin = extra_module("bitcoin.core")
    return str(bitcoin.b2lx(bitcoin.CBlockHeader.deserialize(raw).GetHash()))


def _bytes(stamp: Any) -> bytes:
    context = extra_module("opentimestamps.core.serialize").BytesSerializationContext()
    stamp.serialize(context)
    data: bytes = context.getbytes()
    return data


def _json(value: object) -> Told:
    return Told(200, json.dumps(value).encode(), "application/json")


def main(arguments: list[str]) -> None:
    """Serve a calendar until interrupted."""
    calendar = LocalCalendar(SystemClock())
    with Served(calendar.serve, int(arguments[0]) if arguments else 0) as served:
        calendar.url = served.url
        sys.stdout.write(f"calendar and node at {served.url}; POST {served.url}/mine for a block\n")
        sys.stdout.flush()
        served.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
