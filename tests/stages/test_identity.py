"""A private league: an unreleased model under a name, revealed later with the earlier proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.bodies import SealedBody, open_sealed
from beforehand.book.options import Options
from beforehand.book.proof_file import Enclosed, ProofFile, check_proof
from beforehand.book.reader import BookReader
from beforehand.book.report import Report
from beforehand.book.verify import verify_folder
from beforehand.errors import FormatError, RuleError
from beforehand.publish.proving import Wanted, prove_line
from beforehand.publish.public import seal_public, write_data
from beforehand.records.codec import digest
from beforehand.records.evidence import Revealed
from beforehand.records.record import BodyRef
from beforehand.records.run import Roster, Seat
from beforehand.stages.declare import reopen_league
from beforehand.stages.identity import IDENTITY, reveal_identity
from beforehand.stages.key import SigningKey
from beforehand.testing.memory_folder import MemoryFolder
from tests.stages.live_world import LiveLeague, MadeModel, answers, fails, live_declaration
from tests.stages.raw_book import lines_of, of_kind

SLOT, NEXT, WEEK = "2026-01-05T10:00:00Z", "2026-01-05T22:00:00Z", "2026-01-12T10:00:00Z"
AS_OF = "2026-01-06T00:00:00Z"
SECRET = "unreleased-9"
ROSTER = f"""format = "beforehand-roster/1"

[[models]]
forecaster = "model-a"
via = "plugin"
plugin = "made-up"
model = "made-up/model-a"
price_ask = "0.01"

