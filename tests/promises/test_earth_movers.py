"""Earth mover's distances: compiled on 64 bits, or on whole numbers of any size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.classes import histogram
from sfumato.promises.t_closeness.earth_movers import Earth, equal, hierarchical
from strategies import taxonomies


@pytest.mark.parametrize("costs", [equal, hierarchical])
@given(tree=taxonomies(leaves=7), data=st.data())
def test_compiled_costs_are_those_of_whole_numbers(costs, tree, data):
    leaves = len(tree.leaves)
    counts = st.lists(st.integers(0, 40), min_size=leaves, max_size=leaves)
    classes = data.draw(st.lists(counts.filter(any), min_size=1, max_size=4))
    target = np.array(data.draw(counts.filter(any)), np.int64)
    owner, values = np.nonzero(classes)
    held = histogram(
        tree, owner, values.astype(np.int32), np.array(classes)[owner, values].astype(np.int64), len(classes)
    )
    earth = Earth(held, target, int(target.sum()) + data.draw(st.integers(0, 9)))
    assert costs(earth, np.int64).tolist() == costs(earth, object).tolist()
