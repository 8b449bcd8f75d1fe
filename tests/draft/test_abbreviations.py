"""Abbreviated headers: without vowels, cut short, joined, and ending in `id`."""

import pytest

from draft.fake_survey import column
from sfumato.draft.roles import guess
from sfumato.policy.header_lexicon import lexicon


@pytest.mark.parametrize(
    ("header", "role"),
    [
        ("hlth", "sensitive"),  # vowels left out
        ("mntlhlth", "sensitive"),
        ("cntry", "quasi"),
        ("hage", "quasi"),  # whose
        ("meduc", "quasi"),
        ("fincome", "sensitive"),
        ("xage", "quasi"),
        ("racef", "quasi"),
        ("indust", "quasi"),  # cut short
        ("protest", "sensitive"),
        ("classsiz", "quasi"),  # of two words, the last one cut short
        ("yearborn", "quasi"),  # joined
        ("maritalcat", "quasi"),
        ("fathcoll", "quasi"),
        ("partic", "quasi"),  # of participation, and not of parti
        ("prothrombin", None),  # a short word in a long one is there by accident
        ("kurz", None),  # the beginning of a much longer word is no word cut short
    ],
)
def test_abbreviations_are_read(header, role):
    found = lexicon().read(header).role
    assert (found and found.value) == role


def test_a_header_that_ends_in_id_needs_cells_that_are_numbers_of_people():
    several_rows = column([str(2448 + 1733 * (i // 3)) for i in range(600)], "integer")
    assert guess("RANDID", several_rows, 600).role.value == "identifier"
    assert guess("qwid", column([str(i % 3) for i in range(600)], "integer"), 600).role.value == "insensitive"