[[models]]
forecaster = "model-x"
via = "plugin"
plugin = "made-up"
model = "{SECRET}/instruct"
company = "{SECRET} inc."
side = "labs"
price_ask = "0.01"
identity = "sealed"
"""


def waiting(rule: str) -> dict[str, str]:
    """Changes to the declaration: what names a model waits."""
    return {
        'ask = "line"': f'ask = "{rule}"\nidentity = "{rule}"',
        'reply = "deadline"': f'reply = "{rule}"',
        'reasoning = "deadline"': f'reasoning = "{rule}"',
    }


def begun(folder: Path, rule: str = "never") -> LiveLeague:
    league = LiveLeague.begin(folder, changes=waiting(rule))
    (folder / "roster.toml").write_text(ROSTER, encoding="utf-8")
    says = answers("0.77")

    def behaviour(question: str, attempt: int) -> Any:
        reply = says(question, attempt)
        return replace(
            reply, served_model=f"{SECRET}/instruct", provider=SECRET, raw=SECRET.encode()
        )

    league.models["model-x"] = MadeModel("model-x", behaviour)
    return league


@pytest.fixture
def league(tmp_path: Path) -> LiveLeague:
    made = begun(tmp_path / "live")
    made.tick_at(SLOT)
    made.tick_at(NEXT)
    return made


def book_of(league: LiveLeague) -> Path:
    return league.folder / "league"


def publish(league: LiveLeague, into: Path, as_of: str = AS_OF) -> MemoryFolder:
    with reopen_league(book_of(league), league.clock) as pen:
        pen.checkpoint()
        key = pen.key
    data = write_data(BookReader(book_of(league)), key.verifier, into, as_of)
    seal_public(into, [(data, key.verifier, key.sign)], as_of)
    return MemoryFolder.of(into)


def verified(folder: MemoryFolder, as_of: str = AS_OF) -> Report:
    return verify_folder(folder, Options(as_of=as_of))


def texts(report: Report) -> str:
    return "\n".join(finding.text() for finding in report.findings)


def reveal(league: LiveLeague, seat: str = "model-x") -> list[str]:
    with reopen_league(book_of(league), league.clock) as pen:
        return reveal_identity(pen, seat, "released")


def identities(league: LiveLeague) -> list[dict[str, Any]]:
    rosters = of_kind(lines_of(book_of(league)), "roster")
    return [body for line in rosters for body in line["bodies"] if body["role"] == IDENTITY]


# ---- hidden


def test_the_seat_shows_its_name_alone_and_forecasts_as_any_other(league: LiveLeague) -> None:
    lines = lines_of(book_of(league))
    for roster in of_kind(lines, "roster"):
        assert roster["seats"][1] == {"forecaster": "model-x", "entry": "asked", "side": "labs"}
        assert [body["role"] for body in roster["bodies"]] == ["lineup", IDENTITY]
    said = of_kind(lines, "answer", forecaster="model-x", status="answered")
    assert len(said) == 4
    assert not {"requested_model", "served_model", "provider"} & set().union(*said)
    shown = of_kind(lines, "answer", forecaster="model-a", status="answered")
    assert {line["served_model"] for line in shown} == {"made-up/model-a"}


def test_nothing_that_is_published_names_it(league: LiveLeague, tmp_path: Path) -> None:
    folder = publish(league, tmp_path / "public")
    report = verified(folder)
    assert report.findings == [], texts(report)
    assert report.leagues["blind"]["bodies_private"] > 0
    named = [name for name, data in folder.files.items() if SECRET.encode() in data]
    assert named == []
    assert SECRET not in (book_of(league) / "book.jsonl").read_text()


def test_a_failure_of_a_hidden_model_says_no_more_than_its_code(tmp_path: Path) -> None:
    made = begun(tmp_path / "live")
    broken = fails("auth_or_credit")
    made.models["model-x"].behaviour = lambda question, attempt: replace(
        broken(question, attempt), detail=f"no key for {SECRET}", served_model=SECRET
    )
    made.tick_at(SLOT)
    assert SECRET not in (book_of(made) / "book.jsonl").read_text()


def test_each_run_commits_anew_and_the_cohort_keeps_its_model(league: LiveLeague) -> None:
    held = identities(league)
    assert len(held) == 2 and held[0]["sha256"] != held[1]["sha256"]
    (league.folder / "roster.toml").unlink()  # the cohort is frozen, hidden seats included
    league.tick_at("2026-01-06T10:00:00Z")
    last = of_kind(lines_of(book_of(league)), "roster")[-1]
    assert [seat["forecaster"] for seat in last["seats"]] == ["model-a", "model-x"]


def test_a_league_that_shows_its_asks_at_once_hides_nobody(tmp_path: Path) -> None:
    made = LiveLeague.begin(tmp_path / "live", changes={})
    (made.folder / "roster.toml").write_text(ROSTER, encoding="utf-8")
    (why,) = made.tick_at(SLOT).unready
    assert 'identity = "never", ask = "never"' in why
    assert of_kind(lines_of(book_of(made)), "roster") == []


def test_a_declaration_is_no_place_for_a_secret() -> None:
    change = {'plugin = "made-up"\n': 'plugin = "made-up"\nidentity = "sealed"\n'}
    with pytest.raises(FormatError, match=r"roster\.toml"):
        live_declaration(changes=change)


# ---- revealed


def test_revealed_later_and_the_earlier_proof_still_stands(
    league: LiveLeague, tmp_path: Path
) -> None:
    before = publish(league, tmp_path / "before")
    lines = lines_of(book_of(league))
    roster = of_kind(lines, "roster")[0]["n"]
    answer = of_kind(lines, "answer", forecaster="model-x")[0]["n"]
    proofs = [prove_line(before, None, Wanted(line=n)) for n in (roster, answer)]
    kept = before.files["api/v1/blind/checkpoint"]
    assert [each.name for each in proofs[0].bodies] == []

    found = reveal(league)
    assert found == [body["sha256"] for body in identities(league)]
    assert reveal(league) == []
    assert len(of_kind(lines_of(book_of(league)), "revealed")) == 2
    after = publish(league, tmp_path / "after")
    report = verify_folder(after, Options(as_of=AS_OF, since=kept))
    assert report.findings == [], texts(report)
    for proof in proofs:
        checked = check_proof(ProofFile.parse(proof.data()), Options(as_of=AS_OF))
        assert checked.exit_code == 0
    late = prove_line(after, None, Wanted(line=roster))
    assert late.line == proofs[0].line
    (enclosed,) = late.bodies
    body = open_sealed(enclosed.data)
    assert (body.forecaster, json.loads(body.content)["model"]) == (
        "model-x",
        f"{SECRET}/instruct",
    )
    assert check_proof(late, Options(as_of=AS_OF)).findings == []
    # The early proof and the revealed body go together: that is who had said it by then.
    together = replace(proofs[0], bodies=(Enclosed(IDENTITY, enclosed.data),))
    assert check_proof(together, Options(as_of=AS_OF)).findings == []


def test_an_identity_that_is_due_at_the_deadline_needs_no_line(tmp_path: Path) -> None:
    made = begun(tmp_path / "live", "deadline")
    made.tick_at(SLOT)
    folder = publish(made, tmp_path / "public", "2026-01-05T10:30:00Z")
    assert not any(SECRET.encode() in data for data in folder.files.values())
    assert verified(folder, "2026-01-05T10:30:00Z").findings == []
    folder = publish(made, tmp_path / "later")
    assert any(SECRET.encode() in data for data in folder.files.values())
    assert verified(folder).findings == []


def test_who_was_never_hidden_is_not_revealed(league: LiveLeague) -> None:
    for seat in ("model-a", "nobody"):
        with pytest.raises(RuleError, match="no roster of this book hides"):
            reveal(league, seat)


# ---- attacks, each stating what catches it


def test_attack_revealed_and_then_withheld_again(league: LiveLeague, tmp_path: Path) -> None:
    """Caught by: the `revealed` line, after which the body must be there (step 6)."""
    sha256 = reveal(league)[0]
    folder = publish(league, tmp_path / "public")
    name = f"api/v1/blind/bodies/{sha256[:2]}/{sha256}"
    files = {key: data for key, data in folder.files.items() if key != name}
    assert "was revealed at line" in texts(verified(MemoryFolder(files)))


def test_attack_another_model_shown_as_the_one_behind_the_seat(
    league: LiveLeague, tmp_path: Path
) -> None:
    """Caught by: the hash in the roster line, whose salt nobody can choose afterwards."""
    sha256 = reveal(league)[0]
    folder = publish(league, tmp_path / "public")
    name = f"api/v1/blind/bodies/{sha256[:2]}/{sha256}"
    body = open_sealed(folder.files[name])
    other = replace(body, content=body.content.replace(SECRET.encode(), b"a-good-model")).data()
    report = verified(MemoryFolder({**folder.files, name: other}))
    assert "hashes to" in texts(report)


def add_roster(league: LiveLeague, change: Callable[[SealedBody], SealedBody]) -> None:
    """A roster of another run whose identity body an operator wrote as `change` says."""
    origin = league.declaration.origin
    body = change(SealedBody(origin, "r2", "model-x", IDENTITY, "ab" * 32, b"{}\n"))
    data = body.data()
    seats = (Seat("model-x", "asked"), Seat("model-y", "asked"))
    with reopen_league(book_of(league), league.clock) as pen:
        pen.write(
            lambda at: [
                Roster(
                    at=at,
                    bodies=(BodyRef(IDENTITY, digest(data)),),
                    run="r2",
                    seats=seats,
                    deadline=AS_OF,
                    retry="none",
                    counted_run="none",
                )
            ],
            [data],
        )
        line = pen.store.size
        pen.write(lambda at: [Revealed(at=at, line=line, body_sha256=digest(data), why="x")])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body, ""),
        (lambda body: replace(body, forecaster="model-y"), ""),
        (lambda body: replace(body, forecaster="model-z"), "its header is not of"),
        (lambda body: replace(body, run="r1"), "its header is not of"),
        (lambda body: replace(body, role="answer"), "its header is not of"),
        (lambda body: replace(body, origin="other.example/b/book"), "its header is not of"),
    ],
)
def test_attack_an_identity_of_another_seat_run_or_book(
    league: LiveLeague, tmp_path: Path, change: Callable[[SealedBody], SealedBody], said: str
) -> None:
    """Caught by: the header, which the verifier compares with the roster (step 6)."""
    add_roster(league, change)
    report = verified(publish(league, tmp_path / "public"))
    assert said in texts(report) and bool(report.findings) == bool(said)


def test_attack_an_enclosed_identity_of_nobody_on_the_roster(
    league: LiveLeague, tmp_path: Path
) -> None:
    reveal(league)
    folder = publish(league, tmp_path / "public")
    roster = of_kind(lines_of(book_of(league)), "roster")[0]["n"]
    proof = prove_line(folder, None, Wanted(line=roster))
    other = SealedBody("o", "r", "f", IDENTITY, "ab" * 32, b"{}").data()
    report = check_proof(replace(proof, bodies=(Enclosed(IDENTITY, other),)), Options(as_of=AS_OF))
    assert "is not one the line names" in texts(report)


@pytest.mark.parametrize("line", [1, 99_999])
def test_a_reveal_of_what_the_line_does_not_name_is_found(
    league: LiveLeague, tmp_path: Path, line: int
) -> None:
    sha256 = identities(league)[0]["sha256"]
    with reopen_league(book_of(league), league.clock) as pen:
        pen.write(lambda at: [Revealed(at=at, line=line, body_sha256=sha256, why="x")])
        assert isinstance(pen.key, SigningKey)
    assert "does not name" in texts(verified(publish(league, tmp_path / "public")))
