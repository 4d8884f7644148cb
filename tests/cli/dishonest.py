"""An operator who lies, and has everything an operator has: the book, its key, the clocks' replies.

A change of a line is sealed, chained, treed and signed anew and published by
the product itself, so that a broken hash gives nothing away. What others hold
cannot be made anew: the tokens of before, and what readers kept.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from beforehand.anchors.trust import Trust
from beforehand.book.checkpoint import Checkpoint, sign_note
from beforehand.book.line import make_line
from beforehand.book.manifest import CHECKER_PATH, MANIFEST_PATH, sign_manifest
from beforehand.book.options import Options
from beforehand.book.report import Report
from beforehand.book.stamped_list import list_book
from beforehand.book.tree import line_leaf, tree_root
from beforehand.cli.conforming import judge_with
from beforehand.cli.publication import publish_league
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.cli.verification import verify_published
from beforehand.clock import SystemClock
from beforehand.publish.conformance.conform import conform_path
from beforehand.records.codec import BOOKKEEPING, decode_json, digest
from beforehand.stages.declare import declare, open_league, reopen_league
from beforehand.stages.key import SigningKey
from beforehand.testing.outside_world import OutsideWorld

from .test_evidence import live, play, quiet, settle

Content = dict[str, Any]
WAS = "_was"  # the number that a line had; dropped when it is written
REFERENCES = ("ask_line", "roster_line", "snapshot_line")


@dataclass(frozen=True)
class Dishonest:
    """A league's folder in its operator's hands: `league`, `stamps` and `public` lie in it."""

    folder: Path

    @property
    def book(self) -> Path:
        return self.folder / "league" / "book.jsonl"

    @property
    def public(self) -> Path:
        return self.folder / "public"

    @property
    def base(self) -> Path:
        """Where the league's data are published."""
        return self.public / "api" / "v1" / "blind"

    def copy(self, folder: Path) -> Dishonest:
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Dishonest(folder)

    def key(self) -> SigningKey:
        with reopen_league(self.folder / "league", SystemClock()) as pen:
            return pen.key

    def contents(self) -> list[Content]:
        """What the lines say, without their bookkeeping."""
        held = []
        for n, raw in enumerate(self.book.read_bytes().split(b"\n")[:-1], 1):
            value = decode_json(raw)
            held.append({k: v for k, v in value.items() if k not in BOOKKEEPING} | {WAS: n})
        return held

    def remake(self, change: Callable[[list[Content]], None]) -> None:
        """Change what the lines say, then seal, chain and sign all of it anew, and publish it.

        A line that another one names by its number stays named. Checkpoints
        are signed at the sizes that had one, as far as there are so many lines.
        """
        key, lines = self.key(), self.contents()
        sizes = sorted(int(path.name) for path in self._checkpoints().iterdir())
        change(lines)
        self.book.write_bytes(b"".join(raw + b"\n" for raw in chained(lines)))
        shutil.rmtree(self._checkpoints())
        for size in {min(size, len(lines)) for size in sizes} | {len(lines)}:
            self._sign(key, size)
        self.publish()

    def _checkpoints(self) -> Path:
        return self.folder / "league" / "checkpoints"

    def _sign(self, key: SigningKey, size: int) -> None:
        raws = self.book.read_bytes().split(b"\n")[:size]
        root = tree_root(line_leaf(raw) for raw in raws)
        origin = str(decode_json(raws[0])["origin"])
        note = sign_note(Checkpoint(origin, size, root).text(), key.verifier, key.sign)
        self._checkpoints().mkdir(exist_ok=True)
        (self._checkpoints() / str(size)).write_text(note, encoding="utf-8")

    def stamp(self, world: OutsideWorld, kind: str = "rfc3161") -> Path:
        """Have the list over all lines of now vouched for, once more or for the first time."""
        with reopen_league(self.folder / "league", SystemClock()) as pen:
            point = pen.checkpoint()
        with self.book.open("rb") as stream:
            listed = list_book(stream, "api/v1/blind/book.jsonl", point.origin).data()
        place = self.folder / "stamps" / str(point.size)
        place.mkdir(parents=True, exist_ok=True)
        (place / "list.txt").write_bytes(listed)
        (place / "list.txt.one.tsr").write_bytes(world.vouch(kind, listed))
        return place

    def settle(self) -> None:
        """Every question ends as yes, a moment later: times of tokens are whole seconds."""
        time.sleep(2.1)
        with reopen_league(self.folder / "league", SystemClock()) as pen:
            settle(pen)

    def remake_unstamped(
        self, world: OutsideWorld, change: Callable[[list[Content]], None]
    ) -> None:
        """The same where nobody kept what was stamped before: it is all stamped anew, now."""
        shutil.rmtree(self.folder / "stamps", ignore_errors=True)
        self.remake(change)
        self.stamp(world)
        self.publish()

    def publish(self) -> None:
        """Everything that follows from the book, computed and signed by the product.

        As of now, or of the last line's own time where the operator says that it is later.
        """
        as_of = max(SystemClock().now(), *(line["at"] for line in self.contents()))
        publish_league(self.folder / "league", self.key(), self.public, as_of, quiet)

    def sign_folder(self) -> None:
        """A manifest over what lies in the published folder, signed with the league's key."""
        path, key = self.public / MANIFEST_PATH, self.key()
        manifest = decode_json(path.read_bytes())
        del manifest["signature"]
        manifest["files"] = [
            {"path": name, "bytes": file.stat().st_size, "sha256": digest(file.read_bytes())}
            for file in sorted(self.public.rglob("*"))
            if file.is_file()
            and (name := file.relative_to(self.public).as_posix())
            not in (MANIFEST_PATH, CHECKER_PATH)
        ]
        path.write_bytes(sign_manifest(manifest, [(key.verifier, key.sign)]))

    def verify(self, trust: Trust | None = None, as_of: str = "", **options: Any) -> Report:
        """What `beforehand verify` finds for a reader with this trust."""
        reader = ReaderTrust() if trust is None else ReaderTrust(trust, given=True)
        return verify_published(
            self.public, Options(as_of=as_of or SystemClock().now(), **options), reader=reader
        )

    def conform(self, trust: Trust | None = None, as_of: str = "") -> dict[int, dict[str, Any]]:
        """What `beforehand conform` says, by requirement."""
        at = as_of or SystemClock().now()
        judge = None if trust is None else judge_with(ReaderTrust(trust, given=True), at)
        report = conform_path(self.public, at, judge=judge)
        return {item["id"]: item for item in report["requirements"]}


