"""A text sealed without a league: the two files, the stamps, and what cheating runs into."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.anchors.anchor import CHECKS, COMPLETE, REFUSED, UNCHECKED, Evidence
from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.transport import exchange
from beforehand.anchors.trust import BitcoinTrust, Trust
from beforehand.book.bodies import SealedBody
from beforehand.book.seal_file import (
    QUEUED,
    SealFile,
    Stamp,
    opened,
    read_opening,
    sealed_opening,
)
from beforehand.clock import SystemClock
from beforehand.errors import FormatError, IntegrityError, RemoteError, RuleError
from beforehand.records.codec import digest
from beforehand.stages.lone_seal import (
    opening_path,
    read_seal,
    restamp,
    reveal,
    seal_content,
    seal_path,
)
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served

TEXT = "rain on Friday: 0.62 – π\n".encode()
LATER = "2030-01-01T00:00:00Z"
SALT = "5a" * 32


class Still:
    """A clock that shows one instant."""

    simulated = False

    def __init__(self, instant: str = "2026-01-05T12:00:00Z") -> None:
        self.instant = instant

    def now(self) -> str:
        return self.instant


@dataclass
class Moody:
    """An anchor that fails, promises, then keeps its promise."""

    name: str = "moody"
    asked: list[bytes] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def submit(self, note: bytes) -> Evidence:
        self.asked.append(note)
        return self._next()

    def upgrade(self, evidence: Evidence) -> Evidence:
        self.asked.append(evidence.data)
        return self._next()

    def _next(self) -> Evidence:
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return Evidence(self.name, *answer, "x")


@pytest.fixture(scope="module")
def tsa(tmp_path_factory: pytest.TempPathFactory) -> LocalTsa:
    return LocalTsa(tmp_path_factory.mktemp("tsa"))


@pytest.fixture
def tsa_url(tsa: LocalTsa) -> Iterator[str]:
    with Served(tsa.serve) as served:
        yield served.url


@pytest.fixture
def calendar() -> Iterator[LocalCalendar]:
    calendar = LocalCalendar(SystemClock())
    with Served(calendar.serve) as served:
        calendar.url = served.url
        yield calendar


def made(folder: Path, content: bytes = TEXT, clock: Any = None, by: str = "ada") -> Path:
    path = folder / "note.txt"
    seal_content(content, path, clock or Still(), by)
    return seal_path(path)


def opening_of(seal: Path) -> bytes:
    return opening_path(seal).read_bytes()


# ---- the two files


def test_the_public_file_is_the_hash_of_the_secret_one(tmp_path: Path) -> None:
    place = made(tmp_path)
    seal = read_seal(place)
    assert seal.commitment == digest(opening_of(place))
    assert seal.at == "2026-01-05T12:00:00Z"
    assert json.loads(place.read_bytes())["evidence"] == []
    body = opened(seal, opening_of(place))
    assert (body.content, body.run, body.forecaster) == (TEXT, "note.txt", "ada")
    assert b"rain" not in place.read_bytes()


def test_the_secret_file_is_the_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        place = opening_path(made(tmp_path))
    finally:
        os.umask(old)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["note.txt.opening", "note.txt.seal"]


def test_one_text_has_another_commitment_each_time(tmp_path: Path) -> None:
    """Nobody finds a short text by trying: the salt is 32 random bytes."""
    seals = set()
    for name in "ab":
        (tmp_path / name).mkdir()
        seals.add(read_seal(made(tmp_path / name)).commitment)
    assert len(seals) == 2


def test_neither_file_is_ever_overwritten(tmp_path: Path) -> None:
    place = made(tmp_path)
    before = place.read_bytes(), opening_of(place)
    with pytest.raises(RuleError, match=r"never overwritten; .*--upgrade"):
        made(tmp_path)
    place.rename(tmp_path / "elsewhere")
    with pytest.raises(RuleError, match="of something else"):
        made(tmp_path, b"another text\n")
    with pytest.raises(RuleError, match="of something else"):
        made(tmp_path, by="bob")
    assert opening_of(place) == before[1]
    (tmp_path / "elsewhere").rename(place)
    assert place.read_bytes() == before[0]


def test_an_opening_whose_writer_was_killed_is_taken_up(tmp_path: Path) -> None:
    place = made(tmp_path)
    seal, data = read_seal(place), opening_of(place)
    place.unlink()
    assert read_seal(made(tmp_path)) == seal
    assert opening_of(place) == data


KILLED = """
import sys, os
from pathlib import Path
from beforehand.stages.lone_seal import seal_content
class Clock:
    simulated = False
    def now(self):
        return "2026-01-05T12:00:00Z"
