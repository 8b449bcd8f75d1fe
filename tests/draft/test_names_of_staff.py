"""Names of a few people, in many rows each: staff is withheld, and what is named after people is not."""

import pytest

from draft.fake_survey import column
from sfumato.draft.roles import guess
from sfumato.draft.roles_from_content import is_full_name
from sfumato.table.microdata import Role

FOUR = ["Anna Weber", "Thomas Müller", "Julia Schmidt", "Peter Braun"]
TITLED = ["Dr. Weber", "Dr. Okonkwo", "Prof. Dr. Lindqvist"]
TURNED = ["Weber, Anna", "Nguyen, Linh", "García López, Maria"]
TWO = ["Marie Dupont", "Jean Martin"]
UNKNOWN = ["Anna Weber", "Thomas Müller", "Xochitl Quispe", "Oluwaseun Adeyemi"]

SCHOOLS = ["Anne Frank", "Albert Einstein", "Sophie Scholl", "Martin Luther"]
SCHOOLS_IN_FULL = ["Anne Frank Schule", "Albert Einstein Gymnasium", "Sophie Scholl Schule"]
FIRMS = ["Carl Zeiss", "Robert Bosch", "Hugo Boss", "Calvin Klein"]
CITIES = ["San Marino", "Santa Cruz", "New York", "Los Angeles", "Virginia Beach", "Florence", "Austin"]
COUNTRIES = ["Saint Lucia", "Costa Rica", "Sri Lanka", "South Africa", "New Zealand", "Jordan"]
SHIPS = ["Queen Mary", "Maria Theresia", "Anna Catharina"]
VOTES = ["Joe Biden", "Donald Trump"]
JOBS = ["Truck Driver", "Office Clerk", "Web Designer"]
WARDS = ["Intensive Care", "Internal Medicine", "Emergency Room"]


def role(header, values):
    return guess(header, column([values[i % len(values)] for i in range(400)]), 400).role


@pytest.mark.parametrize(
    "header",
    [
        "Doctor",
        "Klassenlehrer",
        "Responsible",
        "Sachbearbeiter",
        "médecin traitant",
        "supervisor",
        "case worker",
        "Hausarzt",
        "responsabile",
        "médico",
        "handled by",
        "x7",
    ],
)
@pytest.mark.parametrize("values", [FOUR, TITLED, TURNED, TWO, UNKNOWN])
def test_names_of_a_few_people_are_withheld(header, values):
    assert role(header, values) is Role.IDENTIFIER


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("school", SCHOOLS),
        ("Schule", SCHOOLS),
        ("x7", SCHOOLS_IN_FULL),
        ("university", SCHOOLS),
        ("hospital", SCHOOLS),
        ("city", ["San Marino", "Virginia Beach", "Florence Kentucky"]),
        ("company", FIRMS),
        ("Arbeitgeber", FIRMS),
        ("brand", FIRMS),
        ("Hersteller", FIRMS),
        ("manufacturer", FIRMS),
        ("ship", SHIPS),
        ("vote", VOTES),
        ("x7", CITIES),
        ("x7", COUNTRIES),
        ("x7", JOBS),
        ("x7", WARDS),
        ("Doctor", WARDS),
        ("Doctor", ["General practice", "Internal medicine"]),
        ("Doctor", ["yes", "no"]),
    ],
)
def test_what_is_named_after_people_or_looks_so_is_not(header, values):
    assert role(header, values) is not Role.IDENTIFIER


def test_full_names_have_a_given_name_or_a_title_and_a_surname():
    named = [
        "Anna Weber",
        "Anna-Lena Weber",
        "Weber, Anna",
        "Mr. Smith",
        "Frau Dr. Weber",
        "Anna M. Lovelace",
    ]
    others = ["Anna", "Dr.", "Weber", "Room 7", "anna weber", "Anna Street", "San Marino", "Grand Hotel", ""]
    assert [text for text in named if not is_full_name(text)] == []
    assert [text for text in others if is_full_name(text)] == []
