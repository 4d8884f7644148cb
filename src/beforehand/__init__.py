"""Forecasts by AI models, sealed before the outcome, scored after it, checkable by anyone.

Importing the package loads nothing: each room is imported where it is used.
`beforehand.score` and `beforehand.read` load what they need when they are first asked for.
"""

__version__ = "0.1.0"
__all__ = ["__version__", "read", "score"]

_LAZY = {
    "read": ("beforehand.sources.formats", "read_any"),
    "score": ("beforehand.site.scores", "score"),
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    room, function = _LAZY[name]
    return getattr(import_module(room), function)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
