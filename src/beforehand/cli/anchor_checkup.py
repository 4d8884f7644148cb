"""What `beforehand doctor` looks at of the anchors: their settings, and whether they are reached.

Nothing is submitted. An address that does not answer now is a warning, because
a submission that fails waits and is made again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from beforehand.anchors.foreign import plain_address
from beforehand.anchors.git_history import run_git
from beforehand.anchors.transport import exchange
from beforehand.cli.anchor_settings import AnchorSetting, anchor_settings, idle_settings
from beforehand.cli.finding import BAD, GOOD, UNCHECKED, WARNING, Finding
from beforehand.cli.league_folder import SETTINGS_NAME, LeagueFolder
from beforehand.errors import BeforehandError
from beforehand.records.declaration import Declaration

SECONDS = 10.0
AT_ONCE = 8
_GIT_ENV = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "file:https:ssh",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}


def examine_anchors(
    league: LeagueFolder, declaration: Declaration, *, offline: bool
) -> Iterator[Finding]:
    """A finding for each declared anchor, and one for settings that nothing uses."""
    found = anchor_settings(league, declaration)
    if not any(each.word != "beacon" for each in found):
        said = "none declared: when something was said rests on your word alone"
        yield Finding("anchors", UNCHECKED, said)
    for each in found:
        yield _examined(each, offline)
    idle = idle_settings(league, declaration)
    if idle:
        said = f"{SETTINGS_NAME} has {', '.join(idle)}, which the declaration does not use"
        yield Finding("anchors", WARNING, said)


def _examined(setting: AnchorSetting, offline: bool) -> Finding:
    what = setting.word if setting.word == "beacon" else f"anchor {setting.word}"
    if setting.faults:
        return Finding(what, BAD, "; ".join(setting.faults))
    if offline:
        return Finding(what, UNCHECKED, "its settings have the right form; --offline")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        word = setting.word
        why = list(pool.map(lambda address: _unreached(word, address), setting.addresses.values()))
    away = [f"{name}: {said}" for name, said in zip(setting.addresses, why, strict=True) if said]
    if away:
        return Finding(what, WARNING, f"not reached now; ticks try again: {'; '.join(away)}")
    return Finding(what, GOOD, f"reached: {', '.join(setting.addresses)}")


def _unreached(word: str, address: str) -> str | None:
    """Why an address does not answer; None where it does, whatever it says."""
    try:
        if word == "git":
            return _git_refuses(address)
        exchange(address, seconds=SECONDS)
    except BeforehandError as error:
        return str(error).removeprefix(f"{address}: ")
    return None


def _git_refuses(address: str) -> str | None:
    with tempfile.TemporaryDirectory(prefix="beforehand-") as folder:
        done = run_git(Path(folder), ["ls-remote", "--heads", "--", address], _GIT_ENV, SECONDS)
    if done.returncode == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip()
    return said.replace(address, plain_address(address))[-200:] or "git was refused"
