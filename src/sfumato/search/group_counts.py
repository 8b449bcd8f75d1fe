"""Counts of what groups of rows hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.core.classes import Classes, Histogram
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.kernels.rows import part_tally, splits

CELLS_PER_ROW = 2
"""Parts are counted in one pass where all pairs of a part and a value are at most so many per row."""


class GroupCounter:
    """Turns groups of a table's rows into classes, as `Classes.of` would, in time linear in their rows."""

    def __init__(self, table: Microdata) -> None:
        self._table = table
        person = table.person
        self._person = np.zeros(0, np.int32) if person is None else person
        self._seen = np.full(int(self._person.max(initial=0)) + 1, -1, np.int64)
        self._stamp = 0
        self._codes: dict[str, Codes] = {}
        self._held: dict[str, Counts] = {}
        self._packable = person is None and int(table.counts.max(initial=0)) < 1 << 31

    def classes(
        self,
        member: Codes,
        start: Counts,
        rows: Counts,
        sensitive: Sequence[str],
        overall: Mapping[str, Counts],
    ) -> Classes:
        """Returns classes; group g holds the distinct rows `member[start[g] : start[g+1]]`, `rows[g]` in all.

        `overall` says what the whole table holds of a sensitive column; by default what the groups hold.
        """
        people = rows
        if self._table.has_person:
            people = splits.distinct_per_group(member, start, self._person, self._seen, self._stamp)
            self._stamp += len(rows)
        histograms = {name: self._histogram(name, member, start, overall.get(name)) for name in sensitive}
        return Classes(people, rows, histograms)

    def counts_parts(self, parts: int, rows: int, sensitive: Sequence[str]) -> bool:
        """Whether `parts` counts so many parts of so many distinct rows in less time than `classes`."""
        values = max((self._values(name) for name in sensitive), default=0)
        return self._packable and parts * values <= CELLS_PER_ROW * rows

    def parts(
        self,
        order: Codes,
        first: int,
        part: Codes,
        rows: Counts,
        sensitive: Sequence[str],
        overall: Mapping[str, Counts],
    ) -> Classes:
        """Returns the parts as classes; distinct row `order[first + i]` is in part `part[i]`.

        Part q has `rows[q]` rows; `overall` as for `classes`.
        """
        histograms = {}
        for name in sensitive:
            found = part_tally.tally_parts(
                order, first, part, len(rows), self._held_in(name), self._values(name)
            )
            histograms[name] = self._histogram_of(name, found, overall.get(name))
        return Classes(rows, rows, histograms)

    def _histogram(self, name: str, member: Codes, start: Counts, overall: Counts | None) -> Histogram:
        sizes = (self._values(name), len(self._seen))
        found = splits.tally_per_group(
            member, start, self._codes_of(name), self._table.counts, self._person, sizes
        )
        return self._histogram_of(name, found, overall)

    def _histogram_of(
        self, name: str, found: tuple[Counts, Codes, Counts], overall: Counts | None
    ) -> Histogram:
        begin, values, counts = found
        if overall is None:
            overall = np.zeros(self._values(name), np.int64)
            np.add.at(overall, values, counts)
        return Histogram(self._table.column(name).taxonomy, begin, values, counts, overall)

    def _values(self, name: str) -> int:
        """How many values a column can have."""
        return max(1, len(self._table.column(name).taxonomy.leaves))

    def _codes_of(self, name: str) -> Codes:
        if name not in self._codes:
            self._codes[name] = self._table.codes(name)
        return self._codes[name]

    def _held_in(self, name: str) -> Counts:
        """The count of every distinct row, above 32 bits with its code in a column."""
        if name not in self._held:
            held = self._table.counts << 32
            held |= self._table.codes(name)
            self._held[name] = held
        return self._held[name]
