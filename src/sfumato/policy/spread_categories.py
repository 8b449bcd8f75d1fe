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
MOST_FLAGS = 120


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
        mate = next((other for other in flags.known if _exclude(ones[name], ones[other])), None)
        if mate is not None:
            reason = f"0 or 1, and never 1 where {short(mate)} is: another value of the same"
            found[name] = ColumnRule(Role.QUASI, Flat(), reason)
    return found


def _exclude(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    expected = float(one.sum()) * float(other.sum()) / max(1, len(one))
    return expected >= EXPECTED_TOGETHER and not bool((one & other).any())


def _ones(cells: Sequence[Label]) -> NDArray[np.bool_]:
    return np.array([cell is not None and cell.strip() in ("1", "1.0") for cell in cells])


def _is_flag(name: str, survey: TableEvidence) -> bool:
    profile = _profile(name, survey)
    return profile.distinct == 2 and profile.column.complete and set(profile.numbers or ()) == {0, 1}


def _profile(name: str, survey: TableEvidence) -> ColumnProfile:
    return ColumnProfile.of(name, survey.columns[name], survey.rows, NO_FINDING)
