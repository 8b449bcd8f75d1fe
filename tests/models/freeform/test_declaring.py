"""Declarations: what they mean, and what is refused in clear words."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from papers.test_wang_2009 import DISEASES, POLICY, T1
from sfumato.models.freeform.inference import (
    Belief,
    FreeColumn,
    aggregate,
    particular,
    taxonomy_and_nodes,
    unless_sensitive,
)
from sfumato.models.freeform.promise import Freeform
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, BadPolicy, UsageError
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.attacks import check_observability_model, check_sensitivity_model

TREE = Taxonomy.grow(["*", "VI", "Flu", "AIDS", "BI", "E.Coli", "TB"], [-1, 0, 1, 1, 0, 4, 4])
HALF = Fraction(1, 2)


def policy(*, more=None, promise=None, **disease):
    column = {"role": "free", "taxonomy": {"tree": DISEASES}, "sensitive": ["AIDS", "TB"], **disease}
    words = {**POLICY, "columns": {**POLICY["columns"], "Disease": column}, **(more or {})}
    return {**words, "promises": [promise or {"freeform": {"threat": HALF}}]}


def refusal(words, data=T1):
    with pytest.raises(BadPolicy) as caught:
        sf.protect(data, words)
    return caught.value


def refused(words, data=T1):
    return str(refusal(words, data))


def test_a_guarding_node_that_is_not_in_the_tree():
    """Its label is a value: it goes beside the sentence, not into it."""
    error = refusal(policy(sensitive=["AIDS", "Ebola"]))
    assert "columns.Disease.sensitive" in str(error) and "not in the column's taxonomy" in str(error)
    assert error.values == ("Ebola",) and "Ebola" not in str(error)


@pytest.mark.parametrize("leaf", [2, "3/2", {"Flu": 2}])
def test_a_belief_outside_0_to_1(leaf):
    said = refused(policy(observable={"leaf": leaf}))
    assert "from 0 to 1" in said and "columns.Disease.observable" in said


def test_a_boost_outside_0_to_1():
    assert "boost must be from 0 to 1" in refused(policy(observable={"leaf": 0, "boost": 2}))


def test_a_belief_about_a_value_that_is_not_in_the_tree():
    error = refusal(policy(observable={"leaf": {"Ebola": 0}}))
    assert "no value of the column's taxonomy" in str(error) and "columns.Disease.observable" in str(error)
    assert error.values == ("Ebola",) and "Ebola" not in str(error)


def test_a_threat_of_1():
    said = refused(policy(promise={"freeform": {"threat": 1}}))
    assert "threat must be below 1" in said and "promises[0].freeform.threat" in said


@pytest.mark.parametrize(("words", "part"), [({"threat": 2}, "from 0 to 1"), ({}, "threat is missing")])
def test_other_thresholds(words, part):
    assert part in refused(policy(promise={"freeform": words}))


@pytest.mark.parametrize("seen", [0, "5/4"])
def test_observability_is_above_0_and_at_most_1(seen):
    said = refused(policy(promise={"freeform": {"threat": HALF, "observability": seen}}))
    assert "promises[0].freeform.observability" in said and "must be" in said


def average(taxonomy, sensitive):
    """The paper's example of what is wrong: a parent as observable as its children on average."""
    values = list(unless_sensitive(taxonomy, sensitive))
    for node in reversed(range(len(taxonomy.labels))):
        if children := taxonomy.children(node):
            values[node] = sum((values[c] for c in children), Fraction(0)) / len(children)
    return values


def test_an_observability_that_falls_upwards_names_the_node():
    said = refused(policy(observable=average))
    assert "VI is less observable than leaf 1 below VI" in said
    assert "columns.Disease.observable" in said and "Observability principle" in said
    with pytest.raises(AssertionError, match="less observable"):
        check_observability_model(average)


def test_a_sensitivity_that_is_no_probability_names_the_node():
    said = refused(policy(aggregate=lambda tree, _: [Fraction(n) for n in tree.leaf_count]))
    assert "the sensitivity of *" in said and "Sensitivity principle" in said


def test_models_of_ones_own():
    def shy(taxonomy, sensitive):  # noqa: ARG001
        return [Fraction(1, 1 + int(d)) for d in taxonomy.depth]

    check_observability_model(shy)
    plan = sf.protect(T1, policy(observable=shy))
    assert plan.verdicts[0].holds
    with pytest.raises(AssertionError, match="must be 0"):
        check_sensitivity_model(lambda tree, _: [HALF] * len(tree.labels))


@pytest.mark.parametrize("model", [aggregate, particular])
def test_built_in_sensitivities_keep_the_principle(model):
    check_sensitivity_model(model)


@pytest.mark.parametrize(
    "model", [unless_sensitive, Belief(), Belief(HALF, HALF), Belief({"*": HALF}, Fraction(1, 3))]
)
def test_built_in_observabilities_keep_the_principle(model):
    check_observability_model(model)


def test_all_leaves_sensitive_has_a_meaning():
    """The whole column is hidden: it may be inferred, is never observed, and the all-root table is safe."""
    plan = sf.protect(T1, policy(sensitive=["*"]))
    assert plan.verdicts[0].holds
    guard = FreeColumn(("*",)).guard(TREE, Fraction(1), column="d")
    assert guard.seen.tolist() == [True] + [False] * 6 and set(guard.sensitivity) == {1}


