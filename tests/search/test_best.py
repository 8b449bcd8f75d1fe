"""`best` is never worse than any search that it may use, nor along the ladders."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given

from search.checks import class_promises, crowded
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.policy.searches import BUILT_IN
from sfumato.search import best as best_module
from sfumato.search.best import (
    LADDER_OF_PEOPLE,
    LADDER_OF_SUPPRESSION,
    ORDER,
    _most_rungs,
    _nearest,
    _stricter,
    best,
)
from sfumato.search.contract import Aim, Preparations, find
from sfumato.system.errors import Infeasible, UsageError
from strategies import tables

pytestmark = pytest.mark.slow


def single(name, table, promises, aim):
    """The loss of one search, `None` where it finds nothing or cannot keep the promises."""
    if not BUILT_IN[name].any_promise and not promises.monotone:
        return None
    try:
        return find(name)(table, promises, aim).loss
    except Infeasible:
        return None


def test_every_other_built_in_search_is_tried():
    assert set(ORDER) == set(BUILT_IN) - {"best"}


@given(tables(rows=10, keys=2, leaves=4), class_promises())
def test_no_single_search_is_better(table, promises):
    losses = [single(name, table, promises, Aim()) for name in ORDER]
    found = [loss for loss in losses if loss is not None]
    if not found:
        with pytest.raises(Infeasible):
            best(table, promises, Aim())
        return
    outcome = best(table, promises, Aim())
    assert outcome.loss <= min(found)
    assert outcome.search in ORDER
    assert min(one.loss for one in outcome.compared) == outcome.loss


@pytest.mark.parametrize("seed", range(8))
def test_less_is_never_worse_along_the_ladder_of_people(seed):
    table = crowded(seed, rows=40, keys=2)
    promises = [KAnonymity(k) & DistinctLDiversity("s0", 2) for k in LADDER_OF_PEOPLE[:5]]
    losses = [best(table, some, Aim()).loss for some in promises]
    assert losses == sorted(losses)


@pytest.mark.parametrize("seed", range(4))
def test_more_suppression_is_never_worse(seed):
    table = crowded(seed, rows=60, keys=3)
    promises = Promises((KAnonymity(5),))
    losses = [best(table, promises, Aim(suppress=share)).loss for share in LADDER_OF_SUPPRESSION]
    assert losses == sorted(losses, reverse=True)


def test_rungs_that_cannot_be_kept_are_left_out():
    table = crowded(1, rows=12, keys=2)
    outcome = best(table, Promises((KAnonymity(10),)), Aim(suppress=Fraction(1, 10)))
    assert outcome.recoding.rows.min() >= 10


def test_what_no_search_can_keep_is_refused():
    with pytest.raises(Infeasible, match=r"fully generalized|suppressed"):
        best(crowded(0, rows=10), Promises((KAnonymity(11),)), Aim())


def test_the_comparison_tells_what_each_search_gave():
    table = crowded(2, rows=50, keys=3)
    outcome = best(table, Promises((KAnonymity(4),)), Aim())
    by_name = {one.search: one for one in outcome.compared}
    assert list(by_name) == list(ORDER)
    for name, one in by_name.items():
        plain = find(name)(table, Promises((KAnonymity(4),)), Aim())
        assert one.loss <= plain.loss
        assert replace(one, seconds=0).suppressed == 0
    assert by_name["lattice"].optimal and by_name["local"].lost == 0


def test_a_search_that_cannot_count_so_finely_is_left_out():
    table, promises = crowded(3, rows=40, keys=2), Promises((KAnonymity(4),))
    fine = {"q0": Fraction(10**25 + 1, 10**25 + 7), "q1": Fraction(3**50 + 2, 3**50)}
    with pytest.raises(UsageError, match="too fine"):
        find("optimum")(table, promises, Aim(weights=fine))
    outcome = best(table, promises, Aim(weights=fine))
    assert "too fine" in outcome.left_out["optimum"]
    assert "optimum" not in {one.search for one in outcome.compared}


def test_rungs_come_nearest_first_and_every_one_once():
    places = list(_nearest([3, 2]))
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert list(_nearest([1])) == [(0,)]


def test_stricter_rungs_keep_what_is_asked():
    table = crowded(3, rows=40, keys=2)
    asked = [KAnonymity(4), DistinctLDiversity("s0", 2)]
    stricter = [_stricter(promise, table) for promise in asked]
    assert [p.k for p in stricter[0]] == [5, 10, 20]
    assert [p.l for p in stricter[1]] == [3]


def test_wide_tables_with_many_promises_are_asked_for_fewer_rungs():
    """Every rung of k and l is within the budget of a table that is not wide."""
    few, many = Promises((KAnonymity(2),)), Promises((KAnonymity(2), *(DistinctLDiversity("s0", 2),) * 5))
    plain, wide = crowded(1, rows=600, keys=2), crowded(1, rows=600, keys=9)
    assert _most_rungs("local", wide, many) <= _most_rungs("local", wide, few)
    for name in ("mondrian", "optimum", "top-down"):
        assert _most_rungs(name, wide, many) < _most_rungs(name, wide, few)
    for name in ("local", "mondrian", "optimum", "top-down"):
        assert _most_rungs(name, wide, many) < _most_rungs(name, plain, many)
    small = crowded(1, rows=100, keys=3)
    assert _most_rungs("local", small, few) >= len(LADDER_OF_PEOPLE) * 5


def test_tables_of_many_levels_are_recoded_locally_for_fewer_rungs(monkeypatch):
    """What a rung costs is the boxes that it walks through, not the rows of the table alone."""
    few, table = Promises((KAnonymity(2),)), crowded(1, rows=600, keys=3)
    monkeypatch.setattr(best_module, "MOST_BOXES_OF_RUNGS", 10 * table.distinct)
    assert 1 <= _most_rungs("local", table, few) < _most_rungs("mondrian", table, few)


def test_what_is_made_of_the_table_alone_is_made_once(monkeypatch):
    made = []
    find_made = Preparations.find

    def find_and_tell(self, key, make):
        return find_made(self, key, lambda: made.append(key) or make())

    monkeypatch.setattr(Preparations, "find", find_and_tell)
    table, promises = crowded(4, rows=60, keys=3), Promises((KAnonymity(3),))
    outcome = best(table, promises, Aim(compared=("local",)))
    assert [key[0] for key in dict.fromkeys(made)] == [key[0] for key in made]
    assert {key[0] for key in made} == {"groups", "boxes"}
    assert outcome.loss <= find("local")(table, promises, Aim()).loss


def test_a_rung_with_less_suppression_than_missing_cells_need_is_no_refusal():
    table = replace(crowded(3, rows=22, keys=2), dropped=1)
    outcome = best(table, Promises((KAnonymity(2), TCloseness("s0", Fraction(1, 2)))), Aim(Fraction(1, 23)))
    assert outcome.recoding.suppressed == 1


@given(tables(rows=10, keys=2, leaves=4), class_promises())
def test_no_single_search_is_better_where_suppressed_rows_have_a_price(table, promises):
    """The exact search stops at what was found before it; rows that it gets back must not be forgotten."""
    aim = Aim(suppress=Fraction(1, 2), price=Fraction(3))
    found = [loss for name in ORDER if (loss := single(name, table, promises, aim)) is not None]
    if found:
        assert best(table, promises, aim).loss <= min(found) + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_search_finds_what_is_below_a_bound_and_nothing_else(seed):
    table, promises = crowded(seed, rows=40, keys=2), Promises((KAnonymity(3),))
    search = find("optimum")
    least = search(table, promises, Aim())
    assert search(table, promises, Aim(beat=least.loss)).loss == least.loss
    stopped = search(table, promises, Aim(beat=least.loss / 2))
    assert stopped.loss >= least.loss and (not stopped.optimal or stopped.loss == least.loss)


def test_the_bound_of_a_request_for_more_is_no_bound_of_what_was_asked(monkeypatch):
    """The exact search finds the best for a larger k first, of what the same steps allow."""
    monkeypatch.setattr(best_module, "MOST_STEPS_OF_OPTIMUM", 1000)
    table, promises = crowded(584, rows=15, keys=3), Promises((KAnonymity(3),))
    aim = Aim(loss="entropy", compared=("optimum",))
    found, exact = best(table, promises, aim), find("optimum")(table, promises, aim)
    assert exact.optimal and exact.loss < found.loss
    assert not found.optimal and found.bound is not None and found.bound <= exact.loss
