"""The commands of an entrant, and the whole way from a key to a row that counts."""

from __future__ import annotations

import http.server
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from beforehand.book.checkpoint import VerifierKey
from beforehand.book.folder import DirectoryFolder
from beforehand.book.options import Options
from beforehand.book.reader import BookReader
from beforehand.book.verify import verify_folder
from beforehand.cli import entrant, intake, submitting
from beforehand.publish.fold import fold_book
from beforehand.publish.rows import build_rows
from beforehand.records.lineup import Lineup
from beforehand.stages.draining import drain_inbox
from beforehand.stages.submission import Submission
from tests.relay.made_league import AFTER, RUN, MadeLeague, make_league
from tests.relay.served import served

app = typer.Typer()
app.add_typer(entrant.app, name="entrant")
app.command("submit", epilog=submitting.SUBMIT_EPILOG)(submitting.submit)
app.add_typer(submitting.receipt_app, name="receipt")
app.command("intake", epilog=intake.EPILOG)(intake.intake)


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def league(tmp_path: Path) -> MadeLeague:
    """A league whose entrant ada has a key file with its public half beside it."""
    made = make_league(tmp_path / "league")
    public = made.folder / "ada.pem.pub"
    public.write_text(made.keys["ada"].verifier.text() + "\n")
    return made


@pytest.fixture
def sheet(league: MadeLeague, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "mine.csv"
    path.write_text(f"question,p\nq1,0.10\n{league.ids[1][5:15]},0.5\n{league.ids[2]},1\n")
    yield path


def kept(sheet: Path, end: str) -> list[Path]:
    return sorted(sheet.parent.glob(f"mine.*.{end}"))


# ---- a key


def test_a_key_is_made_once_and_what_is_printed_goes_into_a_roster(tmp_path: Path) -> None:
    path = tmp_path / "ada.pem"
    made = run("entrant", "key", "ada", "--out", path)
    assert made.exit_code == 0, made.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    toml = made.output[made.output.index("[[entrants]]") :]
    (seat,) = Lineup.of(tomllib.loads(toml)).seats()
    assert (seat.forecaster, seat.entry) == ("ada", "accepted")
    assert VerifierKey.parse(seat.key or "").name == "ada"
    assert "PRIVATE" not in made.output
    again = run("entrant", "key", "ada", "--out", path)
    assert again.exit_code == 2
    assert run("entrant", "key", "a/b", "--out", tmp_path / "x").exit_code == 2
    assert not (tmp_path / "x").exists()


# ---- handing in


def test_a_sheet_is_signed_handed_in_and_its_receipt_kept(league: MadeLeague, sheet: Path) -> None:
    done = run("submit", sheet, "--dir", league.folder, "--key", league.folder / "ada.pem")
    assert done.exit_code == 0, done.output
    assert "beforehand-receipt/1" in done.output
    (signed,), (receipt,) = kept(sheet, "json"), kept(sheet, "receipt")
    submission = Submission.parse(signed.read_bytes())
    assert submission.is_signed_by(league.keys["ada"].verifier)
    assert [cell.p for cell in submission.forecasts] == ["0.10", "0.5", "1"]
    assert submission.sha256[:12] in signed.name
    assert receipt.read_text() in done.output
    again = run("submit", signed, "--dir", league.folder)
    assert again.exit_code == 0
    assert receipt.read_text() in again.output


def test_the_same_over_http(league: MadeLeague, sheet: Path) -> None:
    key = league.folder / "ada.pem"
    with served(league) as server:
        done = run("submit", sheet, "--to", server.url, "--key", key)
        assert done.exit_code == 0, done.output
        other = run("submit", sheet, "--to", server.url, "--key", key, "--forecaster", "eve")
        assert other.exit_code == 2
        assert "403" in other.output
        assert run("submit", sheet, "--to", server.url, "--key", key, "--run", "x").exit_code == 2
    assert len(kept(sheet, "receipt")) == len(kept(sheet, "json")) == 1
    gone = run("submit", sheet, "--to", server.url, "--key", key)
    assert gone.exit_code == 2
    assert "RemoteError" in gone.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give one of --dir and --to"),
        (["--to", "http://league.example"], "give an https address"),
        (["--to", "ftp://league.example"], "give an https address"),
        (["--dir", "."], "holds no declared league"),
    ],
)
def test_what_is_missing_is_said(sheet: Path, words: list[str], says: str) -> None:
    done = run("submit", sheet, *words)
    assert done.exit_code == 2
    assert says in done.output


