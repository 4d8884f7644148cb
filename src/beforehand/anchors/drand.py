"""A round of a drand network, by the public key that the reader pinned (drand.love).

A network is described by the JSON that it serves at `/info`. Its hash names
it, and is over period, genesis time, key and group (drand, chain.Info.Hash), so
that a file of another key under a known hash is refused. The signature of a
round is checked by pairings on BLS12-381 with py_ecc, a library of the extra
`evm`: in pure Python, about half a second a round.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from beforehand.anchors.extra import extra_module
from beforehand.clock import instant_text
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import decode_json, is_digest

G1_BYTES, G2_BYTES = 48, 96
MAX_ROUND = 2**63 - 1
_HEX = re.compile(r"(?:[0-9a-f]{2})+", re.ASCII)
_DST_G1 = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
_DST_G2 = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_"


@dataclass(frozen=True)
class Scheme:
    """Where a scheme's signatures lie, and whether each is over the one before it too."""

    on_g1: bool
    chained: bool

    @property
    def signature_bytes(self) -> int:
        """The length of a compressed signature."""
        return G1_BYTES if self.on_g1 else G2_BYTES

    @property
    def key_bytes(self) -> int:
        """The length of a compressed public key: it lies in the other group."""
        return G2_BYTES if self.on_g1 else G1_BYTES


# "bls-unchained-on-g1" (fastnet, switched off) hashes by a domain of the wrong group: not read.
SCHEMES = {
    "bls-unchained-g1-rfc9380": Scheme(on_g1=True, chained=False),
    "pedersen-bls-chained": Scheme(on_g1=False, chained=True),
    "pedersen-bls-unchained": Scheme(on_g1=False, chained=False),
}


@dataclass(frozen=True)
class DrandChain:
    """A network that a reader takes for the one it says: key (compressed), seconds, hash in hex."""

    hash: str
    public: bytes
    genesis: int
    period: int
    scheme: Scheme

    @classmethod
    def parse(cls, data: bytes) -> DrandChain:
        """The network of its `/info`; FormatError where the file contradicts its own hash."""
        value = decode_json(data)
        if not isinstance(value, dict):
            raise FormatError("a drand network is one JSON object, as it serves it at /info")
        scheme = SCHEMES.get(str(value.get("schemeID")))
        if scheme is None:
            raise FormatError(f"the drand scheme {value.get('schemeID')!r:.60} is not checked here")
        public, group = _bytes(value, "public_key"), _bytes(value, "groupHash")
        genesis, period = _seconds(value, "genesis_time"), _seconds(value, "period")
        named = value.get("hash")
        if not is_digest(named):
            raise FormatError("the drand network has no hash")
        if len(public) != scheme.key_bytes:
            raise FormatError(f"the drand key has {len(public)} bytes, not {scheme.key_bytes}")
        hashed = period.to_bytes(4, "big") + genesis.to_bytes(8, "big") + public + group
        found = hashlib.sha256(hashed + _identity(value)).hexdigest()
        if found != named:
            raise FormatError(f"the drand network {named} has not this key and time ({found})")
        return cls(str(named), public, genesis, period, scheme)

    def instant(self, number: int) -> str:
        """When the network's nodes sign a round, by its own schedule; the first is number 1."""
        try:
            moment = datetime.fromtimestamp(self.genesis + self.period * (number - 1), UTC)
        except (OverflowError, ValueError, OSError):
            raise FormatError(f"round {number} is at no time") from None
        return instant_text(moment)

    def check(self, number: int, signature: bytes, previous: bytes | None) -> None:
        """IntegrityError unless the network signed this round, RuleError where py_ecc lacks.

        `previous` is the signature of the round before, where the scheme needs it
        (of the first round, the group's hash).
        """
        if not 1 <= number <= MAX_ROUND:
            raise FormatError(f"{number} is no round")
        if len(signature) != self.scheme.signature_bytes:
            raise IntegrityError(
                f"a signature of {len(signature)} bytes, not {self.scheme.signature_bytes}"
            )
        before = b""
        if self.scheme.chained:
            if previous is None:
                raise FormatError("without the signature before it, a chained round is not checked")
            before = previous
        message = hashlib.sha256(before + number.to_bytes(8, "big")).digest()
        if not _signed(self.scheme, self.public, message, signature):
            raise IntegrityError("the signature is false")


def _identity(value: Mapping[str, Any]) -> bytes:
    """The network's name, as far as its hash is over it: that of the first one is not."""
    held = value.get("metadata")
    name = held.get("beaconID") if isinstance(held, dict) else None
    if not isinstance(name, str) or name in ("", "default"):
        return b""
    try:
        return name.encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError("the drand network's name holds a lone surrogate") from None


def _bytes(value: Mapping[str, Any], key: str) -> bytes:
    text = value.get(key)
    if not isinstance(text, str) or not _HEX.fullmatch(text):
        raise FormatError(f"the drand network's {key} is not hex")
    return bytes.fromhex(text)


def _seconds(value: Mapping[str, Any], key: str) -> int:
    number = value.get(key)
    if type(number) is not int or not 1 <= number < 2**32:
        raise FormatError(f"the drand network's {key} is not a number of seconds")
    return number


@lru_cache(maxsize=4096)  # runs of one slot may share a round
def _signed(scheme: Scheme, public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether e(G, signature) = e(key, H(message)), both points in their subgroup and not zero."""
    hashing = extra_module("py_ecc.bls.hash_to_curve")
    curve = extra_module("py_ecc.optimized_bls12_381")
    in_subgroup = extra_module("py_ecc.bls.g2_primitives").subgroup_check
    try:
        key = _point(public)
        mark = _point(signature)
    except ValueError:  # not a point of the curve, or not the one spelling of it
        return False
    if any(curve.is_inf(each) or not in_subgroup(each) for each in (key, mark)):
        return False
    if scheme.on_g1:
        hashed = hashing.hash_to_G1(message, _DST_G1, hashlib.sha256)
        pairs = ((curve.G2, curve.neg(mark)), (key, hashed))
    else:
        hashed = hashing.hash_to_G2(message, _DST_G2, hashlib.sha256)
        pairs = ((mark, curve.neg(curve.G1)), (hashed, key))
    product = curve.FQ12.one()
    for on_g2, on_g1 in pairs:
        product *= curve.pairing(on_g2, on_g1, final_exponentiate=False)
    return bool(curve.final_exponentiate(product) == curve.FQ12.one())


def _point(data: bytes) -> Any:
    """A compressed point: 48 bytes of G1, 96 of G2; ValueError for none."""
    reading = extra_module("py_ecc.bls.point_compression")
    if len(data) == G1_BYTES:
        return reading.decompress_G1(int.from_bytes(data, "big"))
    halves = data[:G1_BYTES], data[G1_BYTES:]
    return reading.decompress_G2(tuple(int.from_bytes(half, "big") for half in halves))
