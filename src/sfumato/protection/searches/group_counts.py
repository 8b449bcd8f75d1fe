"""Counts of what groups of rows hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.core.classes import Classes, Histogram
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.kernels.rows import splits


class GroupCounter:
    """Turns groups of a table's rows into classes, as `Classes.of` would, in time linear in their rows."""

    def __init__(self, table: Microdata) -> None:
        self._table = table
        person = table.person
        self._person = np.zeros(0, np.int32) if person is None else person
        self._seen = np.full(int(self._person.max(initial=0)) + 1, -1, np.int64)
        self._stamp = 0
        self._codes: dict[str, Codes] = {}

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

    def _histogram(self, name: str, member: Codes, start: Counts, overall: Counts | None) -> Histogram:
        if name not in self._codes:
            self._codes[name] = self._table.codes(name)
        tree = self._table.column(name).taxonomy
        sizes = (max(1, len(tree.leaves)), len(self._seen))
        begin, values, counts = splits.tally_per_group(
            member, start, self._codes[name], self._table.counts, self._person, sizes
        )
        if overall is None:
            overall = np.zeros(sizes[0], np.int64)
            np.add.at(overall, values, counts)
        return Histogram(tree, begin, values, counts, overall)
