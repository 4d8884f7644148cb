"""Sigstore bundles of real logs, offline: the conformance suite, and a second opinion."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from beforehand.anchors.anchor import CHECKS, REFUSED, UNCHECKED, Subject
from beforehand.anchors.bundle import parse_bundle
from beforehand.anchors.bundle_check import check_bundle
from beforehand.anchors.hashed_entry import parse_hashed_entry
from beforehand.anchors.trust import Trust
from beforehand.errors import FormatError
from tests.anchors.shipped import AS_OF, SIGSTORE, shared_bundles, sigstore_trust

# Sigstore refuses these because of who signed, or because no time is there. An
# anchor answers when something existed: the first is checked and says that
# whose key it was was not; the second is in the log, at no proved time.
WHO_NOT_WHEN = {"managed-key-no-key_fail"}
NO_TIME = {"rekor2-no-timestamp_fail"}

# Attestations (DSSE): not a signature over a file, and not what an anchor makes.
OTHER_KINDS = {
    "happy-path-intoto-in-dsse-v3",
    "intoto-with-custom-trust-root",
    "rekor2-dsse-happy-path",
}

SHIPPED = sorted(path.name for path in SIGSTORE.iterdir() if path.is_dir())


def check_case(folder: Path, default: Path) -> tuple[str, str | None]:
    """Result and time of a conformance case; a token's time is a claim where no key is named."""
    root, artifact = folder / "trusted_root.json", folder / "artifact"
    trust = sigstore_trust(root if root.is_file() else None)
    subject = Subject.of_file(artifact if artifact.is_file() else default)
    verdict = check_bundle((folder / "bundle.sigstore.json").read_bytes(), subject, trust, AS_OF)
    return verdict.result, verdict.not_after or verdict.claimed


def judge_case(folder: Path, default: Path) -> None:
    name = folder.name
    try:
        result, time = check_case(folder, default)
    except FormatError:
        assert name == "trust-root-tlog-missing-validity-start_fail"
        return
    if name in OTHER_KINDS:
        assert result == UNCHECKED
    elif name in NO_TIME:
        assert (result, time) == (CHECKS, None)
    elif name in WHO_NOT_WHEN or not name.endswith("_fail"):
        assert (result, time is not None) == (CHECKS, True)
    else:
        assert result in (REFUSED, UNCHECKED)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_bundles(name: str) -> None:
    judge_case(SIGSTORE / name, SIGSTORE / "a.txt")


def test_every_bundle_of_the_conformance_suite() -> None:
    root = shared_bundles()
    cases = sorted(path for path in (root / "bundle-verify").iterdir() if path.is_dir())
    assert len(cases) > 50
    for case in cases:
        judge_case(case, root / "a.txt")


@pytest.mark.parametrize(
    ("name", "time", "level"),
    [
        ("happy-path-v0.1", "2023-07-12T15:56:36Z", "2"),
        ("happy-path-v0.3", "2024-03-19T17:26:26Z", "2"),
        ("managed-key-happy-path", "2025-12-18T17:04:39Z", "2"),
        # openssl ts -text says 12:02:20, accuracy one second.
        ("rekor2-happy-path", "2025-06-12T12:02:21Z", "2+"),
    ],
)
def test_times(name: str, time: str, level: str) -> None:
    folder = SIGSTORE / name
    root = folder / "trusted_root.json"
    data = (folder / "bundle.sigstore.json").read_bytes()
    trust = sigstore_trust(root if root.is_file() else None)
    known = replace(trust, signers=(parse_hashed_entry(parse_bundle(data).entry).public,))
    verdict = check_bundle(data, Subject.of_file(SIGSTORE / "a.txt"), known, AS_OF)
    assert (verdict.not_after, verdict.level) == (time, level)


def test_the_operators_key_can_be_pinned() -> None:
    folder = SIGSTORE / "managed-key-happy-path"
    data = (folder / "bundle.sigstore.json").read_bytes()
    subject = Subject.of_file(SIGSTORE / "a.txt")
    own = parse_hashed_entry(parse_bundle(data).entry).public
    logs = sigstore_trust().logs
    assert check_bundle(data, subject, Trust(logs=logs, signers=(own,)), AS_OF).result == CHECKS
    other = Trust(logs=logs, signers=(own[:-1] + b"\x00",))
    assert check_bundle(data, subject, other, AS_OF).result == REFUSED


