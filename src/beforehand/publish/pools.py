"""What an ensemble is worth beside its parts: size, dependence, and comparisons in hindsight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from beforehand.publish.derived import POOLS
from beforehand.publish.gains import board_estimate, board_mean, board_text, loss, scored_units
from beforehand.publish.ranking import Scored, SharedSet
from beforehand.publish.reliability import Key
from beforehand.publish.rows import Row
from beforehand.publish.rules import Rules
from beforehand.scoring.voices import (
    MOST_LISTED_MODELS,
    EffectiveNumber,
    ErrorProducts,
    ErrorRow,
    effective_number,
    error_correlation,
    error_products,
    size_curve,
)

HINDSIGHT = "best single model, known only in hindsight"


def pool_analysis(
    scored: Scored, kinds: Mapping[str, str], shared: SharedSet, rules: Rules
) -> dict[str, Any]:
    """The analysis of the league's models and their pools as JSON.

    The models are those whose answers make the shared set; the rows those on
    which every one of them counts. Each question weighs once.
    """
    models = [name for name in shared.names if kinds[name] == "asked"]
    keys = sorted(set.intersection(*(set(scored[name]) for name in models))) if models else []
    held = error_products([_error_row(key, models, scored, rules) for key in keys])
    pairs = [_pair_told(a, b, scored, rules) for a, b in combinations(models, 2)]
    number = effective_number(len(models), [r for r, _ in pairs])
    best = _best_model(models, held, rules)
    return {
        "models": models,
        "left_out": {n: why for n, why in shared.left_out.items() if kinds[n] == "asked"},
        "n": held.rows,
        "questions": held.questions,
        "clusters": len({scored[models[0]][key].cluster for key in keys}) if models else 0,
        "curve": [
            {
                "size": point.size,
                "subsets": point.subsets,
                "brier": _loss_text(point.mean, rules),
                "best": _loss_text(point.best, rules),
                "worst": _loss_text(point.worst, rules),
            }
            for point in size_curve(held)
        ],
        "curve_why": _why_not_listed(models),
        "correlations": [told for _, told in pairs],
        "best": best,
        **_voices_told(models, [r for r, _ in pairs], number),
        "ensembles": {
            name: _comparisons(name, models, keys, best, scored, rules)
            for name, rule in rules.derived.items()
            if rule in POOLS
        },
    }


def voices_told(names: Sequence[str], scored: Scored, rules: Rules) -> dict[str, Any]:
    """How alike the errors of forecasters are, pair by pair, and how many voices that makes.

    For leagues that accept answers: each pair on the questions both answered.
    """
    values = [_pair_told(a, b, scored, rules)[0] for a, b in combinations(names, 2)]
    number = effective_number(len(names), values)
    return {"models": list(names), **_voices_told(names, values, number)}


def pool_told(analysis: Mapping[str, Any], counted: Sequence[Row]) -> dict[str, Any]:
    """What stands next to an ensemble wherever it is shown: its size, r and N_eff."""
    sizes = [Fraction(row.members) for row in counted if row.members is not None]
    average = board_text(sum(sizes, Fraction(0)) / len(sizes)) if sizes else None
    return {
        "n": len(analysis["models"]),
        "mean_members": average,
        **{key: analysis[key] for key in ("mean_correlation", "n_eff", "n_eff_why")},
    }


def _error_row(key: Key, models: Sequence[str], scored: Scored, rules: Rules) -> ErrorRow:
    first = scored[models[0]][key]
    return ErrorRow(first.weighed_as, tuple(_error_of(scored[name][key], rules) for name in models))


def _error_of(row: Row, rules: Rules) -> int:
    return scored_units(row) - (rules.grid.steps if row.happened else 0)


def _pair_told(
    a: str, b: str, scored: Scored, rules: Rules
) -> tuple[Fraction | None, dict[str, Any]]:
    """A pair's error correlation on all that both answered; None below the declared clusters."""
    keys = sorted(set(scored[a]) & set(scored[b]))
    held = error_products([_error_row(key, (a, b), scored, rules) for key in keys])
    value, why = None, ""
    if held.questions < rules.min_clusters_interval:
        why = f"fewer than {rules.min_clusters_interval} common questions"
    else:
        value = error_correlation(held)
        why = "" if value is not None else "the errors of one of them never vary"
    told = {
        "a": a, "b": b, "n": held.rows, "questions": held.questions,
        "r": board_text(value), "why": why,
    }  # fmt: skip
    return value, told


def _voices_told(
    models: Sequence[str], correlations: Sequence[Fraction | None], number: EffectiveNumber
) -> dict[str, Any]:
    defined = [value for value in correlations if value is not None]
    return {
        "mean_correlation": board_text(sum(defined, Fraction(0)) / len(defined))
        if defined
        else None,
        "pairs": len(correlations),
        "pairs_undefined": len(correlations) - len(defined),
        "n_eff": board_text(number.value),
        "n_eff_why": number.why,
    }


def _why_not_listed(models: Sequence[str]) -> str:
    if len(models) <= MOST_LISTED_MODELS:
        return ""
    return f"best and worst subsets are listed up to {MOST_LISTED_MODELS} models"


def _loss_text(value: Fraction | None, rules: Rules) -> str | None:
    return None if value is None else board_text(value / (rules.grid.steps * rules.grid.steps))


def _best_model(models: Sequence[str], held: ErrorProducts, rules: Rules) -> dict[str, Any] | None:
    """The model with the least loss on the common rows, which nobody knew beforehand."""
    if not held.weight:
        return None
    place = min(range(len(models)), key=lambda i: (held.sums[i][i], models[i]))
    value = Fraction(held.sums[place][place], held.weight)
    return {"forecaster": models[place], "brier": _loss_text(value, rules), "label": HINDSIGHT}


def _comparisons(
    name: str,
    models: Sequence[str],
    keys: Sequence[Key],
    best: Mapping[str, Any] | None,
    scored: Scored,
    rules: Rules,
) -> dict[str, Any]:
    """What the ensemble gains over the mean model, the best one in hindsight, and the crowd."""
    grid, own = rules.grid, scored.get(name, {})
    crowd = scored.get(rules.named("crowd") or "", {})

    def gain_over(others: Sequence[Mapping[Key, Row]]) -> dict[str, Any]:
        shared = [key for key in keys if key in own and all(key in held for held in others)]
        values = [
            (own[key], _mean_of(others, key, rules) - grid.brier(loss(own[key], grid)))
            for key in shared
        ] if others else []  # fmt: skip
        return board_estimate(board_mean(values, rules))

    return {
        "over_mean_model": gain_over([scored[model] for model in models]),
        "over_best_model": {
            "label": HINDSIGHT,
            **gain_over([scored[best["forecaster"]]] if best else []),
        },
        "over_crowd": gain_over([crowd] if crowd else []),
    }


def _mean_of(held: Sequence[Mapping[Key, Row]], key: Key, rules: Rules) -> Fraction:
    total = sum(loss(rows[key], rules.grid) for rows in held)
    return rules.grid.brier(1) * Fraction(total, len(held))
