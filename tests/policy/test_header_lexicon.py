"""Headers in five languages: what they say of a column."""

from collections import Counter

import pytest

from sfumato.policy.header_lexicon import Abbreviations, HeaderLexicon, header_pieces, header_words, lexicon


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
        ("N° sécu", "identifier"),
        ("N° allocataire", "identifier"),
        ("Case #", "identifier"),
        ("Emp #", "identifier"),
        ("№", "identifier"),
        ("# children", "quasi"),
        ("Dept", "quasi"),
        ("Deductions", "sensitive"),
        ("Förderbedarf", "sensitive"),
        ("job_req_education", "insensitive"),
        ("job_requirement", "insensitive"),
        ("job_type", "quasi"),
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


@pytest.mark.parametrize("header", ["age" * 2000, "id" * 3000, "of" * 2000 + "x", "x" * 100_000])
def test_words_that_no_language_has_are_not_read(header):
    assert lexicon().read(header).kinds == frozenset()
    assert lexicon().read(f"{header} age").kinds == lexicon().read("age").kinds


@pytest.mark.parametrize("word", ["headhhglubpmed", "manage", "agemean", "logmaxmin"])
def test_every_end_of_a_word_is_taken_apart_once(monkeypatch, word):
    """Words that can be taken apart in many ways, and never without a rest: ways multiply, ends do not."""
    text, asked = f"{word * 20}"[:77] + "qx", Counter()
    for place, name in ((Abbreviations, "_found_segments"), (HeaderLexicon, "_found_parts")):
        found = getattr(place, name)

        def counted(self, end, *rest, found=found, name=name):
            asked[name, end] += 1
            return found(self, end, *rest)

        monkeypatch.setattr(place, name, counted)
    lexicon().read(text)
    assert asked and set(asked.values()) == {1} and len(asked) <= 2 * len(text)
