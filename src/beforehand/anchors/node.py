"""A Bitcoin node that gives block headers, asked by JSON-RPC (Bitcoin Core)."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Iterable

from beforehand.anchors.bitcoin import MAX_HEIGHT, Header
from beforehand.anchors.transport import exchange
from beforehand.errors import FormatError, RemoteError
from beforehand.records.codec import decode_json


def node_headers(url: str, heights: Iterable[int]) -> dict[int, bytes]:
    """The headers at these heights from a node's JSON-RPC (Bitcoin Core).

    `url` may carry the user and password. The node's word is that a header is
    on its best chain; RemoteError where it does not answer as it should.
    """
    headers: dict[int, bytes] = {}
    for height in sorted(set(heights)):
        if not 0 <= height <= MAX_HEIGHT:
            raise FormatError(f"a block height lies between 0 and {MAX_HEIGHT}")
        block = _call(url, "getblockhash", [height])
        raw = _call(url, "getblockheader", [block, False])
        try:
            headers[height] = bytes.fromhex(raw)
        except (TypeError, ValueError):
            raise RemoteError(f"{_plain(url)}: the header of block {height} is not hex") from None
        if Header.parse(headers[height]).shown_hash != block:
            raise RemoteError(f"{_plain(url)}: the header of block {height} has another hash")
    return headers


def _call(url: str, method: str, params: list[object]) -> str:
    parts = urllib.parse.urlsplit(url)
    headers = {"Content-Type": "application/json"}
    if parts.username is not None:
        pair = (
            f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        )
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    body = json.dumps({"id": 1, "method": method, "params": params}).encode()
    answer = exchange(_plain(url), body, headers=headers)
    try:
        reply = decode_json(answer.expect(200))
    except FormatError as error:
        raise RemoteError(f"{_plain(url)}: {error}") from None
    result = reply.get("result") if isinstance(reply, dict) else None
    if not isinstance(result, str):
        raise RemoteError(f"{_plain(url)}: {method} gave no text")
    return result


def _plain(url: str) -> str:
    """The address without its user and password, which stand in no message."""
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
