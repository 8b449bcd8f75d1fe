"""Two releases as Fung, Wang, Fu and Pei define them: every generator written down, record by record.

A release is a list of records (cells of the key columns, sensitive value); a cell is the set of raw values
that it stands for. A generator gives every record of the first release a record of its own in the second, its
buddy, which shows the same sensitive value and can be of the same raw row.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations

Record = tuple[tuple[frozenset[str], ...], str]


def comparable(one, other):
    """Whether both keys can be of one raw row."""
    return all(a & b for a, b in zip(one, other, strict=True))


def generators(first, second):
    """Yields for every generator the place of the buddy of each record of the first release."""
    for chosen in permutations(range(len(second)), len(first)):
        pairs = [(r, second[place]) for r, place in zip(first, chosen, strict=True)]
        if all(a[1] == b[1] and comparable(a[0], b[0]) for a, b in pairs):
            yield chosen


def crack_sizes(first, second):
    """What is left of every group, for every target: (time, class, class, value) -> how many.

    A target of time 1 has a class in both releases, one of time 2 in the second alone (the first is None). By
    Definitions 3.1, 3.3 and 3.5 the crack size of a group is what is not left of it.
    """
    left = Counter()
    for chosen in generators(first, second):
        here = Counter()
        for record, place in zip(first, chosen, strict=True):
            here[1, record[0], second[place][0], record[1]] += 1
        for place, (key, value) in enumerate(second):
            if place not in chosen:
                here[2, None, key, value] += 1
        for target, count in here.items():
            left[target] = max(left[target], count)
    return left


def figures(first, second):
    """FA, CA and BA over the targets of whom some generator knows somebody; None where there is nobody.

    The definitions look for records in the first release (FA) and in the second one (CA, BA).
    """
    left = crack_sizes(first, second)
    sums = Counter()
    for (time, one, other, _), count in left.items():
        sums[time, one, other] += count
    least = {time: min((n for t, n in sums.items() if t[0] == time), default=None) for time in (1, 2)}
    return least[1], least[1], least[2]
