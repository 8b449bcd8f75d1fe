"""Differences of dates: numbers that count the days between two columns, and give the dates away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Role
from sfumato.core.problem import short
from sfumato.core.taxonomy import Label
from sfumato.policy.column_evidence import NO_FINDING, TableEvidence
from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.column_taxonomy import taxonomy_of
from sfumato.policy.content import ColumnRule
from sfumato.policy.taxonomies.date import Dates
from sfumato.policy.taxonomies.date_form import DateForm

FEWEST_ROWS = 20
FEWEST_DIFFERENCES = 5
"""In fewer rows, or of fewer different lengths, numbers are differences by accident."""
EQUAL_SHARE = (19, 20)
"""So many of the rows have to agree: some cells of a real table are corrected by hand."""
COUNTED_FROM = (0, 1, -1)
"""Both days count, or one of them, or none."""
MOST_DATES = 12
"""Of so many columns of dates every pair is looked at."""
UNKNOWN = np.iinfo(np.int64).min


@dataclass(frozen=True)
class DatedColumns:
    """The columns that dates are in, and those whose numbers may be differences of them."""

    dates: tuple[str, ...]
    numbers: tuple[str, ...]

    @classmethod
    def of(cls, columns: Mapping[str, ColumnRule], survey: TableEvidence) -> DatedColumns:
        """Returns the columns to look at, row by row; none where there cannot be a difference."""
        dates = [n for n, rule in columns.items() if rule.role is Role.QUASI and _form(rule) is not None]
        free = [name for name, rule in columns.items() if rule.role is Role.INSENSITIVE]
        numbers = [name for name in free if _may_count_days(_profile(name, survey))]
        if len(dates) < 2 or not numbers:
            return cls((), ())
        return cls(tuple(dates[:MOST_DATES]), tuple(numbers))

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.dates, *self.numbers)


def date_differences(
    columns: Mapping[str, ColumnRule],
    survey: TableEvidence,
    dated: DatedColumns,
    rows: Mapping[str, Sequence[Label]],
) -> dict[str, ColumnRule]:
    """Returns quasi-identifiers for the numbers that are the days between two columns of dates.

    `rows` are the texts of some rows, column by column. Whoever knows both dates of somebody knows their
    difference to the day, however coarsely the dates themselves are published.
    """
    days = {name: _days(columns[name], rows[name]) for name in dated.dates}
    found = {}
    for name in dated.numbers:
        counted = _counted(_profile(name, survey), rows[name])
        pair = next(
            (p for p in permutations(dated.dates, 2) if _agree(days[p[0]], days[p[1]], counted)), None
        )
        if pair is not None:
            taxonomy, shape = taxonomy_of(_profile(name, survey))
            reason = f"days from {short(pair[0])} to {short(pair[1])}, and would give both away; {shape}"
            found[name] = ColumnRule(Role.QUASI, taxonomy, reason)
    return found


def _agree(first: NDArray[np.int64], last: NDArray[np.int64], counted: NDArray[np.int64]) -> bool:
    """Whether the numbers are the days from the first date to the last, but for a few rows."""
    known = (first != UNKNOWN) & (last != UNKNOWN) & (counted != UNKNOWN)
    total = int(known.sum())
    if total < FEWEST_ROWS:
        return False
    excess = counted[known] - (last[known] - first[known])
    share, whole = EQUAL_SHARE
    return len(np.unique(counted[known])) >= FEWEST_DIFFERENCES and any(
        whole * int((excess == start).sum()) >= share * total for start in COUNTED_FROM
    )


def _days(rule: ColumnRule, cells: Sequence[Label]) -> NDArray[np.int64]:
    form = _form(rule)
    assert form is not None  # noqa: S101  # only such columns are looked at
    read = {text: form.day(text) for text in set(cells) if text is not None}
    day_of = {text: UNKNOWN if day is None else day.toordinal() for text, day in read.items()}
    return np.array([UNKNOWN if cell is None else day_of[cell] for cell in cells], np.int64)


def _counted(profile: ColumnProfile, cells: Sequence[Label]) -> NDArray[np.int64]:
    assert profile.numbers is not None  # noqa: S101  # only such columns are looked at
    size_of = {text: int(size) for text, size in zip(profile.values, profile.numbers, strict=True)}
    return np.array([UNKNOWN if cell is None else size_of.get(cell, UNKNOWN) for cell in cells], np.int64)


def _form(rule: ColumnRule) -> DateForm | None:
    """Returns how a column's dates are written, if they are days."""
    if not isinstance(rule.taxonomy, Dates):
        return None
    form = DateForm(rule.taxonomy.written)
    return form if form.finest == "day" else None


def _may_count_days(profile: ColumnProfile) -> bool:
    if not profile.column.complete or not profile.whole or profile.numbers is None:
        return False
    return profile.distinct >= FEWEST_DIFFERENCES


def _profile(name: str, survey: TableEvidence) -> ColumnProfile:
    return ColumnProfile.of(name, survey.columns[name], survey.rows, NO_FINDING)
