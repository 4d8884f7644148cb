"""`beforehand.score`: a table of forecasts, scored, for a notebook or a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from beforehand.publish.scorecard import MARGIN, Scorecard, build_scorecard
from beforehand.records.shape import decimal_text
from beforehand.scoring.exact import Grid
from beforehand.site.charts import skill_picture
from beforehand.site.listing import figure, gap, span
from beforehand.site.pages import _environment
from beforehand.site.report import write_report, write_whole
from beforehand.site.scoresheets import MOST_PICTURES, ordered, reference_of, scores_listing
from beforehand.site.text import NOTHING, count, cut, plain
from beforehand.sources.formats import read_any
from beforehand.sources.table import read_table

PRINTED_CHARS = 40
# Plain colours and no variables, so that any drawing program shows the picture.
_STYLE = Markup(
    ".beforehand .ground{fill:#fdfdfb}.beforehand .row{fill:none}"
    ".beforehand .row:nth-child(even){fill:#f3f5f4}"
    ".beforehand text{font:11.5px sans-serif;fill:#15201f}.beforehand .axis{fill:#526060}"
    ".beforehand .rule{stroke:#d5dcda}.beforehand .zero{stroke:#15201f;stroke-opacity:.75}"
    ".beforehand .good{stroke:#0b6b52;fill:#0b6b52}.beforehand .bad{stroke:#a5401c;fill:#a5401c}"
    ".beforehand .even{stroke:#5f6c75;fill:#5f6c75}.beforehand text{stroke:none}"
)
_WHOLE = ("n", "n_stated", "n_open", "n_void", "n_missing", "clusters")
_MURPHY = ("unc", "rel", "res", "wbv", "wbc")
_CORP = ("mcb", "dsc", "unc")
_COX = ("intercept", "slope", "se_slope")


def score(
    source: Any,
    *,
    skip_bad: bool = False,
    grid: str | Decimal = "0.0001",
    margin: float = MARGIN,
    columns: Mapping[str, str | None] | None = None,
) -> Scores:
    """The scores of a table of forecasts: a path, a polars frame or a pandas frame.

    Needed are a forecaster, a question, a probability of YES and an outcome; a
    crowd's probability, a cluster, a time and more are used where they are, and
    `columns` settles a role by name, `{"forecaster": "model"}`. A bad row is a
    FormatError that names it; with `skip_bad` it is left out and counted.
    `margin` is the Brier difference that counts as none.

    >>> import polars as pl
    >>> rows = {"forecaster": ["a", "b"], "question": ["q", "q"]}
    >>> frame = pl.DataFrame({**rows, "probability": [0.6, 0.3], "outcome": [1, 1]})
    >>> [round(loss, 6) for loss in score(frame).frame["brier"]]
    [0.16, 0.49]
    """
    steps = Grid.of(decimal_text(str(grid), "grid"))
    if isinstance(source, (str, PathLike)):
        table = read_any(Path(source), skip_bad=skip_bad, grid=steps, columns=columns)
    else:
        table = read_table(source, skip_bad=skip_bad, grid=steps, columns=columns)
    return Scores(build_scorecard(table, margin))


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """A scored table. Prints as a table and the sentence of who is better."""

    card: Scorecard

    @property
    def content(self) -> dict[str, Any]:
        """Everything, as `beforehand score --json` prints it."""
        return dict(self.card.content)

    @property
    def sentence(self) -> str:
        """Who is better, who equivalent, who undecided, and how many more questions that takes."""
        return str(self.card.content["standing"]["sentence"])

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a forecaster, those with the most skill first; null where there is nothing.

        `skill_*` is against the crowd, where there is one, `skill_half_*`
        against always saying one half.
        """
        rows = [_row(name, card) for name, card in ordered(self.card.content)]
        schema = {
            name: pl.String
            if name == "forecaster"
            else pl.Int64
            if name in _WHOLE or name.endswith(("_clamped", "_n", "_clusters"))
            else pl.Float64
            for name in (rows[0] if rows else ("forecaster",))
        }
        return pl.DataFrame(rows, schema=schema)

    def __repr__(self) -> str:
        return f"{_printed(self.card.content)}\n\n{plain(self.sentence)}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the table of scores and the sentence, all names escaped."""
        parts: Any = _environment().get_template("parts.html.j2").module
        listing = parts.listing(scores_listing(self.card.content, links=False))
        return str(Markup("<div>{}<p><strong>{}</strong></p></div>").format(
            listing, plain(self.sentence)
        ))  # fmt: skip

    def plot(self, path: Path | str | None = None) -> str:
        """The skill of everybody with intervals, as the text of an SVG picture.

        Written to `path`, too, where one is given.
        """
        key, reference = reference_of(self.card.content)
        held = [(name, card[key]) for name, card in ordered(self.card.content)]
        charts: Any = _environment().get_template("charts.svg.j2").module
        picture = str(
            charts.skill(
                skill_picture(held, MOST_PICTURES),
                f"Skill of every forecaster against {reference}, with its interval",
                "Each row is one forecaster, best first: a dot at the mean, a bar over its 95 % "
                "interval. Above 0 is better.",
                _STYLE,
            )
        )
        if path is not None:
            write_whole(Path(path), picture.encode("utf-8"))
        return picture

    def to_html(self, path: Path | str) -> None:
        """Write the whole report: one file with pictures that asks nobody for anything."""
        write_report(self.card, Path(path))

    def to_latex(self) -> str:
        r"""The scores as a table for LaTeX, with intervals; needs `\usepackage{booktabs}`."""
        key, reference = reference_of(self.card.content)
        heads = ("Forecaster", "$n$", "Brier", r"95\,\% interval", "Log loss", "ECE", "Skill",
                 r"95\,\% interval")  # fmt: skip
        rows = []
        for name, card in ordered(self.card.content):
            skill = card[key]
            cells = (
                str(card["n"]),
                figure(card["brier"]),
                span(card["brier_interval"]),
                figure(card["log_loss"]),
                figure(card["ece"], 3),
                gap(skill["mean"]),
                span(skill["ci95"], signs=True),
            )
            # In braces: a name that begins with [ or * would be read as part of the \\ before it.
            rows.append(" & ".join((f"{{{latex(name)}}}", *map(latex, cells))) + r" \\")
        return "\n".join(
            (
                rf"% Skill: against {reference}, above 0 is better.",
                "% Brier, log loss, ECE: lower is better.",
                rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
                r"\toprule",
                " & ".join(heads) + r" \\",
                r"\midrule",
                *rows,
                r"\bottomrule",
                r"\end{tabular}",
                "",
            )
        )


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\u2212": "$-$",
    NOTHING: r"\textemdash{}",
    "\u00a0": " ",
    "\u202f": " ",
}


