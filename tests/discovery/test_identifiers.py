"""Direct identifiers: every kind is found by its cells, look-alikes are not, and no cell is ever shown."""

import random
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.people import cells
from draft.fake_survey import survey
from sfumato.discovery import identifiers as looking
from sfumato.discovery.identifiers import identifiers
from sfumato.table.source import open_source

KINDS = cells()


def found(**columns):
    return identifiers(survey(**columns))


def direct(results):
    return {r.kind for r in results if r.direct and r.convincing}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_whatever_the_column_is_called(kind):
    texts = KINDS[kind]
    assert len(set(texts)) >= 20
    results = found(x=texts)
    assert direct(results) == {kind}
    first = next(r for r in results if r.kind == kind)
    assert first.share == 1 and first.reason and first.column == "x"


@pytest.mark.parametrize("kind", KINDS)
def test_reasons_never_hold_a_cell(kind):
    text = "".join(repr(r) for r in found(x=KINDS[kind]))
    assert not any(cell in text for cell in KINDS[kind])


CHECKED = ["iban", "payment-card", "fr-nir", "es-dni", "pl-pesel", "de-tax-id", "uk-nhs", "nl-bsn"]


@pytest.mark.parametrize("kind", [*CHECKED, "se-personnummer", "it-codice-fiscale"])
def test_wrong_check_digits_are_no_evidence(kind):
    def spoiled(text):
        last = text[-1]
        return text[:-1] + (chr(ord(last) + 1) if last not in "9Z" else {"9": "0", "Z": "A"}[last])

    assert kind not in {r.kind for r in found(x=[spoiled(text) for text in KINDS[kind]])}


def test_a_share_counts_cells_and_lowers_the_confidence():
    mails = KINDS["e-mail"][:30]
    most = found(x=[*mails, *["unknown"] * 20, None])
    assert [(r.kind, r.share, r.confidence) for r in most if r.direct] == [
        ("e-mail", Fraction(3, 5), "likely")
    ]
    some = found(x=[*mails, *["unknown"] * 300])
    assert [(r.kind, r.share) for r in some if r.direct] == [("e-mail-inside", Fraction(1, 11))]
    digits = found(x=[*KINDS["nl-bsn"][:3], *["unknown"] * 2])
    assert [(r.kind, r.confidence) for r in digits if r.direct] == [("nl-bsn", "possible")]
    assert direct(found(bsn=[*KINDS["nl-bsn"][:3], *["unknown"] * 2])) == {"nl-bsn"}


@pytest.mark.parametrize("size", [8, 9, 10, 11, 15])
def test_random_numbers_are_no_identifiers(size):
    dice = random.Random(size)
    numbers = [str(dice.randrange(10 ** (size - 1), 10**size)) for _ in range(300)]
    assert direct(found(x=numbers)) == set()


ORDINARY = {
    "city": ["New York", "Den Haag", "Paris", "São Paulo"] * 30,
    "weight": [str(40 + i / 10) for i in range(120)],
    "admitted": [f"2024-03-{1 + i % 28:02}" for i in range(120)],
    "diagnosis": ["C34.1", "J45.0", "E11.9"] * 40,
    "version": ["1.2.3", "1.10.4"] * 60,
    "product name": [f"Article {chr(65 + i % 26)}{chr(65 + i // 26)}" for i in range(120)],
    "income": [str(20000 + 37 * i) for i in range(120)],
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_columns_are_left_alone(name):
    assert direct(found(**{name: ORDINARY[name]})) == set()


def test_names_need_a_title_given_names_or_variety():
    made_up = [f"{chr(65 + i)}ol{chr(97 + j)}a Vex{chr(97 + j)}n" for i in range(10) for j in range(10)]
    by_name = {
        "patient_name": ["likely"],
        "surname": ["likely"],
        "x": ["possible"],
        "drug_name": ["possible"],
    }
    for name, confidence in by_name.items():
        assert [r.confidence for r in found(**{name: made_up}) if r.kind == "name"] == confidence


def test_a_few_addresses_inside_text_are_enough():
    notes = [f"seen on ward {i % 7}, nothing to add" for i in range(500)]
    notes[17] += ", write to ada@example.org"
    notes[400] += ", or bo@example.org"
    notes[99] += ", call +44 20 7946 0958 at night"
    results = found(notes=notes)
    assert {(r.kind, r.confidence) for r in results if r.kind.endswith("inside")} == {
        ("e-mail-inside", "likely"),
        ("phone-inside", "possible"),
    }
    assert "fewer than 1%" in results[0].reason and "ada" not in results[0].reason


def test_telephone_and_social_security_numbers_by_name_and_digits_alone():
    digits = [str(6175550100 + i) for i in range(40)]
    assert direct(found(x=digits)) == set()
    assert direct(found(telephone=digits)) == {"phone"}
    assert direct(found(ssn=[str(123456789 + i) for i in range(40)])) == {"us-ssn"}


def test_births_places_and_uniqueness_help_but_do_not_name():
    births = [f"19{30 + i}-05-{1 + i % 28:02}" for i in range(60)]
    degrees = [f"52.{1000 + 7 * i}" for i in range(60)]
    results = found(born=births, visited=births, lat=degrees, longitude=degrees, grade=["1", "2"] * 30)
    kinds = {(r.column, r.kind, r.confidence) for r in results}
    assert kinds == {
        ("born", "birth-date", "certain"),
        ("born", "unique", "certain"),
        ("visited", "birth-date", "possible"),
        ("visited", "unique", "certain"),
        ("lat", "coordinates", "likely"),
        ("lat", "unique", "certain"),
        ("longitude", "coordinates", "likely"),
        ("longitude", "unique", "certain"),
    }
    assert not any(r.direct for r in results)
    assert direct(found(yob=[str(1930 + i) for i in range(60)])) == set()


def test_uniqueness_is_exact():
    ids = [str(i) for i in range(99)]
    assert [r.kind for r in found(x=[*ids, "0"])] == ["nearly-unique"]
    assert [r.kind for r in found(x=[*ids, "100"])] == ["unique"]
    assert [r.kind for r in found(x=[*ids, None])] == ["nearly-unique"]
    assert found(x=["1"]) == () and found(x=[]) == ()


def test_columns_with_too_many_values_are_glanced_at():
    frame = pl.DataFrame({"x": [f"person{i}@example.org" for i in range(30_000)]})
    source = open_source(frame)
    survey = source.survey(limit=1000)
    assert not survey.columns["x"].complete
    assert [r.kind for r in looking.identifiers(survey)] == ["unique"]
    results = looking.identifiers(survey, distinct={"x": 30_000}, first_rows=source.survey_first(["x"]))
    assert [r.kind for r in results] == ["e-mail", "unique"]
    assert "in the first 10,000 rows" in results[0].reason


anything = st.none() | st.text(max_size=30) | st.sampled_from([c for k in KINDS.values() for c in k[:3]])


@given(
    st.lists(anything, max_size=40), st.sampled_from(["x", "name", "email", "lat", "born", "ssn", "phone"])
)
def test_any_column_is_answered_and_shares_are_shares(column, name):
    for result in found(**{name: column}):
        assert 0 < result.share <= 1 and result.confidence in ("certain", "likely", "possible")
        assert not any(cell in result.reason for cell in column if cell and len(cell) > 12)
