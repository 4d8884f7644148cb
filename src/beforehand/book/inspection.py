"""The inspection of one published league: its checkpoints, bodies, answers and operator."""

from __future__ import annotations

import hashlib
import tomllib
from datetime import datetime
from typing import Any

from beforehand.book.bodies import MAX_BODY_BYTES, body_path, is_sealed, open_sealed
from beforehand.book.checkpoint import MAX_NOTE_BYTES, Checkpoint, VerifierKey
from beforehand.book.facts import Facts
from beforehand.book.folder import Folder, hash_file, printable, read_file
from beforehand.book.manifest import MANIFEST_PATH
from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.book.walk import ChainWalk, Pieces, TileCheck
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError

MAX_CHECKPOINTS = 100_000
MAX_DECLARED_BYTES = 256 << 10
MAX_DOTS = 64
KNOWN_KINDS = frozenset(
    {
        *("league", "segment", "question", "roster", "run", "snapshot", "ask", "answer"),
        *("reference", "resolution", "correction", "fill", "mark"),
        *("proof", "release", "erased"),
    }
)

Notes = dict[str, tuple[Checkpoint, bytes]]


def _due(due: str, as_of: datetime) -> bool:
    try:
        return bool(instant_key(due) <= as_of)
    except FormatError:
        return True


def _few_dots(data: bytes) -> bytes:
    """The data, unless a line has so many dots that the TOML reader would take very long."""
    if any(line.count(b".") > MAX_DOTS for line in data.split(b"\n")):
        raise FormatError(f"a line has more than {MAX_DOTS} dots")
    return data


