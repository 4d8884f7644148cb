"""The declared anchors as the settings name them: which addresses, and what is wrong with those."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from beforehand.anchors.beacon import URLS
from beforehand.anchors.evm import read_key
from beforehand.anchors.foreign import plain_address
from beforehand.anchors.opentimestamps import PUBLIC_CALENDARS
from beforehand.anchors.trust_files import pinned_log
from beforehand.book.cosignature import WitnessKey, check_witness_keys
from beforehand.cli.league_folder import SETTINGS_NAME, LeagueFolder
from beforehand.cli.outside import ARCHIVE_URL, AUTHORITIES, EVM_KEY_ENV, REKOR_URL, lacking
from beforehand.errors import FormatError, RuleError
from beforehand.records.declaration import Declaration
from beforehand.stages.status import counted

_GIT_SCHEMES = ("https", "ssh", "file")
_SSH_SHORT = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:\S+", re.ASCII)
# What each needs installed, and what brings it.
_OF_ANCHORS = "pip install -c constraints.txt '.[anchors]'"
_LIBRARIES = {
    "opentimestamps": ("opentimestamps", _OF_ANCHORS),
    "rfc3161": ("rfc3161_client", _OF_ANCHORS),
    "evm": ("eth_account", "pip install -c constraints.txt '.[evm]'"),
}
_SETTINGS_OF = {
    "opentimestamps": ("calendars",),
    "rfc3161": ("authorities",),
    "rekor": ("rekor", "rekor_version", "rekor_key"),
    "git": ("git",),
    "archive": ("archive_of", "archive"),
    "witness": ("witnesses", "witness_quorum"),
    "evm": ("evm", "evm_chain", "evm_depth", "evm_most_gwei"),
    "beacon": ("beacon",),
}


@dataclass(frozen=True)
class AnchorSetting:
    """One declared anchor: the addresses it is reached at, by name, and what is wrong with it."""

    word: str
    addresses: Mapping[str, str]
    faults: tuple[str, ...]


def anchor_settings(league: LeagueFolder, declaration: Declaration) -> list[AnchorSetting]:
    """Every anchor that the declaration uses, and the beacon, as the league's settings have it."""
    declared: Mapping[str, Any] = declaration.content.get("anchors", {})
    settings: Mapping[str, Any] = league.settings.get("anchors", {})
    words = [*declared.get("use", ()), *(["beacon"] if declared.get("beacon") else [])]
    found = []
    for word in words:
        addresses, missing = _addresses(word, declared, settings)
        faults = [
            *missing,
            *_library(word),
            *(fault for each in addresses.items() for fault in _address_faults(word, *each)),
        ]
        if word == "witness":
            faults += _witness_faults(settings)
        elif word == "rfc3161":
            faults += _quorum_faults(declared)
        elif word == "evm":
            faults += _account_faults()
        elif word == "rekor" and not faults:
            faults += _log_key_faults(addresses["the log"], settings.get("rekor_key"))
        found.append(AnchorSetting(word, addresses, tuple(faults)))
    return found


def anchor_names(found: Sequence[AnchorSetting]) -> list[str]:
    """What the anchors are called in the queue and in proof lines; the beacon is none."""
    return [
        name
        for each in found
        if each.word != "beacon"
        for name in (each.addresses if each.word == "rfc3161" else [each.word])
    ]


def idle_settings(league: LeagueFolder, declaration: Declaration) -> list[str]:
    """Settings of anchors that the declaration does not use: they do nothing."""
    declared: Mapping[str, Any] = declaration.content.get("anchors", {})
    used = {*declared.get("use", ()), *(["beacon"] if declared.get("beacon") else [])}
    keys = [key for word, keys in _SETTINGS_OF.items() if word not in used for key in keys]
    return [key for key in keys if key in league.settings.get("anchors", {})]


