"""A web archive's capture of the published note: present, and dated by the archive's word.

The archive is asked as the Wayback Machine is (`/save/PAGE`, capture address
`/web/YYYYMMDDhhmmss/PAGE`); the endpoint is the operator's to name.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass

from beforehand.anchors.anchor import (
    COMPLETE,
    Evidence,
    Subject,
    Verdict,
    unchecked,
)
from beforehand.anchors.capture import CAPTURE, check_capture, shows
from beforehand.anchors.transport import SECONDS, Answer, exchange
from beforehand.anchors.trust import Trust
from beforehand.book.stamped_list import StampedList
from beforehand.errors import RemoteError

MEDIA = "application/vnd.beforehand.capture+json"
MAX_CAPTURE_BYTES = 512 << 10


@dataclass(frozen=True)
class WebArchive:
    """An archive as an anchor.

    `page` is where the note, or its digest, is published; with "" it is below
    `site`, where the public folder is served, at the stamped list's own place.
    """

    page: str = ""
    endpoint: str = "https://web.archive.org"
    name: str = "archive"
    seconds: float = 120.0
    site: str = ""

    def submit(self, note: bytes) -> Evidence:
        """A capture that shows the note; RemoteError where it does not."""
        base, page = self.endpoint.rstrip("/"), self.page or list_page(self.site, note)
        sha256 = hashlib.sha256(note).digest()
        if self.site and not shows(_published(page), sha256):
            raise RemoteError(f"{page} does not show this list yet", retryable=True)
        saved = exchange(f"{base}/save/{page}", seconds=self.seconds)
        saved.expect(200, 301, 302, 303)
        stamp = _stamp(saved)
        # `id_` asks for the bytes as captured, without the archive's own frame.
        raw = exchange(
            f"{base}/web/{stamp}id_/{page}", limit=MAX_CAPTURE_BYTES, seconds=SECONDS
        ).expect(200)
        if not shows(raw, sha256):
            raise RemoteError(f"the capture {stamp} of {page} does not show the note")
        record = {
            "kind": "web-archive",
            "page": page,
            "capture": f"{base}/web/{stamp}/{page}",
            "stamp": stamp,
            "content": base64.b64encode(raw).decode("ascii"),
        }
        return Evidence(self.name, COMPLETE, json.dumps(record, sort_keys=True).encode(), MEDIA)

    def upgrade(self, evidence: Evidence) -> Evidence:
        """The same: a capture is complete."""
        return evidence

    def check(self, evidence: Evidence, digest: bytes, trust: Trust, as_of: str) -> Verdict:
        """What the stored capture shows of the note."""
        if evidence.state != COMPLETE:
            return unchecked("pending: nothing was captured yet")
        return check_capture(evidence.data, Subject.of_digest(digest), as_of)


def list_page(site: str, note: bytes) -> str:
    """Where a stamped list lies below the address at which the public folder is served."""
    book = StampedList.parse(note).book_at()
    folder = book.path.rpartition("/")[0]
    place = f"{folder}/stamps/{book.lines}/list.txt".lstrip("/")
    return f"{site.rstrip('/')}/{place}"


def _published(page: str) -> bytes:
    """What stands there now: an archive is not asked for what is not published yet."""
    return exchange(page, limit=MAX_CAPTURE_BYTES, seconds=SECONDS).expect(200)


def _stamp(saved: Answer) -> str:
    """The capture's time stamp from the archive's answer."""
    for header in ("location", "content-location"):
        match = CAPTURE.search(saved.headers.get(header, ""))
        if match is not None:
            return match["stamp"]
    raise RemoteError(f"{saved.url}: the archive names no capture", retryable=True)
