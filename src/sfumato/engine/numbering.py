"""Columns of which only equality matters: every value becomes a number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.exchange import to_arrow
from sfumato.engine.publish import Published
from sfumato.terms.packing import sorted_keys


def number_last(published: Published, count: int) -> Published:
    """The same table, with numbers from 0 on in place of the values of its last `count` columns.

    Values are numbered as they first appear when rows are sorted by the columns before: a number says
    which cells are equal, and neither the value nor its place among the others. Missing cells stay missing.
    """
    first = len(published.names) - count
    values, words = list(published.values), published.words.copy()
    for column in range(first, len(values)):
        size = len(values[column])
        word, shift, bits = published.packing.places[column]
        number = _by_appearance(published.codes(column), size)
        words[word] &= ~(((1 << bits) - 1) << shift)
        words[word] |= number[published.codes(column)] << shift
        values[column] = to_arrow(np.arange(size))
    return Published(published.names, tuple(values), published.packing, sorted_keys(words))


def _by_appearance(codes: NDArray[np.int32], missing: int) -> NDArray[np.int64]:
    """The number of every code, counted as codes first appear; `missing` keeps its own."""
    found, place = np.unique(codes[codes != missing], return_index=True)
    number = np.arange(missing + 1)
    number[found[np.argsort(place)]] = np.arange(len(found))
    return number
