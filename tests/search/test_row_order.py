"""Rows are sorted as tuples are, whether or not they fit a whole number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.search import suppression as module
from sfumato.search.suppression import row_order

ANY = st.integers(-(2**31), 2**31 - 1) | st.integers(-3, 3)


@pytest.mark.parametrize("most", [0, 100, module.MOST_NUMBERS])
@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*[ANY] * n), min_size=1, max_size=30)))
def test_rows_are_sorted_as_tuples_are_and_equal_rows_as_they_come(most, rows):
    matrix = np.array(rows, np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_NUMBERS", most)
        assert row_order(matrix).tolist() == sorted(range(len(rows)), key=lambda i: rows[i])


def test_no_rows_have_no_order():
    assert row_order(np.zeros((0, 3), np.int32)).tolist() == []
