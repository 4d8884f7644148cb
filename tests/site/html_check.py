"""A strict reader of our own pages: structure, links and what must never stand in them."""

from __future__ import annotations

import base64
import hashlib
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

VOID = {"meta", "link", "br", "img", "hr", "input"}
DRAWN = {"line", "circle", "rect", "path"}
NEVER = {"iframe", "object", "embed", "form", "base", "img", "audio", "video", "foreignobject"}
LANDMARKS = ("header", "nav", "main", "footer", "h1", "title")


class Page(HTMLParser):
    """One page, read; `faults` says what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.ids: set[str] = set()
        self.refs: list[tuple[str, dict[str, str]]] = []
        self.labelled: list[str] = []
        self.names: set[str] = set()
        self.policy = ""
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self._seen: dict[str, int] = {}
        self._tables: list[dict[str, bool]] = []
        self.feed(text)
        self.close()
        if self._open:
            self.faults.append(f"never closed: {self._open}")
        for name in LANDMARKS:
            if name == "title" or self._seen.get(name, 0) == 1:
                continue
            self.faults.append(f"{self._seen.get(name, 0)} <{name}>")
        self.faults += [f"labelled by {n}, which is not there" for n in self.labelled
                        if n not in self.ids]  # fmt: skip
        self._check_policy()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._take(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in DRAWN:
            self.faults.append(f"<{tag}/> closes itself")
        self._take(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1] != tag:
            self.faults.append(f"</{tag}> at {self.getpos()} closes {self._open[-1:]}")
        else:
            self._open.pop()
        if tag == "table":
            missing = [name for name, there in self._tables.pop().items() if not there]
            self.faults += [f"a table without {name}" for name in missing]

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["script"]:
            self.scripts.append(data)
        elif self._open[-1:] != ["style"]:
            self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"a comment: {data[:40]}")

    @property
    def text(self) -> str:
        """All words of the page."""
        return "".join(self.words)

    def _take(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        if len(held) != len(attrs):
            self.faults.append(f"<{tag}> has an attribute twice")
        self._seen[tag] = self._seen.get(tag, 0) + 1
        if tag in NEVER:
            self.faults.append(f"<{tag}>")
        self.faults += [f"{name} on <{tag}>" for name in held
                        if name.startswith("on") or name in ("style", "src")]  # fmt: skip
        if "id" in held:
            if held["id"] in self.ids:
                self.faults.append(f"the id {held['id']} twice")
            self.ids.add(held["id"])
        if "href" in held:
            self.refs.append((tag, held))
        self.labelled += held.get("aria-labelledby", "").split()
        if "aria-label" in held:
            if held["aria-label"] in self.names:
                self.faults.append(f"two things are called {held['aria-label']}")
            self.names.add(held["aria-label"])
        self._check_table(tag, held)
        told = held.get("role") == "img" and held.get("aria-labelledby")
        if tag == "svg" and not (told or "aria-hidden" in held or "x" in held):
            self.faults.append("an svg without role and labels")
        if tag == "meta" and held.get("http-equiv") == "Content-Security-Policy":
            if self._seen.get("style") or self._seen.get("script"):
                self.faults.append("the policy comes after what it rules")
            self.policy = held["content"]

    def _check_table(self, tag: str, held: dict[str, str]) -> None:
        if tag == "table":
            self._tables.append({"caption": False, "th": False})
        elif tag in ("caption", "th") and self._tables:
            self._tables[-1][tag] = True
        if tag == "th" and held.get("scope") not in ("row", "col"):
            self.faults.append("a th without scope")

    def _check_policy(self) -> None:
        rules = [rule.strip() for rule in self.policy.split(";")]
        allowed = {"default-src 'none'", "style-src 'unsafe-inline'", "img-src data: 'self'",
                   "base-uri 'none'", "form-action 'none'"}  # fmt: skip
        for script in self.scripts:
            hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            allowed.add(f"script-src 'sha256-{hashed}'")
        if len(self.scripts) > 1 or set(rules) != allowed:
            self.faults.append(f"the policy is {self.policy}")


def check_links(pages: dict[str, Page], data: set[str]) -> list[str]:
    """Faults of all links between `pages` (by path below public) and the data files."""
    faults = []
    for path, page in pages.items():
        for tag, held in page.refs:
            href = held["href"]
            if href.startswith("https://"):
                if tag != "a" or held.get("rel") != "nofollow noopener noreferrer":
                    faults.append(f"{path}: {href} leaves the site")
                continue
            if tag == "link" and href.startswith("data:image/svg+xml;base64,"):
                continue
            name, _, anchor = href.partition("#")
            if ":" in name or name.startswith("/") or (name and name.endswith("/")):
                faults.append(f"{path}: {href} is no relative file")
                continue
            target = _resolve(path, name)
            if target in pages:
                if anchor and anchor not in pages[target].ids:
                    faults.append(f"{path}: {href} has no such anchor")
            elif target not in data:
                faults.append(f"{path}: {href} leads to {target}, which is not there")
    return faults


def _resolve(path: str, name: str) -> str:
    if not name:
        return path
    parts = list(PurePosixPath(path).parent.parts)
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return f"outside: {name}"
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def read_pages(public: Path, written: list[Path]) -> dict[str, Page]:
    """Every written page by its path below `public`."""
    return {
        path.relative_to(public).as_posix(): Page(path.read_bytes().decode("utf-8"))
        for path in written
    }
