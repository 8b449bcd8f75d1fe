"""Controls in every search, against plain enumeration of what they permit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles.controls import (
    best_permitted_node,
    blocks_of,
    limited,
    permitted_recodings,
    spares,
    with_ceilings,
    within_ceilings,
)
from oracles.partitions_of_keys import partitions, recoding_of
from search.checks import class_promises, crowded
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.policy.searches import BUILT_IN, LOSSES
from sfumato.search import lattice as full_domain
from sfumato.search.contract import Aim, find
from sfumato.search.controls import broken_control
from sfumato.search.loss import measure
from sfumato.system.errors import Infeasible
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding
from strategies import tables

pytestmark = pytest.mark.slow

SEARCHES = [name for name in BUILT_IN if name != "best"]
WEIGHTS = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1), Fraction(3)])


def outcome_of(name, table, promises, aim):
    try:
        return find(name)(table, promises, aim)
    except Infeasible as refused:
        assert refused.message
        assert refused.remedy
        return None


def holds(recoding, promises):
    classes = Classes.of(recoding.table, recoding.class_of, sensitive=promises.sensitive)
    return bool(promises.holds_on(classes).all())


def blocks_hold(table, promises):
    """Whether every block of rows that may not be told apart further up keeps the promises by itself."""
    block = np.zeros(table.distinct, np.int32)
    for number, rows in enumerate(blocks_of(table)):
        block[rows] = number
    return bool(promises.holds_on(Classes.of(table, block, sensitive=promises.sensitive)).all())


@pytest.mark.parametrize("name", SEARCHES)
@given(table=limited(tables(rows=12, keys=2, leaves=4)), promises=class_promises())
def test_no_class_is_above_a_ceiling_and_what_can_be_kept_is_found(name, table, promises):
    assume(promises.monotone)
    outcome = outcome_of(name, table, promises, Aim())
    assert (outcome is not None) == blocks_hold(table, promises)
    if outcome is not None:
        assert within_ceilings(outcome.recoding)
        assert holds(outcome.recoding, promises)
        assert not broken_control(outcome.recoding, Aim())


@pytest.mark.parametrize("limit", [None, "FEW_NODES", "FEWEST_FOR_SMALL_CLASSES"])
@given(
    table=limited(tables(rows=10, keys=2, leaves=4)),
    promises=class_promises(),
    loss=st.sampled_from(sorted(LOSSES)),
    share=st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2)]),
    weights=st.tuples(WEIGHTS, WEIGHTS).filter(any),
    moves=st.booleans(),
    data=st.data(),
)
def test_the_lattice_finds_the_best_permitted_node(limit, table, promises, loss, share, weights, moves, data):
    labels = [(c.name, label) for c in table.keys for label in c.taxonomy.labels]
    named = data.draw(st.lists(st.sampled_from(labels), max_size=2))
    never = {name: tuple(label for column, label in named if column == name) for name, _ in named}
    aim = Aim(
        share,
        loss,
        {f"q{j}": w for j, w in enumerate(weights)},
        together=(("q0", "q1"),) if moves else (),
        never_suppress=never,
    )
    wanted = best_permitted_node(table, promises, aim)
    with pytest.MonkeyPatch.context() as patch:
        if limit:
            patch.setattr(full_domain, limit, 0)
        outcome = outcome_of("lattice", table, promises, aim)
    assert (outcome is None) == (wanted is None)
    if outcome is not None and wanted is not None:
        assert tuple(outcome.levels.values()) == wanted.levels
        assert not broken_control(outcome.recoding, aim)


@given(table=limited(tables(rows=9, keys=2, leaves=4)), promises=class_promises(), weight=WEIGHTS)
def test_the_optimum_is_the_best_permitted_recoding(table, promises, weight):
    assume(promises.monotone)
    weights = {"q1": weight}
    recodings = [Recoding.of_cuts(table, cuts) for cuts in permitted_recodings(table)]
    losses = [measure("loss", some, weights=weights) for some in recodings if holds(some, promises)]
    outcome = outcome_of("optimum", table, promises, Aim(weights=weights))
    assert (outcome is None) == (not losses)
    if outcome is not None:
        assert outcome.optimal
        assert outcome.loss == pytest.approx(min(losses), abs=1e-12)


@given(table=limited(tables(rows=10, keys=2, leaves=4)), promises=class_promises())
def test_top_down_is_minimal_below_the_ceilings(table, promises):
    assume(promises.monotone)
    outcome = outcome_of("top-down", table, promises, Aim())
    if outcome is None:
        return
    cuts = outcome.recoding.cuts
    for name, cut in cuts.items():
        for node in cut.specializations.tolist():
            finer = Recoding.of_cuts(table, {**cuts, name: cut.specialize(node)})
            assert finer.count == outcome.recoding.count or not holds(finer, promises)


@given(table=limited(tables(rows=5, keys=2, leaves=3)), promises=class_promises(), weight=WEIGHTS)
def test_local_recoding_is_no_better_than_every_permitted_partition(table, promises, weight):
    assume(promises.monotone and table.rows)
    codes = np.stack([table.codes(c.name) for c in table.keys], axis=1)
    keys, key_of_row = np.unique(codes, axis=0, return_inverse=True)
    weights, losses = {"q0": weight}, []
    for class_of_key in partitions(len(keys)):
        recoding = recoding_of(table, key_of_row.ravel(), class_of_key)
        if within_ceilings(recoding) and holds(recoding, promises):
            losses.append(measure("loss", recoding, weights=weights))
    outcome = outcome_of("local", table, promises, Aim(weights=weights))
    assert (outcome is None) == (not losses)
    if outcome is not None:
        assert outcome.loss >= min(losses) - 1e-12


@given(
    table=limited(tables(rows=12, keys=2, leaves=4, people=True)),
    promises=class_promises(),
    share=st.sampled_from([Fraction(1, 4), Fraction(1, 2)]),
    data=st.data(),
)
def test_top_down_suppresses_no_row_that_it_may_not(table, promises, share, data):
    assume(promises.monotone)
    label = data.draw(st.sampled_from(table.keys[0].taxonomy.labels))
    aim = Aim(share, never_suppress={"q0": (label,)})
    outcome = outcome_of("top-down", table, promises, aim)
    if outcome is None:
        coarsest = {c.name: Cut.coarsest(c.taxonomy) for c in table.keys}
        whole = Recoding.of_cuts(table, coarsest)
        assert not holds(whole, promises)
    else:
        assert spares(outcome.recoding, aim)
        assert within_ceilings(outcome.recoding)
        assert not broken_control(outcome.recoding, aim)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_search_is_no_worse_than_any_under_controls(seed):
    table = with_ceilings(crowded(seed, rows=60, keys=3), [1, None, 1 + seed % 2])
    promises = KAnonymity(3) & DistinctLDiversity("s0", 2)
    aim = Aim(weights={"q0": Fraction(3), "q2": Fraction(0)})
    found = [one for name in SEARCHES if (one := outcome_of(name, table, promises, aim)) is not None]
    outcome = outcome_of("best", table, promises, aim)
    assert (outcome is None) == (not found)
    if outcome is not None:
        assert outcome.loss <= min(one.loss for one in found)
        assert within_ceilings(outcome.recoding)


def test_the_best_search_leaves_out_searches_without_levels_where_columns_move_together():
    table, aim = crowded(1, rows=60, keys=3), Aim(together=(("q0", "q2"),))
    outcome = find("best")(table, Promises((KAnonymity(3),)), aim)
    assert outcome.search == "lattice"
    assert [one.search for one in outcome.compared] == ["lattice"]
    assert outcome.levels["q0"] == outcome.levels["q2"]


def test_a_column_that_weighs_nothing_is_lost_first():
    table, promises = crowded(2, rows=40, keys=2), Promises((KAnonymity(5),))
    free = find("lattice")(table, promises, Aim(weights={"q0": Fraction(0)}))
    dear = find("lattice")(table, promises, Aim(weights={"q0": Fraction(9)}))
    assert free.levels["q0"] == table.keys[0].taxonomy.height
    assert dear.levels["q0"] < free.levels["q0"]


@pytest.mark.parametrize("name", SEARCHES)
def test_the_order_of_rows_does_not_matter_under_controls(name):
    table = with_ceilings(crowded(4, rows=80, keys=3), [1, None, 1])
    promises, aim = Promises((KAnonymity(2),)), Aim()
    one, again = (outcome_of(name, some, promises, aim) for some in (table, replace(table)))
    assert one is not None
    assert np.array_equal(one.recoding.low, again.recoding.low)


@pytest.mark.parametrize("name", SEARCHES)
@given(
    table=limited(tables(rows=12, keys=2, leaves=4)),
    promises=class_promises(),
    share=st.sampled_from([Fraction(1, 4), Fraction(1, 2)]),
    data=st.data(),
)
def test_no_search_withholds_a_row_that_has_to_stay(name, table, promises, share, data):
    assume(promises.monotone)
    label = data.draw(st.sampled_from(table.keys[0].taxonomy.labels))
    aim = Aim(share, price=Fraction(1, 2), never_suppress={"q0": (label,)})
    outcome = outcome_of(name, table, promises, aim)
    if outcome is None:
        assert not blocks_hold(table, promises)
    else:
        assert outcome.recoding.suppressed <= aim.allowed(table)
        assert not broken_control(outcome.recoding, aim)
        assert spares(outcome.recoding, aim)
        assert within_ceilings(outcome.recoding)
