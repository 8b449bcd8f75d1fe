"""The unknowns of a chain, as the second judge makes them."""

import random
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oracles.tiny_chains import chains, releases
from sfumato.verify.chain.releases import RememberedRelease, on_newest_trees
from sfumato.verify.chain.worlds import cells_of_each


@given(chains(count=4), st.integers(0, 2**32 - 1))
def test_the_second_judge_makes_no_other_cells_of_what_bindings_begin_with(chain, seed):
    tables = on_newest_trees([RememberedRelease.of(imprint.as_dict()) for imprint in releases(*chain)])
    offset = np.cumsum([0, *(len(table.owner) for table in tables)])
    asked = [binding for size in range(4) for binding in combinations(range(4), size + 1)]
    random.Random(seed).shuffle(asked)
    together = list(cells_of_each(tables, asked, offset))
    for binding, cells in zip(asked, together, strict=True):
        (alone,) = cells_of_each(tables, [binding], offset)
        for name in ("low", "high", "owner", "value", "sums"):
            assert np.array_equal(getattr(cells, name), getattr(alone, name)), binding
