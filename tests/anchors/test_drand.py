"""Rounds of drand's own networks, and of one made here, against keys that a reader pinned."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors import drand
from beforehand.anchors.beacon import BeaconSource
from beforehand.anchors.beacon_check import check_beacon
from beforehand.anchors.drand import DrandChain
from beforehand.anchors.extra import extra_module
from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import MAX_NETWORKS, read_trust
from beforehand.errors import FormatError, IntegrityError, RemoteError, RuleError
from beforehand.testing.served import Asked, Served, Told
from tests.anchors.shipped import DATA

DRAND = DATA / "drand"
NETWORKS = ("default", "quicknet")
# A real pairing in pure Python; generous, for a machine that does other work.
MOST_SECONDS = 20.0


def network(name: str) -> DrandChain:
    return DrandChain.parse((DRAND / f"{name}.json").read_bytes())


def rounds(name: str) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = json.loads((DRAND / f"{name}.rounds").read_bytes())
    return held


def beacon(said: dict[str, Any]) -> dict[str, Any]:
    """A round as a run line holds it."""
    found = {"source": "drand", "number": said["round"], "value": said["signature"]}
    if "previous_signature" in said:
        found["previous_signature"] = said["previous_signature"]
    return found


EVERY = [(name, said) for name in NETWORKS for said in rounds(name)]
IDS = [f"{name}-{said['round']}" for name, said in EVERY]


@pytest.mark.parametrize(("name", "said"), EVERY, ids=IDS)
def test_a_real_round_checks_under_its_network(name: str, said: dict[str, Any]) -> None:
    begin, limit = time.monotonic(), sys.getrecursionlimit()
    trust = Trust(drand=tuple(network(each) for each in NETWORKS))
    found = check_beacon(beacon(said), trust)
    assert time.monotonic() - begin < MOST_SECONDS
    assert sys.getrecursionlimit() == limit, "a library raises it, and it is put back"
    assert found.instant == network(name).instant(said["round"])
    assert f"of {network(name).hash[:16]} was signed no earlier than {found.instant}" in found.words
    if "randomness" in said:  # the two files of others agree about what was signed
        assert hashlib.sha256(bytes.fromhex(said["signature"])).hexdigest() == said["randomness"]


def test_the_time_of_a_round_is_the_schedules() -> None:
    assert network("quicknet").instant(1) == "2023-08-23T15:09:27Z"
    assert network("quicknet").instant(2) == "2023-08-23T15:09:30Z"
    assert network("default").instant(72785) == "2020-08-16T21:49:30Z"


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("at", [0, 1, 20, 47])
def test_attack_one_wrong_byte_of_a_round(name: str, at: int) -> None:
    said = beacon(rounds(name)[1])
    value = bytearray.fromhex(said["value"])
    value[at] ^= 1
    with pytest.raises(IntegrityError, match="is of no network that you pinned"):
        check_beacon({**said, "value": value.hex()}, Trust(drand=(network(name),)))


@pytest.mark.parametrize("name", NETWORKS)
def test_attack_a_round_under_another_number(name: str) -> None:
    said = beacon(rounds(name)[1])
    with pytest.raises(IntegrityError):
        check_beacon({**said, "number": said["number"] + 1}, Trust(drand=(network(name),)))


def test_a_chained_round_is_over_the_one_before_it() -> None:
    said, trust = beacon(rounds("default")[1]), Trust(drand=(network("default"),))
    other = rounds("default")[0]["previous_signature"]
    with pytest.raises(IntegrityError, match="the signature is false"):
        check_beacon({**said, "previous_signature": other}, trust)
    del said["previous_signature"]
    found = check_beacon(said, trust)
    assert (found.instant, "present, not checked" in found.words) == (None, True)


@pytest.mark.parametrize(
    "value", ["", "zz", "00" * 48, "c0" + "00" * 47, "ff" * 48, "a0" + "00" * 47, "AB" * 48]
)
def test_what_is_no_point_is_no_signature(value: str) -> None:
    """Among them the point at infinity, and one off the curve."""
    with pytest.raises(IntegrityError):
        check_beacon(
            {"source": "drand", "number": 1, "value": value}, Trust(drand=(network("quicknet"),))
        )


def test_attack_a_second_signature_of_a_round_by_a_point_outside_the_subgroup() -> None:
    """With a point of small order added, the pairing still agrees: the group is checked too."""
    coding, curve = points(), extra_module("py_ecc.optimized_bls12_381")
    said = rounds("quicknet")[0]
    signature = coding.decompress_G1(int(said["signature"], 16))
    outside = next(points_by(coding.decompress_G1))
    small = curve.multiply(outside, curve.curve_order)
    assert not curve.is_inf(small)
    second = coding.compress_G1(curve.add(signature, small)).to_bytes(48, "big")
    assert second.hex() != said["signature"]
    with pytest.raises(IntegrityError, match="false"):
        network("quicknet").check(1, second, None)


def points() -> Any:
    """py_ecc's coding of points, under the recursion limit that the tests began with."""
    return extra_module("py_ecc.bls.point_compression")


