"""A looser threat never costs more: random tables, thresholds loosened step by step.

`SFUMATO_HYPOTHESIS=soak` tries 500 tables; a table of Adult is in the experiments.
"""

import itertools
import os
from dataclasses import replace

import numpy as np
import pytest

from models.freeform.node_tables import random_case
from sfumato.models.contract import Promises
from sfumato.models.freeform.promise import LADDER_OF_THREATS
from sfumato.search import optimum
from sfumato.search.best import best
from sfumato.search.contract import Aim
from sfumato.search.top_down import top_down

pytestmark = pytest.mark.slow

TABLES = 500 if os.environ.get("SFUMATO_HYPOTHESIS") == "soak" else 12
AIM = Aim(compared=("optimum", "top-down"))


def losses(table, promise, search):
    """The loss along the ladder, the strictest first."""
    rungs = [replace(promise, threat=threat) for threat in reversed(LADDER_OF_THREATS)]
    return [search(table, Promises((rung,)), AIM).loss for rung in rungs]


@pytest.mark.parametrize("states", [50_000, 2], ids=["exact", "out of steps"])
def test_a_looser_threat_never_loses_more(states, monkeypatch):
    monkeypatch.setattr(optimum, "MOST_STATES", states)
    rng = np.random.default_rng(7)
    rises = 0
    for _ in range(TABLES):
        table, promise, _ = random_case(rng, leaves=5)
        found = losses(table, promise, best)
        assert all(looser <= stricter + 1e-12 for stricter, looser in itertools.pairwise(found))
        alone = losses(table, promise, top_down)
        rises += any(looser > stricter + 1e-12 for stricter, looser in itertools.pairwise(alone))
    assert TABLES < 500 or rises


def test_stricter_rungs_are_those_below_from_the_nearest_on():
    rng = np.random.default_rng(1)
    _, promise, _ = random_case(rng, leaves=3)
    rungs = replace(promise, threat=LADDER_OF_THREATS[3]).stricter
    assert [rung.threat for rung in rungs] == list(LADDER_OF_THREATS[4:])
    assert all(rung.columns == promise.columns for rung in rungs)
