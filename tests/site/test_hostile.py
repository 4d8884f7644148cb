"""Texts from the data are data: escaped, shown, never acting, never a live link."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from beforehand.site.pages import _environment
from beforehand.site.text import https_url, plain
from tests.site.conftest import Site

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]")
OUTSIDE = re.compile(
    r"""(?:src|href|action|data|xlink:href)\s*=\s*["']?\s*(?!https://)[a-z]+:""", re.I
)


def test_no_text_becomes_markup(hostile: Site) -> None:
    for path in hostile.public.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        body = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
        assert "<script" not in body, path
        assert "<img" not in body, path
        assert "<b>" not in body, path
        assert not UNSEEN.search(text), path


def test_the_texts_are_shown_and_not_dropped(hostile: Site) -> None:
    first = next(iter(hostile.view.fold.questions))
    text = hostile.pages[f"made-up/q/{first[5:21]}.html"].text
    for words in ("<script>alert(1)</script>", "onerror=alert(2)", "{{ 7 * 7 }}", "[U+202E]gnp",
                  "[U+0000]", "[U+001B]"):  # fmt: skip
        assert words in text
    assert "more characters are in the body only" in text
    assert "not a plain https address, so not a link" in text


def test_nothing_is_loaded_and_nothing_hostile_is_linked(hostile: Site, site: Site) -> None:
    for held in (hostile, site):
        for path in held.public.rglob("*.html"):
            found = OUTSIDE.findall(path.read_text(encoding="utf-8").replace("data:image/svg", ""))
            assert found == [], path
    assert not [r for page in hostile.pages.values() for r in page.refs
                if r[1]["href"].startswith("http")]  # fmt: skip
    assert [r for page in site.pages.values() for r in page.refs
            if r[1]["href"] == "https://example.org/q?a=1&b=2"]  # fmt: skip


def test_long_texts_do_not_make_every_page_long(hostile: Site) -> None:
    sizes = {path.relative_to(hostile.public).as_posix(): path.stat().st_size
             for path in hostile.public.rglob("*.html")}  # fmt: skip
    assert max(size for path, size in sizes.items() if "/q/" not in path) < 120_000
    assert max(sizes.values()) < 600_000


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "http://example.org/",
        "//example.org",
        "https://user@example.org/",
        "https://exam\u202eple.org/",
        "https://example.org/\n",
        "https://example.org/ x",
        'https://example.org/"onclick=x',
        "https://ex\u0430mple.org/",
        "https://",
        "https://example.org/" + "a" * 3000,
        "HTTPS://example.org",
        None,
        7,
    ],
)
def test_what_is_not_a_plain_https_address_is_no_link(url: object) -> None:
    assert https_url(url) is None


def test_plain_keeps_scripts_and_emoji_and_names_the_unseen() -> None:
    kept = "naïve – π ≥ 3, نعم، 👩\u200d🚀\nنیم\u200cفاصله\t."
    assert plain(kept) == kept
    assert plain("a\r\nb\rc") == "a\nb[U+000D]c"
    assert plain("\ud800\ufeff\U000e0041") == "[U+D800][U+FEFF][U+E0041]"


def test_templates_escape_everything_and_print_no_none() -> None:
    environment = _environment()
    assert environment.autoescape is True
    assert environment.from_string("{{ x }}").render(x="<&\"'>") == "&lt;&amp;&#34;&#39;&gt;"
    with pytest.raises(UndefinedError):
        environment.from_string("{{ y }}").render()
    with pytest.raises(TypeError, match="None"):
        environment.from_string("{{ x }}").render(x=None)


def test_no_template_turns_escaping_off() -> None:
    for name in _environment().list_templates():
        if not name.endswith(".j2"):
            continue
        source, _, _ = _environment().loader.get_source(_environment(), name)
        assert "|safe" not in source.replace(" ", ""), name
        assert "autoescape" not in source, name