def points_by(decompress: Any) -> Iterator[Any]:
    """Points of the curve, hardly any of them in the subgroup."""
    for at in range(1, 1000):
        try:
            yield decompress((1 << 383) | at)
        except ValueError:
            continue


def test_a_network_of_ones_own() -> None:
    """Signed here with py_ecc: each scheme that is read, and none of another."""
    coding, curve = points(), extra_module("py_ecc.optimized_bls12_381")
    hash_to_g2 = extra_module("py_ecc.bls.hash_to_curve").hash_to_G2
    secret = 123_456_789_123_456_789
    public = coding.compress_G1(curve.multiply(curve.G1, secret)).to_bytes(48, "big")
    message = hashlib.sha256((7).to_bytes(8, "big")).digest()
    first, second = coding.compress_G2(
        curve.multiply(hash_to_g2(message, drand._DST_G2, hashlib.sha256), secret)
    )
    signature = first.to_bytes(48, "big") + second.to_bytes(48, "big")
    info = made(public, "pedersen-bls-unchained", "mine")
    own = DrandChain.parse(info)
    own.check(7, signature, None)
    with pytest.raises(IntegrityError):
        own.check(8, signature, None)
    with pytest.raises(IntegrityError):
        replace(own, public=network("default").public).check(7, signature, None)


def made(public: bytes, scheme: str, name: str) -> bytes:
    """The /info of a network with this key."""
    group, genesis, period = bytes(32), 1_700_000_000, 30
    hashed = period.to_bytes(4, "big") + genesis.to_bytes(8, "big") + public + group + name.encode()
    value = {
        "public_key": public.hex(),
        "period": period,
        "genesis_time": genesis,
        "hash": hashlib.sha256(hashed).hexdigest(),
        "groupHash": group.hex(),
        "schemeID": scheme,
        "metadata": {"beaconID": name},
    }
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"hash": "00" * 32}, "has not this key and time"),
        ({"period": 31}, "has not this key and time"),
        ({"genesis_time": 1_692_803_368}, "has not this key and time"),
        ({"metadata": {"beaconID": "other"}}, "has not this key and time"),
        ({"schemeID": "bls-unchained-on-g1"}, "is not checked here"),
        ({"schemeID": None}, "is not checked here"),
        ({"public_key": "83"}, "has 1 bytes, not 96"),
        ({"public_key": "83CF"}, "is not hex"),
        ({"period": 0}, "not a number of seconds"),
        ({"period": True}, "not a number of seconds"),
        ({"hash": "x"}, "has no hash"),
        ({"metadata": {"beaconID": "\ud800"}}, "lone surrogate"),
    ],
)
def test_a_network_that_contradicts_itself_is_refused(change: dict[str, Any], what: str) -> None:
    value = json.loads((DRAND / "quicknet.json").read_bytes())
    with pytest.raises(FormatError, match=what):
        DrandChain.parse(json.dumps({**value, **change}).encode())


def test_networks_are_read_from_the_readers_folder(tmp_path: Path) -> None:
    place = tmp_path / "drand"
    place.mkdir()
    for name in NETWORKS:
        (place / f"{name}.json").write_bytes((DRAND / f"{name}.json").read_bytes())
    assert read_trust(tmp_path).drand == tuple(network(name) for name in NETWORKS)
    (place / "bad.json").write_text("[]")
    with pytest.raises(FormatError, match=r"bad\.json: a drand network is one JSON object"):
        read_trust(tmp_path)
    for number in range(MAX_NETWORKS):
        (place / f"{number}.json").write_bytes((DRAND / "quicknet.json").read_bytes())
    (place / "bad.json").unlink()
    with pytest.raises(FormatError, match="more than"):
        read_trust(tmp_path)


def test_without_the_network_or_the_library_it_is_present_and_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = beacon(rounds("quicknet")[0])
    found = check_beacon(said, Trust())
    assert (found.instant, "give its network's /info as drand/" in found.words) == (None, True)

    def lacking(name: str) -> Any:
        raise RuleError(f"{name} is not installed")

    drand._signed.cache_clear()
    monkeypatch.setattr(drand, "extra_module", lacking)
    found = check_beacon(said, Trust(drand=(network("quicknet"),)))
    assert (found.instant, "present, not checked" in found.words) == (None, True)
    assert "py_ecc" in found.words


def test_a_round_that_is_read_is_the_round_that_is_checked() -> None:
    held = rounds("default")[1]
    answers = [held, {**held, "previous_signature": 7}]

    def serve(asked: Asked) -> Told:
        assert asked.path == "/public/latest"
        return Told(200, json.dumps(answers.pop(0)).encode(), "application/json")

    with Served(serve) as served:
        source = BeaconSource("drand", served.url)
        value = source.read()
        assert check_beacon(value, Trust(drand=(network("default"),))).instant is not None
        with pytest.raises(RemoteError, match="no signature of the round before"):
            source.read()
