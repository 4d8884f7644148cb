"""Writing the corpus with real evidence: leagues, what a reader of each trusts, and an index.

`python -m beforehand.testing.outside_corpus OUT` writes `OUT/valid`, a folder a
mutant below `OUT/mutants`, the readers' trust (`OUT/trust`, and one of its own
where the fault lies there), and `OUT/index.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
)

from beforehand.anchors.trust import Trust
from beforehand.anchors.trust_files import HEADERS_NAME, write_authority
from beforehand.testing.mutants import write_files
from beforehand.testing.mutants_league import LEAGUE
from beforehand.testing.mutants_outside import outside_mutants, stamped_files
from beforehand.testing.outside_world import OutsideWorld

INDEX_FORMAT = "beforehand-mutants-outside/1"
ABOUT = (
    "Made up for testing checkers, with evidence of clocks on one machine. Judge everything at "
    "as_of with the trust that is named, and take blocks of any difficulty. Of the valid league "
    "nothing may fail; of a mutant its requirement must, and no other."
)


def write_outside(out: Path, seed: int = 1) -> int:
    """Write the corpus into an empty or new folder; how many mutants it has."""
    if out.exists() and any(out.iterdir()):
        raise SystemExit(f"{out} is not empty")
    told: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="beforehand-") as work,
        OutsideWorld(Path(work)) as world,
    ):
        write_files(out / "valid", stamped_files(world, seed))
        for mutant in outside_mutants():
            write_files(out / "mutants" / mutant.id, mutant.build(world, seed))
            own = f"trust-{mutant.id}" if mutant.trust is not None else "trust"
            told.append(
                {
                    "id": mutant.id,
                    "path": f"mutants/{mutant.id}",
                    "trust": own,
                    "requirement": mutant.requirement,
                    "fault": mutant.fault,
                    "attack": mutant.attack,
                }
            )
        # Blocks were mined on the way: trust is written when all of them are known.
        _write_trust(out / "trust", world, world.trust)
        for mutant in outside_mutants():
            if mutant.trust is not None:
                _write_trust(out / f"trust-{mutant.id}", world, mutant.reader(world))
        index = {
            "format": INDEX_FORMAT,
            "league": LEAGUE,
            "as_of": world.as_of,
            "about": ABOUT,
            "valid": {"path": "valid", "trust": "trust"},
            "mutants": told,
        }
    text = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
    (out / "index.json").write_text(text, encoding="utf-8")
    return len(told)


def _write_trust(folder: Path, world: OutsideWorld, trust: Trust) -> None:
    """A reader's folder of trust, as `--trust` takes it."""
    for authority in trust.authorities:
        write_authority(folder / "tsa" / authority.name, authority)
    headers = {str(height): raw.hex() for height, raw in trust.bitcoin.headers.items()}
    (folder / HEADERS_NAME).write_text(json.dumps(headers), encoding="ascii")
    (folder / "trusted_root.json").write_bytes(world.trusted_root())
    (folder / "signers").mkdir()
    for number, spki in enumerate(trust.signers):
        pem = load_der_public_key(spki).public_bytes(
            Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
        )
        (folder / "signers" / f"{number}.pem").write_bytes(pem)


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m beforehand.testing.outside_corpus",
        description="Write a stamped league and attacks on its stamps, with real evidence.",
    )
    parser.add_argument("out", type=Path, help="a new folder")
    given = parser.parse_args(arguments)
    count = write_outside(given.out)
    print(f"{given.out}: 1 valid league, {count} mutants, index.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
