"""Exact checks of what a solver proposes: whole numbers that add up, and bounds that any weights prove.

Let x be amounts within low <= x <= high whose sums come to the totals b, and y any weights of the sums. Then
x[u] is the sum of y * b plus the sum over all columns v of d[v] * x[v], where d[v] is 1 if v = u, else 0,
less the weights of the sums that v is part of. Since d[v] * x[v] is at most the larger of d[v] * low[v] and
d[v] * high[v], this bounds x[u], whatever y is. Weights are whole multiples of one number, so it is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.judge.chain.proposals import Floats, SumSystem
from sfumato.judge.chain.remembered_release import Numbers

SCALES = (60, 1 << 24)
"""Weights are rounded to multiples of one over these: those of a corner are mostly halves or thirds."""
FITS = 1 << 62


def world(
    system: SumSystem, amounts: Floats, most: Numbers, part: Numbers, parts: int
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Returns the nearest whole numbers, and for every part of the system whether they are a world of it.

    `part[u]` is the part of column u; no two parts share a sum. Any whole numbers from 0 to `most` whose sums
    come to the totals are a world.
    """
    whole = np.rint(np.where(np.isfinite(amounts), amounts, -1)).clip(-1, FITS).astype(np.int64)
    wrong = np.zeros(parts, dtype=bool)
    wrong[part[(whole < 0) | (whole > most)]] = True
    added = np.zeros(len(system.total), np.int64)
    safe = np.where((whole < 0) | (whole > most), 0, whole)
    np.add.at(added, system.sums, safe[system.owner])
    off = added != system.total
    wrong[part[system.owner[off[system.sums]]]] = True
    return whole, ~wrong


def upper_bounds(
    system: SumSystem,
    weights: Floats,
    aim: Numbers,
    bounds: tuple[Numbers, Numbers],
    part: Numbers,
    parts: int,
) -> list[int]:
    """Returns, for every part, a number that the sum over its columns in `aim` exceeds in no world.

    `bounds` are the least and the most of every column.
    """
    known = np.where(np.isfinite(weights), weights, 0.0).clip(-1e6, 1e6)
    every = [_bounds(system, known, aim, bounds, part, parts, scale) for scale in SCALES]
    return [min(found) for found in zip(*every, strict=True)]


def prove_empty(
    system: SumSystem, weights: Floats, bounds: tuple[Numbers, Numbers], part: Numbers, parts: int
) -> bool:
    """Tells whether these weights, or their opposites, prove that some part has no world.

    A sum over no columns is 0 in every world: a bound below 0 leaves none.
    """
    nothing = np.zeros(0, np.int64)
    return any(
        min(upper_bounds(system, some, nothing, bounds, part, parts)) < 0 for some in (weights, -weights)
    )


def _bounds(
    system: SumSystem,
    weights: Floats,
    aim: Numbers,
    bounds: tuple[Numbers, Numbers],
    part: Numbers,
    parts: int,
    scale: int,
) -> list[int]:
    """Returns the bounds that weights prove, each rounded to a multiple of one over `scale`."""
    low, high = bounds
    scaled = np.rint(weights * scale).astype(np.int64)
    gain = np.zeros(system.columns, np.int64)
    gain[aim] = scale
    np.subtract.at(gain, system.owner, scaled[system.sums])
    of_sum = np.zeros(len(system.total), np.int64)
    of_sum[system.sums] = part[system.owner]
    largest = max(int(abs(scaled).max(initial=0)), int(abs(gain).max(initial=0)), 1)
    most = max(int(system.total.max(initial=0)), int(high.max(initial=0)), 1)
    kind = np.int64 if largest * most * (len(scaled) + len(gain) + 1) < FITS else object
    found = np.zeros(parts, dtype=kind)
    np.add.at(found, of_sum, scaled.astype(kind) * system.total.astype(kind))
    reach = np.maximum(gain.astype(kind) * low.astype(kind), gain.astype(kind) * high.astype(kind))
    np.add.at(found, part, reach)
    return [int(number) // scale for number in found]
