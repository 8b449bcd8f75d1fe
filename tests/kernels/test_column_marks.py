"""What prepares the search for keys, and what orders its sets, against the same in plain Python."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.bitsets import keys_by_rank
from sfumato.kernels.sets.partitions import mark_rare


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


@given(st.sampled_from([3, 64, 70]), st.data())
def test_keys_order_sets_by_their_members_of_lowest_rank(columns, data):
    ranks = data.draw(st.permutations(range(columns)))
    one = st.frozensets(st.integers(0, columns - 1), min_size=2, max_size=2)
    sets = data.draw(st.lists(one, max_size=12, unique=True))
    words = np.zeros((len(sets), -(-columns // 64)), np.uint64)
    for row, chosen in zip(words, sets, strict=True):
        for j in chosen:
            row[j // 64] |= np.uint64(1 << (j % 64))
    keys = keys_by_rank(words, np.array(ranks, np.int64)).tolist()
    by_key = sorted(range(len(sets)), key=lambda i: keys[i])
    assert by_key == sorted(range(len(sets)), key=lambda i: sorted(ranks[j] for j in sets[i]))
