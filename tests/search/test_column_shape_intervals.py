"""The different intervals of a published column, beside those that numpy finds row by row."""

from __future__ import annotations

import numpy as np

from sfumato.search.loss import _different_intervals


def test_intervals_are_those_of_unique_rows() -> None:
    draw = np.random.default_rng(7)
    for rows in (0, 1, 2, 50):
        low = draw.integers(0, 2**31 - 8, rows).astype(np.int32) // np.int32(draw.choice([1, 2**28]))
        high = low + draw.integers(1, 4, rows).astype(np.int32)
        expected = np.unique(np.stack([low, high], axis=1), axis=0)
        assert _different_intervals(low, high).tolist() == expected.tolist()
