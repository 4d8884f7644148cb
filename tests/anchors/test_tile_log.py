"""A log of version 2 asked by its tiles, and its key pinned at submission."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from beforehand.anchors.anchor import COMPLETE
from beforehand.anchors.bundle import parse_bundle
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.tile_log import (
    MAX_CHECKPOINT_BYTES,
    TileTree,
    ask_log,
    newest_checkpoint,
    still_held,
)
from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import pinned_log, read_trusted_root
from beforehand.book.tiles import TileBuilder
from beforehand.book.tree import (
    check_consistency,
    check_inclusion,
    consistency_path,
    inclusion_path,
    leaf_hash,
    tree_root,
)
from beforehand.errors import FormatError, IntegrityError, RemoteError
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.served import Asked, Served, Told
from tests.anchors.conftest import NOTE, OTHER_NOTE, StillClock
from tests.anchors.shipped import SIGSTORE

KEY = ec.generate_private_key(ec.SECP256R1())
LATER = "2027-01-01T00:00:00Z"


def entered(log: LocalRekor, url: str) -> bytes:
    return Rekor(url, KEY, version=2, log=log.log).submit(NOTE).data


@pytest.mark.parametrize("others", [0, 5, 254, 255, 256, 300])
def test_the_entry_is_still_held_by_a_tree_that_grew(clock: StillClock, others: int) -> None:
    log = LocalRekor(clock, version=2, others=others)
    with Served(log.serve) as served:
        data = entered(log, served.url)
        said = ask_log(data, served.url, Trust(logs=(log.log,)))
        assert f"signs a tree of {others + 1} that holds the entry" in said
        Rekor(served.url, KEY, version=2).submit(OTHER_NOTE)
        said = ask_log(data, served.url, Trust(logs=(log.log,)))
    assert f"a tree of {others + 2} that holds the entry and begins with" in said


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 700])
def test_every_node_from_tiles_is_the_trees_own(clock: StillClock, size: int) -> None:
    log = LocalRekor(clock, version=2, others=size)
    leaves = [leaf_hash(b'{"kind": "other", "n": %d}' % n) for n in range(size)]
    with Served(log.serve) as served:
        prefix = f"{served.url}/api/v2"
        point = newest_checkpoint(prefix, log.log)
        assert (point.size, point.root) == (size, tree_root(leaves))
        tree = TileTree(prefix, size)
        for index in {0, size // 3, size // 2, size - 1}:
            path = inclusion_path(index, size, tree.subtree)
            check_inclusion(index, size, leaves[index], path, point.root)
            old = index + 1
            grown = consistency_path(old, size, tree.subtree)
            check_consistency(old, size, tree_root(leaves[:old]), point.root, grown)


def test_a_tree_of_three_levels_of_tiles() -> None:
    size = 65_536 + 300
    leaves = [leaf_hash(n.to_bytes(4, "big")) for n in range(size)]
    builder = TileBuilder()
    files = dict(tile for leaf in leaves for tile in builder.add_hashed(b"", leaf))
    files.update(builder.finish())
    asked: list[str] = []

    def serve(request: Asked) -> Told:
        asked.append(request.path)
        return Told(200, files[request.path.removeprefix("/p/")])

    root, index = tree_root(leaves), 65_600
    with Served(serve) as served:
        tree = TileTree(f"{served.url}/p", size)
        path = inclusion_path(index, size, tree.subtree)
        check_inclusion(index, size, leaves[index], path, root)
        check_consistency(
            777, size, tree_root(leaves[:777]), root, consistency_path(777, size, tree.subtree)
        )
    assert "/p/tile/2/000.p/1" in asked
    assert len(asked) == len(set(asked)) < 10  # each tile once


def answered(log: LocalRekor, change: Callable[[Asked, Told], Told]) -> Served:
    return Served(lambda asked: change(asked, log.serve(asked)))


def test_the_full_tile_stands_in_for_a_partial_one_that_is_gone(clock: StillClock) -> None:
    """A log may drop partial tiles once the tile is full (C2SP tlog-tiles)."""
    log = LocalRekor(clock, version=2, others=9)
    with Served(log.serve) as served:
        data = entered(log, served.url)
        old = newest_checkpoint(f"{served.url}/api/v2", log.log)
        note = log.serve(Asked("GET", "/api/v2/checkpoint", {}, b""))
        for _ in range(256 - old.size):
            Rekor(served.url, KEY, version=2).submit(OTHER_NOTE)

    def change(asked: Asked, told: Told) -> Told:
        if asked.path.endswith("/checkpoint"):
            return note
        return Told(404) if ".p/" in asked.path else told

    with answered(log, change) as served:
        said = ask_log(data, served.url, Trust(logs=(log.log,)))
    assert f"a tree of {old.size} that holds" in said


def test_attack_a_log_that_shows_another_tree_now(clock: StillClock) -> None:
    """The same key signs a tree without the entry: caught by inclusion, or by consistency."""
    log = LocalRekor(clock, version=2)
    with Served(log.serve) as served:
        data = entered(log, served.url)
    entry = parse_bundle(data).entry
    trust = Trust(logs=(log.log,))
    fork = LocalRekor(clock, version=2, others=9)
    fork.log, fork._sign = log.log, log._sign
    with Served(fork.serve) as served, pytest.raises(IntegrityError, match="signs another tree"):
        ask_log(data, served.url, trust)
    rewritten = LocalRekor(clock, version=2, others=9)
    rewritten.log, rewritten._sign = log.log, log._sign
    rewritten._bodies[entry.index] = entry.body  # the entry stays, what was before it does not
    rewritten._bodies[0] = b"another"
    with (
        Served(rewritten.serve) as served,
        pytest.raises(IntegrityError, match="does not begin with"),
    ):
        ask_log(data, served.url, trust)


def test_a_changed_tile_is_noticed(clock: StillClock) -> None:
    log = LocalRekor(clock, version=2, others=300)

    def change(asked: Asked, told: Told) -> Told:
        if "/tile/" not in asked.path:
            return told
        return replace(told, body=told.body[:-1] + bytes([told.body[-1] ^ 1]))

    with Served(log.serve) as served:
        data = entered(log, served.url)
    with answered(log, change) as served, pytest.raises(IntegrityError):
        ask_log(data, served.url, Trust(logs=(log.log,)))


def test_a_checkpoint_of_another_key_is_not_the_logs(clock: StillClock) -> None:
    log, other = LocalRekor(clock, version=2), LocalRekor(clock, version=2)
    with Served(log.serve) as served:
        data = entered(log, served.url)
    with Served(other.serve) as served, pytest.raises(IntegrityError, match="no signature of"):
        ask_log(data, served.url, Trust(logs=(log.log,)))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda asked, told: Told(500, b"busy"), "HTTP 500"),
        (lambda asked, told: Told(200, b"x" * (MAX_CHECKPOINT_BYTES + 1)), "over the limit"),
        (
            lambda asked, told: Told(200, b"x" * 9000) if "/tile/" in asked.path else told,
            "over the limit of 8192 bytes",
        ),
        (
            lambda asked, told: Told(200, b"x" * 33) if "/tile/" in asked.path else told,
            "a tile of 33 bytes, not of",
        ),
        (lambda asked, told: Told(404) if "/tile/" in asked.path else told, "HTTP 404"),
    ],
)
def test_a_log_that_answers_otherwise_is_a_far_side_that_failed(
    clock: StillClock, change: Callable[[Asked, Told], Told], what: str
) -> None:
    log = LocalRekor(clock, version=2)
    with Served(log.serve) as served:
        data = entered(log, served.url)
    with answered(log, change) as served, pytest.raises(RemoteError, match=what):
        ask_log(data, served.url, Trust(logs=(log.log,)))


def test_an_older_tree_shows_nothing(clock: StillClock) -> None:
    log = LocalRekor(clock, version=2)
    old = log.serve(Asked("GET", "/api/v2/checkpoint", {}, b""))
    with Served(log.serve) as served:
        data = entered(log, served.url)
    with (
        answered(log, lambda asked, told: old if "checkpoint" in asked.path else told) as served,
        pytest.raises(RemoteError, match="shows a tree of 5, older than the entry's of 6"),
    ):
        ask_log(data, served.url, Trust(logs=(log.log,)))


def test_what_is_not_asked(clock: StillClock) -> None:
    first = LocalRekor(clock, version=1)
    with Served(first.serve) as served:
        data = Rekor(served.url, KEY, log=first.log).submit(NOTE).data
        with pytest.raises(FormatError, match=r"only Rekor v2 keeps tiles"):
            ask_log(data, served.url, Trust(logs=(first.log,)))
    second = LocalRekor(clock, version=2)
    with Served(second.serve) as served:
        data = entered(second, served.url)
        with pytest.raises(FormatError, match="not trusted"):
            ask_log(data, served.url, Trust())
        entry = replace(parse_bundle(data).entry, proof=None)
        with pytest.raises(FormatError, match="no inclusion proof"):
            still_held(entry, second.log, served.url)


# ---- the log's key, pinned at submission


def test_the_pinned_key_is_that_of_a_trusted_root(clock: StillClock) -> None:
    """Real logs of version 1 (ECDSA) and 2 (Ed25519): host and key give the log's own id."""
    seen = set()
    for folder in sorted(SIGSTORE.glob("**/trusted_root.json")) + sorted(
        SIGSTORE.glob("production_trusted_root.json")
    ):
        for said, log in zip(
            json.loads(folder.read_bytes())["tlogs"],
            read_trusted_root(folder.read_bytes())[0],
            strict=True,
        ):
            pinned = pinned_log(said["baseUrl"], said["publicKey"]["rawBytes"])
            assert replace(log, window=pinned.window) == pinned
            seen.add(said["publicKey"]["keyDetails"])
    assert seen >= {"PKIX_ECDSA_P256_SHA_256", "PKIX_ED25519"}