def test_nothing_is_half_written_where_a_sheet_is_wrong(league: MadeLeague, sheet: Path) -> None:
    sheet.write_text(f"question,p\nq1,0.10\n{league.ids[1]},50%\n")
    done = run("submit", sheet, "--dir", league.folder, "--key", league.folder / "ada.pem")
    assert done.exit_code == 2
    assert "line 3: '50%' is a percentage" in done.output
    assert not kept(sheet, "json")
    assert not (league.folder / "inbox").exists()
    assert run("submit", sheet, "--dir", league.folder).exit_code == 2


def test_a_key_without_its_public_half_needs_a_name(league: MadeLeague, sheet: Path) -> None:
    key = league.folder / "eve.pem"
    done = run("submit", sheet, "--dir", league.folder, "--key", key)
    assert done.exit_code == 2
    assert "--forecaster" in done.output
    named = run("submit", sheet, "--dir", league.folder, "--key", key, "--forecaster", "eve")
    assert named.exit_code == 0, named.output
    (league.folder / "eve.pem.pub").write_text(league.keys["ada"].verifier.text())
    wrong = run("submit", sheet, "--dir", league.folder, "--key", key)
    assert "not the public half" in wrong.output


def words(done: Result) -> str:
    return " ".join(done.output.split())


def test_every_refusal_names_what_and_what_to_do(league: MadeLeague, sheet: Path) -> None:
    ada, here = league.folder / "ada.pem", ["--dir", league.folder]
    mallory = league.folder / "mallory.pem"
    signed = sheet.with_name("signed.json")

    def submitted(file: Path, *more: object) -> str:
        done = run("submit", file, *here, *more)
        assert done.exit_code == 2, done.output
        assert "Traceback" not in done.output
        return words(done)

    assert f"{sheet.with_name('none.csv')} is not a file: give a submission" in submitted(
        sheet.with_name("none.csv"), "--key", ada
    )
    assert "is a sheet and is signed here: give your key, --key FILE" in submitted(sheet)
    assert "there is no signing key at" in submitted(
        sheet, "--key", sheet.with_name("x.pem"), "--forecaster", "ada"
    )
    assert "ask the operator to register you for the next roster" in submitted(
        sheet, "--key", mallory, "--forecaster", "mallory"
    )
    assert "sign this very content with that key" in submitted(
        sheet, "--key", mallory, "--forecaster", "ada"
    )
    said = submitted(sheet, "--key", ada, "--run", "another")
    assert f"give --run one of: {RUN} until 2026-01-01T02:00:00Z" in said
    signed.write_bytes(league.submission(run="another").data())
    assert "lists the open ones, sign it for one of those" in submitted(signed)
    signed.write_text('{"format": "x"}')
    said = submitted(signed)
    assert f"{signed}: format: must be" in said and "docs/reference/submission.md" in said
    sheet.write_text("question,p\nnothing,0.5\n")
    said = submitted(sheet, "--key", ada)
    assert f"{sheet}: line 2: 'nothing' names no question of this run" in said
    assert f"it asks {league.ids[0]}, " in said
    assert not kept(sheet, "receipt")


