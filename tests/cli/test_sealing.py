"""`beforehand seal` and `beforehand reveal`, as docs/seal.md shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beforehand.anchors.lone import check_evidence
from beforehand.anchors.transport import exchange
from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import write_authority
from beforehand.cli.blocks import blocks
from beforehand.cli.sealing import reveal_seal, seal
from beforehand.clock import SystemClock
from beforehand.stages.lone_seal import read_seal
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.local_tsa import LocalTsa
from beforehand.testing.served import Served

app = typer.Typer()
app.command()(seal)
app.command("reveal")(reveal_seal)
app.command()(blocks)
AWAY = "http://127.0.0.1:9"  # the discard port: nobody listens


class Said:
    def __init__(self, *words: object, give: str | bytes = "") -> None:
        done = CliRunner().invoke(app, [str(word) for word in words], input=give)
        self.code, self.out, self.err = done.exit_code, done.stdout, done.stderr
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "note.txt"
    path.write_bytes(b"rain on Friday: 0.62\n")
    return path


@pytest.fixture
def tsa(tmp_path: Path) -> LocalTsa:
    tsa = LocalTsa(tmp_path / "tsa")
    write_authority(tmp_path / "trust" / "tsa" / "local", tsa.authority)
    return tsa


@pytest.fixture
def calendar() -> Iterator[LocalCalendar]:
    calendar = LocalCalendar(SystemClock())
    with Served(calendar.serve) as served:
        calendar.url = served.url
        yield calendar


def test_sealed_and_revealed_without_a_connection(note: Path) -> None:
    done = Said("seal", note, "--no-stamp", "--by", "ada")
    assert (done.code, "sealed: " in done.out) == (0, True)
    shown = Said("reveal", f"{note}.seal")
    assert shown.code == 0
    assert "this is what was sealed: note.txt by ada, 21 bytes" in shown.out
    assert "rain on Friday: 0.62" in shown.out
    assert "no evidence: nobody else was asked" in shown.out
    assert "existed no later than: not shown" in shown.out
    assert Said("reveal", f"{note}.seal", "--require-time").code == 2


def test_standard_input_has_a_name(note: Path) -> None:
    assert Said("seal", "-", "--no-stamp", "--name", "idea", give="0.3\n").code == 0
    assert (note.parent / "idea.seal").is_file()
    assert "0.3" in Said("reveal", "idea.seal").out
    assert Said("seal", "-", "--no-stamp", "--name", "../idea", give="x").code == 2


def test_stamped_by_both_then_completed(
    note: Path, tmp_path: Path, tsa: LocalTsa, calendar: LocalCalendar
) -> None:
    with Served(tsa.serve) as served:
        done = Said("seal", note, "--calendar", calendar.url, "--authority", served.url)
    assert done.code == 0, done.out + done.err
    assert "opentimestamps: has promised; nothing is anchored yet" in done.out
    assert "has answered" in done.out
    exchange(calendar.url + "/mine", b"{}").expect(200)
    headers = {str(height): raw.hex() for height, raw in calendar.chain.headers.items()}
    (tmp_path / "trust/bitcoin-headers.json").write_text(json.dumps(headers))
    later = Said(
        *("seal", "--upgrade", f"{note}.seal", "--stamp", "opentimestamps"),
        *("--calendar", calendar.url, "--json"),
    )
    told = json.loads(later.out)
    assert (later.code, {each["state"] for each in told["evidence"]}) == (0, {"complete"})
    words = ("reveal", f"{note}.seal", "--trust", "trust", "--require-time")
    refused = Said(*words)  # a regtest block is of no difficulty: it is not taken for Bitcoin's
    assert (refused.code, "difficulty 0 is below" in refused.out) == (1, True)
    shown = Said(*words, "--rehearsal")
    assert shown.code == 0, shown.out
    assert "existed no later than: 20" in shown.out
    assert shown.out.count("checks: ") == 2


def test_an_anchor_that_is_away_is_queued_and_said_so(note: Path) -> None:
    done = Said("seal", note, "--calendar", AWAY, "--authority", AWAY)
    assert done.code == 2
    assert done.out.count("has not answered, and is queued") == 2
    assert f"Later: beforehand seal --upgrade {note}.seal" in done.out
    shown = Said("reveal", f"{note}.seal")
    assert (shown.code, shown.out.count("queued: it has not answered")) == (0, 2)


def test_upgrade_asks_whom_the_seal_waits_for_and_nobody_else(
    note: Path, calendar: LocalCalendar
) -> None:
    Said("seal", note, "--stamp", "rfc3161", "--authority", AWAY)
    (queued,) = read_seal(Path(f"{note}.seal")).stamps
    done = Said("seal", "--upgrade", f"{note}.seal")
    assert (done.code, f"{queued.anchor}: not asked: give its address by" in done.out) == (2, True)
    assert read_seal(Path(f"{note}.seal")).stamps == (queued,), "no public authority was asked"
    done = Said("seal", "--upgrade", f"{note}.seal", "--calendar", calendar.url)
    assert "opentimestamps: has promised" in done.out, "an address that is given is asked"
    assert {each.anchor for each in read_seal(Path(f"{note}.seal")).stamps} == {
        queued.anchor,
        "opentimestamps",
    }


def test_a_seal_is_no_stamp_over_the_file_itself(note: Path) -> None:
    assert Said("seal", note, "--no-stamp").code == 0
    verdict = check_evidence(note, Path(f"{note}.seal"), Trust(), SystemClock().now())
    assert verdict.exit_code == 2
    assert "beforehand reveal FILE.seal --trust DIR opens it" in verdict.text()


def test_the_three_exit_codes_of_reveal(note: Path) -> None:
    Said("seal", note, "--no-stamp")
    opening = note.with_name("note.txt.opening")
    opening.chmod(0o600)
    whole = opening.read_bytes()
    opening.write_bytes(whole.replace(b"0.62", b"0.99"))
    done = Said("reveal", f"{note}.seal")
    assert (done.code, "the seal commits to" in done.out) == (1, True)
    opening.unlink()
    done = Said("reveal", f"{note}.seal", "--json")
    assert (done.code, json.loads(done.out)["problem"]) == (2, "the opening is not there")
    (note.parent / "bad.seal").write_text("{}")
    assert Said("reveal", "bad.seal").code == 2
    assert Said("reveal", "none.seal").code == 2


def test_reveal_says_what_it_was_given_and_where_the_seal_is(note: Path) -> None:
    for given, what in (
        ("note.txt", "note.txt is no seal (not JSON"),
        ("note.txt", "to make one of this file: beforehand seal note.txt"),
        ("none.seal", "none.seal is not a file: give the FILE.seal"),
    ):
        done = Said("reveal", given)
        assert (done.code, what in " ".join(done.err.split())) == (2, True), done.err
    Said("seal", note, "--no-stamp")
    for given in ("note.txt", "note.txt.opening"):
        done = Said("reveal", given)
        assert done.code == 2
        assert "beforehand reveal note.txt.seal" in " ".join(done.err.split())


def test_a_folder_of_trust_that_is_not_there_is_refused(note: Path) -> None:
    Said("seal", note, "--no-stamp")
    done = Said("reveal", "note.txt.seal", "--trust", "nodir")
    assert (done.code, "--trust nodir is not a folder" in done.err) == (2, True)


def test_hostile_text_is_printed_escaped(note: Path) -> None:
    note.write_bytes("\x1b[2J\u202erain :smile: [bold]x[/]\ttab\r\n".encode() + b"second\n")
    Said("seal", note, "--no-stamp", "--by", "\x1b]0;ada\x07")
    done = Said("reveal", f"{note}.seal")
    assert r"\x1b[2J\u202erain :smile: [bold]x[/]\ttab\r" in done.out
    assert "by \\x1b]0;ada\\x07" in done.out
    assert not set(done.out) & {"\x1b", "\u202e", "\x07", "\t", "\r"}


def test_what_is_long_or_no_text_goes_to_a_file(note: Path) -> None:
    note.write_bytes(b"\xff\xfe\x00")
    Said("seal", note, "--no-stamp")
    assert "3 bytes that are no text" in Said("reveal", f"{note}.seal").out
    done = Said("reveal", f"{note}.seal", "--out", "copy.bin")
    assert (done.code, Path("copy.bin").read_bytes()) == (0, b"\xff\xfe\x00")
    assert Said("reveal", f"{note}.seal", "--out", "copy.bin").code == 2
    assert Said("seal", "-", "--no-stamp", give="line\n" * 9000).code == 0
    assert "there is more" in Said("reveal", "note.seal").out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("none.txt", "--no-stamp"), "is not a file"),
        (("note.txt.seal",), "--upgrade"),
        (("note.txt", "--stamp", "archive"), "choose from"),
        (("note.txt", "--stamp", "witness"), "name a folder with a settings.toml by --settings"),
        (("note.txt", "--stamp", "rekor", "--settings", "none"), "no folder with a settings.toml"),
        (("note.txt", "--stamp", ""), "choose from"),
        (("note.txt", "--calendar", "file:///etc/passwd"), "not an http"),
        (("note.txt", "--authority", "x"), "not an http"),
        (("note.txt", "--authority", AWAY, "--authority", AWAY), "one host"),
        (("--upgrade", "none.seal"), "is not a file"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    note: Path, words: tuple[str, ...], what: str
) -> None:
    done = Said("seal", *words)
    assert done.code == 2
    assert what in " ".join(done.err.split())
    assert [path.name for path in note.parent.iterdir()] == ["note.txt"]
