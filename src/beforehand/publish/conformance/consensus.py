"""Requirements 14 and 17: how many voices stand behind an agreement, and the other diagnostics."""

from __future__ import annotations

from decimal import Decimal
from html import escape
from typing import Any

from beforehand.book.folder import read_file
from beforehand.errors import FormatError
from beforehand.publish.conformance.exhibit import Exhibit
from beforehand.publish.conformance.result import Check, Pointer
from beforehand.publish.conformance.said import POOL_RULES, listed, number, text
from beforehand.publish.conformance.scores import board_place, decimal_of, entries

N_EFF_TOLERANCE = Decimal("0.00002")
SHARE_TOLERANCE = 0.0005
MAX_MATRIX = 200
MAX_PAGE_BYTES = 32 << 20
POWER_STEPS = 2000


def check_consensus(exhibit: Exhibit) -> Check:
    """Requirement 14."""
    check = Check(14)
    if exhibit.form == "table" or exhibit.board is None:
        check.gap(
            "no surface that could show a consensus is among these files",
            "publish count, mean correlation and N_eff beside any consensus",
        )
        return check
    pooled = [e for e in entries(exhibit) if exhibit.rule_of(text(e, "forecaster")) in POOL_RULES]
    if not pooled:
        check.not_applicable("no consensus of forecasters is published")
        return check
    for entry in pooled:
        _check_pool(check, entry, board_place(exhibit))
    read = _check_page(check, exhibit, [text(entry, "label") for entry in pooled])
    if not check.faults:
        check.saw(
            f"{len(pooled)} pools stand beside their count, mean correlation and N_eff, and "
            "the three agree",
            board_place(exhibit),
        )
        told = "the board's page names N_eff too" if read else "no page of the board was read"
        check.seen.append(f"{told}; other pages were not read")
        check.holds_since(exhibit.first_at or None)
    return check


def _check_pool(check: Check, entry: dict[str, Any], place: Pointer) -> None:
    name, pool = text(entry, "forecaster")[:60], entry.get("pool")
    if not isinstance(pool, dict):
        check.fault(
            f"{name!r} is a consensus, and stands without its count, mean correlation and N_eff",
            place,
        )
        return
    n, mean = number(pool, "n"), pool.get("mean_correlation")
    n_eff = pool.get("n_eff")
    if n is None or "mean_correlation" not in pool or "n_eff" not in pool:
        check.fault(f"{name!r} lacks one of count, mean correlation and N_eff", place)
    elif n_eff is None:
        if not text(pool, "n_eff_why"):
            check.fault(f"{name!r} has no N_eff, and nothing says why", place)
    else:
        r, said = decimal_of(str(mean)), decimal_of(str(n_eff))
        under = None if r is None else 1 + (n - 1) * r
        if r is None or said is None or under is None or under <= 0:
            check.fault(f"{name!r}: an N_eff beside no usable mean correlation", place)
        elif abs(n / under - said) > max(N_EFF_TOLERANCE, n * N_EFF_TOLERANCE):
            check.fault(f"{name!r}: N_eff {said} is not n/(1+(n-1)r) of n {n} and r {r}", place)


def _check_page(check: Check, exhibit: Exhibit, labels: list[str]) -> bool:
    """Whether the board's page was read; where it names a consensus, N_eff stands there too."""
    name = f"{exhibit.base.rpartition('/')[2]}/index.html"
    if not exhibit.folder.has(name):
        return False
    try:
        said = read_file(exhibit.folder, name, MAX_PAGE_BYTES).decode("utf-8", "replace")
    except FormatError:
        return False
    shown = [label for label in labels if label and escape(label) in said]
    if shown and "N_eff" not in said:
        check.fault(f"the page shows {shown[0][:60]!r} and names no N_eff", Pointer(name))
    return True


# ---- requirement 17

_PARTS = (
    ("largest_share", "the share of the largest eigenvalue of the likeness matrix"),
    ("participation_ratio", "the participation ratio of the likeness matrix"),
    ("seats", "each seat's mean correlation and share of majority"),
    ("sides_test", "the test of the sides as blocks"),
    ("fetch_records", "a fetch record of every cited link"),
    ("prices_only", "the prices-only arm"),
    ("repeats", "probability repeats under a frozen packet"),
    ("crowd_rows", "bid, ask and last-trade time on each crowd row"),
    ("accounts", "turnover and costs beside a no-trade shadow"),
)


def check_diagnostics(exhibit: Exhibit) -> Check:
    """Requirement 17."""
    check = Check(17)
    held = exhibit.diagnostics
    if exhibit.form == "table":
        check.gap("a table carries no diagnostics", "publish diagnostics.json")
        return check
    if held is None:
        if exhibit.board is None:
            check.gap("no diagnostics are among these files", "publish diagnostics.json")
            return check
        check.fault(
            "no diagnostics.json is published; it would hold "
            + "; ".join(words for _, words in _PARTS),
            Pointer(f"{exhibit.base}/"),
        )
        return check
    place = Pointer(f"{exhibit.base}/diagnostics.json")
    for key, words in _PARTS:
        if held.get(key) in (None, [], {}) and not text(held.get("not_applicable"), key):
            check.fault(f"missing: {words}", place)
    _check_matrix(check, held, place)
    _check_fetches(check, held, place)
    if not check.faults:
        check.saw("each diagnostic is published, or says why it does not apply", place)
        check.holds_since(exhibit.last_at or None)
    return check


def _check_matrix(check: Check, held: dict[str, Any], place: Pointer) -> None:
    """The two numbers of the likeness matrix, computed again from it."""
    rows = listed(held, "matrix")
    numbers = [[decimal_of(str(cell)) for cell in row] for row in rows if isinstance(row, list)]
    size = len(rows)
    if not size or size > MAX_MATRIX or any(len(row) != size for row in numbers):
        check.gap("the likeness matrix is not published", "publish it as `matrix`")
        return
    if len(numbers) != size or any(cell is None for row in numbers for cell in row):
        check.fault("the likeness matrix is not square or holds no number", place)
        return
    matrix = [[float(cell or 0) for cell in row] for row in numbers]
    squares = sum(cell * cell for row in matrix for cell in row)
    trace = sum(matrix[i][i] for i in range(size))
    ratio = trace * trace / squares if squares else 0.0
    for key, own in (
        ("participation_ratio", ratio),
        ("largest_share", _largest(matrix) / trace if trace else 0.0),
    ):
        said = decimal_of(str(held.get(key)))
        if said is None or abs(float(said) - own) > SHARE_TOLERANCE * max(1.0, own):
            check.fault(f"{key} is {said}, and the published matrix gives {own:.4f}", place)


def _largest(matrix: list[list[float]]) -> float:
    """The largest eigenvalue of a symmetric matrix without a negative one, by power iteration."""
    vector, value = [1.0 + i / 1000 for i in range(len(matrix))], 0.0
    for _ in range(POWER_STEPS):
        image = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]
        length = sum(item * item for item in image) ** 0.5
        if length == 0.0:
            return 0.0
        vector = [item / length for item in image]
        if abs(length - value) < 1e-12:
            break
        value = length
    return value


def _check_fetches(check: Check, held: dict[str, Any], place: Pointer) -> None:
    for item in listed(held, "fetch_records"):
        if not all(text(item, key) for key in ("url", "fetched_at", "sha256")):
            check.fault("a fetch record without its address, time and content hash", place)
            return
