"""RFC 6962 section 2.1, word for word and recursive: slow, and plainly the definition."""

from __future__ import annotations

import hashlib


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def split(n: int) -> int:
    """The largest power of two smaller than n."""
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def mth(entries: list[bytes]) -> bytes:
    """MTH(D[n])."""
    if not entries:
        return sha(b"")
    if len(entries) == 1:
        return sha(b"\x00" + entries[0])
    k = split(len(entries))
    return sha(b"\x01" + mth(entries[:k]) + mth(entries[k:]))


def path(m: int, entries: list[bytes]) -> list[bytes]:
    """PATH(m, D[n])."""
    if len(entries) == 1:
        return []
    k = split(len(entries))
    if m < k:
        return [*path(m, entries[:k]), mth(entries[k:])]
    return [*path(m - k, entries[k:]), mth(entries[:k])]


def proof(m: int, entries: list[bytes]) -> list[bytes]:
    """PROOF(m, D[n])."""
    return subproof(m, entries, True)


def subproof(m: int, entries: list[bytes], whole: bool) -> list[bytes]:
    """SUBPROOF(m, D[n], b)."""
    n = len(entries)
    if m == n:
        return [] if whole else [mth(entries)]
    k = split(n)
    if m <= k:
        return [*subproof(m, entries[:k], whole), mth(entries[k:])]
    return [*subproof(m - k, entries[k:], False), mth(entries[:k])]
