"""The pages in a real browser, on a phone and on a desk: they fit, load nothing, say nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.site.conftest import Site
from tests.site.leagues import LEAGUE

pytestmark = pytest.mark.browser

WIDTHS = (360, 1280)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
)


def _chromium() -> str | None:
    given = os.environ.get("BEFOREHAND_CHROMIUM")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return given or next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = _chromium()
    if path is None:
        pytest.skip("no Chromium on this machine")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as play:
        held = play.chromium.launch(executable_path=path, args=list(QUIET))
        yield held
        held.close()


def _kinds(site: Site) -> list[str]:
    """One page of each kind, and all profiles."""
    questions = [path for path in site.pages if "/q/" in path]
    return [path for path in site.pages if "/q/" not in path] + questions[:6]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("which", ["site", "hostile", "blind", "attacked", "proven"])
def test_no_page_is_wider_than_its_window(
    browser: Any, which: str, width: int, request: pytest.FixtureRequest
) -> None:
    held: Site = request.getfixturevalue(which)
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append("a dialog"), dialog.dismiss()))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in _kinds(held):
        page.goto((held.public / path).as_uri())
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{path} is {wide} px too wide at {width}"
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_pages_are_whole_without_script_and_sort_with_it(browser: Any, site: Site) -> None:
    address = (site.public / LEAGUE / "f" / "ada.html").as_uri()
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(address)
    rows = plain.locator("table.sortable tbody tr").count()
    assert rows == len([row for row in site.view.rows if row.forecaster == "ada"])
    page = browser.new_context().new_page()
    page.goto(address)
    head = page.locator("table.sortable th", has_text="Brier")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    shown = page.locator("table.sortable tbody tr td:nth-child(7)").all_text_contents()
    scores = [float(words) for words in shown if words[0].isdigit()]
    assert scores == sorted(scores)
    assert not shown[-1][0].isdigit()  # words come last
    page.locator(".filter input").fill("until it resolves")
    assert page.locator("table.sortable tbody tr:visible").count() == rows - 5