real, calls = getattr(os, sys.argv[2]), []
def stop(*given, **more):
    calls.append(given)
    if len(calls) == int(sys.argv[3]):
        os.kill(os.getpid(), 9)
    return real(*given, **more)
setattr(os, sys.argv[2], stop)
seal_content(b"rain", Path(sys.argv[1]), Clock(), "ada")
"""


@pytest.mark.parametrize(
    ("call", "time"),
    [("fdopen", 1), ("link", 1), *(("fsync", time) for time in range(1, 4)), ("replace", 1)],
)
def test_killed_anywhere_the_same_command_goes_on(tmp_path: Path, call: str, time: int) -> None:
    path = tmp_path / "note.txt"
    words = [sys.executable, "-c", KILLED, str(path), call, str(time)]
    done = subprocess.run(words, check=False, timeout=60, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    seal = seal_content(b"rain", path, Still(), "ada")
    assert opened(seal, opening_of(seal_path(path))).content == b"rain"


# ---- stamps


def test_the_statement_is_what_is_stamped_and_never_the_text(tmp_path: Path) -> None:
    place = made(tmp_path)
    anchor = Moody(answers=[("pending", b"promise")])
    seal = restamp(place, [anchor], Still("2026-01-05T12:00:01Z"))
    said = f"beforehand-seal/1\n{seal.commitment}\n2026-01-05T12:00:00Z\n".encode()
    assert anchor.asked == [said] == [seal.statement()]
    assert seal == read_seal(place)
    assert seal.stamps == (Stamp("moody", "pending", "2026-01-05T12:00:01Z", b"promise"),)


def test_a_failure_is_queued_a_promise_stays_one_and_the_end_is_kept(tmp_path: Path) -> None:
    place, clock = made(tmp_path), Still()
    anchor = Moody(
        answers=[
            RemoteError("away\x1b[31m\n", retryable=True),
            RuleError("not installed"),
            ("pending", b"p"),
            ("pending", b"p"),
            RemoteError("away again"),
            ("complete", b"c"),
        ]
    )
    states = []
    for _ in range(8):
        (stamp,) = restamp(place, [anchor], clock).stamps
        states.append((stamp.state, stamp.data, stamp.reason))
    assert states == [
        ("queued", b"", "away [31m "),
        ("queued", b"", "not installed"),
        ("pending", b"p", ""),
        ("pending", b"p", ""),
        ("pending", b"p", "away again"),
        ("complete", b"c", ""),
        ("complete", b"c", ""),
        ("complete", b"c", ""),
    ]
    assert len(anchor.asked) == 6


def test_each_answer_is_on_disk_before_the_next_anchor_is_asked(tmp_path: Path) -> None:
    place = made(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        good, killed = ("complete", b"1"), KeyboardInterrupt()
        restamp(place, [Moody("first", answers=[good]), Moody("b", answers=[killed])], Still())
    assert [stamp.anchor for stamp in read_seal(place).stamps] == ["first"]


def test_a_real_token_checks_and_shows_the_time(
    tmp_path: Path, tsa: LocalTsa, tsa_url: str
) -> None:
    place = made(tmp_path)
    seal = restamp(place, [TimeStampAuthority("rfc3161:local", tsa_url)], SystemClock())
    assert [stamp.state for stamp in seal.stamps] == [COMPLETE]
    trust = Trust(authorities=(tsa.authority,))
    found = reveal(seal, opening_of(place), trust, LATER)
    assert (found.exit_code, found.verdicts[0][1].result) == (0, CHECKS)
    assert found.not_after is not None and found.not_after > "2026-01-05"
    assert found.body is not None and found.body.content == TEXT
    unknown = reveal(seal, opening_of(place), Trust(), LATER)
    assert unknown.not_after is None


def test_a_real_calendar_promises_then_anchors(tmp_path: Path, calendar: LocalCalendar) -> None:
    own = OpenTimestamps(calendars=(calendar.url,), trusted=(calendar.url,))
    place = made(tmp_path)
    (stamp,) = restamp(place, [own], Still()).stamps
    assert stamp.state == "pending"
    found = reveal(read_seal(place), opening_of(place), Trust(), LATER)
    assert (found.exit_code, found.not_after) == (0, None)
    assert "pending" in found.verdicts[0][1].words
    exchange(calendar.url + "/mine", b"{}").expect(200)
    (stamp,) = restamp(place, [own], Still()).stamps
    assert stamp.state == COMPLETE
    headers = BitcoinTrust(dict(calendar.chain.headers), least_difficulty=0)
    found = reveal(read_seal(place), opening_of(place), Trust(bitcoin=headers), LATER)
    assert (found.exit_code, found.verdicts[0][1].result) == (0, CHECKS)
    assert found.not_after is not None
    unshown = reveal(read_seal(place), opening_of(place), Trust(), LATER)
    assert (unshown.exit_code, unshown.not_after) == (0, None)


# ---- cheating


def test_attack_another_text_shown_for_the_seal(tmp_path: Path) -> None:
    """Caught by: the commitment."""
    place = made(tmp_path)
    seal, data = read_seal(place), opening_of(place)
    for other in (
        data.replace(b"0.62", b"0.92"),
        data + b"\n",
        sealed_opening(TEXT, "note.txt", "ada", SALT),
        b"",
        TEXT,
    ):
        found = reveal(seal, other, Trust(), LATER)
        assert (found.exit_code, found.body) == (1, None)
        assert "the seal commits to" in found.problem
    assert reveal(seal, None, Trust(), LATER).exit_code == 2


def test_attack_a_commitment_to_what_is_no_opening() -> None:
    """Caught by: the header, so that a text without a salt is never shown as sealed."""
    unlike = SealedBody("example.org/blind/book", "r1", "ada", "answer", SALT, TEXT).data()
    for data in (TEXT, unlike):
        found = reveal(SealFile(digest(data), "2026-01-05T12:00:00Z"), data, Trust(), LATER)
        assert (found.exit_code, found.result, found.body) == (1, REFUSED, None)
        with pytest.raises(FormatError):
            read_opening(data)


def test_attack_back_dated_at(tmp_path: Path, tsa: LocalTsa, tsa_url: str) -> None:
    """Caught by: the statement, which holds `at`: the token is for another one."""
    place = made(tmp_path)
    seal = restamp(place, [TimeStampAuthority("rfc3161:local", tsa_url)], SystemClock())
    earlier = replace(seal, at="2025-01-01T00:00:00Z")
    found = reveal(earlier, opening_of(place), Trust(authorities=(tsa.authority,)), LATER)
    assert (found.exit_code, found.not_after) == (1, None)


def test_attack_a_swapped_proof(tmp_path: Path, tsa: LocalTsa, tsa_url: str) -> None:
    """Caught by: the imprint; a token over another seal fits none but that."""
    (tmp_path / "b").mkdir()
    first, second = made(tmp_path), made(tmp_path / "b", b"another\n")
    anchor = TimeStampAuthority("rfc3161:local", tsa_url)
    stamped = restamp(first, [anchor], SystemClock())
    swapped = replace(read_seal(second), stamps=stamped.stamps)
    found = reveal(swapped, opening_of(second), Trust(authorities=(tsa.authority,)), LATER)
    assert (found.exit_code, found.body is not None, found.not_after) == (1, True, None)


def test_attack_a_promise_shown_as_anchored(tmp_path: Path, calendar: LocalCalendar) -> None:
    """Caught by: the proof's own bytes, whatever the file says of it."""
    own = OpenTimestamps(calendars=(calendar.url,), trusted=(calendar.url,))
    place = made(tmp_path)
    seal = restamp(place, [own], Still())
    (stamp,) = seal.stamps
    found = reveal(seal.stamped(replace(stamp, state=COMPLETE)), opening_of(place), Trust(), LATER)
    assert found.verdicts[0][1].result == REFUSED
    assert (found.exit_code, found.not_after) == (1, None)


