"""What a stored capture of a web archive shows. Opens no connection.

A stored capture is a copy: whoever stored it could have made it up, and a
reader who wants the archive's word opens the capture's address.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime

from beforehand.anchors.anchor import (
    CHECKS,
    MAX_EVIDENCE_BYTES,
    Subject,
    Verdict,
    refused,
    unchecked,
)
from beforehand.book.checkpoint import strict_base64
from beforehand.clock import instant_key, instant_text
from beforehand.errors import FormatError
from beforehand.records.codec import decode_json

# An archive's address of a capture: time stamp, then the page.
CAPTURE = re.compile(r"/web/(?P<stamp>\d{14})/(?P<page>.+)", re.ASCII | re.DOTALL)

_GAPS = (
    "a record that was made up: open the capture at its address",
    "an archive that errs about the time, or drops the capture",
)


def shows(content: bytes, sha256: bytes) -> bool:
    """Whether the content is the note, or holds its digest in hex."""
    return hashlib.sha256(content).digest() == sha256 or sha256.hex().encode() in content


def parse_capture(data: bytes) -> tuple[str, str, bytes]:
    """The capture's address, the instant it states, and its content."""
    if len(data) > MAX_EVIDENCE_BYTES:
        raise FormatError(f"a capture record over {MAX_EVIDENCE_BYTES} bytes")
    value = decode_json(data)
    if not isinstance(value, dict) or value.get("kind") != "web-archive":
        raise FormatError("not a capture record")
    capture, stamp, content = (value.get(key) for key in ("capture", "stamp", "content"))
    if not isinstance(capture, str) or not isinstance(stamp, str) or not isinstance(content, str):
        raise FormatError("a capture record has a capture, a stamp and content")
    match = CAPTURE.search(capture)
    if match is None or match["stamp"] != stamp:
        raise FormatError("the capture's address and its stamp differ")
    try:
        moment = datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise FormatError(f"{stamp} is no date and time") from None
    return capture, instant_text(moment), strict_base64(content)


def check_capture(data: bytes, subject: Subject, as_of: str) -> Verdict:
    """What a stored capture shows: the note or its digest, at a time by the archive's word."""
    try:
        capture, claimed, content = parse_capture(data)
    except (FormatError, ValueError) as error:
        return unchecked(str(error))
    if not shows(content, subject.sha256):
        return refused("the capture does not show this file")
    if instant_key(claimed) > instant_key(as_of):
        return unchecked(f"the capture is dated {claimed}, after {as_of}")
    words = f"present in {capture}, time by the archive's word"
    return Verdict(CHECKS, words, claimed=claimed, excludes_not=_GAPS, bound=False)
