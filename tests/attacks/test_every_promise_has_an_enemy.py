"""Every promise names attacks that succeed where it is broken, and they strike: tables are made that break
and keep it, and the attacks are seen to win on the former and to lose on the latter."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from attacks.adversaries.strikes import strike_across
from oracles.tiny_chains import imprint, table, two
from sfumato.models import registry as promises
from sfumato.models.attack_contract import known, make
from sfumato.models.contract import ColumnRolePromise, CrossReleasePromise, Promises, TermPromise
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadPolicy
from sfumato.table.cut import Cut
from sfumato.table.microdata import Role

pytestmark = pytest.mark.slow

TRIES = 25
GUESSES = (Fraction(1, 2), 2, "s", {"Flu": ["fever", "cough"], "Cold": ["cough"], "Gout": ["ache"]})
"""Values of parameters that small tables may keep or break."""
CELLS = {
    Role.SENSITIVE: ("w", "x", "y", "z"),
    Role.QUASI_SENSITIVE: ("fever", "fever;cough", "cough", "ache", "ache;cough", ""),
    Role.FREE: ("AIDS", "flu"),
}
FREE = {"role": "free", "sensitive": ["AIDS"], "taxonomy": {"tree": {"*": ["AIDS", "flu", "cold"]}}}


def instance(definition, guesses):
    """A promise of this class, with the first of these parameters that it accepts."""
    made = {}
    for key in definition.keys:
        for guess in guesses if key.required else ():
            try:
                key.read(guess)
            except BadPolicy:
                continue
            made[key.name] = guess
            break
    promise = definition.from_parameters(made)
    # An auditor without the original table can judge a prior that does not come from it.
    if isinstance(promise, TermPromise) and promise.needs_original:
        return definition.from_parameters({**made, "prior": "uniform"})
    return promise


def audits(promise, seed=0):
    """Random tables of few rows, audited under this promise alone: whether it holds, and who wins."""
    role = promise.column_role if isinstance(promise, ColumnRolePromise) else promise.roles[0]
    column = FREE if role is Role.FREE else {"role": role.value}
    policy = Policy.from_dict(
        {
            "columns": {"q": {"role": "quasi"}, "s": column},
            "promises": [promise],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    rng = np.random.default_rng(seed)
    for _ in range(TRIES):
        rows, keys = int(rng.integers(1, 14)), int(rng.integers(1, 4))
        cells = rng.choice(CELLS[role], size=int(rng.integers(1, len(CELLS[role]) + 1)), replace=False)
        frame = pd.DataFrame(
            {"q": rng.integers(0, keys, rows).astype(str), "s": rng.choice(cells, rows).astype(object)}
        )
        found = sf.audit(frame, policy)
        yield found.verdicts[0].holds, {f.attack for f in found.breaches}


def chains(definition):
    """All chains of two releases of five people, under this promise: whether it holds, and who wins."""
    tree, trees = two("a", "b"), (two("a", "b"),)
    promise = definition(k=2, since="since")
    columns = {"q0": {"role": "quasi"}, "s": {"role": "sensitive"}, "since": {"role": "identifier"}}
    policy = Policy.from_dict(
        {
            "columns": columns,
            "promises": [promise],
            "protect": {"search": "top-down", "suppress": 0},
            "confirm": {"s": True},
        }
    )
    for late, first, last in product(product("ab", repeat=2), *[(Cut.root(tree), Cut.leaves(tree))] * 2):
        people = [("a", 0, 1), ("a", 1, 1), ("b", 0, 1), ("b", 1, 1)]
        people += [(q, i, 2) for i, q in enumerate(late)]
        earlier = imprint(trees, people, [first], 1)
        data = table(trees, people)
        verdict = promise.given([earlier], Promises(())).verdict_on(data, {"q0": last})
        findings = strike_across([earlier, imprint(trees, people, [last], 2)], policy)
        yield verdict.holds, {f.attack for f in findings if f.breach}


def name_of(definition):
    return definition.__name__


@pytest.mark.parametrize("definition", promises.definitions(), ids=name_of)
def test_a_promise_names_attacks_that_exist(definition):
    assert definition.threats and set(definition.threats) <= set(known())


@pytest.mark.parametrize("definition", promises.definitions(), ids=name_of)
def test_its_enemies_win_where_it_is_broken_and_lose_where_it_is_kept(definition):
    enemies = set(definition.threats)
    looks_back = issubclass(definition, CrossReleasePromise)
    tried = list(chains(definition)) if looks_back else []
    for guesses in () if looks_back else (GUESSES, GUESSES[::-1]):
        tried += audits(instance(definition, guesses))
    won = [winners & enemies for holds, winners in tried if holds is False]
    lost = [winners & enemies for holds, winners in tried if holds is True]
    assert any(won), "no attack ever succeeds on a table that breaks it"
    assert lost, "no table keeps it"
    assert not any(lost), "an attack that it names succeeds although it is kept"


def test_attacks_threaten_promises_that_exist():
    threatened = {promise for name in known() for promise in make(name).threatens}
    assert threatened <= set(promises.known())
