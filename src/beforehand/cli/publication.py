"""Publishing a league: data, pages, manifest, then one swap into place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from beforehand.anchors.stated import stated
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.reader import BookReader
from beforehand.publish.checkers import checker_sha256
from beforehand.publish.kept_checkers import keep_checkers
from beforehand.publish.public import FILES, Publication, seal_public, swap_in, write_data
from beforehand.publish.segments import SegmentScores
from beforehand.publish.stamps import read_stamps
from beforehand.records.codec import decode_json
from beforehand.site.pages import segment_root, write_site
from beforehand.site.view import SiteView
from beforehand.stages.key import SigningKey

Progress = Callable[[str, int, int], None]


def publish_league(
    folder: Path,
    key: SigningKey,
    public: Path,
    as_of: str,
    progress: Progress,
    licence: bytes | None = None,
    published: Callable[[Publication], list[dict[str, Any]]] | None = None,
) -> Publication:
    """Publish the book at `folder` as `public`, whole or not at all.

    `published` may give an outside benchmark's own numbers to print beside ours.
    """
    fresh = public.with_name(f"{public.name}.new-{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    reader = BookReader(folder)
    try:
        data = write_data(reader, key.verifier, fresh, as_of, licence, progress)
        view = SiteView(
            league=data.fold.league.league,
            fold=data.fold,
            rows=data.rows,
            attempts=data.attempts,
            board=data.board,
            read_body=_published_body(fresh, data),
            checkpoints=_checkpoints(reader),
            checker_sha256=checker_sha256(),
            published=published(data) if published else [],
            files=list(FILES),
            lines=list(reader.lines()),
            stamps=read_stamps(fresh / "api" / "v1" / data.fold.league.league, stated),
        )
        write_site(view, fresh, progress)
        for part in data.earlier:
            write_site(_earlier_view(view, part), fresh, progress)
        keep_checkers(public, fresh, as_of)
        progress("hash and sign", 0, 1)
        seal_public(fresh, [(data, key.verifier, key.sign)], as_of)
        swap_in(fresh, public)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return data


def _earlier_view(view: SiteView, part: SegmentScores) -> SiteView:
    """The pages of a segment that has ended, below the league's."""
    return replace(
        view,
        fold=part.fold,
        rows=part.scores.rows,
        attempts=part.scores.attempts,
        board=part.scores.board,
        published=[],
        root=segment_root(view.league, part.segment),
    )


def not_revealed_told(data: Publication) -> list[str]:
    """A sentence a body that is due and no longer kept, and so could not be published."""
    return [
        f"not revealed: the {held.role} of line {held.line}, due at {held.due}, is not kept: "
        f"SHA-256 {held.sha256}"
        for held in data.not_revealed
    ]


def _published_body(public: Path, data: Publication) -> Callable[[str], bytes | None]:
    base = public / "api" / "v1" / data.fold.league.league / "bodies"

    def read_body(sha256: str) -> bytes | None:
        path = base / sha256[:2] / sha256
        return path.read_bytes() if path.is_file() else None

    return read_body


def _checkpoints(reader: BookReader) -> list[tuple[int, str, str]]:
    """Size, time of the last covered line, and root of every checkpoint."""
    notes = reader.checkpoints()
    times = {}
    for n, raw in enumerate(reader.lines(), 1):
        if n in notes:
            times[n] = str(decode_json(raw)["at"])
    points = []
    for size, note in notes.items():
        point = Checkpoint.parse(note.decode("utf-8").rpartition("\n\n")[0] + "\n")
        points.append((size, times.get(size, ""), point.root.hex()))
    return points
