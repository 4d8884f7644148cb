"""A time-stamping authority on this machine: its own CA, tokens by `openssl ts`.

For rehearsals and tests; its tokens prove nothing to anyone. Run it:

    python -m beforehand.testing.local_tsa FOLDER [PORT]

The chain to trust is then in FOLDER/trust/tsa/NAME.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from beforehand.anchors.trust import Authority
from beforehand.anchors.trust_files import write_authority
from beforehand.clock import SystemClock, instant_key
from beforehand.errors import RemoteError, RuleError
from beforehand.testing.served import Asked, Served, Told

POLICY = "1.3.6.1.4.1.57264.999.1"

# `certs` is left out on purpose: openssl writes several embedded certificates in
# an order that DER does not allow, and rfc3161-client refuses such a reply.
_CONFIG = """[tsa]
default_tsa = here
[here]
dir = .
serial = serial
signer_digest = sha256
default_policy = {policy}
digests = sha256, sha384, sha512
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@dataclass(frozen=True)
class Issuer:
    """A certificate authority of our own."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def make(cls, name: str, begins: datetime, ends: datetime) -> Issuer:
        """A fresh self-signed root."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name), _name(name), key.public_key(), begins, ends).add_extension(
            x509.BasicConstraints(ca=True, path_length=1), critical=True
        )
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        return cls(builder.add_extension(usage, critical=True).sign(key, hashes.SHA256()), key)

    def issue(
        self,
        name: str,
        public: ec.EllipticCurvePublicKey,
        begins: datetime,
        ends: datetime,
        *,
        purpose: x509.ObjectIdentifier | None = ExtendedKeyUsageOID.TIME_STAMPING,
        critical: bool = True,
        serial: int | None = None,
    ) -> x509.Certificate:
        """A certificate for a key; `purpose` None leaves the extended key usage out."""
        builder = _builder(
            _name(name), self.certificate.subject, public, begins, ends, serial
        ).add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        if purpose is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=critical)
        return builder.sign(self.key, hashes.SHA256())

    def crl(
        self,
        made: datetime,
        revoked: dict[int, tuple[datetime, x509.ReasonFlags | None]] | None = None,
    ) -> x509.CertificateRevocationList:
        """A revocation list made at `made`: serial number to instant and reason."""
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.certificate.subject)
            .last_update(made)
            .next_update(made + timedelta(days=30))
        )
        for serial, (moment, reason) in (revoked or {}).items():
            entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(moment)
            if reason is not None:
                entry = entry.add_extension(x509.CRLReason(reason), critical=False)
            builder = builder.add_revoked_certificate(entry.build())
        return builder.sign(self.key, hashes.SHA256())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    begins: datetime,
    ends: datetime,
    serial: int | None = None,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


class LocalTsa:
    """An authority in a folder. Its tokens bear this machine's time, as openssl reads it."""

    def __init__(
        self,
        folder: Path,
        name: str = "local",
        *,
        begins: datetime | None = None,
        ends: datetime | None = None,
    ) -> None:
        now = instant_key(SystemClock().now())
        self.name = name
        self.folder = folder
        self.begins = begins or now - timedelta(days=1)
        self.ends = ends or now + timedelta(days=365)
        root_span = (min(self.begins, now - timedelta(days=1)), now + timedelta(days=3650))
        self.issuer = Issuer.make(f"{name} root", *root_span)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.signer = self.issuer.issue(
            f"{name} signer", self.key.public_key(), self.begins, self.ends
        )
        # openssl counts its serial numbers in one file.
        self._one = threading.Lock()
        self._write()

    def _write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "tsa.cnf").write_text(_CONFIG.format(policy=POLICY), encoding="ascii")
        (self.folder / "serial").write_text("01\n", encoding="ascii")
        (self.folder / "signer.pem").write_bytes(self.signer.public_bytes(Encoding.PEM))
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path = self.folder / "key.pem"
        path.touch(mode=0o600)
        path.write_bytes(key)

    @property
    def authority(self) -> Authority:
        """What a reader pins: the root alone, for tokens embed the signer."""
        return Authority(self.name, (self.issuer.certificate,))

    def reply(self, query: bytes) -> bytes:
        """The reply to a time-stamp query, both DER."""
        with self._one:
            (self.folder / "query.tsq").write_bytes(query)
            words = ["openssl", "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query.tsq"]
            words += ["-signer", "signer.pem", "-inkey", "key.pem", "-out", "reply.tsr"]
            try:
                done = subprocess.run(
                    words, cwd=self.folder, capture_output=True, timeout=30, check=False
                )
            except FileNotFoundError:
                raise RuleError("openssl is not installed: apt-get install openssl") from None
            if done.returncode != 0:
                raise RemoteError(f"openssl ts: {done.stderr.decode('utf-8', 'replace')[-300:]}")
            return (self.folder / "reply.tsr").read_bytes()

    def serve(self, asked: Asked) -> Told:
        """RFC 3161, 3.4: a query is posted, the reply comes back."""
        if asked.method != "POST":
            return Told(405, b"post a time-stamp query", "text/plain")
        try:
            return Told(200, self.reply(asked.body), "application/timestamp-reply")
        except RemoteError as error:
            return Told(500, str(error).encode(), "text/plain")


def main(arguments: list[str]) -> None:
    """Serve an authority until interrupted."""
    folder = Path(arguments[0])
    tsa = LocalTsa(folder / "tsa")
    write_authority(folder / "trust" / "tsa" / tsa.name, tsa.authority)
    with Served(tsa.serve, int(arguments[1]) if len(arguments) > 1 else 0) as served:
        sys.stdout.write(f"time-stamping at {served.url}; trust is in {folder / 'trust'}\n")
        sys.stdout.flush()
        served.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
