"""The leaderboard of a league that ranks by skill, as a table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from beforehand.cli.screen import out
from beforehand.scoring.exact import decimal_places
from beforehand.stages.status import counted

NOTHING = "–"
NAME_CHARS = 24
WIDE_CHARS = 105
# What a narrow terminal shows is cut between columns, never inside a figure.
COLUMNS = ("shared", "reliable", "skill", "95 % interval", "Brier", "own", "unflagged", "leaks")
NARROW_COLUMNS = 4
READING = """\
   Skill: the crowd's Brier loss minus the forecaster's, on the shared set, each
   question once; above 0 is better than the market's price. Intervals are 95 %,
   one at a time. Shared: its forecasts in that set. Reliable: valid of those
   attempted. A wide terminal adds the Brier loss there; own: all answers that
   count; unflagged: skill on those without a leak flag; leaks: how many have
   one. Best single models are known only in hindsight.
"""
Entry = Mapping[str, Any]


def print_skill_board(board: Mapping[str, Any]) -> None:
    """The board of a blind league: the ranked, those without a rank, and what is derived."""
    shared = board["shared"]
    time = "/".join(dict.fromkeys(board["time"]))
    title = Text(f"{board['title']} ({time} time)", overflow="ellipsis", no_wrap=True)
    out.print(title, style="bold")
    if board["state"] == "awaiting":
        out.print("   awaiting: no question is resolved yet, so there is no score and no rank")
    else:
        out.print(
            f"   shared set: {counted(shared['n'], 'forecast')} of "
            f"{counted(shared['questions'], 'question')}, "
            f"SHA-256 {shared['sha256'][:12]}"
        )
    out.print(_table(board))
    for entry in board["forecasters"]:
        if entry["kind"] != "derived" and entry["why_unranked"] and entry["rank"] is None:
            _say(f"{entry['label']}: no rank, {entry['why_unranked']}")
    for entry in board["forecasters"]:
        if entry["pool"] is not None:
            _say(f"{entry['label']}: {pool_words(entry['pool'])}")
    _print_best(board)
    if board["state"] != "awaiting":
        out.print(READING)


def pool_words(pool: Mapping[str, Any]) -> str:
    """What stands by an ensemble wherever it is shown.

    >>> pool_words({"n": 2, "mean_correlation": "0.5", "n_eff": None, "n_eff_why": "too few"})
    'n = 2, mean error correlation 0.500, N_eff undefined (too few)'
    """
    why = f" ({pool['n_eff_why']})" if pool["n_eff_why"] else ""
    r = "undefined" if pool["mean_correlation"] is None else _short(pool["mean_correlation"], 3)
    effective = f"undefined{why}" if pool["n_eff"] is None else _short(pool["n_eff"], 2)
    return f"n = {pool['n']}, mean error correlation {r}, N_eff {effective}"


def _table(board: Mapping[str, Any]) -> Table:
    """Contestants first; in a section of its own what was computed and not said."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right")
    table.add_column("forecaster", no_wrap=True, overflow="ellipsis", max_width=NAME_CHARS)
    names = COLUMNS if out.width >= WIDE_CHARS else COLUMNS[:NARROW_COLUMNS]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    entries = board["forecasters"]
    for entry in entries:
        if entry["kind"] != "derived":
            table.add_row(*_row(entry)[: len(names) + 2])
    table.add_section()
    for entry in entries:
        if entry["kind"] == "derived":
            table.add_row(*_row(entry)[: len(names) + 2])
    return table


def _row(entry: Entry) -> tuple[str | Text, ...]:
    gain, views = entry["gain"], entry["views"] or {}
    unflagged = views.get("unflagged") or {"mean": None}
    return (
        str(entry["rank"] or ""),
        Text(entry["label"].partition(":")[0]),
        str(gain["n"]),
        _percent((entry["reliability"] or {}).get("share")),
        _short(gain["mean"], sign=True),
        _interval(gain),
        _short(entry["brier_shared"]),
        str(entry["n_counted"]),
        _short(unflagged["mean"], sign=True),
        _leaks(views),
    )


def _print_best(board: Mapping[str, Any]) -> None:
    best = (board["analysis"] or {}).get("best")
    if best is not None:
        labels = {entry["forecaster"]: entry["label"] for entry in board["forecasters"]}
        name = labels.get(best["forecaster"], best["forecaster"])
        _say(f"{best['label']}: {name}, Brier {_short(best['brier'])}")


def _say(words: str) -> None:
    """A line under the table; what comes from the data is no markup."""
    out.print(f"   {words}", markup=False, soft_wrap=True)


def _leaks(views: Mapping[str, Any]) -> str:
    """The share of examined answers that carry a flag."""
    if not views.get("examined"):
        return NOTHING
    return _percent(str(Fraction(views["flagged"], views["examined"])))


def _interval(estimate: Mapping[str, Any]) -> str:
    if estimate["low"] is None:
        return NOTHING
    if estimate["identical"] and not Fraction(estimate["low"]):
        return "exactly 0"
    return f"{_short(estimate['low'], sign=True)} to {_short(estimate['high'], sign=True)}"


def _short(text: str | None, places: int = 4, *, sign: bool = False) -> str:
    if text is None:
        return NOTHING
    value = decimal_places(Fraction(text), places)
    return f"+{value}" if sign and Fraction(value) > 0 else value


def _percent(text: str | None) -> str:
    return NOTHING if text is None else f"{decimal_places(Fraction(text) * 100, 1)} %"
