"""Spread categories: one category as several columns of 0 and 1, of which a row has one at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Role
from sfumato.core.problem import short
from sfumato.core.taxonomy import Label
from sfumato.policy.column_evidence import NO_FINDING, TableEvidence
from sfumato.policy.column_guess import is_undecided
from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.content import ColumnRule
from sfumato.policy.taxonomies.flat import Flat

EXPECTED_TOGETHER = 10
"""Where chance would give so many rows both, it is no accident that none has."""
EXPECTED_OF_EACH = 3
"""Of columns that are taken together, each has to tell something by itself."""
MOST_FLAGS = 120
Truths = NDArray[np.bool_]


@dataclass(frozen=True)
class FlagColumns:
    """Columns of 0 and 1: those that others are known to know, and those of which nothing is known."""

    known: tuple[str, ...]
    unknown: tuple[str, ...]

    @classmethod
    def of(cls, columns: Mapping[str, ColumnRule], survey: TableEvidence) -> FlagColumns:
        """Returns the columns to look at, row by row; none where nothing can be told."""
        flags = [name for name in columns if _is_flag(name, survey)][:MOST_FLAGS]
        unknown = tuple(name for name in flags if is_undecided(columns[name]))
        known = tuple(n for n in flags if columns[n].role is Role.QUASI and n not in unknown)
        return cls(known, unknown) if known and unknown else cls((), ())

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.known, *self.unknown)


def spread_categories(flags: FlagColumns, rows: Mapping[str, Sequence[Label]]) -> dict[str, ColumnRule]:
    """Returns quasi-identifiers for columns that are never 1 where a quasi-identifier is.

    South, west and `nrcen` are one region in three columns: who knows two of them knows the third.
    `rows` are the texts of some rows, column by column.
    """
    ones = {name: _ones(rows[name]) for name in flags.names}
    found: dict[str, ColumnRule] = {}
    for name in flags.unknown:
        mates = _mates(ones[name], {other: ones[other] for other in flags.known})
        if mates:
            others = (
                short(mates[0]) if len(mates) == 1 else f"one of {short(mates[0])} and {len(mates) - 1} more"
            )
            reason = f"0 or 1, and never 1 where {others} is: another value of the same"
            found[name] = ColumnRule(Role.QUASI, Flat(), reason)
    return found


def _mates(one: Truths, known: Mapping[str, Truths]) -> list[str]:
    """Returns the known columns of the category that a column is a value of; none where that may be chance.

    One column is enough where chance would give many rows both. Where a category has many values, several
    columns are taken together: each has to be 0 wherever one of the others is 1.
    """
    mates: list[str] = []
    covered = np.zeros(len(one), np.bool_)
    for name, other in known.items():
        if (one & other).any():
            continue
        if _expected_together(one, other) >= EXPECTED_TOGETHER:
            return [name]
        if _expected_together(one, other) >= EXPECTED_OF_EACH and not (covered & other).any():
            mates.append(name)
            covered |= other
    return mates if _expected_together(one, covered) >= EXPECTED_TOGETHER else []


def _expected_together(one: Truths, other: Truths) -> float:
    """Returns in how many rows both would be 1 if neither told of the other."""
    return float(one.sum()) * float(other.sum()) / max(1, len(one))


def _ones(cells: Sequence[Label]) -> Truths:
    return np.array([cell is not None and cell.strip() in ("1", "1.0") for cell in cells])


def _is_flag(name: str, survey: TableEvidence) -> bool:
    profile = _profile(name, survey)
    return profile.distinct == 2 and profile.column.complete and set(profile.numbers or ()) == {0, 1}


def _profile(name: str, survey: TableEvidence) -> ColumnProfile:
    return ColumnProfile.of(name, survey.columns[name], survey.rows, NO_FINDING)
