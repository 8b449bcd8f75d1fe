"""Numbers are rounded as they are written: to the nearest, halves to the even digit, in one form."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sfumato.table.published_texts import rounded_number
from sfumato.verify.tables import too_exact

DIGITS = st.integers(-4, 6)
WRITTEN = st.decimals(-(10**9), 10**9, allow_nan=False, places=9).map(str) | st.floats(-1e12, 1e12).map(repr)


@given(WRITTEN, DIGITS)
def test_the_nearest_number_of_the_grid(text, digits):
    """Nothing on the grid is nearer; of two that are as near, the even one was taken."""
    step, value = Fraction(10) ** -digits, Fraction(Decimal(text))
    near = Fraction(Decimal(rounded_number(text, digits)))
    assert (near / step).denominator == 1
    assert abs(near - value) <= step / 2
    if abs(near - value) == step / 2:
        assert (near / step).numerator % 2 == 0


@given(WRITTEN, DIGITS)
def test_one_text_for_one_number(text, digits):
    """Rounding again changes nothing; no exponent, no idle zero, no sign at zero; the judge has no more."""
    told = rounded_number(text, digits)
    assert rounded_number(told, digits) == told
    assert "e" not in told.lower() and told != "-0" and not told.startswith("+")
    assert "." not in told or not told.endswith("0")
    assert too_exact([told], digits) == 0


@given(WRITTEN, DIGITS)
def test_the_judge_sees_digits_that_are_too_many(text, digits):
    """What is on the grid and written without an idle zero passes, and nothing else does."""
    value = Fraction(Decimal(text)) * Fraction(10) ** digits
    if value.denominator > 1:
        assert too_exact([text], digits) == 1


def test_what_is_no_number():
    for text in ("", "n/a", "nan", "inf", "1,5", "1 000", "2026-01-01", "0x10", "1e9999", "1_0", "٣"):
        assert rounded_number(text, 2) is None
    assert rounded_number("1e-300", 2) == "0"
