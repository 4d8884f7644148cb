"""Anchoring: a stamped list of every checkpoint, submitted to clocks that nobody here owns.

    stamps/SIZE/list.txt            the list over the first SIZE lines, as it is stamped
    stamps/SIZE/list.txt.ots        evidence, named after the file it stamps
    stamps/SIZE/list.txt.NAME.tsr
    stamps/SIZE/list.txt.NAME.json
    stamps/SIZE/….pending           evidence that is a promise yet

Evidence lies beside the book first, because publishing ends at a checkpoint
whose own proofs are detached files. It is sealed with the next facts, as what
it is: pending is never written as complete. What failed is tried again, and
what failed for a day is sealed as that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from beforehand.anchors.anchor import COMPLETE, MAX_EVIDENCE_BYTES, PENDING, Anchor, Evidence
from beforehand.anchors.evidence_file import LIST_NAME, PENDING_SUFFIX, anchor_of
from beforehand.anchors.queue import SUBMIT, UPGRADE, Item, Queue
from beforehand.anchors.witness import CosignedRecord, Witnesses
from beforehand.book.checkpoint import Checkpoint, is_size
from beforehand.book.cosignature import WitnessKey, cosignatures, note_parts
from beforehand.book.reader import BOOK_NAME
from beforehand.book.stamped_list import MAX_LIST_BYTES, list_book
from beforehand.book.store import write_synced
from beforehand.errors import BeforehandError, FormatError, IntegrityError
from beforehand.records.codec import digest
from beforehand.records.evidence import ProofLine
from beforehand.records.record import BodyRef
from beforehand.stages.anchor_failures import PROMISED, lasting, plain_reason
from beforehand.stages.pen import Pen
from beforehand.stages.status import counted

STAMPS = "stamps"
QUEUE_NAME = "state/anchors.json"
FAILED = "failed"
# The end of an evidence file's name, by its media type; any other is JSON.
_ENDS = {
    "application/vnd.opentimestamps.v1": ".ots",
    "application/timestamp-reply": ".tsr",
}


@dataclass(frozen=True)
class Stamp:
    """A piece of evidence as it is kept: whose, over which checkpoint, complete or a promise."""

    anchor: str
    size: int
    state: str
    path: Path

    def data(self) -> bytes:
        """Its bytes; FormatError over the limit."""
        if self.path.stat().st_size > MAX_EVIDENCE_BYTES:
            raise FormatError(f"{self.path} is over {MAX_EVIDENCE_BYTES} bytes")
        return self.path.read_bytes()


@dataclass
class Stamped:
    """What one round of anchoring did; `problems` name what failed and is tried again.

    `failed` are the anchors that did.
    """

    submitted: int = 0
    completed: int = 0
    waiting: int = 0
    problems: list[str] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)


def seal_proofs(pen: Pen, folder: Path) -> int:
    """A proof line for all evidence that has none yet, and for each anchor that failed for a day.

    Called where facts are sealed anyway. How many lines were written.
    """
    held = {
        (record.anchor, record.checkpoint_size, record.state)
        for _, record in pen.records()
        if isinstance(record, ProofLine)
    }
    fresh = [
        stamp
        for stamp in kept_stamps(folder)
        if (stamp.anchor, stamp.size, stamp.state) not in held
    ]
    failed = {
        (item.anchor, size): item
        for item, size in _failed(folder, pen.now()[0])
        if (item.anchor, size, FAILED) not in held
    }
    if not fresh and not failed:
        return 0
    sizes = {stamp.size for stamp in fresh} | {size for _, size in failed}
    lists = {size: _list_bytes(folder, size) for size in sorted(sizes)}
    proofs = {stamp: stamp.data() for stamp in fresh}

    def build(at: str) -> list[ProofLine]:
        return [
            ProofLine(
                at=at,
                bodies=(
                    BodyRef("list", digest(lists[stamp.size]), at),
                    BodyRef("proof", digest(proofs[stamp]), at),
                ),
                anchor=stamp.anchor,
                checkpoint_size=stamp.size,
                state=stamp.state,
            )
            for stamp in fresh
        ] + [
            ProofLine(
                at=at,
                bodies=(BodyRef("list", digest(lists[size]), at),),
                anchor=anchor,
                checkpoint_size=size,
                state=FAILED,
                reason=plain_reason(item.reason),
                attempts=item.attempts,
            )
            for (anchor, size), item in failed.items()
        ]

    pen.write(build, list(dict.fromkeys([*lists.values(), *proofs.values()])))
    return len(fresh) + len(failed)


def _failed(folder: Path, now: str) -> Iterator[tuple[Item, int]]:
    """What failed for a day and has no complete evidence, with the size of its checkpoint."""
    complete = {
        (stamp.anchor, stamp.size) for stamp in kept_stamps(folder) if stamp.state == COMPLETE
    }
    try:
        items = Queue(folder / QUEUE_NAME).items
    except FormatError:
        return  # it holds up no facts; whoever submits next says so
    for item in lasting(items, now):
        size = _size_of(folder, item.digest)
        if size is not None and (item.anchor, size) not in complete:
            yield item, size


def stamp_checkpoint(
    pen: Pen, folder: Path, anchors: Sequence[Anchor], now: str, each: Sequence[str] = ()
) -> Stamped:
    """Submit the newest checkpoint where that was not done, and whatever waits to be tried again.

    `folder` is the league's. Anchors named in `each` are given every
    checkpoint, also one that a process which died had only signed. Nothing
    here ends a tick: what fails is kept in the queue with its reason, and who
    failed once is not asked again in this round.
    """
    done = Stamped()
    sizes = pen.store.checkpoint_sizes()
    if not anchors or not sizes:
        return done
    queue = Queue(folder / QUEUE_NAME)
    queue_stamps(pen, folder, sizes[-1], anchors, queue, now)
    every = [anchor for anchor in anchors if anchor.name in each]
    for size in sizes[:-1] if every else ():
        if not list_path(folder, size).is_file():
            queue_stamps(pen, folder, size, every, queue, now)
    _queue_promises(folder, queue, now)
    by_name = {anchor.name: anchor for anchor in anchors}
    for item in queue.due(now):
        if item.anchor in done.failed:
            continue
        anchor = by_name.get(item.anchor)
        size = _size_of(folder, item.digest)
        if size is None:
            queue.done(item)
        elif anchor is None:
            queue.failed(item, now, "no such anchor is declared, or the settings lack its address")
        else:
            try_item(pen, folder, anchor, size, item, queue, now, done)
    done.waiting = len(queue.items)
    return done


def kept_stamps(folder: Path) -> Iterator[Stamp]:
    """Every piece of evidence that is kept, by size and name; pending ones only while they are."""
    for size in _sizes(folder):
        yield from _stamps_over(folder, size)


def _stamps_over(folder: Path, size: int) -> Iterator[Stamp]:
    """The evidence over one checkpoint: its own folder alone is read."""
    for path in sorted((folder / STAMPS / str(size)).iterdir()):
        named = anchor_of(path.name)
        if named is not None:
            anchor, pending = named
            yield Stamp(anchor, size, PENDING if pending else COMPLETE, path)


def cosigned_sizes(folder: Path, keys: Sequence[WitnessKey]) -> dict[str, int]:
    """The most lines that each witness has cosigned, by what is kept of its own signatures.

    A witness that tells less at a later tick has lost its state.
    """
    found: dict[str, int] = {}
    records = [stamp for stamp in kept_stamps(folder) if stamp.anchor == Witnesses.NAME]
    for stamp in sorted(records, key=lambda stamp: -stamp.size):
        missing = [key for key in keys if key.name not in found]
        if not missing:
            break
        try:
            record = CosignedRecord.parse(stamp.data())
            size = Checkpoint.parse(note_parts(record.note)[0]).size
            held = cosignatures(record.cosigned(), missing)
        except (FormatError, IntegrityError):
            continue  # spoiled on our own disk: what it said is not known any more
        found |= {each.name: size for each in held}
    return found


def evidence_name(evidence: Evidence) -> str:
    """The file name of evidence beside its list: `list.txt.ots`, `list.txt.NAME.tsr`, …"""
    end = _ENDS.get(evidence.media, ".json")
    stem = LIST_NAME if evidence.anchor == "opentimestamps" else f"{LIST_NAME}.{evidence.anchor}"
    return f"{stem}{end}{PENDING_SUFFIX if evidence.state == PENDING else ''}"


def list_path(folder: Path, size: int) -> Path:
    """Where the stamped list over the first `size` lines is kept."""
    return folder / STAMPS / str(size) / LIST_NAME


def queue_stamps(
    pen: Pen, folder: Path, size: int, anchors: Sequence[Anchor], queue: Queue, now: str
) -> list[Item]:
    """Queue the list of a checkpoint for every anchor that has none of it, then write it once.

    In this order a process that dies leaves no list that nobody was to stamp.
    """
    path = list_path(folder, size)
    data = path.read_bytes() if path.is_file() else _made_list(pen, size)
    have = {stamp.anchor for stamp in _stamps_over(folder, size)} if path.is_file() else set()
    items = [
        queue.add(anchor.name, digest(data), SUBMIT, now)
        for anchor in anchors
        if anchor.name not in have
    ]
    if not path.is_file():
        write_synced(path, data)
    return items


def _made_list(pen: Pen, size: int) -> bytes:
    """The stamped list over the first `size` lines."""
    name = pen.key.verifier.name
    league = name.split("/")[-2] if name.count("/") > 1 else "league"
    with (pen.store.folder / BOOK_NAME).open("rb") as stream:
        return list_book(stream, f"api/v1/{league}/{BOOK_NAME}", name, size).data()


def _queue_promises(folder: Path, queue: Queue, now: str) -> None:
    """Queue every promise that is kept and waits for nothing: the queue may have been lost."""
    waiting = {(item.anchor, item.digest) for item in queue.items}
    for stamp in kept_stamps(folder):
        if stamp.state == PENDING:
            sha256 = digest(_list_bytes(folder, stamp.size))
            if (stamp.anchor, sha256) not in waiting:
                queue.add(stamp.anchor, sha256, UPGRADE, now)


def _submitted(pen: Pen, folder: Path, anchor: Anchor, size: int) -> bytes:
    """What an anchor is given: a witness the signed checkpoint itself, every other the list."""
    if isinstance(anchor, Witnesses):
        return pen.store.checkpoints()[size]
    return _list_bytes(folder, size)


def try_item(
    pen: Pen,
    folder: Path,
    anchor: Anchor,
    size: int,
    item: Item,
    queue: Queue,
    now: str,
    done: Stamped,
) -> None:
    """Submit or upgrade once; what fails is set back in the queue with its reason."""
    held = [stamp for stamp in _stamps_over(folder, size) if stamp.anchor == anchor.name]
    have = {stamp.state for stamp in held}
    if COMPLETE in have:
        for stamp in held:  # a process died between a proof and the promise that it keeps
            if stamp.state == PENDING:
                stamp.path.unlink(missing_ok=True)
    if (item.task == SUBMIT and have) or COMPLETE in have:
        queue.done(item)  # a process that died had come further than the queue says
        return
    try:
        if item.task == SUBMIT:
            evidence = anchor.submit(_submitted(pen, folder, anchor, size))
            done.submitted += 1
        else:
            evidence = anchor.upgrade(_pending(folder, anchor.name, size))
    except Exception as error:  # a far side that breaks is tried again, and ends no tick
        said = str(error) if isinstance(error, BeforehandError) else type(error).__name__
        queue.failed(item, now, said)
        done.failed.add(anchor.name)
        done.problems.append(f"anchor {anchor.name} over {counted(size, 'line')}: {said}")
        return
    _keep(folder, size, evidence)
    troubles = "; ".join(evidence.troubles)
    waits = f"{PROMISED}: {troubles}" if troubles else PROMISED
    if evidence.state == COMPLETE:
        if troubles and isinstance(anchor, Witnesses):
            over = counted(size, "line")
            done.problems.append(f"anchor {anchor.name} over {over}, complete: {troubles}")
        done.completed += 1
        queue.done(item)
    elif item.task == SUBMIT:
        queue.failed(queue.add(anchor.name, item.digest, UPGRADE, now), now, waits)
        queue.done(item)
    else:
        queue.failed(item, now, waits)


def _keep(folder: Path, size: int, evidence: Evidence) -> None:
    """Keep evidence beside its list; a complete one takes the place of its promise."""
    place = folder / STAMPS / str(size)
    path = place / evidence_name(evidence)
    write_synced(path, evidence.data)
    if evidence.state == COMPLETE:
        path.with_name(path.name + PENDING_SUFFIX).unlink(missing_ok=True)


def _pending(folder: Path, anchor: str, size: int) -> Evidence:
    for stamp in _stamps_over(folder, size):
        if (stamp.anchor, stamp.state) == (anchor, PENDING):
            media = next(
                (
                    media
                    for media, end in _ENDS.items()
                    if f"{end}{PENDING_SUFFIX}" in stamp.path.name
                ),
                "application/json",
            )
            return Evidence(anchor, PENDING, stamp.data(), media)
    raise FormatError(f"no promise of {anchor} over {size} lines is kept")


def _sizes(folder: Path) -> list[int]:
    place = folder / STAMPS
    names = [path.name for path in place.iterdir() if path.is_dir()] if place.is_dir() else []
    return sorted(int(name) for name in names if is_size(name))


def _size_of(folder: Path, sha256: str) -> int | None:
    """The checkpoint size whose list has this hash, the newest first."""
    for size in reversed(_sizes(folder)):
        # A process may have died between the folder and its list.
        if list_path(folder, size).is_file() and digest(_list_bytes(folder, size)) == sha256:
            return size
    return None


def _list_bytes(folder: Path, size: int) -> bytes:
    path = list_path(folder, size)
    if path.stat().st_size > MAX_LIST_BYTES:
        raise FormatError(f"{path} is over {MAX_LIST_BYTES} bytes")
    return path.read_bytes()
