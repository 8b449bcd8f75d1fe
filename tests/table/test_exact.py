"""Numbers as people write them, and signs of sums of logarithms."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import gcd, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.system.errors import BadPolicy
from sfumato.table.arrays import coprime, fraction, sign_of_logs, written

bases = st.lists(st.tuples(st.integers(1, 60), st.integers(-12, 12)), max_size=6)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1/5", Fraction(1, 5)),
        (" 1 / 5 ", Fraction(1, 5)),
        ("20%", Fraction(1, 5)),
        ("0.09", Fraction(9, 100)),
        (0.09, Fraction(9, 100)),
        (".5", Fraction(1, 2)),
        (1e-7, Fraction(1, 10**7)),
        ("1e-7", Fraction(1, 10**7)),
        (3, Fraction(3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_a_number_is_read_exactly(text, number):
    assert fraction(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1/0", "1e999999999", "--1", True, None, [], float("inf"), "1/2/3", "%"]
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(BadPolicy, match="such as 1/5"):
        fraction(text)


@given(st.fractions())
def test_written_fractions_read_back(number):
    assert fraction(written(number)) == number


@given(bases)
def test_coprime_bases_keep_the_product(terms):
    found = coprime(terms)
    assert prod(Fraction(b) ** e for b, e in terms) == prod(Fraction(b) ** e for b, e in found.items())
    assert all(gcd(a, b) == 1 for a in found for b in found if a != b)


@given(bases)
def test_the_sign_of_a_sum_of_logs_is_that_of_the_product(terms):
    product = prod(Fraction(b) ** e for b, e in terms)
    assert sign_of_logs(terms) == (product > 1) - (product < 1)


def test_a_sign_that_no_double_could_tell():
    n = 2**61
    assert sign_of_logs([(n, 2 * n), (n - 1, -n), (n + 1, -n)]) == 1
    assert sign_of_logs([(n * n, n), (n, -2 * n)]) == 0
