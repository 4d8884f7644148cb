"""Every measure with its formula, its function and its source, by version of the methodology."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """A measure: its formula in plain text, the function that computes it, where it comes from.

    `recounted` says whether the function stands in the published `recount.py`,
    which computes every published number again; the others make pages only.
    """

    what: str
    formula: str
    module: str
    function: str
    reference: str = "by definition"
    recounted: bool = True

    @property
    def path(self) -> str:
        """The module's file in the package."""
        return self.module.replace(".", "/") + ".py"


_EXACT = "beforehand.scoring.exact"
_BOARD = "beforehand.publish.leaderboard"
_GAINS = "beforehand.publish.gains"
_ROWS = "beforehand.publish.rows"
_CLUSTERS = "beforehand.scoring.paired"
_BINS = "beforehand.scoring.calibration"
_STEPHENSON = "Murphy 1973, J. Appl. Meteorology 12; Stephenson, Coelho and Jolliffe 2008, WAF 23"

FORMULAS = (
    Formula(
        "What counts",
        "on the roster of a run that counts, sealed by the deadline, a probability, the first "
        "one, and the event resolved yes or no",
        _ROWS,
        "build_rows",
    ),
    Formula(
        "Probability on the grid",
        "u = round(p × steps), half to even; steps = 1 / grid step",
        _EXACT,
        "Grid.units",
    ),
    Formula(
        "Brier loss of a forecast",
        "(p − y)², computed as (u − y × steps)² / steps²; y = 1 for yes, 0 for no",
        _EXACT,
        "Grid.brier_units",
        "Brier 1950, Monthly Weather Review 78 (whose two-outcome form is twice this)",
    ),
    Formula(
        "Brier of a forecaster, each question once",
        "(1/G) Σ m_g, where m_g is the mean loss on question g’s events, G questions",
        _CLUSTERS,
        "cluster_mean",
        "Ibragimov and Müller 2010, JBES 28",
    ),
    Formula(
        "Brier of a forecaster, each event once",
        "(1/n) Σ (p − y)²",
        _EXACT,
        "mean",
        "Brier 1950",
    ),
    Formula(
        "Gain over the others’ median",
        "(m − y)² − (p − y)², m the median of everybody else’s p on the event; each question once",
        _GAINS,
        "paired_gain",
    ),
    Formula(
        "Gain over the others’ average",
        "mean of the others’ (p − y)² minus one’s own, on the same event; each question once",
        _BOARD,
        "build_board",
    ),
    Formula(
        "Gain over the crowd",
        "(c − y)² − (p − y)², c the market’s price in the run’s snapshot; each question once",
        _BOARD,
        "build_board",
    ),
    Formula(
        "Interval",
        "mean ± t(0.975; G − 1) s / √G over the question means, s their standard deviation, "
        "from G = 10 up",
        _CLUSTERS,
        "cluster_mean",
        "Student 1908, Biometrika 6; Ibragimov and Müller 2010, JBES 28",
    ),
    Formula(
        "Student’s t",
        "t(q; df) with P(T ≤ t) = q",
        "beforehand.scoring.student",
        "student_quantile",
        "Student 1908, Biometrika 6",
    ),
    Formula(
        "Rank",
        "1 + how many ranked have a larger gain over the others’ median; equal gains share it",
        _BOARD,
        "build_board",
    ),
    Formula(
        "Shared set",
        "the events that every ranked forecaster answered; SHA-256 of their sorted list",
        _BOARD,
        "build_board",
    ),
    Formula("Coverage", "events with a stated probability / events offered", _BOARD, "build_board"),
    Formula(
        "Calibration bins",
        "ten bins [k/10, (k+1)/10) of whole grid steps, the last one closed: n, mean p, share yes",
        _BINS,
        "calibration_bins",
    ),
    Formula(
        "Wilson’s interval",
        "(s + z²/2n ± z √(s(1−s)/n + z²/4n²)) / (1 + z²/n), s the share of n, z = 1.96",
        _BINS,
        "wilson",
        "Wilson 1927, JASA 22",
    ),
    Formula(
        "Expected calibration error",
        "Σ (n_k/n) |mean p_k − share_k| over the bins, from 30 forecasts up",
        _BINS,
        "calibration_error",
        "Naeini, Cooper and Hauskrecht 2015, AAAI",
    ),
    Formula(
        "Crowd, median, mean, one half, base rate",
        "the price, or (bid + ask)/2; the median and the mean of the counted p; 0.5; the share of "
        "yes among the run’s resolved events",
        _ROWS,
        "build_rows",
    ),
    Formula(
        "Murphy’s decomposition",
        "Brier = unc + rel − res + wbv − wbc, on the ten bins; each event once",
        "beforehand.scoring.decompose",
        "murphy",
        _STEPHENSON,
        recounted=False,
    ),
    Formula(
        "CORP decomposition",
        "Brier = mcb − dsc + unc, by isotonic regression; each event once",
        "beforehand.scoring.isotonic",
        "corp",
        "Dimitriadis, Gneiting and Jordan 2021, PNAS 118; Ayer et al. 1955, Ann. Math. Stat. 26",
        recounted=False,
    ),
)
