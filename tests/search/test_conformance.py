"""The built-in searches keep to the seam, and the suite notices those that do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.models.contract import Promises
from sfumato.policy.searches import BUILT_IN, LOSSES, Ability
from sfumato.search import best
from sfumato.search.contract import Outcome, find, work_of
from sfumato.search.lattice import lattice
from sfumato.search.loss import measure
from sfumato.search.mondrian import mondrian
from sfumato.system.errors import Infeasible
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding
from sfumato.testing.searches import check_search

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_searches(name):
    check_search(find(name), ability=BUILT_IN[name])


def test_every_ability_has_a_search_and_the_other_way_round():
    assert all(find(name).__module__.startswith("sfumato.search.") for name in BUILT_IN)
    assert tuple(name for name in best.ORDER if work_of(name).rows_of_rungs > 0) == best.ORDER


def roots(table, promises, aim, *, progress):  # noqa: ARG001
    cuts = {c.name: Cut.root(c.taxonomy) for c in table.keys}
    recoding = Recoding.of_cuts(table, cuts)
    return Outcome(recoding, measure(aim.loss, recoding, weights=aim.weights), checked=1)


def careless(table, promises, aim, *, progress):
    return lattice(table, Promises(promises.members[:1]), aim, progress=progress)


def wasteful(table, promises, aim, *, progress):
    return lattice(table, promises, replace(aim, suppress=Fraction(1)), progress=progress)


def boastful(table, promises, aim, *, progress):
    return replace(lattice(table, promises, aim, progress=progress), loss=0.0)


def narrow(table, promises, aim, *, progress):
    found = mondrian(table, promises, aim, progress=progress)
    high = found.recoding.high.copy()
    high[:, 0] = found.recoding.low[:, 0] + 1
    return replace(found, recoding=replace(found.recoding, high=high))


def despairing(table, promises, aim, *, progress):
    if len(table.keys) > 1:
        raise Infeasible("too many columns", remedy="Have fewer.")
    return lattice(table, promises, aim, progress=progress)


@pytest.mark.parametrize(
    ("search", "sentence"),
    [
        (roots, "cannot keep|break"),
        (careless, "the published classes break"),
        (wasteful, "rows where"),
        (boastful, "tells another loss"),
        (narrow, "does not cover"),
        (despairing, "the roots keep"),
    ],
)
def test_what_is_wrong_is_noticed(search, sentence):
    losses = ("loss",)
    with pytest.raises(AssertionError, match=sentence):
        check_search(search, ability=Ability(losses=losses, any_promise=False))


def test_a_search_that_depends_on_more_than_the_rows_is_noticed():
    calls = iter(range(10**6))

    def fickle(table, promises, aim, *, progress):
        found = lattice(table, promises, aim, progress=progress)
        order = np.roll(np.arange(found.recoding.count), next(calls)).astype(np.int32)
        places = np.append(np.argsort(order), -1).astype(np.int32)
        return replace(
            found,
            recoding=replace(
                found.recoding,
                class_of=places[found.recoding.class_of],
                low=found.recoding.low[order],
                high=found.recoding.high[order],
            ),
        )

    with pytest.raises(AssertionError, match="the same rows give another result"):
        check_search(fickle, ability=Ability(losses=("loss",)))


def test_a_search_says_what_it_can_do():
    with pytest.raises(AssertionError, match="give it an attribute `ability`"):
        check_search(roots)
    with pytest.raises(AssertionError, match="its losses are some of"):
        check_search(roots, ability=Ability(losses=("beauty",)))
    assert set(BUILT_IN["lattice"].losses) == set(LOSSES)
