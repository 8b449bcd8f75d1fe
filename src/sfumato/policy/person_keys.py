"""Which identifiers may tell people apart: numbers and codes of people, never names, dates or categories."""

from __future__ import annotations

from sfumato.policy.column_evidence import ColumnEvidence, texts
from sfumato.policy.column_names import PEOPLE, words
from sfumato.policy.lexicon.header_lexicon import lexicon
from sfumato.policy.person_names import name_evidence
from sfumato.policy.taxonomies.date_form import forms_of

NUMBERS = frozenset({"person_number", "id_word", "perhaps_id", "person", "record_number"})
"""Kinds of headers, as the lexicon calls them, of numbers of people and of rows."""
NO_KEYS = frozenset(
    {
        *("person_name", "name_word", "contact", "address_word", "contact_person", "biometric", "staff"),
        *("place", "date", "birth", "age", "sex", "time_word"),
    }
)
"""Kinds below which equal values are not the same person."""


def may_be_number_of_people(name: str, column: ColumnEvidence) -> bool:
    """Whether equal values of an identifier may mean the same person.

    Two people share a name, a telephone or a date; words are categories unless the header says otherwise.
    """
    kinds, values = lexicon().read(name).kinds, texts(column)
    if kinds & NO_KEYS or (values and forms_of(values)):
        return False
    if not values:
        return True
    evidence = name_evidence(name, values, [1] * len(values))
    if evidence.plausible or 2 * evidence.alike * evidence.several_words > 1:
        return False
    digits = 2 * sum(any(char.isdigit() for char in value) for value in values) > len(values)
    return digits or bool(kinds & NUMBERS or words(name) & PEOPLE)
