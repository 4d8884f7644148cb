"""The libraries of the extras `anchors` and `evm`, asked for only where one is needed.

opentimestamps is LGPL: it is used as the library it is, and is no dependency
of the package itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from beforehand.errors import RuleError

_EVM = ("eth_account", "eth_hash", "py_ecc", "rlp", "trie")


def extra_module(name: str) -> Any:
    """The module of this name; RuleError says what to install where it is not there.

    A library may raise the interpreter's recursion limit for itself (py_ecc,
    below eth_account, does). Under such a limit deeply nested JSON from any far
    side would end the process instead of being refused, so it is put back.
    """
    limit = sys.getrecursionlimit()
    try:
        return import_module(name)
    except ImportError as error:
        raise RuleError(
            f"{name.partition('.')[0]} is not installed ({error}): "
            f"pip install 'beforehand[{_extra_of(name)}]'"
        ) from None
    finally:
        sys.setrecursionlimit(limit)


def _extra_of(name: str) -> str:
    return "evm" if name.partition(".")[0] in _EVM else "anchors"