def chained(lines: list[Content]) -> list[bytes]:
    """The lines numbered, sealed and linked."""
    now = {line[WAS]: n for n, line in enumerate(lines, 1) if WAS in line}
    raws, prev = [], ""
    for n, line in enumerate(lines, 1):
        content = {key: value for key, value in line.items() if key != WAS}
        for name in REFERENCES:
            if name in content:
                content[name] = now.get(content[name], content[name])
        if "question_lines" in content:
            content["question_lines"] = [now[number] for number in content["question_lines"]]
        made = make_line(content, n, prev)
        raws.append(made.raw)
        prev = made.link
    return raws


def found(report: Report) -> str:
    """All findings in one text."""
    return " | ".join(f"{each.place}: {each.message}" for each in report.findings)


def level(report: Report, name: str) -> dict[str, str]:
    """One property of the only run."""
    (run,) = report.leagues["blind"]["levels"].values()
    held: dict[str, str] = run[name]
    return held


def first(lines: list[Content], kind: str) -> Content:
    """The first line of a kind."""
    return next(line for line in lines if line["kind"] == kind)


@dataclass(frozen=True)
class Scene:
    """Clocks outside, a league that one of them stamped before and after its outcome.

    `before` is the same league when its answers had come, signed, unstamped and unsettled.
    """

    world: OutsideWorld
    league: Dishonest
    before: Dishonest

    @property
    def trust(self) -> Trust:
        return self.world.trust


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("scene")
    before, declaration, clock = Dishonest(folder / "before"), live(), SystemClock()
    with OutsideWorld(folder / "world") as world:
        with open_league(before.folder / "league", declaration, clock) as pen:
            declare(pen, declaration, before.folder / "league")
            play(pen, declaration)
            pen.checkpoint()
        league = before.copy(folder / "league")
        league.stamp(world)
        league.settle()
        league.stamp(world)
        league.publish()
        yield Scene(world, league, before)
