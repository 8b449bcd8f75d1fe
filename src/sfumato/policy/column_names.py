"""Words in the names of columns that suggest what a column is."""

from __future__ import annotations

import re


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFIERS = _set("""
    id ids uid uuid guid name firstname forename surname lastname fullname email mail phone telephone mobile
    fax ssn nhs mrn iban bic passport address street url ip mac account username login license licence plate
    vin serial token
""")
PEOPLE = _set("id ids uid uuid guid ssn nhs mrn person patient subject participant member customer")
ONE_PERSON = _set("ssn nhs mrn person patient subject participant member customer")
"""Words of columns in which equal values mean the same person, and different ones different people."""
SENSITIVE = _set("""
    diagnosis diagnoses disease illness condition icd icd9 icd10 income salary wage wages earnings pay debt
    credit hiv drug drugs medication treatment therapy symptom symptoms religion faith party offence offense
    conviction disability pregnancy result outcome
""")
PLACES = _set("zip zipcode postcode postal plz postalcode")
AGES = _set("age ages")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_]+")


def words(name: str) -> frozenset[str]:
    """Returns the words of a column's name.

    >>> sorted(words("patientID")), sorted(words("zip-code"))
    (['id', 'patient', 'patientid'], ['code', 'zip', 'zip-code'])
    """
    return frozenset(word.lower() for word in _WORD.findall(name)) | {name.lower()}