def test_what_is_queued_or_said_to_be_pending_proves_no_time(
    tmp_path: Path, tsa: LocalTsa, tsa_url: str
) -> None:
    place = made(tmp_path)
    (good,) = restamp(place, [TimeStampAuthority("rfc3161:local", tsa_url)], SystemClock()).stamps
    trust = Trust(authorities=(tsa.authority,))
    queued = Stamp("x", QUEUED, good.at, reason="away")
    said_pending = replace(good, state="pending")
    for stamp in (queued, said_pending):
        seal = replace(read_seal(place), stamps=(stamp,))
        found = reveal(seal, opening_of(place), trust, LATER)
        assert found.verdicts[0][1].result == UNCHECKED
        assert (found.exit_code, found.not_after) == (0, None)


def test_a_clock_that_was_ahead_is_told_and_the_evidence_stands(
    tmp_path: Path, tsa: LocalTsa, tsa_url: str
) -> None:
    place = made(tmp_path, clock=Still("2029-01-01T00:00:00Z"))
    seal = restamp(place, [TimeStampAuthority("rfc3161:local", tsa_url)], SystemClock())
    found = reveal(seal, opening_of(place), Trust(authorities=(tsa.authority,)), LATER)
    assert found.exit_code == 0
    assert any("that clock was ahead" in note for note in found.verdicts[0][1].notes)


