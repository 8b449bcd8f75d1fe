"""Histograms of groups that are divided again and again: parts are added, and nothing is copied."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Histogram
from sfumato.core.microdata import Counts


class HistogramStore:
    """The histogram of every group by its number; entries of groups that are gone wait to be cleared away."""

    def __init__(self, histogram: Histogram) -> None:
        self._taxonomy = histogram.taxonomy
        self._values, self._counts = histogram.values.copy(), histogram.counts.copy()
        self._used = len(self._values)
        self._begin = histogram.start[:-1].copy()
        self._length = np.diff(histogram.start)

    def replace(self, ids: NDArray[np.integer], parts: Histogram) -> None:
        """Gives the groups of these numbers, old or new, the histograms of parts."""
        count = max(len(self._begin), int(ids.max(initial=-1)) + 1)
        begin, length = np.zeros(count, np.int64), np.zeros(count, np.int64)
        begin[: len(self._begin)], length[: len(self._length)] = self._begin, self._length
        length[ids] = 0
        self._begin, self._length = begin, length
        self._make_room(len(parts.values))
        self._begin[ids], self._length[ids] = self._used + parts.start[:-1], np.diff(parts.start)
        end = self._used + len(parts.values)
        self._values[self._used : end], self._counts[self._used : end] = parts.values, parts.counts
        self._used = end

    def total(self, groups: NDArray[np.integer], size: int) -> Counts:
        """Returns how often each of `size` values occurs in some groups together."""
        total = np.zeros(size, np.int64)
        entry, _ = self._entries(groups)
        np.add.at(total, self._values[entry], self._counts[entry])
        return total

    def pick(self, groups: NDArray[np.integer], overall: Counts, *, then: Histogram | None) -> Histogram:
        """Returns the histogram of some groups, and `then` of other classes, beside what is published."""
        entry, start = self._entries(groups)
        values, counts = self._values[entry], self._counts[entry]
        if then is not None:
            start = np.concatenate((start, start[-1] + then.start[1:]))
            values, counts = np.concatenate((values, then.values)), np.concatenate((counts, then.counts))
        return Histogram(self._taxonomy, start, values, counts, overall)

    def _entries(self, groups: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        length = self._length[groups]
        start = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
        return np.arange(start[-1]) - np.repeat(start[:-1] - self._begin[groups], length), start

    def _make_room(self, more: int) -> None:
        """Clears away what is gone where it is most of the store, and grows where that is too little."""
        if 2 * int(self._length.sum()) < self._used:
            entry, start = self._entries(np.arange(len(self._begin)))
            self._values[: len(entry)], self._counts[: len(entry)] = self._values[entry], self._counts[entry]
            self._begin, self._used = start[:-1], len(entry)
        if self._used + more > len(self._values):
            room = (self._used + more) * 3 // 2
            self._values = np.concatenate((self._values[: self._used], np.zeros(room - self._used, np.int32)))
            self._counts = np.concatenate((self._counts[: self._used], np.zeros(room - self._used, np.int64)))
