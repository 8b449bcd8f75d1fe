"""Small systems of sums, and every way to give whole numbers to their unknowns."""

import numpy as np
from hypothesis import strategies as st

from sfumato.verify.chain.worlds import SumSystem, WorldEquations, components_of


@st.composite
def systems(draw):
    """Sums of some unknowns: of whole numbers that there are, or nearly."""
    count = draw(st.integers(1, 6))
    rows = draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1), min_size=1, max_size=5))
    rows += [{v} for v in range(count) if not any(v in row for row in rows)]
    amounts = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    total = np.array([sum(amounts[v] for v in row) for row in rows], np.int64)
    if draw(st.integers(0, 3)) == 0:
        total = np.maximum(
            0, total + draw(st.lists(st.integers(-1, 1), min_size=len(rows), max_size=len(rows)))
        )
    sums = [[r for r, row in enumerate(rows) if v in row] for v in range(count)]
    start = np.cumsum([0, *map(len, sums)]).astype(np.int64)
    return SumSystem(np.arange(count), start, np.array([r for some in sums for r in some], np.int64), total)


def solutions(system, low=None, high=None):
    """Every way of giving whole numbers to the columns so that all sums come out."""
    rows = [system.sums[a:b].tolist() for a, b in zip(system.start, system.start[1:], strict=False)]

    def go(v, left):
        if v == len(rows):
            if not any(left):
                yield ()
            return
        first = 0 if low is None else int(low[v])
        last = min([left[r] for r in rows[v]] + ([] if high is None else [int(high[v])]))
        for amount in range(first, last + 1):
            rest = [n - amount * (r in rows[v]) for r, n in enumerate(left)]
            for others in go(v + 1, rest):
                yield (amount, *others)

    return np.array(list(go(0, system.total.tolist()))).reshape(-1, len(rows))


def equations(system):
    count = len(system.columns)
    part = components_of(system.start, system.sums, len(system.total))
    nothing, kind = np.zeros(count, np.int64), np.arange(len(system.total))
    return WorldEquations(np.arange(count), nothing, system.start, system.sums, system.total, part, kind)
