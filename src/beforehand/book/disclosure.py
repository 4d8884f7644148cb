"""Step 6 of the recipe: every body that a line names is there once due, and as it should be."""

from __future__ import annotations

import hashlib
import tomllib
from datetime import datetime
from typing import Any

from beforehand.book.bodies import MAX_BODY_BYTES, body_path, is_sealed, open_sealed
from beforehand.book.cells import cells_root, opened_cells
from beforehand.book.chain import stated_questions
from beforehand.book.facts import Facts
from beforehand.book.folder import Folder, printable, read_file
from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.clock import instant_key
from beforehand.errors import FormatError
from beforehand.records.codec import MAX_LINE_BYTES, decode_json, digest, is_digest, seal_json

MAX_DECLARED_BYTES = 256 << 10
MAX_DOTS = 64
# So many bodies that are not revealed are listed one by one, past the findings that are printed.
MAX_TOLD = 100_000
_COUNTS = ("bodies", "bodies_embargoed", "bodies_private", "bodies_erased", "bodies_not_revealed")
# What the cells of an opened answer may take: more could not have stood in a line.
MAX_CELLS_BYTES = MAX_LINE_BYTES


class Disclosure:
    """The bodies of one league against the lines that name them and the rules it declared."""

    def __init__(
        self,
        folder: Folder,
        base: str,
        book: str,
        entry: dict[str, Any],
        facts: Facts,
        options: Options,
        report: Report,
    ) -> None:
        self.folder, self.base, self.book, self.entry = folder, base, book, entry
        self.facts, self.options, self.report = facts, options, report
        self.rules: dict[str, str] = {}
        self.salted = False

    def check(self) -> dict[str, Any]:
        """Check every body; how many are there, are excused, or are due and not revealed.

        The last are findings of non-reveal: nobody can say what they hold. A
        body whose bytes are not those of its name is another finding.
        """
        self.rules = self._declared_rules()
        as_of = instant_key(self.options.as_of)
        counts: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
        hidden: list[dict[str, Any]] = []
        query = "SELECT n, at, kind, role, sha256, due, run, forecaster FROM body ORDER BY n, role"
        for n, at, kind, role, sha256, due, run, forecaster in self.facts.rows(query):
            place = f"{self.book} line {n}, body {role:.80}"
            if self.salted and (kind, role) == ("answer", "answer") and self._root(n) is None:
                self.report.find(6, place, "salted cells are declared, and its line has no root")
            self._check_due(place, role, at, due, run)
            if not is_digest(sha256):
                self.report.find(6, place, f"{sha256!r:.80} is not a SHA-256")
                continue
            path = f"{self.base}/{body_path(sha256)}"
            if self.folder.has(path):
                first = self.facts.one("SELECT n FROM checked WHERE sha256 = ?", (sha256,))
                if first is None:
                    counts["bodies"] += 1
                    self.facts.base.execute("INSERT INTO checked VALUES (?, ?)", (sha256, n))
                    self._check_present(path, place, sha256, (n, kind, run, forecaster, role))
                elif self._rule(role) != "line":
                    self.report.find(
                        6, place, f"its withheld body was named before, at line {first}"
                    )
            elif self.facts.one("SELECT n FROM erased WHERE sha256 = ?", (sha256,)) is not None:
                counts["bodies_erased"] += 1
            elif due is None:
                line = self.facts.one("SELECT MIN(n) FROM revealed WHERE sha256 = ?", (sha256,))
                if line is None:
                    counts["bodies_private"] += 1
                else:
                    said = f"not revealed: was revealed at line {line}, missing ({path})"
                    self.report.find(6, place, said)
                    hidden.append({"line": n, "role": role, "sha256": sha256, "due": None})
            elif _is_due(due, as_of):
                said = f"not revealed: was due at {due} and is missing ({path})"
                self.report.find(6, place, said)
                hidden.append({"line": n, "role": role, "sha256": sha256, "due": due})
            else:
                counts["bodies_embargoed"] += 1
        self._check_names()
        counts["bodies_not_revealed"] = len(hidden)
        counts["not_revealed"] = hidden[:MAX_TOLD]
        return counts

    def _declared_rules(self) -> dict[str, str]:
        """The due rule of each role, from the declaration the league line names."""
        sha256 = (self.facts.league or {}).get("declaration_sha256")
        path = f"{self.base}/{body_path(str(sha256))}"
        if not is_digest(sha256) or not self.folder.has(path):
            self.report.find(6, f"{self.book} line 1", "the declaration is not among the bodies")
            return {}
        try:
            data = read_file(self.folder, path, MAX_DECLARED_BYTES)
            if digest(data) != sha256:
                raise FormatError("it does not hash to its name")
            declared = tomllib.loads(_few_dots(data).decode("utf-8"))
        except (FormatError, RecursionError, ValueError) as error:
            self.report.find(6, path, f"is no declaration: {error}")
            return {}
        answers = declared.get("answers", {})
        self.salted = isinstance(answers, dict) and answers.get("cells") == "salted"
        rules = declared.get("bodies", {})
        if not isinstance(rules, dict):
            return {}
        return {str(role): str(rule) for role, rule in rules.items()}

    def _rule(self, role: str) -> str:
        return self.rules.get(role, "line")

    def _check_due(self, place: str, role: str, at: str, due: str | None, run: str) -> None:
        rule = self._rule(role)
        if rule == "never":
            wanted = None
        elif rule == "deadline":
            wanted = self.facts.deadline(run)
            if wanted is None:
                self.report.find(
                    6, place, f"is due at the deadline of {run!r:.80}, which has no roster"
                )
                return
        elif rule == "line":
            wanted = at
        else:
            self.report.find(6, place, f"the declared rule {rule!r:.40} is none of this version's")
            return
        if due != wanted:
            self.report.find(6, place, f"is due at {due}, by the declared rule at {wanted}")

    def _check_present(
        self, path: str, place: str, sha256: str, owner: tuple[int, str, str, str, str]
    ) -> None:
        n, kind, run, forecaster, role = owner
        try:
            data = read_file(self.folder, path, MAX_BODY_BYTES)
        except FormatError as error:
            self.report.find(6, path, str(error))
            return
        hashed = hashlib.sha256(data).hexdigest()
        if hashed != sha256:
            self.report.find(6, path, f"hashes to {hashed}; named at {place}")
            return
        if self._rule(role) == "line":
            return
        if not is_sealed(data):
            self.report.find(6, path, f"is withheld by rule and carries no salt; named at {place}")
            return
        try:
            body = open_sealed(data)
        except FormatError as error:
            self.report.find(6, path, str(error))
            return
        if (kind, role) == ("roster", "identity"):
            # One line for all seats: the header says which of them it is.
            query = "SELECT forecaster FROM seat WHERE n = ? AND forecaster = ?"
            forecaster = str(self.facts.one(query, (n, body.forecaster)) or forecaster)
        wanted = (self.entry["origin"], run, forecaster, role)
        if (body.origin, body.run, body.forecaster, body.role) != wanted:
            self.report.find(6, path, f"its header is not of {place}")
        first = self.facts.one("SELECT n FROM salt WHERE salt = ?", (body.salt,))
        if first is not None:
            self.report.find(6, path, f"its salt was used before, at line {first}")
        else:
            self.facts.base.execute("INSERT INTO salt VALUES (?, ?)", (body.salt, n))
        if (kind, role) == ("answer", "answer"):
            self._check_opened(n, place, path, body.content)

    def _check_opened(self, n: int, place: str, path: str, content: bytes) -> None:
        """The cells of an answer that was withheld: step 7 for what its line did not show."""
        if len(content) > MAX_CELLS_BYTES:
            self.report.find(6, path, f"is no answer: it has over {MAX_CELLS_BYTES} bytes")
            return
        try:
            value = decode_json(content)
            seal_json(value)
        except FormatError as error:
            self.report.find(6, path, f"is no answer: {error}")
            return
        questions = stated_questions(value.get("cells") if isinstance(value, dict) else None)
        if questions is None:
            self.report.find(6, path, "is no answer: it holds no list of cells")
            return
        problem = self.facts.stated_too_late(n, questions)
        if problem is not None:
            self.report.find(7, place, problem)
        self._check_root(n, path, value)

    def _root(self, n: int) -> str | None:
        """The root of salted cells that an answer line carries."""
        value = self.facts.one("SELECT cells_root FROM answer WHERE n = ?", (n,))
        return None if value is None else str(value)

    def _check_root(self, n: int, path: str, answer: Any) -> None:
        """The cells of an opened answer give the root that its line carried before."""
        root = self._root(n)
        if root is None:
            return
        try:
            own = cells_root(*opened_cells(answer))
        except FormatError as error:
            self.report.find(6, path, f"its line carries a root of salted cells: {error}")
            return
        if own != root:
            self.report.find(6, path, f"its cells give the root {own}, its line says {root:.80}")

    def _check_names(self) -> None:
        """No file among the bodies that no line names."""
        prefix = f"{self.base}/bodies/"
        for name in self.folder.names():
            if name.startswith(prefix):
                sha256 = name.rpartition("/")[2]
                named = self.facts.one("SELECT n FROM body WHERE sha256 = ?", (sha256,))
                if named is None or name != f"{self.base}/{body_path(sha256)}":
                    self.report.find(6, printable(name), "is a body that no line names")


def _is_due(due: str, as_of: datetime) -> bool:
    try:
        return bool(instant_key(due) <= as_of)
    except FormatError:
        return True


def _few_dots(data: bytes) -> bytes:
    """The data, unless a line has so many dots that the TOML reader would take very long."""
    if any(line.count(b".") > MAX_DOTS for line in data.split(b"\n")):
        raise FormatError(f"a line has more than {MAX_DOTS} dots")
    return data
