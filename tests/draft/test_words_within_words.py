"""Words that stand in others by accident: an everyday word says nothing of a column."""

import pytest

from draft.fake_survey import column
from sfumato.draft.roles import guess
from sfumato.policy.header_lexicon import lexicon, ordinary_words
from sfumato.table.microdata import Role

_TRAPS = """
    confident confidence self_confident confidential accident evident provident identical coincident dissident
    image page pages package storage message usage damage garbage sewage engagement
    tournament ornament gnome keynote footnote boilerplate circuit
    embrace trace brace terrace disgrace grace furnace racetrack
    Essex Sussex Middlesex report support comfort effort port
    capacity plasticity elasticity publicity simplicity replace validate update liquidate
    cellar cellular excellent phonetic streetlight mailing motel cartel
    incident liquid nominal spray taxi commonwealth network partying partial
    framework homework artwork workout correlation countryside motherboard childish
    Schalter Schrank confiance plage terrasse
"""
TRAPS = _TRAPS.split()
ANSWERS = column([str(1 + i % 5) for i in range(400)])


def test_there_are_enough_traps():
    assert len(set(TRAPS)) >= 60


@pytest.mark.parametrize("header", TRAPS)
def test_a_word_within_an_everyday_word_says_nothing(header):
    assert lexicon().read(header).role is None


@pytest.mark.parametrize("header", ["confident", "Selfconfident", "I feel confident", "accident", "trace"])
def test_answers_below_such_a_word_name_nobody(header):
    assert guess(header, ANSWERS, 400).role is not Role.IDENTIFIER


@pytest.mark.parametrize(
    ("header", "role"),
    [
        ("custname", "identifier"),
        ("homephone", "identifier"),
        ("kurzname", "identifier"),
        ("regional", "quasi"),
        ("firmsz", "quasi"),
        ("meanbp", "insensitive"),
        ("hage", "quasi"),
        ("huseduc", "quasi"),
        ("huswage", "sensitive"),
        ("spoureligion", "sensitive"),
    ],
)
def test_compounds_abbreviations_and_adjectives_are_still_read(header, role):
    found = lexicon().read(header).role
    assert (found and found.value) == role


def test_an_ordinary_word_is_no_entry_of_the_lexicon():
    assert [word for word in sorted(ordinary_words()) if lexicon().read(word).role is not None] == []
