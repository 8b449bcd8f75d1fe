"""A category in several columns of 0 and 1: what is never 1 beside a known value is one of the same."""

from draft.fake_survey import survey
from sfumato.draft.draft import MOST_UNDECIDED, draft

REGIONS = ["south", "west", "qrc"]


def table():
    """One region each; `qfree` knows nothing of them."""
    cells = {name: [str(int(i % 3 == at)) for i in range(300)] for at, name in enumerate(REGIONS)}
    return {**cells, "qfree": [str(i // 7 % 2) for i in range(300)]}


def drafted(cells):
    return draft(survey(**cells), first_texts=lambda names: {name: cells[name] for name in names})


def test_an_unknown_column_is_a_value_of_the_same_category():
    columns = drafted(table()).columns
    assert "never 1 where south is" in columns["qrc"].reason
    assert "nothing says who knows it" in columns["qfree"].reason


def test_of_many_unknown_flags_none_is_a_key():
    more = {
        f"q{'abcdefghij'[i]}z": [str(j // (i + 2) % 2) for j in range(300)] for i in range(MOST_UNDECIDED + 1)
    }
    policy = drafted({**table(), **more})
    assert policy.columns["qrc"].role.value == "quasi"
    assert {policy.columns[name].role.value for name in more} == {"insensitive"}
    assert set(more) <= set(policy.confirm)


def schools(count):
    """One of eight towns each, of which the header of the last says nothing; too few rows for any two."""
    towns = ["boston", "london", "paris", "berlin", "madrid", "vienna", "dublin", "qrc"]
    return {name: [str(int(i % 8 == at)) for i in range(count)] for at, name in enumerate(towns)}


def test_values_of_a_large_category_are_known_by_all_the_others_together():
    """Chance would give 50 of 400 rows two of them 6 times, and would give one of seven others 44 times."""
    assert "never 1 where one of" in drafted(schools(400)).columns["qrc"].reason
    assert "nothing says who knows it" in drafted(schools(80)).columns["qrc"].reason


def test_columns_that_are_1_together_are_no_category():
    cells = schools(400)
    alike = dict.fromkeys(("boston", "london", "paris", "berlin"), cells["boston"])
    columns = drafted({**alike, "qrc": cells["qrc"]}).columns
    assert "nothing says who knows it" in columns["qrc"].reason