class Inspection:
    """Steps 3 to 8 for one league of the folder."""

    def __init__(
        self,
        folder: Folder,
        entry: dict[str, Any],
        options: Options,
        report: Report,
        walk: Pieces,
    ) -> None:
        self.folder, self.entry, self.options = folder, entry, options
        self.report, self.walk = report, walk
        self.base = entry["path"].rstrip("/")
        self.book = f"{self.base}/book.jsonl"
        self.facts: Facts

    def check(self) -> None:
        report, entry = self.report, self.entry
        self.options.progress(f"{entry['league']}: chain, tree and seals")
        if not self.folder.has(self.book):
            report.find(3, self.book, "the book is missing")
            return
        notes = self._read_notes()
        latest = max((point.size for point, _ in notes.values()), default=0)
        since = self._parse_since()
        sizes = {point.size for point, _ in notes.values()} | {entry["lines"]}
        if since is not None:
            sizes.add(since.size)
        tiles = TileCheck(self.folder, self.base, latest, self.base, report)
        chain = ChainWalk(self.folder, self.book, self.book, report, sizes, tiles)
        chain.walk(self.walk)
        self.facts = chain.facts
        self._check_manifest_entry(chain)
        key = self._book_key()
        self._check_notes(notes, chain, key)
        self.options.progress(f"{entry['league']}: bodies and answers")
        summary = chain.summary()
        summary.update(self._check_bodies())
        summary.update(self._check_answers())
        summary.update(self._check_operator(chain, since, notes, latest))
        report.leagues[entry["league"]] = summary
        self._note_kinds(chain)
        self.facts.close()

    def _read_notes(self) -> Notes:
        """Every published checkpoint, unopened: its text is checked once the key is known."""
        names = [f"{self.base}/checkpoint"]
        prefix = f"{self.base}/checkpoints/"
        names += [name for name in self.folder.names() if name.startswith(prefix)][:MAX_CHECKPOINTS]
        notes = {}
        for name in names:
            if not self.folder.has(name):
                self.report.find(5, name, "the checkpoint is missing")
                continue
            try:
                note = read_file(self.folder, name, MAX_NOTE_BYTES)
                text = note.decode("utf-8").rpartition("\n\n")[0] + "\n"
                notes[name] = (Checkpoint.parse(text), note)
            except (FormatError, UnicodeDecodeError) as error:
                self.report.find(5, name, str(error))
        return notes

    def _parse_since(self) -> Checkpoint | None:
        if self.options.since is None:
            return None
        try:
            text = self.options.since.decode("utf-8").rpartition("\n\n")[0] + "\n"
        except UnicodeDecodeError as error:
            raise FormatError(f"--since is not UTF-8: {error}") from None
        point = Checkpoint.parse(text)
        if point.size == 0:
            raise FormatError("--since is a checkpoint of 0 lines: it proves nothing")
        return point if point.origin == self.entry["origin"] else None

    def _check_manifest_entry(self, chain: ChainWalk) -> None:
        entry, lines = self.entry, self.entry["lines"]
        if lines > chain.frontier.size:
            message = f"says {lines} lines, the book has {chain.frontier.size}"
            self.report.find(3, f"{MANIFEST_PATH}: {entry['league']}", message)
            return
        if chain.roots[lines].hex() != entry["root"]:
            message = f"its root over {lines} lines is not that of the book"
            self.report.find(4, f"{MANIFEST_PATH}: {entry['league']}", message)
        if lines and chain.prefixes[lines] != entry["book_sha256"]:
            message = f"its hash of the first {lines} lines is not that of the book"
            self.report.find(3, f"{MANIFEST_PATH}: {entry['league']}", message)

    def _book_key(self) -> VerifierKey | None:
        """The key and origin that line 1 names; the manifest must name the same."""
        league = self.facts.league
        if league is None or league["n"] != 1:
            self.report.find(5, f"{self.book} line 1", "the first line is not a league line")
            return None
        for name in ("origin", "key", "league"):
            if league.get(name) != self.entry[name]:
                message = f"its {name} is not the one the manifest names"
                self.report.find(5, f"{self.book} line 1", message)
        try:
            return VerifierKey.parse(str(league.get("key")))
        except FormatError as error:
            self.report.find(5, f"{self.book} line 1", str(error))
            return None

    def _check_notes(
        self,
        notes: Notes,
        chain: ChainWalk,
        key: VerifierKey | None,
    ) -> None:
        for name, (point, note) in notes.items():
            if key is not None:
                try:
                    Checkpoint.open(note, key)
                except (FormatError, IntegrityError) as error:
                    self.report.find(5, name, str(error))
            if point.origin != self.entry["origin"]:
                self.report.find(5, name, f"is of the origin {point.origin!r:.80}")
            if point.size > chain.frontier.size:
                message = f"covers {point.size} lines, the book has {chain.frontier.size}"
                self.report.find(5, name, message)
            elif point.root != chain.roots[point.size]:
                self.report.find(
                    5, name, f"its root over {point.size} lines is not that of the book"
                )
        beyond = chain.frontier.size - max((point.size for point, _ in notes.values()), default=0)
        if beyond > 0:
            self.report.notes.append(
                f"{self.entry['league']}: {beyond} lines beyond the last checkpoint: "
                "chained, not yet signed"
            )

    # ---- step 6

    def _declared_rules(self) -> dict[str, str]:
        """The due rule of each role, from the declaration the league line names."""
        sha256 = (self.facts.league or {}).get("declaration_sha256")
        if not isinstance(sha256, str) or not self.folder.has(f"{self.base}/{body_path(sha256)}"):
            self.report.find(6, f"{self.book} line 1", "the declaration is not among the bodies")
            return {}
        try:
            data = read_file(self.folder, f"{self.base}/{body_path(sha256)}", MAX_DECLARED_BYTES)
            declared = tomllib.loads(_few_dots(data).decode("utf-8"))
        except (FormatError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            self.report.find(6, f"{self.base}/{body_path(sha256)}", f"is no declaration: {error}")
            return {}
        rules = declared.get("bodies", {})
        if not isinstance(rules, dict):
            return {}
        return {str(role): str(rule) for role, rule in rules.items()}

    def _check_bodies(self) -> dict[str, Any]:
        rules = self._declared_rules()
        as_of = instant_key(self.options.as_of)
        counts = {"bodies": 0, "bodies_embargoed": 0, "bodies_private": 0, "bodies_erased": 0}
        query = "SELECT n, at, kind, role, sha256, due, run, forecaster FROM body ORDER BY n, role"
        for n, at, _, role, sha256, due, run, forecaster in self.facts.rows(query):
            place = f"{self.book} line {n}, body {role}"
            self._check_due(place, rules.get(role, "line"), at, due, run)
            if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
                self.report.find(6, place, f"{sha256!r:.80} is not a SHA-256")
                continue
            path = f"{self.base}/{body_path(sha256)}"
            if self.folder.has(path):
                first = self.facts.one("SELECT n FROM checked WHERE sha256 = ?", (sha256,))
                if first is None:
                    counts["bodies"] += 1
                    self.facts.base.execute("INSERT INTO checked VALUES (?, ?)", (sha256, n))
                    self._check_present(path, place, sha256, role, rules, (n, run, forecaster))
                elif rules.get(role, "line") != "line":
                    self.report.find(
                        6, place, f"its withheld body was named before, at line {first}"
                    )
            elif self.facts.one("SELECT n FROM erased WHERE sha256 = ?", (sha256,)) is not None:
                counts["bodies_erased"] += 1
            elif due is None:
                counts["bodies_private"] += 1
            elif _due(due, as_of):
                message = f"was due at {due} and is missing ({path})"
                self.report.find(6, place, message)
            else:
                counts["bodies_embargoed"] += 1
        prefix = f"{self.base}/bodies/"
        for name in self.folder.names():
            if name.startswith(prefix):
                sha256 = name.rpartition("/")[2]
                named = self.facts.one("SELECT n FROM body WHERE sha256 = ?", (sha256,))
                if named is None or name != f"{self.base}/{body_path(sha256)}":
                    self.report.find(6, printable(name), "is a body that no line names")
        return counts

    def _check_due(self, place: str, rule: str, at: str, due: str | None, run: str) -> None:
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
        self,
        path: str,
        place: str,
        sha256: str,
        role: str,
        rules: dict[str, str],
        owner: tuple[int, str, str],
    ) -> None:
        n, run, forecaster = owner
        try:
            data = read_file(self.folder, path, MAX_BODY_BYTES)
        except FormatError as error:
            self.report.find(6, path, str(error))
            return
        hashed = hashlib.sha256(data).hexdigest()
        if hashed != sha256:
            self.report.find(6, path, f"hashes to {hashed}; named at {place}")
            return
        if rules.get(role, "line") == "line":
            return
        if not is_sealed(data):
            self.report.find(6, path, f"is withheld by rule and carries no salt; named at {place}")
            return
        try:
            body = open_sealed(data)
        except FormatError as error:
            self.report.find(6, path, str(error))
            return
        wanted = (self.entry["origin"], run, forecaster, role)
        if (body.origin, body.run, body.forecaster, body.role) != wanted:
            self.report.find(6, path, f"its header is not of {place}")
        first = self.facts.one("SELECT n FROM salt WHERE salt = ?", (body.salt,))
        if first is not None:
            self.report.find(6, path, f"its salt was used before, at line {first}")
        else:
            self.facts.base.execute("INSERT INTO salt VALUES (?, ?)", (body.salt, n))

    # ---- step 7

    def _check_answers(self) -> dict[str, Any]:
        for run, n, roster_line in self.facts.rows("SELECT run, n, roster_line FROM run"):
            if self.facts.one("SELECT run FROM roster WHERE n = ?", (roster_line,)) != run:
                self.report.find(
                    7, f"{self.book} line {n}", f"line {roster_line} is not its roster"
                )
        late = self.facts.rows(
            "SELECT answer.n, answer.run FROM answer LEFT JOIN roster ON answer.run = roster.run "
            "WHERE roster.run IS NULL"
        )
        for n, run in late:
            self.report.find(7, f"{self.book} line {n}", f"the run {run!r:.80} has no roster")
        self._check_asks_files()
        asked = "SELECT COUNT(*) FROM ask"
        open_asks = f"{asked} LEFT JOIN answer ON ask.n = answer.ask_line WHERE answer.n IS NULL"
        return {
            "seats": self.facts.one("SELECT COALESCE(SUM(seats), 0) FROM roster"),
            "asks": self.facts.one(asked),
            "asks_unanswered": self.facts.one(open_asks),
            "answers": self.facts.one("SELECT COUNT(*) FROM answer"),
        }

    def _check_asks_files(self) -> None:
        prefix = f"{self.base}/asks/"
        wanted = {
            f"{prefix}{row[0]}.md"
            for row in self.facts.rows("SELECT DISTINCT sha256 FROM body WHERE kind = 'ask'")
        }
        present = {name for name in self.folder.names() if name.startswith(prefix)}
        for name in sorted(present - wanted):
            self.report.find(7, printable(name), "is an ask that no line names")
        for name in sorted(present & wanted):
            if hash_file(self.folder, name)[1] != name[len(prefix) : -3]:
                self.report.find(7, name, "does not hash to its name")

    # ---- step 8

    def _check_operator(
        self,
        chain: ChainWalk,
        since: Checkpoint | None,
        notes: Notes,
        latest: int,
    ) -> dict[str, Any]:
        options, report, entry = self.options, self.report, self.entry
        label = entry["league"]
        for name in ("origin", "key"):
            held = getattr(options, name)
            if held is None:
                report.not_checked.append(
                    f"{label}: operator: NOT CHECKED (no --{name}); the book names {entry[name]}"
                )
            elif held != entry[name]:
                report.find(
                    8, f"{label}: operator", f"its {name} is {entry[name]}, yours is {held}"
                )
        if options.since is None:
            report.not_checked.append(
                f"{label}: a cut or rollback behind the last checkpoint, of {latest} lines, is not "
                "excluded: keep that checkpoint and give it later with --since"
            )
        elif since is None:
            report.find(8, f"{label}: --since", f"is not a checkpoint of {entry['origin']}")
        else:
            self._check_since(chain, since)
        times = {str(segment.get("time")) for segment in self.facts.segments}
        time = times.pop() if len(times) == 1 else "mixed" if times else "not declared"
        if time != "live":
            report.notes.append(
                f"{label}: time is {time}: its stamps prove nothing about when (level 0)"
            )
        return {"time": time, "checkpoints": len(notes), "last_checkpoint": latest}

    def _check_since(self, chain: ChainWalk, since: Checkpoint) -> None:
        label = f"{self.entry['league']}: --since"
        try:
            key = VerifierKey.parse(self.options.key or self.entry["key"])
            Checkpoint.open(self.options.since or b"", key)
        except (FormatError, IntegrityError) as error:
            self.report.find(8, label, str(error))
        if since.size > chain.frontier.size:
            has = chain.frontier.size
            message = f"you hold {since.size} lines, the book has {has}: cut or rolled back"
            self.report.find(8, label, message)
        elif chain.roots[since.size] != since.root:
            message = f"the first {since.size} lines are not those you hold: rewritten"
            self.report.find(8, label, message)

    def _note_kinds(self, chain: ChainWalk) -> None:
        unknown = sorted(set(chain.kinds) - KNOWN_KINDS)
        if unknown:
            listed = ", ".join(f"{printable(kind)} ({chain.kinds[kind]})" for kind in unknown[:20])
            what = f"kinds this version does not know, chained and kept: {listed}"
            self.report.notes.append(f"{self.entry['league']}: {what}")
