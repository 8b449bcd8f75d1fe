"""Sums of money are numbers: with a currency at one end, and negative in brackets."""

from decimal import Decimal

import pytest

from draft.fake_survey import column
from sfumato.draft.roles import guess
from sfumato.policy.taxonomies.intervals import MONEY, NumberForm, form_of
from sfumato.table.microdata import Role

DOLLARS = [f"${1000 + 37 * i:,}.50" for i in range(300)]
EUROS_BEFORE = [f"€ {1 + i}.234,50" for i in range(300)]
EUROS_BEHIND = [f"{1 + i} 234,50 €" for i in range(300)]
FRANCS = [f"CHF {1 + i}'000" for i in range(300)]
ACCOUNTS = [f"({i}.00)" if i % 3 else f"{i}.00" for i in range(300)]


@pytest.mark.parametrize(
    ("texts", "form", "first"),
    [
        (DOLLARS, "¤1,234.5", "1000.50"),
        (EUROS_BEFORE, "¤1.234,5", "1234.50"),
        (EUROS_BEHIND, "¤1 234,5", "1234.50"),
        (FRANCS, "¤1'234.5", "1000"),
        (ACCOUNTS, "¤1234.5", "0.00"),
    ],
)
def test_the_form_of_sums_of_money_is_found(texts, form, first):
    found = form_of(texts)
    assert found == NumberForm(form) and found.read(texts[0]) == Decimal(first)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("($5.00)", "-5"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("$ 5", "5"),
        ("5 USD", "5"),
        ("5", "5"),
        ("-(5)", None),
        ("(-5)", None),
        ("$5 $", None),
        ("$", None),
        ("5 kg", None),
        ("()", None),
    ],
)
def test_one_sign_and_one_currency(text, size):
    assert NumberForm("¤1234.5").read(text) == (None if size is None else Decimal(size))


@pytest.mark.parametrize("texts", [["$5", "€5"], ["5 kg", "6 kg"], ["A12", "B3"], ["$1,234"], ["€", "$"]])
def test_several_currencies_other_units_and_codes_are_no_sums_of_money(texts):
    assert form_of(texts) is None


def test_plain_numbers_keep_their_form():
    assert not form_of(["1", "2.5"]).written.startswith(MONEY)


@pytest.mark.parametrize("texts", [DOLLARS, EUROS_BEFORE, EUROS_BEHIND, FRANCS, ACCOUNTS])
def test_unique_amounts_are_not_withheld_as_identifiers(texts):
    seen = column(texts)
    assert [guess(header, seen, 300).role for header in ("x9", "Betrag", "salary")] == [Role.SENSITIVE] * 3
    rent = guess("rent", seen, 300)
    assert rent.role is Role.QUASI and rent.taxonomy.written.startswith(MONEY)
