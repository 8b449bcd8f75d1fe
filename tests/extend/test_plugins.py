"""What other packages add, and what happens when one of them is broken."""

from __future__ import annotations

import json
import re
import sys

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.models import attack_contract as attacks
from sfumato.models import registry as promises
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.policy import searches
from sfumato.policy.policy import Policy
from sfumato.policy.schema import schema
from sfumato.search.contract import find
from sfumato.system import plugins
from sfumato.system.errors import BadPolicy, BrokenPromise, UsageError
from sfumato.testing.searches import check_loss
from verify.both import recheck

pytestmark = pytest.mark.slow

PROMISE = """
from dataclasses import dataclass
from typing import ClassVar
from sfumato.models.k_anonymity.promise import KAnonymity

@dataclass(frozen=True)
class Crowd(KAnonymity):
    name: ClassVar[str] = "crowd"

    def __str__(self):
        return f"crowd of {self.k}"
"""
SEARCH = """
from sfumato.policy.searches import Ability
from sfumato.search.mondrian import mondrian

def cautious(table, promises, aim, *, progress=lambda *_: None):
    return mondrian(table, promises, aim, progress=progress)

cautious.ability = Ability(losses=("loss",), suppresses=False)

def silent(table, promises, aim, *, progress=None):
    raise NotImplementedError
"""
ATTACK = """
from fractions import Fraction
from sfumato.system.verdict import Finding

class Rumour:
    name, knows, seeks, succeeds = "rumour", "nothing", "anything", "always"
    threatens = ("k-anonymity",)

    def strike(self, published, limits):
        return [Finding("rumour", "gossip", "somebody talks", Fraction(0), 0, False)]
"""
JUDGE = """
from sfumato.models.k_anonymity.judge import k_anonymity
from sfumato.verify.registry import second_judge

@second_judge("crowd")
def crowd(tally, promise):
    return k_anonymity(tally, promise)
"""
BROKEN = "raise RuntimeError('canary')"
PEOPLE = pl.DataFrame({"zip": ["1", "1", "2", "2", "3", "3"]})


def words(promise=None, **protect):
    return {
        "columns": {"zip": {"role": "quasi"}},
        "promises": [promise or {"k-anonymity": {"k": 2}}],
        "protect": protect,
    }


def test_a_promise_with_its_second_judge_is_published(install, tmp_path):
    install("crowds", PROMISE, {"sfumato.promises": {"crowd": "crowds:Crowd"}})
    install("crowd-judge", JUDGE, {"sfumato.second_judges": {"crowd": "crowd_judge"}})
    assert "crowd" in promises.known() and "crowd" in str(schema())
    policy = Policy.from_dict(words({"crowd": {"k": 2}}))
    assert policy.to_dict()["promises"] == [{"crowd": {"k": 2}}]
    plan = sf.protect(PEOPLE, policy)
    assert [str(v.promise) for v in plan.verdicts] == ["crowd of 2"]
    path = tmp_path / "safe.csv"
    plan.apply(PEOPLE).write_csv(path)
    assert [v.holds for v in recheck(path, policy)] == [True]


def test_a_search_is_found_and_says_what_it_can_do(install):
    install(
        "careful", SEARCH, {"sfumato.searches": {"cautious": "careful:cautious", "mute": "careful:silent"}}
    )
    assert searches.known() == (*searches.BUILT_IN, "cautious", "mute")
    assert schema()["properties"]["protect"]["properties"]["search"]["enum"] == list(searches.known())
    plan = sf.protect(PEOPLE, words(search="cautious"))
    assert plan.classes == 3
    assert list(searches.usable()) == [*searches.BUILT_IN, "cautious"]
    with pytest.raises(BadPolicy, match="discernibility does not work: cautious cannot keep it small"):
        Policy.from_dict(words(search="cautious", loss="discernibility"))
    with pytest.raises(BadPolicy, match="nothing to suppress"):
        Policy.from_dict(words(search="cautious", suppress="1/2"))
    with pytest.raises(BadPolicy, match="mute does not say what it can do"):
        Policy.from_dict(words(search="mute"))


def test_an_attack_takes_part_in_every_audit(install):
    install("gossip", ATTACK, {"sfumato.attacks": {"rumour": "gossip:Rumour"}})
    assert "rumour" in attacks.known()
    assert "rumour" in {f.attack for f in sf.audit(PEOPLE, words()).findings}
    assert [f.attack for f in sf.attack("rumour", PEOPLE, words()).findings] == ["rumour"]


