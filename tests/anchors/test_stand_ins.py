"""The stand-ins as an operator starts them: programs that put what to trust into a folder."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from beforehand.anchors.anchor import CHECKS, Subject
from beforehand.anchors.lone import check_bytes
from beforehand.anchors.node import node_headers
from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.ots_check import needed_heights
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.transport import exchange
from beforehand.anchors.trust import BitcoinTrust, Trust
from beforehand.anchors.trust_files import read_trust
from tests.anchors.conftest import NOTE

LATER = "2028-01-01T00:00:00Z"
SUBJECT = Subject.of_bytes(NOTE)


@contextmanager
def started(module: str, *arguments: str) -> Iterator[str]:
    """The address of a stand-in that runs as its own program."""
    program = [sys.executable, "-m", f"beforehand.testing.{module}", *arguments]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert found, line
            yield found[0]
        finally:
            process.terminate()


def test_the_authority(tmp_path: Path) -> None:
    with started("local_tsa", str(tmp_path)) as url:
        data = TimeStampAuthority("local", url).submit(NOTE).data
        assert exchange(url).status == 405
        assert exchange(url, b"no query").status in (200, 500)
    assert check_bytes(data, SUBJECT, read_trust(tmp_path / "trust"), LATER).result == CHECKS


def test_the_log(tmp_path: Path) -> None:
    with started("local_rekor", str(tmp_path)) as url:
        data = Rekor(url, ec.generate_private_key(ec.SECP256R1())).submit(NOTE).data
        assert exchange(url).status == 404
    assert check_bytes(data, SUBJECT, read_trust(tmp_path / "trust"), LATER).result == CHECKS


def test_the_calendar() -> None:
    with started("local_calendar") as url:
        own = OpenTimestamps(calendars=(url,), trusted=(url,))
        pending = own.submit(NOTE)
        exchange(url + "/mine", b"{}").expect(200)
        data = own.upgrade(pending).data
        headers = node_headers(url, needed_heights(data))
        assert exchange(url + "/digest", b"").status == 400
        assert exchange(url + "/timestamp/zz").status == 400
        assert exchange(url + "/timestamp/00").status == 404
        assert exchange(url + "/other").status == 404
        assert b'"0": "01000000' in exchange(url + "/headers").expect(200)
    trust = Trust(bitcoin=BitcoinTrust(headers, least_difficulty=0))
    assert check_bytes(data, SUBJECT, trust, LATER).result == CHECKS


def test_openssl_reads_the_authoritys_tokens(tmp_path: Path) -> None:
    """The second opinion: `openssl ts -verify` takes the token under the same root."""
    with started("local_tsa", str(tmp_path)) as url:
        data = TimeStampAuthority("local", url).submit(NOTE).data
    (tmp_path / "note").write_bytes(NOTE)
    (tmp_path / "reply.tsr").write_bytes(data)
    root = tmp_path / "trust/tsa/local/roots.pem"
    words = ["openssl", "ts", "-verify", "-data", "note", "-in", "reply.tsr", "-CAfile", str(root)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "Verification: OK" in done.stdout + done.stderr) == (0, True)
