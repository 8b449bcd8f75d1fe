"""Keys from a sample: what is claimed about it holds, and all rows have the last word."""

import random
from math import exp, log

import numpy as np
import pytest

from oracles.quasi_identifiers import coded, minimal_sets, random_table
from sfumato.discovery.quasi_identifiers.coded import Coded, Reading
from sfumato.discovery.quasi_identifiers.minimum import minimal_by_sample, sampling_rate
from sfumato.system.errors import UsageError

KEYS = Reading.of(k=2, mode="all")


def test_every_key_contains_a_key_of_the_sample_and_what_holds_is_a_key():
    draw = random.Random(1)
    for _ in range(150):
        table = random_table(draw)
        for reading in (KEYS, Reading.of(k=2, mode="distinct")):
            found = minimal_by_sample(coded(table), reading, epsilon=0.5, delta=0.5, seed=draw.randrange(99))
            keys = minimal_sets(table, reading)
            assert found.complete and found.verified
            for key in keys:
                assert any(set(s.columns) <= set(key) for s in found.sets)
            for candidate in found.sets:
                assert candidate.holds == any(set(key) <= set(candidate.columns) for key in keys)


def test_bad_sets_rarely_survive():
    """A column under which 2 % of all pairs look alike passes for a key in at most δ of the samples."""
    rows, epsilon, delta = 3000, 0.01, 0.2
    alike = np.arange(rows)
    alike[: int(rows * 0.02**0.5)] = 0
    table = Coded.of_codes(["bad", "key"], np.stack([alike, np.arange(rows)]))
    wrong = 0
    for seed in range(60):
        found = minimal_by_sample(table, KEYS, epsilon=epsilon, delta=delta, seed=seed)
        assert found.sampled < rows / 2
        wrong += any(s.columns == ("bad",) for s in found.sets)
    assert wrong <= 60 * delta


@pytest.mark.parametrize("size", [2, 3, 10, 100])
def test_the_rate_meets_the_bound_exactly_computed(size):
    """Groups of one size, just bad enough: the chance that none is met twice, for all sets, is at most δ."""
    rows, columns, delta = 100_000, 10, 0.05
    epsilon = (size - 1) / (rows - 1)
    rate = sampling_rate(rows, columns, epsilon=epsilon, delta=delta)
    if rate < 1:
        at_most_one = (size - 1) * log(1 - rate) + log(1 + (size - 1) * rate)
        assert exp(rows / size * at_most_one) * 2**columns <= delta
    assert sampling_rate(1, 5, epsilon=0.1, delta=0.1) == 1


def test_the_sample_does_not_grow_with_the_table():
    rows = [10**5, 10**7, 10**9]
    expected = [n * sampling_rate(n, 20, epsilon=1e-3, delta=0.01) for n in rows]
    assert max(expected) - min(expected) < 1


def test_only_keys_can_be_sampled():
    table = Coded.of_columns({"a": [1, 2]})
    with pytest.raises(UsageError, match="says nothing about the size of groups"):
        minimal_by_sample(table, Reading.of(k=2, mode="any"), epsilon=0.1, delta=0.1, seed=1)
    with pytest.raises(UsageError, match="between 0 and 1"):
        minimal_by_sample(table, KEYS, epsilon=0.0, delta=0.1, seed=1)
