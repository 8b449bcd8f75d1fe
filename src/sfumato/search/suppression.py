"""Suppression: which classes are published, in one definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Cuts, Promises, Truth
from sfumato.table.classes import Classes
from sfumato.table.microdata import BLOCK_ROWS, Codes, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding, classes_under


def keep(classes: Classes, promises: Promises, *, most: int | None = None) -> Truth:
    """Returns one truth per class: whether it is published.

    Classes are suppressed whole, in rounds: judge the classes; drop those that break a class promise; judge
    the rest again as the table they would be, since a promise may compare with the published distribution;
    stop when none breaks. Every round drops at least one class, so this ends, if need be with nothing left.
    Table promises have no say here.

    With `most`, the rounds end early once more than that many rows are dropped: too many already, and
    dropped classes never come back.

    >>> from types import SimpleNamespace
    >>> sizes = np.array([5, 1, 2])
    >>> pair = SimpleNamespace(holds_on=lambda classes: classes.people >= 2)
    >>> keep(Classes(sizes, sizes), pair).tolist()
    [True, False, True]
    """
    left, numbers = classes, np.arange(len(classes))
    while len(numbers):
        truth = promises.holds_on(left)
        if truth.all():
            break
        numbers = numbers[truth]
        if most is not None and int(classes.rows.sum()) - int(classes.rows[numbers].sum()) > most:
            break
        left = classes.pick(numbers)
    published = np.zeros(len(classes), dtype=bool)
    published[numbers] = True
    return published


def recoded(table: Microdata, cuts: Cuts, promises: Promises) -> Recoding:
    """Returns the recoding of some cuts; classes that break a promise are suppressed."""
    grouped = classes_under(table, cuts)
    published = keep(Classes.of(table, grouped[0], sensitive=promises.sensitive), promises)
    return Recoding.of_cuts(table, cuts, grouped=grouped).keeping(published[grouped[0]])


# The order of the rows of a matrix of whole numbers.

MOST_NUMBERS = 1 << 62
"""So many numbers are told apart by 64 bits; where rows need more, those that occur are numbered anew."""


def row_order(rows: Codes) -> NDArray[np.int64]:
    """Returns the places of rows in ascending order, the first column first; equal rows as they come."""
    return np.argsort(packed_rows(rows), kind="stable")


def packed_rows(rows: Codes) -> NDArray[np.int64]:
    """Returns a whole number per row, in the same order as the rows, the same for equal ones.

    Numbers are sorted many times as fast as rows.
    """
    count, columns = rows.shape
    packed, space = np.zeros(count, np.int64), 1
    if not count:
        return packed
    low = rows.min(axis=0).astype(np.int64)
    widths = [int(width) for width in rows.max(axis=0).astype(np.int64) - low + 1]
    for j, width in zip(range(columns), widths, strict=True):
        space *= width
        if space > MOST_NUMBERS:
            packed = np.unique(packed, return_inverse=True)[1].ravel()
            space = int(packed.max()) * width + width
        packed *= width
        packed += rows[:, j]
        packed -= low[j]
    return packed


# Distinct rows of a matrix of whole numbers.


def distinct_rows(rows: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """Returns every row once, in order, and where each row is among them."""
    _, first, place = np.unique(packed_rows(rows), return_index=True, return_inverse=True)
    return rows[first], place.ravel().astype(np.int64)


# Boxes: the ranges of values that classes publish, alone and merged.


def boxes_of(recoding: Recoding) -> tuple[Codes, Codes]:
    """Returns the published combinations, each once, and that of every distinct row (or SUPPRESSED)."""
    if recoding.cuts is not None:
        return recoding.low, recoding.class_of
    both = np.hstack([recoding.low, recoding.high])
    boxes, number = distinct_rows(both)
    of_class = np.append(number, SUPPRESSED).astype(np.int32)
    return boxes, of_class[recoding.class_of]


def covers_rows(recoding: Recoding) -> bool:
    """Tells whether every published row has codes within the intervals of its class."""
    table, low, high = recoding.table, recoding.low.T.copy(), recoding.high.T.copy()
    keys = [place for place, column in enumerate(table.columns) if column.role.is_key]
    for start in range(0, table.distinct, BLOCK_ROWS):
        span = slice(start, start + BLOCK_ROWS)
        owner, words = recoding.class_of[span], table.words[:, span]
        published = owner != SUPPRESSED
        if not published.all():
            owner, words = owner[published], words[:, published]
        for j, place in enumerate(keys):
            codes = table.packing.unpack(words, place)
            if not np.all((low[j].take(owner) <= codes) & (codes < high[j].take(owner))):
                return False
    return True


def one_class_per_box(recoding: Recoding) -> Recoding:
    """Returns the same recoding with classes that publish the same merged."""
    if recoding.cuts is not None:
        return recoding
    boxes, class_of = boxes_of(recoding)
    keys = boxes.shape[1] // 2
    low, high = np.ascontiguousarray(boxes[:, :keys]), np.ascontiguousarray(boxes[:, keys:])
    return replace(recoding, class_of=class_of, low=low, high=high)


def merged_classes(recoding: Recoding, group: Codes) -> Recoding:
    """Returns the recoding with class c merged into `group[c]`, which publishes the least that covers it."""
    count = int(group.max(initial=-1)) + 1
    low = np.full((count, recoding.low.shape[1]), np.iinfo(np.int32).max, np.int32)
    high = np.zeros_like(low)
    np.minimum.at(low, group, recoding.low)
    np.maximum.at(high, group, recoding.high)
    _cover(recoding.table, low, high)
    class_of = np.append(group, SUPPRESSED).astype(np.int32)[recoding.class_of]
    return one_class_per_box(replace(recoding, class_of=class_of, low=low, high=high, cuts=None))


def _cover(table: Microdata, low: Codes, high: Codes) -> None:
    """Widens intervals to what a column can publish: a node, or a range without missing cells."""
    for j, column in enumerate(table.keys):
        tree = column.taxonomy
        missing = tree.rank(None)
        for i in range(len(low)):
            first, last = int(low[i, j]), int(high[i, j])
            if tree.ordered:
                if missing is not None and first <= missing < last and last - first > 1:
                    low[i, j], high[i, j] = 0, len(tree.leaves)
            else:
                node = tree.lowest_cover(first, last)
                low[i, j], high[i, j] = tree.low[node], tree.high[node]


def nearest_class(recoding: Recoding, index: int) -> int:
    """Returns the class whose union with this one publishes the narrowest intervals; the first of equals."""
    widths = np.array([max(1, len(c.taxonomy.leaves)) for c in recoding.table.keys], np.float64)
    low = np.minimum(recoding.low, recoding.low[index])
    high = np.maximum(recoding.high, recoding.high[index])
    spread = ((high - low) / widths).sum(axis=1)
    spread[index] = np.inf
    return int(spread.argmin())
