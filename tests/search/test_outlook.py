"""What a plan says of lost columns, and that what it offers is so: the offer is followed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.content import ColumnRule, ProtectRule
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies import rule_from
from sfumato.search.loss import lost_columns
from sfumato.search.plan import Outlook
from sfumato.table.microdata import Role


def people(odd=2):
    """Sixty people with one of two statuses, and a few with a status of their own."""
    return pl.DataFrame(
        {
            "zip": [f"0{1 + i % 2}{i % 3}" for i in range(60)] + ["011"] * odd,
            "status": [("single", "married")[i % 2] for i in range(60)] + [f"other {i}" for i in range(odd)],
        }
    )


def policy(**protect):
    return {
        "columns": {
            "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
            "status": {"role": "quasi"},
        },
        "promises": [{"k-anonymity": {"k": 5}}],
        "protect": {"suppress": 0, "price": "none", **protect},
    }


@pytest.mark.parametrize("search", ["top-down", "lattice"])
def test_a_few_rows_restore_a_column(search):
    plan = sf.protect(people(), policy(search=search))
    outlook = plan.outlook
    assert lost_columns(plan.recoding) == outlook.lost == ("status",)
    offer = outlook.offer
    assert offer is not None and offer.restored == ("status",) and offer.rows == 2
    assert str(plan).splitlines()[-1] == (
        "1 of 2 columns is lost: status; 2 more rows would restore status (suppress: 1/31)"
    )
    followed = sf.protect(people(), policy(search=search, suppress=offer.value))
    assert followed.suppressed == plan.suppressed + offer.rows and not followed.outlook.lost
    assert plan.as_dict()["outlook"]["offer"]["rows"] == 2


@pytest.mark.parametrize("control", [{"at-most": 0}, {"fixed": 0}])
def test_a_control_that_forbids_a_coarser_start_is_no_error(control):
    """A published plan was followed by an error about a policy that nobody wrote."""
    rows = (
        [("UK", "Lawyer")] * 3 + [("UK", "Doctor")] * 2 + [("France", "Lawyer")] * 3 + [("France", "Doctor")]
    )
    table = pl.DataFrame(rows, schema=["place", "job"], orient="row")
    place = {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}, **control}
    job = {"role": "quasi", "taxonomy": {"tree": {"Professional": ["Lawyer", "Doctor"]}}}
    columns = {"place": place, "job": job}
    plan = sf.protect(
        table,
        {
            "columns": columns,
            "promises": [{"k-anonymity": {"k": 4}}],
            "protect": {"search": "top-down", "suppress": 0},
        },
    )
    assert plan.outlook.lost == ("job",)
    assert str(plan).splitlines()[-1].startswith("1 of 2 columns is lost: job")


def test_nothing_is_offered_where_nothing_is_lost():
    plan = sf.protect(people(0), policy(search="lattice"))
    assert plan.outlook.offer is None and plan.outlook.lost == ()
    assert str(plan).splitlines()[-1] == "none of 2 columns is lost"


def test_where_every_column_has_one_value_none_could_be_lost():
    assert Outlook((), 0, 0.0).line == "no column could be lost"
    assert Outlook((), 1, 0.0).line == "none of 1 column is lost"


def test_rows_are_not_offered_where_none_may_be_suppressed():
    plan = sf.protect(people(), policy(search="mondrian"))
    assert plan.outlook.offer is None or plan.outlook.offer.rows == 0
    beside = {**policy(search="top-down"), "recipients": {}}
    assert sf.protect(people(), beside).outlook.offer is None


def test_a_price_that_forbids_it_is_heeded():
    plan = sf.protect(people(), policy(search="lattice", price=1000))
    offer = plan.outlook.offer
    assert offer is None or offer.rows == 0


def test_a_coarser_column_is_offered_where_rows_do_not_help():
    rows = [(f"{a}{b}{c}", s) for a in "01" for b in "01" for c in "01" for s in "xy" for _ in range(2)]
    table = pl.DataFrame({"zip": [zip_ for zip_, _ in rows], "sex": [sex for _, sex in rows]})
    rules = {
        "columns": {"zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}}, "sex": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 4}}],
        "protect": {"suppress": 0, "search": "lattice", "weights": {"zip": 10}},
    }
    plan = sf.protect(table, rules)
    offer = plan.outlook.offer
    assert plan.outlook.lost == ("sex",) and offer is not None
    assert offer.column == "zip" and offer.key == "columns.zip.start" and offer.restored == ("sex",)
    assert "a coarser zip would restore sex (columns.zip.start: 1)" in str(plan)
    followed = {**rules, "columns": {**rules["columns"], "zip": {**rules["columns"]["zip"], "start": 1}}}
    assert "sex" not in lost_columns(sf.protect(table, followed).recoding)


def test_much_less_loss_is_offered_without_a_lost_column():
    table = pl.DataFrame({"age": [str(20 + i % 3) for i in range(60)] + ["70"]})
    rules = {
        "columns": {"age": {"role": "quasi", "taxonomy": {"intervals": [40, 80], "from": 0, "to": 80}}},
        "promises": [{"k-anonymity": {"k": 5}}],
        "protect": {"price": "none", "search": "lattice", "suppress": 0},
    }
    plan = sf.protect(table, rules)
    offer = plan.outlook.offer
    assert offer is not None and offer.rows == 1
    assert (
        sf.protect(
            table, {**rules, "protect": {"price": "none", "search": "lattice", "suppress": offer.value}}
        ).loss
        == offer.loss
    )


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), min_size=8, max_size=40),
    st.sampled_from(["top-down", "lattice", "mondrian", "local", "best"]),
    st.sampled_from([None, Fraction(1), Fraction(3)]),
)
def test_what_is_offered_is_so_when_it_is_done(rows, search, price):
    table = pl.DataFrame({"q": [a for a, _ in rows], "r": [b for _, b in rows]})
    tree = rule_from({"tree": {"ab": ["a", "b"], "cd": ["c", "d"]}})
    asked = Policy(
        {"q": ColumnRule(Role.QUASI, tree), "r": ColumnRule(Role.QUASI)},
        Promises((KAnonymity(3),)),
        ProtectRule(search, Fraction(0), price=price),
    )
    plan = sf.protect(table, asked)
    offer = plan.outlook.offer
    if offer is None:
        return
    if offer.column is None:
        changed = replace(asked, protect=replace(asked.protect, suppress=Fraction(offer.value)))
    else:
        rule = asked.columns[offer.column]
        changed = replace(
            asked, columns={**asked.columns, offer.column: replace(rule, start=int(offer.value))}
        )
    after = sf.protect(table, changed)
    assert not set(offer.restored) & set(lost_columns(after.recoding))
    assert after.loss == offer.loss and after.suppressed - plan.suppressed <= max(0, offer.rows)


def test_ranges_that_only_the_root_covers_are_groups_of_their_own():
    ages = pl.DataFrame({"age": [str(20 + i) for i in range(12)]})
    words = {"columns": {"age": {"role": "quasi", "taxonomy": {"intervals": [1], "from": 0, "to": 100}}}}
    plan = sf.protect(
        ages, Policy.from_dict({**words, "promises": [{"k-anonymity": {"k": 5}}]}).with_(search="mondrian")
    )
    assert plan.outlook.lost == () and "age  12 values →  2 groups" in str(plan)


def test_a_sentence_names_some_of_very_many_columns():
    lost = tuple(f"q{i}" for i in range(500))
    line = Outlook(lost, 501, 0.99).line
    assert line.startswith("500 of 501 columns are lost: q0, q1, ") and line.endswith(", q18 and 481 more")
    assert Outlook(lost[:20], 21, 0.9).line.endswith("q18 and q19")
