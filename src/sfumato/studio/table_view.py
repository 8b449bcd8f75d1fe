"""A table as the page Discover shows it: columns, roles and exposed shares, without a row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sfumato.discovery.discovery import Discovery, percent
from sfumato.policy.policy import Policy
from sfumato.search.counted_lattice import LatticeMap, LatticeSpot
from sfumato.system.presentation.charts import Figure, svg
from sfumato.system.progress import Progress, one_step
from sfumato.table.microdata import Role
from sfumato.table.survey import ColumnSurvey
from sfumato.workflows.declare import DraftEvidence
from sfumato.workflows.discover import discover

MOST_SETS = 20
"""So many sets of columns are shown, those by which most rows stand out."""
MOST_MEASURED_SETS = 50
SECONDS = 30.0
"""The search ends after so long, and says what is proved until then."""


@dataclass(frozen=True)
class LookSettings:
    """What is asked of a table: a row is exposed if fewer than `k` share its values.

    Sets of at most `size` columns are looked for by which at least `share` percent of the rows are exposed.
    `header` says that the first line of a CSV file names the columns, where that is in doubt.
    """

    k: int = 5
    share: int = 5
    size: int = 3
    header: bool = False


@dataclass(frozen=True)
class ColumnLook:
    """A column: what it holds, what it is thought to be, and how many rows it exposes by itself."""

    name: str
    kind: str
    distinct: int
    complete: bool
    missing: int
    role: Role
    reason: str
    alone: int | None


@dataclass(frozen=True)
class ExposedSet:
    """Columns by which rows stand out together."""

    columns: tuple[str, ...]
    exposed: int
    share: str


@dataclass(frozen=True)
class ChartView:
    """A chart as a picture, and as a table for those who read rather than look."""

    name: str
    title: str
    picture: str
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, chart: Figure) -> ChartView:
        """Draws a chart; its title stands on the page, where no picture cuts it off."""
        rows = tuple(tuple(row) for row in chart.rows())
        return cls(chart.name, chart.title, svg(chart, titled=False), rows)


@dataclass(frozen=True)
class TableView:
    """What there is to be seen of a table; numbers are counts, texts are names of columns and reasons."""

    rows: int
    k: int
    columns: tuple[ColumnLook, ...]
    known: ExposedSet
    """What the columns expose together that others may know, as proposed."""
    sets: tuple[ExposedSet, ...]
    found: int
    complete: bool
    charts: tuple[ChartView, ...]
    draft: str
    """The policy that would be proposed, as a file."""


def look_at(path: Path, settings: LookSettings, *, progress: Progress) -> TableView:
    """Returns what a table looks like to whoever wants to find people in it.

    The table is read twice: for what its columns hold, and for who stands out by them. Columns that name
    people are left out of the second pass: they alone would be enough, and hide all others.
    """
    evidence = DraftEvidence.of(path, header=settings.header, progress=progress)
    draft = evidence.draft()
    identifiers = [name for name, rule in draft.columns.items() if rule.role is Role.IDENTIFIER]
    discovery = discover(
        path,
        k=settings.k,
        fraction=Fraction(settings.share, 100),
        max_size=settings.size,
        deadline=SECONDS,
        without=identifiers,
        header=True,
        progress=progress,
    )
    with one_step(progress, "drawing"):
        charts = tuple(ChartView.of(chart) for chart in discovery.charts())
    searched = set(discovery.columns)
    keys = [name for name, rule in draft.columns.items() if rule.role.is_key and name in searched]
    together = discovery.under(keys)
    return TableView(
        rows=evidence.survey.rows,
        k=settings.k,
        columns=tuple(
            _column(column, draft, discovery.alone.get(name))
            for name, column in evidence.survey.columns.items()
        ),
        known=ExposedSet(tuple(keys), together.exposed, percent(together.share)),
        sets=_worst_first(discovery),
        found=len(discovery.minimal),
        complete=discovery.complete,
        charts=charts,
        draft=draft.to_yaml(),
    )


def _column(column: ColumnSurvey, draft: Policy, alone: int | None) -> ColumnLook:
    rule = draft.columns[column.name]
    return ColumnLook(
        column.name,
        column.kind,
        column.distinct,
        column.complete,
        column.missing,
        rule.role,
        rule.reason,
        alone,
    )


def _worst_first(discovery: Discovery) -> tuple[ExposedSet, ...]:
    measured = sorted(
        discovery.measured(MOST_MEASURED_SETS), key=lambda m: (-m.exposed, len(m.columns), m.columns)
    )
    return tuple(ExposedSet(m.columns, m.exposed, percent(m.share)) for m in measured[:MOST_SETS])


# The picture of a small lattice: where spots and lines stand, in the units of the picture.

SPOT, ROW = 62, 56
"""Room for a spot across, and for a row of them."""
MARGIN = 30


@dataclass(frozen=True)
class DrawnSpot:
    """A spot with its middle."""

    x: float
    y: float
    spot: LatticeSpot

    @property
    def words(self) -> str:
        """The levels of its columns, in order."""
        return " ".join(map(str, self.spot.levels))


@dataclass(frozen=True)
class LatticePicture:
    """A lattice as a picture: its size, lines from spot to spot, and the spots."""

    columns: tuple[str, ...]
    width: float
    height: float
    lines: tuple[tuple[float, float, float, float], ...]
    spots: tuple[DrawnSpot, ...]

    @classmethod
    def of(
        cls, lattice: LatticeMap, k: int, suppress: Fraction, chosen: tuple[int, ...] | None
    ) -> LatticePicture:
        """Returns the picture at a k and a limit; the most general combination stands at the top."""
        widest = max(Counter(map(sum, lattice.nodes)).values())
        width, height = SPOT * (widest + 1), ROW * sum(lattice.heights) + 2 * MARGIN
        spots = tuple(
            DrawnSpot(spot.across * width, MARGIN + (1 - spot.up) * (height - 2 * MARGIN), spot)
            for spot in lattice.spots(k, suppress, chosen)
        )
        lines = tuple(
            (spots[low].x, spots[low].y, spots[high].x, spots[high].y) for low, high in lattice.links
        )
        return cls(lattice.columns, width, height, lines, spots)
