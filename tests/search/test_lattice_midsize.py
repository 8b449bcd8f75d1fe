"""The lattice search against a full pass over a made-up table of 5,000 rows; node costs against losses."""

from fractions import Fraction
from functools import cache
from math import isclose

import numpy as np
import pytest

from oracles.exhaustive_lattice import all_nodes, recode
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search import lattice as full_domain
from sfumato.search.contract import Aim
from sfumato.search.frontier import TIE_TOLERANCE, NodeJudge
from sfumato.search.lattice import lattice
from sfumato.search.loss import MEASURES, measure
from sfumato.search.node_cost import node_cost
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

PROMISES = {
    "k": Promises((KAnonymity(4),)),
    "k and distinct l": KAnonymity(4) & DistinctLDiversity("illness", 3),
    "k and entropy l": KAnonymity(3) & EntropyLDiversity("illness", Fraction(3)),
    "k and t": KAnonymity(4) & TCloseness("illness", Fraction(2, 5)),
}
LIMITS = (Fraction(0), Fraction(1, 50), Fraction(1, 5))


def intervals(values, widths):
    """A taxonomy of 0..values-1 in intervals of each width."""
    labels, parent = ["*"], [-1]
    above = {0: 0}
    for width in (*reversed(widths), 1):
        nodes = {}
        for start in range(0, values, width):
            nodes[start] = len(labels)
            labels.append(f"{start}+{width}")
            parent.append(above[max(a for a in above if a <= start)])
        above = nodes
    return Taxonomy.grow(labels, parent, ordered=True)


@cache
def patients():
    random = np.random.default_rng(7)
    rows = 5000
    age = np.minimum(random.gamma(6.0, 7.0, rows).astype(np.int32), 79)
    place = np.minimum(random.zipf(1.3, rows) - 1, 59).astype(np.int32)
    work = (random.integers(0, 4, rows) * (age > 18) + 3 * random.integers(0, 3, rows)).astype(np.int32)
    sex = random.integers(0, 2, rows).astype(np.int32)
    illness = ((random.zipf(1.7, rows) + age // 20) % 12).astype(np.int32)
    columns = [
        Column("age", Role.QUASI, intervals(80, (5, 20, 40))),
        Column("place", Role.QUASI, intervals(60, (10, 30))),
        Column("work", Role.QUASI, intervals(12, (3,))),
        Column("sex", Role.QUASI, intervals(2, ())),
        Column("illness", Role.SENSITIVE, intervals(12, (4,))),
    ]
    return Microdata.of_codes(columns, [age, place, work, sex, illness])


@cache
def full_pass(name):
    table = patients()
    return {levels: recode(table, PROMISES[name], levels) for levels in all_nodes(table)}


def named(levels):
    return {c.name: i for c, i in zip(patients().keys, levels, strict=True)}


@pytest.mark.parametrize("lowered", [None, "FEW_NODES", "FEWEST_FOR_SMALL_CLASSES"])
@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.parametrize("loss", MEASURES)
def test_pruned_search_equals_a_full_pass(name, loss, lowered, monkeypatch):
    if lowered:
        monkeypatch.setattr(full_domain, lowered, 0)
    table = patients()
    nodes = {levels: (measure(loss, r, named(levels)), r.suppressed) for levels, r in full_pass(name).items()}
    for limit in LIMITS:
        allowed = {
            levels: (score, s)
            for levels, (score, s) in nodes.items()
            if s <= limit * table.rows and s < table.rows
        }
        least = min(score for score, _ in allowed.values())
        ties = [(s, levels) for levels, (score, s) in allowed.items() if score <= least * (1 + TIE_TOLERANCE)]
        outcome = lattice(table, PROMISES[name], Aim(limit, loss))
        assert (outcome.recoding.suppressed, tuple(outcome.levels.values())) == min(ties)
        assert outcome.loss == nodes[min(ties)[1]][0]


@pytest.mark.parametrize("loss", MEASURES)
def test_the_cost_of_a_node_is_its_loss_and_bounds_are_bounds(loss):
    table, wanted = patients(), PROMISES["k"]
    cost, judge = node_cost(table, Aim(loss=loss)), NodeJudge(table, wanted, table.rows)
    floors = {}
    for levels, recoding in full_pass("k").items():
        exact = measure(loss, recoding, named(levels))
        node = judge.judge_node(levels)
        assert node.suppressed == recoding.suppressed
        assert isclose(cost.score(node), exact, rel_tol=1e-12)
        total = sum(cost.steps[j][i] for j, i in enumerate(levels))
        least = cost.least_cost(np.array([total]))[0]
        assert least <= exact * (1 + TIE_TOLERANCE)
        if recoding.suppressed == 0 and np.isfinite(least) and cost.lower_bound(node) == -np.inf:
            assert isclose(least, exact, rel_tol=1e-12)
        floors[levels] = cost.lower_bound(node)
        for finer, floor in floors.items():
            if all(a <= b for a, b in zip(finer, levels, strict=True)):
                assert floor <= exact


def test_pruning_saves_most_of_the_work():
    table = patients()
    nodes = len(all_nodes(table))
    assert lattice(table, PROMISES["k"], Aim()).checked < nodes / 4
    assert lattice(table, PROMISES["k"], Aim(Fraction(1, 50))).checked < nodes / 2


def test_the_marginal_bound_is_the_loss_of_every_node_when_nothing_is_suppressed():
    table, nothing = patients(), Promises(())
    for loss in ("loss", "geometric", "entropy", "precision", "height"):
        cost = node_cost(table, Aim(loss=loss, weights={"age": Fraction(2)}))
        for levels in all_nodes(table)[::7]:
            exact = measure(loss, recode(table, nothing, levels), named(levels), {"age": Fraction(2)})
            total = sum(cost.steps[j][i] for j, i in enumerate(levels))
            assert isclose(cost.least_cost(np.array([total]))[0], exact, rel_tol=1e-12, abs_tol=1e-15)


def test_progress_is_told_and_ends_within_the_lattice():
    told = []
    lattice(
        patients(),
        Promises((KAnonymity(4),)),
        Aim(Fraction(1, 5), "class-size"),
        progress=lambda *a: told.append(a),
    )
    assert all(phase == "lattice" and 0 <= done <= total == 120 for phase, done, total in told)
    assert len(told) > 1 and told[-1] == ("lattice", 120, 120)
