"""The clocks outside a league: its declared anchors at the addresses of its settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from beforehand.anchors.anchor import Anchor
from beforehand.anchors.archive import WebArchive
from beforehand.anchors.evm import DEEP_ENOUGH, MOST_GWEI, EvmChain, read_key
from beforehand.anchors.evm_node import EvmNode
from beforehand.anchors.foreign import GitRepository
from beforehand.anchors.opentimestamps import PUBLIC_CALENDARS, OpenTimestamps
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.trust_files import pinned_log
from beforehand.anchors.witness import Witness, Witnesses
from beforehand.book.consistency import LeafTree
from beforehand.book.cosignature import WitnessKey
from beforehand.book.store import write_synced
from beforehand.cli.league_folder import SETTINGS_NAME, LeagueFolder
from beforehand.clock import Clock
from beforehand.errors import BeforehandError, FormatError, RuleError
from beforehand.publish.stamps import PUBLIC_LOG_KEY
from beforehand.records.declaration import Declaration
from beforehand.stages.anchoring import cosigned_sizes
from beforehand.stages.answer_stamps import AnswerStamps
from beforehand.stages.pen import Pen

REKOR_KEY = "keys/rekor.pem"
EVM_KEY_ENV = "BEFOREHAND_EVM_KEY"
ARCHIVE_URL = "https://web.archive.org"
REKOR_URL = "https://rekor.sigstore.dev"
# Authorities that time-stamp for anyone; settings may name others.
AUTHORITIES = {
    "freetsa": "https://freetsa.org/tsr",
    "digicert": "http://timestamp.digicert.com",
    "sectigo": "http://timestamp.sectigo.com",
}


def anchors_of(
    league: LeagueFolder, declaration: Declaration, pen: Pen, clock: Clock
) -> tuple[list[Anchor], list[str]]:
    """Every anchor that the declaration names and the settings can reach; what hinders the others.

    One that cannot be used stops none of the rest.
    """
    made: list[Anchor] = []
    problems: list[str] = []
    for word in declaration.content.get("anchors", {}).get("use", ()):
        try:
            made += _anchors_named(word, league, declaration, pen, clock)
        except (BeforehandError, OSError, ValueError) as error:
            problems.append(f"anchor {word}: {error}")
    return made, problems


def answer_stamps(league: LeagueFolder, declaration: Declaration, pen: Pen) -> AnswerStamps | None:
    """What stamps each answer by itself, where the league declares it."""
    declared: Mapping[str, Any] = declaration.content.get("anchors", {})
    names = declared.get("each_answer", ())
    if not names:
        return None
    settings: Mapping[str, Any] = league.settings.get("anchors", {})
    held = [anchor for anchor in _authorities(declared, settings) if anchor.name in names]
    return AnswerStamps(pen, league.path, held)


def _anchors_named(
    word: str, league: LeagueFolder, declaration: Declaration, pen: Pen, clock: Clock
) -> list[Anchor]:
    """The anchors behind one declared word; RuleError where the settings lack an address."""
    declared = declaration.content["anchors"]
    settings: Mapping[str, Any] = league.settings.get("anchors", {})
    match word:
        case "opentimestamps":
            calendars = tuple(settings.get("calendars", PUBLIC_CALENDARS))
            # Calendars of one's own are followed too; those of the world by their own list.
            trusted = calendars if "calendars" in settings else None
            return [OpenTimestamps(calendars=calendars, trusted=trusted)]
        case "rfc3161":
            return _authorities(declared, settings)
        case "rekor":
            return [rekor_of(settings, league.book / REKOR_KEY)]
        case "git":
            return [git_of(settings, league.path / "state" / "git", clock)]
        case "archive":
            site, endpoint = needed(settings, "archive_of"), settings.get("archive", ARCHIVE_URL)
            return [WebArchive(site=site, endpoint=endpoint)]
        case "witness":
            return [_witnesses(settings, league.path, pen, clock)]
        case "evm":
            return [evm_of(settings)]
    raise RuleError("this version knows no such anchor")


def lacking(key: str) -> str:
    """The sentence for a setting of the anchors that is not there."""
    what = "the chain's id" if key == "evm_chain" else "its address"
    return f"{SETTINGS_NAME} lacks anchors.{key}: give {what}"


def needed(settings: Mapping[str, Any], key: str) -> Any:
    """A setting of the anchors; RuleError where it is not there."""
    if key not in settings:
        raise RuleError(lacking(key))
    return settings[key]


def rekor_of(settings: Mapping[str, Any], own: Path) -> Anchor:
    """The log of the settings, its key pinned where they name it; `own` is our key's file."""
    version = settings.get("rekor_version", 1)
    # Sigstore's logs of version 2 are shards that come and go: none is the default.
    url = settings.get("rekor", REKOR_URL) if version == 1 else needed(settings, "rekor")
    named = settings.get("rekor_key")
    log = None if named is None else pinned_log(url, named)
    return Rekor(url, rekor_key(own), version=version, log=log)


def git_of(settings: Mapping[str, Any], work: Path, clock: Clock) -> Anchor:
    """The repository of the settings; `work` is a folder of ours for a clone."""
    return GitRepository(needed(settings, "git"), work, clock)


def evm_of(settings: Mapping[str, Any]) -> Anchor:
    """The chain of the settings, and the account of the environment that pays."""
    node, chain = EvmNode(needed(settings, "evm")), needed(settings, "evm_chain")
    if not os.environ.get(EVM_KEY_ENV):
        raise RuleError(f"{EVM_KEY_ENV} is not set: the key of the account that pays the fees")
    return EvmChain(
        node,
        chain,
        read_key(os.environ[EVM_KEY_ENV]),
        deep_enough=settings.get("evm_depth", DEEP_ENOUGH),
        most_fee_per_gas=settings.get("evm_most_gwei", MOST_GWEI) * 10**9,
    )


def _authorities(declared: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Anchor]:
    known = {**AUTHORITIES, **settings.get("authorities", {})}
    names = declared.get("authorities") or list(AUTHORITIES)
    missing = [name for name in names if name not in known]
    if missing:
        raise RuleError(lacking(f"authorities.{missing[0]:.60}"))
    return [TimeStampAuthority(name, known[name]) for name in names]


def _witnesses(settings: Mapping[str, Any], folder: Path, pen: Pen, clock: Clock) -> Witnesses:
    given = needed(settings, "witnesses")
    held = [Witness(each["url"], WitnessKey.parse(each["key"])) for each in given]
    return Witnesses(
        held,
        settings.get("witness_quorum", len(held)),
        pen.key.verifier,
        lambda size: LeafTree.of_lines(pen.store.lines(), size),
        clock,
        sizes=cosigned_sizes(folder, [witness.key for witness in held]),
    )


def rekor_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The key that entries of a log are signed with, made once; it signs nothing else."""
    if not path.is_file():
        fresh = ec.generate_private_key(ec.SECP256R1())
        data = fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_synced(path, data)
        path.chmod(0o600)
    key = load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise FormatError(f"{path} is no P-256 key")
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    beside = path.with_name(PUBLIC_LOG_KEY)
    if not beside.is_file() or beside.read_bytes() != public:
        write_synced(beside, public)  # published, so that a reader can find and pin it
    return key
