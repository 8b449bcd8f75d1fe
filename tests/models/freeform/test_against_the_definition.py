"""The fast checks against plain enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from models.freeform.node_tables import local_node_table, random_case
from oracles import freeform as definition
from sfumato.models.freeform.inference import breach, breach_of_step, breaches, worst

pytestmark = pytest.mark.slow

PARTS = range(4)
CASES = 500
"""Per part; each case is judged with both definitions, so 4,000 comparisons of every kind."""


def node_tables(part):
    rng = np.random.default_rng(part)
    for _ in range(CASES):
        table, promise, cuts = random_case(rng)
        node_table = promise.node_table(table, cuts)
        yield (local_node_table(rng, node_table) if rng.random() < 0.3 else node_table), promise.threat


@pytest.mark.parametrize("part", PARTS)
def test_same_answer_same_worst_threat_same_breaches(part):
    broken = 0
    for node_table, threat in node_tables(part):
        for extended in (True, False):
            attacks = definition.attacks(node_table, extended=extended)
            expected = {key: fact for key, fact in attacks.items() if fact[2] > threat}
            found = breach(node_table, threat, extended=extended)
            assert (found is not None) == bool(expected)
            if found is not None:
                fact = expected[found.target, found.node, found.given]
                assert fact == (found.held, found.support, found.threat)
            for one in worst(node_table, extended=extended):
                assert attacks[one.target, one.node, one.given] == (one.held, one.support, one.threat)
            threats = {(one.target, one.node): one.threat for one in worst(node_table, extended=extended)}
            assert threats == definition.worst(node_table, extended=extended)
            listed = list(breaches(node_table, threat, extended=extended, limit=10**6))
            facts = {(b.target, b.node, b.given): (b.held, b.support, b.threat) for b in listed}
            assert facts == expected and len(listed) == len(expected)
            broken += bool(expected)
    assert broken > 50


def more_general(node_table, x, y):
    trees = [g.taxonomy for g in node_table.guards]
    pairs = zip(trees, x.given, y.given, strict=True)
    return x.target == y.target and trees[x.target].covers(x.node, y.node) and all(
        tree.covers(v, w) for tree, v, w in pairs
    )  # fmt: skip


def test_the_most_general_breaches_come_first():
    compared = 0
    for node_table, threat in node_tables(77):
        listed = list(breaches(node_table, threat, limit=10**6))[:40]
        for i, later in enumerate(listed):
            for earlier in listed[:i]:
                assert not (more_general(node_table, later, earlier) and later != earlier)
                compared += more_general(node_table, earlier, later)
    assert compared > 100


def test_a_bounded_list_is_a_bounded_list():
    for node_table, threat in node_tables(78):
        everything = list(breaches(node_table, threat, limit=10**6))
        few = list(breaches(node_table, threat, limit=2))
        assert set(few) <= set(everything)
        assert bool(few) == bool(everything)


def test_a_step_is_judged_on_what_it_changes():
    """From a safe table, the incremental check answers what a full check would."""
    rng = np.random.default_rng(5)
    answers = {True: 0, False: 0}
    for _ in range(500):
        table, promise, cuts = random_case(rng, leaves=5)
        node_table = promise.node_table(table, cuts)
        if breach(node_table, promise.threat) is not None:
            continue
        for j, column in enumerate(table.keys):
            for node in cuts[column.name].specializations.tolist():
                finer = {**cuts, column.name: cuts[column.name].specialize(node)}
                proposed = promise.node_table(table, finer, node_table.guards)
                found = breach_of_step(proposed, promise.threat, j, node)
                assert (found is None) == (breach(proposed, promise.threat) is None)
                if found is not None:
                    assert (found.target, found.node, found.given) in definition.breaches(
                        proposed, promise.threat
                    )
                answers[found is None] += 1
    assert min(answers.values()) > 30
