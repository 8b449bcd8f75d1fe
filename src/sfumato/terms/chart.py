"""A chart: what is to be drawn, in numbers and words; how it is drawn is for the report to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Chart:
    """Points of a label and a number each. `line` joins them in order, `bars` stand beside each other.

    `details` says more about a point, for whoever points at it. No chart holds a cell value.

    >>> Chart("exposed", "Exposed by size", "bars", ("columns", "share"), (("1", 0.25), ("2", 1.0))).labels
    ('1', '2')
    """

    name: str
    title: str
    kind: Literal["bars", "line"]
    axes: tuple[str, str]
    points: Sequence[tuple[str, float]]
    details: Sequence[str] = ()
    percent: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for label, _ in self.points)
