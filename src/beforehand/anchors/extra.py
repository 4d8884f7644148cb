"""The libraries of the extra `anchors`, asked for only where one is needed.

opentimestamps is LGPL: it is used as the library it is, and is no dependency
of the package itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from beforehand.errors import RuleError


def extra_module(name: str) -> Any:
    """The module of this name; RuleError says what to install where it is not there."""
    try:
        return import_module(name)
    except ImportError as error:
        raise RuleError(
            f"{name.partition('.')[0]} is not installed ({error}): "
            "pip install 'beforehand[anchors]'"
        ) from None
