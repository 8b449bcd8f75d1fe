"""Headers in five languages: what they say of a column."""

import pytest

from sfumato.policy.lexicon.header_lexicon import lexicon
from sfumato.policy.lexicon.header_words import header_pieces, header_words


@pytest.mark.parametrize(
    ("header", "role"),
    [
        ("dob", "quasi"),
        ("geb_dat", "quasi"),
        ("PLZ", "quasi"),
        ("sexe", "quasi"),
        ("dateOfBirth", "quasi"),
        ("dateofbirth", "quasi"),
        ("Körpergröße", "quasi"),
        ("koerpergroesse", "quasi"),
        ("haushaltsnettoeinkommen", "sensitive"),
        ("ICD10-Code", "sensitive"),
        ("first_name", "identifier"),
        ("hospital_name", "quasi"),
        ("hospital_id", "quasi"),
        ("drug_name", "sensitive"),
        ("patient_id", "identifier"),
        ("name_of_spouse", "identifier"),
        ("address_city", "quasi"),
        ("blood_pressure", "insensitive"),
        ("treatment_arm", "insensitive"),
        ("treatment", "sensitive"),
        ("qzx", None),
        ("", None),
        ("123", None),
    ],
)
def test_a_header_speaks_for_a_role(header, role):
    found = lexicon().read(header).role
    assert (found and found.value) == role


def test_every_kind_has_words_in_five_languages_and_a_reason():
    for kind in lexicon().kinds.values():
        assert kind.says
    assert {k.role.value for k in lexicon().kinds.values() if k.role} == {
        "identifier",
        "quasi",
        "sensitive",
        "insensitive",
    }


def test_words_are_found_however_a_header_is_written():
    assert header_pieces("XMLHttpID") == ["XML", "Http", "ID"]
    spellings = [
        [w[0] for w in header_words(h)] for h in ("birthDate", "birth_date", "Birth Date", "BIRTH-DATE")
    ]
    assert all(words == ["birth", "date"] for words in spellings)
