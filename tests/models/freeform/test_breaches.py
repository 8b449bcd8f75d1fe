"""The list of all freeform breaches is complete: through every node of every column, whatever it hides."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from models.freeform.node_tables import local_node_table, random_case
from oracles import freeform as definition
from sfumato.models.contract import Promises
from sfumato.models.freeform.inference import FreeColumn
from sfumato.models.freeform.promise import Freeform
from sfumato.policy.content import ColumnRule, ProtectRule
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies import rule_from
from sfumato.system.errors import BadData

POLICY = {
    "columns": {
        "place": {"role": "quasi", "taxonomy": {"tree": {"North": ["n1", "n2"], "South": ["s1", "s2"]}}},
        "job": {"role": "free", "taxonomy": {"tree": {"Care": ["nurse", "aide"], "Craft": ["mason"]}}},
        "disease": {"role": "free", "sensitive": ["HIV"], "taxonomy": {"tree": ["HIV", "flu", "cold"]}},
    },
    "promises": [{"freeform": {"threat": "1/2"}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def listed(frame, policy, **options):
    """The breaches as labels: what is observed, what is inferred, how often that is right, of how many."""
    return {
        (frozenset(one.given.items()), one.infers): (one.confidence * one.support, one.support)
        for one in sf.attack.freeform(frame, policy, every=True, **options)
    }


def test_a_breach_through_branching_nodes_of_columns_that_hide_nothing_is_listed():
    """Nobody who knows the exact place or job infers more than who knows only the region or the field."""
    rows = [("n1", "nurse", "HIV"), ("n2", "aide", "HIV"), ("n1", "mason", "flu"), ("s1", "nurse", "cold")]
    frame = pd.DataFrame(rows, columns=list(POLICY["columns"]))
    found = listed(frame, POLICY)
    hiv = ("disease", "HIV")
    assert found[frozenset({("place", "North"), ("job", "Care")}), hiv] == (2, 2)
    assert found[frozenset({("place", "North")}), hiv] == (2, 3)
    assert found[frozenset({("job", "Care")}), hiv] == (2, 3)
    assert found[frozenset({("place", "n2"), ("job", "Care")}), hiv] == (1, 1)
    assert all(given for given, _ in found), "half of all people is not more than half"


def test_codes_are_placed_by_the_characters_that_stay():
    columns = {**POLICY["columns"], "place": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}}}
    rows = [
        ("12*", "nurse", "HIV"),
        ("13*", "nurse", "HIV"),
        ("2**", "nurse", "flu"),
        ("2**", "aide", "cold"),
    ]
    frame = pd.DataFrame(rows, columns=list(columns))
    found = listed(frame, {**POLICY, "columns": columns})
    assert found[frozenset({("place", "1**")}), ("disease", "HIV")] == (2, 2)
    assert found[frozenset({("place", "12*")}), ("disease", "HIV")] == (1, 1)


def test_what_cannot_be_placed_is_refused_and_the_worst_attacks_are_not():
    columns = {**POLICY["columns"], "place": {"role": "quasi", "taxonomy": {"date": ["month", "year"]}}}
    policy = {**POLICY, "columns": columns}
    raw = pd.DataFrame([("1970-03-01", "nurse", "HIV"), ("1970-04-01", "aide", "HIV")], columns=list(columns))
    assert listed(raw, policy)[frozenset({("place", "1970")}), ("disease", "HIV")] == (2, 2)
    published = raw.assign(place=["1970-03", "1970-04"])
    with pytest.raises(BadData, match="texts of place have no place in its taxonomy"):
        listed(published, policy)
    assert [one.threat for one in sf.attack.freeform(published, policy)] == [1]


def published_case(seed):
    """A random published table, its policy, and the same as nodes of the true trees."""
    rng = np.random.default_rng(seed)
    table, promise, cuts = random_case(rng, rows=8)
    while not promise.columns:
        table, promise, cuts = random_case(rng, rows=8)
    free = {
        name: FreeColumn() if rng.random() < 0.4 else declared for name, declared in promise.columns.items()
    }
    promise = Freeform(promise.threat, promise.observability, free)
    node_table = promise.node_table(table, cuts)
    if rng.random() < 0.3:
        node_table = local_node_table(rng, node_table)
    rules = {c.name: ColumnRule(c.role, rule_from(c.taxonomy)) for c in table.columns}
    cells = {
        c.name: np.repeat([c.taxonomy.labels[v] for v in shown.tolist()], node_table.counts)
        for c, shown in zip(table.keys, node_table.nodes, strict=True)
    }
    return (
        pd.DataFrame(cells),
        Policy(rules, Promises((promise,)), ProtectRule("top-down", Fraction(0))),
        node_table,
    )


@given(st.integers(0, 2**32), st.booleans())
def test_the_list_is_what_enumeration_of_all_combinations_of_nodes_gives(seed, extended):
    frame, policy, node_table = published_case(seed)
    trees = [guard.taxonomy for guard in node_table.guards]
    threat = next(iter(policy.promises)).threat
    expected = {
        (
            frozenset((frame.columns[j], trees[j].labels[v]) for j, v in enumerate(given) if v),
            (frame.columns[target], trees[target].labels[node]),
        ): (held, support)
        for (target, node, given), (held, support, _) in definition.breaches(
            node_table, threat, extended=extended
        ).items()
    }
    assert listed(frame, policy, extended=extended) == expected
