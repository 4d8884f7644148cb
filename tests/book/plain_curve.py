"""Edwards25519 in affine coordinates, from RFC 8032 5.1: enough to make strange signatures."""

from __future__ import annotations

import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

Point = tuple[int, int]
NOTHING: Point = (0, 1)


def add(a: Point, b: Point) -> Point:
    (x1, y1), (x2, y2) = a, b
    t = D * x1 * x2 * y1 * y2 % P
    x3 = (x1 * y2 + x2 * y1) * pow(1 + t, -1, P) % P
    y3 = (y1 * y2 + x1 * x2) * pow(1 - t, -1, P) % P
    return x3, y3


def times(k: int, point: Point) -> Point:
    total = NOTHING
    while k:
        if k & 1:
            total = add(total, point)
        point = add(point, point)
        k >>= 1
    return total


def encode(point: Point) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def decode(data: bytes) -> Point:
    """The point of a canonical encoding that is known to be one."""
    y = int.from_bytes(data, "little") & (1 << 255) - 1
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert (x * x - x2) % P == 0
    return (P - x if x & 1 != data[31] >> 7 else x, y)


BASE = decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))

# A generator of the eight points of small order (C2SP/CCTV, ed25519/README.md).
TORSION = decode(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"))


def secret_scalar(seed: bytes) -> int:
    h = hashlib.sha512(seed).digest()
    return (int.from_bytes(h[:32], "little") & (1 << 254) - 8) | 1 << 254


def challenge(r: bytes, public: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % L


def signature(r: int, r_bytes: bytes, a: int, a_bytes: bytes, message: bytes) -> bytes:
    """R and S = r + k·a mod L, with k over the very encodings given."""
    s = (r + challenge(r_bytes, a_bytes, message) * a) % L
    return r_bytes + s.to_bytes(32, "little")
