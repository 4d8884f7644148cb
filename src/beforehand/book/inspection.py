"""The inspection of one published league: its checkpoints, answers and operator."""

from __future__ import annotations

from typing import Any

from beforehand.book.checkpoint import MAX_NOTE_BYTES, Checkpoint
from beforehand.book.disclosure import Disclosure
from beforehand.book.facts import Facts
from beforehand.book.folder import Folder, hash_file, printable, read_file
from beforehand.book.kept import check_kept, compare_kept, kept_checkpoint
from beforehand.book.manifest import MANIFEST_PATH
from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.book.walk import ChainWalk, Pieces, TileCheck
from beforehand.errors import FormatError, IntegrityError

MAX_CHECKPOINTS = 100_000
KNOWN_KINDS = frozenset(
    {
        *("league", "segment", "question", "roster", "run", "close", "snapshot", "ask", "answer"),
        *("reference", "resolution", "confirmation", "correction", "fill", "mark"),
        *("proof", "release", "key", "revealed", "erased"),
    }
)

# Answers whose run names a roster on which their forecaster is not.
UNEXPECTED_ANSWERS = """
SELECT COUNT(*) FROM answer
JOIN run ON run.n = (SELECT MIN(n) FROM run WHERE run.run = answer.run)
LEFT JOIN seat ON seat.n = run.roster_line AND seat.forecaster = answer.forecaster
WHERE seat.n IS NULL
"""

Notes = dict[str, tuple[Checkpoint, bytes]]


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
        self.signers: set[str] = set()

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
        self._check_keys()
        self._check_notes(notes, chain)
        self.options.progress(f"{entry['league']}: bodies and answers")
        summary = chain.summary()
        base, book = self.base, self.book
        disclosure = Disclosure(self.folder, base, book, entry, self.facts, self.options, report)
        summary.update(disclosure.check())
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
        """The reader's checkpoint, where it is of this book."""
        if self.options.since is None:
            return None
        point = kept_checkpoint(self.options.since)
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

    def _check_keys(self) -> None:
        """Line 1 names origin, league and key; the manifest names the key in force at its end."""
        league, place = self.facts.league, f"{self.book} line 1"
        if league is None or league["n"] != 1:
            self.report.find(5, place, "the first line is not a league line")
            return
        for name in ("origin", "league"):
            if league.get(name) != self.entry[name]:
                self.report.find(5, place, f"its {name} is not the one the manifest names")
        keys = self.facts.keys
        if keys is None:
            self.report.find(5, place, f"its key {league.get('key')!r:.80} is not a verifier key")
            return
        n, key = keys.change_at(self.entry["lines"])
        if key.text() != self.entry["key"]:
            place = f"{self.book} line {n or 1}"
            self.report.find(5, place, "its key is not the one the manifest names")
        for n, _ in keys.changes[1:]:
            self.report.notes.append(
                f"{self.entry['league']}: another key signs from line {n} on, by a signed change"
            )
        self._note_predecessor(league)

    def _note_predecessor(self, league: dict[str, Any]) -> None:
        """A book that follows another one says so; that it may is the operator's word."""
        named = league.get("successor_of")
        if isinstance(named, dict):
            origin, size = named.get("origin"), named.get("size")
            self.report.notes.append(
                f"{self.entry['league']}: says that it follows {origin!r:.200}, which ended at "
                f"{size!r:.20} lines: its operator's word, and nothing that the other book signed"
            )

    def _check_notes(self, notes: Notes, chain: ChainWalk) -> None:
        for name, (point, note) in notes.items():
            if self.facts.keys is not None:
                signer = self.facts.keys.at(point.size)
                try:
                    Checkpoint.open(note, signer)
                    if point.size > 0 and point.root == chain.roots.get(point.size):
                        self.signers.add(signer.text())
                except (FormatError, IntegrityError) as error:
                    self.report.find(5, name, str(error))
            if point.origin != self.entry["origin"]:
                self.report.find(5, name, f"is of the origin {point.origin!r:.80}")
            if point.size == 0:
                self.report.find(5, name, "covers 0 lines: such a checkpoint proves nothing")
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
        unexpected = self.facts.one(UNEXPECTED_ANSWERS)
        if unexpected:
            self.report.notes.append(
                f"{self.entry['league']}: {unexpected} answers of forecasters who are not on the "
                "roster of their run: kept, never counted"
            )
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
            elif name == "key" and held != entry[name] and held in self._vouching_keys():
                report.notes.append(f"{label}: your key was replaced; signed changes lead from it")
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
        times = self.facts.times.copy()
        time = times.pop() if len(times) == 1 else "mixed" if times else "not declared"
        if time != "live":
            report.notes.append(
                f"{label}: time is {time}: its stamps prove nothing about when (level 0)"
            )
        return {"time": time, "checkpoints": len(notes), "last_checkpoint": latest}

    def _vouching_keys(self) -> set[str]:
        """The keys of the book's own history that signed lines of it, here where all can see.

        Line 1 may name any key, also a stranger's. A reader's earlier key
        therefore speaks for this book only where it signed a part of it.
        """
        keys = self.facts.keys
        return set() if keys is None else set(keys.texts()) & (keys.vouched | self.signers)

    def _check_since(self, chain: ChainWalk, since: Checkpoint) -> None:
        label = f"{self.entry['league']}: --since"
        key = self.options.key or self.entry["key"]
        if self.facts.keys is not None and key in self._vouching_keys():
            key = self.facts.keys.at(since.size).text()  # what was kept may be older than the key
        check_kept(self.report, label, self.options.since or b"", key)
        compare_kept(self.report, label, since, chain)

    def _note_kinds(self, chain: ChainWalk) -> None:
        unknown = sorted(set(chain.kinds) - KNOWN_KINDS)
        if unknown:
            listed = ", ".join(f"{printable(kind)} ({chain.kinds[kind]})" for kind in unknown[:20])
            what = f"kinds this version does not know, chained and kept: {listed}"
            self.report.notes.append(f"{self.entry['league']}: {what}")
