"""The exact search over subtree cuts, for promises of every kind."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from models.freeform.node_tables import random_tree
from oracles import freeform as definition
from sfumato.models.contract import Promises
from sfumato.models.freeform.inference import FreeColumn
from sfumato.models.freeform.promise import Freeform
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.policy.searches import BUILT_IN
from sfumato.search.contract import Aim
from sfumato.search.optimum import mean_loss, optimum, search
from sfumato.table.classes import Classes
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.searches import check_search
from strategies import all_cuts

pytestmark = pytest.mark.slow


def random_table(rng):
    rows, m = int(rng.integers(4, 25)), int(rng.integers(1, 4))
    columns = [Column(f"q{j}", Role.QUASI, random_tree(rng, 4, f"q{j}")) for j in range(m)]
    columns.append(Column("s", Role.SENSITIVE, Taxonomy.flat(["a", "b", "c"])))
    codes = [rng.integers(0, len(c.taxonomy.leaves), rows) for c in columns]
    codes[-1][:2] = [0, 1]
    return Microdata.of_codes(columns, codes)


def keeps(table, promises, cuts):
    class_of, _ = classes_under(table, cuts)
    classes = Classes.of(table, class_of, sensitive=promises.sensitive)
    if not promises.holds_on(classes).all():
        return False
    return not any(definition.breaches(p.node_table(table, cuts), p.threat) for p in promises.of_table)


@pytest.mark.parametrize(
    "made",
    [
        (KAnonymity(2),),
        (KAnonymity(3), DistinctLDiversity("s", 2)),
        (TCloseness("s", Fraction(1, 3)),),
        (Freeform(Fraction(1, 3)), KAnonymity(2)),
    ],
    ids=str,
)
def test_nothing_that_keeps_the_promises_is_better(made):
    rng = np.random.default_rng(len(str(made)))
    for _ in range(30):
        table = random_table(rng)
        told = tuple(
            Freeform(p.threat, columns={"q0": FreeColumn((table.keys[0].taxonomy.leaf_labels[0],))})
            if isinstance(p, Freeform)
            else p
            for p in made
        )
        promises = Promises(told)
        losses = []
        for choice in itertools.product(*(all_cuts(c.taxonomy) for c in table.keys)):
            cuts = {c.name: cut for c, cut in zip(table.keys, choice, strict=True)}
            if keeps(table, promises, cuts):
                losses.append(mean_loss(table, cuts))
        if not losses:
            continue
        found = optimum(table, promises)
        assert found.optimal and found.loss == min(losses) and keeps(table, promises, found.cuts)
        outcome = search(table, promises, Aim())
        assert outcome.optimal and outcome.loss == pytest.approx(float(min(losses)), abs=1e-12)


def test_the_seam():
    check_search(search, ability=BUILT_IN["optimum"], tables=25)
