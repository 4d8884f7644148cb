"""The published one-file checkers: joins of the package's own modules, never second copies.

`verify.py` joins the frozen core, `recount.py` the core, the exact scoring
and the folds. A join is plain source in the order of the imports: our own
imports are dropped, those of the standard library gathered at the top, and
two modules that use one name for two things stop the build.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import lru_cache
from pathlib import Path

from beforehand.errors import IntegrityError
from beforehand.records.codec import digest

PACKAGE = "beforehand"
_VERIFY = ("beforehand.book.checker", "checker_main")
_RECOUNT = ("beforehand.publish.recount", "recount_main")


@lru_cache(maxsize=2)
def build_verify() -> bytes:
    """The bytes of `verify.py`."""
    return _join(*_VERIFY, "verify.py: checks a published league; see the recipe below.")


@lru_cache(maxsize=2)
def build_recount() -> bytes:
    """The bytes of `recount.py`."""
    return _join(*_RECOUNT, "recount.py: computes a league's published scores again.")


def checker_sha256() -> str:
    """The SHA-256 of `verify.py`, as README prints it."""
    return digest(build_verify())


class _Module:
    """A module's source, taken apart: what it imports, what it defines, the rest as text."""

    def __init__(self, name: str) -> None:
        self.name = name
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None or not spec.has_location:
            raise IntegrityError(f"the module {name} has no source")
        self.source = Path(spec.origin).read_text(encoding="utf-8")
        self.tree = ast.parse(self.source)
        self.needs: list[str] = []
        self.imports: list[str] = []
        self.aliases: dict[str, str] = {}
        self.defines: set[str] = set()
        self._drop: set[int] = set()
        for node in self.tree.body:
            self._take(node)
        for inner in ast.walk(self.tree):
            ours = isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith(PACKAGE)
            if ours and inner not in self.tree.body:
                raise IntegrityError(f"{name} imports its own package inside a function")

    def _take(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ImportFrom):
            self._take_from(node)
        elif isinstance(node, ast.Import):
            self._forget(node)
            for alias in node.names:
                self._import(alias.name, alias.asname or alias.name, ast.unparse(node))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.defines.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self.defines |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.If):
            for inner in (*node.body, *node.orelse):
                self._take(inner)

    def _take_from(self, node: ast.ImportFrom) -> None:
        self._forget(node)
        module = node.module or ""
        if module == "__future__":
            return
        if module.split(".")[0] == PACKAGE:
            if any(alias.asname for alias in node.names):
                raise IntegrityError(f"{self.name} renames what it imports from {module}")
            self.needs.append(module)
            return
        for alias in node.names:
            text = ast.unparse(ast.ImportFrom(module, [alias], 0))
            self._import(f"{module}.{alias.name}", alias.asname or alias.name, text)

    def _import(self, target: str, name: str, text: str) -> None:
        if target.split(".", maxsplit=1)[0] not in sys.stdlib_module_names:
            raise IntegrityError(f"{self.name} needs {target}: a checker needs only Python")
        self.imports.append(text)
        self.aliases[name] = target

    def _forget(self, node: ast.stmt) -> None:
        self._drop |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def text(self) -> str:
        """The module without its imports and docstring marks, under a heading of its own."""
        lines = self.source.split("\n")
        first = self.tree.body[0]
        said = ast.get_docstring(self.tree) or ""
        if isinstance(first, ast.Expr):
            self._forget(first)
        kept = [line for number, line in enumerate(lines, 1) if number not in self._drop]
        heading = [f"# {'-' * 10} {self.name}", "#"]
        heading += [f"# {line}".rstrip() for line in said.split("\n")]
        return "\n".join(heading) + "\n\n\n" + "\n".join(kept).strip("\n") + "\n"


def _join(root: str, main: str, title: str) -> bytes:
    modules: dict[str, _Module] = {}
    _gather(root, modules, set())
    _check_names(list(modules.values()))
    imports = sorted({text for module in modules.values() for text in module.imports})
    version = ".".join(map(str, (3, 11)))
    head = (
        "#!/usr/bin/env python3\n"
        f"# {title}\n"
        f"# Joined from the modules of {PACKAGE}; Apache-2.0. Python {version} or later, nothing "
        "else.\n"
        f"# Run it isolated: python3 -I {title.partition(':')[0]} FOLDER\n\n"
        "from __future__ import annotations\n\n"
    )
    parts = [module.text() for module in modules.values()]
    tail = f'if __name__ == "__main__":\n    sys.exit({main}(sys.argv[1:]))\n'
    text = head + "\n".join(imports) + "\n\n\n" + "\n\n".join(parts) + "\n\n" + tail
    compile(text, title.partition(":")[0], "exec", dont_inherit=True)
    return text.encode("utf-8")


def _gather(name: str, found: dict[str, _Module], under_way: set[str]) -> None:
    """The module and all it needs, each after what it needs."""
    if name in found:
        return
    if name in under_way:
        raise IntegrityError(f"{name} imports itself in a circle")
    module = _Module(name)
    for needed in module.needs:
        _gather(needed, found, under_way | {name})
    found[name] = module


def _check_names(modules: list[_Module]) -> None:
    owners: dict[str, str] = {}
    for module in modules:
        for name in module.defines:
            if name in owners:
                raise IntegrityError(f"{name} is defined in {owners[name]} and in {module.name}")
            owners[name] = module.name
    aliases: dict[str, str] = {}
    for module in modules:
        for name, target in module.aliases.items():
            if name in owners or aliases.setdefault(name, target) != target:
                raise IntegrityError(f"{module.name}: the name {name} means two things in a join")
