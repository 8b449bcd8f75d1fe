"""Distinct rows are numbered as numpy numbers them, also where they do not fit one whole number."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.search import suppression as module
from sfumato.search.suppression import distinct_rows


@pytest.mark.parametrize("most", [1 << 62, 10])
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (1, 1), (60, 4), (200, 9)])
def test_rows_are_numbered_in_order(shape, most, monkeypatch):
    monkeypatch.setattr(module, "MOST_NUMBERS", most)
    rows = np.random.default_rng(len(shape)).integers(-2, 3, shape).astype(np.int32)
    few, place = distinct_rows(rows)
    expected, where = np.unique(rows, axis=0, return_inverse=True)
    assert np.array_equal(few, expected)
    assert np.array_equal(place, where.ravel())
    assert few.dtype == np.int32


def test_numbers_far_apart_do_not_run_over():
    rows = np.array([[2**31 - 1] * 4, [-(2**31)] * 4, [0] * 4, [2**31 - 1] * 4], np.int32)
    few, place = distinct_rows(rows)
    assert few[:, 0].tolist() == [-(2**31), 0, 2**31 - 1]
    assert place.tolist() == [2, 0, 1, 2]