def _addresses(
    word: str, declared: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """The addresses by name, and what the settings lack."""
    if word == "opentimestamps":
        calendars = settings.get("calendars", PUBLIC_CALENDARS)
        return {f"calendar {_shown(url)}": url for url in calendars}, []
    if word == "rfc3161":
        known = {**AUTHORITIES, **settings.get("authorities", {})}
        names = declared.get("authorities") or list(AUTHORITIES)
        missing = [lacking(f"authorities.{name}") for name in names if name not in known]
        return {name: known[name] for name in names if name in known}, missing
    if word == "rekor":
        if "rekor" not in settings and settings.get("rekor_version") == 2:
            return {}, [lacking("rekor")]
        return {"the log": settings.get("rekor", REKOR_URL)}, []
    if word == "beacon":
        return {"the beacon": settings.get("beacon") or URLS[declared["beacon"]]}, []
    if word == "git":
        held = settings.get("git")
        return ({}, [lacking("git")]) if held is None else ({"the repository": held}, [])
    if word == "archive":
        site = settings.get("archive_of")
        endpoint = {"the archive": settings.get("archive", ARCHIVE_URL)}
        if site is None:
            return endpoint, [lacking("archive_of")]
        return {**endpoint, "the published folder": site}, []
    if word == "witness":
        given = settings.get("witnesses", ())
        missing = [] if given else [lacking("witnesses")]
        return {
            f"witness {n} {_shown(each['url'])}": each["url"] for n, each in enumerate(given, 1)
        }, missing
    if word == "evm":
        missing = [lacking(key) for key in ("evm", "evm_chain") if key not in settings]
        return ({"the node": settings["evm"]} if "evm" in settings else {}), missing
    return {}, []


def _quorum_faults(declared: Mapping[str, Any]) -> list[str]:
    """More authorities asked for than are declared: the level of a signed time is never reached."""
    quorum, names = declared.get("quorum", 1), declared.get("authorities") or list(AUTHORITIES)
    if quorum <= len(names):
        return []
    asked = counted(len(names), "authority", "authorities")
    return [f"the declared quorum is {quorum}, and it names {asked}"]


def _log_key_faults(url: str, named: str | None) -> list[str]:
    """What is wrong with the log's pinned key; none named, there is nothing to be wrong."""
    if named is None:
        return []
    try:
        pinned_log(url, named)
    except FormatError as error:
        return [f"rekor_key: {error}"]
    return []


def _account_faults() -> list[str]:
    """What is wrong with the account that pays for a chain; its key is never shown."""
    held = os.environ.get(EVM_KEY_ENV)
    if not held:
        return [f"{EVM_KEY_ENV} is not set: the key of the account that pays the fees"]
    try:
        read_key(held)
    except RuleError as error:
        return [f"{EVM_KEY_ENV}: {error}"]
    return []


def _library(word: str) -> list[str]:
    """What is not installed."""
    library, install = _LIBRARIES.get(word, (None, ""))
    if library is not None and find_spec(library) is None:
        return [f"{library} is not installed; in a clone of the repository: {install}"]
    if word == "git" and shutil.which("git") is None:
        return ["the program git is not installed"]
    return []


def _address_faults(word: str, name: str, address: str) -> list[str]:
    fault = _git_fault(address) if word == "git" else _http_fault(address)
    return [] if fault is None else [f"{name} {_shown(address)!r:.200}: {fault}"]


def _shown(address: str) -> str:
    """The address without user and password, however it is spelled."""
    try:
        return plain_address(address)
    except ValueError:
        return address.rpartition("@")[2]


def _http_fault(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return f"no address: {error}"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "no http or https address of a host"
    return None


def _git_fault(address: str) -> str | None:
    if address.startswith("-") or "::" in address:
        return "no address that git may be given here"
    scheme, separator, rest = address.partition("://")
    if separator:
        return None if scheme in _GIT_SCHEMES and rest else "give an https, ssh or file address"
    if _SSH_SHORT.fullmatch(address) or Path(address).is_absolute():
        return None
    return "give an https or ssh address, or USER@HOST:PATH, or an absolute path"


def _witness_faults(settings: Mapping[str, Any]) -> list[str]:
    given: Sequence[Mapping[str, str]] = settings.get("witnesses", ())
    keys, faults = [], []
    for number, each in enumerate(given, 1):
        try:
            keys.append(WitnessKey.parse(each["key"]))
        except FormatError as error:
            faults.append(f"witness {number}: {error}")
    try:
        check_witness_keys(keys)
    except FormatError as error:
        faults.append(str(error))
    quorum = settings.get("witness_quorum", len(given))
    if given and quorum > len(given):
        faults.append(f"witness_quorum is {quorum}, and {SETTINGS_NAME} lists {len(given)}")
    return faults
