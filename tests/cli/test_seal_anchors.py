"""`beforehand seal --settings DIR`: every anchor that takes one lone file, and `reveal` of each."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from beforehand.anchors.anchor import CHECKS, REFUSED, UNCHECKED, Subject
from beforehand.anchors.seal_witness import SealRecord, check_cosigned_seal, is_cosigned_seal
from beforehand.anchors.trust_files import read_public_key
from beforehand.book.checkpoint import VerifierKey
from beforehand.book.cosignature import WitnessKey
from beforehand.clock import SystemClock
from beforehand.errors import FormatError
from beforehand.relay.witness_logs import FollowedLogs
from beforehand.stages.lone_seal import read_seal
from beforehand.stages.seal_log import SealLog
from beforehand.testing.local_evm import LocalEvm, find_anvil
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.served import Served
from tests.relay.witness_world import HandClock, new_witness, served_witness

from .test_sealing import AWAY, Said, note

__all__ = ["note"]  # the fixture


def settled(folder: Path, *lines: str) -> Path:
    """A folder of settings."""
    place = folder / "mine"
    place.mkdir(exist_ok=True)
    (place / "settings.toml").write_text("[anchors]\n" + "\n".join(lines) + "\n", "utf-8")
    return place


def trusted(folder: Path, name: str, data: bytes) -> None:
    path = folder / "trust" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.mark.parametrize("version", [1, 2])
def test_an_entry_in_a_log(note: Path, tmp_path: Path, version: int) -> None:
    log = LocalRekor(SystemClock(), version=version)
    with Served(log.serve) as served:
        mine = settled(tmp_path, f'rekor = "{served.url}"', f"rekor_version = {version}")
        done = Said("seal", note, "--stamp", "rekor", "--settings", mine)
    assert (done.code, "rekor: has answered" in done.out) == (0, True), done.out + done.err
    assert "no log is trusted" in Said("reveal", f"{note}.seal", "--trust", mine).out
    trusted(tmp_path, "trusted_root.json", log.trusted_root())
    own = (mine / "keys/rekor.pub.pem").read_bytes()
    trusted(tmp_path, "signers/mine.pem", own)
    assert read_public_key(own)
    shown = Said("reveal", f"{note}.seal", "--trust", "trust")
    assert (shown.code, "rekor: checks: rekor.invalid holds it" in shown.out) == (0, True)
    timed = Said("reveal", f"{note}.seal", "--trust", "trust", "--require-time").code
    assert timed == (0 if version == 1 else 2), "version 2 states no time, and none is taken"
    other = LocalRekor(SystemClock(), version=version)
    trusted(tmp_path, "trusted_root.json", other.trusted_root())
    assert Said("reveal", f"{note}.seal", "--trust", "trust").code == 1


def test_a_log_under_another_key_than_the_pinned_one_is_queued(note: Path, tmp_path: Path) -> None:
    log, other = LocalRekor(SystemClock()), LocalRekor(SystemClock())
    key = base64.b64encode(other.log.public).decode()
    with Served(log.serve) as served:
        mine = settled(tmp_path, f'rekor = "{served.url}"', f'rekor_key = "{key}"')
        done = Said("seal", note, "--stamp", "rekor", "--settings", mine)
    assert done.code == 2
    assert "is queued" in done.out and "no proof by the pinned key" in done.out


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_commit_in_a_repository_of_somebody_else(note: Path, tmp_path: Path) -> None:
    far, clone = tmp_path / "far.git", tmp_path / "trust" / "clone"
    new = ["git", "init", "--quiet", "--bare", "--initial-branch=main", str(far)]
    subprocess.run(new, check=True)
    mine = settled(tmp_path, f'git = "{far}"')
    done = Said("seal", note, "--stamp", "git", "--settings", mine)
    assert (done.code, "git: has answered" in done.out) == (0, True), done.out + done.err
    subprocess.run(["git", "clone", "--quiet", str(far), str(clone)], check=True)
    trusted(tmp_path, "clones.json", json.dumps({str(far): {"path": "clone"}}).encode())
    shown = Said("reveal", f"{note}.seal", "--trust", "trust")
    assert (shown.code, f"git: checks: {far} holds it at commit" in shown.out) == (0, True)
    assert "existed no later than: not shown" in shown.out, "a commit's date is its author's word"
    forged = note.with_name("note.txt.seal")
    forged.write_bytes(forged.read_bytes().replace(b'"at": "20', b'"at": "19', 1))
    assert Said("reveal", forged, "--trust", "trust").code == 1


@pytest.mark.skipif(not find_anvil(), reason="anvil is not installed")
def test_a_transaction_on_a_chain(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalEvm(tmp_path / "evm", chain=424_242) as chain:
        lines = (f'evm = "{chain.url}"', "evm_chain = 424242", "evm_depth = 3")
        mine = settled(tmp_path, *lines)
        words = ("--stamp", "evm", "--settings", mine)
        assert "BEFOREHAND_EVM_KEY is not set" in " ".join(Said("seal", note, *words).err.split())
        monkeypatch.setenv("BEFOREHAND_EVM_KEY", chain.key.hex())
        done = Said("seal", note, *words)
        assert (done.code, "evm: has promised" in done.out) == (0, True), done.out + done.err
        chain.mine(4)
        later = Said("seal", "--upgrade", f"{note}.seal", *words)
        assert (later.code, "evm: has answered" in later.out) == (0, True), later.out + later.err
        seal = f"{note}.seal"
        asked = Said("blocks", seal, "--trust", "trust", "--evm-node", chain.url)
        assert asked.code == 0, asked.out + asked.err
    shown = Said("reveal", seal, "--trust", "trust", "--require-time")
    assert (shown.code, "evm: checks: block" in shown.out) == (0, True), shown.out


def test_a_cosignature_of_two_witnesses_of_three(note: Path, tmp_path: Path) -> None:
    clock = HandClock(SystemClock().now())
    folders = [tmp_path / f"w{n}" for n in range(2)]
    keys = [new_witness(each, name=f"witness.example/{each.name}") for each in folders]
    third = new_witness(tmp_path / "w2", name="witness.example/w2")
    with served_witness(folders[0], clock) as one, served_witness(folders[1], clock) as two:
        urls = [one.url, two.url, AWAY]
        listed = ", ".join(
            f'{{ url = "{url}", key = "{key.text()}" }}'
            for url, key in zip(urls, [*keys, third], strict=True)
        )
        mine = settled(tmp_path, f"witnesses = [{listed}]", "witness_quorum = 2")
        words = ("--stamp", "witness", "--settings", mine)
        done = Said("seal", note, *words)
        assert (done.code, "witness: has not answered, and is queued" in done.out) == (2, True)
        log = VerifierKey.parse((mine / "seals/verifier.txt").read_text().strip())
        assert FollowedLogs(folders[0]).add(log.name, log)
        done = Said("seal", "--upgrade", f"{note}.seal")
        assert "witness: not asked: name the folder with its settings.toml" in done.out
        # Of a seal that waits for witnesses alone, nobody else is asked.
        done = Said("seal", "--upgrade", f"{note}.seal", "--settings", mine)
        assert (done.code, "witness: has promised" in done.out) == (0, True), done.out
        assert f"Later: beforehand seal --upgrade {note}.seal --settings {mine}" in done.out
        assert len(read_seal(Path(f"{note}.seal")).stamps) == 1
        # Meanwhile another seal is made, so that the first witness is ahead of the second.
        other = note.with_name("other.txt")
        other.write_bytes(b"another\n")
        Said("seal", other, *words)
        assert FollowedLogs(folders[1]).add(log.name, log)
        for each in (other, note):
            done = Said("seal", "--upgrade", f"{each}.seal", *words)
            assert (done.code, "witness: has answered" in done.out) == (0, True), done.out
    third_note = note.with_name("third.txt")
    third_note.write_bytes(b"a third\n")
    with served_witness(folders[0], clock) as one:
        keep = mine / "settings.toml"
        keep.write_text(keep.read_text().replace(urls[0], one.url))
        Said("seal", third_note, *words)
    done = Said("seal", "--upgrade", f"{third_note}.seal", *words)
    assert read_seal(Path(f"{third_note}.seal")).stamps[0].state == "pending", "one of two"
    shown = Said("reveal", f"{note}.seal")
    assert (shown.code, "no witness is trusted" in shown.out) == (0, True)
    trusted(tmp_path, "witnesses.txt", "".join(f"{key.text()}\n" for key in keys).encode())
    for each, place in ((note, "seal 1 of 2"), (other, "seal 2 of 2")):
        shown = Said("reveal", f"{each}.seal", "--trust", "trust", "--require-time")
        assert shown.code == 0, shown.out
        assert "witness: checks: 2 of 2 witnesses cosigned seals.beforehand/" in shown.out
        assert place in shown.out
    # The evidence of one seal says nothing of another.
    evidence = read_seal(Path(f"{note}.seal")).stamps[0].data
    statement = read_seal(Path(f"{other}.seal")).statement()
    verdict = check_cosigned_seal(
        evidence, Subject.of_bytes(statement), keys, 2, "2100-01-01T00:00:00Z"
    )
    assert verdict.result == REFUSED
    strangers: tuple[tuple[list[WitnessKey], str], ...] = (([third], UNCHECKED), ([], UNCHECKED))
    statement = read_seal(Path(f"{note}.seal")).statement()
    for known, result in (*strangers, (keys, CHECKS)):
        subject = Subject.of_bytes(statement)
        found = check_cosigned_seal(evidence, subject, known, 1, "2100-01-01T00:00:00Z")
        assert found.result == result


def test_a_seal_s_log_only_grows_and_a_seal_stands_in_it_once(tmp_path: Path) -> None:
    log = SealLog.keep(tmp_path / "seals")
    assert [log.add(b"a"), log.add(b"b"), log.add(b"a"), log.add(b"c")] == [0, 1, 0, 2]
    again = SealLog.keep(tmp_path / "seals")
    assert (again.verifier, again.note()) == (log.verifier, log.note())
    (tmp_path / "seals/leaves").write_bytes(b"x" * 33)
    with pytest.raises(FormatError, match="not a list of hashes"):
        again.note()


@pytest.mark.parametrize(
    ("word", "lines", "what"),
    [
        ("git", (), "settings.toml lacks anchors.git"),
        ("witness", (), "settings.toml lacks anchors.witnesses"),
        ("evm", (), "settings.toml lacks anchors.evm"),
        ("rekor", ("rekor_version = 2",), "settings.toml lacks anchors.rekor"),
        ("rekor", ('rekor_key = "?"',), "not base64"),
        ("git", ("gti = 1",), "gti"),
    ],
)
def test_what_an_anchor_lacks_is_said_and_nothing_is_written(
    note: Path, tmp_path: Path, word: str, lines: tuple[str, ...], what: str
) -> None:
    done = Said("seal", note, "--stamp", word, "--settings", settled(tmp_path, *lines))
    assert (done.code, what in " ".join(done.err.split())) == (2, True), done.err
    assert not note.with_name("note.txt.seal").exists()


def test_addresses_of_the_settings_stand_in_for_the_public_ones(note: Path, tmp_path: Path) -> None:
    mine = settled(tmp_path, f'calendars = ["{AWAY}"]', f'authorities = {{ mine = "{AWAY}" }}')
    done = Said("seal", note, "--settings", mine)
    assert (done.code, done.out.count("is queued")) == (2, 2)
    assert "rfc3161:127.0.0.1:9: has not answered" in done.out


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"index": -1}, "a number from 0"),
        ({"index": True}, "a number from 0"),
        ({"path": "AAAA"}, "at most 63 hashes"),
        ({"path": [7]}, "at most 63 hashes"),
        ({"path": ["?"]}, "not base64"),
        ({"path": ["AAAA"] * 64}, "at most 63 hashes"),
        ({"cosigned": {}}, "not a record of cosignatures"),
        ({"more": 1}, "not a record of a cosigned seal"),
        ({"kind": "git"}, "not a record of a cosigned seal"),
    ],
)
def test_a_record_of_another_form_is_refused(change: dict[str, object], what: str) -> None:
    whole = {"kind": "cosigned-seal", "index": 0, "path": [], "cosigned": {}}
    with pytest.raises(FormatError, match=what):
        SealRecord.parse(json.dumps({**whole, **change}).encode())
    assert not is_cosigned_seal(b"{") and not is_cosigned_seal(b"[]")
