"""The examples of *FF-anonymity: when quasi-identifiers are missing*.

The paper's Figure 1 is lost; the table below meets every sentence that the text says about it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from oracles import freeform as definition
from sfumato.models.freeform.inference import (
    Belief,
    FreeColumn,
    NodeTable,
    aggregate,
    breach,
    guarded_leaves,
    particular,
    unless_sensitive,
    worst,
)
from sfumato.models.freeform.promise import Freeform
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

HALF = Fraction(1, 2)
ROWS = [
    ("F", "190K", "Flu"), ("F", "160K", "AIDS"), ("F", "50K", "E.Coli"), ("F", "40K", "E.Coli"),
    ("M", "190K", "AIDS"), ("M", "160K", "AIDS"), ("M", "50K", "TB"), ("M", "40K", "TB"),
    ("M", "50K", "E.Coli"), ("M", "40K", "E.Coli"),
]  # fmt: skip
T1 = pd.DataFrame(ROWS, columns=["Sex", "Income", "Disease"])
T3 = T1.replace({"Disease": {"Flu": "VI", "AIDS": "VI"}})
INCOMES = {"High": ["190K", "160K"], "Middle": ["90K", "80K"], "Low": ["50K", "40K"]}
DISEASES = {"VI": ["Flu", "AIDS"], "BI": ["E.Coli", "TB"]}
POLICY = {
    "columns": {
        "Sex": {"role": "free", "taxonomy": {"flat": ["F", "M"]}},
        "Income": {
            "role": "free",
            "sensitive": ["*"],
            "observable": {"leaf": 0, "boost": 1},
            "taxonomy": {"tree": INCOMES},
        },
        "Disease": {"role": "free", "sensitive": ["AIDS", "TB"], "taxonomy": {"tree": DISEASES}},
    },
    "promises": [{"freeform": {"threat": HALF, "observability": 1}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def tree_of(groups):
    labels, parent = ["*"], [-1]
    for group, leaves in groups.items():
        labels.append(group)
        parent.append(0)
        above = len(labels) - 1
        for leaf in leaves:
            labels.append(leaf)
            parent.append(above)
    return Taxonomy.grow(labels, parent)


DISEASE = tree_of(DISEASES)


def by_label(values, tree=DISEASE):
    return dict(zip(tree.labels, values, strict=True))


def test_example_1_1_t1_is_2_diverse_in_both_classical_modellings():
    sexes = Taxonomy.flat(["F", "M"])
    for secret, tree in (("Income", tree_of(INCOMES)), ("Disease", DISEASE)):
        columns = [Column("Sex", Role.QUASI, sexes), Column(secret, Role.SENSITIVE, tree)]
        codes = [np.array([c.taxonomy.rank(v) for v in T1[c.name]]) for c in columns]
        table = Microdata.of_codes(columns, codes)
        classes = Classes.of(table, table.codes("Sex"), sensitive=(secret,))
        assert DistinctLDiversity(secret, 2).holds_on(classes).all()
        h = classes.histograms[secret]
        assert all(2 * max(h.of_class(c).values()) <= h.totals[c] for c in range(2))


def test_example_1_1_t1_breaks():
    found = {(tuple(f.given.items()), f.infers): f for f in sf.attack.freeform(T1, POLICY, every=True)}
    aids = found[(("Sex", "M"), ("Income", "High")), ("Disease", "AIDS")]
    income = found[(("Sex", "F"), ("Disease", "Flu")), ("Income", "190K")]
    assert (aids.support, aids.confidence, aids.threat) == (2, 1, 1)
    assert (income.support, income.confidence, income.threat) == (1, 1, 1)
    assert len(found) == 4
    assert all(f.breach for f in found.values())


def test_example_1_1_t3_is_safe():
    assert sf.attack.freeform(T3, POLICY, every=True) == []
    worst_of = {f.infers: f for f in sf.attack.freeform(T3, POLICY)}
    assert not any(f.breach for f in worst_of.values())
    incomes = worst_of["Income", "190K"]
    assert incomes.given == {"Sex": "F", "Disease": "VI"}
    assert (incomes.confidence, incomes.threat) == (HALF, HALF)
    assert sf.audit(T3, POLICY).holds is True and sf.audit(T1, POLICY).holds is False


def test_top_down_finds_t3():
    plan = sf.protect(T1, POLICY)
    assert plan.cuts["Disease"] == ("VI", "E.Coli", "TB")
    safe = plan.apply(T1)
    assert sorted(map(tuple, safe.values.tolist())) == sorted(map(tuple, T3.values.tolist()))


def test_example_2_1_guarding_sets():
    leaves = np.array(DISEASE.leaf_labels)
    assert set(leaves[guarded_leaves(DISEASE, ["AIDS", "TB"], column="d")]) == {"AIDS", "TB"}
    assert set(leaves[guarded_leaves(DISEASE, ["AIDS", "BI"], column="d")]) == {"AIDS", "E.Coli", "TB"}


def test_example_2_2_sensitivity():
    first = guarded_leaves(DISEASE, ["AIDS", "TB"], column="d")
    s = by_label(aggregate(DISEASE, first))
    assert s["AIDS"] == s["TB"] == 1 and s["Flu"] == s["E.Coli"] == 0
    assert s["VI"] == s["BI"] == s["*"] == HALF
    s = by_label(particular(DISEASE, first))
    assert s["AIDS"] == 1 and s["VI"] == Fraction(1, 4) and s["*"] == Fraction(1, 8)


def test_example_2_3_observability():
    o = by_label(unless_sensitive(DISEASE, guarded_leaves(DISEASE, ["AIDS", "TB"], column="d")))
    assert {label for label, value in o.items() if value == 0} == {"AIDS", "TB"}
    o = by_label(unless_sensitive(DISEASE, guarded_leaves(DISEASE, ["AIDS", "BI"], column="d")))
    assert {label for label, value in o.items() if value == 0} == {"AIDS", "BI", "E.Coli", "TB"}


def test_income_brackets_are_visible():
    tree = tree_of(INCOMES)
    o = by_label(Belief(Fraction(0), Fraction(1))(tree, np.ones(6, bool)), tree)
    assert {label for label, value in o.items() if value == 1} == {"*", "High", "Middle", "Low"}


def test_critical_values_of_t1():
    policy = sf.Policy.from_dict(POLICY)
    promise = policy.promises.members[0]
    columns = [Column(c.name, c.role, c.build(sorted(set(T1[c.name])))) for c in policy.codings]
    table = Microdata.of_codes(columns, [np.array([c.taxonomy.rank(v) for v in T1[c.name]]) for c in columns])
    node_table = promise.node_table(table, {c.name: Cut.leaves(c.taxonomy) for c in columns})
    named = [
        {c.taxonomy.labels[v] for v in np.flatnonzero(node_table.critical(j))} for j, c in enumerate(columns)
    ]
    assert named == [{"F", "M"}, {"High", "Low"}, {"Flu", "E.Coli", "VI", "BI"}]
    plus = [len(definition.cut_plus(g, node_table.nodes[j])) for j, g in enumerate(node_table.guards)]
    assert plus == [3, 7, 7]


@pytest.mark.parametrize("extended", [True, False])
def test_breaches_of_definition_3_3_are_not_monotone(extended):
    tree = Taxonomy.grow(["A", "a", "a1", "a2", "a3"], [-1, 0, 1, 1, 0])
    free = FreeColumn(("a1",), aggregate, Belief({"a": Fraction(0), "a3": Fraction(1)}))
    guard = free.guard(tree, Fraction(1), column="x")
    counts = np.array([5])
    below = NodeTable(np.array([[tree.node("a2")]], np.int32), counts, (guard,))
    above = NodeTable(np.array([[tree.node("a")]], np.int32), counts, (guard,))
    limit = Fraction(2, 5)
    assert (breach(below, limit, extended=extended) is not None) == extended
    found = breach(above, limit, extended=extended)
    assert found is not None and found.threat == HALF
    assert bool(definition.breaches(below, limit, extended=extended)) == extended


def test_a_root_is_observable_and_never_inferred():
    tree = Taxonomy.flat(["x", "y"])
    promise = Freeform(Fraction(0), columns={"c": FreeColumn(("*",))})
    table = Microdata.of_codes([Column("c", Role.FREE, tree)], [np.array([0, 0, 1])])
    assert promise.verdict_on(table, {"c": Cut.root(tree)}).holds
    assert [one.threat for one in worst(promise.node_table(table, {"c": Cut.leaves(tree)}))] == [
        Fraction(2, 3),
        Fraction(1, 3),
    ]
