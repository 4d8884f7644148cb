"""`beforehand contract id` and `contract check`: event contracts as files, and their ids."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from beforehand.book.folder import printable
from beforehand.cli.screen import errors_named, out
from beforehand.errors import FormatError
from beforehand.publish.conformance.profile import Profile
from beforehand.publish.contracts import CONTRACT_PROFILE, CONTRACTS
from beforehand.records.codec import BOOKKEEPING, contract_json, decode_json, digest, is_digest
from beforehand.records.event_contract import (
    MAX_CONTRACT_FILE,
    ContractProfile,
    EventIds,
    check_plain,
    plain_ids,
)
from beforehand.records.question import Question

MAX_CONTRACT_FILES = 1_000_000

app = typer.Typer(help="Event contracts: what is asked, and its ids.", no_args_is_help=True)

ProfileOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="TOML or JSON with \\[contract]: keys, first, prefixes."),
]


@dataclass(frozen=True)
class Found:
    """A contract file that was looked at: its ids, or what is wrong with it."""

    path: str
    ids: EventIds | None
    fault: str = ""

    def content(self) -> dict[str, Any]:
        """As JSON values."""
        if self.ids is None:
            return {"path": self.path, "fault": self.fault}
        return {"path": self.path, **_told(self.ids)}


@app.command(
    "id",
    epilog="Example: beforehand contract id event.json --profile league.toml. "
    "Exit codes: 0 named, 2 it is no contract.",
)
def contract_ids(
    file: Annotated[str, typer.Argument(help="A contract or a question line as JSON; - reads it.")],
    profile: ProfileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the ids as JSON.")] = False,
) -> None:
    """Print the ids of one contract: in full length, and the short ones of a profile."""
    with errors_named(as_json=as_json):
        ids = _ids_in(_bytes_of(file), _profile(profile))
    if as_json:
        typer.echo(json.dumps(_told(ids), indent=1))
    else:
        for name, value in _told(ids).items():
            out.print(f"{name}: {value}", markup=False, soft_wrap=True)


@app.command(
    epilog="Example: beforehand contract check public/api/v1/blind. "
    "Exit codes: 0 sound, 1 a contract is faulty or an id stands for two, 2 could not check."
)
def check(
    path: Annotated[
        Path, typer.Argument(help="A contract file, a folder of them, or a league's data folder.")
    ],
    profile: ProfileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check contracts by their schema and names, and that no id stands for two of them."""
    with errors_named(as_json=as_json):
        folder, held = _where(path, profile)
        files = _files(folder)
        found = [_look(each, held) for each in files]
    doubled = _doubled(found, held)
    faults = [f"{each.path}: {each.fault}" for each in found if each.ids is None] + doubled
    if as_json:
        told = {"contracts": [each.content() for each in found], "faults": faults}
        typer.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        _print(found, faults)
    raise typer.Exit(1 if faults else 0)


def _print(found: list[Found], faults: list[str]) -> None:
    for each in found:
        if each.ids is not None:
            names = "  ".join(_told(each.ids).values())
            out.print(f"{names}  {each.path}", markup=False, soft_wrap=True)
    for fault in faults:
        out.print(f"FAULT {printable(fault)}", markup=False, soft_wrap=True)
    sound = sum(each.ids is not None for each in found)
    said = f"{len(faults)} faults" if faults else "sound"
    out.print(f"{sound} of {len(found)} contracts have their ids: {said}", markup=False)


def _told(ids: EventIds) -> dict[str, str]:
    """The ids by name; short ones only under a profile."""
    held = {
        "contract_id": ids.contract_id,
        "event_id": ids.event_id,
        "event_id_v2": ids.event_id_v2,
    }
    return {name: value for name, value in held.items() if value}


def _profile(path: Path | None) -> ContractProfile | None:
    """The profile that a file declares; FormatError where it declares no contract."""
    if path is None:
        return None
    read = Profile.read(path)
    if not read.has_contract:
        raise FormatError(f"{path} has no table [contract]: it names no keys")
    return read.contract


def _where(path: Path, profile: Path | None) -> tuple[Path, ContractProfile | None]:
    """What is looked at, and under which profile: a league's folder brings its own."""
    if not path.exists():
        raise FormatError(f"{path} is not there: give a contract file or a folder of them")
    beside = path / CONTRACT_PROFILE
    if not (path / CONTRACTS).is_dir():
        return path, _profile(profile)
    return path / CONTRACTS, _profile(profile or (beside if beside.is_file() else None))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted(each for each in path.rglob("*.json") if each.is_file())
    if not files:
        raise FormatError(f"{path} holds no .json file, so no contract")
    if len(files) > MAX_CONTRACT_FILES:
        raise FormatError(f"{path} holds more than {MAX_CONTRACT_FILES} contracts")
    return files


def _bytes_of(file: str) -> bytes:
    if file == "-":
        data = sys.stdin.buffer.read(MAX_CONTRACT_FILE + 1)
    else:
        with Path(file).open("rb") as stream:
            data = stream.read(MAX_CONTRACT_FILE + 1)
    if len(data) > MAX_CONTRACT_FILE:
        raise FormatError(f"{file} is over the limit of {MAX_CONTRACT_FILE} bytes")
    return data


def _ids_in(data: bytes, profile: ContractProfile | None) -> EventIds:
    """The ids of the contract or question line in a file; FormatError where it is neither."""
    value = decode_json(data)
    if isinstance(value, dict) and value.get("kind") == "question":
        content = {key: item for key, item in value.items() if key not in BOOKKEEPING}
        question = Question.of(content)
        if profile is None:
            return plain_ids(question.contract)
        return profile.ids(profile.contract_from(question))
    return plain_ids(check_plain(value)) if profile is None else profile.ids(profile.check(value))


def _look(path: Path, profile: ContractProfile | None) -> Found:
    """One file; where its name is a hash, it is that of the canonical bytes that it holds."""
    try:
        data = _bytes_of(str(path))
        ids = _ids_in(data, profile)
        if is_digest(path.stem) and digest(data) != path.stem:
            raise FormatError(f"its bytes hash to {digest(data)}, not to its name")
        if is_digest(path.stem) and ids.contract_id != f"evc1:{path.stem}":
            raise FormatError(f"its name is not the hash of its contract ({ids.contract_id})")
    except FormatError as error:
        return Found(str(path), None, str(error))
    return Found(str(path), ids)


def _doubled(found: list[Found], profile: ContractProfile | None) -> list[str]:
    """Every id that stands for two contracts, with both files."""
    first: dict[str, tuple[Found, bytes]] = {}
    faults: dict[str, str] = {}
    for each in found:
        if each.ids is None or profile is None:
            continue
        for name, contract in profile.named_by(each.ids).items():
            data = contract_json(dict(contract))
            held, known = first.setdefault(name, (each, data))
            if known != data:
                said = f"the id {name} stands for two contracts: {held.path} and {each.path}"
                faults.setdefault(name, said)
    return list(faults.values())
