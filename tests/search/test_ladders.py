"""`best` along the ladders: less asked, or more suppression allowed, never gives a worse table.

`SFUMATO_LADDER_TABLES` is the number of random tables: few, and 500 where all tests have many more cases.
"""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.models.contract import Promises, with_least_values
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search import contract as registry
from sfumato.search.best import LADDER_OF_PEOPLE, LADDER_OF_SUPPRESSION, LADDER_OF_VALUES, ORDER, best
from sfumato.search.contract import Aim, find
from sfumato.system.errors import Infeasible
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

SOAKED = os.environ.get("SFUMATO_HYPOTHESIS") == "soak"
TABLES = int(os.environ.get("SFUMATO_LADDER_TABLES", "500" if SOAKED else "5"))


def random_table(seed):
    """Up to 100 people, two or three key columns, trees of one to three levels, values unevenly common."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(15, 101))
    columns, codes = [], []
    for j in range(int(rng.integers(2, 4))):
        leaves = int(rng.integers(2, 10))
        groups = int(rng.integers(1, leaves + 1))
        parent = [-1, *([0] * groups), *(1 + i * groups // leaves for i in range(leaves))]
        labels = ["*", *(f"g{i}" for i in range(groups)), *(f"v{i}" for i in range(leaves))]
        tree = Taxonomy.grow(labels, parent, ordered=bool(rng.random() < 0.4))
        columns.append(Column(f"q{j}", Role.QUASI, tree))
        share = rng.dirichlet(np.full(leaves, rng.choice([0.3, 1.0, 5.0])))
        codes.append(rng.choice(leaves, rows, p=share).astype(np.int32))
    values = int(rng.integers(3, 9))
    columns.append(Column("s0", Role.SENSITIVE, Taxonomy.flat([f"d{i}" for i in range(values)])))
    codes.append(rng.choice(values, rows, p=rng.dirichlet(np.full(values, 3.0))).astype(np.int32))
    return Microdata.of_codes(columns, codes)


def random_request(seed):
    """Some k, perhaps a promise about values, a limit of suppression, a price or none."""
    rng = np.random.default_rng(seed + 10_000)
    k = int(rng.choice(LADDER_OF_PEOPLE[:5]))
    l = int(rng.choice(LADDER_OF_VALUES[:3]))  # noqa: E741  # the name in every policy
    beside = [
        (),
        (DistinctLDiversity("s0", l),),
        (EntropyLDiversity("s0", Fraction(l)),),
        (RecursiveLDiversity("s0", l, Fraction(3)),),
        (TCloseness("s0", Fraction(2, 5)),),
    ][int(rng.integers(0, 5))]
    share = LADDER_OF_SUPPRESSION[int(rng.integers(0, 5))]
    price = [None, Fraction(1), Fraction(3)][int(rng.integers(0, 3))]
    return Promises((KAnonymity(k), *beside)), Aim(share, price=price)


@pytest.fixture(autouse=True)
def remembered(monkeypatch):
    """Has every search asked once for the same thing: rungs of one request are those of the next."""
    known = {}

    def find_once(name):
        search = find(name)

        def once(table, promises, aim, **rest):
            key = (name, table.digest, promises.members, aim.suppress, aim.price)
            if key not in known:
                try:
                    known[key] = search(table, promises, aim, **rest)
                except Infeasible as refused:
                    known[key] = refused
            if isinstance(known[key], Infeasible):
                raise known[key]
            return known[key]

        return once

    monkeypatch.setattr(registry, "find", find_once)


def loss_of(table, promises, aim, search=best):
    try:
        return search(table, promises, aim).loss
    except Infeasible:
        return float("inf")


@pytest.mark.parametrize("seed", range(TABLES))
def test_nothing_is_better_and_less_is_never_worse(seed):
    """No single search is better; nor is a larger k, a larger l or less suppression."""
    table, (promises, aim) = random_table(seed), random_request(seed)
    size, beside = promises.members[0], promises.members[1:]
    losses = [loss_of(table, promises, aim, registry.find(name)) for name in ORDER]
    assert loss_of(table, promises, aim) <= min(losses)
    asked = [Promises((KAnonymity(k), *beside)) for k in LADDER_OF_PEOPLE if k <= table.rows]
    losses = [loss_of(table, some, aim) for some in asked]
    assert losses == sorted(losses), "a smaller k"
    losses = [loss_of(table, promises, replace(aim, suppress=share)) for share in LADDER_OF_SUPPRESSION]
    assert losses == sorted(losses, reverse=True), "more suppression"
    stricter = [[with_least_values(promise, count) for count in LADDER_OF_VALUES] for promise in beside]
    losses = [loss_of(table, Promises((size, *some)), aim) for some in zip(*stricter, strict=True)]
    assert losses == sorted(losses), "a smaller l"
