"""Companion columns: numbers that rise or fall with another column, value by value, and give it away."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Role
from sfumato.core.problem import short
from sfumato.policy.column_evidence import NO_FINDING, TableEvidence
from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.column_taxonomy import taxonomy_of
from sfumato.policy.policy import ColumnRule

FEWEST_VALUES = 5
FEWEST_COUNTS = 3
"""With fewer values, or fewer different counts of them, columns are alike by accident."""


def companions(columns: Mapping[str, ColumnRule], survey: TableEvidence) -> dict[str, ColumnRule]:
    """Returns the rules of columns that would be published unchanged and are another column in disguise.

    A square or a logarithm of an age has the ages' counts, in their order. Such a column gets the role of the
    one that it gives away: quasi, or sensitive.
    """
    told: dict[bytes, tuple[str, Role]] = {}
    for name, rule in columns.items():
        if rule.role in (Role.QUASI, Role.SENSITIVE):
            for mark in _marks(name, survey):
                told.setdefault(mark, (name, rule.role))
    changed = {}
    for name, rule in columns.items():
        twin = next((told[mark] for mark in _marks(name, survey) if mark in told), None)
        if rule.role is not Role.INSENSITIVE or twin is None:
            continue
        reason = f"rises or falls with {short(twin[0])}, value by value, and would give it away"
        if twin[1] is Role.SENSITIVE:
            changed[name] = ColumnRule(Role.SENSITIVE, None, reason)
        else:
            taxonomy, shape = taxonomy_of(_profile(name, survey))
            changed[name] = ColumnRule(Role.QUASI, taxonomy, f"{reason}; {shape}")
    return changed


def _marks(name: str, survey: TableEvidence) -> list[bytes]:
    """Returns the counts of a column of numbers in the order of the numbers, and the other way round."""
    profile = _profile(name, survey)
    if profile.distinct < FEWEST_VALUES or not profile.column.complete or not profile.numbers:
        return []
    order = sorted(range(len(profile.numbers)), key=profile.numbers.__getitem__)
    counts: NDArray[np.int64] = np.asarray(profile.counts, np.int64)[order]
    if len(np.unique(counts)) < FEWEST_COUNTS:
        return []
    return [counts.tobytes(), counts[::-1].tobytes()]


def _profile(name: str, survey: TableEvidence) -> ColumnProfile:
    return ColumnProfile.of(name, survey.columns[name], survey.rows, NO_FINDING)
