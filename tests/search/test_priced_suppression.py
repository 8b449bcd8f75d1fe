"""Suppression at a price: every search weighs rows against detail, and none is better than enumeration."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.exhaustive_lattice import exhaustive
from oracles.withheld_keys import global_recodings, least_loss, local_recodings
from search.checks import class_promises, crowded, shuffled
from sfumato.models.confidence.promise import ConfidenceBounding
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import EntropyLDiversity
from sfumato.search import optimum
from sfumato.search.contract import Aim, find
from sfumato.search.lattice import lattice
from sfumato.search.loss import MEASURES, measure
from sfumato.search.suppression import boxes_of, recoded
from sfumato.search.top_down import specialize, top_down
from sfumato.system.errors import Infeasible
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Taxonomy
from strategies import all_recodings, tables

pytestmark = pytest.mark.slow

SEARCHES = ("top-down", "lattice", "mondrian", "optimum", "local")
FAMILIES = {"top-down": global_recodings, "optimum": global_recodings, "local": local_recodings}
SHARES = st.sampled_from([Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)])
PRICES = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(3)])


def loss_of(name, table, promises, aim):
    try:
        return find(name)(table, promises, aim)
    except Infeasible:
        return None


def outliers(*, many=12, odd=1):
    """Many people in one corner of the table, and a few far away from everybody."""
    tree = Taxonomy.grow(["*", "A", "B", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2])
    columns = [Column(f"q{j}", Role.QUASI, tree) for j in range(3)]
    codes = [np.array([i % 2 for i in range(many)] + [3] * odd, np.int32) for j in range(3)]
    return Microdata.of_codes(columns, codes)


@pytest.mark.parametrize("name", SEARCHES)
@given(
    table=tables(rows=9, keys=2, leaves=4, min_rows=1), promises=class_promises(), share=SHARES, price=PRICES
)
def test_what_is_published_keeps_the_promises_within_the_limit(name, table, promises, share, price):
    aim = Aim(share, price=price)
    outcome = loss_of(name, table, promises, aim)
    if outcome is None:
        return
    recoding = outcome.recoding
    assert recoding.table is table and recoding.suppressed <= aim.allowed(table) and recoding.count
    assert outcome.loss == measure("loss", recoding, outcome.levels, price=price)
    classes = Classes.of(table, boxes_of(recoding)[1], sensitive=promises.sensitive)
    assert promises.holds_on(classes).all()
    plain = loss_of(name, table, promises, replace(aim, suppress=Fraction(0)))
    assert plain is None or outcome.loss <= plain.loss
    assert plain is None or outcome.loss < plain.loss or not recoding.suppressed


@pytest.mark.parametrize("name", sorted(FAMILIES))
@given(
    table=tables(rows=5, keys=2, leaves=3, min_rows=1), promises=class_promises(), share=SHARES, price=PRICES
)
def test_no_search_is_better_than_enumeration(name, table, promises, share, price):
    aim = Aim(share, price=price)
    outcome = loss_of(name, table, promises, aim)
    least = least_loss(table, promises, aim, FAMILIES[name])
    if outcome is not None:
        assert least is not None and outcome.loss >= least - 1e-12
        assert outcome.loss <= least + 1e-12 or not outcome.optimal
        assert outcome.bound is None or outcome.bound <= least + 1e-12
    elif name != "optimum" and least is not None:
        assert not promises.holds_on(Classes.of(table, np.zeros(table.distinct, np.int32))).all()


@pytest.mark.parametrize(("seed", "price"), [(5, 1), (18, 1), (57, Fraction(1, 2)), (58, Fraction(1, 4))])
def test_cuts_without_suppressed_rows_are_not_called_the_best_where_rows_may_be(seed, price):
    """The best cuts lose more there than others that suppress rows, which no guess found."""
    table, promises = crowded(seed, rows=14, keys=2), Promises((KAnonymity(3),))
    aim = Aim(Fraction(1, 4), price=Fraction(price))
    outcome = find("optimum")(table, promises, aim)
    recodings = [recoded(table, cuts, promises) for cuts in all_recodings(table)]
    least = min(aim.loss_of(r) for r in recodings if r.suppressed <= aim.allowed(table))
    assert outcome.loss > least + 1e-9
    assert not outcome.optimal and outcome.bound is None
    alone = find("optimum")(table, promises, replace(aim, suppress=Fraction(0)))
    assert alone.optimal and alone.bound == alone.loss


@pytest.mark.parametrize("seed", [15, 16, 17, 23])
def test_a_lattice_proves_nothing_at_a_price_below_that_of_the_roots(seed):
    """A node that suppresses more loses less there than the sums of its columns say."""
    table, promises = crowded(seed, rows=9, keys=3), Promises((KAnonymity(2),))
    aim = Aim(Fraction(1, 2), price=Fraction(1, 4))
    outcome = lattice(table, promises, aim)
    assert outcome.loss > exhaustive(table, promises, aim).score
    assert not outcome.optimal and outcome.bound is None
    assert lattice(table, promises, replace(aim, suppress=Fraction(0))).optimal


@pytest.mark.parametrize("seed", [137, 187, 244])
def test_rows_left_out_beforehand_have_their_price_while_cuts_are_compared(seed):
    """The geometric mean of the columns ranks cuts by how much is lost already."""
    table, promises = replace(crowded(seed, rows=8, keys=2, leaves=5), dropped=1), Promises((KAnonymity(2),))
    aim = Aim(Fraction(1, 9), "geometric", price=Fraction(10))
    outcome = find("optimum")(table, promises, aim)
    recodings = [recoded(table, cuts, promises) for cuts in all_recodings(table)]
    least = min(aim.loss_of(r) for r in recodings if r.suppressed == 1)
    assert outcome.optimal and outcome.loss == pytest.approx(least)
    assert outcome.bound == pytest.approx(least)


@pytest.mark.parametrize("loss", ["loss", "precision", "discernibility"])
@pytest.mark.parametrize("price", [Fraction(1, 4), Fraction(3)])
@pytest.mark.parametrize("seed", [1, 2, 3, 6])
def test_a_bound_counts_rows_left_out_beforehand_at_their_price(seed, price, loss, monkeypatch):
    table, promises = replace(crowded(seed, rows=12, keys=2), dropped=3), Promises((KAnonymity(3),))
    aim = Aim(Fraction(1, 5), loss, price=price)
    monkeypatch.setattr(optimum, "MOST_STATES", 3)
    outcome = find("optimum")(table, promises, aim)
    recodings = [recoded(table, cuts, promises) for cuts in all_recodings(table)]
    least = min(aim.loss_of(r) for r in recodings if r.suppressed == table.dropped)
    raw = aim.loss_of(Recoding.of_cuts(table, {c.name: Cut.level(c.taxonomy, 0) for c in table.keys}))
    assert raw - 1e-12 <= outcome.bound <= least + 1e-12


@given(
    tables(rows=10, keys=2, leaves=4, min_rows=1),
    class_promises(),
    SHARES,
    PRICES,
    st.sampled_from(sorted(MEASURES)),
)
def test_the_lattice_is_exact_at_every_price(table, promises, share, price, loss):
    aim = Aim(share, loss, price=price)
    expected = exhaustive(table, promises, aim)
    outcome = loss_of("lattice", table, promises, aim)
    assert (outcome is None) == (expected is None)
    assert outcome is None or outcome.loss == expected.score


@pytest.mark.parametrize("name", SEARCHES)
def test_one_person_far_away_is_suppressed_at_a_low_price_and_not_at_a_high_one(name):
    table, promises = outliers(), Promises((KAnonymity(4),))
    cheap = find(name)(table, promises, Aim(Fraction(1, 10), price=Fraction(1)))
    dear = find(name)(table, promises, Aim(Fraction(1, 10), price=Fraction(1000)))
    assert cheap.recoding.suppressed == 1 and cheap.loss == pytest.approx(1 / 13)
    assert dear.recoding.suppressed == 0 and dear.loss > cheap.loss


@pytest.mark.parametrize("name", ["mondrian", "optimum", "local"])
def test_without_a_price_nothing_is_suppressed(name):
    table, promises = outliers(), Promises((KAnonymity(4),))
    assert find(name)(table, promises, Aim(Fraction(1, 10))).recoding.suppressed == 0


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_does_not_matter(name, seed):
    table, promises = crowded(seed, rows=40, keys=3), Promises((KAnonymity(4),))
    aim = Aim(Fraction(1, 10), price=Fraction(3, 2))
    one = find(name)(table, promises, aim).recoding
    other = find(name)(shuffled(table, seed), promises, aim).recoding
    assert np.array_equal(one.class_of, other.class_of) and np.array_equal(one.low, other.low)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("seed", range(4))
def test_a_larger_limit_is_never_worse(name, seed):
    table, promises = crowded(seed, rows=60, keys=3), Promises((KAnonymity(5),))
    shares = [Fraction(percent, 100) for percent in (0, 1, 2, 5, 10)]
    losses = [find(name)(table, promises, Aim(s, price=Fraction(1))).loss for s in shares]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize(
    "promise", [EntropyLDiversity("s0", Fraction(2)), ConfidenceBounding("s0", Fraction(1, 2))]
)
def test_top_down_starts_where_the_root_breaks_a_promise_that_suppression_mends(promise):
    tree = Taxonomy.grow(["*", "A", "B", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2])
    columns = [Column("q0", Role.QUASI, tree), Column("s0", Role.SENSITIVE, Taxonomy.flat(["x", "y"]))]
    where = [0, 0, 1, 1, 2, 2, 3, 3, 3]
    has = [0, 1, 0, 1, 0, 1, 0, 0, 0]
    table = Microdata.of_codes(columns, [np.array(where, np.int32), np.array(has, np.int32)])
    promises, aim = Promises((promise,)), Aim(Fraction(1, 2))
    everything = Classes.of(table, np.zeros(table.distinct, np.int32), sensitive=("s0",))
    assert not promises.holds_on(everything).all()
    outcome = specialize(table, promises, aim)
    assert outcome.recoding.suppressed == 3 and outcome.loss <= lattice(table, promises, aim).loss
    priced = top_down(table, promises, replace(aim, price=Fraction(3)))
    assert priced.recoding.suppressed == 3
    with pytest.raises(Infeasible, match=r"Allow 3 suppressed rows"):
        top_down(table, promises, Aim(Fraction(1, 9)))
