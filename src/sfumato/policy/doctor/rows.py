"""Problems that only rows show: what one column tells of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.core.problem import short
from sfumato.core.taxonomy import Label
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity
from sfumato.policy.telling_columns import ColumnsBesideKeys


def examine_rows(unchanged: ColumnsBesideKeys, rows: Mapping[str, Sequence[Label]]) -> list[Diagnosis]:
    """Returns which columns are published unchanged and tell what a key is, by the texts of some rows."""
    return [
        Diagnosis(
            "telling",
            Severity.WARNING,
            f"column {short(telling.column)}",
            f"published unchanged, it {telling}, however coarsely that is published",
            telling.told,
            "Make it a quasi-identifier, or do not publish it.",
        )
        for telling in unchanged.telling(rows)
    ]
