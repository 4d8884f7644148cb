"""Ed25519 verification (RFC 8032, 5.1.7), so that the checker needs nothing installed.

Verification only, strict: encodings must be canonical, S below the group
order, the key not of small order. The equation checked is [S]B = R + [k]A
without a cofactor, as most libraries do. Nothing here touches a secret, so
nothing here needs constant time.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_SQRT_M1 = pow(2, (_P - 1) // 4, _P)

_Point = tuple[int, int, int, int]
_ZERO: _Point = (0, 1, 1, 0)


def _add(p: _Point, q: _Point) -> _Point:
    """Sum in extended coordinates (RFC 8032, 5.1.4)."""
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _double(p: _Point) -> _Point:
    a = p[0] * p[0] % _P
    b = p[1] * p[1] % _P
    c = 2 * p[2] * p[2] % _P
    h = a + b
    e = h - (p[0] + p[1]) ** 2 % _P
    g = a - b
    f = c + g
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _same(p: _Point, q: _Point) -> bool:
    return (p[0] * q[2] - q[0] * p[2]) % _P == 0 and (p[1] * q[2] - q[1] * p[2]) % _P == 0


def _decode(data: bytes) -> _Point | None:
    """The point of a canonical encoding (RFC 8032, 5.1.3), else None."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= _P:
        return None
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if (v * x * x - u) % _P:
        x = x * _SQRT_M1 % _P
        if (v * x * x - u) % _P:
            return None
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = _P - x
    return (x, y, 1, x * y % _P)


_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE = _decode(_BASE_Y.to_bytes(32, "little"))


def _combine(s: int, k: int, a: _Point) -> _Point:
    """[s]B + [k]A, both scalars in one pass (Shamir's trick)."""
    if _BASE is None:  # pragma: no cover - a constant
        raise ArithmeticError("the base point does not decode")
    both = _add(_BASE, a)
    sum_ = _ZERO
    for bit in range(max(s.bit_length(), k.bit_length()) - 1, -1, -1):
        sum_ = _double(sum_)
        chosen = (s >> bit & 1, k >> bit & 1)
        if chosen == (1, 1):
            sum_ = _add(sum_, both)
        elif chosen[0]:
            sum_ = _add(sum_, _BASE)
        elif chosen[1]:
            sum_ = _add(sum_, a)
    return sum_


@lru_cache(maxsize=1024)
def signature_valid(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` (64 bytes) by `public` (32 bytes) covers `message`.

    >>> signature_valid(bytes(32), b"", bytes(64))
    False
    """
    if len(public) != 32 or len(signature) != 64:
        return False
    key, r = _decode(public), _decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= _L:
        return False
    if _same(_double(_double(_double(key))), _ZERO):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % _L
    minus_key = (_P - key[0], key[1], key[2], _P - key[3])
    return _same(_combine(s, k, minus_key), r)
