"""Versions that go on: the same recipients, more people."""

import json
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from protection.recipients.test_release import people
from sfumato.chains.pooling import meet_of
from sfumato.core.cut import Cut
from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.journey.protect import counted
from sfumato.protection.recipients.framing import ShownDetail

NAMES = ["registry", "university"]


def policy(**rule):
    return sf.Policy.from_dict(
        {
            "columns": {
                "name": {"role": "identifier"},
                "since": {"role": "identifier"},
                "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
                "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 80}},
                "sex": {"role": "quasi", "taxonomy": {"tree": {"*": ["f", "m"]}}},
                "disease": {"role": "sensitive"},
                "ward": {"role": "insensitive"},
            },
            "promises": [{"k-anonymity": {"k": 3}}, {"continuous": {"k": 3, "since": "since"}}],
            "recipients": {"tolerance": "100%", **rule},
        }
    )


def batches(*numbers):
    return pl.concat([people(900, seed=n).with_columns(since=pl.lit(f"Q{n}")) for n in numbers])


@pytest.fixture
def go(tmp_path):
    def call(data, rules, into, to, **more):
        ledger = f"sqlite:///{tmp_path}/ledger.db"
        return sf.release(data, rules, ledger=ledger, into=tmp_path / into, to=to, **more)

    return call


@pytest.mark.parametrize("coalition", ["none", "pairs"])
def test_everybody_is_held_against_what_they_have(go, tmp_path, coalition):
    rules = policy(coalition=coalition)
    go(batches(1), rules, "one", NAMES)
    event = go(batches(1, 2), rules, "two", [*NAMES, "ministry"])
    assert [r.record.sequence for r in event.receipts] == [3, 4, 5]
    figures = {r.record.recipient: r.record.figures for r in event.receipts}
    assert all(figures[name]["FA"] >= 3 for name in NAMES), "beside their own first version"
    assert "FA" not in figures["ministry"], "who had nothing before"
    with sf.Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True) as ledger:
        assert ledger.verify().holds
        records = ledger.history("main")
    assert [Imprint.from_json(r.memory).rows for r in records] == [900, 900, 1800, 1800, 1800]
    mine = [r for r in records if r.recipient == "registry"]
    assert len(mine) == 2
    others = [json.dumps(r.cuts, sort_keys=True) for r in records[2:]]
    assert len(set(others)) == 3, "each has its own"


def test_any_coalition_is_held_against_everything(go, tmp_path):
    """Two recipients, two releases, a third who comes with the second; all five tables on one desk.

    Everybody keeps k people of their own batch who are like them in all of the tables: enough, since no
    world can tell those apart.
    """
    rules = policy(coalition="any")
    go(batches(1), rules, "one", NAMES)
    event = go(batches(1, 2), rules, "two", [*NAMES, "ministry"])
    assert [r.record.sequence for r in event.receipts] == [3, 4, 5]
    with sf.Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True) as ledger:
        assert ledger.verify().holds
        records = ledger.history("main")
    table = counted(batches(1, 2), rules)
    trees = {c.name: c.taxonomy for c in table.keys}
    versions = [{n: Cut.of_nodes(trees[n], nodes) for n, nodes in r.cuts.items()} for r in records]
    shape = ShownDetail(table)
    for one, other in permutations(records, 2):
        if one.recipient != other.recipient:
            mine = [v for r, v in zip(records, versions, strict=True) if r.recipient == one.recipient]
            assert not shape.builds(mine, versions[other.sequence - 1]), "from all that they hold"
    frame = batches(1, 2)
    old = frame["since"].to_numpy() == "Q1"
    fine = meet_of(versions)
    for some in (old, ~old):
        keys = [
            fine[c.name].node_of[[c.taxonomy.rank(v) for v in frame.filter(some)[c.name]]] for c in table.keys
        ]
        _, sizes = np.unique(np.stack(keys, axis=1), axis=0, return_counts=True)
        assert sizes.min() >= 3


def test_people_who_vanish_are_refused(go, tmp_path):
    go(batches(1), policy(), "one", NAMES)
    with pytest.raises(RefusedByHistory):
        go(batches(2), policy(), "two", NAMES)
    assert not (tmp_path / "two").exists()
