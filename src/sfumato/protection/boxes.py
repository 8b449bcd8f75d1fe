"""Boxes: the ranges of values that classes publish, alone and merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.core.microdata import Codes, Microdata
from sfumato.core.packing import BLOCK_ROWS
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.protection.distinct_rows import distinct_rows


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
    half = boxes.shape[1] // 2
    low, high = np.ascontiguousarray(boxes[:, :half]), np.ascontiguousarray(boxes[:, half:])
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
