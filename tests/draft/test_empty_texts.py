"""Texts that programs write where there is nothing are found among numbers and dates, and nowhere else."""

from __future__ import annotations

from draft.fake_survey import survey
from sfumato.draft.evidence import empty_texts


def test_among_numbers_and_dates_they_are_found_in_a_fixed_order():
    told = survey(
        age=["31", "NULL", "40", "52"],
        born=["1990-01-02", "NA", "1985-12-30", "1970-05-06"],
        word=["yes", "n/a", "no", "no"],
    )
    assert empty_texts(told) == ("NA", "NULL")


def test_among_words_they_are_words():
    assert empty_texts(survey(country=["DE", "NA", "FR", "IT"], code=["a1", ".", "b2", "c3"])) == ()


def test_too_few_numbers_prove_nothing():
    assert empty_texts(survey(size=["1", "NA", "2", "NA"])) == ()
