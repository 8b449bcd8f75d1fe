"""What cells tell of their column where its header says nothing: secrets, amounts, numbers of people."""

from __future__ import annotations

from sfumato.core.microdata import Role
from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.lexicon.header_lexicon import lexicon
from sfumato.policy.taxonomies.number_form import MONEY, bears_money

MOST_WORDS = 60
"""Different cells that are read word by word at most."""
FEWEST_NUMBERS = 50
"""Different numbers of people, and different amounts, at least: fewer prove nothing."""
LEAST_OF_FIVE_DIGITS = 10_000
NINE_DIGITS = 100_000_000
"""Numbers of people that are insured, sick or believing; sums of money are seldom as long."""
MOST_ROWS_EACH = 20
"""Numbers of people have fewer rows each on average."""
LARGE_AMOUNT = 1000
ROUND = 100
MOST_RELATIVES = 100
"""So many different numbers count nobody's relatives."""
_NOTHING_SAID = """
    other others none no unknown missing na n/a not_applicable refused yes andere keine unbekannt autre aucun
    inconnu otro ninguno desconocido altro nessuno sconosciuto control controls healthy normal
"""
NOTHING_SAID = frozenset(_NOTHING_SAID.split())
"""Cells beside which the others speak."""
_TEST_RESULTS = """
    positive negative pos neg + - reactive nonreactive non-reactive inconclusive indeterminate invalid
    positiv negativ positif négatif positivo negativo détecté detected not_detected
"""
TEST_RESULTS = frozenset(_TEST_RESULTS.split())
_BLOOD_GROUPS = "a b ab o 0 a+ b+ ab+ o+ 0+ a- b- ab- o- 0-"
BLOOD_GROUPS = frozenset(_BLOOD_GROUPS.split())
SECRETS = frozenset({"health", "crime", "belief", "sexuality", "genetics", "legal_status"})


def secret_in_cells(profile: ColumnProfile) -> str:
    """Returns why cells are nobody's business, whatever the header says; nothing where they are not."""
    if are_blood_groups(profile):
        return "its cells are blood groups: health"
    if says := secret_words(profile):
        return f"by its cells, {says}"
    return "large and round numbers, as of money" if are_round_amounts(profile) else ""


def secret_words(profile: ColumnProfile) -> str:
    """Returns what the cells of a column of words are about, if that is nobody's business; else nothing.

    At least half of the different cells have to say so, beside those that say nothing.
    """
    telling = [v for v in profile.values if v.strip().lower().replace(" ", "_") not in NOTHING_SAID]
    if profile.numbers is not None or not 1 <= len(telling) <= MOST_WORDS or profile.distinct < 2:
        return ""
    read = [lexicon().read(value, shortened=False) for value in telling]
    secret = [one for one in read if one.role is Role.SENSITIVE and one.kinds & SECRETS]
    return secret[0].says if secret and 2 * len(secret) >= len(telling) else ""


def are_sums_of_money(profile: ColumnProfile) -> bool:
    """Whether the cells are numbers, some with a currency, or negative ones in brackets as in accounts.

    Numbers with nothing but blanks around them can be read in a form of money, and are none.
    """
    form = profile.number_form
    return form is not None and form.written.startswith(MONEY) and any(map(bears_money, profile.values))


def are_test_results(profile: ColumnProfile) -> bool:
    """Whether the cells are what a test found: positive or negative."""
    said = {value.strip().lower().replace(" ", "_") for value in profile.values} - NOTHING_SAID
    return len(said) > 1 and said <= TEST_RESULTS


def are_blood_groups(profile: ColumnProfile) -> bool:
    """Whether the cells are blood groups: all four kinds, with or without a sign."""
    said = {value.strip().lower() for value in profile.values} - NOTHING_SAID
    return said <= BLOOD_GROUPS and {one.rstrip("+-").replace("0", "o") for one in said} == {
        "a",
        "b",
        "ab",
        "o",
    }


def are_round_amounts(profile: ColumnProfile) -> bool:
    """Whether numbers are as large and as often round as sums of money are."""
    numbers = profile.numbers
    if not numbers or profile.distinct < FEWEST_NUMBERS or profile.dates or min(numbers) < 0:
        return False
    sized = [(size, count) for size, count in zip(numbers, profile.counts, strict=True) if size]
    cells = sum(count for _, count in sized)
    large = sum(count for size, count in sized if size >= LARGE_AMOUNT)
    rounded = sum(count for size, count in sized if size % ROUND == 0)
    return 2 * large > cells and 2 * rounded > cells


def are_numbers_of_people(profile: ColumnProfile) -> bool:
    """Whether whole numbers of five digits or more, all as long, stand for a few rows each.

    Sums of money have different lengths, and their last digits are often alike.
    """
    numbers = profile.numbers
    if not numbers or not profile.whole or profile.distinct < FEWEST_NUMBERS or profile.dates:
        return False
    if min(numbers) < LEAST_OF_FIVE_DIGITS or len({len(str(int(size))) for size in numbers}) > 1:
        return False
    last = [int(size) % 10 for size in numbers]
    even = max(last.count(digit) for digit in range(10)) * 4 <= len(last)
    return (
        even
        and profile.distinct * MOST_ROWS_EACH >= profile.present
        and max(profile.counts) <= 5 * (profile.present // profile.distinct + 1)
    )


def number_relatives(profile: ColumnProfile) -> bool:
    """Whether a hundred whole numbers or more, in a few rows each, stand below somebody's relative (`mom`).

    They say who it is: nobody has so many children, and ages and heights repeat.
    """
    named = profile.called("relative") and profile.reading.kinds <= {"relative", "household", "person"}
    if not named or not profile.whole or profile.distinct < MOST_RELATIVES or profile.dates:
        return False
    return profile.distinct * MOST_ROWS_EACH >= profile.present


def are_long_numbers(profile: ColumnProfile) -> bool:
    """Whether nearly every cell is another whole number of nine digits or more, all as long."""
    return profile.unique and are_numbers_of_people(profile) and min(profile.numbers or (0,)) >= NINE_DIGITS


def are_codes(profile: ColumnProfile) -> bool:
    """Whether every cell is one word with a digit in it, such as `P07`."""
    return all(any(c.isdigit() for c in text) and not any(map(str.isspace, text)) for text in profile.values)


def end_as_numbers_of_people(profile: ColumnProfile) -> bool:
    """Whether a header that ends in `id` stands above as many different numbers or codes as that takes."""
    if not profile.called("perhaps_id") or profile.flags or profile.distinct < 2:
        return False
    coded = profile.whole or all(any(c.isdigit() for c in value) for value in profile.values)
    return coded and profile.distinct * MOST_ROWS_EACH >= profile.present
