"""Every partition of a table's distinct keys: what local recoding chooses from, by plain enumeration."""

from __future__ import annotations

import numpy as np

from sfumato.search.loss import measure
from sfumato.table.classes import Classes
from sfumato.table.recoding import Recoding


def partitions(count):
    """Every way to put `count` things into classes, as tuples of class numbers."""
    if count == 0:
        yield ()
        return
    for rest in partitions(count - 1):
        for number in range(max(rest, default=-1) + 2):
            yield (*rest, number)


def recoding_of(table, key_of_row, class_of_key):
    """The recoding in which every class publishes, per column, the lowest node over its rows."""
    owner = np.array([class_of_key[key] for key in key_of_row])
    boxes = []
    for c in range(max(class_of_key) + 1):
        box = []
        for column in table.keys:
            codes = table.codes(column.name)[owner == c]
            node = column.taxonomy.lowest_cover(int(codes.min()), int(codes.max()) + 1)
            box.append((int(column.taxonomy.low[node]), int(column.taxonomy.high[node])))
        boxes.append(tuple(box))
    seen = sorted(set(boxes))
    number = np.array([seen.index(boxes[c]) for c in owner], np.int32)
    sides = np.array(seen, np.int32).reshape(len(seen), len(table.keys), 2)
    return Recoding(table, number, sides[:, :, 0].copy(), sides[:, :, 1].copy())


def best_partition(table, promises, *, weights=None):
    """The least loss of any partition whose classes, as a reader sees them, keep the promises, or `None`."""
    codes = np.stack([table.codes(c.name) for c in table.keys], axis=1)
    keys, key_of_row = np.unique(codes, axis=0, return_inverse=True)
    best = None
    for class_of_key in partitions(len(keys)):
        recoding = recoding_of(table, key_of_row.ravel(), class_of_key)
        classes = Classes.of(table, recoding.class_of, sensitive=promises.sensitive)
        if promises.holds_on(classes).all():
            loss = measure("loss", recoding, weights=weights)
            best = loss if best is None else min(best, loss)
    return best
