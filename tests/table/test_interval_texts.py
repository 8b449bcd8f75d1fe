"""Every spelling of an interval is read back as it was meant, and nothing between two spellings is read."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.table.published_texts import numeric_ends

NUMBERS = st.one_of(
    st.integers(-10_000, 10_000).map(str),
    st.decimals(-1_000, 1_000, places=2).map(lambda number: f"{number:.2f}"),
)
BETWEEN = {
    "[{}, {})": False,
    "[{}, {}[": False,
    "[{},{})": False,
    "{}-{}": True,
    "{}–{}": True,
    "{} to {}": True,
}
"""How two ends are written, and whether the upper one belongs to the interval."""
ABOVE = ("{}+", ">={}", ">= {}")
BELOW = ("<{}", "< {}")


@given(NUMBERS, NUMBERS, st.sampled_from(sorted(BETWEEN)))
def test_an_interval_with_two_ends_is_read_back(low, high, form):
    assert numeric_ends(form.format(low, high)) == (float(low), float(high), BETWEEN[form])


@given(NUMBERS, st.sampled_from(ABOVE), st.sampled_from(BELOW))
def test_an_interval_with_one_end_is_read_back(end, above, below):
    assert numeric_ends(above.format(end)) == (float(end), inf, True)
    assert numeric_ends(below.format(end)) == (-inf, float(end), False)


@given(NUMBERS)
def test_a_number_alone_is_an_interval_of_itself(number):
    assert numeric_ends(number) == (float(number), float(number), True)


@pytest.mark.parametrize(
    "text",
    [">=90+", "<90+", "90++", ">90", "[20, 30]", "(20, 30)", "[20, 30", "20-", "-", "", "021-029", "٣"],
)
def test_what_mixes_two_spellings_is_no_interval(text):
    assert numeric_ends(text) is None
