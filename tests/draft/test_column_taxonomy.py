"""Taxonomies of drafts: what the cells of a quasi-identifier can become."""

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draft.fake_survey import column
from sfumato.draft.evidence import NO_FINDING, ColumnProfile
from sfumato.draft.roles import guess, ordered_taxonomy, scales, taxonomy_of
from sfumato.policy.taxonomies.dates import Dates
from sfumato.policy.taxonomies.files import NestedTree
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.taxonomies.texts import Flat, Prefix

pytestmark = pytest.mark.slow


def drafted(header, cells):
    return taxonomy_of(ColumnProfile.of(header, column(cells), len(cells), NO_FINDING))[0]


def test_outliers_do_not_stretch_intervals():
    ages = [str(i % 60) for i in range(1000)]
    usual = drafted("x", ages)
    assert usual.spec == {"intervals": [5, 10, 20, 40, 80], "from": 0, "to": 160}
    far = drafted("x", [*ages, "99999", "100000"])
    assert far.widths[0] == 5 and far.top is not None and 60 <= far.top <= 65 and far.stop is None
    tree = far.build([*ages, "99999"])
    assert tree.leaf_labels[tree.rank("99999")] == f"{far.top}+"
    below = drafted("x", [*ages, "-50000"])
    assert below.bottom is not None and below.bottom <= 0 and below.widths[0] == 5
    decimals = drafted("x", [*(str(Decimal(i % 60) / 4) for i in range(1000)), "1e9"])
    assert decimals.decimal and decimals.top is not None and decimals.top < 20


def test_blanks_behind_codes_do_not_make_them_sums_of_money():
    """Files with columns of a fixed width leave blanks behind every cell."""
    codes = [f"{1067 + 137 * n:05d}" for n in range(100)]
    assert drafted("PLZ", codes).spec == {"prefix": [4, 3, 2, 1]}
    assert drafted("PLZ", [f"{code}  " for code in codes]).spec == {"prefix": [4, 3, 2, 1]}


@given(st.lists(st.integers(-(10**9), 10**9) | st.integers(0, 40), min_size=5, max_size=60), st.booleans())
def test_any_numbers_have_a_place_in_their_intervals(numbers, decimals):
    cells = [str(Decimal(n) / 8) if decimals else str(n) for n in numbers]
    rule = drafted("x", cells)
    tree = rule.build(sorted(set(cells)))
    assert all(tree.rank(cell) is not None for cell in cells)


@pytest.mark.parametrize(
    ("cells", "spec"),
    [
        (["28.02.2024", "1.12.1980"], {"date": ["month", "year", "decade"], "written": "dd.mm.yyyy"}),
        (["01/02/2024", "03/04/2024"], {"date": ["year"], "written": "dd/mm/yyyy"}),
        (["01/13/2024", "03/04/2023"], {"date": ["month", "quarter", "year"], "written": "mm/dd/yyyy"}),
        (["2024-01", "2023-12"], {"date": ["quarter", "year"], "written": "yyyy-mm"}),
        (["2024-01-31", "2023-12-01"], {"date": ["month", "quarter", "year"]}),
    ],
)
def test_dates_in_other_forms(cells, spec):
    assert isinstance(drafted("x", cells), Dates) and drafted("x", cells).spec == spec


def test_numbers_in_other_forms():
    euros = [f"1.{i:03},50" for i in range(40)]
    assert drafted("x", euros).written == "1.234,5" and drafted("x", euros).decimal
    assert drafted("x", [f"{i} {i:03}" for i in range(1, 40)]).written == "1 234,5"
    assert isinstance(drafted("x", ["1,234", "2,345", "3,456", "4,567"]), Flat)


def test_codes_are_truncated():
    dice = random.Random(1)
    isco = [str(dice.randint(1000, 9999)) for _ in range(200)]
    assert drafted("occupation_code", isco) == Prefix((3, 2, 1))
    assert isinstance(drafted("x", isco), Intervals)


def test_few_postal_codes_are_truncated_too():
    berlin = ["10115", "10117", "12043", "12045", "13347", "80331"] * 20
    assert drafted("PLZ", berlin) == Prefix((4, 3, 2, 1))
    assert isinstance(drafted("x", berlin), Intervals)


