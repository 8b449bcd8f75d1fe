"""Cells speak where a header is silent: secrets, amounts of money, numbers of people, unknown flags."""

import random

import pytest

from draft.fake_survey import column, survey
from sfumato.draft.draft import MOST_UNDECIDED, draft
from sfumato.draft.evidence import NO_FINDING, ColumnProfile
from sfumato.draft.roles import guess, is_undecided, without_undecided

ROWS = 400
DICE = random.Random(6)
NUMBERS = [str(125_000 + 61 * (i // 4) + 7 * (i // 40)) for i in range(ROWS)]
LONG_NUMBERS = [str(DICE.randint(10**9, 10**10 - 1)) for _ in range(ROWS)]
SMALL = [str(DICE.randint(0, 40)) for _ in range(ROWS)]


@pytest.mark.parametrize(
    ("header", "cells", "role"),
    [
        ("qq", ["smoker", "nonsmoker"] * 200, "sensitive"),
        ("qq", ["Cancer", "none", "Diabetes", "Asthma"] * 100, "sensitive"),
        ("qq", ["red", "green"] * 200, "quasi"),
        ("result", ["positive", "negative", "negative", "invalid"] * 100, "sensitive"),
        ("qq", SMALL, "insensitive"),
        ("qq", [f"{cell:>3}" for cell in SMALL], "insensitive"),
        ("qq", [f"{cell} €" for cell in SMALL], "sensitive"),
        ("qq", [f"({cell})" if cell == "7" else cell for cell in SMALL], "sensitive"),
        ("zq", NUMBERS, "identifier"),
        ("size", [str(1 + i % 7) for i in range(ROWS)], "quasi"),
        ("size", [str(i % 90) for i in range(ROWS)], "insensitive"),
        ("weight", [f"{2 + i % 30 / 10:.1f}" for i in range(ROWS)], "quasi"),
        ("weight", [f"{800 * (1 + i % 300)}" for i in range(ROWS)], "insensitive"),
        ("subject", [str(1 + i % 10) for i in range(ROWS)], "identifier"),
        ("number", ["never", "1-4 per day", "5-9 per day", "many"] * 100, "quasi"),
        ("Employee", [f"{name} Weber" for name in ("Anna", "Paul", "Clara", "Karl")] * 100, "identifier"),
        ("Client", [f"Weber, {name}" for name in ("Anna", "Paul", "Clara", "Karl")] * 100, "identifier"),
        ("Name", ["Anna", "Paul", "Clara", "Karl"] * 100, "identifier"),
        ("Client", [f"CL{i % 10}" for i in range(ROWS)], "identifier"),
        ("Employee", ["Full time", "Part time", "Retired", "none"] * 100, "quasi"),
        ("Insurance", LONG_NUMBERS, "identifier"),
        ("test result", LONG_NUMBERS, "identifier"),
        ("salary", [str(20_000 + 37 * i) for i in range(ROWS)], "sensitive"),
        ("house value", [f"{100_000 + 37 * i}000" for i in range(ROWS)], "sensitive"),
        ("sector x", ["0011", "0012", "0017", "0019"] * 100, "quasi"),
    ],
)
def test_cells_tell_a_role(header, cells, role):
    kind = "text" if any(c.isalpha() for cell in cells for c in cell) else "number"
    assert guess(header, column(cells, kind), ROWS).role.value == role


def test_an_unknown_flag_is_known_until_it_costs_too_much():
    rule = guess("qq", column(["0", "1"] * 200, "integer"), ROWS)
    assert is_undecided(rule) and rule.role.value == "quasi"
    said = guess("treat", column(["0", "1"] * 200, "integer"), ROWS)
    assert not is_undecided(said) and said.role.value == "insensitive"
    given_up = without_undecided({"qq": rule, "treat": said})
    assert list(given_up) == ["qq"] and given_up["qq"].role.value == "insensitive"


@pytest.mark.parametrize(
    ("answers", "flags"),
    [
        (["0_no", "1_yes"], True),
        (["(1) Yes", "(2) No"], True),
        (["1 = ja", "2 = nein", "9 = keine Angabe"], True),
        (["Checked", "Unchecked"], True),
        (["yes", "no", "don't know", "refused"], True),
        (["unknown", "missing"], False),
        (["0_placebo", "1_drug"], False),
        (["yes", "no", "perhaps"], False),
        (["1_1", "2_1"], False),
    ],
)
def test_answers_with_their_numbers_and_without_an_answer_are_yes_or_no(answers, flags):
    cells = column([answers[i % len(answers)] for i in range(60)])
    assert ColumnProfile.of("brush", cells, 60, NO_FINDING).flags is flags


@pytest.mark.parametrize(
    ("header", "cells", "role"),
    [
        ("mom", [str(2 * (i // 2) + 7) for i in range(ROWS)], "identifier"),
        ("kid", [str(3 * i + 1) for i in range(ROWS)], "identifier"),
        ("kids", [str(i % 9) for i in range(ROWS)], "quasi"),
        ("mother", [str(145 + i % 45) for i in range(ROWS)], "quasi"),
        ("mom_educ", [str(2 * (i // 2)) for i in range(ROWS)], "quasi"),
    ],
)
def test_many_numbers_of_relatives_say_who_they_are(header, cells, role):
    assert guess(header, column(cells, "integer"), ROWS).role.value == role


def test_of_many_unknown_flags_none_is_a_key():
    few = {f"q{letter}z": [str(i // 7 % 2) for i in range(ROWS)] for letter in "abcdefg"[:MOST_UNDECIDED]}
    assert {rule.role.value for rule in draft(survey(**few)).columns.values()} == {"quasi"}
    policy = draft(survey(**few, qyz=few["qaz"], town=["Bern", "Basel"] * (ROWS // 2)))
    many = [*few, "qyz"]
    assert {policy.columns[name].role.value for name in many} == {"insensitive"}
    assert set(many) <= set(policy.confirm)
