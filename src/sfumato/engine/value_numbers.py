"""Numbers in place of values, for columns of which only equality may be seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.arrow_arrays import to_arrow
from sfumato.engine.published_rows import PublishedRows, PublishedRowsBuilder
from sfumato.engine.spill.folder import Spill


def number_last(published: PublishedRows, count: int, spill: Spill) -> PublishedRows:
    """The same table, with numbers from 0 on in place of the values of its last `count` columns.

    Values are numbered as they first appear when rows are sorted by the columns before: a number says
    which cells are equal, and neither the value nor its place among the others. Missing cells stay missing.
    """
    first = len(published.names) - count
    numbers = [np.full(len(values) + 1, -1, np.int64) for values in published.values[first:]]
    for codes in published.blocks():
        for number, column in zip(numbers, codes[first:], strict=True):
            _number_new(number, column)
    for number in numbers:
        number[-1] = len(number) - 1
    values = [*published.values[:first], *(to_arrow(np.arange(len(n) - 1)) for n in numbers)]
    builder = PublishedRowsBuilder(published.names, values, spill)
    for codes in published.blocks():
        last = [number[column] for number, column in zip(numbers, codes[first:], strict=True)]
        builder.add(len(codes[0]), [*codes[:first], *last])
    return builder.finish()


def _number_new(number: NDArray[np.int64], codes: NDArray[np.int32]) -> None:
    """Go on numbering codes as they appear; the last one means a missing cell and has no number."""
    distinct, place = np.unique(codes, return_index=True)
    unseen = (number[distinct] < 0) & (distinct < len(number) - 1)
    new = distinct[unseen][np.argsort(place[unseen])]
    start = int(number.max(initial=-1)) + 1
    number[new] = np.arange(start, start + len(new))
