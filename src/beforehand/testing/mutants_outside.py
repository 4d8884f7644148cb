"""The corpus with real evidence from outside: the valid league stamped, and attacks on its stamps.

The evidence is made by software of this machine, with its keys and its time,
so these bytes differ from run to run: the faults and the verdicts do not.
Judge with `OutsideWorld.trust`, which takes blocks of any difficulty, at its `as_of`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from beforehand.anchors.bitcoin import Header
from beforehand.anchors.trust import Trust
from beforehand.errors import IntegrityError
from beforehand.testing.mutants_files import Files, Operator, chain, render, sign_files
from beforehand.testing.mutants_kinds import ChangeLines, stamps_of
from beforehand.testing.mutants_league import Draft, valid_league
from beforehand.testing.outside_world import OutsideWorld

ChangeStamped = Callable[[OutsideWorld, Files], None]
Vouch = Callable[[OutsideWorld, str, bytes], bytes]


@dataclass(frozen=True)
class OutsideMutant:
    """One fault in what others vouch for, and the requirement that it must fail.

    `vouch` gives other evidence, `files` changes what is published beside the
    book, `trust` what the reader was handed, `lines` the book itself.
    """

    id: str
    fault: str
    attack: str
    requirement: int = 3
    vouch: Vouch | None = None
    lines: ChangeLines | None = None
    files: ChangeStamped | None = None
    trust: Callable[[OutsideWorld], Trust] | None = None

    def build(self, world: OutsideWorld, seed: int = 1) -> Files:
        """The published folder, signed by the league's own key."""
        draft = stamped_league(world, seed, self.vouch)
        if self.lines is not None:
            self.lines(draft)
        operator = Operator.of(seed)
        files = render(draft, operator)
        if self.files is not None:
            self.files(world, files)
            files = sign_files(files, chain(draft, operator).raws, operator)
        return files

    def reader(self, world: OutsideWorld) -> Trust:
        """What the reader trusts."""
        return world.trust if self.trust is None else self.trust(world)


def stamped_league(world: OutsideWorld, seed: int = 1, vouch: Vouch | None = None) -> Draft:
    """The valid league with real evidence where the corpus has stand-ins."""
    draft = valid_league(seed)
    if vouch is None:
        draft.vouch = world.vouch
    else:
        draft.vouch = lambda kind, listed: vouch(world, kind, listed)
    return draft


def stamped_files(world: OutsideWorld, seed: int = 1) -> Files:
    """The published folder of the valid league, stamped."""
    return render(stamped_league(world, seed), Operator.of(seed))


def _instead(of: str, kind: str) -> Vouch:
    """Evidence of another kind in the place of one."""
    return lambda world, asked, listed: world.vouch(kind if asked == of else asked, listed)


def _over(of: str, other: bytes) -> Vouch:
    """Evidence of a kind over another list than the one it lies with."""
    return lambda world, asked, listed: world.vouch(asked, other if asked == of else listed)


def _swapped(of: str) -> Vouch:
    """Evidence of a kind exchanged among the league's own lists: each has that of another."""

    def vouch(world: OutsideWorld, asked: str, listed: bytes) -> bytes:
        return world.vouch(asked, _earlier(listed) if asked == of else listed)

    return vouch


def _earlier(listed: bytes) -> bytes:
    """A list of the same league over another number of lines."""
    size = listed.split(b" ", 2)[1]
    return listed.replace(size, str(int(size) - 1).encode(), 1)


def _without_inclusion(world: OutsideWorld, asked: str, listed: bytes) -> bytes:
    data = world.vouch(asked, listed)
    if asked != "rekor":
        return data
    bundle = json.loads(data)
    for entry in bundle["verificationMaterial"]["tlogEntries"]:
        del entry["inclusionProof"]
    return json.dumps(bundle).encode()


def _without_work(world: OutsideWorld) -> Trust:
    """Each block under a nonce that does not do its work."""
    bitcoin = world.trust.bitcoin
    headers = {height: _idle(raw) for height, raw in bitcoin.headers.items()}
    return replace(world.trust, bitcoin=replace(bitcoin, headers=headers))


def _idle(raw: bytes) -> bytes:
    for nonce in range(1 << 16):
        forged = raw[:76] + nonce.to_bytes(4, "little")
        try:
            Header.parse(forged).check_work()
        except IntegrityError:
            return forged
    raise IntegrityError("every nonce meets the difficulty")


def _rewritten_ends(world: OutsideWorld, files: Files) -> None:
    for name in files:
        if name.startswith("proof/") and name.endswith(".txt"):
            files[name] = files[name].replace(b"\n", b"\r\n")


def _other_reader(world: OutsideWorld, files: Files) -> None:
    """What another reader was shown: the lists of the book before it was made anew."""
    shown = stamps_of(stamped_files(world))
    files |= {name.replace("proof/", "proof/other/", 1): data for name, data in shown.items()}


def _other_probability(draft: Draft) -> None:
    for line in draft.of_kind("answer"):
        for cell in line.get("cells", ()):
            if "p" in cell:
                cell["p"] = "0.99" if cell["p"] != "0.99" else "0.98"
                return


def outside_mutants() -> list[OutsideMutant]:
    """Every attack on evidence from outside, by name."""
    other = b"corpus/book.jsonl: a list of somebody else\n"
    found = [
        OutsideMutant("r03-token-over-another", "every token is over another list",
                      "a token over another list", vouch=_over("rfc3161", other)),
        OutsideMutant("r03-token-swapped", "tokens exchanged among the league's own lists",
                      "a swapped proof", vouch=_swapped("rfc3161")),
        OutsideMutant("r03-authority-expired", "the authority's certificate had expired",
                      "an expired or untrusted authority", vouch=_instead("rfc3161", "expired")),
        OutsideMutant("r03-authority-stranger", "an authority of the operator's, by a known name",
                      "an expired or untrusted authority", vouch=_instead("rfc3161", "stranger")),
        OutsideMutant("r03-authority-purpose", "the certificate is for no time-stamping",
                      "a token whose certificate lacks the time-stamping purpose",
                      vouch=_instead("rfc3161", "no-purpose")),
        OutsideMutant("r03-ots-pending", "a calendar's promise sealed as a complete proof",
                      "a pending OTS shown as anchored", vouch=_instead("rekor", "promise")),
        OutsideMutant("r03-ots-swapped", "proofs of blocks exchanged among the league's lists",
                      "a swapped proof", vouch=_swapped("opentimestamps")),
        OutsideMutant("r03-header-without-work", "blocks that did not do their own work",
                      "a proof against a header that does not meet its own difficulty",
                      trust=_without_work),
        OutsideMutant("r03-log-without-proof", "log entries without their inclusion proof",
                      "a Rekor entry without inclusion proof", vouch=_without_inclusion),
        OutsideMutant("r03-log-of-the-operator", "a log of the operator's own, by the log's name",
                      "a swapped proof", vouch=_instead("rekor", "own-log")),
        OutsideMutant("r03-log-swapped", "log entries exchanged among the league's lists",
                      "a swapped proof", vouch=_swapped("rekor")),
        OutsideMutant("r03-line-ends", "the lists' line ends were rewritten on the way",
                      "line endings rewritten by a mirror", files=_rewritten_ends),
        OutsideMutant("r02-fork", "a book made anew and stamped, beside what others were shown",
                      "a fork shown to two readers", requirement=2, lines=_other_probability,
                      files=_other_reader),
    ]  # fmt: skip
    return sorted(found, key=lambda mutant: mutant.id)
