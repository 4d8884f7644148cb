"""Bodies: what is large, embargoed or private, in files named by their hash.

An *open* body is the plain bytes, so that one text has one hash. A *sealed*
body begins with a header naming format, origin, run, forecaster, role and a
random 32-byte salt: its hash can be published long before its text, because
nobody can guess a text behind a random salt.
"""

from __future__ import annotations

from dataclasses import dataclass

from beforehand.errors import FormatError
from beforehand.records.codec import decode_json, digest, seal_json

SEALED_FORMAT = "beforehand-body/1"
SALT_BYTES = 32
MAX_BODY_BYTES = 64 << 20
MAX_HEADER_BYTES = 4096

_HEADER_KEYS = {"origin", "run", "forecaster", "role", "salt"}


@dataclass(frozen=True)
class SealedBody:
    """A body with its header. `salt` is 64 hex characters."""

    origin: str
    run: str
    forecaster: str
    role: str
    salt: str
    content: bytes

    def data(self) -> bytes:
        """The file's bytes: the format's name, the header as J, then the content.

        FormatError for a salt or a header that `open_sealed` would refuse.
        """
        if len(self.salt) != 2 * SALT_BYTES or any(c not in "0123456789abcdef" for c in self.salt):
            raise FormatError(f"a salt has {SALT_BYTES} bytes, in lower-case hex")
        header = seal_json(
            {
                "origin": self.origin,
                "run": self.run,
                "forecaster": self.forecaster,
                "role": self.role,
                "salt": self.salt,
            }
        )
        if len(header) > MAX_HEADER_BYTES:
            raise FormatError(
                f"a header of {len(header)} bytes is over the limit of {MAX_HEADER_BYTES}: "
                "shorten origin, run, forecaster or role"
            )
        return SEALED_FORMAT.encode("ascii") + b"\n" + header + b"\n" + self.content


def is_sealed(data: bytes) -> bool:
    """Whether a body begins as a sealed one does."""
    return data.startswith(SEALED_FORMAT.encode("ascii") + b"\n")


def open_sealed(data: bytes) -> SealedBody:
    """The sealed body of a file; FormatError where its header is not exactly as written."""
    parts = data.split(b"\n", 2)
    if not is_sealed(data) or len(parts) != 3:
        raise FormatError(f"the body does not begin with {SEALED_FORMAT} and a header")
    if len(parts[1]) > MAX_HEADER_BYTES:
        raise FormatError("the header of the sealed body is too long")
    header = decode_json(parts[1])
    if not isinstance(header, dict) or set(header) != _HEADER_KEYS:
        raise FormatError(f"the header of a sealed body has the keys {sorted(_HEADER_KEYS)}")
    if not all(isinstance(value, str) for value in header.values()):
        raise FormatError("every value in the header of a sealed body is a text")
    body = SealedBody(**header, content=parts[2])
    if body.data() != data:
        raise FormatError("the header of the sealed body is not in its canonical form")
    return body


def body_path(sha256: str) -> str:
    """Where a body lies below its league's folder.

    >>> body_path("ab" + "0" * 62)[:12]
    'bodies/ab/ab'
    """
    return f"bodies/{sha256[:2]}/{sha256}"


def check_body(data: bytes, sha256: str) -> None:
    """FormatError unless the bytes have this hash and a size within the limit."""
    if len(data) > MAX_BODY_BYTES:
        raise FormatError(f"a body of {len(data)} bytes is over the limit of {MAX_BODY_BYTES}")
    if digest(data) != sha256:
        raise FormatError(f"the bytes of the body hash to {digest(data)}, not {sha256}")
