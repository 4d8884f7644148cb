"""The ladder of claims: its fourth and sixth rungs are reached by evidence and by nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beforehand.book.checkpoint import VerifierKey, sign_note
from beforehand.errors import FormatError
from beforehand.publish.conformance.conform import conform_folder
from beforehand.publish.conformance.outside import CHECKS, Judgement
from beforehand.publish.conformance.replication import REPLICATION_FORMAT, replication_text
from beforehand.publish.stamps import publish_replications
from beforehand.records.codec import digest
from beforehand.stages.key import SigningKey
from beforehand.testing.memory_folder import MemoryFolder
from beforehand.testing.mutants_files import BASE, Files, Operator, chain, render, sign_files
from beforehand.testing.mutants_league import AS_OF, Draft, ref, valid_league

RECORD = f"{BASE}/replications/other/replication.json"
CODE = b"print('a second pipeline')\n"


def judged(files: Files) -> dict[str, Any]:
    opened = lambda piece, data, subject: Judgement(CHECKS, "opened", AS_OF)  # noqa: E731
    report = conform_folder(MemoryFolder(files), AS_OF, judge=opened)
    assert not [item for item in report["requirements"] if item["status"] == "FAIL"]
    return report


def rung(files: Files, number: int) -> dict[str, Any]:
    told: dict[str, Any] = judged(files)["claims"]["rungs"][number - 1]
    return told


def confirmed(change: Callable[[Draft], None] | None = None) -> Draft:
    """The valid league, every outcome confirmed by a second source at the book's end."""
    draft = valid_league()
    at = draft.lines[-1]["at"]
    outcomes = {line["question"]: line["outcome"] for line in draft.of_kind("resolution")}
    other = draft.line("correction")["outcome"]
    outcomes[draft.line("q2/outcome")["question"]] = other
    for line in draft.of_kind("resolution"):
        raw = f"agency B: {line['question']} {outcomes[line['question']]}\n".encode()
        draft.add(
            f"{line['_label']}/second", at, "confirmation",
            bodies=[draft.body("evidence", raw, at)], question=line["question"],
            value=outcomes[line["question"]], instant=line["instant"], source="Agency B",
            line=ref(line["_label"]),
        )  # fmt: skip
    if change is not None:
        change(draft)
    return draft


def published(draft: Draft, more: Files | None = None) -> Files:
    operator = Operator.of(1)
    files = {**render(draft, operator), **(more or {})}
    return sign_files(files, chain(draft, operator).raws, operator)


def test_every_outcome_with_a_second_source_reaches_the_fourth_rung() -> None:
    report = judged(published(confirmed()))
    assert report["claims"]["reached"] == 5
    fourth = report["claims"]["rungs"][3]
    assert fourth["reached"] and "copy one another" in fourth["leaves_open"]
    bare = rung(published(valid_league()), 4)
    assert not bare["reached"] and bare["why"].startswith("0 of 15 outcomes carry")


def _same_source(draft: Draft) -> None:
    line = draft.line("q3/outcome/second")
    line["source"] = "  MADE-UP "


def _no_evidence(draft: Draft) -> None:
    draft.line("q3/outcome/second")["bodies"] = []


def _first_evidence(draft: Draft) -> None:
    draft.line("q3/outcome/second")["bodies"] = draft.line("q3/outcome")["bodies"]


def _missing(draft: Draft) -> None:
    draft.lines.remove(draft.line("q3/outcome/second"))


def _other_line(draft: Draft) -> None:
    draft.line("q3/outcome/second")["line"] = ref("q4/outcome")


def _uncorrected(draft: Draft) -> None:
    draft.line("q2/outcome/second")["value"] = draft.line("q2/outcome")["outcome"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_same_source, "14 of 15"),
        (_no_evidence, "14 of 15"),
        (_first_evidence, "14 of 15"),
        (_missing, "14 of 15"),
        (_other_line, "14 of 15"),
        (_uncorrected, "and 1 differ (line "),
    ],
)
def test_one_outcome_less_leaves_it(change: Callable[[Draft], None], words: str) -> None:
    told = rung(published(confirmed(change)), 4)
    assert not told["reached"] and words in told["why"]


# ---- the sixth rung


