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
from sfumato.engine import open_source
from sfumato.journey.counted_table import count_table
from sfumato.protection.recipients.frame_proofness import ShownDetail

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
    table = count_table(open_source(batches(1, 2)), rules)
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


CELLS = {"000": 1, "001": 1, "010": 1, "100": 1, "011": 2, "101": 2, "110": 2}
"""So many people of the first batch have these three bits. Versions that hide a bit each leave everybody two
candidates, also where two of them are put together; all three leave somebody one."""


def bits(*batches):
    """Three bits, and a column that is the same for everybody; newcomers are two of every kind."""
    rows = []
    for batch in batches:
        for number in range(8):
            cell = format(number, "03b")
            rows += [(batch, *cell, "x", "flu")] * (CELLS.get(cell, 0) if batch == "Q1" else 2)
    return pl.DataFrame(rows, schema=["since", "b0", "b1", "b2", "same", "ill"], orient="row")


def bit_policy(coalition, tolerance, *, same):
    keys = {f"b{j}": {"role": "quasi", "taxonomy": {"flat": ["0", "1"]}} for j in range(3)}
    return {
        "columns": {
            "since": {"role": "identifier"},
            **keys,
            "same": {"role": same, **({"taxonomy": {"flat": ["x", "y"]}} if same == "quasi" else {})},
            "ill": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}, {"continuous": {"k": 2, "since": "since"}}],
        "recipients": {"quality": "discernibility", "tolerance": tolerance, "coalition": coalition},
    }


@pytest.mark.parametrize("coalition", ["none", "pairs", "any"])
@pytest.mark.parametrize("names", ["ABC", "ABCDEF"], ids=["three", "a crowd"])
def test_what_only_three_together_learn_from_earlier_releases_is_for_any_coalition_to_refuse(
    go, tmp_path, names, coalition
):
    """The first release was planned for recipients who never meet; the second asks what they hold together.

    Six recipients are a crowd, of which pairs and all together are looked at; three of them hide one bit
    each, the others two.
    """
    same = "identifier" if len(names) == 3 else "quasi"
    first = go(bits("Q1"), bit_policy("none", "100%" if len(names) > 3 else 0, same=same), "one", list(names))
    hidden = [sum(len(r.record.cuts[f"b{j}"]) == 1 for j in range(3)) for r in first.receipts]
    assert sorted(hidden) == [1] * 3 + [2] * (len(names) - 3)
    later = bit_policy(coalition, "1000%", same=same)
    if coalition == "any":
        with pytest.raises(RefusedByHistory, match="beside what they and others hold"):
            go(bits("Q1", "Q2"), later, "two", names[0])
        assert not (tmp_path / "two").exists()
    else:
        assert go(bits("Q1", "Q2"), later, "two", names[0]).record.sequence == len(names) + 1
