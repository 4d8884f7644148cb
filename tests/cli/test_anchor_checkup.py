"""What doctor says of the anchors' settings, and of what does not answer."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from beforehand.cli.anchor_checkup import examine_anchors
from beforehand.cli.finding import BAD, GOOD, UNCHECKED, WARNING
from beforehand.cli.league_folder import LeagueFolder
from beforehand.clock import SystemClock
from beforehand.leagues import shipped
from beforehand.records.declaration import Declaration
from beforehand.testing.local_calendar import LocalCalendar
from beforehand.testing.served import Served

AWAY = "http://127.0.0.1:9"
KEY = "w1.example.org+6a1c4f43+BNZYvNvFhLBzhBQ6s2d9oY9s0hQ6s2d9oY9s0hQ6s2d9"


def declared(anchors: str) -> Declaration:
    text = shipped()["blind"].decode("utf-8")
    head, _, tail = text.partition("[anchors]\n")
    _, between, rest = tail.partition("margin_minutes")
    assert between, "the shipped declaration states a margin"
    return Declaration.parse(f"{head}[anchors]\n{anchors}\n{between}{rest}".encode(), "made")


def looked(
    folder: Path, anchors: str, settings: str = "", *, offline: bool = False
) -> dict[str, tuple[str, str]]:
    (folder / "settings.toml").write_text(settings, encoding="utf-8")
    found = examine_anchors(LeagueFolder.at(folder), declared(anchors), offline=offline)
    return {each.what: (each.state, each.said) for each in found}


@pytest.fixture
def calendar() -> Iterator[str]:
    made = LocalCalendar(SystemClock())
    with Served(made.serve) as served:
        yield served.url


@pytest.mark.parametrize(
    ("anchors", "settings", "said"),
    [
        ('use = ["git"]', "", "settings.toml lacks anchors.git"),
        ('use = ["archive"]', "", "settings.toml lacks anchors.archive_of: give its address"),
        ('use = ["witness"]', "", "settings.toml lacks anchors.witnesses"),
        (
            'use = ["rfc3161"]\nauthorities = ["mine"]',
            "",
            "settings.toml lacks anchors.authorities.mine",
        ),
        ('use = ["git"]', '[anchors]\ngit = "ext::sh -c x"', "no address that git may be given"),
        (
            'use = ["git"]',
            '[anchors]\ngit = "http://u:secret@x/y"',
            "an https, ssh or file address",
        ),
        ('use = ["rekor"]', "[anchors]\nrekor_version = 2", "settings.toml lacks anchors.rekor"),
        ('use = ["rekor"]', '[anchors]\nrekor_key = "x"', "rekor_key: 'x' is not base64"),
        ('use = ["rekor"]', '[anchors]\nrekor = "https://:80/"', "no http or https address of a"),
        ('use = ["rekor"]', '[anchors]\nrekor = "https://a:99999/"', "no address: Port"),
        (
            'use = ["witness"]',
            f'[[anchors.witnesses]]\nurl = "{AWAY}"\nkey = "{KEY}"',
            "witness 1: ",
        ),
        (
            'use = ["witness"]\nquorum = 3',
            f'[anchors]\nwitness_quorum = 2\nwitnesses = [{{ url = "{AWAY}", key = "none" }}]',
            "witness_quorum is 2, and settings.toml lists 1",
        ),
        (
            'use = ["rfc3161"]\nauthorities = ["freetsa"]\nquorum = 2',
            "",
            "the declared quorum is 2, and it names 1 authority",
        ),
        ('use = ["evm"]', f'[anchors]\nevm = "{AWAY}"', "lacks anchors.evm_chain"),
        ('use = ["evm"]', "[anchors]\nevm_chain = 1", "lacks anchors.evm: give its address"),
        (
            'use = ["evm"]',
            '[anchors]\nevm_chain = 1\nevm = "http://:80/"',
            "BEFOREHAND_EVM_KEY is not set",
        ),
    ],
)
def test_a_setting_that_is_missing_or_none_is_bad(
    tmp_path: Path, anchors: str, settings: str, said: str
) -> None:
    found = looked(tmp_path, anchors, settings, offline=True)
    (state, words) = next(held for what, held in found.items() if what.startswith("anchor "))
    assert state == BAD
    assert said in words
    assert "secret" not in words


def test_the_account_of_a_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = f'[anchors]\nevm = "{AWAY}"\nevm_chain = 1\nevm_depth = 9\nevm_most_gwei = 5'
    monkeypatch.setenv("BEFOREHAND_EVM_KEY", "0xsecret")
    state, said = looked(tmp_path, 'use = ["evm"]', settings, offline=True)["anchor evm"]
    assert (state, "not 32 bytes in hex" in said, "secret" in said) == (BAD, True, False)
    monkeypatch.setenv("BEFOREHAND_EVM_KEY", "11" * 32)
    found = looked(tmp_path, 'use = ["evm"]', settings, offline=True)
    assert found["anchor evm"][0] == UNCHECKED
    assert looked(tmp_path, 'use = ["evm"]', settings)["anchor evm"][0] == WARNING
    idle = looked(tmp_path, "use = []", settings, offline=True)["anchors"][1]
    assert "evm, evm_chain, evm_depth, evm_most_gwei, which" in idle


def test_what_does_not_answer_is_a_warning(tmp_path: Path) -> None:
    found = looked(tmp_path, 'use = ["rekor"]', f'[anchors]\nrekor = "{AWAY}"')
    state, said = found["anchor rekor"]
    assert state == WARNING
    assert said.startswith("not reached now; ticks try again: the log: ")
    gone = looked(tmp_path, 'use = ["git"]', f'[anchors]\ngit = "{tmp_path}/none.git"')
    assert gone["anchor git"][0] == WARNING


def test_what_answers_is_good_and_offline_nothing_is_looked_at(
    tmp_path: Path, calendar: str
) -> None:
    settings = f'[anchors]\ncalendars = ["{calendar}"]'
    found = looked(tmp_path, 'use = ["opentimestamps"]', settings)
    assert found["anchor opentimestamps"] == (GOOD, f"reached: calendar {calendar}")
    found = looked(tmp_path, 'use = ["opentimestamps"]', settings, offline=True)
    assert found["anchor opentimestamps"][0] == UNCHECKED
    repository = tmp_path / "far.git"
    subprocess.run(["git", "init", "--quiet", "--bare", repository], check=True)
    found = looked(tmp_path, 'use = ["git"]', f'[anchors]\ngit = "{repository}"')
    assert found["anchor git"][0] == GOOD


def test_settings_that_nothing_uses_are_said(tmp_path: Path) -> None:
    found = looked(tmp_path, "use = []", f'[anchors]\ngit = "{AWAY}"', offline=True)
    assert found["anchors"] == (
        WARNING,
        "settings.toml has git, which the declaration does not use",
    )
    assert looked(tmp_path, "use = []", offline=True)["anchors"][0] == UNCHECKED
