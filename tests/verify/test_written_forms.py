"""Numbers and dates in forms that a policy names: the judge reads them by itself, and as the search does."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.policy.taxonomies import rule_from
from sfumato.policy.taxonomies.dates import DATE_FORMS, ISO, DateForm, Dates, forms_of
from sfumato.policy.taxonomies.intervals import NUMBER_FORMS, PLAIN, Intervals, NumberForm, form_of
from sfumato.system.errors import BadPolicy
from sfumato.verify.policy_data import label_reader
from sfumato.verify.trees import is_moment, written_number
from verify.test_taxonomies import compare

pytestmark = pytest.mark.slow

MANY = settings(max_examples=5 * settings.default.max_examples)
NUMBER_TEXTS = st.one_of(
    st.text("0123456789.,' +-\u00a0\u202f\u2019", max_size=10),
    st.from_regex(r"[+-]?[0-9]{1,3}([., '][0-9]{3}){0,2}([.,][0-9]{0,2})?", fullmatch=True),
    st.sampled_from(
        ["", "+", "٣", "1e3", "1.000,", ",5", "x", "()", "($5)", "-($5)", "$5 $", "Fr.5", "5 €", "€ -5"]
    ),
    st.builds(
        "".join,
        st.tuples(
            st.sampled_from(["", "", "-", "("]),
            st.sampled_from(["", "$", "€ ", "CHF\u00a0", "Fr. ", "kr", "x"]),
            st.from_regex(r"[+-]?[0-9]{1,3}([., '][0-9]{3}){0,2}([.,][0-9]{0,2})?", fullmatch=True),
            st.sampled_from(["", " €", "EUR", "\u202f$", " zł", " kr.", "."]),
            st.sampled_from(["", "", ")", " "]),
        ),
    ),
)
DATE_TEXTS = st.one_of(
    st.text("0123456789./- :T", max_size=12),
    st.from_regex(r"[0-3]?[0-9][./-][01]?[0-9][./-](19|20)[0-9]{2}( 1[0-9]:30)?", fullmatch=True),
    st.from_regex(r"(19|20)[0-9]{2}[./-]?[01][0-9][./-]?[0-3][0-9](T09:00:00Z)?", fullmatch=True),
    st.from_regex(r"(19|20)[0-9]{2}-[01][0-9]|[01]?[0-9][./](19|20)[0-9]{2}", fullmatch=True),
    st.sampled_from(["", "31.02.2024", "٣1.02.2024", "1.1.24"]),
)


@MANY
@given(st.sampled_from([f for f in NUMBER_FORMS if f != PLAIN]), NUMBER_TEXTS)
def test_both_read_the_same_number(form, text):
    mine, other = NumberForm(form).read(text), written_number(text, form)
    assert (mine is None) == (other is None)
    assert mine is None or mine == other


@MANY
@given(st.sampled_from([f for f in DATE_FORMS if f != ISO]), DATE_TEXTS)
def test_both_read_the_same_day(form, text):
    assert (DateForm(form).day(text) is not None) == is_moment(text, form)


@given(st.sampled_from(list(NUMBER_FORMS)), st.lists(NUMBER_TEXTS | st.none(), max_size=6), st.booleans())
def test_the_same_trees_of_numbers(form, texts, decimal):
    words = {"intervals": [5, 10], "from": 0, "to": 2000, "written": form, "decimal": decimal}
    rule = NumberForm(form)
    inside = [t for t in texts if t is None or (rule.read(t) is not None and 0 <= rule.read(t) < 2000)]
    compare(words, inside)
    compare(words, texts)


@given(st.sampled_from(DATE_FORMS), st.lists(DATE_TEXTS | st.none(), max_size=6))
def test_the_same_trees_of_dates(form, texts):
    rule = DateForm(form)
    words = {"date": ["quarter", "year", "decade"], "written": form}
    compare(words, [t for t in texts if t is None or rule.day(t)])
    compare(words, texts)


def test_what_is_published_is_no_finer_than_the_policy_says():
    dates = label_reader({"date": ["month", "year"], "written": "dd.mm.yyyy"})
    assert dates.is_finer("28.02.2024", 1, False) and not dates.is_finer("28.02.2024", 0, False)
    assert not dates.is_finer("2024-02", 1, False) and dates.is_finer("2024-02", 2, False)
    numbers = label_reader({"intervals": [10], "decimal": True, "written": "1.234,5"})
    assert numbers.is_finer("1.234,5", 1, False) and not numbers.is_finer("1.234,5", 0, False)
    assert not numbers.is_finer("[1230, 1240)", 1, False)


def test_values_published_as_they_are_keep_their_place():
    tree = Intervals.read({"intervals": [500, 1000], "from": 0, "to": 3000, "written": "1.234,5"}).build(
        ["1.234", "2.000", "999"]
    )
    assert [tree.leaf_labels[tree.rank(text)] for text in ("1.234", "2.000", "999")] == [
        "1234",
        "2000",
        "999",
    ]
    tree = Dates(("year",), "dd.mm.yyyy").build(["03.02.2024", "31.12.2023"])
    assert tree.leaf_labels == ("31.12.2023", "03.02.2024")


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["1.5", "2"], PLAIN),
        (["1,5", "2"], "1234,5"),
        (["1.234,50", "7"], "1.234,5"),
        (["1,234.50", "7"], "1,234.5"),
        (["1 234,5"], "1 234,5"),
        (["1'234"], "1'234.5"),
        (["1.234.567"], "1.234,5"),
        (["1,234", "2,500"], None),
        (["1,2", "x"], None),
        ([], None),
    ],
)
def test_the_form_of_numbers_is_told_by_all_cells(texts, form):
    found = form_of(texts)
    assert (found and found.written) == form


def test_days_and_months_that_could_change_places_have_two_forms():
    assert [f.written for f in forms_of(["01/02/2024", "03/04/2024"])] == ["dd/mm/yyyy", "mm/dd/yyyy"]
    assert [f.written for f in forms_of(["01/02/2024", "13/04/2024"])] == ["dd/mm/yyyy"]
    assert [f.written for f in forms_of(["28.02.2024"])] == ["dd.mm.yyyy"]
    assert forms_of([]) == [] == forms_of(["31.02.2024"])
    assert DateForm("yyyy-mm").day("2024-02") == date(2024, 2, 1)


@pytest.mark.parametrize(
    "words",
    [
        {"date": ["month", "year"], "written": "yyyy-mm"},
        {"date": ["day"], "written": "mm/yyyy"},
        {"date": ["year"], "written": "yy"},
        {"intervals": [5], "from": 0, "to": 9, "written": "1_234"},
    ],
)
def test_what_cells_cannot_hold_is_refused(words):
    with pytest.raises(BadPolicy):
        rule_from(words)
