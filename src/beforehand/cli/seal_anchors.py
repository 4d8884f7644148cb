"""The anchors that a lone seal asks, named and settled in the words of a league's settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.seal_witness import SealWitnesses
from beforehand.anchors.witness import Witness
from beforehand.book.cosignature import WitnessKey
from beforehand.book.seal_file import COMPLETE_STAMP, SealFile
from beforehand.cli.league_folder import SETTINGS_NAME, LeagueFolder
from beforehand.cli.outside import evm_of, git_of, needed, rekor_of
from beforehand.clock import Clock
from beforehand.errors import FormatError, RuleError
from beforehand.stages.lone_seal import Asked
from beforehand.stages.seal_log import SealLog

# Free authorities that anyone may ask (seed "Sealed Before the Open", 3.2).
PUBLIC_AUTHORITIES = ("https://freetsa.org/tsr", "http://timestamp.digicert.com")
UNASKED = ("opentimestamps", "rfc3161")  # asked where nothing is named: they need no settings
SETTLED = ("rekor", "git", "evm", "witness")
ANCHORS = (*UNASKED, *SETTLED)
_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/\S*)?", re.ASCII)


@dataclass(frozen=True)
class SealSettings:
    """A folder with `settings.toml`, and beside it what anchors keep: `keys/`, `state/`, `seals/`.

    Without a folder there is only what needs none.
    """

    folder: Path | None = None
    anchors: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path | None) -> SealSettings:
        """The settings of a folder; FormatError where it holds none."""
        if folder is None:
            return cls()
        if not (folder / SETTINGS_NAME).is_file():
            raise FormatError(f"--settings {folder} is no folder with a {SETTINGS_NAME}")
        return cls(folder, LeagueFolder.at(folder).settings.get("anchors", {}))


def seal_anchors(
    words: str,
    settings: SealSettings,
    clock: Clock,
    calendars: Iterable[str] = (),
    authorities: Iterable[str] = (),
) -> list[Asked]:
    """The anchors that are named; each authority is an anchor of its own.

    Addresses on the command line go before those of the settings, and these
    before the public ones. RuleError or FormatError says what an anchor lacks.
    """
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    unknown = [word for word in wanted if word not in ANCHORS]
    if unknown or not wanted:
        raise FormatError(f"--stamp {words!r:.80}: choose from {', '.join(ANCHORS)}, or --no-stamp")
    own = tuple(map(_url, calendars)) or tuple(settings.anchors.get("calendars", ()))
    urls = [_url(url) for url in authorities]
    urls = urls or list(settings.anchors.get("authorities", {}).values()) or [*PUBLIC_AUTHORITIES]
    made: list[Asked] = []
    for word in dict.fromkeys(wanted):
        if word == "opentimestamps":
            made.append(OpenTimestamps(calendars=own, trusted=own) if own else OpenTimestamps())
        elif word == "rfc3161":
            made += [TimeStampAuthority(f"rfc3161:{_host(url)}", url) for url in urls]
        else:
            made.append(_settled(word, settings, clock))
    if len({anchor.name for anchor in made}) != len(made):
        raise FormatError("two authorities of one host: ask them one after another with --upgrade")
    return made


def waiting_anchors(
    seal: SealFile,
    settings: SealSettings,
    clock: Clock,
    calendars: Sequence[str] = (),
    authorities: Sequence[str] = (),
) -> tuple[list[Asked], dict[str, str]]:
    """The anchors that a seal still waits for, and of each that cannot be asked what to give.

    Nobody else is asked, but for an address on the command line, which is a wish
    of its own. A seal that nobody was asked about gets the public anchors.
    """
    if not seal.stamps:
        return seal_anchors(",".join(UNASKED), settings, clock, calendars, authorities), {}
    names = [stamp.anchor for stamp in seal.stamps if stamp.state != COMPLETE_STAMP]
    words = dict.fromkeys(name.partition(":")[0] for name in names)
    lacking = {
        name: f"name the folder with its {SETTINGS_NAME} by --settings"
        for name in names
        if name in SETTLED and settings.folder is None
    }
    wished = {"opentimestamps": bool(calendars), "rfc3161": bool(authorities)}
    words |= dict.fromkeys(word for word, given in wished.items() if given)
    asked = ",".join(word for word in words if word not in lacking)
    made = seal_anchors(asked, settings, clock, calendars, authorities) if asked else []
    known = {anchor.name for anchor in made}
    for name in names:
        if name not in known and name not in lacking:
            lacking[name] = "give its address by --authority"
    wanted = [
        each for each in made if each.name in names or wished.get(each.name.partition(":")[0])
    ]
    return wanted, lacking


def _settled(word: str, settings: SealSettings, clock: Clock) -> Asked:
    """An anchor that has no address, key or state but in a folder of settings."""
    folder, anchors = settings.folder, settings.anchors
    if folder is None:
        raise RuleError(f"--stamp {word}: name a folder with a {SETTINGS_NAME} by --settings")
    if word == "rekor":
        return rekor_of(anchors, folder / "keys" / "rekor.pem")
    if word == "git":
        return git_of(anchors, folder / "state" / "git", clock)
    if word == "evm":
        return evm_of(anchors)
    held = [
        Witness(each["url"], WitnessKey.parse(each["key"])) for each in needed(anchors, "witnesses")
    ]
    need = anchors.get("witness_quorum", len(held))
    return SealWitnesses(SealLog.keep(folder / "seals"), held, need, clock)


def _url(text: str) -> str:
    if not _URL.fullmatch(text):
        raise FormatError(f"{text!r:.200} is not an http or https address")
    return text


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower().replace("[", "").replace("]", "")
