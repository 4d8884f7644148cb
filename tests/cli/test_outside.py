"""The anchors that a declaration names, as the settings reach them."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from beforehand.anchors.anchor import Anchor
from beforehand.anchors.archive import WebArchive
from beforehand.anchors.evm import EvmChain
from beforehand.anchors.foreign import GitRepository
from beforehand.anchors.opentimestamps import OpenTimestamps
from beforehand.anchors.rekor import Rekor
from beforehand.anchors.rfc3161 import TimeStampAuthority
from beforehand.anchors.trust_files import read_public_key
from beforehand.anchors.witness import Witnesses
from beforehand.book.bodies import body_path
from beforehand.book.manifest import MANIFEST_PATH
from beforehand.book.report import Report
from beforehand.cli.declared import declared_content, with_margin
from beforehand.cli.league_folder import SETTINGS_NAME, LeagueFolder
from beforehand.cli.outside import EVM_KEY_ENV, REKOR_KEY, anchors_of
from beforehand.cli.publication import publish_league
from beforehand.cli.reader_trust import ReaderTrust
from beforehand.clock import Clock, SystemClock
from beforehand.errors import FormatError, RemoteError
from beforehand.publish.stamps import PUBLIC_LOG_KEY, publish_log_key
from beforehand.records.codec import digest, seal_json
from beforehand.relay.witness_logs import FollowedLogs
from beforehand.stages.anchoring import Stamped, cosigned_sizes, seal_proofs, stamp_checkpoint
from beforehand.stages.pen import Pen
from beforehand.testing.local_rekor import LocalRekor
from beforehand.testing.served import Served
from tests.relay.witness_world import HandClock, new_witness, served_witness
from tests.small_league import play_small_league

from .test_anchor_checkup import AWAY, declared
from .test_evidence import quiet


@pytest.fixture
def pen(tmp_path: Path) -> Iterator[Pen]:
    with play_small_league(tmp_path / "league") as made:
        made.checkpoint()
        yield made


def witnesses(folder: Path, number: int) -> str:
    made = [
        new_witness(folder / f"w{n}", name=f"witness.example/w{n}").text() for n in range(number)
    ]
    listed = ", ".join(f'{{ url = "{AWAY}", key = "{key}" }}' for key in made)
    return f"witnesses = [{listed}]"


def made(
    folder: Path, pen: Pen, anchors: str, settings: str = "", clock: Clock | None = None
) -> tuple[list[Anchor], list[str]]:
    (folder / SETTINGS_NAME).write_text(f"[anchors]\n{settings}\n", encoding="utf-8")
    return anchors_of(LeagueFolder.at(folder), declared(anchors), pen, clock or SystemClock())


@pytest.mark.parametrize(
    ("word", "settings", "kind", "names"),
    [
        ("opentimestamps", "", OpenTimestamps, ["opentimestamps"]),
        ("rfc3161", "", TimeStampAuthority, ["freetsa", "digicert", "sectigo"]),
        ("rekor", "", Rekor, ["rekor"]),
        ("rekor", f'rekor = "{AWAY}"\nrekor_version = 2', Rekor, ["rekor"]),
        ("git", f'git = "{AWAY}"', GitRepository, ["git"]),
        ("archive", f'archive_of = "{AWAY}"', WebArchive, ["archive"]),
        ("evm", f'evm = "{AWAY}"\nevm_chain = 1', EvmChain, ["evm"]),
    ],
)
def test_a_word_and_its_anchor(
    tmp_path: Path,
    pen: Pen,
    monkeypatch: pytest.MonkeyPatch,
    word: str,
    settings: str,
    kind: type[Any],
    names: list[str],
) -> None:
    monkeypatch.setenv(EVM_KEY_ENV, "11" * 32)
    anchors, problems = made(tmp_path, pen, f'use = ["{word}"]', settings)
    assert problems == []
    assert [each.name for each in anchors] == names
    assert all(isinstance(each, kind) for each in anchors)


def test_the_log_of_the_settings_is_held_to_the_key_that_they_name(
    tmp_path: Path, pen: Pen
) -> None:
    log = LocalRekor(SystemClock(), version=2)
    with Served(log.serve) as served:
        log = LocalRekor(SystemClock(), version=2, host=served.url.removeprefix("http://"))
        own, other = (
            base64.b64encode(each.log.public).decode()
            for each in (log, LocalRekor(SystemClock(), version=2))
        )
    with Served(log.serve, int(log.host.partition(":")[2])) as served:
        settings = f'rekor = "{served.url}"\nrekor_version = 2\n'
        (anchor,), _ = made(tmp_path, pen, 'use = ["rekor"]', f'{settings}rekor_key = "{own}"')
        done = stamp_checkpoint(pen, tmp_path, [anchor], "2026-01-03T00:00:00Z")
        assert (done.completed, done.problems) == (1, [])
        (anchor,), _ = made(tmp_path, pen, 'use = ["rekor"]', f'{settings}rekor_key = "{other}"')
        with pytest.raises(RemoteError, match="no proof by the pinned key of 127"):
            anchor.submit(b"note")
    for line, said in (
        ("rekor_version = 2", "anchor rekor: settings.toml lacks anchors.rekor: give its address"),
        ('rekor_key = "AAAA"', "anchor rekor: the log's key cannot be read"),
    ):
        anchors, (problem,) = made(tmp_path, pen, 'use = ["rekor"]', line)
        assert (anchors, said in problem) == ([], True)


def test_the_key_of_a_log_is_made_once_for_its_owner_alone(tmp_path: Path, pen: Pen) -> None:
    made(tmp_path, pen, 'use = ["rekor"]')
    path = tmp_path / "league" / REKOR_KEY
    first = path.read_bytes()
    made(tmp_path, pen, 'use = ["rekor"]')
    assert (path.read_bytes(), path.stat().st_mode & 0o077) == (first, 0)


def test_the_public_half_of_the_log_s_key_is_published_and_never_the_private(
    tmp_path: Path, pen: Pen
) -> None:
    keys, base = tmp_path / "league" / "keys", tmp_path / "base"
    assert not publish_log_key(keys, base)
    made(tmp_path, pen, 'use = ["rekor"]')
    public = tmp_path / "public"
    publish_league(tmp_path / "league", pen.key, public, pen.now()[0], quiet)
    (published,) = public.rglob("rekor*")
    name = published.relative_to(public).as_posix()
    assert name.endswith("/keys/rekor.pub.pem")
    listed = json.loads((public / MANIFEST_PATH).read_bytes())["files"]
    assert name in {each["path"] for each in listed}
    private = load_pem_private_key((keys / "rekor.pem").read_bytes(), password=None)
    der = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert read_public_key(published.read_bytes()) == der, "as it is put into signers/"
    shutil.copyfile(keys / "rekor.pem", keys / PUBLIC_LOG_KEY)
    with pytest.raises(FormatError, match="is no public key"):
        publish_log_key(keys, base)
    made(tmp_path, pen, 'use = ["rekor"]')  # put right by the next tick
    assert publish_log_key(keys, base)


def test_the_quorum_of_authorities_is_not_that_of_witnesses(tmp_path: Path, pen: Pen) -> None:
    both = 'use = ["rfc3161", "witness"]\nquorum = 2'
    anchors, problems = made(tmp_path, pen, both, witnesses(tmp_path, 1))
    assert problems == []
    assert [each.need for each in anchors if isinstance(each, Witnesses)] == [1]
    three = witnesses(tmp_path / "more", 3)
    for line, need in (("", 3), ("witness_quorum = 2\n", 2)):
        (anchor,), _ = made(tmp_path, pen, 'use = ["witness"]\nquorum = 2', line + three)
        assert isinstance(anchor, Witnesses) and anchor.need == need
    _, problems = made(tmp_path, pen, 'use = ["witness"]', "witness_quorum = 4\n" + three)
    assert problems == ["anchor witness: 4 of 3 witnesses cannot be asked for"]


def test_a_witness_that_lost_its_state_between_two_ticks_is_noticed(
    tmp_path: Path, pen: Pen
) -> None:
    clock, folder = HandClock(), tmp_path / "w"
    key = new_witness(folder, name="witness.example/w")
    FollowedLogs(folder).add(pen.key.verifier.name, pen.key.verifier)
    shutil.copytree(folder, tmp_path / "old")

    def tick(place: Path, at: str) -> tuple[Witnesses, Stamped]:
        """One tick with anchors made anew, as a process of its own makes them."""
        with served_witness(place, clock) as witness:
            listed = f'witnesses = [{{ url = "{witness.url}", key = "{key.text()}" }}]'
            (anchor,), _ = made(tmp_path, pen, 'use = ["witness"]', listed, clock)
            assert isinstance(anchor, Witnesses)
            return anchor, stamp_checkpoint(pen, tmp_path, [anchor], at)

    assert cosigned_sizes(tmp_path, [key]) == {}
    assert tick(folder, "2026-01-03T00:00:00Z")[1].completed == 1
    size = pen.store.checkpoint_sizes()[-1]
    assert cosigned_sizes(tmp_path, [key]) == {key.name: size}
    assert seal_proofs(pen, tmp_path) == 1
    pen.checkpoint()
    (said,) = tick(tmp_path / "old", "2026-01-04T00:00:00Z")[1].problems
    assert f"cosigned {size} lines before and says 0 now: do not rely on it" in said
    # What is kept is believed by its signatures: another's record says nothing of this witness.
    (record,) = (tmp_path / "stamps").glob("*/list.txt.witness.json")
    other = new_witness(tmp_path / "other", name=key.name)
    assert cosigned_sizes(tmp_path, [other]) == {}
    record.write_bytes(b"{}")
    assert cosigned_sizes(tmp_path, [key]) == {}


def test_one_bad_anchor_leaves_the_others(
    tmp_path: Path, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EVM_KEY_ENV, "secret")
    every = 'use = ["git", "evm", "witness", "rfc3161", "rekor"]\nauthorities = ["mine"]'
    settings = f'evm = "{AWAY}"\nevm_chain = 1\nwitnesses = [{{ url = "{AWAY}", key = "none" }}]'
    anchors, problems = made(tmp_path, pen, every, settings)
    assert [each.name for each in anchors] == ["rekor"]
    assert [said.partition(":")[0] for said in problems] == [
        f"anchor {word}" for word in ("git", "evm", "witness", "rfc3161")
    ]
    assert not any("secret" in said for said in problems)


def test_the_declared_margin_only_ever_adds(tmp_path: Path, pen: Pen) -> None:
    lines, report = list(pen.store.lines()), Report("2027-01-01T00:00:00Z")
    held = declared_content(report, tmp_path / "league", "api/v1/x", lines)
    assert "margin_minutes" not in held[""].get("anchors", {})
    assert declared_content(report, tmp_path, "api/v1/x", lines) == {"": {}}
    assert declared_content(report, tmp_path, "api/v1/x", []) == {}
    assert report.not_checked == []
    given = ReaderTrust()
    for minutes, bitcoin, evm in ((0, 120, 0.25), (60, 120, 60), (600, 600, 600)):
        trust = with_margin(given, {"margin_minutes": minutes}).trust
        assert trust.bitcoin.margin == timedelta(minutes=bitcoin)
        assert trust.evm.margin == timedelta(minutes=evm)
    assert with_margin(given, {}) == given


def test_a_declaration_that_cannot_be_read_is_said_and_not_applied(tmp_path: Path) -> None:
    data = b"[league]\nname = 3\n"
    path = tmp_path / body_path(digest(data))
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    line = seal_json({"kind": "league", "declaration_sha256": digest(data)})
    report = Report("2027-01-01T00:00:00Z")
    assert declared_content(report, tmp_path, "api/v1/x", [line]) == {"": {}}
    (said,) = report.not_checked
    assert said.startswith("api/v1/x/book.jsonl line 1: its declaration")
    assert said.endswith("no margin, quorum, beacon or counted-run rule of it was applied")
