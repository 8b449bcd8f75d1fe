"""Bare rows: where further rows of people stand who show their values once, and what a plan says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.search.blind_groups import classes_of_keys, group_boxes, publishes_ranges
from sfumato.search.contract import Aim
from sfumato.system.errors import Infeasible
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import format_number, pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.microdata import Codes, Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Label

if TYPE_CHECKING:
    from sfumato.table.base import Base

Numbers = NDArray[np.int64]

PARTS_OF_A_COLUMN = 64
"""So many parts of a column tell which boxes are near a row."""
WHOLE_COST = 1 << 40
"""What a box costs that covers every value of a column."""


def boxes_for_bare_rows(
    table: Microdata, boxes: Sequence[Sequence[Label]], owner: Numbers, own: Numbers
) -> Numbers:
    """Returns the box of other people that covers each row's quasi-identifiers at the least loss, or -1.

    `table` has one row for each, told apart by its person numbers; `boxes` are the texts that classes show,
    one tuple per class, and `owner` whose they are: a row is not placed among its `own`. What is chosen
    depends on boxes and quasi-identifiers alone, never on values.
    """
    from sfumato.kernels.covers import narrowest_cover  # noqa: PLC0415  # compiled when first needed

    count, keys = len(boxes), table.keys
    if not count or not table.rows or table.person is None:
        return np.full(table.rows, -1, np.int64)
    low, high = np.zeros((count, len(keys)), np.int32), np.zeros((count, len(keys)), np.int32)
    cost = np.zeros(count, np.int64)
    for j, column in enumerate(keys):
        tree = column.taxonomy
        spans = {label: tree.span(label) or (0, 0) for label in {box[j] for box in boxes}}
        ends = np.array([spans[box[j]] for box in boxes], np.int32)
        low[:, j], high[:, j] = ends[:, 0], ends[:, 1]
        cost += (high[:, j] - low[:, j]).astype(np.int64) * (WHOLE_COST // max(1, len(tree.leaves)))
    codes = np.ascontiguousarray(np.stack([table.codes(column.name) for column in keys], axis=1), np.int32)
    codes = codes[np.argsort(table.person)]
    chosen = np.full(table.rows, -1, np.int64)
    for rows, near in _neighbours(codes, low, high, [len(column.taxonomy.leaves) for column in keys]):
        found = narrowest_cover(codes[rows], low[near], high[near], cost[near], own[rows], owner[near])
        chosen[rows[found >= 0]] = near[found[found >= 0]]
    return chosen


def _neighbours(
    codes: Codes, low: Codes, high: Codes, leaves: Sequence[int]
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yields rows, each once, and the boxes that may cover them, in order: those near by in two columns.

    The columns are those of which a box holds least.
    """
    parts = np.minimum(np.maximum(leaves, 1), PARTS_OF_A_COLUMN)
    scale = np.maximum(leaves, 1)
    columns = np.argsort(((high - low) / scale).mean(axis=0), kind="stable")[:2]
    row, first, last = (
        (ranks[:, columns].astype(np.int64) * parts[columns] // scale[columns])
        for ranks in (codes, low, high - 1)
    )
    for rows, boxes in _beside(row[:, 0], first[:, 0], last[:, 0]):
        if len(columns) == 1:
            yield rows, boxes
            continue
        for some, near in _beside(row[rows, 1], first[boxes, 1], last[boxes, 1]):
            yield rows[some], boxes[near]


def _beside(parts: Numbers, first: Numbers, last: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Yields the rows in each part of a column, and the boxes that reach into it."""
    order = np.argsort(parts, kind="stable")
    starts = np.flatnonzero(np.diff(parts[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        part = parts[rows[0]]
        yield rows, np.flatnonzero((first <= part) & (part <= last))


def classes_of_bare_rows(
    table: Microdata, rows: Numbers, people: int, aim: Aim, *, progress: Progress = silent
) -> Recoding | None:
    """Returns classes of bare rows of at least so many people; `None` where there are too few.

    `rows` are of different people, by their person numbers in `table`. Classes are made from
    quasi-identifiers alone.
    """
    numbers = table.person
    if numbers is None or len(rows) < people:
        return None
    chosen = np.isin(numbers, rows)
    codes = [table.codes(column.name)[chosen] for column in table.keys]
    alone = Microdata.of_codes(table.keys, codes, person=numbers[chosen])
    try:
        place, outcome = classes_of_keys(alone, people, aim, progress)
    except Infeasible:
        return None
    class_of: Codes = outcome.recoding.class_of[place]
    low, high = group_boxes(alone, class_of, outcome.recoding.count, ranges=publishes_ranges(aim))
    return Recoding(alone, class_of, low, high)


# What a plan says of people with several rows.


@dataclass(frozen=True, eq=False)
class PublishedPeople:
    """What is published of a table in which people have several rows.

    `base` has every row that is published; `rows` counts those of the table, `people` those with several
    rows, `bare` rows that show no values, `absent` rows that are not shown. `errors` gives, for each
    sensitive column, by how much the share of a value is wrong at most: in all rows, and in those of people
    with several. `shown` is in how many rows somebody shows values at most. `mark` tells whether a table
    holds the same rows.
    """

    base: Base = field(repr=False)
    rows: int
    people: int
    bare: int
    absent: int
    errors: Mapping[str, tuple[float, float]]
    shown: int
    mark: int = field(repr=False)

    @property
    def without_values(self) -> float:
        """The share of rows whose values are not shown."""
        return (self.bare + self.absent) / max(1, self.rows)

    def lines(self) -> tuple[str, ...]:
        """Returns what a plan prints."""
        count = self.bare + self.absent
        people = pluralize(self.people, "person has", "people have")
        if not count:
            return (f"{people} several rows, and every row shows values", *self._open())
        lines = [
            f"{people} several rows; values of {format_number(count)} of {format_number(self.rows)} rows"
            f" ({100 * self.without_values:.1f} %) are not shown, and not missing at random",
            f"{pluralize(self.bare, 'of these rows is bare', 'of these rows are bare')},"
            f" {format_number(self.absent)} not shown at all",
        ]
        for name, (everywhere, theirs) in self.errors.items():
            lines.append(
                f"shares of {name} are wrong by at most {100 * everywhere:.1f} points,"
                f" by {100 * theirs:.1f} among people with several rows"
            )
        return (*lines, *self._open())

    def _open(self) -> tuple[str, ...]:
        """What is left open where somebody shows values in several rows."""
        if self.shown == 1:
            return ()
        return (
            f"up to {self.shown} rows of a person show values: promises are about one row, and who knows that"
            " two of a person agree may find both",
        )

    def as_dict(self) -> JsonObject:
        """Returns JSON."""
        return {
            "people_with_several_rows": self.people,
            "bare": self.bare,
            "not_shown": self.absent,
            "rows_with_values": self.shown,
            "without_values": self.without_values,
            "largest_errors": {
                name: {"all_rows": everywhere, "people_with_several_rows": theirs}
                for name, (everywhere, theirs) in self.errors.items()
            },
        }


def share_error(codes: Numbers, shown: Numbers) -> float:
    """Returns by how much the share of any value differs between all cells and those that are shown.

    >>> round(share_error(np.array([0, 0, 1, 1]), np.array([0, 0, 1])), 4)
    0.1667
    """
    if not len(codes) or not len(shown):
        return 0.0
    size = int(codes.max()) + 1
    difference = np.bincount(codes, minlength=size) / len(codes)
    difference -= np.bincount(shown, minlength=size) / len(shown)
    return float(np.abs(difference).max())
