"""A survey taken in Spark: every column grouped by itself, and only columns with few values listed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import Column as Cell
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from sfumato.core.progress import Progress, silent
from sfumato.core.taxonomy import Label
from sfumato.engine.arrow_arrays import to_numpy
from sfumato.engine.spark.errors import spark_task
from sfumato.engine.spark.numbered_table import NESTED, NumberedTable
from sfumato.engine.spark.value_counts import SparkValueCounts, value_counts
from sfumato.engine.survey import PATTERNS, ColumnSurvey, KindGuess, Survey
from sfumato.engine.text import canonical

NO_COUNTS = np.zeros(0, np.int64)


def survey(opened: NumberedTable, names: Sequence[str], *, limit: int, progress: Progress = silent) -> Survey:
    """What these columns hold."""
    progress("surveying", 0)
    nested = [name for name in names if isinstance(opened.kind(name), NESTED)]
    cells = {name: F.col(opened.at(name)) for name in names if name not in nested}
    counts_of = value_counts(opened.frame, cells, limit=limit, what="the survey")
    many = [name for name in cells if _distinct(counts_of[name]) > limit]
    asking = [F.count(F.lit(1)), *(F.count(F.when(_gap(opened, n), 1)) for n in [*nested, *many])]
    guessed = [name for name in many if isinstance(opened.kind(name), StringType)]
    fits = [F.min(_fits(F.col(opened.at(name)), kind)) for name in guessed for kind in PATTERNS]
    with spark_task("the survey"):
        rows, *more = opened.frame.agg(*asking, *fits).collect()[0]
    gaps = dict(zip([*nested, *many], more, strict=False))
    holds = more[len(gaps) :]
    columns: dict[str, ColumnSurvey] = {}
    for name in names:
        if name in nested:
            columns[name] = ColumnSurvey(name, "list", 0, gaps[name], (), NO_COUNTS, False)
        elif name in many:
            kind = KindGuess(counts_of[name].values.type).kind
            if name in guessed:
                at = guessed.index(name) * len(PATTERNS)
                kind = next((k for k, yes in zip(PATTERNS, holds[at:], strict=False) if yes), "text")
            columns[name] = ColumnSurvey(name, kind, limit + 1, gaps[name], (), NO_COUNTS, False)
        else:
            columns[name] = _listed(name, counts_of[name])
    progress("surveying", rows, rows)
    return Survey(int(rows), columns)


def _distinct(occurring: SparkValueCounts) -> int:
    return len(occurring.values) - int(occurring.values.null_count)


def _gap(opened: NumberedTable, name: str) -> Cell:
    return F.col(opened.at(name)).isNull()


def _fits(cell: Cell, kind: str) -> Cell:
    """Whether a text is of this kind, as `KindGuess` would see it."""
    said = cell.rlike(rf"\A(?:{PATTERNS[kind]})\z")
    if kind == "date":
        day = F.substring(cell, 1, 10)
        return said & F.try_to_date(day, "yyyy-MM-dd").isNotNull() & ~day.startswith("0000")
    return said


def _listed(name: str, occurring: SparkValueCounts) -> ColumnSurvey:
    texts = canonical(occurring.values, name)
    counts = to_numpy(occurring.counts)
    order = to_numpy(pc.sort_indices(texts)).astype(np.int64)
    labels: list[Label] = [texts[i].as_py() for i in order.tolist()]
    missing = int(counts[order][-1]) if labels and labels[-1] is None else 0
    guess = KindGuess(occurring.values.type)
    guess.observe([label for label in labels if label is not None])
    distinct = len(labels) - (missing > 0)
    seen = counts[order].astype(np.int64)
    repeats = int(seen[:distinct].max(initial=0)) > 1
    return ColumnSurvey(
        name, guess.kind, distinct, missing, tuple(labels), seen, repeats=repeats, is_text=not guess.fixed
    )
