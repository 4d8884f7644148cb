"""Ed25519 verification: RFC 8032, and against `cryptography` where both must agree."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from beforehand.book.ed25519 import signature_valid

from . import plain_curve as curve

VECTORS = Path(__file__).parents[1] / "vectors"
RFC = json.loads((VECTORS / "ed25519_rfc8032.json").read_text(encoding="utf-8"))

# The eight points of small order, then their encodings that are not canonical
# (C2SP/CCTV, ed25519/README.md).
SMALL = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]
STRANGE = [
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
]

SEED = bytes(range(32))
PRIVATE = Ed25519PrivateKey.from_private_bytes(SEED)
PUBLIC = PRIVATE.public_key().public_bytes_raw()


def theirs(public: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


@pytest.mark.parametrize("case", RFC, ids=[case["name"] for case in RFC])
def test_rfc_8032_vector(case: dict[str, str]) -> None:
    public, message, signature = (
        bytes.fromhex(case[k]) for k in ("public", "message", "signature")
    )
    assert signature_valid(public, message, signature)
    assert not signature_valid(public, message + b"\x00", signature)


def test_hundreds_of_random_keys_verify_and_every_fault_is_refused() -> None:
    rng = random.Random(8032)
    for _ in range(200):
        private = Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        public, message = private.public_key().public_bytes_raw(), rng.randbytes(rng.randrange(200))
        signature = private.sign(message)
        assert signature_valid(public, message, signature)
        fault = bytearray(signature)
        fault[rng.randrange(64)] ^= 1 << rng.randrange(8)
        assert not signature_valid(public, message, bytes(fault))
        assert not signature_valid(public, message + b"!", signature)
        assert not signature_valid(PUBLIC, message, signature)


def test_every_bit_flip_of_a_signature_and_of_its_key_is_refused() -> None:
    message = b"example.org/vector/book\n7\n"
    signature = PRIVATE.sign(message)
    for bit in range(0, 512, 3):
        changed = bytearray(signature)
        changed[bit // 8] ^= 1 << bit % 8
        assert not signature_valid(PUBLIC, message, bytes(changed))
    for bit in range(0, 256, 3):
        key = bytearray(PUBLIC)
        key[bit // 8] ^= 1 << bit % 8
        assert not signature_valid(bytes(key), message, signature)


def test_the_plain_curve_of_these_tests_signs_as_cryptography_does() -> None:
    a = curve.secret_scalar(SEED)
    assert curve.encode(curve.times(a, curve.BASE)) == PUBLIC
    assert curve.times(8, curve.TORSION) == curve.NOTHING != curve.times(4, curve.TORSION)
    assert {curve.encode(curve.times(i, curve.TORSION)).hex() for i in range(8)} == set(SMALL)
    r = curve.encode(curve.times(7, curve.BASE))
    assert signature_valid(PUBLIC, b"m", curve.signature(7, r, a, PUBLIC, b"m"))


def test_a_malleated_signature_is_refused() -> None:
    # RFC 8032, 5.1.7: S must be below L, or one signature has several spellings
    signature = PRIVATE.sign(b"m")
    s = int.from_bytes(signature[32:], "little")
    for factor in range(1, 16):
        other = s + factor * curve.L
        if other < 1 << 256:
            assert not signature_valid(PUBLIC, b"m", signature[:32] + other.to_bytes(32, "little"))
    assert not signature_valid(PUBLIC, b"m", signature[:32] + curve.L.to_bytes(32, "little"))


@pytest.mark.parametrize("key", SMALL + STRANGE)
def test_a_key_of_small_order_signs_everything_and_is_refused(key: str) -> None:
    public = bytes.fromhex(key)
    r = curve.encode(curve.times(5, curve.BASE))
    for trial in range(64):
        # with R = [5]B and S = 5 the equation holds whenever [k]A is nothing
        message = b"%d" % trial
        signature = r + (5).to_bytes(32, "little")
        assert not signature_valid(public, message, signature)
        identity = bytes.fromhex(SMALL[2])
        assert not signature_valid(public, message, identity + bytes(32))


@pytest.mark.parametrize("strange", STRANGE)
def test_an_r_that_is_not_canonical_is_refused(strange: str) -> None:
    # S fits the point that a lax decoder reads, with k over the strange bytes
    r_bytes, a = bytes.fromhex(strange), curve.secret_scalar(SEED)
    for trial in range(8):
        message = b"%d" % trial
        assert not signature_valid(PUBLIC, message, curve.signature(0, r_bytes, a, PUBLIC, message))


@pytest.mark.parametrize("y", [2**255 - 19 + i for i in range(19)])
@pytest.mark.parametrize("sign", [0, 1])
def test_a_coordinate_not_below_p_is_refused(y: int, sign: int) -> None:
    data = (y | sign << 255).to_bytes(32, "little")
    assert not signature_valid(data, b"m", PRIVATE.sign(b"m"))
    assert not signature_valid(PUBLIC, b"m", data + PRIVATE.sign(b"m")[32:])


def test_mixed_order_keys_are_judged_as_by_cryptography() -> None:
    # A = [a]B + T: with and without the cofactor give two answers; ours is OpenSSL's
    a = curve.secret_scalar(SEED)
    verdicts = set()
    for order in range(1, 8):
        mixed = curve.add(curve.times(a, curve.BASE), curve.times(order, curve.TORSION))
        public = curve.encode(mixed)
        for trial in range(12):
            message = b"%d" % trial
            r = curve.encode(curve.times(9, curve.BASE))
            signature = curve.signature(9, r, a, public, message)
            verdict = signature_valid(public, message, signature)
            assert verdict == theirs(public, message, signature)
            verdicts.add(verdict)
    assert verdicts == {True, False}


@pytest.mark.parametrize("length", [0, 1, 31, 33, 64])
def test_keys_of_another_length_are_refused(length: int) -> None:
    assert not signature_valid((PUBLIC * 2)[:length], b"m", PRIVATE.sign(b"m"))


@pytest.mark.parametrize("length", [0, 32, 63, 65, 128])
def test_signatures_of_another_length_are_refused(length: int) -> None:
    assert not signature_valid(PUBLIC, b"m", (PRIVATE.sign(b"m") * 2)[:length])


def test_a_point_not_on_the_curve_is_refused() -> None:
    refused = 0
    for y in range(2, 60):
        data = y.to_bytes(32, "little")
        try:
            curve.decode(data)
        except AssertionError:
            refused += 1
            assert not signature_valid(data, b"m", PRIVATE.sign(b"m"))
            assert not signature_valid(PUBLIC, b"m", data + PRIVATE.sign(b"m")[32:])
    assert refused > 20