CRASH = ATTACK.replace("        return [", "        raise KeyError('canary') or [")
GARBAGE = ATTACK.replace("        return [", "        return ['canary'] or [")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (CRASH, r"rumour: KeyError at gossip\.py:\d+"),
        (GARBAGE, r"rumour: TypeError at attack_contract\.py:\d+"),
    ],
)
def test_an_attack_that_fails_is_named_and_the_others_go_on(install, tmp_path, capsys, code, said):
    install("gossip", code, {"sfumato.attacks": {"rumour": "gossip:Rumour"}})
    found = sf.audit(PEOPLE, words())
    assert len(found.failed) == 1 and re.fullmatch(said, found.failed[0])
    assert {f.attack for f in found.findings} >= {"linkage"}
    assert found.holds is True
    PEOPLE.write_csv(tmp_path / "safe.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(words()), encoding="utf-8")
    where = [str(tmp_path / "safe.csv"), "-p", str(tmp_path / "policy.yaml")]
    for call in (["audit", *where], ["attack", "rumour", *where], ["audit", *where, "--json"]):
        assert run(call) == 70
        told = capsys.readouterr()
        assert "rumour" in told.out + told.err and "canary" not in told.out + told.err


def test_what_is_broken_is_left_aside(install):
    install(
        "rotten",
        BROKEN,
        {
            f"sfumato.{kind}": {"rot": "rotten:rot"}
            for kind in ("promises", "attacks", "searches", "second_judges")
        },
    )
    assert sf.protect(PEOPLE, words()).classes == 3
    assert "rot" not in promises.known() and "rot" not in searches.usable()
    audit = sf.audit(PEOPLE, words())
    assert audit.holds is True
    assert [(o.sentence, o.holds) for o in audit.objections] == [
        ("an attack of another package cannot be used and was not tried: rot", True)
    ]


def test_what_is_broken_names_its_distribution_when_asked_for(install, tmp_path):
    install("rotten", BROKEN, {f"sfumato.{kind}": {"rot": "rotten:rot"} for kind in ("promises", "attacks")})
    install(
        "mouldy", BROKEN, {f"sfumato.{kind}": {"rot": "mouldy:rot"} for kind in ("searches", "second_judges")}
    )
    install("crowds", PROMISE, {"sfumato.promises": {"crowd": "crowds:Crowd"}})
    path = tmp_path / "table.csv"
    PEOPLE.write_csv(path)
    asked = [
        (BadPolicy, "rotten", lambda: Policy.from_dict(words({"rot": {}}))),
        (BadPolicy, "rotten", lambda: promises.make("rot", {})),
        (BadPolicy, "mouldy", lambda: Policy.from_dict(words(search="rot"))),
        (UsageError, "mouldy", lambda: find("rot")),
        (UsageError, "rotten", lambda: attacks.make("rot")),
        (BrokenPromise, "mouldy", lambda: recheck(path, Policy.from_dict(words({"crowd": {"k": 2}})))),
    ]
    for error, distribution, ask in asked:
        with pytest.raises(error, match=f"the distribution {distribution} cannot be loaded") as caught:
            ask()
        assert "canary" not in str(caught.value)


def test_nothing_replaces_what_is_built_in(install):
    install(
        "usurper",
        PROMISE + SEARCH + ATTACK,
        {
            "sfumato.promises": {"k-anonymity": "usurper:Crowd"},
            "sfumato.searches": {"lattice": "usurper:cautious"},
            "sfumato.attacks": {"linkage": "usurper:Rumour"},
        },
    )
    asked = [
        (BadPolicy, lambda: promises.make("k-anonymity", {"k": 2})),
        (BadPolicy, lambda: Policy.from_dict(words(search="lattice"))),
        (UsageError, lambda: find("lattice")),
        (UsageError, lambda: attacks.make("linkage")),
    ]
    for error, ask in asked:
        with pytest.raises(error, match="the distribution usurper would replace"):
            ask()
    policy = Policy.from_dict(words(DistinctLDiversity("zip", 2)) | {"columns": COLUMNS})
    assert "linkage" in {f.attack for f in sf.audit(PEOPLE, policy).findings}


COLUMNS = {"zip": {"role": "sensitive"}, "age": {"role": "quasi"}}


def test_a_decorator_replaces_nothing_either():
    with pytest.raises(UsageError, match="there is a promise k-anonymity already"):
        promises.register(type("Other", (), {"name": "k-anonymity", "kind": None}))
    with pytest.raises(UsageError, match="there is a promise l-diversity already"):
        promises.register(type("Kindless", (), {"name": "l-diversity", "kind": None}))
    from sfumato.verify.registry import second_judge

    with pytest.raises(UsageError, match="k-anonymity has a second judge already"):
        second_judge("k-anonymity")(lambda *_: None)


def test_two_packages_with_one_name(install):
    install("gossip", ATTACK, {"sfumato.attacks": {"rumour": "gossip:Rumour"}})
    install("tattle", ATTACK, {"sfumato.attacks": {"rumour": "tattle:Rumour"}})
    with pytest.raises(UsageError, match="tattle bears the same name as one of gossip"):
        attacks.make("rumour")


LOSS = """
def widest(case):
    recoding = case.recoding
    width = (recoding.high - recoding.low).max(initial=1, axis=1)
    return float(recoding.rows @ (width - 1))

def shrinking(case):
    return 1.0 / (1 + float((case.recoding.high - case.recoding.low).sum()))
"""


def test_a_loss_of_another_package_is_kept_small_exactly(install):
    install("widths", LOSS, {"sfumato.losses": {"widest": "widths:widest"}})
    assert searches.known_losses() == (*searches.LOSSES, "widest")
    for search in ("optimum", "best"):
        plan = sf.protect(PEOPLE, words({"k-anonymity": {"k": 3}}, search=search, loss="widest"))
        assert plan.optimal and plan.as_dict()["measure"] == "widest" and plan.loss == 6 * 2
    with pytest.raises(BadPolicy, match="keeps small what is built in alone"):
        Policy.from_dict(words(search="top-down", loss="widest"))
    with pytest.raises(BadPolicy):
        Policy.from_dict(words(search="optimum", loss="narrowest"))


def test_a_loss_is_checked_before_anybody_relies_on_it():
    names = {}
    exec(LOSS, names)
    check_loss(names["widest"])
    with pytest.raises(AssertionError, match="more general"):
        check_loss(names["shrinking"])


def test_what_lies_in_the_working_folder_is_not_installed(install, tmp_path, monkeypatch):
    """Python itself looks there first in a session, a notebook, and after `python -c`."""
    install("gossip", ATTACK, {"sfumato.attacks": {"rumour": "gossip:Rumour"}})
    assert [offer.name for offer in plugins.offers("sfumato.attacks")] == ["rumour"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder if folder != str(tmp_path) else "" for folder in sys.path])
    plugins.all_entry_points.cache_clear()
    plugins.offers.cache_clear()
    assert plugins.offers("sfumato.attacks") == ()