def latex(text: str) -> str:
    r"""The text with every character that LaTeX would act on written so that it is shown.

    >>> latex("gpt_4 & 50%"), latex("a\\b{c}")
    ('gpt\\_4 \\& 50\\%', 'a\\textbackslash{}b\\{c\\}')
    """
    words = "".join(_LATEX.get(mark, mark) for mark in " ".join(plain(text).split()))
    return re.sub("-(?=-)", "-{}", words)  # two hyphens would be joined to a dash


def _row(name: str, card: Mapping[str, Any]) -> dict[str, Any]:
    """A forecaster's scores as one flat row."""
    low, high = card["brier_interval"] or (None, None)
    row = {
        "forecaster": name,
        **{key: card[key] for key in _WHOLE},
        "reliability": card["reliability"],
        "brier": card["brier"],
        "brier_low": low,
        "brier_high": high,
        **{key: card[key] for key in ("log_loss", "log_loss_clamped", "spherical", "ece")},
        "sharpness": card["sharpness"],
    }
    for group, keys in (("murphy", _MURPHY), ("corp", _CORP), ("cox", _COX)):
        held = card[group] or {}
        row |= {f"{group}_{key}": held.get(key) for key in keys}
    for key in ("skill", "skill_half"):
        if key in card:
            held = card[key]
            low, high = held["ci95"] or (None, None)
            row |= {key: held["mean"], f"{key}_se": held["se"], f"{key}_low": low}
            row |= {f"{key}_high": high, f"{key}_n": held["n"], f"{key}_clusters": held["clusters"]}
    return row


def _printed(content: Mapping[str, Any]) -> str:
    """The scores as lines of equal columns."""
    key, reference = reference_of(content)
    lines = [("forecaster", "n", "Brier", "95 % interval", "log loss", "skill", "95 % interval")]
    for name, card in ordered(content):
        skill = card[key]
        lines.append(
            (
                plain(cut(name, PRINTED_CHARS)),
                count(card["n"]),
                figure(card["brier"]),
                span(card["brier_interval"]),
                figure(card["log_loss"]),
                gap(skill["mean"]),
                span(skill["ci95"], signs=True),
            )
        )
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    printed = [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join((*printed, f"skill: against {reference}, above 0 is better"))
