"""Classes split by one column more: how many rows come to stand in parts that are too small, and the parts.

Classes are looked at in the order of their size, so that whether a split loses too many rows is often known
before most rows are looked at. Rows in parts that are too small are left out: they stay too few in every
further split.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Floats = NDArray[np.float64]


@njit(cache=True)
def losses_of_splits(
    rows: Small,
    counts: Ints,
    bounds: Ints,
    codes: Small,
    widths: Ints,
    through: int,
    tried: Ints,
    least: int,
    spare: int,
    floors: Floats,
    room: float,
    cells: Ints,
) -> tuple[Ints, int, int]:
    """Return how many rows each split of classes by a line of `codes` loses at least, -1 if too many.

    Class c has the rows `rows[bounds[0, c] : bounds[1, c]]`, with their `counts`; classes are split by the
    line `through` as well, unless that is negative. Of every t, column `tried[0, t]` may be split by the
    lines from `tried[1, t]` up to `tried[2, t]`, each finer than the one before; a line has codes below its
    `widths`. Parts of fewer than `least` rows are lost, and `spare` rows may be. `floors` says what columns
    cost by their line, then what every column costs without one; as soon as that is more by `room` than if
    each column took its last line, no more is looked at. `cells` are as many zeros as two lines have codes
    together. Returned as well are the rows and the lines that were looked at, the latter negative where
    there was no room.
    """
    lost = np.full(len(widths), -1, np.int64)
    looked, lines = 0, 0
    for t in range(tried.shape[1]):
        reached = -1
        for line in range(tried[1, t], tried[2, t]):
            lines += 1
            width = widths[line]
            if through < 0:
                gone, seen = _loss_of_split(rows, counts, bounds, codes[line], width, least, spare, cells)
            else:
                gone, seen = _loss_of_two(
                    rows,
                    counts,
                    bounds,
                    codes[through],
                    widths[through],
                    codes[line],
                    width,
                    least,
                    spare,
                    cells,
                )
            looked += seen
            if gone > spare:
                break
            lost[line] = gone
            reached = line
        taken = reached if reached >= 0 else len(widths) + tried[0, t]
        room -= floors[taken] - floors[tried[2, t] - 1]
        if room < 0:
            return lost, looked, -lines
    return lost, looked, lines


@njit(cache=True)
def _loss_of_split(
    rows: Small, counts: Ints, bounds: Ints, code: Small, width: int, least: int, spare: int, cells: Ints
) -> tuple[int, int]:
    """Return how many rows are in parts that are too small, at least, and how many rows were looked at.

    It ends as soon as these are too many, or cannot become too many: a class has no more than `width` parts.
    """
    gone, seen = 0, 0
    for c in range(bounds.shape[1]):
        begin, end = bounds[0, c], bounds[1, c]
        for i in range(begin, end):
            cells[code[rows[i]]] += counts[i]
        if end - begin > width:
            gone += _clear(cells, width, least)
        else:
            for i in range(begin, end):
                value = code[rows[i]]
                if cells[value] < least:
                    gone += cells[value]
                cells[value] = 0
        seen += end - begin
        if gone > spare or gone + (bounds.shape[1] - 1 - c) * width * (least - 1) <= spare:
            break
    return gone, seen


@njit(cache=True)
def _loss_of_two(
    rows: Small,
    counts: Ints,
    bounds: Ints,
    code: Small,
    width: int,
    other: Small,
    other_width: int,
    least: int,
    spare: int,
    cells: Ints,
) -> tuple[int, int]:
    """Return the same of a split by two lines."""
    gone, seen, both = 0, 0, width * other_width
    for c in range(bounds.shape[1]):
        begin, end = bounds[0, c], bounds[1, c]
        for i in range(begin, end):
            cells[code[rows[i]] * other_width + other[rows[i]]] += counts[i]
        if end - begin > both:
            gone += _clear(cells, both, least)
        else:
            for i in range(begin, end):
                value = code[rows[i]] * other_width + other[rows[i]]
                if cells[value] < least:
                    gone += cells[value]
                cells[value] = 0
        seen += end - begin
        if gone > spare or gone + (bounds.shape[1] - 1 - c) * both * (least - 1) <= spare:
            break
    return gone, seen


@njit(cache=True)
def _clear(cells: Ints, width: int, least: int) -> int:
    """Set the first cells to zero; return the sum of those that were too small."""
    gone = 0
    for value in range(width):
        if cells[value] < least:
            gone += cells[value]
        cells[value] = 0
    return gone


@njit(cache=True)
def split_classes(
    rows: Small, counts: Ints, bounds: Ints, code: Small, width: int, least: int
) -> tuple[Small, Ints, Ints]:
    """Return the classes split by a line of codes, without parts that are too small, the smallest first.

    They are rows, their counts and bounds, as `losses_of_splits` takes them.
    """
    sums, place = np.zeros(width, np.int64), np.zeros(width, np.int64)
    held = np.empty(len(rows), np.int32)
    part_rows, part_counts = np.empty(len(rows), np.int32), np.empty(len(rows), np.int64)
    part_end = np.empty(len(rows), np.int64)
    filled, parts = 0, 0
    for c in range(bounds.shape[1]):
        begin, end = bounds[0, c], bounds[1, c]
        many = end - begin > width
        for i in range(begin, end):
            value = code[rows[i]]
            held[i] = value
            sums[value] += counts[i]
            place[value] += 1
        for i in range(width if many else end - begin):
            value = np.int64(i if many else held[begin + i])
            if sums[value] >= least:
                filled, place[value] = filled + place[value], filled
                part_end[parts] = filled
                parts += 1
            elif many or sums[value] > 0:
                place[value] = -1
            sums[value] = 0
        for i in range(begin, end):
            value = held[i]
            at = place[value]
            if at >= 0:
                part_rows[at] = rows[i]
                part_counts[at] = counts[i]
                place[value] = at + 1
        if many:
            place[:] = 0
        else:
            for i in range(begin, end):
                place[held[i]] = 0
    sizes = part_end[:parts].copy()
    sizes[1:] -= part_end[: parts - 1]
    order = np.argsort(sizes, kind="mergesort")
    ordered = np.empty((2, parts), np.int64)
    ordered[1] = part_end[order]
    ordered[0] = ordered[1] - sizes[order]
    return part_rows[:filled], part_counts[:filled], ordered
