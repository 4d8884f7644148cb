"""The clocks outside a league: its declared anchors at the addresses of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from beforehand.anchors.anchor import Anchor
from beforehand.anchors.foreign import GitRepository
from beforehand.anchors.opentimestamps import PUBLIC_CALENDARS, OpenTimestamps
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.witness import Witness, Witnesses
from beforehand.book.consistency import LeafTree
from beforehand.book.cosignature import WitnessKey
from beforehand.book.store import write_synced
from beforehand.cli.league_folder import LeagueFolder
from beforehand.clock import Clock
from beforehand.errors import FormatError, RuleError
from beforehand.records.declaration import Declaration
from beforehand.stages.pen import Pen

REKOR_KEY = "keys/rekor.pem"
REKOR_URL = "https://rekor.sigstore.dev"
# Authorities that time-stamp for anyone; settings may name others.
AUTHORITIES = {
    "freetsa": "https://freetsa.org/tsr",
    "digicert": "http://timestamp.digicert.com",
    "sectigo": "http://timestamp.sectigo.com",
}


def anchors_of(
    league: LeagueFolder, declaration: Declaration, pen: Pen, clock: Clock
) -> list[Anchor]:
    """Every anchor that the declaration names; RuleError where the settings lack its address."""
    declared = declaration.content.get("anchors", {})
    settings: Mapping[str, Any] = league.settings.get("anchors", {})
    made: list[Anchor] = []
    for word in declared.get("use", ()):
        if word == "opentimestamps":
            calendars = tuple(settings.get("calendars", PUBLIC_CALENDARS))
            # Calendars of one's own are followed too; those of the world by their own list.
            trusted = calendars if "calendars" in settings else None
            made.append(OpenTimestamps(calendars=calendars, trusted=trusted))
        elif word == "rfc3161":
            made += _authorities(declared, settings)
        elif word == "rekor":
            made.append(
                Rekor(
                    settings.get("rekor", REKOR_URL),
                    _rekor_key(league.book / REKOR_KEY),
                    version=settings.get("rekor_version", 1),
                )
            )
        elif word == "git":
            if "git" not in settings:
                raise RuleError("anchors.use names git: give its address in settings.toml")
            made.append(GitRepository(settings["git"], league.path / "state" / "git", clock))
        elif word == "witness":
            made.append(_witnesses(declared, settings, pen, clock))
    return made


def _authorities(declared: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Anchor]:
    known = {**AUTHORITIES, **settings.get("authorities", {})}
    names = declared.get("authorities") or list(AUTHORITIES)
    missing = [name for name in names if name not in known]
    if missing:
        raise RuleError(
            f"no address of the time-stamping authority {missing[0]!r:.60}: put it under "
            "[anchors.authorities] of settings.toml"
        )
    return [TimeStampAuthority(name, known[name]) for name in names]


def _witnesses(
    declared: Mapping[str, Any], settings: Mapping[str, Any], pen: Pen, clock: Clock
) -> Witnesses:
    given = settings.get("witnesses", ())
    if not given:
        raise RuleError("anchors.use names witness: list [[anchors.witnesses]] in settings.toml")
    held = [Witness(each["url"], WitnessKey.parse(each["key"])) for each in given]
    need = int(declared.get("quorum", len(held)))
    return Witnesses(
        held,
        need,
        pen.key.verifier,
        lambda size: LeafTree.of_lines(pen.store.lines(), size),
        clock,
    )


def _rekor_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The key that entries of a log are signed with, made once; it signs nothing else."""
    if not path.is_file():
        fresh = ec.generate_private_key(ec.SECP256R1())
        data = fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_synced(path, data)
        path.chmod(0o600)
    key = load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise FormatError(f"{path} is no P-256 key")
    return key
