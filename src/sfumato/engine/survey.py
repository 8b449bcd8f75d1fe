"""A survey: what the columns of a table hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.taxonomy import Label

DISTINCT = 200_000
"""Columns with more distinct values than this are not listed value by value."""


@dataclass(frozen=True, eq=False)
class ColumnSurvey:
    """What one column holds.

    `kind` is text, integer, decimal, date, boolean or list. `values` are canonical texts in ascending order,
    `None` at the end where cells are missing, and `counts` stand beside them. Where there are more distinct
    values than the limit, `complete` is False, `values` is empty and `distinct` a lower bound.
    """

    name: str
    kind: str
    distinct: int
    missing: int
    values: tuple[Label, ...]
    counts: NDArray[np.int64]
    complete: bool = True

    def __repr__(self) -> str:
        return f"ColumnSurvey({self.name!r}, {self.kind}, {self.distinct} distinct, {self.missing} missing)"


@dataclass(frozen=True, eq=False)
class Survey:
    """What a table holds: its number of rows and its columns by name."""

    rows: int
    columns: Mapping[str, ColumnSurvey]