def record(files: Files, key: SigningKey, **changed: Any) -> dict[str, Any]:
    """What a second pipeline sends: its figures are those of the board it recomputed."""
    board = json.loads(files[f"{BASE}/leaderboard.json"])
    value = {
        "format": REPLICATION_FORMAT,
        "release": {
            "release": "2026-01-09",
            "manifest_sha256": digest(b"the manifest of the frozen release"),
        },
        "by": "second.example",
        "key": key.verifier.text(),
        "code": {"file": "pipeline.py", "sha256": digest(CODE)},
        "figures": [
            {
                "forecaster": entry["forecaster"],
                "n_counted": entry["n_counted"],
                "brier": entry["brier"]["mean"] + "0",
            }
            for entry in board["forecasters"]
            if entry["brier"]["mean"]
        ],
        **changed,
    }
    note = sign_note(replication_text(value), key.verifier, key.sign)
    return {**value, "note": note}


def replicated(value: dict[str, Any], code: bytes = CODE) -> Files:
    more = {
        RECORD: json.dumps(value).encode(),
        RECORD.replace("replication.json", "pipeline.py"): code,
    }
    return published(confirmed(), more)


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return SigningKey.make("second.example/pipeline", tmp_path / "second.pem")


def test_a_second_pipeline_reaches_the_sixth_rung(key: SigningKey) -> None:
    value = record(published(confirmed()), key)
    report = judged(replicated(value))
    assert report["claims"]["reached"] == 6
    assert "copied from the published ones" in report["claims"]["rungs"][5]["leaves_open"]


def test_without_a_record_the_reason_names_what_is_looked_for() -> None:
    assert "replications/NAME/replication.json" in rung(published(confirmed()), 6)["why"]


def _unsigned(value: dict[str, Any]) -> dict[str, Any]:
    return {**value, "by": "somebody else"}


def _figure(name: str, of: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(value: dict[str, Any]) -> dict[str, Any]:
        figures = [dict(each) for each in value["figures"]]
        figures[0][name] = of
        return {**value, "figures": figures}

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_figure("brier", "0.123456"), "its Brier score is"),
        (_figure("brier", "NaN"), "its Brier score is"),
        (_figure("n_counted", 1), "forecasts count there"),
        (lambda value: {**value, "figures": value["figures"][1:]}, "no figure of"),
        (lambda value: {**value, "release": {"manifest_sha256": "00" * 32}}, "no line of the book"),
        (lambda value: {**value, "code": {"file": "other.py", "sha256": "00" * 32}}, "beside it"),
        (lambda value: {**value, "by": ""}, "by whom"),
        (lambda value: {**value, "format": "x"}, "format is not"),
    ],
)
def test_what_does_not_hold_is_named(
    key: SigningKey, change: Callable[[dict[str, Any]], dict[str, Any]], words: str
) -> None:
    value = change(record(published(confirmed()), key))
    value.pop("note")
    value["note"] = sign_note(replication_text(value), key.verifier, key.sign)
    told = rung(replicated(value), 6)
    assert not told["reached"] and words in told["why"], told["why"]


def test_a_record_changed_after_it_was_signed_shows_nothing(key: SigningKey) -> None:
    value = {**record(published(confirmed()), key), "by": "somebody else"}
    assert "over another record" in rung(replicated(value), 6)["why"]


def test_the_league_itself_is_no_second_pipeline(key: SigningKey) -> None:
    operator, files = Operator.of(1), published(confirmed())
    value = {**record(files, key), "key": operator.verifier.text()}
    value.pop("note")
    value["note"] = sign_note(replication_text(value), operator.verifier, operator.sign)
    assert "league's own key" in rung(replicated(value), 6)["why"]
    own = files[f"{BASE}/recount.py"]
    value = record(files, key, code={"file": "pipeline.py", "sha256": digest(own)})
    assert "code is the league's own" in rung(replicated(value, own), 6)["why"]
    assert VerifierKey.parse(value["key"]) == key.verifier


def test_what_second_pipelines_sent_is_published(tmp_path: Path) -> None:
    sent = tmp_path / "replications" / "other"
    sent.mkdir(parents=True)
    (sent / "replication.json").write_bytes(b"{}")
    (sent / "pipeline.py").write_bytes(CODE)
    (sent / "link.py").symlink_to(sent / "pipeline.py")
    assert publish_replications(tmp_path / "replications", tmp_path / "base") == 2
    assert (tmp_path / "base/replications/other/pipeline.py").read_bytes() == CODE
    assert publish_replications(tmp_path / "none", tmp_path / "base") == 0
    with (sent / "big").open("wb") as stream:
        stream.truncate((4 << 20) + 1)
    with pytest.raises(FormatError, match="over"):
        publish_replications(tmp_path / "replications", tmp_path / "base")
