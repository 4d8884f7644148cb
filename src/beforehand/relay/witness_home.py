"""The folder of a witness: its key and its state, made together and only once.

    witness.pem   the key, readable by its owner only
    state.db      what was cosigned
    logs          the logs it follows, and their keys

A copy of the folder that is put back is a state that was set back: make a new
witness instead, under a new name.
"""

from __future__ import annotations

from pathlib import Path

from beforehand.book.cosignature import WitnessKey, is_cosigner_name
from beforehand.book.store import sync_folder
from beforehand.errors import FormatError, RuleError
from beforehand.relay.witness_state import STATE_NAME, WitnessState, state_name
from beforehand.stages.key import SigningKey

WITNESS_KEY_NAME = "witness.pem"


def make_witness(folder: Path, name: str) -> WitnessKey:
    """A fresh witness of this name; RuleError where the folder holds one.

    The key takes its place last: a key that is there has a state, and one
    whose state is not there was lost, and did not merely fail to be made.
    """
    if not is_cosigner_name(name):
        raise FormatError(f"{name!r:.80} is no name of a witness: no spaces and no plus")
    path = folder / WITNESS_KEY_NAME
    if path.exists():
        raise RuleError(f"{path} is there already: a key is never overwritten")
    folder.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{WITNESS_KEY_NAME}.new")
    # Left by a making that was stopped: neither has ever signed.
    fresh.unlink(missing_ok=True)
    (folder / STATE_NAME).unlink(missing_ok=True)
    key = _witness_key(SigningKey.make(name, fresh))
    WitnessState.make(folder, key)
    sync_folder(folder)
    fresh.rename(path)
    sync_folder(folder)
    return key


def open_witness(folder: Path) -> SigningKey:
    """The key of a witness, under the name that its state bears."""
    path = folder / WITNESS_KEY_NAME
    if not path.is_file():
        raise RuleError(
            f"{folder} holds no witness; make one: beforehand witness key --dir {folder}"
        )
    return SigningKey.load(state_name(folder), path)


def _witness_key(key: SigningKey) -> WitnessKey:
    return WitnessKey(key.verifier.name, key.verifier.public)
