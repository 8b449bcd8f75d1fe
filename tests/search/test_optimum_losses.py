"""The exact search for every measure, held against all recodings; its bound where steps run out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.searches import BUILT_IN
from sfumato.search import optimum
from sfumato.search.contract import Aim
from sfumato.system.errors import BadPolicy, Infeasible
from sfumato.testing.searches import exhaustive
from strategies import tables

LOSSES = BUILT_IN["optimum"].losses


@given(tables(), st.sampled_from(LOSSES), st.integers(1, 4))
def test_the_optimum_of_every_measure_is_that_of_all_recodings(table, loss, k):
    promises, aim = Promises((KAnonymity(k),)), Aim(loss=loss)
    try:
        every = exhaustive(table, promises, aim)
    except Infeasible:
        with pytest.raises(Infeasible):
            optimum.search(table, promises, aim)
        return
    found = optimum.search(table, promises, aim)
    assert found.optimal
    assert found.loss == pytest.approx(every.loss, abs=1e-12)
    assert found.bound is None or found.bound == pytest.approx(found.loss)


@given(tables(), st.sampled_from(LOSSES), st.integers(0, 3))
def test_a_search_that_stops_early_says_how_good_the_best_can_be(table, loss, states):
    promises, aim = Promises((KAnonymity(2),)), Aim(loss=loss)
    try:
        every = exhaustive(table, promises, aim)
    except Infeasible:
        return
    stopped = optimum.optimum(table, promises, measure=loss, most=states)
    assert float(stopped.bound) <= every.loss + 1e-12
    assert float(stopped.loss) >= every.loss - 1e-12


def test_a_policy_may_name_any_measure_but_height_and_sees_the_bound(monkeypatch):
    people = sf.demo.hospital(400).select("sex", "zip", "job")
    columns = {
        "sex": {"role": "quasi"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 2]}},
        "job": {"role": "quasi"},
    }
    words = {
        "columns": columns,
        "promises": [{"k-anonymity": {"k": 4}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    for loss in LOSSES:
        plan = sf.protect(people, {**words, "protect": {"suppress": 0, "search": "optimum", "loss": loss}})
        assert plan.optimal and plan.as_dict()["measure"] == loss
    with pytest.raises(BadPolicy, match="height"):
        sf.protect(people, {**words, "protect": {"suppress": 0, "search": "optimum", "loss": "height"}})
    monkeypatch.setattr(optimum, "MOST_STATES", 1)
    plan = sf.protect(people, {**words, "protect": {"suppress": 0, "search": "optimum"}})
    assert not plan.optimal and plan.as_dict()["bound"] < plan.loss
    assert "no global recoding is below" in str(plan)
