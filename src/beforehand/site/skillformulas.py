"""The measures of version 2, for leagues that ask models: each with its function and its source."""

from __future__ import annotations

from beforehand.site.formulas import FORMULAS, Formula

_CROWD = "beforehand.publish.crowd"
_GAINS = "beforehand.publish.gains"
_RANKING = "beforehand.publish.ranking"
_VIEWS = "beforehand.publish.sensitivity"
_DERIVED = "beforehand.publish.derived"
_CLUSTERS = "beforehand.scoring.paired"
_VOICES = "beforehand.scoring.voices"
# What both versions have, by its name in version 1.
_SHARED = (
    "Probability on the grid",
    "Brier loss of a forecast",
    "Student’s t",
    "Calibration bins",
    "Wilson’s interval",
    "Expected calibration error",
    "Murphy’s decomposition",
    "CORP decomposition",
)
_KEPT = {held.what: held for held in FORMULAS if held.what in _SHARED}

SKILL_FORMULAS = (
    Formula(
        "What counts",
        "asked by a run that counts, on its roster, received and sealed by the deadline and the "
        "question’s end, before the outcome, the first valid answer, and resolved yes or no",
        "beforehand.publish.rows",
        "build_rows",
    ),
    _KEPT["Probability on the grid"],
    _KEPT["Brier loss of a forecast"],
    Formula(
        "Crowd",
        "c = (bid + ask)/2 of yes in the run’s own snapshot; none where a side is missing, the "
        "spread too wide, or the price too old at the first ask",
        _CROWD,
        "crowd_prices",
    ),
    Formula(
        "Skill against the crowd",
        "(c − y)² − (p − y)² on the same run and question; the crowd’s own is 0",
        _GAINS,
        "crowd_gain",
        "Murphy 1988, Monthly Weather Review 116 (the difference, not the ratio)",
    ),
    Formula(
        "Weight: per question, then per event cluster",
        "m = (1/Q) Σ_q m_q, m_q the mean over question q’s runs, Q questions; venue events are "
        "the clusters of the interval",
        _CLUSTERS,
        "question_mean",
        "MacKinnon, Nielsen and Webb 2023, J. Applied Econometrics 38",
    ),
    Formula(
        "Interval",
        "m ± t(0.975; ν) √((G−1)/G Σ_c ((S_c − N_c m)/(Q − N_c))²), S_c the sum of the question "
        "means of event c, N_c their number, G events, from the declared G up; "
        "ν = ⌊Q²/Σ N_c²⌋ − 1, at least 1",
        _CLUSTERS,
        "question_mean",
        "Student 1908, Biometrika 6; Kish 1965, Survey Sampling",
    ),
    _KEPT["Student’s t"],
    Formula(
        "Shared set",
        "the runs and questions with an outcome and a crowd on which every reliable contestant "
        "has a valid answer; SHA-256 of its sorted list",
        _RANKING,
        "shared_set",
    ),
    Formula(
        "Rank",
        "1 + how many ranked have a larger skill on the shared set; equal skills share it",
        _RANKING,
        "give_ranks",
    ),
    Formula(
        "Reliability",
        "valid / attempted, by run and question; missed slots and what the budget stopped are "
        "nobody’s attempts, a timeout is one; with Wilson’s interval",
        "beforehand.publish.reliability",
        "attended_by_all",
        "Wilson 1927, JASA 22",
    ),
    _KEPT["Wilson’s interval"],
    Formula(
        "Skill without leaks, without lookups",
        "skill over one’s own answers that carry no leak flag; over those whose price had not "
        "left the band by the run’s end",
        _VIEWS,
        "leak_views",
    ),
    Formula(
        "Moved, lookup",
        "|middle at the end − c| > 0.10; middle at the end outside the declared band",
        _CROWD,
        "price_move",
    ),
    Formula(
        "Sensitivity to failed answers",
        "skill with every failed attempt on a resolved question as p = c (which gains 0), and as "
        "p = 0.5; never a headline",
        _VIEWS,
        "imputed_views",
    ),
    Formula(
        "Ensemble",
        "the unweighted mean of the valid p of those asked, exact, then on the grid; none below "
        "the declared number of members",
        _DERIVED,
        "derived_of",
        "Clemen 1989, Int. J. Forecasting 5",
    ),
    Formula(
        "Base rate",
        "the share of yes among all resolved questions, each once: known only in hindsight",
        _DERIVED,
        "base_rate_of",
    ),
    Formula(
        "Size curve",
        "mean loss over all subsets of k of m models: (k/m A + k(k−1)/(m(m−1)) (B − A)) / k², "
        "A = Σ e_i², B = (Σ e_i)², e = p − y",
        _VOICES,
        "size_curve",
        "an identity; compare Krogh and Vedelsby 1995, NIPS 7",
    ),
    Formula(
        "Error correlation",
        "Pearson’s r of e = p − y of two models on what both answered, each question once",
        _VOICES,
        "error_correlation",
        "Pearson 1895, Proc. Royal Society 58",
    ),
    Formula(
        "Effective number of voices, N_eff",
        "m / (1 + (m − 1) r), r the mean over the pairs that have one; undefined for m < 2 and "
        "r ≤ −1/(m − 1)",
        _VOICES,
        "effective_number",
        "Kish 1965, Survey Sampling (the design effect)",
    ),
    Formula(
        "Ensemble against its parts",
        "the mean loss of its models, of the best one in hindsight, and of the crowd, each minus "
        "the ensemble’s on the rows all models share",
        "beforehand.publish.pools",
        "pool_analysis",
    ),
    Formula(
        "Paper account (secondary)",
        "p > ask a: stake f = (p − a)/(1 − a) on yes; p < bid b: f = (b − p)/b on no; f at most "
        "the declared cap, a bankroll of 1 that never grows; none at c ≤ 0.02 or c ≥ 0.98",
        "beforehand.scoring.paper",
        "kelly_stake",
        "Kelly 1956, Bell System Tech. J. 35; Thorp 2006, Handbook of ALM 1",
    ),
    Formula(
        "Largest row of the paper account",
        "max |profit of a row| / Σ |profit|",
        "beforehand.publish.accounts",
        "paper_account",
    ),
    Formula(
        "Spent and standing",
        "Σ cost of attempts whose cost is known; Σ reservation of the others",
        "beforehand.publish.spending",
        "spending_of",
    ),
    Formula(
        "Cohort",
        "the ISO year and week of the slot, UTC",
        "beforehand.publish.cohorts",
        "cohort_of",
        "ISO 8601",
    ),
    _KEPT["Calibration bins"],
    _KEPT["Expected calibration error"],
    _KEPT["Murphy’s decomposition"],
    _KEPT["CORP decomposition"],
)
