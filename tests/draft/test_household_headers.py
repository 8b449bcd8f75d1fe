"""Headers of who lives together, counted: babies, adults, and as surveys shorten them, in five languages."""

import pytest

from draft.fake_survey import column
from sfumato.draft.roles import guess
from sfumato.policy.header_lexicon import lexicon
from sfumato.table.microdata import Role

COUNTS = column([str(i % 5) for i in range(400)], "integer")
WHO_LIVES_THERE = """
    babies toddlers preteen teens adults hompop childs sibs nadults numadult n_adults num_persons hsize
    number_of_people hhtype nchlt5 eldch parch sibsp morekids under6
    babys säuglinge kleinkinder erwachsene minderjährige mitbewohner anzahl_erwachsene
    bébés nourrissons adultes mineurs colocataires nb_adultes
    bebés niños adultos menores convivientes num_adultos
    bambini neonati adulti minori conviventi num_adulti
"""
OF_OTHERS = "maeduc paeduc speduc padeg hgc hometown zodiac agegp fml bpl mwhte yronset"
"""What parents and partners have, and words that surveys use: all of it others can know."""


@pytest.mark.parametrize("header", WHO_LIVES_THERE.split())
def test_people_of_a_household_are_counted(header):
    small = column([str(1 + i % 5) for i in range(400)], "integer") if header == "hsize" else COUNTS
    assert guess(header, small, 400).role is Role.QUASI


@pytest.mark.parametrize("header", OF_OTHERS.split())
def test_what_surveys_shorten_is_read(header):
    assert lexicon().read(header).role is Role.QUASI


@pytest.mark.parametrize("header", ["high", "more", "triple", "travel", "adulthood", "babysitter", "minor"])
def test_words_that_begin_as_these_do_say_nothing(header):
    assert lexicon().read(header).role is None


@pytest.mark.parametrize("header", ["gestation", "infant_mortality", "patient_score"])
def test_measurements_of_people_count_nobody(header):
    assert guess(header, column([str(i % 90) for i in range(400)], "integer"), 400).role is Role.INSENSITIVE


def test_a_number_of_many_people_is_no_household():
    assert (
        guess("num_persons", column([str(i % 90) for i in range(400)], "integer"), 400).role
        is Role.INSENSITIVE
    )


@pytest.mark.parametrize(("most", "role"), [(45, Role.QUASI), (390, Role.INSENSITIVE), (9, Role.INSENSITIVE)])
def test_exp_is_experience_where_it_ends_as_working_lives_do(most, role):
    cells = column([str(i % (most + 1)) for i in range(400)], "integer")
    assert guess("ttl_exp", cells, 400).role is role
