"""Check digits: published examples pass, every single wrong digit is caught."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.people import VALID
from sfumato.discovery import identifiers as check_digits

SAMPLES = [(rule, text) for rule, texts in VALID.items() for text in texts]
EXACT = [(rule, text) for rule, text in SAMPLES if rule != "us_social_security"]


@pytest.mark.parametrize(("rule", "text"), SAMPLES)
def test_published_examples_pass(rule, text):
    assert getattr(check_digits, rule)(text)


@pytest.mark.parametrize(("rule", "text"), EXACT)
def test_every_single_wrong_digit_is_caught(rule, text):
    check = getattr(check_digits, rule)
    wrong = [
        text[:i] + other + text[i + 1 :]
        for i, digit in enumerate(text)
        if digit.isdigit() and not (rule == "swedish_personnummer" and i < len(text) - 10)
        for other in "0123456789"
        if other != digit
    ]
    assert wrong and not any(map(check, wrong))


@pytest.mark.parametrize(
    "text", ["000121234", "666121234", "900121234", "123001234", "123450000", "12345678"]
)
def test_social_security_numbers_that_were_never_given_out(text):
    assert not check_digits.us_social_security(text)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("uk_nhs", "0000000000"),
        ("dutch_bsn", "000000000"),
        ("polish_pesel", "44133101353"),
        ("german_tax_id", "11111111111"),
        ("german_tax_id", "12345678903"),
        ("payment_card", "0000000000000000"),
        ("iban", "GB82"),
        ("iban", "XX53584434518131971"),
        ("italian_codice_fiscale", "HOLEWE93S36I054M"),
    ],
)
def test_what_adds_up_but_cannot_be(rule, text):
    assert not getattr(check_digits, rule)(text)


@pytest.mark.parametrize("text", ["198909731583", "3805766668"])
def test_visitors_to_sweden_have_numbers(text):
    """Sixty is added to the day of their birth."""
    assert check_digits.swedish_personnummer(text)
    assert not check_digits.swedish_personnummer(text[:-1] + str((int(text[-1]) + 1) % 10))


@given(st.text(max_size=20) | st.text("0123456789X", max_size=18))
def test_any_text_is_answered(text):
    for rule in VALID:
        assert getattr(check_digits, rule)(text) in (True, False)


@given(st.text("0123456789", min_size=12, max_size=12))
def test_luhn_leaves_one_digit(body):
    assert sum(check_digits.luhn(body + d) for d in "0123456789") == 1
