"""Lattices that are too large to be held, or to be searched within the steps allowed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles.exhaustive_lattice import exhaustive
from sfumato.core.classes import Classes
from sfumato.core.errors import Infeasible
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.taxonomy import Taxonomy
from sfumato.promises.distinct_l_diversity import DistinctLDiversity
from sfumato.promises.entropy_l_diversity import EntropyLDiversity
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.protection.controls import permitted_levels
from sfumato.protection.loss import MEASURES
from sfumato.protection.searches import lattice as full_domain
from sfumato.protection.searches import wide_lattice
from sfumato.protection.searches.lattice import lattice
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.wide_lattice import rungs_of
from strategies import tables

WANTED = (
    KAnonymity(2) & DistinctLDiversity("s0", 2),
    KAnonymity(3) & EntropyLDiversity("s0", Fraction(3, 2)),
)


@pytest.mark.parametrize(
    ("limit", "block"), [("MOST_NODES", 20_000), ("MOST_NODES", 4), ("MOST_GROUPED", 20_000)]
)
@given(
    table=tables(rows=10, keys=3, people=True),
    wanted=st.sampled_from(WANTED),
    loss=st.sampled_from(sorted(MEASURES)),
    share=st.sampled_from([Fraction(0), Fraction(1, 5)]),
)
def test_the_best_so_far_is_between_the_bound_and_what_else_there_is(
    limit, block, table, wanted, loss, share
):
    assume(table.rows)
    aim = Aim(share, loss)
    expected = exhaustive(table, wanted, aim)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_domain, limit, 0)
        patch.setattr(wide_lattice, "BLOCK_NODES", block)
        if expected is None:
            with pytest.raises(Infeasible):
                lattice(table, wanted, aim)
            return
        found = lattice(table, wanted, aim)
    assert wanted.holds_on(Classes.of(table, found.recoding.class_of, sensitive=["s0"])).all()
    assert found.recoding.suppressed <= aim.allowed(table)
    assert found.loss >= expected.score * (1 - 1e-9)
    assert found.bound is None or found.bound <= expected.score * (1 + 1e-9)
    assert not found.optimal or found.loss == pytest.approx(expected.score)


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


def test_thirty_columns_have_an_answer_with_a_bound():
    random = np.random.default_rng(8)
    tree = Taxonomy.grow(["*", "low", "high", "0", "1", "2", "3"], [-1, 0, 0, 1, 1, 2, 2])
    columns = [Column(f"q{j}", Role.QUASI, tree) for j in range(30)]
    codes = [random.choice(4, 300, p=random.dirichlet(np.ones(4))).astype(np.int32) for _ in columns]
    found = lattice(Microdata.of_codes(columns, codes), KAnonymity(3) & KAnonymity(2), Aim())
    assert found.levels is not None and found.bound is not None
    assert 0 < found.bound <= found.loss < 1
