"""Where controls and promises leave no table, the refusal names the cheapest control to loosen."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from oracles.controls import best_permitted_node, limited, with_ceilings
from search.checks import class_promises, crowded
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search.contract import Aim
from sfumato.search.controls import refusal_under_controls
from sfumato.system.errors import BadPolicy, Infeasible
from strategies import tables

PEOPLE = {
    "zip": ["011", "012", "021", "022", "022"],
    "sex": ["f", "f", "m", "m", "m"],
}
POLICY = {
    "columns": {
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}, "at-most": 0},
        "sex": {"role": "quasi", "at-most": 0},
    },
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}


@pytest.mark.parametrize("search", ["top-down", "lattice", "optimum", "mondrian", "local", "best"])
def test_every_search_says_what_to_loosen(search):
    with pytest.raises(Infeasible) as refused:
        sf.protect(_frame(), {**POLICY, "protect": {"suppress": 0, "search": search}})
    assert "3 rows would have to be suppressed, 0 may be" in refused.value.message
    assert "The cheapest change that would do: let zip be as coarse as level 1." in refused.value.remedy
    assert "allow 3 rows to be suppressed (3/5)" in refused.value.remedy
    assert "011" not in str(refused.value)


def test_levels_are_those_that_the_policy_counts():
    words = {
        **POLICY,
        "columns": {
            "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}, "start": 1, "at-most": 1},
            "sex": {"role": "quasi", "at-most": 0},
        },
        "promises": [{"k-anonymity": {"k": 3}}],
    }
    with pytest.raises(Infeasible, match="suppressed") as refused:
        sf.protect(_frame(), words)
    assert "allow 2 rows to be suppressed" in refused.value.remedy
    assert "level 0" not in refused.value.remedy


def test_rows_that_are_never_suppressed_are_told_of():
    words = {**POLICY, "protect": {"price": "none", "search": "lattice", "suppress": "60%"}}
    words["columns"] = {**POLICY["columns"], "sex": {"role": "quasi", "at-most": 0, "never-suppress": ["f"]}}
    with pytest.raises(Infeasible) as refused:
        sf.protect(_frame(), words)
    assert "and some of them never" in refused.value.message
    assert "let rows be suppressed that never-suppress of sex spares" in refused.value.remedy


def test_a_name_that_is_no_node_is_refused_without_being_shown():
    words = {**POLICY, "protect": {"price": "none", "search": "lattice", "suppress": "60%"}}
    words["columns"] = {**POLICY["columns"], "sex": {"role": "quasi", "never-suppress": ["f", "woman"]}}
    with pytest.raises(BadPolicy, match="1 of the 2 names") as refused:
        sf.protect(_frame(), words)
    assert "woman" not in str(refused.value)
    assert refused.value.values == ("woman",)


def test_without_controls_there_is_nothing_to_loosen():
    assert refusal_under_controls(crowded(1), Promises((KAnonymity(100),)), Aim()) is None


@given(table=limited(tables(rows=9, keys=2, leaves=4)), promises=class_promises(), moves=st.booleans())
def test_the_change_that_is_named_would_do_and_no_smaller_one(table, promises, moves):
    assume(promises.monotone and table.rows)
    aim = Aim(together=(("q0", "q1"),) if moves else ())
    refused = refusal_under_controls(table, promises, aim)
    feasible = best_permitted_node(table, promises, aim) is not None
    if refused is None or feasible:
        return
    ceilings = {c.name: c.taxonomy.ceiling for c in table.keys}
    found = False
    for column in table.keys:
        for level in range(ceilings[column.name] + 1, column.taxonomy.height + 1):
            looser = with_ceilings(table, ({**ceilings, column.name: level}).values())
            if best_permitted_node(looser, promises, aim) is not None:
                assert found or "The cheapest change that would do" in refused.remedy
                named = f"let {column.name} be as coarse as level {level}"
                assert named in refused.remedy or refused.remedy.count("let q") >= 1
                found = True
                break
    if moves:
        free = replace(aim, together=())
        found = found or best_permitted_node(table, promises, free) is not None
    assert found == ("No single change would do" not in refused.remedy)


@pytest.mark.parametrize(("dear", "cheap"), [("zip", "sex"), ("sex", "zip")])
def test_the_cheaper_column_is_the_one_to_be_loosened(dear, cheap):
    columns = {"zip": {"role": "quasi", "at-most": 0}, "sex": {"role": "quasi", "at-most": 0}}
    columns[dear] = {**columns[dear], "weight": 5}
    with pytest.raises(Infeasible) as refused:
        sf.protect(_frame(zip=["1", "1", "2", "2"], sex=["f", "m", "f", "m"]), {**POLICY, "columns": columns})
    first, second = f"let {cheap} be as coarse as level 1.", f"Or let {dear} be as coarse as level 1."
    assert f"The cheapest change that would do: {first} {second}" in refused.value.remedy


def _frame(**columns):
    return pd.DataFrame(columns or PEOPLE)
