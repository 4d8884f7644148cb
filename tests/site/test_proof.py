"""The proof pages: every line and stamp of a day, and no more claimed than the files show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from beforehand.anchors.evidence_file import anchor_of
from beforehand.anchors.stated import stated
from beforehand.errors import FormatError
from beforehand.publish.stamps import read_stamps
from beforehand.site import proofdays
from beforehand.site.pages import write_site
from beforehand.site.proofdays import day_of
from tests.site.conftest import Site, written_site
from tests.site.html_check import Page, check_links
from tests.site.leagues import ATTACK, LEAGUE, make_view
from tests.site.stamped import (
    DAY,
    capture_of,
    git_of,
    list_over,
    proof_line,
    stamped,
    token_over,
    with_lines,
)

SHIPPED = Path(__file__).parents[1] / "anchors" / "data"


def page_of(site: Site, name: str) -> Page:
    return site.pages[f"{site.view.league}/proof/{name}.html"]


def words(page: Page) -> str:
    return " ".join(" ".join(page.words).split())


def test_the_pages_are_whole_and_every_link_leads_somewhere(proven: Site) -> None:
    assert {path: page.faults for path, page in proven.pages.items() if page.faults} == {}
    assert check_links(proven.pages, proven.data) == []


def test_every_line_stands_on_its_day_with_seal_and_link(proven: Site) -> None:
    for raw in proven.view.lines:
        line = json.loads(raw)
        page = page_of(proven, line["at"][:10])
        assert f"n{line['n']}" in page.ids
        assert line["seal"] in page.text and line["link"] in page.text


def test_a_day_shows_each_channel_as_what_it_is(proven: Site) -> None:
    said = words(page_of(proven, DAY))
    size, _, root = proven.view.checkpoints[-1]
    assert f"Lines 1 to {size}" in said and root in said
    assert "it names this size and root" in said
    assert re.search(r"local kept 20\d\d-\S+Z by the authority Hours & Sons signer", said)
    assert "opentimestamps pending pending: proves nothing yet" in said
    assert "a commit's time is its author's claim" in said
    assert "2027-03-03T01:02:03Z by the web archive, by this copy" in said
    assert "other kept it was not read: " in said
    assert "The operator makes this page, and it checks nothing." in said
    assert "beforehand verify . --trust TRUST" in said
    assert f"head -n {size} api/v1/{LEAGUE}/book.jsonl | sha256sum" in said


def test_a_failure_is_told_with_its_reason_and_proves_nothing(proven: Site) -> None:
    said = words(page_of(proven, DAY))
    assert "Anchors that gave nothing" in said
    assert re.search(r"line \d+ digicert 4 9 timed out", said)
    early = words(page_of(proven, "2026-01-02"))
    assert re.search(r"digicert failed — none line \d+ failed", early)


def test_what_was_not_asked_or_is_over_another_file_proves_nothing(proven: Site) -> None:
    first, early = words(page_of(proven, "2026-01-01")), words(page_of(proven, "2026-01-02"))
    assert "no list over this checkpoint is published" in first
    assert "it is over something else than this list: it proves nothing of it" in early
    assert "2027-03-02T15:06:40Z by the witness witness.example/w" in early


def test_evidence_given_late_stands_on_the_day_that_it_states(proven: Site) -> None:
    said = words(page_of(proven, DAY))
    assert "Evidence that states this day, over other days’ checkpoints" in said
    late = page_of(proven, "2027-03-03")  # a day without a line
    assert "lines 1 to" in words(late) and "No checkpoint ends on these lines" in words(late)


def test_the_index_lists_the_days_newest_first(proven: Site) -> None:
    page = page_of(proven, "index")
    days = [held["href"][:10] for tag, held in page.refs if re.match(r"\d{4}-", held["href"])]
    assert days == sorted(days, reverse=True) and DAY in days
    assert {f"{LEAGUE}/proof/{day}.html" for day in days} <= set(proven.pages)


def test_book_runs_and_every_footer_lead_to_the_proof(proven: Site) -> None:
    for path, page in proven.pages.items():
        assert any(held["href"].endswith("proof/index.html") for _, held in page.refs) or (
            path.endswith("proof/index.html") or "/proof/" in path
        ), path
    run = proven.pages[f"{LEAGUE}/run/r1.html"]
    assert any(re.search(r"proof/\d{4}-\d\d-\d\d\.html#n\d+$", h["href"]) for _, h in run.refs)


def test_a_long_day_goes_on_over_pages_and_loses_no_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(proofdays, "LINES_A_PAGE", 4)
    held = written_site(make_view(), tmp_path)
    assert check_links(held.pages, held.data) == []
    proof = [page for path, page in held.pages.items() if "/proof/2" in path]
    numbers = [int(name[1:]) for page in proof for name in page.ids if re.fullmatch(r"n\d+", name)]
    assert sorted(numbers) == list(range(1, len(held.view.lines) + 1))
    assert "page 2 of" in words(page_of(held, "2026-01-02-2"))


def test_the_same_files_give_the_same_bytes(proven: Site, tmp_path: Path) -> None:
    for path in write_site(proven.view, tmp_path):
        name = path.relative_to(tmp_path)
        assert path.read_bytes() == (proven.public / name).read_bytes(), name


def test_texts_that_attack_are_shown_and_act_on_nothing(tmp_path: Path) -> None:
    words_ = ATTACK[:150]
    anchored = proof_line(f"{DAY}T08:00:00Z", "made", 4, "failed", reason=words_, attempts=1)
    view = with_lines(make_view(title=ATTACK, words=ATTACK), [anchored])
    size = len(view.lines)
    listed = list_over(view.lines, size).data()
    name = "list.txt.<b>'\"&.json"
    files = {
        size: {
            "list.txt.tsa.tsr": token_over(tmp_path, words_[:40], listed),
            name: capture_of(listed, words_.replace("/web/", "")),
            "list.txt.git.json": git_of(listed, words_[:60]),
        }
    }
    held = written_site(stamped(view, tmp_path / "data", files, (size,)), tmp_path / "public")
    assert {path: page.faults for path, page in held.pages.items() if page.faults} == {}
    assert check_links(held.pages, held.data) == []
    said = page_of(held, DAY).text
    assert "<script>alert(1)</script>" in said and "[U+202E]" in said
    assert "beforehand verify api/v1" in said


def test_a_promise_under_the_name_of_a_proof_is_pending(tmp_path: Path) -> None:
    """Attack: a pending OpenTimestamps proof shown as anchored; its own bytes say what it is."""
    promise = (SHIPPED / "ots" / "incomplete.txt.ots").read_bytes()
    kept = (SHIPPED / "ots" / "hello-world.txt.ots").read_bytes()
    files = {4: {"list.txt.ots": promise}, 6: {"list.txt.ots": kept}}
    view = stamped(make_view(time="live"), tmp_path / "data", files, (4, 6))
    held = written_site(view, tmp_path / "public")
    said = words(page_of(held, "2026-01-02"))
    assert "opentimestamps pending pending: proves nothing yet" in said
    assert "opentimestamps kept it is over something else than this list" in said
    listed = (SHIPPED / "ots" / "hello-world.txt").read_bytes()
    told = stated(kept, listed)
    assert told.fits and not told.promise and told.times == ()
    assert told.words.startswith("Bitcoin block 358391. The time of a block stands in its header")


def test_what_real_evidence_states_of_itself() -> None:
    """A token's genTime, a v1 log's own time, and none of a v2 log but its token's."""
    token = (SHIPPED / "rfc3161" / "digicert" / "file.digicert.tsr").read_bytes()
    file = (SHIPPED / "rfc3161" / "digicert" / "file.txt").read_bytes()
    told = stated(token, file)
    assert told.fits and len(told.times) == 1 and "DigiCert" in told.times[0].clock
    assert stated(token, file + b"x").fits is False
    artifact = (SHIPPED / "sigstore" / "a.txt").read_bytes()
    first = stated(bundle("happy-path-v0.3"), artifact)
    assert first.fits and [time.clock for time in first.times] == ["the log"]
    second = stated(bundle("rekor2-happy-path"), artifact)
    assert second.fits and all("authority" in time.clock for time in second.times)
    none = stated(bundle("rekor2-no-timestamp_fail"), artifact)
    assert none.times == () and "which states no time" in none.words


