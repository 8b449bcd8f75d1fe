"""Versions that go on: the same recipients, more people."""

import json
import re
from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from recipients import bits
from sfumato.inputs import count_table
from sfumato.models.continuous.people import meet_of
from sfumato.models.contract import Promises
from sfumato.recipients.versions import ShownDetail
from sfumato.system.errors import RefusedByHistory
from sfumato.table.cut import Cut
from sfumato.table.release_summary import Imprint
from sfumato.table.source import open_source
from sfumato.workflows.recipient_versions import RecipientVersions
from workflows.test_recipients import people

pytestmark = pytest.mark.slow

NAMES = ["registry", "university"]
EVERY = {format(number, "03b"): 1 for number in range(8)}
"""All combinations of three bits."""


def policy(*, adversary="target", **rule):
    beside = {"k": 3, "since": "since", "adversary": adversary}
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
            "promises": [{"k-anonymity": {"k": 3}}, {"continuous": beside}],
            "protect": {"search": "top-down", "suppress": 0},
            "recipients": {"quality": "entropy", "tolerance": "200%", "adversary": adversary, **rule},
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


def test_a_chain_that_promises_nothing_else_has_versions(go):
    """No class promise keeps versions of single people from being chosen; the one about releases does."""
    rules = policy(coalition="none")
    rules = replace(rules, promises=Promises(rules.promises.members[1:]))
    first = go(batches(1), rules, "one", NAMES)
    second = go(batches(1, 2), rules, "two", NAMES)
    for receipt in (*first.receipts, *second.receipts):
        verdicts = [v for v in receipt.record.verdicts if v["promise"].startswith("continuous")]
        assert [v["holds"] for v in verdicts] == [True] and verdicts[0]["measured"] >= 3


@pytest.mark.parametrize(
    ("coalition", "adversary"), [("none", "target"), ("pairs", "target"), ("pairs", "register")]
)
def test_everybody_is_held_against_what_they_have(go, tmp_path, coalition, adversary):
    rules = policy(coalition=coalition, adversary=adversary)
    go(batches(1), rules, "one", NAMES)
    event = go(batches(1, 2), rules, "two", [*NAMES, "ministry"])
    assert [r.record.sequence for r in event.receipts] == [3, 4, 5]
    figures = {r.record.recipient: r.record.figures for r in event.receipts}
    if adversary == "target":
        assert all(figures[name]["FA"] >= 3 for name in NAMES), "beside their own first version"
        assert "FA" not in figures["ministry"], "who had nothing before"
    else:
        assert all(figures[name]["position"] >= 1 and "FA" not in figures[name] for name in figures)
    with sf.Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True) as ledger:
        assert ledger.verify().holds
        records = ledger.history("main")
    assert [Imprint.from_json(r.memory).rows for r in records] == [900, 900, 1800, 1800, 1800]
    mine = [r for r in records if r.recipient == "registry"]
    assert len(mine) == 2
    others = [json.dumps(r.cuts, sort_keys=True) for r in records[2:]]
    assert len(set(others)) == 3, "each has its own"


def test_a_refusal_names_a_tolerance_that_is_enough(go):
    """Whoever does what the refusal says has the release."""
    go(batches(1), policy(coalition="any", adversary="register"), "one", NAMES)
    with pytest.raises(RefusedByHistory, match="as good as the policy asks") as refused:
        go(batches(1, 2), policy(coalition="any", adversary="register", tolerance=0), "two", NAMES)
    enough = re.search(r"Set recipients.tolerance to (\d+%)", refused.value.remedy).group(1)
    wider = policy(coalition="any", adversary="register", tolerance=enough)
    assert len(go(batches(1, 2), wider, "two", NAMES).receipts) == 2


def test_a_refusal_names_no_tolerance_where_none_helps(monkeypatch, go):
    rules = policy(coalition="any", adversary="register")
    go(batches(1), rules, "one", NAMES)
    monkeypatch.setattr(RecipientVersions, "_keeps", lambda *_: False)
    with pytest.raises(RefusedByHistory, match="what they and others hold\\. Ask") as refused:
        go(batches(1, 2), rules, "two", NAMES)
    assert "%" not in refused.value.remedy


def test_any_coalition_is_held_against_everything(go, tmp_path):
    """Two recipients, two releases, a third who comes with the second; all five tables on one desk.

    Everybody keeps k people of their own batch who are like them in all of the tables: enough, since no
    world can tell those apart.
    """
    rules = policy(coalition="any", adversary="register")
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


@pytest.mark.parametrize("coalition", ["none", "pairs", "any"])
@pytest.mark.parametrize("names", ["ABC", "ABCDEF"], ids=["three", "a crowd"])
def test_what_only_three_together_learn_from_earlier_releases_is_for_any_coalition_to_refuse(
    go, tmp_path, names, coalition
):
    """The first release was planned for recipients who never meet; the second asks what they hold together.

    Six recipients are a crowd, of which pairs and all together are looked at; three of them hide one bit
    each, the others two.
    """
    crowd = len(names) > 3
    asked = {
        "same": "quasi" if crowd else "identifier",
        "promises": [{"continuous": {"k": 2, "since": "since"}}],
    }
    old, new = bits.people(bits.THREE), bits.people(EVERY, times=2, batch="Q2")
    apart = bits.policy(3, coalition="none", tolerance="100%" if crowd else 0, **asked)
    first = go(old, apart, "one", list(names))
    assert sorted(bits.hidden(r) for r in first.receipts) == [1] * 3 + [2] * (len(names) - 3)
    later = bits.policy(3, coalition=coalition, adversary="target", tolerance="1000%", **asked)
    if coalition == "any":
        with pytest.raises(RefusedByHistory, match="beside what they and others hold"):
            go(pl.concat([old, new]), later, "two", names[0])
        assert not (tmp_path / "two").exists()
    else:
        assert go(pl.concat([old, new]), later, "two", names[0]).record.sequence == len(names) + 1