def test_a_reply_of_another_key_than_the_pinned_one_is_a_failed_proof(
    rekor: LocalRekor, rekor_url: str, clock: StillClock
) -> None:
    other = LocalRekor(clock, version=rekor.version)
    named = base64.b64encode(other.log.public).decode()
    pinned = replace(pinned_log(f"http://{rekor.host}", named))
    assert pinned.log_id == other.log.log_id
    with pytest.raises(RemoteError, match=r"no proof by the pinned key of rekor\.invalid"):
        Rekor(rekor_url, KEY, version=rekor.version, log=pinned).submit(NOTE)
    same = replace(pinned, log_id=rekor.log.log_id)  # another key under the same name and id
    with pytest.raises(RemoteError, match="no proof by the pinned key"):
        Rekor(rekor_url, KEY, version=rekor.version, log=same).submit(NOTE)
    own = pinned_log(f"http://{rekor.host}", base64.b64encode(rekor.log.public).decode())
    kept = Rekor(rekor_url, KEY, version=rekor.version, log=own).submit(NOTE)
    assert kept.state == COMPLETE


@pytest.mark.parametrize(
    ("url", "key", "what"),
    [
        ("ftp://a", "AAAA", "not a log's address"),
        ("https://a", "?", "not base64"),
        ("https://a", "AAAA", "cannot be read"),
    ],
)
def test_a_key_that_is_none_is_refused(url: str, key: str, what: str) -> None:
    with pytest.raises(FormatError, match=what):
        pinned_log(url, key)


def test_a_trusted_root_is_written_for_the_stand_in(tmp_path: Path, clock: StillClock) -> None:
    log = LocalRekor(clock, version=2)
    (logs, _) = read_trusted_root(log.trusted_root())
    assert logs == (log.log,)
