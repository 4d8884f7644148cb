"""The libraries of the extras `anchors` and `evm`, asked for only where one is needed.

opentimestamps is LGPL: it is used as the library it is, and is no dependency
of the package itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from beforehand.errors import RuleError

_EVM = ("eth_account", "eth_hash", "rlp", "trie")


def extra_module(name: str) -> Any:
    """The module of this name; RuleError says what to install where it is not there."""
    try:
        return import_module(name)
    except ImportError as error:
        raise RuleError(
            f"{name.partition('.')[0]} is not installed ({error}): "
            f"pip install 'beforehand[{_extra_of(name)}]'"
        ) from None


def _extra_of(name: str) -> str:
    return "evm" if name.partition(".")[0] in _EVM else "anchors"
