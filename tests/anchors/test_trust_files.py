"""A reader's folder of trust."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from beforehand.anchors.lone import check_evidence
from beforehand.anchors.trust import Clone, Trust, Window
from beforehand.anchors.trust_files import (
    read_authority,
    read_clones,
    read_headers,
    read_public_key,
    read_trust,
    write_authority,
)
from beforehand.errors import FormatError
from tests.anchors.shipped import (
    AS_OF,
    HELLO_BLOCK,
    OTS,
    RFC3161,
    SIGSTORE,
    authority,
    hello_header,
)


def test_an_empty_folder_trusts_nobody(tmp_path: Path) -> None:
    assert read_trust(tmp_path) == Trust()


def test_a_whole_folder(tmp_path: Path) -> None:
    headers = {str(HELLO_BLOCK): hello_header().hex()}
    (tmp_path / "bitcoin-headers.json").write_text(json.dumps(headers), encoding="ascii")
    write_authority(tmp_path / "tsa" / "sigstage", authority("sigstage"))
    shutil.copy(SIGSTORE / "production_trusted_root.json", tmp_path / "trusted_root.json")
    trust = read_trust(tmp_path)
    assert trust.authorities[0] == authority("sigstage")
    for file, evidence in (
        (OTS / "hello-world.txt", OTS / "hello-world.txt.ots"),
        (RFC3161 / "hello.bin", RFC3161 / "sigstage/response-sha256.tsr"),
        (SIGSTORE / "a.txt", SIGSTORE / "happy-path-v0.3/bundle.sigstore.json"),
    ):
        assert check_evidence(file, evidence, trust, AS_OF).exit_code == 0


def test_the_operators_keys(tmp_path: Path) -> None:
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "signers").mkdir()
    (tmp_path / "signers" / "league.pem").write_bytes(pem)
    assert read_trust(tmp_path).signers == (read_public_key(pem),)


def test_an_authority_without_root_is_none(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(FormatError, match=r"roots\.pem"):
        read_authority(tmp_path / "x")


@pytest.mark.parametrize("text", ["[]", '{"x": "00"}', '{"1": 3}', '{"1": "zz"}', '{"1": "00"}'])
def test_headers_of_another_form(text: str) -> None:
    with pytest.raises(FormatError):
        read_headers(text.encode())


def test_a_window_holds_both_its_ends() -> None:
    window = Window("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
    assert window.holds("2026-01-01T00:00:00Z")
    assert window.holds("2026-02-01T00:00:00Z")
    assert not window.holds("2026-02-01T00:00:00.000001Z")
    assert not window.holds("2025-12-31T23:59:59Z")
    assert Window().holds("0001-01-01T00:00:00Z")


def test_clones(tmp_path: Path) -> None:
    said = {"https://host.example/x.git": {"path": "x", "known_tip": "a" * 40}}
    (tmp_path / "clones.json").write_text(json.dumps(said), encoding="ascii")
    clone = Clone(tmp_path / "x", "a" * 40)
    assert read_trust(tmp_path).clones == {"https://host.example/x.git": clone}
    for odd in ("[]", '{"x": 1}', '{"x": {}}', '{"x": {"path": "x", "known_tip": 1}}'):
        with pytest.raises(FormatError):
            read_clones(odd.encode(), tmp_path)


def test_a_rehearsal_takes_blocks_of_any_difficulty(tmp_path: Path) -> None:
    assert read_trust(tmp_path, rehearsal=True).bitcoin.least_difficulty == 0
    assert read_trust(tmp_path).bitcoin.least_difficulty > 0


def test_a_file_over_the_limit(tmp_path: Path) -> None:
    (tmp_path / "bitcoin-headers.json").write_bytes(bytes((4 << 20) + 1))
    with pytest.raises(FormatError, match="over"):
        read_trust(tmp_path)
