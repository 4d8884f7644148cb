"""Hostile bytes: a parser gives a value or FormatError, a check gives a verdict, nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beforehand.anchors.anchor import CHECKS, UNCHECKED, Subject
from beforehand.anchors.bitcoin import Header
from beforehand.anchors.bundle import parse_bundle
from beforehand.anchors.capture import parse_capture
from beforehand.anchors.certificates import load_certificates, load_crl
from beforehand.anchors.drand import DrandChain
from beforehand.anchors.git_history import GitRecord
from beforehand.anchors.hashed_entry import parse_hashed_entry
from beforehand.anchors.lone import check_bytes
from beforehand.anchors.ots_file import (
    MAGIC,
    MAX_PROOF_BYTES,
    attestations,
    parse_path,
    parse_proof,
    proof_bytes,
)
from beforehand.anchors.queue import parse_items
from beforehand.anchors.seal_witness import SealRecord, check_cosigned_seal
from beforehand.anchors.tokens import from_library, parse_token
from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import read_headers, read_public_key, read_trusted_root
from beforehand.errors import FormatError
from tests.anchors.shipped import (
    AS_OF,
    DATA,
    OTS,
    RFC3161,
    SIGSTORE,
    authority,
    hello_trust,
    sigstore_trust,
)

PARSERS: dict[str, Callable[[bytes], object]] = {
    "ots": lambda data: attestations(parse_proof(data)),
    "path": lambda data: parse_path(data, bytes(32)),
    "token": parse_token,
    "bundle": lambda data: parse_hashed_entry(parse_bundle(data).entry),
    "header": Header.parse,
    "headers": read_headers,
    "trusted root": read_trusted_root,
    "public key": read_public_key,
    "certificates": load_certificates,
    "crl": load_crl,
    "git": GitRecord.parse,
    "capture": parse_capture,
    "queue": parse_items,
    "drand": DrandChain.parse,
    "cosigned seal": SealRecord.parse,
}

SEEDS = [
    *(path.read_bytes() for path in sorted((DATA / "drand").glob("*.json"))),
    b'{"cosigned": {}, "index": 0, "kind": "cosigned-seal", "path": ["AAAA"]}',
    *(path.read_bytes() for path in sorted(OTS.glob("*.ots"))),
    *(path.read_bytes() for path in sorted(RFC3161.rglob("*.tsr"))),
    (SIGSTORE / "managed-key-happy-path/bundle.sigstore.json").read_bytes(),
    (SIGSTORE / "rekor2-happy-path/bundle.sigstore.json").read_bytes(),
    (SIGSTORE / "rekor2-happy-path/trusted_root.json").read_bytes(),
    (RFC3161 / "sigstage/ts_chain.pem").read_bytes(),
]

STAGING = sigstore_trust(SIGSTORE / "rekor2-happy-path/trusted_root.json")
TRUST = Trust(
    bitcoin=hello_trust(),
    authorities=(authority("sigstage"), *STAGING.authorities),
    logs=(*sigstore_trust().logs, *STAGING.logs),
)
SUBJECT = Subject.of_bytes(b"a file that nobody stamped")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Real evidence with some bytes changed, cut off, or put in twice."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1))
        deed = draw(st.sampled_from(["set", "cut", "double"]))
        if deed == "set":
            data[at] = draw(st.integers(0, 255))
        elif deed == "cut":
            data = data[: max(at, 1)]
        else:
            data = data[:at] + data[at // 2 : at] + data[at:]
    return bytes(data)


def parse_all(data: bytes) -> None:
    for parse in PARSERS.values():
        try:
            parse(data)
        except FormatError:
            continue


@settings(max_examples=400)
@given(damaged())
def test_damaged_evidence_is_read_or_refused(data: bytes) -> None:
    parse_all(data)
    assert check_bytes(data, SUBJECT, TRUST, AS_OF).result != CHECKS


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    parse_all(data)
    parse_all(MAGIC + b"\x01\x08" + bytes(32) + data)
    assert check_bytes(data, SUBJECT, TRUST, AS_OF).result != CHECKS


KEYS = [
    *("mediaType", "kind", "verificationMaterial", "tlogEntries", "logId", "keyId"),
    *("inclusionProof", "checkpoint", "envelope", "hashes", "stamp", "capture"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    parse_all(json.dumps(value).encode())


def replaced(value: object, path: tuple[object, ...], fresh: object) -> object:
    copy = json.loads(json.dumps(value))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = fresh
    return copy


def paths(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    below: list[tuple[object, ...]] = [path] if path else []
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)  # type: ignore[assignment]
    for key, inner in items:
        below += paths(inner, (*path, key))
    return below


ODD = [
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "é",
    "\ud800",
    [],
    {},
    "AAAA",
    "-1",
    "9" * 30,
    ["x"],
    {"a": 1},
]


@pytest.mark.parametrize("name", ["managed-key-happy-path", "rekor2-happy-path", "happy-path-v0.1"])
def test_every_part_of_a_bundle_replaced_by_something_odd(name: str) -> None:
    bundle = json.loads((SIGSTORE / name / "bundle.sigstore.json").read_text("utf-8"))
    subject = Subject.of_file(SIGSTORE / "a.txt")
    for path in paths(bundle):
        for odd in ODD:
            data = json.dumps(replaced(bundle, path, odd)).encode()
            try:
                parse_bundle(data)
            except FormatError:
                assert check_bytes(data, subject, TRUST, AS_OF).exit_code == 2
            else:
                check_bytes(data, subject, TRUST, AS_OF)


def test_every_part_of_a_trusted_root_replaced_by_something_odd() -> None:
    root = json.loads((SIGSTORE / "rekor2-happy-path/trusted_root.json").read_text("utf-8"))
    for path in paths(root):
        for odd in ODD:
            try:
                read_trusted_root(json.dumps(replaced(root, path, odd)).encode())
            except FormatError:
                continue


@pytest.mark.parametrize(
    "body",
    [
        b"\xf3" * 60_000,  # hexlify, each twice as long
        b"\x08" * 60_000,  # deeper than is followed
        b"\xff\x08" * 30_000 + b"\x08",
        (b"\xff\x00" + bytes(8) + b"\x00") * 5000,  # more leaves than are read
        b"\xff\xf0\x01a\x00" + bytes(8) + b"\x00",
        b"\xf0" + b"\xff" * 9 + b"\x01",  # an argument of 2^63 bytes
        b"\x00\x05\x88\x96\x0d\x73\xd7\x19\x01" + b"\x0a" + b"\xff" * 9 + b"\x7f",  # a huge height
    ],
)
def test_proofs_that_want_too_much(body: bytes) -> None:
    data = MAGIC + b"\x01\x08" + bytes(32) + body
    try:
        proof = parse_proof(data)
    except FormatError:
        return
    assert len(attestations(proof)) <= 256
    assert len(proof_bytes(proof)) <= MAX_PROOF_BYTES


def test_nested_json_is_refused() -> None:
    parse_all(b'{"a":' * 5000 + b"1" + b"}" * 5000)
    parse_all(b"[" * 100_000)


def test_tokens_over_the_limit() -> None:
    with pytest.raises(FormatError, match="over"):
        parse_token(b"0" * (1 << 17))


def test_every_byte_of_a_token_changed_is_noticed() -> None:
    """Status, digest, time, certificate, signature: no change passes as the same token."""
    data = (RFC3161 / "sigstage/response-sha256.tsr").read_bytes()
    subject = Subject.of_file(RFC3161 / "hello.bin")
    trust = Trust(authorities=(authority("sigstage"),))
    times = set()
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :]
        verdict = check_bytes(changed, subject, trust, AS_OF)
        if verdict.result == CHECKS:
            times.add(verdict.not_after)
    # What is not signed (the embedded certificate's own signature is) may change; the time not.
    assert times <= {"2025-05-09T11:58:56Z"}


def test_a_panic_of_the_library_is_a_refusal() -> None:
    """Its Rust part may panic, and a panic is no Exception; an interrupt stays one."""

    class PanicException(BaseException):
        pass

    def panic() -> None:
        raise PanicException("called `Option::unwrap()` on a `None` value")

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(FormatError, match="unwrap"):
        from_library(panic)
    with pytest.raises(KeyboardInterrupt):
        from_library(interrupt)


@pytest.mark.parametrize(
    "cosigned",
    ['"\\ud800"', '{"kind": "cosigned", "note": "\\ud800", "lines": []}', '{"\\udc00": 1}'],
)
def test_attack_a_cosigned_seal_of_no_text(cosigned: str) -> None:
    """Refused in words, and no traceback that a script could take for a verdict."""
    head = '{"kind": "cosigned-seal", "index": 0, "path": [], "cosigned": '
    data = f"{head}{cosigned}}}".encode()
    with pytest.raises(FormatError):
        SealRecord.parse(data)
    assert check_cosigned_seal(data, SUBJECT, [], 1, AS_OF).result == UNCHECKED