def test_without_a_trusted_log_nothing_is_checked() -> None:
    data = (SIGSTORE / "happy-path-v0.3" / "bundle.sigstore.json").read_bytes()
    assert check_bundle(data, Subject.of_file(SIGSTORE / "a.txt"), Trust(), AS_OF).exit_code == 2


def test_an_entry_after_the_asked_instant() -> None:
    data = (SIGSTORE / "happy-path-v0.3" / "bundle.sigstore.json").read_bytes()
    subject = Subject.of_file(SIGSTORE / "a.txt")
    verdict = check_bundle(data, subject, sigstore_trust(), "2024-01-01T00:00:00Z")
    assert verdict.result == UNCHECKED


def every_leaf(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    if isinstance(value, dict):
        return [leaf for key in value for leaf in every_leaf(value[key], (*path, key))]
    if isinstance(value, list):
        return [leaf for at in range(len(value)) for leaf in every_leaf(value[at], (*path, at))]
    return [path]


def changed(bundle: object, path: tuple[object, ...]) -> bytes:
    """The bundle with one text changed near its middle, base64 and numbers staying such."""
    copy = json.loads(json.dumps(bundle))
    place = copy
    for step in path[:-1]:
        place = place[step]
    text = place[path[-1]]
    at = len(text) // 2
    place[path[-1]] = text[:at] + ("1" if text[at] != "1" else "2") + text[at + 1 :]
    return json.dumps(copy).encode()


def test_every_changed_part_of_a_bundle_is_noticed() -> None:
    """But the hint at the operator's key and its own unread tokens, nothing can be changed."""
    data = (SIGSTORE / "managed-key-happy-path" / "bundle.sigstore.json").read_bytes()
    bundle = json.loads(data)
    subject = Subject.of_file(SIGSTORE / "a.txt")
    trust = Trust(logs=sigstore_trust().logs)
    unread = ("hint", "signedTimestamp")
    paths = [path for path in every_leaf(bundle) if path[-1] not in unread]
    assert len(paths) > 25
    for path in paths:
        assert check_bundle(changed(bundle, path), subject, trust, AS_OF).result != CHECKS, path


@pytest.mark.parametrize("name", ["happy-path-v0.1", "happy-path-v0.3", "wrong-material_fail"])
def test_sigstore_python_says_the_same(name: str) -> None:
    """The second opinion: it checks identities too, so both must take, or both refuse."""
    models = pytest.importorskip("sigstore.models", reason="sigstore, the oracle, is not installed")
    verify = pytest.importorskip("sigstore.verify", reason="sigstore, the oracle, is not installed")
    errors = pytest.importorskip("sigstore.errors", reason="sigstore, the oracle, is not installed")
    folder = SIGSTORE / name
    data = (folder / "bundle.sigstore.json").read_bytes()
    artifact = folder / "artifact"
    file = artifact if artifact.is_file() else SIGSTORE / "a.txt"
    verifier = verify.Verifier.production(offline=True)
    try:
        verifier.verify_artifact(
            file.read_bytes(), models.Bundle.from_json(data), verify.policy.UnsafeNoOp()
        )
        theirs = True
    except errors.Error:
        theirs = False
    ours = check_bundle(data, Subject.of_file(file), sigstore_trust(), AS_OF)
    assert (ours.result == CHECKS) == theirs


def test_attack_a_key_made_to_fit_a_signature_that_was_stamped_before() -> None:
    """A token over a signature dates the file only under a key that the reader knew before."""
    folder = SIGSTORE / "rekor2-happy-path"
    root = folder / "trusted_root.json"
    data = (folder / "bundle.sigstore.json").read_bytes()
    trust = sigstore_trust(root if root.is_file() else None)
    subject = Subject.of_file(SIGSTORE / "a.txt")
    found = check_bundle(data, subject, trust, AS_OF)
    assert not found.bound
    assert any("made to fit" in gap for gap in found.excludes_not)
    own = parse_hashed_entry(parse_bundle(data).entry).public
    known = check_bundle(data, subject, replace(trust, signers=(own,)), AS_OF)
    assert known.bound and known.signers
    assert (found.not_after, found.level) == (None, "1"), "so no report can say since when"
    assert known.not_after == found.claimed is not None
