"""A web archive that answers as the Wayback Machine does."""

from __future__ import annotations

import hashlib
import json

import pytest

from beforehand.anchors.anchor import CHECKS, REFUSED, UNCHECKED, Evidence
from beforehand.anchors.archive import MEDIA, WebArchive
from beforehand.anchors.trust import Trust
from beforehand.book.stamped_list import ListedBook, StampedList
from beforehand.errors import RemoteError
from beforehand.testing.served import Asked, Served, Told
from tests.anchors.conftest import NOTE, OTHER_NOTE

PAGE = "https://league.example/api/v1/l/checkpoint"
STAMP = "20261130120000"
DIGEST = hashlib.sha256(NOTE).digest()
LATER = "2027-01-01T00:00:00Z"


def archive(content: bytes, header: str = "Location") -> Served:
    def serve(asked: Asked) -> Told:
        if asked.path.startswith("/save/"):
            return Told(302, headers={header: f"/web/{STAMP}/{PAGE}"})
        if asked.path.startswith(f"/web/{STAMP}id_/"):
            return Told(200, content)
        return Told(404)

    return Served(serve)


@pytest.mark.parametrize("header", ["Location", "Content-Location"])
@pytest.mark.parametrize("content", [NOTE, f"<p>{DIGEST.hex()}</p>".encode()])
def test_a_capture(content: bytes, header: str) -> None:
    with archive(content, header) as served:
        own = WebArchive(PAGE, served.url)
        evidence = own.submit(NOTE)
    assert (evidence.media, own.upgrade(evidence)) == (MEDIA, evidence)
    verdict = own.check(evidence, DIGEST, Trust(), LATER)
    assert verdict.result == CHECKS
    assert (verdict.not_after, verdict.level) == (None, "1")
    assert verdict.claimed == "2026-11-30T12:00:00Z"
    assert "time by the archive's word" in verdict.words
    other = hashlib.sha256(OTHER_NOTE).digest()
    assert own.check(evidence, other, Trust(), LATER).result == REFUSED
    assert own.check(evidence, DIGEST, Trust(), "2026-01-01T00:00:00Z").result == UNCHECKED
    pending = Evidence("archive", "pending", evidence.data, MEDIA)
    assert own.check(pending, DIGEST, Trust(), LATER).result == UNCHECKED


def test_the_list_is_captured_where_the_public_folder_has_it() -> None:
    listed = StampedList((ListedBook("api/v1/x/book.jsonl", 7, "ab" * 32, "cd" * 32),)).data()
    place = "/api/v1/x/stamps/7/list.txt"
    public = {"now": b"not yet"}
    with Served(lambda asked: Told(200 if asked.path == place else 404, public["now"])) as site:
        page = site.url + place

        def serve(asked: Asked) -> Told:
            if asked.path == f"/save/{page}":
                return Told(302, headers={"Location": f"/web/{STAMP}/{page}"})
            return Told(200 if asked.path == f"/web/{STAMP}id_/{page}" else 404, public["now"])

        with Served(serve) as served:
            own = WebArchive(site=site.url + "/", endpoint=served.url)
            with pytest.raises(RemoteError, match="does not show this list yet") as caught:
                own.submit(listed)
            assert caught.value.retryable
            public["now"] = listed
            evidence = own.submit(listed)
    digest = hashlib.sha256(listed).digest()
    assert own.check(evidence, digest, Trust(), LATER).result == CHECKS


def test_a_capture_of_something_else_is_no_evidence() -> None:
    with archive(OTHER_NOTE) as served, pytest.raises(RemoteError, match="does not show"):
        WebArchive(PAGE, served.url).submit(NOTE)


def test_an_archive_that_names_no_capture() -> None:
    with archive(NOTE, "X-Other") as served, pytest.raises(RemoteError) as caught:
        WebArchive(PAGE, served.url).submit(NOTE)
    assert caught.value.retryable


@pytest.mark.parametrize(
    "change",
    [{"stamp": "20261130120001"}, {"stamp": "20261399120000"}, {"content": 3}, {"kind": ""}],
)
def test_a_record_that_contradicts_itself(change: dict[str, object]) -> None:
    with archive(NOTE) as served:
        own = WebArchive(PAGE, served.url)
        record = json.loads(own.submit(NOTE).data)
    if change.get("stamp") == "20261399120000":
        record["capture"] = record["capture"].replace(STAMP, "20261399120000")
    forged = Evidence("archive", "complete", json.dumps({**record, **change}).encode(), MEDIA)
    assert own.check(forged, DIGEST, Trust(), LATER).result == UNCHECKED
