"""Clocks outside a made-up league: authorities, a calendar with a chain, a log. All of them real.

They run on this machine and prove nothing to anyone; what they give has the
form, signatures and proofs of the real thing, and takes this machine's time.
"""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import TracebackType

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.tokens import parse_token
from beforehand.anchors.trust import BitcoinTrust, Trust
from beforehand.clock import SystemClock, instant_key, instant_text
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served

_TIME_STAMP_CONTENT = "1.2.840.113549.1.9.16.1.4"  # id-ct-TSTInfo, RFC 3161


class OutsideWorld:
    """Everything that vouches for a corpus, in a folder, while it is entered.

    `vouch` gives the same evidence for the same list each time. `trust` is what
    a reader of the corpus trusts: one authority, the chain's blocks, one log.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clock = clock = SystemClock()
        now = instant_key(clock.now())
        spans = {"begins": now - timedelta(days=30), "ends": now - timedelta(minutes=1)}
        self.authorities = {
            "trusted": LocalTsa(folder / "trusted", "trusted"),
            "expired": LocalTsa(folder / "expired", "expired", **spans),
            "stranger": LocalTsa(folder / "stranger", "trusted"),  # under a trusted one's name
        }
        self._calendar = LocalCalendar(clock)
        self._logs = {"log": LocalRekor(clock), "own": LocalRekor(clock)}
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._held: dict[tuple[str, bytes], bytes] = {}
        self._open = ExitStack()
        self._urls: dict[str, str] = {}

    @property
    def as_of(self) -> str:
        """When to judge: a day on, for blocks of the chain are dated one after the other."""
        return instant_text(instant_key(self._clock.now()) + timedelta(days=1))

    def __enter__(self) -> OutsideWorld:
        serving = {
            **{name: tsa.serve for name, tsa in self.authorities.items()},
            **{name: log.serve for name, log in self._logs.items()},
            "calendar": self._calendar.serve,
        }
        for name, serve in serving.items():
            self._urls[name] = self._open.enter_context(Served(serve)).url
        self._calendar.url = self._urls["calendar"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def trust(self) -> Trust:
        """The reader's trust. The chain is easy, as test networks are."""
        public = self._key.public_key().public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )
        expired, trusted = (self.authorities[name].authority for name in ("expired", "trusted"))
        return Trust(
            bitcoin=BitcoinTrust(dict(self._calendar.chain.headers), least_difficulty=0),
            authorities=(trusted, expired),
            logs=(self._logs["log"].log,),
            signers=(public,),
        )

    def trusted_root(self) -> bytes:
        """The trusted log's key as Sigstore's trusted_root.json."""
        return self._logs["log"].trusted_root()

    def vouch(self, kind: str, listed: bytes) -> bytes:
        """Evidence of a kind over a list: rfc3161, rekor, opentimestamps, or a fault of one."""
        if (kind, listed) not in self._held:
            self._held[kind, listed] = self._made(kind, listed)
        return self._held[kind, listed]

    def _made(self, kind: str, listed: bytes) -> bytes:
        match kind:
            case "rfc3161":
                return self._token("trusted", listed)
            case "expired" | "stranger":
                return self._token(kind, listed)
            case "no-purpose":
                return self._token_without_purpose(listed)
            case "rekor":
                return Rekor(self._urls["log"], self._key).submit(listed).data
            case "own-log":
                return Rekor(self._urls["own"], self._key).submit(listed).data
            case "promise":
                return self._stamps.submit(listed).data
            case "opentimestamps":
                promise = self._stamps.submit(listed)
                self._calendar.mine()
                return self._stamps.upgrade(promise).data
        raise ValueError(f"no clock gives {kind!r}")

    @property
    def _stamps(self) -> OpenTimestamps:
        url = self._urls["calendar"]
        return OpenTimestamps(calendars=(url,), trusted=(url,), random=bytes)

    def _token(self, name: str, listed: bytes) -> bytes:
        return TimeStampAuthority(name, self._urls[name]).submit(listed).data

    def _token_without_purpose(self, listed: bytes) -> bytes:
        """A token of real content under a certificate that is for no time-stamping.

        `openssl ts` refuses to sign so; `openssl cms` asks for no purpose.
        """
        tsa, folder = self.authorities["trusted"], self._folder / "no-purpose"
        folder.mkdir(exist_ok=True)
        certificate = tsa.issuer.issue(
            "plain", tsa.key.public_key(), tsa.begins, tsa.ends,
            purpose=ExtendedKeyUsageOID.SERVER_AUTH,
        )  # fmt: skip
        real = parse_token(self.vouch("rfc3161", listed)).response.time_stamp_token()
        (folder / "real.der").write_bytes(real)
        (folder / "signer.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
        (folder / "key.pem").write_bytes((tsa.folder / "key.pem").read_bytes())
        take = "openssl cms -verify -noverify -inform DER -in real.der -out info.der -binary"
        sign = (
            "openssl cms -sign -binary -nodetach -in info.der -signer signer.pem -inkey key.pem "
            f"-md sha256 -econtent_type {_TIME_STAMP_CONTENT} -outform DER -out token.der"
        )
        for words in (take, sign):
            subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)
        status = _der(0x30, _der(0x02, b"\x00"))
        return _der(0x30, status + (folder / "token.der").read_bytes())


def _der(tag: int, content: bytes) -> bytes:
    """One DER value, for putting a reply together that no authority would."""
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content
