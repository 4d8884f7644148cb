"""Rung 6 of the ladder: a second pipeline, with code of its own, found the same figures.

`replications/NAME/replication.json` is its record, with its code beside it:

    {"format": "beforehand-replication/1",
     "release": {"release": "…", "manifest_sha256": "…"},
     "by": "…", "key": "its verifier key",
     "code": {"file": "pipeline.py", "sha256": "…"},
     "figures": [{"forecaster": "…", "n_counted": 12, "brier": "0.2013"}],
     "note": "a signed note whose text is `replication_text` of the rest"}

The checker opens the signature, hashes the code, and compares every figure
with the board by value. It runs nothing: whoever doubts the figures runs the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from beforehand.book.checkpoint import VerifierKey, open_note
from beforehand.book.folder import Folder, hash_file, read_file
from beforehand.errors import FormatError, IntegrityError
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Pointer, clip
from beforehand.publish.conformance.said import Replication, listed, text
from beforehand.records.codec import decode_json, digest, seal_json

REPLICATION_NAME = "replication.json"
REPLICATION_FORMAT = "beforehand-replication/1"
MAX_REPLICATION_BYTES = 4 << 20
MAX_REPLICATIONS = 100
MAX_CODE_FILES = 200
LEFT_OPEN = (
    "figures copied from the published ones (run the second pipeline's code), a key that the "
    "league made itself (compare it with what its holder prints elsewhere), and everything that "
    "both pipelines share"
)


def replication_text(record: Mapping[str, Any]) -> str:
    """What the second pipeline's key signs: the format, and the SHA-256 of J without the note."""
    held = {key: value for key, value in record.items() if key != "note"}
    return f"{REPLICATION_FORMAT}\n{digest(seal_json(held))}\n"


def read_replications(folder: Folder, names: list[str]) -> list[Replication]:
    """Every published record, with the hashes of what lies beside it."""
    found = [name for name in names if name.rpartition("/")[2] == REPLICATION_NAME]
    return [_read(folder, name, names) for name in found[:MAX_REPLICATIONS]]


def _read(folder: Folder, name: str, names: list[str]) -> Replication:
    base = name.rpartition("/")[0]
    try:
        data = read_file(folder, name, MAX_REPLICATION_BYTES)
    except FormatError:
        data = b""  # judged as a record that cannot be read
    beside = [each for each in names if each.rpartition("/")[0] == base and each != name]
    hashes = {
        each.rpartition("/")[2]: hash_file(folder, each)[1] for each in beside[:MAX_CODE_FILES]
    }
    return Replication(Pointer(name), data, hashes)


def lacks_replication(exhibit: Exhibit) -> str:
    """Why no published record shows a replication; "" where one does."""
    if not exhibit.replications:
        return "no record of a second pipeline is published (replications/NAME/replication.json)"
    said = []
    for record in exhibit.replications:
        try:
            _check(exhibit, record)
        except (FormatError, IntegrityError) as error:
            said.append(f"{record.place.file}: {error}")
            continue
        return ""
    return clip("; ".join(said))


def _check(exhibit: Exhibit, record: Replication) -> None:
    """FormatError or IntegrityError says what of a record does not hold."""
    value = decode_json(record.data)
    if not isinstance(value, dict) or value.get("format") != REPLICATION_FORMAT:
        raise FormatError(f"its format is not {REPLICATION_FORMAT!r}")
    if not text(value, "by"):
        raise FormatError("it does not say by whom it is")
    _check_release(exhibit, value.get("release"))
    _check_signature(exhibit, value)
    _check_code(exhibit, value.get("code"), record.beside)
    _check_figures(exhibit, listed(value, "figures"))


def _check_release(exhibit: Exhibit, named: Any) -> None:
    sealed = {text(said, "manifest_sha256") for _, _, said in exhibit.releases}
    if text(named, "manifest_sha256") not in sealed - {""}:
        raise IntegrityError("it is of a release that no line of the book seals")


def _check_signature(exhibit: Exhibit, value: Mapping[str, Any]) -> None:
    key = VerifierKey.parse(text(value, "key"))
    own = {VerifierKey.parse(each).public for each in exhibit.keys}
    if key.public in own:
        raise IntegrityError("it is signed by the league's own key, which is no second pipeline")
    if open_note(text(value, "note").encode("utf-8"), key) != replication_text(value):
        raise IntegrityError("its signature is over another record")


def _check_code(exhibit: Exhibit, code: Any, beside: Mapping[str, str]) -> None:
    name, sha256 = text(code, "file"), text(code, "sha256")
    if not sha256 or beside.get(name) != sha256:
        raise IntegrityError("the code that it names is not beside it, or hashes to another value")
    if sha256 in _own_code(exhibit):
        raise IntegrityError("its code is the league's own: one pipeline run twice")


def _own_code(exhibit: Exhibit) -> set[str]:
    """The hashes of the code that the league publishes as its own."""
    folder, held = exhibit.folder, set()
    for name in ("api/v1/recount.py", f"{exhibit.base}/recount.py"):
        if folder.has(name):
            held.add(hash_file(folder, name)[1])
    if folder.has("api/v1/code.json"):
        value = decode_json(read_file(folder, "api/v1/code.json", MAX_REPLICATION_BYTES))
        files = value.get("files") if isinstance(value, dict) else None
        held |= {str(each) for each in files.values()} if isinstance(files, dict) else set()
    return held


def _check_figures(exhibit: Exhibit, figures: list[Any]) -> None:
    """Every forecaster of the board that has a score has the same one in the record."""
    found = {text(each, "forecaster"): each for each in figures if isinstance(each, dict)}
    scored = [
        entry
        for entry in listed(exhibit.board, "forecasters")
        if isinstance(entry, dict) and text(entry.get("brier"), "mean")
    ]
    if not scored:
        raise FormatError("the board has no score that could be compared")
    for entry in scored:
        name, own = text(entry, "forecaster"), found.get(text(entry, "forecaster"))
        if own is None:
            raise IntegrityError(f"it has no figure of {name:.60}")
        if own.get("n_counted") != entry.get("n_counted"):
            raise IntegrityError(
                f"{name:.60}: {own.get('n_counted')!r:.20} forecasts count there, "
                f"{entry.get('n_counted')!r:.20} on the board"
            )
        if not _same(text(own, "brier"), text(entry.get("brier"), "mean")):
            raise IntegrityError(
                f"{name:.60}: its Brier score is {text(own, 'brier'):.30}, and the board's "
                f"{text(entry.get('brier'), 'mean'):.30}"
            )


def _same(own: str, published: str) -> bool:
    """Whether a figure is the published one: equal, or equal once rounded to its places."""
    try:
        first, second = Decimal(own), Decimal(published)
        if not (first.is_finite() and second.is_finite()):
            return False
        return first.quantize(second) == second
    except InvalidOperation:
        return False