def test_beliefs_speak_for_what_is_below():
    belief = Belief({"VI": Fraction(1, 4), "AIDS": Fraction(0)}, Fraction(1, 4))
    o = dict(zip(TREE.labels, belief(TREE, np.zeros(4, bool)), strict=True))
    assert o["Flu"] == Fraction(1, 4) and o["AIDS"] == 0 and o["VI"] == HALF
    assert o["E.Coli"] == o["TB"] == o["BI"] == o["*"] == 1


def test_round_trip():
    for extra in ({}, {"aggregate": False}, {"observable": {"leaf": {"Flu": "1/3"}, "boost": "1/2"}}):
        made = Policy.from_dict(policy(**extra))
        again = Policy.from_dict(made.to_dict())
        assert again.to_dict() == made.to_dict() and again.digest == made.digest
        assert again.promises.members == made.promises.members


def test_only_free_columns_have_these_keys():
    columns = {"a": {"role": "quasi", "sensitive": ["x"]}, "b": {"role": "free"}}
    with pytest.raises(BadPolicy, match=r"columns\.a\.sensitive: a column that is quasi has no such key"):
        Policy.from_dict(
            {
                "columns": columns,
                "promises": [{"freeform": {"threat": HALF}}],
                "protect": {"search": "top-down", "suppress": 0},
            }
        )


def test_what_freeform_does_not_go_with():
    said = refused(policy(more={"protect": {"search": "top-down", "price": "none", "suppress": "5%"}}))
    assert "rows suppressed" in said
    columns = {"id": {"role": "identifier"}, **POLICY["columns"]}
    assert "drop `person`" in refused(policy(more={"columns": columns, "person": "id"}))
    for search in ("lattice", "mondrian"):
        assert f"{search} cannot keep it" in refused(
            policy(more={"protect": {"suppress": 0, "search": search}})
        )
    assert "grows from the data" in refused(policy(taxonomy={"prefix": [1]}, sensitive=["T*"]))


def test_an_attack_needs_the_promise():
    words = {
        "columns": {"Sex": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    with pytest.raises(UsageError, match="no freeform promise"):
        sf.attack.freeform(T1[["Sex"]], words)


def test_nothing_of_a_finding_shows_a_cell():
    canary = T1.replace({"AIDS": "canary-1", "190K": "canary-2", "M": "canary-3"})
    trees = {
        "Income": {"High": ["canary-2", "160K"], "Low": ["50K", "40K"]},
        "Disease": {"VI": ["Flu", "canary-1"], "BI": ["E.Coli", "TB"]},
    }
    columns = {name: dict(column) for name, column in POLICY["columns"].items()}
    columns["Sex"] = {"role": "free"}
    columns["Income"]["taxonomy"] = {"tree": trees["Income"]}
    columns["Disease"] |= {"taxonomy": {"tree": trees["Disease"]}, "sensitive": ["canary-1"]}
    words = {
        "columns": columns,
        "promises": POLICY["promises"],
        "protect": {"search": "top-down", "suppress": 0},
    }
    found = sf.attack.freeform(canary, words)
    assert found and any("canary" in f.in_full for f in found)
    audit = sf.audit(canary, words)
    texts = [repr(f) + f.sentence + str(f.details) for f in found] + [str(audit.as_dict()), repr(audit)]
    assert not any("canary" in text for text in texts)


def test_empty_one_row_and_missing_cells():
    assert sf.attack.freeform(T1[:0], POLICY) == []
    one = sf.attack.freeform(T1[:1], POLICY)
    assert [(f.given, f.infers, f.support) for f in one] == [({}, ("Income", "190K"), 1)]
    gaps = T1.copy()
    gaps.loc[0, "Disease"] = None
    plan = sf.protect(gaps, POLICY)
    assert plan.verdicts[0].holds and sf.audit(plan.apply(gaps), POLICY).holds
    assert Freeform(HALF) == Freeform("1/2") and hash(Freeform(HALF)) == hash(Freeform("1/2"))


def test_a_text_with_two_places_is_not_guessed():
    class Twice:
        spec: ClassVar = {"tree": {}}

        def build(self, _):
            labels = ["*", "a", "Other", "a1", "b", "Other", "b1", "b2"]
            return Taxonomy.grow(labels, [-1, 0, 1, 2, 0, 4, 5, 5])

    twice = FreeColumn(("a1",), rule=Twice())
    tree, nodes = taxonomy_and_nodes(["a1", "b2"], twice, column="x")
    assert [tree.labels[v] for v in nodes] == ["a1", "b2"]
    with pytest.raises(BadData, match="no values of its taxonomy"):
        taxonomy_and_nodes(["Other", "b"], twice, column="x")


def test_lists_are_as_long_as_asked_for():
    assert len(sf.attack.freeform(T1, POLICY, every=True, limit=3)) == 3
    assert len(list(sf.attack.freeform_breaches(T1, POLICY))) == 4


def test_the_order_of_rows_does_not_matter():
    def told(frame):
        return [(f.given, f.infers, f.threat) for f in sf.attack.freeform(frame, POLICY)]

    shuffled = T1.sample(frac=1, random_state=4)
    assert told(shuffled) == told(T1) and isinstance(shuffled, pd.DataFrame)
