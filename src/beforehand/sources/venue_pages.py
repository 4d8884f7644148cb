"""Walking a paged list to its end, and noticing when it is no walk.

A walk follows the opaque cursor of each page, drops rows that came before,
and stops where a page or a cursor repeats: then the parameter is under the
wrong name, or the far side does not page.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from beforehand.errors import RemoteError
from beforehand.sources.http import Http, Response
from beforehand.sources.http_urls import place
from beforehand.sources.market import Evidence, Refused
from beforehand.sources.venue_fields import Row, text

MOST_EMPTY_PAGES = 3


@dataclass(frozen=True)
class Paging:
    """How one endpoint pages: the names of its list, its cursor, its parameter and its row's id."""

    rows: str
    cursor: str
    parameter: str
    id: str
    size: int
    most_pages: int = 3000


@dataclass
class Walk:
    """What a walk met: its pages as evidence, rows it could not use, and what went wrong."""

    evidence: list[Evidence] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    complete: bool = True

    def fail(self, what: str) -> None:
        """The walk is not complete, for this reason."""
        self.complete = False
        self.problems.append(what)


async def walk_pages(
    http: Http,
    url: str,
    query: Mapping[str, str],
    paging: Paging,
    walk: Walk,
    check_page: Callable[[list[Row]], str] | None = None,
) -> AsyncIterator[Row]:
    """Every row once, in the order in which the pages gave it; what happens is told to `walk`.

    `check_page` looks at a page's rows and says what is wrong with them, or
    "". RemoteError only where not even the first page could be read.
    """
    seen: set[str] = set()
    cursors: set[str] = set()
    before: list[str] = []
    cursor, empty, number = "", 0, 0
    where = place(url)
    while number < paging.most_pages:
        number += 1
        asked = {**query, **({paging.parameter: cursor} if cursor else {})}
        try:
            response = await http.get(url, asked)
            rows, following = _page(response, paging)
        except RemoteError as error:
            if number == 1:
                raise
            walk.fail(f"page {number}: {error}; what came before it is kept")
            return
        walk.evidence.append(response.evidence())
        good, ids = _with_ids(rows, paging, f"{paging.rows} page {number}", walk)
        if ids and ids == before:
            walk.fail(f"{where}: page {number} repeats page {number - 1}; the cursor is ignored")
            return
        if check_page is not None and (wrong := check_page(good)):
            walk.problems.append(f"{where} page {number}: {wrong}")
        for name, row in zip(ids, good, strict=True):
            if name not in seen:
                seen.add(name)
                yield row
        if not following:
            if len(rows) >= paging.size:
                walk.fail(f"{where}: the last page is full and has no cursor; more may be missing")
            return
        if following in cursors:
            walk.fail(f"{where}: page {number} gives a cursor that was followed before")
            return
        empty = 0 if rows else empty + 1
        if empty >= MOST_EMPTY_PAGES:
            walk.fail(f"{where}: {empty} empty pages in a row, each with a cursor")
            return
        cursors.add(following)
        before, cursor = ids, following
    walk.fail(f"{where}: more than {paging.most_pages} pages")


def _page(response: Response, paging: Paging) -> tuple[list[Any], str]:
    content = response.json()
    rows = content.get(paging.rows) if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise RemoteError(f"{place(response.url)}: no list under {paging.rows!r}; its form changed")
    return rows, text(content.get(paging.cursor))


def _with_ids(
    rows: list[Any], paging: Paging, where: str, walk: Walk
) -> tuple[list[Row], list[str]]:
    good, ids = [], []
    for index, row in enumerate(rows, start=1):
        name = text(row.get(paging.id)) if isinstance(row, dict) else ""
        if not name:
            what = f"no {paging.id}" if isinstance(row, dict) else "no object"
            walk.refused.append(Refused(f"{where} row {index}", what))
            continue
        good.append(row)
        ids.append(name)
    return good, ids
