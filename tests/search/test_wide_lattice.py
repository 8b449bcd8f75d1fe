"""Lattices that are too large to be held, or to be searched within the steps allowed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles.exhaustive_lattice import exhaustive, judged
from search.checks import crowded
from sfumato.kernels.lattice import losses_of_splits
from sfumato.models.confidence.promise import ConfidenceBounding
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity
from sfumato.search import lattice as full_domain
from sfumato.search.contract import Aim
from sfumato.search.controls import permitted_levels
from sfumato.search.lattice import lattice
from sfumato.search.loss import MEASURES
from sfumato.search.node_cost import node_cost
from sfumato.search.wide_lattice import LargeClasses, Splits, rungs_of
from sfumato.system.errors import Infeasible
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import tables

pytestmark = pytest.mark.slow

WANTED = (
    KAnonymity(2) & DistinctLDiversity("s0", 2),
    KAnonymity(3) & EntropyLDiversity("s0", Fraction(3, 2)),
)


PRICES = st.sampled_from([None, Fraction(1), Fraction(3, 2), Fraction(3)])
SHARES = st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1, 2)])
WEIGHTS = st.sampled_from([{}, {"q0": Fraction(3)}, {"q1": Fraction(0)}])
ADDING_UP = ("loss", "geometric", "entropy", "precision", "height")


def limited(**limits):
    """A patch of the numbers in `lattice`."""
    patch = pytest.MonkeyPatch()
    for name, limit in limits.items():
        patch.setattr(full_domain, name, limit)
    return patch


def found_within(limits, table, wanted, aim):
    """What the search finds with these numbers; `None` where nothing is allowed."""
    patch = limited(**limits)
    try:
        return lattice(table, wanted, aim)
    except Infeasible:
        return None
    finally:
        patch.undo()


@pytest.mark.parametrize(
    "limits",
    [
        {"MOST_NODES": 0, "FEW_NODES": 0},
        {"MOST_NODES": 0, "FEW_NODES": 0, "MOST_STEPS": 0, "STEPS_PER_BLOCK": 0},
        {"MOST_NODES": 0, "FEW_NODES": 0, "MOST_STEPS": 40, "STEPS_PER_BLOCK": 20, "STEPS_TO_GUESS": 0},
        {"MOST_GROUPED": 0, "FEW_NODES": 0, "STEPS_IF_HELD": 20},
        {"MOST_GROUPED": 0},
    ],
)
@given(
    table=tables(rows=10, keys=3, people=True),
    wanted=st.sampled_from(WANTED),
    loss=st.sampled_from(sorted(MEASURES)),
    share=SHARES,
    price=PRICES,
)
def test_the_best_so_far_is_between_the_bound_and_what_else_there_is(
    limits, table, wanted, loss, share, price
):
    assume(table.rows)
    aim = Aim(share, loss, price=price)
    expected = exhaustive(table, wanted, aim)
    found = found_within(limits, table, wanted, aim)
    assert (found is None) == (expected is None)
    if found is None:
        return
    assert wanted.holds_on(Classes.of(table, found.recoding.class_of, sensitive=["s0"])).all()
    assert found.recoding.suppressed <= aim.allowed(table)
    assert found.loss >= expected.score * (1 - 1e-9)
    assert found.bound is None or found.bound <= expected.score * (1 + 1e-9)
    assert not found.optimal or found.loss == pytest.approx(expected.score)


@pytest.mark.parametrize("limits", [{"MOST_NODES": 0}, {"MOST_GROUPED": 0}])
@pytest.mark.parametrize("loss", ADDING_UP)
@pytest.mark.parametrize("seed", range(3))
def test_columns_that_all_move_together_are_not_called_done_where_steps_run_out(seed, loss, limits):
    """There is one group of columns then: the first is the last."""
    table, wanted = crowded(seed, keys=2), Promises((KAnonymity(2),))
    aim = Aim(Fraction(1, 5), loss, together=(("q0", "q1"),))
    none = {"FEW_NODES": 0, "STEPS_TO_GUESS": 0, "STEPS_IF_HELD": 0, "MOST_STEPS": 0, "STEPS_PER_BLOCK": 0}
    found, whole = found_within(none | limits, table, wanted, aim), lattice(table, wanted, aim)
    permitted = permitted_levels(table, aim)
    allowed = [n for n in judged(table, wanted, aim) if permitted[n.levels] and n.suppressed <= 6]
    assert whole.optimal and whole.loss == min(node.score for node in allowed) <= found.loss
    assert not found.optimal or found.loss == whole.loss
    assert found.bound is None or found.bound <= whole.loss * (1 + 1e-9)


@pytest.mark.parametrize(("seed", "keys"), [(2, 2), (3, 1), (5, 2), (8, 1)])
def test_nothing_is_refused_because_steps_ran_out_before_a_node_that_is_allowed(seed, keys):
    """At the roots the one class breaks the promise; some of the classes below keep it."""
    table, wanted = crowded(seed, rows=8, keys=keys), Promises((ConfidenceBounding("s0", Fraction(1, 2)),))
    aim = Aim(Fraction(1, 2))
    found = found_within({"MOST_GROUPED": 0}, table, wanted, aim)
    least = exhaustive(table, wanted, aim).score
    assert found is not None and found.recoding.suppressed <= aim.allowed(table)
    assert found.loss >= least and (not found.optimal or found.loss == pytest.approx(least))
    assert found.bound is None or found.bound <= least * (1 + 1e-9)


@given(
    table=tables(rows=12, keys=3, min_rows=1),
    wanted=st.sampled_from([Promises((KAnonymity(2),)), Promises((KAnonymity(3),)), *WANTED]),
    loss=st.sampled_from(ADDING_UP),
    share=SHARES,
    weights=WEIGHTS,
    price=PRICES,
)
def test_branch_and_bound_finds_the_node_that_the_rule_names(table, wanted, loss, share, weights, price):
    aim = Aim(share, loss, weights=weights, price=price)
    expected = exhaustive(table, wanted, aim)
    found = found_within({"MOST_NODES": 0, "FEW_NODES": 0}, table, wanted, aim)
    assert (found is None) == (expected is None)
    if found is None:
        return
    assert found.levels is not None
    assert found.optimal and found.bound is None
    assert (tuple(found.levels.values()), found.recoding.suppressed) == (expected.levels, expected.suppressed)


@given(
    table=tables(rows=12, keys=3, min_rows=1),
    loss=st.sampled_from(ADDING_UP),
    weights=WEIGHTS,
    price=PRICES,
)
def test_no_node_costs_less_than_its_floors(table, loss, weights, price):
    aim = Aim(Fraction(1, 1), loss, weights=weights, price=price)
    cost, wanted = node_cost(table, aim), Promises((KAnonymity(2),))
    for node in judged(table, wanted, aim):
        suppressed = np.arange(node.suppressed - table.dropped + 1)
        floors = sum(cost.floors(j, level, suppressed) for j, level in enumerate(node.levels))
        assert (np.diff(floors) >= -1e-12).all()
        score = cost.least_cost(floors)
        assert (score <= node.score * (1 + 1e-12) + 1e-12).all()
        for j, level in enumerate(node.levels):
            if level:
                finer = cost.floors(j, level - 1, suppressed)
                assert (finer <= cost.floors(j, level, suppressed) + 1e-12).all()


@given(table=tables(rows=14, keys=3, min_rows=1), least=st.integers(1, 4), spare=st.integers(0, 14))
def test_splits_lose_the_rows_of_small_parts(table, least, spare):
    rungs = rungs_of(table, Aim())
    splits, top = Splits.of(table, rungs), LargeClasses.most_general(table, rungs, least)
    for first, second in product(range(len(splits.rung)), repeat=2):
        if splits.group[first] >= splits.group[second]:
            continue
        levels = splits.levels((first, second))
        cuts = {c.name: Cut.level(c.taxonomy, i) for c, i in zip(table.keys, levels, strict=True)}
        class_of, _ = classes_under(table, cuts)
        sizes = np.bincount(class_of, table.counts)
        lost = int(sizes[sizes < least].sum())
        once = top.split(splits.codes[first], int(splits.widths[first]), least)
        both = once.split(splits.codes[second], int(splits.widths[second]), least)
        kept = [int(both.counts[a:b].sum()) for a, b in both.bounds.T]
        assert both.lost == lost
        assert sorted(kept) == sorted(sizes[sizes >= least].astype(int).tolist())
        for parts, through in ((top, first), (once, -1)):
            found, _, _ = losses_of_splits(
                parts.rows,
                parts.counts,
                parts.bounds,
                splits.codes,
                splits.widths,
                through,
                np.array([[splits.group[second]], [second], [second + 1]]),
                least,
                spare - parts.lost,
                np.zeros(len(splits.rung) + len(rungs)),
                1.0,
                np.zeros(int(splits.widths.max()) ** 2, np.int64),
            )
            told = int(found[second])
            assert (told >= 0) == (lost <= spare)
            assert told <= lost - parts.lost


@given(table=tables(rows=4, keys=3), together=st.sampled_from([(), (("q0", "q2"),), (("q0", "q1", "q2"),)]))
def test_rungs_are_what_the_controls_permit(table, together):
    aim = Aim(together=together)
    permitted = {tuple(levels) for levels in np.argwhere(permitted_levels(table, aim)).tolist()}
    groups = rungs_of(table, aim)
    reached = set()
    for chosen in product(*(rungs for _, rungs in groups)):
        levels = [0] * 3
        for (members, _), rung in zip(groups, chosen, strict=True):
            for j, level in zip(members, rung, strict=True):
                levels[j] = level
        reached.add(tuple(levels))
    assert reached == permitted


def thirty_columns():
    random = np.random.default_rng(8)
    tree = Taxonomy.grow(["*", "low", "high", "0", "1", "2", "3"], [-1, 0, 0, 1, 1, 2, 2])
    columns = [Column(f"q{j}", Role.QUASI, tree) for j in range(30)]
    codes = [random.choice(4, 300, p=random.dirichlet(np.ones(4))).astype(np.int32) for _ in columns]
    return Microdata.of_codes(columns, codes)


def test_thirty_columns_have_a_proved_answer():
    found = lattice(thirty_columns(), KAnonymity(3) & KAnonymity(2), Aim())
    assert found.optimal and found.bound is None
    assert 0 < found.loss < 1


def test_thirty_columns_have_a_bound_where_the_steps_run_out():
    table, wanted = thirty_columns(), KAnonymity(3) & KAnonymity(2)
    best = lattice(table, wanted, Aim())
    patch = limited(MOST_STEPS=60_000_000, STEPS_PER_BLOCK=60_000_000)
    try:
        found = lattice(table, wanted, Aim())
    finally:
        patch.undo()
    assert not found.optimal and found.bound is not None
    assert 0.4 < found.bound <= best.loss <= found.loss
