"""Sites written once a test run: a plain one and one whose every text attacks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from beforehand.book.bodies import body_path
from beforehand.site.pages import write_site
from beforehand.site.view import SiteView
from tests.site.blind import attacked_book, full_book, view_of
from tests.site.html_check import Page, read_pages
from tests.site.leagues import ATTACK, NUL, make_view
from tests.site.stamped import view_with_stamps


@dataclass(frozen=True)
class Site:
    """A written site: its view, its folder, its pages, the data files they may name."""

    view: SiteView
    public: Path
    pages: dict[str, Page]
    data: set[str]


def written_site(view: SiteView, public: Path) -> Site:
    pages = read_pages(public, write_site(view, public))
    base = f"api/v1/{view.league}"
    data = {f"{base}/{name}" for name, _ in view.files if not name.endswith("/")}
    data |= {"api/v1/verify.py", "api/v1/recount.py"}
    bodies = view.read_body.__self__  # the dict whose `get` it is
    prompts = [body.sha256 for ask in view.fold.asks.values() for body in ask.bodies]
    data |= {f"{base}/asks/{sha256}.md" for sha256 in prompts if sha256 in bodies}
    data |= {f"{base}/{body_path(sha256)}" for sha256 in bodies}
    data |= {f"{base}/checkpoints/{size}" for size, _, _ in view.checkpoints}
    for stamp in view.stamps:
        names = ("list.txt", *(evidence.name for evidence in stamp.evidence))
        data |= {f"{base}/stamps/{stamp.size}/{quote(name)}" for name in names}
    return Site(view, public, pages, data)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return written_site(make_view(), tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Site:
    words = ATTACK + NUL + "x" * 100_000
    view = make_view(title=ATTACK, words=words, url="javascript:alert(4)//https://example.org")
    return written_site(view, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A league that asks models: scored, with a missed, a stopped and a failed slot."""
    return written_site(view_of(full_book()), tmp_path_factory.mktemp("blind"))


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The same kind of league with texts that attack in every place a stranger can write to."""
    return written_site(view_of(attacked_book()), tmp_path_factory.mktemp("attacked"))


@pytest.fixture(scope="session")
def proven(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A league in live time with stamps in every state, one of them by a real authority."""
    folder = tmp_path_factory.mktemp("proven")
    return written_site(view_with_stamps(folder), folder / "public")
