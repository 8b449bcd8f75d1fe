"""A search that publishes ranges refuses columns that have none to publish."""

import polars as pl
import pytest

import sfumato as sf
from draft.fake_survey import survey
from sfumato.draft.doctor import Severity, examine
from sfumato.system.errors import BadTaxonomy

PEOPLE = pl.DataFrame({"a": [str(1000 + i * 37 % 101) for i in range(12)], "s": list("xyz") * 4})
DATED = pl.DataFrame({"a": [f"19{50 + i}-0{1 + i % 9}-11" for i in range(12)], "s": list("xyz") * 4})


def policy(taxonomy=None, search="mondrian"):
    column = {"role": "quasi"} if taxonomy is None else {"role": "quasi", "taxonomy": taxonomy}
    return {
        "columns": {"a": column, "s": {"role": "sensitive"}},
        "promises": [{"k-anonymity": {"k": 3}}],
        "protect": {"suppress": 0, "search": search},
        "confirm": {"s": True},
    }


@pytest.mark.parametrize(("table", "kind"), [(PEOPLE, "numbers"), (DATED, "dates")])
def test_numbers_and_dates_without_a_taxonomy_are_refused(table, kind):
    with pytest.raises(BadTaxonomy, match=f"{kind} without a taxonomy: mondrian") as refused:
        sf.protect(table, policy())
    assert refused.value.where == "column a" and "intervals" in refused.value.remedy
    assert not any(text in str(refused.value) for text in table["a"])


def test_an_order_that_nobody_listed_is_refused():
    with pytest.raises(BadTaxonomy, match="no list of them says where ranges may end"):
        sf.protect(PEOPLE, policy({"flat": True, "ordered": True}))


@pytest.mark.parametrize(
    "taxonomy",
    [
        {"intervals": [5, 20], "from": 1000, "to": 1120},
        {"flat": True},
        {"flat": list(range(1000, 1101)), "ordered": True},
    ],
)
def test_what_the_policy_says_is_done(taxonomy):
    assert sf.protect(PEOPLE, policy(taxonomy)).smallest >= 3


def test_other_searches_and_codes_are_not_concerned():
    assert sf.protect(PEOPLE, policy(search="top-down")).cuts == {"a": ("*",)}
    codes = pl.DataFrame({"a": ["0", "1"] * 6, "s": list("xyz") * 4})
    assert sf.protect(codes, policy()).classes == 2


def test_the_doctor_says_so_beforehand():
    evidence = survey(a=PEOPLE["a"].to_list(), s=PEOPLE["s"].to_list())
    found = [d for d in examine(sf.Policy.from_dict(policy()), evidence) if d.name == "no-range-ends"]
    assert [d.gravity for d in found] == [Severity.ERROR]
