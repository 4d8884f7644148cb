"""The report of a scored table: one HTML file that asks nobody for anything."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from beforehand import __version__
from beforehand.errors import FormatError
from beforehand.publish.scorecard import Scorecard
from beforehand.site.charts import calibration_marks, skill_picture
from beforehand.site.listing import (
    CORP_TERMS,
    MURPHY_TERMS,
    Listing,
    corp_listing,
    figure,
    gap,
    identity,
    murphy_listing,
)
from beforehand.site.pages import _csp, _css, _script, _template, icon
from beforehand.site.scoresheets import (
    BIN_HEADS,
    MOST_PICTURES,
    Held,
    bin_cells,
    left_out_listing,
    more_bins,
    ordered,
    pairs_listing,
    parts_listing,
    reference_of,
    scores_listing,
    shared_set,
    skills_listing,
)
from beforehand.site.text import count, cut

SENTENCE_CHARS = 1200


def write_report(card: Scorecard, path: Path) -> None:
    """Write the report to `path`, whole or not at all. FormatError where no file can be there."""
    write_whole(path, report_html(card).encode("utf-8"))


def report_html(card: Scorecard) -> str:
    """The report as text. The same card gives the same bytes."""
    script = _script()
    page: str = _template("report").render(
        csp=_csp(script), css=_css(), script=script, icon=icon(), **report_values(card.content)
    )
    return page


def write_whole(path: Path, data: bytes) -> None:
    """Put bytes in the place of a file: a reader sees the old one or the new one."""
    if path.is_dir():
        raise FormatError(f"{path} is a folder; name a file in it, such as {path / 'report.html'}")
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise FormatError(f"{path} cannot be written: {error.strerror}") from None


def report_values(content: Mapping[str, Any]) -> Held:
    """What `report.html.j2` shows."""
    cards = ordered(content)
    key, reference = reference_of(content)
    skills = [(key, reference)]
    if key == "skill":
        skills.append(("skill_half", "always saying one half"))
    picture = skill_picture([(name, card[key]) for name, card in cards], MOST_PICTURES)
    return {
        "version": __version__,
        "source": cut(content["source"], 200),
        "sentence": cut(content["standing"]["sentence"], SENTENCE_CHARS),
        "facts": _facts(content),
        "reference": reference,
        "forest": picture,
        "skills": [skills_listing(cards, *held) for held in skills],
        "margin": f"{content['standing']['margin']:g}",
        "pairs": pairs_listing(content),
        "forecasters": scores_listing(content),
        "parts_listing": parts_listing(cards),
        "shared": shared_set(content, key),
        "sections": [_section(k, *item) for k, item in enumerate(cards[:MOST_PICTURES], 1)],
        "more_bins": more_bins(cards),
        "grid": content["grid"],
        "rounding": content["rounding"],
        "left_out": left_out_listing(content),
        "notes": list(content["notes"]),
        "most": MOST_PICTURES,
    }


def _facts(content: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    cards = content["forecasters"].values()
    missing = sum(card["n_missing"] for card in cards)
    scored = sum(card["n"] for card in cards)
    left = sum(item["count"] for item in (*content["skipped"], *content["kept_out"]))
    return [
        (count(len(cards)), "forecasters", ""),
        (
            count(content["rounding"]["stated"]),
            "stated forecasts",
            f"{count(missing)} missing, {count(left)} left out",
        ),
        (count(scored), "scored: resolved yes or no", ""),
        (count(content["shared"]["n"]), "events that all ranked answered", ""),
    ]


def _section(k: int, name: str, card: Held) -> Held:
    """One forecaster in full."""
    bins = [
        {**item, "wilson_low": item["wilson"][0], "wilson_high": item["wilson"][1]}
        for item in card["bins"]
        if item["n"]
    ]
    murphy, corp = card["murphy"], card["corp"]
    missing = ", ".join(f"{why} {count(n)}" for why, n in sorted(card["missing"].items()))
    held = {
        "k": k,
        "name": name,
        "n": count(card["n"]),
        "open": count(card["n_open"]),
        "void": count(card["n_void"]),
        "missing": count(card["n_missing"]),
        "reasons": cut(missing, 400),
        "marks": calibration_marks(bins),
        "ece": figure(card["ece"]),
        "bins": Listing(
            f"Calibration bins {k}",
            "The bins of the picture. A bin holds its lower end and not its upper one; the last "
            f"holds both. Mean gap, weighted by n (ECE): {figure(card['ece'])}.",
            BIN_HEADS,
            [bin_cells(item) for item in card["bins"]],
        ),
        "cox": {**card["cox"], "intercept": gap(card["cox"]["intercept"], 3)},
        "slope": figure(card["cox"]["slope"], 3),
        "se_slope": figure(card["cox"]["se_slope"], 3),
        "why": card["cox"]["reason"] or "",
        "parts": [],
    }
    if murphy and corp:
        held["parts"] = [
            (
                murphy_listing(murphy, len(card["bins"]), card["n"], f"Murphy {k}"),
                identity(MURPHY_TERMS, murphy, card["brier"]),
            ),
            (
                corp_listing(corp, card["n"], f"CORP {k}"),
                identity(CORP_TERMS, corp, card["brier"]),
            ),
        ]
    return held