def test_late_is_said_and_a_sheet_waits_for_the_next_run(league: MadeLeague, sheet: Path) -> None:
    ada, signed = league.folder / "ada.pem", sheet.with_name("signed.json")
    league.clock.step_to("2026-01-01T01:55:00Z")
    done = run("submit", sheet, "--dir", league.folder, "--key", ada)
    assert done.exit_code == 0
    assert "NEARLY LATE: a line is promised by 2026-01-01T02:05:00Z" in words(done)
    league.clock.step_to(AFTER)
    signed.write_bytes(league.submission().data())
    done = run("submit", signed, "--dir", league.folder)
    assert done.exit_code == 0
    assert f"LATE: the run {RUN} is over. This is kept as late and does not count" in words(done)
    done = run("submit", sheet, "--dir", league.folder, "--key", ada)
    assert done.exit_code == 2
    assert "takes no answers now, because no run is open; try again when" in words(done)


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """A web server that is no intake."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path.startswith("/page/") else 404)
        self.end_headers()
        self.wfile.write(b"<h1>hello</h1>")

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_what_is_no_intake_is_named_with_its_address(league: MadeLeague, sheet: Path) -> None:
    key = ["--key", league.folder / "ada.pem"]
    away = run("submit", sheet, "--to", "http://127.0.0.1:9", *key)
    assert away.exit_code == 2
    assert "http://127.0.0.1:9 cannot be reached (" in words(away)
    assert "ask the operator whether the intake is up, then try again" in words(away)
    for bad in ("https://", "https://[", "http://127.0.0.1:x"):
        done = run("submit", sheet, "--to", bad, *key)
        assert (done.exit_code, "is no address: give one" in words(done)) == (2, True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        done = run("submit", sheet, "--to", base, *key)
        assert f"{base} said 404, no reason given" in words(done)
        done = run("submit", sheet, "--to", f"{base}/page", *key)
        assert f"the reply of {base}/page/v1/runs is no JSON object: it is not an" in words(done)
        server.shutdown()


# ---- the receipt


def test_a_receipt_is_checked_against_public_files(
    league: MadeLeague, sheet: Path, tmp_path: Path
) -> None:
    run("submit", sheet, "--dir", league.folder, "--key", league.folder / "ada.pem")
    (receipt,) = kept(sheet, "receipt")
    key = league.league_key().verifier.text()
    early = league.publish_bare(tmp_path / "early", "2026-01-01T00:00:01Z")
    done = run("receipt", "check", receipt, early)
    assert (done.exit_code, "TOO EARLY" in done.output) == (2, True)
    broken = run("receipt", "check", receipt, league.publish_bare(tmp_path / "b", AFTER), "--json")
    assert broken.exit_code == 1
    value = json.loads(broken.output)
    assert (value["state"], value["operator_checked"]) == ("broken", False)
    with league.pen() as pen:
        drain_inbox(pen, league.folder)
    public = league.publish_bare(tmp_path / "public", AFTER)
    good = run("receipt", "check", receipt, public, "--key", key)
    assert (good.exit_code, "KEPT" in good.output) == (0, True)
    assert "NOT CHECKED" not in good.output
    assert "operator: NOT CHECKED" in run("receipt", "check", receipt, public).output
    wrong = run("receipt", "check", receipt, public, "--key", league.keys["ada"].verifier.text())
    assert (wrong.exit_code, "nothing is shown" in wrong.output) == (2, True)
    receipt.write_text(receipt.read_text().replace("ada", "eve"))
    assert run("receipt", "check", receipt, public).exit_code == 2


# ---- the whole way


def test_a_submission_counts_beside_the_others_and_the_book_verifies(tmp_path: Path) -> None:
    """First valid counts, a second does not, a late one is late; each is kept."""
    from beforehand.cli.publication import publish_league
    from beforehand.stages.inbox import Inbox

    league = make_league(tmp_path / "league", named=False)
    box, key = Inbox(league.folder), league.league_key()
    for made in (league.submission(p="0.7"), league.submission(p="0.1"), league.submission("eve")):
        box.accept(made, key, league.clock.now())
        with league.pen() as pen:
            drain_inbox(pen, league.folder)
        if made.forecaster == "ada":
            continue
        league.clock.step_to(AFTER)
        box.accept(league.submission("eve", p="0.9"), key, league.clock.now())
    with league.pen() as pen:
        drain_inbox(pen, league.folder)
        pen.checkpoint()
        publish_league(league.book, pen.key, tmp_path / "public", pen.now()[0], lambda *_: None)
    reader = BookReader(league.book)
    rows = build_rows(fold_book(reader.lines(), reader.read_body))
    states = {(row.forecaster, row.p, row.status) for row in rows if row.question == league.ids[0]}
    assert {
        ("ada", "0.7", "open"),
        ("ada", "0.1", "not_counted"),
        ("eve", "0.62", "open"),
        ("eve", "0.9", "late"),
    } <= states
    report = verify_folder(DirectoryFolder(tmp_path / "public"), Options(as_of=AFTER))
    assert report.findings == []


# ---- the server as a process


def test_the_intake_is_a_process_that_ends_when_it_is_told(
    league: MadeLeague, sheet: Path, tmp_path: Path
) -> None:
    script = tmp_path / "intake.py"
    script.write_text(
        "import typer\nfrom beforehand.cli.intake import intake\n"
        "app = typer.Typer()\napp.command()(intake)\napp()\n"
    )
    secret = {"BEFOREHAND_WEBHOOK_URL": "https://hooks.example/T0KEN-5f3a9c"}
    with subprocess.Popen(
        [sys.executable, str(script), str(league.folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **secret, "COLUMNS": "200"},
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", first)
        assert found, first
        done = run("submit", sheet, "--to", found[0], "--key", league.folder / "ada.pem")
        assert done.exit_code == 0, done.output
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=20)[0]
    assert process.returncode == 0, rest
    with league.pen() as pen:
        assert drain_inbox(pen, league.folder).sealed == 1
    assert "T0KEN" not in first + rest
    for path in league.folder.rglob("*"):
        assert path.is_dir() or b"T0KEN" not in path.read_bytes()
    assert RUN in done.output
