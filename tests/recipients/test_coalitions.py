"""Who comes later, or has an override, is held against everything that others hold, as the policy says."""

from __future__ import annotations

import pytest

import sfumato as sf
from recipients import bits
from sfumato.inputs import count_table
from sfumato.recipients.patterns import classify
from sfumato.recipients.versions import EarlierVersion, Families
from sfumato.releases.ledger.keys import Key
from sfumato.releases.overrides import Override
from sfumato.search.plan import aim_of
from sfumato.system.errors import Infeasible, RefusedByHistory
from sfumato.table.cut import Cut
from sfumato.table.source import open_source

pytestmark = pytest.mark.slow


@pytest.fixture
def go(tmp_path):
    def call(data, rules, into, to, **more):
        ledger = f"sqlite:///{tmp_path}/ledger.db"
        return sf.release(data, rules, ledger=ledger, into=tmp_path / into, to=to, **more)

    return call


@pytest.mark.parametrize("coalition", ["none", "pairs", "any"])
def test_a_second_version_that_tells_everything_beside_the_first_is_refused(go, tmp_path, coalition):
    diseases = dict(zip(bits.TWO, ["flu", "cold", "ulcer", "burn"], strict=True))
    table, rules = bits.people(bits.TWO, ill=diseases), bits.policy(2, coalition=coalition)
    assert bits.hidden(go(table, rules, "one", "A")) == 1
    if coalition == "none":
        assert bits.hidden(go(table, rules, "two", "B")) == 1
    else:
        with pytest.raises(Infeasible, match="this policy serves 0 recipients more"):
            go(table, rules, "two", "B")
        assert not (tmp_path / "two").exists()


@pytest.mark.parametrize("coalition", ["none", "pairs", "any"])
def test_a_third_version_is_held_against_both_that_were_handed_out(go, tmp_path, coalition):
    """Against one target, two at a time leave everybody two candidates; all three do not."""
    table, rules = bits.people(bits.THREE), bits.policy(3, coalition=coalition, adversary="target")
    assert [bits.hidden(r) for r in go(table, rules, "one", ["A", "B"]).receipts] == [1, 1]
    if coalition == "any":
        with pytest.raises(Infeasible, match="this policy serves 0 recipients more"):
            go(table, rules, "two", "C")
        assert not (tmp_path / "two").exists()
    else:
        assert bits.hidden(go(table, rules, "two", "C")) == 1


@pytest.mark.parametrize("coalition", ["pairs", "any"])
def test_an_override_is_held_against_all_others_together(go, tmp_path, coalition):
    """Of twice as many people, three versions leave somebody two: fewer than the three that are granted."""
    key = Key.make(tmp_path / "berg.key")
    table = bits.people(bits.THREE, times=2)
    asked = {"coalition": coalition, "adversary": "target", "overriders": [key.public]}
    rules = sf.Policy.from_dict(bits.policy(3, k=4, **asked))
    granted = Override(rules.digest, "main", "rescue", 3, "flood", "Berg", "2099-12-31").sign(key)
    go(table, rules, "one", ["A", "B"])
    if coalition == "any":
        with pytest.raises(RefusedByHistory, match="beside what they and others hold"):
            go(table, rules, "two", ["rescue"], overrides=[granted])
        assert not (tmp_path / "two").exists()
    else:
        assert bits.hidden(go(table, rules, "two", ["rescue"], overrides=[granted])) == 1


@pytest.mark.parametrize("coalition", ["pairs", "any"])
def test_a_coalition_with_an_override_is_promised_its_k_and_every_other_one_the_policys(coalition):
    rules = sf.Policy.from_dict(bits.policy(3, k=6, coalition=coalition))
    people = bits.people({format(n, "03b"): 3 for n in range(8)})
    table = count_table(open_source(people), rules)
    families = Families(classify(table, rules.promises, aim_of(rules)), rules.recipients, ())
    trees = {c.name: c.taxonomy for c in table.keys}

    def shows(*seen):
        return {n: Cut.leaves(t) if n in seen else Cut.root(t) for n, t in trees.items()}

    granted, plain = EarlierVersion("rescue", shows("b0", "b1"), 3), EarlierVersion("A", shows("b0", "b1"))
    assert families.is_safe(shows("b2"), [granted])
    assert not families.is_safe(shows("b2"), [plain])
    assert not families.is_safe(shows("b2"), [granted, plain])
    assert not families.is_safe(shows("b2"), [EarlierVersion("rescue", shows("b0", "b1"), 4)])
