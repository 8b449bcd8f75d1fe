"""Thousands of simulated leaks: the leaker is found, nobody else is charged, and chances are stated honestly.

The benchmark `trace` does the same with 10,000 leaks of each kind.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipients.simulated import antichain, as_leak, issued, shown_nodes, traced
from sfumato.recipients.evidence import OutsiderChance, chance_of_at_least, rows_by_detail

pytestmark = pytest.mark.slow

PATTERNS = antichain()


def rows_of(rng, who, size):
    nodes = shown_nodes(PATTERNS[who])
    return nodes[rng.integers(0, len(nodes), size)]


def test_exactly_the_leaker_when_nobody_colludes():
    rng = np.random.default_rng(11)
    for i in range(1500):
        who = int(rng.integers(len(PATTERNS)))
        result = traced(rows_of(rng, who, (1, 3, 10, 30)[i % 4]), content=False, max_coalition_size=1)
        assert list(result.explanations) == [(f"P{who}",)]
        assert result.certain == (f"P{who}",)


def test_nobody_innocent_is_charged_when_up_to_three_collude_and_what_is_stated_is_more():
    rng = np.random.default_rng(12)
    charged, stated = 0, []
    for i in range(400):
        guilty = rng.choice(len(PATTERNS), 1 + i % 3, replace=False).tolist()
        parts = [rows_of(rng, who, 12) for who in guilty]
        result = traced(np.concatenate(parts), content=i % 2 == 0)
        names = {f"P{who}" for who in guilty}
        assert any(set(explanation) <= names for explanation in result.explanations)
        charged += not set(result.certain) <= names
        if result.false_charge is not None:
            stated.append(result.false_charge.probability)
    assert charged == 0
    upper = 1 - 0.01 ** (1 / 400)  # Clopper and Pearson, for no event in 400
    assert min(stated) >= 0.001
    assert upper < 0.012


def test_ten_rows_of_an_antichain_are_charged_with_at_most_one_percent():
    rng = np.random.default_rng(13)
    for i in range(150):
        who = i % len(PATTERNS)
        result = traced(rows_of(rng, who, 10 + i % 3 * 45), max_coalition_size=1)
        assert result.certain == (f"P{who}",)
        assert result.false_charge.probability == 0.001
        assert result.false_charge.outside.probability <= 0.01


@given(st.lists(st.tuples(st.integers(0, 5), st.fractions(0, 1)), max_size=3), st.integers(0, 16))
def test_the_chance_of_so_many_fits_is_that_of_independent_rows(tries, fits):
    chances = [chance for rows, chance in tries for _ in range(rows)]
    exact = {0: 1}
    for chance in chances:
        less = {k: p * (1 - chance) for k, p in exact.items()}
        exact = {k: less.get(k, 0) + exact.get(k - 1, 0) * chance for k in range(len(exact) + 1)}
    tail = sum(p for k, p in exact.items() if k >= fits)
    found = chance_of_at_least(fits, [(rows, float(chance)) for rows, chance in tries])
    assert found == pytest.approx(float(tail), rel=1e-9, abs=1e-12)


def test_rows_are_apart_by_their_detail():
    one, other = rows_of(np.random.default_rng(1), 0, 9), rows_of(np.random.default_rng(2), 1, 5)
    leak = as_leak(np.concatenate([one, other]), issued())
    apart = [int(rows.sum()) for rows in rows_by_detail(leak)]
    assert apart == [len(np.unique(one, axis=0)), len(np.unique(other, axis=0))]


def test_ten_rows_of_each_of_two_are_charged_with_at_most_one_percent():
    """No two of the first six build another's version; whoever is certain is so by rows of two kinds."""
    rng = np.random.default_rng(15)
    stated = []
    for i in range(60):
        parts = [rows_of(rng, i % 12, 10), rows_of(rng, (i + 1 + i % 5) % 12, 10)]
        result = traced(np.concatenate(parts), max_coalition_size=2)
        if result.false_charge is not None:
            stated.append(result.false_charge.outside.probability)
    assert len(stated) > 10
    assert max(stated) <= 0.01


def test_nothing_smaller_than_one_in_a_thousand_is_stated():
    assert OutsiderChance.of(10**4, [(10**4, 0.5)], 0.5).probability == 0.001
    assert OutsiderChance.of(1, [(1, 1.0)], 1.0).probability == 1.0
    assert 0.001 <= OutsiderChance.of(10**4, [(10**4, 0.9999)], 1.0).probability < 1