def bundle(name: str) -> bytes:
    return (SHIPPED / "sigstore" / name / "bundle.sigstore.json").read_bytes()


def test_an_instant_that_is_none_names_no_page(proven: Site) -> None:
    for at in ("", "2026", "../../2026-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "x" * 10_000):
        assert day_of(at) == ""
    raw = json.loads(proven.view.lines[0])
    view = replace(proven.view, lines=(json.dumps({**raw, "at": "../x"}).encode(),))
    assert day_of(json.loads(view.lines[0])["at"]) == ""


def test_evidence_without_its_list_or_over_the_limit_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "stamps" / "3"
    folder.mkdir(parents=True)
    (folder / "list.txt.git.json").write_bytes(b"{}")
    with pytest.raises(FormatError, match=r"holds no list\.txt"):
        read_stamps(tmp_path, stated)
    (folder / "list.txt").write_bytes(b"x" * (1 << 20) + b"x")
    with pytest.raises(FormatError, match="over the limit"):
        read_stamps(tmp_path, stated)


def test_names_say_whose_evidence_is() -> None:
    assert anchor_of("list.txt") is None
    assert anchor_of("other.ots") is None
    assert anchor_of("list.txt.ots") == ("opentimestamps", False)
    assert anchor_of("list.txt.a.b.tsr.pending") == ("a.b", True)
