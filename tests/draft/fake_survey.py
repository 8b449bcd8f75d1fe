"""A survey made by hand, as an engine would make it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FakeColumn:
    kind: str
    distinct: int
    missing: int
    values: tuple
    counts: np.ndarray
    complete: bool = True

    @property
    def is_text(self) -> bool:
        return self.kind == "text"

    @property
    def repeats(self) -> bool:
        told = zip(self.values, self.counts.tolist(), strict=True)
        return any(value is not None and count > 1 for value, count in told)


@dataclass(frozen=True)
class FakeSurvey:
    rows: int
    columns: Mapping[str, FakeColumn]


def column(cells: Sequence[str | None], kind: str = "text") -> FakeColumn:
    counts = Counter(cells)
    values = (*sorted(v for v in counts if v is not None), *([None] if None in counts else []))
    distinct = sum(v is not None for v in values)
    missing = counts.get(None, 0)
    return FakeColumn(kind, distinct, missing, values, np.array([counts[v] for v in values], np.int64))


def survey(**cells: Sequence[str | None]) -> FakeSurvey:
    rows = {len(c) for c in cells.values()}
    assert len(rows) <= 1
    return FakeSurvey(max(rows, default=0), {name: column(c) for name, c in cells.items()})
