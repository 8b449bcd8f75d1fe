"""What prepares the search for keys, and what orders its sets, against the same in plain Python."""

from collections import Counter
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.hitting_sets import keys_by_rank
from sfumato.kernels.partitions import join_alike, mark_rare


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 12), st.randoms(use_true_random=False))
def test_rare_codes_are_marked_in_every_column(columns, k, rows, draw):
    sizes = [draw.randint(1, 5) for _ in range(columns)]
    cells = [[draw.randrange(size) for _ in range(rows)] for size in sizes]
    marked = np.full((columns, rows), 99, np.int32)
    codes = np.array(cells, np.int32).reshape(columns, rows)
    shapes = mark_rare(codes, np.array(sizes, np.int64), k, marked)
    for column, shape, found in zip(cells, shapes.tolist(), marked.tolist(), strict=True):
        count = Counter(column)
        often = sorted(code for code, held in count.items() if held >= k)
        assert found == [often.index(code) if code in often else -1 for code in column]
        held = [count[code] for code in often]
        assert shape == [len(count), len(often), sum(held), sum(c * c for c in held)]


@given(st.integers(0, 6), st.integers(1, 3), st.integers(0, 5), st.randoms(use_true_random=False))
def test_columns_that_group_rows_alike_are_joined_in_order(columns, k, rows, draw):
    cells = [[draw.randrange(draw.randint(1, 4)) for _ in range(rows)] for _ in range(columns)]
    marked = np.empty((columns, rows), np.int32)
    codes = np.array(cells, np.int32).reshape(columns, rows)
    shapes = mark_rare(codes, np.full(columns, 4, np.int64), k, marked)
    before, order = marked.tolist(), np.argsort(-shapes[:, 3], kind="stable")
    places, made, most = join_alike(marked, shapes, order)
    first = {}
    for j in order.tolist():
        if shapes[j, 0] > 1:
            first.setdefault(grouping(before[j]), j)
    place = {alike: i for i, alike in enumerate(first)}
    constant = [shapes[j, 0] <= 1 for j in range(columns)]
    assert places.tolist() == [-1 if constant[j] else place[grouping(before[j])] for j in range(columns)]
    assert marked[:made].tolist() == [before[j] for j in first.values()]
    assert most == max((int(shapes[j, 1]) for j in first.values()), default=0)
    assert sorted(marked.tolist()) == sorted(before)


def grouping(codes):
    """Which rows share a code; those whose code is negative share none."""
    return tuple(codes.index(code) if code >= 0 else -1 for code in codes)


@given(st.sampled_from([3, 64, 70]), st.data())
def test_keys_order_sets_by_their_members_of_lowest_rank(columns, data):
    ranks = data.draw(st.permutations(range(columns)))
    one = st.frozensets(st.integers(0, columns - 1), min_size=2, max_size=2)
    sets = data.draw(st.lists(one, max_size=12, unique=True))
    words = np.zeros((len(sets), -(-columns // 64)), np.uint64)
    for row, chosen in zip(words, sets, strict=True):
        for j in chosen:
            row[j // 64] |= np.uint64(1 << (j % 64))
    choices = data.draw(st.lists(st.integers(1, 3), min_size=columns, max_size=columns))
    found, sizes, total = keys_by_rank(words, np.array(ranks, np.int64), np.array(choices, np.int64))
    assert sizes.tolist() == [len(chosen) for chosen in sets]
    assert total == sum(prod(choices[j] for j in chosen) for chosen in sets)
    keys = found.tolist()
    by_key = sorted(range(len(sets)), key=lambda i: keys[i])
    assert by_key == sorted(range(len(sets)), key=lambda i: sorted(ranks[j] for j in sets[i]))
