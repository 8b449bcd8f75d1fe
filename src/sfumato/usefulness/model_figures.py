"""A model trained on the safe table and tested on the original, beside one that was trained on that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Counts, Role
from sfumato.usefulness.paired_column import PairedColumn
from sfumato.usefulness.paired_tables import PairedTables
from sfumato.usefulness.published_texts import Reals

MOST_CLASSES = 20
"""Values that a target may have to be classified; one with more is a number to be estimated, if it is one."""

SklearnModule = Any  # scikit-learn is an optional package, so there is no type to name where it is absent


@dataclass(frozen=True)
class ModelFigures:
    """How well `target` is told from the other columns of the original table.

    `raw` is the score of a model that was trained on the original, `safe` of the same one trained on the safe
    table, `guess` of the best constant: accuracy of a logistic regression, or R² of a ridge regression where
    the target is a number. All are tested on all original rows, which both models know in their way.
    """

    target: str
    score: Literal["accuracy", "R²"]
    raw: float
    safe: float
    guess: float


def default_target(tables: PairedTables) -> str | None:
    """Returns the first sensitive column that a model could tell; `None` where there is none."""
    for column in tables.columns:
        if column.role is Role.SENSITIVE and _problem(column) is None:
            return column.name
    return None


def model_figures(tables: PairedTables, target: str) -> ModelFigures:
    """Returns the scores of both models; raises `WrongCall` without a fit target or the package."""
    column = next((c for c in tables.columns if c.name == target), None)
    trouble = "is in neither table, or not published" if column is None else _problem(column)
    if column is None or trouble:
        raise WrongCall(f"the target {trouble}", remedy="Name a column that is published unchanged.")
    linear, scaler = _sklearn()
    others = [c for c in tables.columns if c.name != target and c.values > 1]
    if not others:
        raise WrongCall("there is no column to tell the target from", remedy="Leave the target out.")
    before = np.hstack([_raw_features(tables, c) for c in others])
    after = np.hstack([_safe_features(tables, c) for c in others])
    scale = scaler().fit(before, sample_weight=tables.raw.counts)
    before, after = scale.transform(before), scale.transform(after)
    truth = column.raw_leaf[tables.raw_codes(column)]
    told = column.low[tables.safe_codes(column)]
    rows, safe_rows = tables.raw.counts, tables.safe.counts
    if column.raw_numbers is not None and column.values > MOST_CLASSES:
        return _estimated(linear, column, (before, truth, rows), (after, told, safe_rows))
    scores = [
        _accuracy(linear, x, y, w, before, truth, rows)
        for x, y, w in ((before, truth, rows), (after, told, safe_rows))
    ]
    guess = float(column.raw_shares.max())
    return ModelFigures(target, "accuracy", scores[0], scores[1], guess)


def _problem(column: PairedColumn) -> str | None:
    """Says why a model cannot tell a column; `None` where it can."""
    if column.is_key or (column.high - column.low > 1).any():
        return "is generalized"
    if column.values < 2:
        return "has one value"
    if column.values <= MOST_CLASSES:
        return None
    if column.raw_numbers is None:
        return f"has more than {MOST_CLASSES} values that are no numbers"
    if not np.isfinite(column.raw_numbers).all():
        return "has missing numbers"
    return None


def _raw_features(tables: PairedTables, column: PairedColumn) -> Reals:
    codes = tables.raw_codes(column)
    if column.raw_numbers is not None:
        return _numeric(column, column.raw_numbers)[codes]
    return np.eye(column.group_shares.shape[1])[column.raw_group[codes]]


def _safe_features(tables: PairedTables, column: PairedColumn) -> Reals:
    codes = tables.safe_codes(column)
    if column.safe_numbers is not None:
        return _numeric(column, column.safe_numbers)[codes]
    return np.asarray(column.group_shares[codes])


def _numeric(column: PairedColumn, numbers: Reals) -> Reals:
    """Returns a number and whether it is known, for each value or text; the mean stands for a missing one."""
    assert column.raw_numbers is not None  # noqa: S101  # the caller asked
    known = np.isfinite(column.raw_numbers)
    mean = np.average(column.raw_numbers[known], weights=column.raw_rows[known])
    return np.stack([np.where(np.isfinite(numbers), numbers, mean), np.isfinite(numbers)], axis=1)


def _accuracy(
    linear: SklearnModule,
    features: Reals,
    labels: NDArray[np.int64],
    weights: Counts,
    tested: Reals,
    truth: NDArray[np.int64],
    rows: Counts,
) -> float:
    if len(np.unique(labels)) < 2:
        return float(rows[truth == labels[0]].sum() / rows.sum()) if len(labels) else 0.0
    model = linear.LogisticRegression(max_iter=500).fit(features, labels, sample_weight=weights)
    return float(model.score(tested, truth, sample_weight=rows))


def _estimated(
    linear: SklearnModule,
    column: PairedColumn,
    raw: tuple[Reals, NDArray[np.int64], Counts],
    safe: tuple[Reals, NDArray[np.int64], Counts],
) -> ModelFigures:
    assert column.numbers is not None  # noqa: S101  # the caller asked
    numbers = column.numbers[1]
    scores = [
        float(
            linear.Ridge()
            .fit(x, numbers[y], sample_weight=w)
            .score(raw[0], numbers[raw[1]], sample_weight=raw[2])
        )
        for x, y, w in (raw, safe)
    ]
    return ModelFigures(column.name, "R²", scores[0], scores[1], 0.0)


def _sklearn() -> tuple[SklearnModule, SklearnModule]:
    try:
        from sklearn import linear_model  # noqa: PLC0415  # optional
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415  # optional
    except ImportError:
        raise WrongCall(
            "a model needs one more package", remedy="Install it: python -m pip install 'sfumato[utility]'"
        ) from None
    return linear_model, StandardScaler
