"""The mutation corpus: a valid league, and mutants of it with one fault each, for any checker.

`python -m beforehand.testing.mutants OUT` writes it: `OUT/valid`, the same with a
hidden seat, a folder a mutant, and `OUT/index.json`, which names the requirement
that each must fail. The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beforehand.testing.mutants_asks import ask_mutants
from beforehand.testing.mutants_boards import board_mutants
from beforehand.testing.mutants_bytes import byte_mutants
from beforehand.testing.mutants_counted import counted_mutants
from beforehand.testing.mutants_events import event_mutants
from beforehand.testing.mutants_files import Files, Operator, render
from beforehand.testing.mutants_kinds import Mutant
from beforehand.testing.mutants_league import AS_OF, LEAGUE, valid_league
from beforehand.testing.mutants_private import private_league, private_mutants
from beforehand.testing.mutants_readers import reader_mutants
from beforehand.testing.mutants_record import record_mutants
from beforehand.testing.mutants_scores import score_mutants

INDEX_FORMAT = "beforehand-mutants/1"

# What a checker without verifiers of outside evidence says of the valid league.
VALID = {**dict.fromkeys(range(1, 18), "PASS"), 3: "UNVERIFIABLE"}


def all_mutants() -> list[Mutant]:
    """Every mutant, by requirement and name."""
    found = [
        *event_mutants(), *record_mutants(), *counted_mutants(), *score_mutants(),
        *board_mutants(), *ask_mutants(), *reader_mutants(), *byte_mutants(),
        *private_mutants(),
    ]  # fmt: skip
    return sorted(found, key=lambda mutant: mutant.id)


def valid_files(seed: int = 1) -> Files:
    """The published folder of the valid league."""
    return render(valid_league(seed), Operator.of(seed))


def private_files(seed: int = 1, *, revealed: bool = False) -> Files:
    """The published folder of the valid league with a hidden seat; all of it is valid too."""
    return render(private_league(seed, revealed=revealed), Operator.of(seed))


def mutant_files(mutant: Mutant, seed: int = 1) -> Files:
    """The published folder of a mutant."""
    return mutant.build(seed, Operator.of(seed))


def index(seed: int = 1) -> dict[str, Any]:
    """What the corpus holds and what a checker must say of each part."""
    return {
        "format": INDEX_FORMAT,
        "seed": seed,
        "league": LEAGUE,
        "as_of": AS_OF,
        "about": "Made up for testing checkers. Judge everything at as_of. Of the valid leagues "
        "nothing may fail; of a mutant its requirement must, and no other but its collateral.",
        "valid": {"path": "valid", "expected": {str(k): word for k, word in VALID.items()}},
        "valid_too": ["valid-private", "valid-revealed"],
        "mutants": [
            {
                "id": mutant.id,
                "path": f"mutants/{mutant.id}",
                "requirement": mutant.requirement,
                "kind": mutant.kind,
                "fault": mutant.fault,
                "attack": mutant.attack or None,
                "collateral": list(mutant.collateral),
            }
            for mutant in all_mutants()
        ],
    }


def write_corpus(out: Path, seed: int = 1) -> int:
    """Write the corpus into an empty or new folder; how many mutants it has."""
    if out.exists() and any(out.iterdir()):
        raise SystemExit(f"{out} is not empty")
    write_files(out / "valid", valid_files(seed))
    write_files(out / "valid-private", private_files(seed))
    write_files(out / "valid-revealed", private_files(seed, revealed=True))
    mutants = all_mutants()
    for mutant in mutants:
        write_files(out / "mutants" / mutant.id, mutant_files(mutant, seed))
    text = json.dumps(index(seed), indent=1, ensure_ascii=False) + "\n"
    (out / "index.json").write_text(text, encoding="utf-8")
    return len(mutants)


def write_files(folder: Path, files: Files) -> None:
    """Write files by their names below a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m beforehand.testing.mutants",
        description="Write a valid league and mutants of it with one fault each.",
    )
    parser.add_argument("out", type=Path, help="a new folder")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same bytes")
    given = parser.parse_args(arguments)
    count = write_corpus(given.out, given.seed)
    print(f"{given.out}: 1 valid league, {count} mutants, index.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
