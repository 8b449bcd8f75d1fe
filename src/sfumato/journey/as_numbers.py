"""The verb `as_numbers`: the intervals of a published table, to calculate with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.core.errors import WrongCall
from sfumato.engine import AnyTable
from sfumato.engine.frames.interval_numbers import IntervalForm, numbers_of_intervals


def as_numbers(
    table: AnyTable, *, form: str = "midpoint", columns: Sequence[str] | None = None
) -> Any:  # a table of the kind that was handed in
    """Give the intervals of a published table as numbers, so that a model can be fitted.

    Every column that holds intervals of numbers (`[20, 30)`, `20-29`, `90+`), numbers and `*`, and nothing
    else, becomes one of numbers: the middle, with `form="bounds"` two columns, `…_from` and `…_to`
    (excluded). What has no such number is missing. Nothing is read but these texts, so nothing is told that
    they do not tell. `columns` names those to be read; one that holds something else is then refused.
    """
    if form not in tuple(IntervalForm):
        raise WrongCall(f"intervals have no form {form}", remedy=f"There are {', '.join(IntervalForm)}.")
    return numbers_of_intervals(table, IntervalForm(form), columns)
