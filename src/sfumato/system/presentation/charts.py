"""Figures as data: charts, scatters, diagrams and grids, without a word on how they are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Tone = Literal["ink", "accent", "green", "sand", "faint"]
"""How strongly a kind of thing is shown: `faint` is background, `accent` what it is about."""

Rows = Sequence[tuple[str, ...]]


class Figure(Protocol):
    """Anything that can be drawn. No figure holds a cell value of the data."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    def rows(self) -> Rows:
        """The figure as a table, its heads first."""
        ...


@dataclass(frozen=True)
class Chart:
    """Labels with a number each, drawn as bars or as a line through them in order.

    `details` says more about a point, for whoever points at it.

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

    def rows(self) -> Rows:
        form = "{:.1%}" if self.percent else "{:,.4g}"
        return [self.axes, *((label, form.format(value)) for label, value in self.points)]


@dataclass(frozen=True)
class PairedBars:
    """Two shares for each label, drawn side by side; `kinds` names the first and the second.

    >>> PairedBars("sex", "sex", ("group", "share"), ("before", "after"), [("1", 0.5, 0.25)]).rows()
    [('group', 'before', 'after'), ('1', '50.0%', '25.0%')]
    """

    name: str
    title: str
    axes: tuple[str, str]
    kinds: tuple[str, str]
    points: Sequence[tuple[str, float, float]]

    def rows(self) -> Rows:
        heads = (self.axes[0], *self.kinds)
        return [heads, *((label, f"{one:.1%}", f"{other:.1%}") for label, one, other in self.points)]


Point = tuple[float, float]


@dataclass(frozen=True)
class Lines:
    """Series of points over two numeric axes, one line each; `boundary` is a broken line with its words.

    >>> Lines("fa", "FA", ("k", "FA"), {"all": [(40, 21), (80, 83)]}).rows()
    [('k', 'all'), ('40', '21'), ('80', '83')]
    """

    name: str
    title: str
    axes: tuple[str, str]
    series: Mapping[str, Sequence[Point]]
    boundary: tuple[str, Sequence[Point]] | None = None

    def rows(self) -> Rows:
        across = sorted({x for points in self.series.values() for x, _ in points})
        columns = [{x: f"{y:,.4g}" for x, y in points} for points in self.series.values()]
        lines = [(f"{x:,.6g}", *(column.get(x, "–") for column in columns)) for x in across]
        return [(self.axes[0], *self.series), *lines]


@dataclass(frozen=True)
class Mark:
    """A point of a scatter, for `weight` things that share the place."""

    x: float
    y: float
    kind: str
    weight: int = 1
    detail: str = ""


@dataclass(frozen=True)
class Scatter:
    """Points over two numeric axes, in kinds; `floor` is a line across, with its words."""

    name: str
    title: str
    axes: tuple[str, str]
    marks: Sequence[Mark]
    kinds: Mapping[str, Tone]
    floor: tuple[float, str] | None = None

    def rows(self) -> Rows:
        across, up = self.axes
        lines = []
        for kind in self.kinds:
            some = [m for m in self.marks if m.kind == kind]
            if some:
                wide = f"{min(m.x for m in some):,.4g} to {max(m.x for m in some):,.4g}"
                high = f"{min(m.y for m in some):,.4g} to {max(m.y for m in some):,.4g}"
                lines.append((kind, f"{sum(m.weight for m in some):,}", wide, high))
        return [("kind", "number", across, up), *lines]


@dataclass(frozen=True)
class Spot:
    """A place of a diagram, in steps from its lower left corner; `text` may have several lines."""

    x: float
    y: float
    text: str
    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Diagram:
    """Spots and links between them. Words stand below a spot, or, as in a tree that lies, to its right.

    `step` is how many pixels a unit of x and of y takes.
    """

    name: str
    title: str
    spots: Sequence[Spot]
    links: Sequence[tuple[int, int]]
    kinds: Mapping[str, Tone]
    words: Literal["below", "right"] = "below"
    step: tuple[int, int] = (110, 90)

    def rows(self) -> Rows:
        heads = ("what", "kind", "more")
        return [heads, *((s.text.replace("\n", ", "), s.kind, s.detail) for s in self.spots)]


@dataclass(frozen=True)
class Grid:
    """Lines of cells below heads; each cell has a text and a kind."""

    name: str
    title: str
    heads: Sequence[str]
    lines: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    kinds: Mapping[str, Tone] = field(default_factory=dict)

    def rows(self) -> Rows:
        heads = ("", *self.heads)
        return [heads, *((label, *(text for text, _ in cells)) for label, cells in self.lines)]
