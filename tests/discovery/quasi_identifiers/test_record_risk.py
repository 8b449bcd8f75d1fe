"""Minimal sample uniques and SUDA scores against every subset of columns."""

import random
from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from oracles.quasi_identifiers import coded, minimal_uniques, random_table
from sfumato.discovery import discovery as module
from sfumato.discovery.discovery import record_risk
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.system.errors import UsageError

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(5))
def test_uniques_scores_and_contributions(seed):
    draw = random.Random(400 + seed)
    for _ in range(60):
        table = random_table(draw, columns=6, rows=30)
        largest = draw.randint(1, 6)
        risk = record_risk(coded(table), max_size=largest)
        expected = minimal_uniques(table, largest)
        width = len(table)
        weight = {size: factorial(width - size) for size in range(1, width + 1)}
        total = sum(weight[len(s)] for sets in expected for s in sets)
        for i, sets in enumerate(expected):
            assert risk.uniques[i].tolist() == [
                sum(len(s) == size for s in sets) for size in range(1, risk.max_size + 1)
            ]
            assert risk.score(i) == sum(weight[len(s)] for s in sets) == risk.scores[i]
            assert risk.smallest[i] == min(map(len, sets), default=0)
        assert risk.at_risk == sum(bool(sets) for sets in expected)
        for name in table:
            part = sum(weight[len(s)] for sets in expected for s in sets if name in s)
            assert risk.contribution[name] == (Fraction(part, total) if total else 0)


def test_a_row_that_another_equals_has_no_unique():
    risk = record_risk(Coded.of_columns({"a": [1, 1, 2], "b": [3, 3, 3]}), max_size=2)
    assert risk.uniques.tolist() == [[0, 0], [0, 0], [1, 0]]


def test_many_columns_and_a_long_row_of_bits():
    draw = np.random.default_rng(1)
    table = Coded.of_codes([f"c{j}" for j in range(12)], draw.integers(0, 9, (12, 500)))
    plain = {name: row.tolist() for name, row in zip(table.names, table.codes, strict=True)}
    risk = record_risk(table, max_size=3)
    expected = minimal_uniques(plain, 3)
    assert risk.uniques.tolist() == [
        [sum(len(s) == size for s in sets) for size in (1, 2, 3)] for sets in expected
    ]


def test_too_much_to_hold_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 64)
    with pytest.raises(UsageError, match="Lower max_size"):
        record_risk(Coded.of_columns({f"c{j}": range(200) for j in range(5)}), max_size=3)
    with pytest.raises(UsageError, match="at least 1"):
        record_risk(Coded.of_columns({"a": [1]}), max_size=0)


@pytest.mark.parametrize("columns", [{}, {"a": []}])
def test_nobody_is_at_risk_in_an_empty_table(columns):
    risk = record_risk(Coded.of_columns(columns), max_size=2)
    assert (risk.at_risk, risk.scores.tolist()) == (0, [])
