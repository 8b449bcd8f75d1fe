"""Tables that show a value and one above it are no single recoding: they are broken or not decided."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from models.freeform.node_tables import local_node_table, random_case
from papers.test_wang_2009 import POLICY, T1
from sfumato.models.contract import Promises
from sfumato.models.freeform.inference import NESTED, FreeColumn, particular
from sfumato.policy.content import ColumnRule, ProtectRule
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies import rule_from
from verify.both import recheck

DISEASE = {
    "columns": {
        "sex": {"role": "quasi"},
        "disease": {
            "role": "free",
            "taxonomy": {"tree": {"Viral": ["Flu", "AIDS"], "Bacterial": ["E.Coli", "TB"]}},
            "sensitive": ["AIDS", "TB"],
        },
    },
    "promises": [{"freeform": {"threat": "1/2"}}],
}


@pytest.mark.parametrize(
    ("diseases", "holds"),
    [
        (["*", "*", "Flu", "E.Coli"], False),  # every man has AIDS or TB
        (["Viral", "Viral", "Flu", "Bacterial"], False),  # every man has AIDS
        (["*", "*", "Viral", "Bacterial"], None),  # nothing is left over for the men
        (["AIDS", "*", "Flu", "E.Coli"], None),
        (["Bacterial", "Viral", "Viral", "Bacterial"], True),
    ],
)
def test_what_is_left_over_is_inferred(diseases, holds):
    audit = sf.audit(pd.DataFrame({"sex": ["M", "M", "F", "F"], "disease": diseases}), DISEASE)
    verdict = audit.verdicts[0]
    assert verdict.holds is holds
    struck = [finding for finding in audit.findings if finding.attack == "freeform"]
    assert [finding.breach for finding in struck if finding.breach] == ([True] if holds is False else [])
    assert all((finding.not_tried == NESTED) == (holds is not True) for finding in struck)
    if holds is False:
        assert (verdict.measured, verdict.people) == (1, 2)


def test_example_1_1_t2_tells_who_has_aids_or_tb():
    hidden = {"AIDS": "*", "TB": "*"} | dict.fromkeys(["190K", "160K", "50K", "40K"], "*")
    t2 = T1.replace({"Disease": hidden, "Income": hidden})
    verdict = sf.audit(t2, POLICY).verdicts[0]
    assert verdict.holds is False and (verdict.people, verdict.measured) == (4, Fraction(2, 3))


def test_a_suppressed_cell_of_an_observable_column_is_not_taken_for_a_single_recoding():
    table = pd.DataFrame({"sex": ["M", "*", "F", "F"], "disease": ["Flu", "E.Coli", "Flu", "E.Coli"]})
    assert sf.audit(table, DISEASE).verdicts[0].holds is None
    aged = {
        **DISEASE,
        "columns": {
            **DISEASE["columns"],
            "age": {"role": "quasi", "taxonomy": {"intervals": [10], "from": 0, "to": 100}},
        },
    }
    ages = pd.DataFrame(
        {"sex": "F", "age": ["[30, 40)", "34", "34", "[30, 40)"], "disease": ["Flu", "Flu", "E.Coli", "Flu"]}
    )
    assert sf.audit(ages, aged).verdicts[0].holds is None
    assert sf.audit(ages.replace({"age": {"34": "[30, 40)"}}), aged).verdicts[0].holds is True


def read_in_one_way(tree, guard, shown, *, alone):
    """What may be observed or inferred: which shown nodes each covers, whether it is seen, its harm."""
    nodes = {v for w in shown for v in range(len(tree.labels)) if tree.covers(v, w)}
    values = [
        ({w for w in shown if tree.covers(v, w)}, v == 0 or guard.observable[v], guard.sensitivity[v])
        for v in nodes
    ]
    leaves = {v: set(range(int(tree.low[v]), int(tree.high[v]))) for v in shown}
    nested = False
    for v in shown:
        below = [leaves[w] for w in shown if tree.covers(v, w) and leaves[w] < leaves[v]]
        left = [int(tree.leaves[rank]) for rank in leaves[v].difference(*below)]
        nested |= bool(below)
        if below and left:
            harm = sum(guard.sensitivity[leaf] for leaf in left) * Fraction(1, len(left) ** (1 + alone))
            values.append(({v}, any(guard.observable[leaf] for leaf in left), harm))
    return values, nested


def largest_threat(node_table, alone):
    """The largest threat of all inferences in this reading, and whether a column is nested."""
    shown = [sorted(set(row.tolist())) for row in node_table.nodes]
    read = [
        read_in_one_way(g.taxonomy, g, nodes, alone=a)
        for g, nodes, a in zip(node_table.guards, shown, alone, strict=True)
    ]
    rows = list(zip(node_table.nodes.T.tolist(), node_table.counts.tolist(), strict=True))
    most = Fraction(0)
    for j, (values, _) in enumerate(read):
        targets = [(cover, harm) for cover, seen, harm in values if not seen]
        seen = [[cover for cover, visible, _ in vs if visible] for i, (vs, _) in enumerate(read) if i != j]
        for given in itertools.product(*seen):
            match = [
                (row[j], n)
                for row, n in rows
                if all(v in cover for v, cover in zip(row[:j] + row[j + 1 :], given, strict=True))
            ]
            for cover, harm in targets if match else ():
                hit = sum(n for v, n in match if v in cover)
                most = max(most, Fraction(hit, sum(n for _, n in match)) * harm)
    return most, any(nested for _, nested in read)


@pytest.mark.slow
def test_random_tables_are_judged_as_they_read_if_values_are_published_in_one_way(tmp_path):
    rng = np.random.default_rng(7)
    answers = {True: 0, False: 0, None: 0}
    for _ in range(150):
        table, promise, cuts = random_case(rng, rows=8)
        if len(promise.columns) < len(table.columns):
            continue
        node_table = local_node_table(rng, promise.node_table(table, cuts))
        trees = {c.name: g.taxonomy for c, g in zip(table.columns, node_table.guards, strict=True)}
        frame = pd.DataFrame(
            {
                name: np.repeat([tree.labels[v] for v in node_table.nodes[j]], node_table.counts)
                for j, (name, tree) in enumerate(trees.items())
            }
        )
        rules = {c.name: ColumnRule(c.role, rule_from(c.taxonomy)) for c in table.columns}
        policy = Policy(rules, Promises((promise,)), ProtectRule("top-down", Fraction(0)))
        frame.to_csv(tmp_path / "t.csv", index=False)
        (verdict,) = recheck(tmp_path / "t.csv", policy)
        alone = [promise.columns.get(c.name, FreeColumn()).sensitivity is particular for c in table.columns]
        most, nested = largest_threat(node_table, alone)
        assert verdict.holds is (False if most > promise.threat else None if nested else True)
        told = policy.promises.members[0].verdict_on_labels(*labels_and_codes(node_table, trees))
        assert (told.holds, told.measured) == (verdict.holds, verdict.measured)
        answers[verdict.holds] += 1
    assert min(answers.values()) > 10


def labels_and_codes(node_table, trees):
    labels, codes = {}, {}
    for (name, tree), row in zip(trees.items(), node_table.nodes, strict=True):
        shown, codes[name] = np.unique(row, return_inverse=True)
        labels[name] = [tree.labels[v] for v in shown]
    return labels, codes, node_table.counts
