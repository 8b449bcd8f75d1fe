"""The shape of a published table: what its boxes tell of the kind of search that made it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.attacks.worlds.published_boxes import PublishedBoxes


@dataclass(frozen=True)
class TableShape:
    """What everybody sees of how a table was recoded.

    `whole_columns`: a value becomes the same in every class. `one_level`: so it does, and every column shows
    one level of its tree. `ranges`: some text is a range, and no node of a tree.
    """

    whole_columns: bool
    one_level: bool
    ranges: bool

    @classmethod
    def of(cls, boxes: PublishedBoxes) -> TableShape:
        """Returns the shape of these boxes."""
        columns = range(len(boxes.keys))
        whole = all(_disjoint(boxes, j) for j in columns)
        levels = whole and all(_on_one_level(boxes, j) for j in columns)
        return cls(whole, levels, any(_has_ranges(boxes, j) for j in columns))


def _spans(boxes: PublishedBoxes, j: int) -> list[tuple[int, int]]:
    """Returns the different spans of leaves that key column j shows, in order."""
    spans = np.unique(np.stack([boxes.low[:, j], boxes.high[:, j]], axis=1), axis=0)
    return [(low, high) for low, high in spans.tolist()]


def _disjoint(boxes: PublishedBoxes, j: int) -> bool:
    spans = _spans(boxes, j)
    return all(high <= low for (_, high), (low, _) in pairwise(spans))


def _on_one_level(boxes: PublishedBoxes, j: int) -> bool:
    tree = boxes.keys[j].taxonomy
    shown = [(low, tree.lowest_cover(low, high)) for low, high in _spans(boxes, j)]
    return any(all(level[low] == node for low, node in shown) for level in tree.levels)


def _has_ranges(boxes: PublishedBoxes, j: int) -> bool:
    tree = boxes.keys[j].taxonomy
    nodes = [(low, high, tree.lowest_cover(low, high)) for low, high in _spans(boxes, j)]
    return any((int(tree.low[node]), int(tree.high[node])) != (low, high) for low, high, node in nodes)
