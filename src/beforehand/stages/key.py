"""The operator's Ed25519 signing key: made once, kept in a file only its owner reads."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beforehand.book.checkpoint import VerifierKey
from beforehand.book.store import sync_folder
from beforehand.errors import FormatError, RuleError


class SigningKey:
    """A private key and the name it signs under (the origin)."""

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        self._private = private
        public = private.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )
        self.verifier = VerifierKey(name, public)

    @classmethod
    def make(cls, name: str, path: Path) -> SigningKey:
        """A fresh key, kept at `path`; RuleError where something is there already."""
        private = Ed25519PrivateKey.generate()
        data = private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(part, path)  # whole or not at all, and never over another
        except FileExistsError:
            raise RuleError(f"{path} is there already: a key is never overwritten") from None
        finally:
            part.unlink(missing_ok=True)
        sync_folder(path.parent)
        return cls(name, private)

    @classmethod
    def load(cls, name: str, path: Path) -> SigningKey:
        """The key kept at `path`; FormatError where it is no Ed25519 key."""
        if not path.is_file():
            raise FormatError(f"there is no signing key at {path}: give the file that holds it")
        try:
            private = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError) as error:
            raise FormatError(f"{path} is not a private key: {error}") from None
        if not isinstance(private, Ed25519PrivateKey):
            raise FormatError(f"{path} is not an Ed25519 key")
        return cls(name, private)

    @classmethod
    def keep(cls, name: str, path: Path) -> SigningKey:
        """The key at `path`, made where there is none yet."""
        return cls.load(name, path) if path.exists() else cls.make(name, path)

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of a message."""
        return self._private.sign(message)
