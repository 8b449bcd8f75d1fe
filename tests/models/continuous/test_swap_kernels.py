"""The table by which swaps look up paths is what the trees say."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.continuous.swap_kernels import paths_between


@given(st.integers(1, 3), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_table_says_of_two_labels_whether_they_are_on_one_path(columns, labels, draw):
    parents = [[0, 0, 1, 1, 0], [0, 0, 1, 2, 0]]
    end = np.array([[5, 4, 3, 4, 5], [5, 4, 4, 4, 5]], np.int32)
    nodes = np.array(
        [[[draw.randrange(5) for _ in parents] for _ in range(labels)] for _ in range(columns)], np.int32
    )

    def above(j, node):
        while node:
            yield node
            node = parents[j][node]
        yield 0

    found = paths_between(nodes, end)
    for c, a, d, b in np.ndindex(found.shape):
        pairs = zip(nodes[c, a].tolist(), nodes[d, b].tolist(), strict=True)
        assert found[c, a, d, b] == all(
            u in above(j, v) or v in above(j, u) for j, (u, v) in enumerate(pairs)
        )
