"""Histograms of classes, counted in cells or sorted, beside a plain count."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.table import classes
from sfumato.table.taxonomy import Taxonomy

ENTRIES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 5)), max_size=12)


@pytest.mark.parametrize("cells", [0, classes.CELLS_PER_ENTRY, 1000])
@given(entries=ENTRIES)
def test_histograms_equal_a_plain_count(cells, entries):
    tree = Taxonomy.flat(list("abcd"))
    ids, codes, weight = (np.array([entry[i] for entry in entries], np.int64) for i in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "CELLS_PER_ENTRY", cells)
        patch.setattr(classes, "BLOCK_ROWS", 5)
        found = classes.histogram(tree, ids, codes.astype(np.int32), weight, 5)
    expected, overall = Counter(), [0] * 4
    for owner, value, count in entries:
        expected[owner, value] += count
        overall[value] += count
    assert found.owner.tolist() == [owner for owner, _ in sorted(expected)]
    assert found.values.tolist() == [value for _, value in sorted(expected)]
    assert found.counts.tolist() == [expected[pair] for pair in sorted(expected)]
    assert found.overall.tolist() == overall
    assert (found.values.dtype, found.counts.dtype, found.start.dtype) == (np.int32, np.int64, np.int64)
