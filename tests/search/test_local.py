"""Local recoding keeps every class promise, publishes nodes, and comes close to the best partition."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.partitions_of_keys import best_partition
from search.checks import class_promises, crowded, shuffled
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search import local as box_walk
from sfumato.search import local as group_neighbours
from sfumato.search import local as judged_moves
from sfumato.search.contract import Aim
from sfumato.search.key_groups import WHOLE_PRICE, KeyGroups
from sfumato.search.lattice import lattice
from sfumato.search.local import GroupJudge, local, neighbours_of
from sfumato.search.suppression import boxes_of, distinct_rows
from sfumato.system.errors import Infeasible, UsageError
from sfumato.table.classes import Classes
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.searches import _Coarse
from strategies import tables

pytestmark = pytest.mark.slow


def recode(table, promises, **aim):
    return local(table, promises, Aim(**aim))


def publishes_nodes(recoding):
    """Whether every published interval is a node of its taxonomy."""
    for j, column in enumerate(recoding.table.keys):
        tree = column.taxonomy
        nodes = set(zip(tree.low.tolist(), tree.high.tolist(), strict=True))
        if not set(zip(recoding.low[:, j].tolist(), recoding.high[:, j].tolist(), strict=True)) <= nodes:
            return False
    return True


@given(tables(rows=6, keys=2, leaves=3), class_promises())
def test_no_result_is_better_than_the_best_partition_and_none_breaks_a_promise(table, promises):
    best = best_partition(table, promises) if table.rows else 0.0
    try:
        outcome = recode(table, promises)
    except Infeasible:
        assert best is None
        return
    assert best is not None
    assert outcome.loss >= best - 1e-12
    assert outcome.recoding.suppressed == 0
    assert publishes_nodes(outcome.recoding)
    classes = Classes.of(table, boxes_of(outcome.recoding)[1], sensitive=promises.sensitive)
    assert promises.holds_on(classes).all()


def test_most_small_tables_are_recoded_as_well_as_any_partition_can():
    ratios = []
    for seed in range(30):
        table = crowded(seed, rows=7, keys=2)
        promises = Promises((KAnonymity(3),))
        best, found = best_partition(table, promises), recode(table, promises).loss
        ratios.append(found / best if best else 1.0 + found)
    assert sum(ratio < 1 + 1e-9 for ratio in ratios) >= 22
    assert max(ratios) < 1.5


@given(tables(rows=12, keys=3, leaves=4, people=True), class_promises(), st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(table, promises, seed):
    try:
        one = recode(table, promises).recoding
    except Infeasible:
        with pytest.raises(Infeasible):
            recode(shuffled(table, seed), promises)
        return
    other = recode(shuffled(table, seed), promises).recoding
    for name in ("class_of", "low", "high"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("seed", range(6))
def test_equal_keys_are_published_alike(seed):
    table = crowded(seed, rows=60, keys=2)
    recoding = recode(table, KAnonymity(3) & DistinctLDiversity("s0", 2)).recoding
    keys = np.stack([table.codes(c.name) for c in table.keys], axis=1)
    _, key = np.unique(keys, axis=0, return_inverse=True)
    pairs = set(zip(key.ravel().tolist(), recoding.class_of.tolist(), strict=True))
    assert len(pairs) == len(set(key.ravel().tolist()))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 5, 12])
def test_it_loses_no_more_than_the_full_domain_optimum(seed, k):
    table = crowded(seed, rows=200, keys=3)
    promises = Promises((KAnonymity(k),))
    assert recode(table, promises).loss <= lattice(table, promises, Aim()).loss + 1e-12


def test_a_dear_column_is_spared():
    table = crowded(3, rows=80, keys=2)
    promises, much = Promises((KAnonymity(6),)), Fraction(50)

    def widths(weights):
        recoding = recode(table, promises, weights=weights).recoding
        return (recoding.rows @ (recoding.high - recoding.low)).tolist()

    plain = widths({})
    assert widths({"q0": much})[0] < plain[0]
    assert widths({"q1": much})[1] < plain[1]


def test_a_lattice_beyond_the_budget_keeps_the_levels_that_promise_most(monkeypatch):
    table, promises = crowded(5, rows=120, keys=4), Promises((KAnonymity(4),))
    whole = recode(table, promises)
    monkeypatch.setattr(box_walk, "MOST_LEVEL_VECTORS", 9)
    groups = KeyGroups.of(table, {})
    some = box_walk.LevelLattice.of(groups, neighbours_of(groups), 4)
    assert 2 <= len(some.nodes) <= 9 + 2
    part = recode(table, promises)
    assert part.recoding.rows.min() >= 4
    assert part.loss <= 1.5 * whole.loss


@pytest.mark.parametrize("height", [1, 2])
def test_columns_are_as_many_as_they_are(height):
    """More than numpy has dimensions, and of some nothing but leaves may be published."""
    table = crowded(2, rows=60, keys=70)
    free = {"q0", "q1", "q69"} if height == 1 else {c.name for c in table.keys}
    columns = [
        c if c.name in free else replace(c, taxonomy=Taxonomy.flat(["v"])) if c in table.keys else c
        for c in table.columns
    ]
    codes = [table.codes(c.name) * np.int32(c.name in free or c.role == Role.SENSITIVE) for c in columns]
    outcome = recode(Microdata.of_codes(columns, codes), Promises((KAnonymity(4),)))
    assert outcome.recoding.rows.min() >= 4
    assert 0 < outcome.loss < 1


@pytest.mark.parametrize("k", [5, 25])
@pytest.mark.parametrize("limit", ["MOST_LEVEL_VECTORS", "MOST_ENTRIES"])
def test_no_table_gets_much_worse_where_a_budget_ends(limit, k, monkeypatch):
    """Little less than all combinations of levels, or entries of their tables, half of them, a quarter."""
    table, promises = crowded(9, rows=1500, keys=7, leaves=8), Promises((KAnonymity(k),))
    groups = KeyGroups.of(table, {})
    lattice = box_walk.LevelLattice.of(groups, neighbours_of(groups), k)
    needed = {
        "MOST_LEVEL_VECTORS": len(lattice.nodes),
        "MOST_ENTRIES": sum(half.price.size for half in lattice.halves),
    }[limit]
    whole = recode(table, promises).loss
    for share, worse in ((1, 1.0), (0.999, 1.02), (0.5, 1.05), (0.25, 1.15)):
        monkeypatch.setattr(box_walk, limit, int(needed * share))
        assert recode(table, promises).loss <= worse * whole


def test_judged_moves_end_where_large_classes_would_be_looked_at_again_and_again(monkeypatch):
    """Rounds end once so many members were to be looked at; promises are kept all the same."""
    table, promises = crowded(5, rows=400, keys=4), KAnonymity(4) & DistinctLDiversity("s0", 3)
    losses, rounds = [], []
    for most in (judged_moves.MOST_VISITS, 1_200, 0):
        monkeypatch.setattr(judged_moves, "MOST_VISITS", most)
        begun = []
        made = local(table, promises, Aim(), progress=lambda *told, begun=begun: begun.append(told))
        losses.append(made.loss)
        rounds.append(sum(told[2:] == (judged_moves.MOST_ROUNDS,) for told in begun))
        classes = made.recoding.classes(made.recoding.class_of, promises.sensitive)
        assert promises.holds_on(classes).all()
    assert rounds[0] > rounds[1] > rounds[2] == 1
    assert losses[0] <= losses[1] <= losses[2]


def test_tables_of_many_columns_are_sorted_in_some_orders_alone(monkeypatch):
    """Fewer orders find fewer neighbours: the promise is kept, and little more is lost."""
    table, promises = crowded(5, rows=120, keys=4), Promises((KAnonymity(4),))
    whole, near = recode(table, promises), neighbours_of(KeyGroups.of(table, {}))
    monkeypatch.setattr(group_neighbours, "MOST_ORDERS", 1)
    assert (neighbours_of(KeyGroups.of(table, {})) >= 0).sum() < (near >= 0).sum()
    few = recode(table, promises)
    assert few.recoding.rows.min() >= 4
    assert few.loss <= 1.5 * whole.loss


@given(st.integers(0, 10**6), st.integers(1, 4), st.data())
def test_boxes_of_half_of_the_columns_are_told_apart_by_their_nodes(seed, keys, data):
    table = crowded(seed, rows=40, keys=keys)
    groups = KeyGroups.of(table, {})
    side = sorted(data.draw(st.sets(st.integers(0, keys - 1), min_size=1)))
    every = [range(len(groups.levels[j])) for j in side]
    vectors = data.draw(st.lists(st.tuples(*map(st.sampled_from, every)), min_size=1, max_size=8))
    values, value = distinct_rows(groups.leaf[:, side])
    needed = np.array(vectors, np.int32)
    half = box_walk._half(groups, side, needed, values, value.astype(np.int32))
    for row, vector in enumerate(vectors):
        trees = [groups.levels[j] for j in side]
        nodes = [
            tuple(
                int(tree[level][list(tree[0]).index(leaf)])
                for tree, level, leaf in zip(trees, vector, leaves, strict=True)
            )
            for leaves in values.tolist()
        ]
        numbers = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
        assert half.box[row].tolist() == [numbers[node] for node in nodes]
        prices = [sum(int(groups.forest.price[node]) for node in some) for some in nodes]
        assert half.price[row].tolist() == [
            min(price // box_walk.STEP, box_walk.TOO_DEAR) for price in prices
        ]


@given(st.integers(0, 10**6), st.integers(2, 9), st.booleans())
def test_boxes_that_are_too_small_in_one_half_change_nothing(seed, k, judged):
    table = crowded(seed, rows=60, keys=4)
    promises = Promises((KAnonymity(k), *([DistinctLDiversity("s0", 2)] if judged else [])))
    groups = KeyGroups.of(table, {})
    lattice = box_walk.LevelLattice.of(groups, neighbours_of(groups), 4)
    found = box_walk.walk_boxes(groups, lattice, GroupJudge(groups, promises, Aim()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_walk.LevelLattice, "without_small", lambda lattice, least, weight: lattice)  # noqa: ARG005
        plain = box_walk.walk_boxes(groups, lattice, GroupJudge(groups, promises, Aim()))
    assert found[0].tolist() == plain[0].tolist()
    assert found[1] == plain[1]


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([3, 200, 1 << 25]))
def test_no_more_entries_are_walked_than_memory_is_asked_for(seed, keys, most):
    table = crowded(seed, rows=80, keys=keys)
    groups = KeyGroups.of(table, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_walk, "MOST_ENTRIES", most)
        lattice = box_walk.LevelLattice.of(groups, neighbours_of(groups), 4)
        heights = [len(column.taxonomy.levels) for column in table.keys]
        leaves = [len(column.taxonomy.leaves) for column in table.keys]
        told = box_walk.most_entries(heights, leaves, table.distinct)
    assert sum(half.price.size for half in lattice.halves) <= told


@given(tables(rows=9, keys=3, leaves=4, min_rows=1))
def test_prices_add_up_to_the_loss(table):
    groups = KeyGroups.of(table, {})
    outcome = recode(table, Promises((KAnonymity(2),))) if table.rows > 1 else None
    assert all(int(price) <= WHOLE_PRICE for price in groups.forest.price)
    if outcome is None:
        return
    widths = (outcome.recoding.high - outcome.recoding.low).astype(float) - 1
    domains = np.array([max(2, len(c.taxonomy.leaves)) - 1.0 for c in table.keys])
    mean = float(outcome.recoding.rows @ (widths / domains).mean(axis=1)) / table.rows
    assert outcome.loss == pytest.approx(mean)


def test_missing_cells_are_joined_with_others_only_at_the_root():
    tree = Taxonomy.grow(["*", "A", "a", "b", None], [-1, 0, 1, 1, 0])
    column = Column("q", Role.QUASI, tree)
    table = Microdata.of_codes([column], [np.array([0, 1, 2, 2], np.int32)])
    recoding = recode(table, Promises((KAnonymity(2),))).recoding
    assert sorted(recoding.texts(0)[0], key=str) == ["A", None]
    three = Microdata.of_codes([column], [np.array([0, 1, 2], np.int32)])
    assert recode(three, Promises((KAnonymity(2),))).recoding.texts(0)[0] == ["*"]


def test_what_cannot_be_kept_is_refused():
    table = crowded(0, rows=10)
    with pytest.raises(Infeasible, match="even with every key column fully generalized"):
        recode(table, Promises((KAnonymity(11),)))
    with pytest.raises(UsageError, match="one recoding for all classes"):
        recode(table, Promises((_Coarse(),)))
