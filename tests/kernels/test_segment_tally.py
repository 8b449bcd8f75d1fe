"""Codes counted in segments of moved rows, against counting them one by one."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.rows import FEW_ROWS, tally_segments


def counted_one_by_one(codes, weights, first, last):
    """The codes of every segment with their weight, in order."""
    found = []
    for begin, end in zip(first, last, strict=True):
        held = Counter()
        for code, weight in zip(codes[begin:end].tolist(), weights[begin:end].tolist(), strict=True):
            held[code] += weight
        found.append(sorted(held.items()))
    return found


def counted(codes, weights, first, last, *, size, shift=5):
    noise = np.arange(len(codes), dtype=np.int64)
    line = (codes.astype(np.int64) << shift) | (noise & 31) | (noise << 40)
    tag = (noise << 32) | weights
    begin, values, counts = tally_segments(
        line, tag, np.array(first, np.int64), np.array(last, np.int64), (shift, (1 << 20) - 1), size
    )
    pairs = list(zip(values.tolist(), counts.tolist(), strict=True))
    return [pairs[begin[s] : begin[s + 1]] for s in range(len(first))]


@given(
    st.integers(1, 20 * FEW_ROWS),
    st.lists(st.integers(0, 3 * FEW_ROWS), min_size=1, max_size=6),
    st.integers(0, 2**32),
)
def test_every_segment_has_the_weight_of_each_code_that_occurs(size, lengths, seed):
    rng = np.random.default_rng(seed)
    rows = sum(lengths)
    codes, weights = rng.integers(0, size, rows), rng.integers(1, 4, rows)
    last = np.cumsum(lengths)
    first = last - lengths
    some = rng.random(len(lengths)) < 0.8
    assert counted(codes, weights, first[some], last[some], size=size) == counted_one_by_one(
        codes, weights, first[some], last[some]
    )


def test_many_rows_of_even_more_codes_are_put_in_order():
    size = 8 * FEW_ROWS + 1
    codes = np.arange(2 * FEW_ROWS)[::-1] // 2
    weights = np.full(len(codes), 2**31 - 1)
    assert counted(codes, weights, [0], [len(codes)], size=size) == counted_one_by_one(
        codes, weights, [0], [len(codes)]
    )


def test_no_segment_holds_nothing():
    assert counted(np.zeros(0, np.int64), np.zeros(0, np.int64), [], [], size=3) == []