# ---- the form


GOOD = SealFile(
    "ab" * 32,
    "2026-01-05T12:00:00Z",
    (
        Stamp("ots", "pending", "2026-01-05T12:00:01Z", b"p"),
        Stamp("tsa", QUEUED, "2026-01-05T12:00:01Z", reason="away"),
    ),
)


def test_what_is_written_is_read_back() -> None:
    assert SealFile.parse(GOOD.data()) == GOOD


def changed(change: dict[str, Any]) -> bytes:
    value = json.loads(GOOD.data())
    for path, item in change.items():
        held: Any = value
        *steps, last = path.split(".")
        for step in steps:
            held = held[int(step)] if step.isdigit() else held[step]
        if item is None:
            del held[last]
        else:
            held[last] = item
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "beforehand-seal/2"},
        {"format": None},
        {"commitment": "AB" * 32},
        {"commitment": 3},
        {"at": "2026-01-05"},
        {"at": 3},
        {"more": 1},
        {"evidence": {}},
        {"evidence": [1]},
        {"evidence": [{}] * 65},
        {"evidence.0.state": "anchored"},
        {"evidence.0.state": "queued"},
        {"evidence.0.data": "AA"},
        {"evidence.0.data": None},
        {"evidence.0.anchor": "A b"},
        {"evidence.0.anchor": "tsa"},
        {"evidence.0.more": "x"},
        {"evidence.1.data": "AAAA"},
        {"evidence.1.at": None},
    ],
    ids=str,
)
def test_a_seal_of_another_form_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        SealFile.parse(changed(change))


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_a_seal_or_a_format_error(data: bytes) -> None:
    with suppress(FormatError):
        SealFile.parse(data)
    with suppress(FormatError, IntegrityError):
        opened(GOOD, data)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beforehand.book.seal_file.MAX_SEALED_BYTES", 10)
    with pytest.raises(FormatError, match="limit"):
        made(tmp_path, b"x" * 11)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FormatError, match="limit"):
        SealFile.parse(b" " * (9 << 20))
    (tmp_path / "big").write_bytes(b" " * (9 << 20))
    with pytest.raises(FormatError, match="limit"):
        read_seal(tmp_path / "big")
