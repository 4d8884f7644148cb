"""The declarations that ship with the package, one TOML file a league."""

from __future__ import annotations

from importlib.resources import files


def shipped() -> dict[str, bytes]:
    """The very bytes of every shipped declaration, by its file's name without `.toml`."""
    folder = files("beforehand.leagues")
    return {
        item.name.removesuffix(".toml"): item.read_bytes()
        for item in sorted(folder.iterdir(), key=lambda item: item.name)
        if item.name.endswith(".toml")
    }


def methodology(version: str) -> bytes:
    """The text of a methodology version, as its segment seals it; KeyError where there is none."""
    item = files("beforehand.leagues").joinpath(f"methodology-{version}.md")
    if not item.is_file():
        raise KeyError(version)
    return item.read_bytes()