@pytest.mark.parametrize("cells", [["001", "002", "004", "005"], ["01", "02", "07", "79"]])
def test_codes_with_zeros_in_front_are_no_numbers(cells):
    assert isinstance(drafted("reason", cells), Flat)
    assert isinstance(drafted("age", [*cells, *("020" if len(cells[0]) == 3 else "20",)]), Intervals)
    assert isinstance(drafted("x", [f"{hour:02}" for hour in range(24)]), Intervals)


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["high", "low", "medium"], ["low", "medium", "high"]),
        (["Hoch", "Niedrig", "Mittel"], ["Niedrig", "Mittel", "Hoch"]),
        (["élevé", "faible", "moyen"], ["faible", "moyen", "élevé"]),
        (["alto", "bajo", "medio"], ["bajo", "medio", "alto"]),
        (["alto", "basso", "medio"], ["basso", "medio", "alto"]),
        (["often", "never", "always"], ["never", "often", "always"]),
        (["Abitur", "Hauptschule", "Master"], ["Hauptschule", "Abitur", "Master"]),
        (["licence", "collège", "doctorat"], ["collège", "licence", "doctorat"]),
        (["65+", "18-24", "<18", "25-64"], ["<18", "18-24", "25-64", "65+"]),
        (["12years", "9-11years", ">12years", "<9years"], ["<9years", "9-11years", "12years", ">12years"]),
        (["60+ kg", "40-59 kg", "under 40 kg"], ["under 40 kg", "40-59 kg", "60+ kg"]),
        (["2 years", "3 or more years", "1 year"], ["1 year", "2 years", "3 or more years"]),
        (["mehr als 10", "5-10", "weniger als 5"], ["weniger als 5", "5-10", "mehr als 10"]),
    ],
)
def test_scales_are_ordered(cells, order):
    rule, _ = ordered_taxonomy(cells)
    assert rule.ordered and list(rule.build([]).leaf_labels) == order


def test_bands_with_units_are_grouped_by_their_order_and_not_by_how_common_they_are():
    common = ["12years"] * 90 + ["16years"] * 60 + ["9-11years"] * 50 + [">16years"] * 40
    rule = guess("education", column([*common, *["13-15years"] * 80, *["<9years"] * 30]), 350).taxonomy
    assert rule.spec == {
        "tree": {
            "<9years … 9-11years": ["<9years", "9-11years"],
            "12years … 13-15years": ["12years", "13-15years"],
            "16years … >16years": ["16years", ">16years"],
        },
        "ordered": True,
    }


def test_neighbours_of_a_scale_are_grouped():
    answers = ["agree", "disagree", "neither", "strongly agree", "strongly disagree"]
    rule, reason = ordered_taxonomy(answers)
    assert isinstance(rule, NestedTree) and reason == "a scale of agreement"
    assert rule.spec == {
        "tree": [
            {"strongly disagree … disagree": ["strongly disagree", "disagree"]},
            "neither",
            {"agree … strongly agree": ["agree", "strongly agree"]},
        ],
        "ordered": True,
    }
    assert rule.build(answers).ordered


@pytest.mark.parametrize(
    "cells",
    [
        ["low", "high"],
        ["low", "high", "blue"],
        ["1", "2", "3"],
        ["a", "b", "c"],
        ["5-470", "5-820", "8-980"],
        ["1 day", "2 years", "3 years"],
        ["5a", "5b", "6a"],
        [],
    ],
)
def test_what_is_no_scale_has_no_order(cells):
    assert ordered_taxonomy(cells) is None


def test_every_scale_lists_a_word_once():
    for scale in scales():
        assert sum(scale.tiers) >= max(scale.levels.values()) + 1
        assert [scale.tier(level) for level in range(max(scale.levels.values()) + 1)] == sorted(
            scale.tier(level) for level in range(max(scale.levels.values()) + 1)
        )


@pytest.mark.parametrize(
    ("header", "cells", "role"),
    [
        ("x", ["E11.9", "I10", "J45.0", "C50.1"] * 20, "sensitive"),
        ("x", ["N02BE01", "A10BA02", "C09AA05"] * 20, "sensitive"),
        ("x", ["A12", "B34", "C56"] * 20, "quasi"),
        ("weight", [str(50 + i % 50) for i in range(100)], "quasi"),
        ("weight", [str(1 + i % 7 / 10) for i in range(100)], "insensitive"),
        ("telephone", ["yes", "none"] * 50, "quasi"),
        ("telephone", [f"030 {i:06}" for i in range(100)], "identifier"),
        ("participant", [f"S{i:04}" for i in range(100)], "identifier"),
        ("vn17", [str(i * 7 % 90 / 10) for i in range(100)], "insensitive"),
        ("vn17", ["red", "green", "blue"] * 30, "quasi"),
        ("vn17", [str(1990 + i % 9) for i in range(100)], "quasi"),
        (
            "contact_person",
            [f"Anna{'abcdefghij'[i % 10]} Berg{'klmnopqrst'[i // 10]}" for i in range(100)],
            "identifier",
        ),
        (
            "remark",
            [f"Ada{'abcdefghij'[i % 10]} Berg{'klmnopqrst'[i // 10]}" for i in range(100)],
            "identifier",
        ),
        ("x", [f"Adi{'abcdefghij'[i % 10]} Berg{'klmnopqrst'[i // 10]}" for i in range(100)], "identifier"),
    ],
)
def test_cells_count_as_well_as_headers(header, cells, role):
    assert guess(header, column(cells), len(cells)).role.value == role
