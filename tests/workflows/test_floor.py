"""A chain keeps its floor: a later release promises no less than the first, unless somebody signed for it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.releases.certificate import examine
from sfumato.releases.ledger.keys import Key
from sfumato.releases.overrides import WeakerOverride
from sfumato.system.errors import BadData, RefusedByHistory, UsageError
from sfumato.workflows.chain_check import ledger_baselines

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent.parent / "golden"
SURVEY = pl.read_csv(GOLDEN / "people" / "survey.csv", infer_schema=False)
QUARTERS = pl.read_csv(GOLDEN / "people" / "quarters.csv", infer_schema=False)
POLICIES = {
    "k40": ("versions", {"k-anonymity": {"k": 40}}, {"tolerance": "50%"}),
    "k2": ("versions", {"k-anonymity": {"k": 2}}, {"tolerance": "50%"}),
    "alone": ("versions", {"k-anonymity": {"k": 15}}, {"tolerance": "50%"}),
    "framed": ("versions", {"k-anonymity": {"k": 15}}, {"tolerance": "50%", "frame-proof": 2}),
    "continuous5": ("continuous", {"continuous": {"k": 5, "since": "quarter"}}, None),
    "continuous2": ("continuous", {"continuous": {"k": 2, "since": "quarter"}}, None),
}
"""By name: the file whose columns a policy has, what it promises, and what it says of recipients."""


def policy(name, **recipients):
    """One of the policies, with more said of recipients."""
    file, promise, given = POLICIES[name]
    words = sf.Policy.load(GOLDEN / "policies" / f"{file}.yaml").to_dict()
    words["promises"] = [promise]
    if given is not None:
        words["recipients"] = given
    if recipients:
        words["recipients"] = {**words.get("recipients", {}), **recipients}
    return sf.Policy.from_dict(words)


@pytest.fixture
def go(tmp_path):
    """Release into a new folder."""

    def call(data, rules, into, **more):
        return sf.release(data, rules, ledger=f"sqlite:///{tmp_path}/ledger.db", into=tmp_path / into, **more)

    return call


@pytest.fixture
def ledger(tmp_path):
    return lambda: sf.Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True)


@pytest.mark.parametrize(
    ("data", "first", "later", "who", "part"),
    [
        (SURVEY, "k40", "k2", ("registry", "university"), "k-anonymity, k = 40, now k-anonymity, k = 2"),
        (
            SURVEY.head(384),
            "framed",
            "alone",
            ("registry", "university"),
            "recipients.frame-proof: 2, now 1",
        ),
        (QUARTERS, "continuous5", "continuous2", (None, None), "continuous, k = 5, now continuous, k = 2"),
    ],
)
def test_a_weaker_policy_is_refused(go, ledger, tmp_path, data, first, later, who, part):
    table = data if who[0] else data.filter(pl.col("quarter") == "Q1")
    go(table, policy(first), "one", to=who[0])
    more = data if who[0] else data.filter(pl.col("quarter") <= "Q2")
    for dry_run in (True, False):
        with pytest.raises(
            RefusedByHistory, match="promises less than the first release of chain main"
        ) as no:
            go(more, policy(later), "two", to=who[1], dry_run=dry_run)
        assert part in no.value.message
        assert "lists nobody" in no.value.remedy
    assert not (tmp_path / "two").exists()
    assert len(ledger().history()) == 1


def test_a_stricter_policy_is_welcome_and_does_not_raise_the_floor(go):
    first, second = QUARTERS.filter(pl.col("quarter") == "Q1"), QUARTERS.filter(pl.col("quarter") <= "Q2")
    words = policy("continuous5").to_dict()
    stricter = {**words, "promises": [{"continuous": {"k": 6, "since": "quarter", "hold": True}}]}
    go(first, words, "one")
    assert go(second, stricter, "two").record.sequence == 2
    assert go(QUARTERS, words, "three").record.sequence == 3


def test_the_floor_is_sealed_without_a_value(go, tmp_path, ledger):
    go(SURVEY, policy("k40"), "one", to="registry")
    (record,) = ledger().history()
    assert record.statement["policy"] == record.policy
    assert record.statement["promises"][0][0]["at_least"] == {"k": "40"}
    stored = (tmp_path / "ledger.db").read_bytes()
    assert not any(value.encode() in stored for value in ("ulcer", "harbour", "Answer 7"))


class TestOverride:
    """A key of the floor's overriders lets one policy promise less, for one chain and a time."""

    @pytest.fixture
    def keys(self, tmp_path):
        return Key.make(tmp_path / "berg.key"), Key.make(tmp_path / "other.key")

    def start(self, go, keys):
        """A chain with k = 40 whose policy lists the first key."""
        go(SURVEY, policy("k40", overriders=[keys[0].public]), "one", to="registry")
        return policy("k2", overriders=[keys[0].public])

    def sign(self, rules, key, **changes):
        words = {
            "policy": rules.digest,
            "chain": "main",
            "reason": "flood",
            "by": "Berg",
            "until": "2099-12-31",
        }
        return WeakerOverride(**{**words, **changes}).sign(key)

    def test_it_lets_the_policy_pass_and_everything_says_so(self, go, ledger, tmp_path, keys):
        rules = self.start(go, keys)
        receipt = go(SURVEY, rules, "two", to="university", overrides=[self.sign(rules, keys[0])])
        part = "promises: k-anonymity, k = 40, now k-anonymity, k = 2"
        assert receipt.record.weaker["parts"] == [part]
        assert f"promises LESS than the first of its chain, by override of Berg: {part}" in str(receipt)
        proof = examine(tmp_path / "two" / "certificate.json", key=ledger().public_key)
        assert proof.holds and proof.as_dict()["weaker"]["by"] == "Berg" and part in str(proof.card())
        plain = examine(tmp_path / "one" / "certificate.json", key=ledger().public_key)
        assert "weaker" not in plain.as_dict()
        found = ledger_baselines(ledger())
        assert [(release.sequence, release.allowed_by) for release in found.weaker] == [(2, "Berg")]
        assert found.holds and not any(finding.breach for _, finding in found.findings)

    def test_the_floor_stays(self, go, keys):
        rules = self.start(go, keys)
        go(SURVEY, rules, "two", to="university", overrides=[self.sign(rules, keys[0])])
        with pytest.raises(RefusedByHistory, match="promises less"):
            go(SURVEY, rules, "three", to="ministry")

    @pytest.mark.parametrize(
        ("changes", "key", "why"),
        [
            ({}, 1, "does not let the author"),
            ({"policy": "0" * 64}, 0, "another policy or chain"),
            ({"chain": "other"}, 0, "another policy or chain"),
            ({"until": "2001-01-01"}, 0, "ended on 2001-01-01"),
        ],
    )
    def test_it_is_for_one_policy_chain_and_time_by_one_who_may(self, go, tmp_path, keys, changes, key, why):
        rules = self.start(go, keys)
        with pytest.raises(UsageError, match=why):
            go(SURVEY, rules, "two", to="university", overrides=[self.sign(rules, keys[key], **changes)])
        assert not (tmp_path / "two").exists()

    def test_who_is_listed_by_the_weaker_policy_alone_may_not(self, go, keys):
        self.start(go, keys)
        rules = policy("k2", overriders=[key.public for key in keys])
        with pytest.raises(UsageError, match="the first policy of the chain does not let"):
            go(SURVEY, rules, "two", to="university", overrides=[self.sign(rules, keys[1])])

    def test_the_key_of_the_ledger_will_not_do(self, go, tmp_path):
        go(SURVEY, policy("k40"), "zero", to="nobody", chain="begun")
        own = Key.load(tmp_path / "ledger.db.key")
        go(SURVEY, policy("k40", overriders=[own.public]), "one", to="registry")
        rules = policy("k2", overriders=[own.public])
        with pytest.raises(UsageError, match="key of the ledger"):
            go(SURVEY, rules, "two", to="university", overrides=[self.sign(rules, own)])

    def test_what_was_changed_is_not_believed(self, go, tmp_path, keys):
        rules = self.start(go, keys)
        words = {**self.sign(rules, keys[0]).as_dict(), "reason": "none"}
        (tmp_path / "o.json").write_text(json.dumps(words), encoding="utf-8")
        with pytest.raises(BadData, match="changed after it was signed"):
            go(SURVEY, rules, "two", to="university", overrides=[tmp_path / "o.json"])

    @pytest.mark.parametrize("place", ["policy", "signature", "sfumato-override"])
    def test_a_file_that_lacks_something_is_none(self, tmp_path, keys, place):
        words = self.sign(policy("k2"), keys[0]).as_dict()
        del words[place]
        (tmp_path / "o.json").write_text(json.dumps(words), encoding="utf-8")
        with pytest.raises(BadData, match="no override"):
            WeakerOverride.read(tmp_path / "o.json")

    def test_it_is_refused_where_there_is_nothing_to_override(self, go, keys):
        rules = policy("k40", overriders=[keys[0].public])
        with pytest.raises(UsageError, match="no release yet"):
            go(SURVEY, rules, "one", to="registry", overrides=[self.sign(rules, keys[0])])
        go(SURVEY, rules, "one", to="registry")
        with pytest.raises(UsageError, match="promises no less"):
            go(SURVEY, rules, "two", to="university", overrides=[self.sign(rules, keys[0])])

    def test_a_clock_that_was_set_back_does_not_revive_it(self, tmp_path, keys):
        from datetime import UTC, datetime

        url, days = f"sqlite:///{tmp_path}/ledger.db", [datetime(2030, 1, 2, tzinfo=UTC)]
        opened = sf.Ledger(url, clock=lambda: days[0])
        first, rules = (policy(name, overriders=[keys[0].public]) for name in ("k40", "k2"))
        sf.release(SURVEY, first, ledger=opened, into=tmp_path / "one", to="registry")
        days[0] = datetime(2029, 12, 1, tzinfo=UTC)
        ended = self.sign(rules, keys[0], until="2030-01-01")
        with pytest.raises(UsageError, match="ended on 2030-01-01"):
            sf.release(SURVEY, rules, ledger=opened, into=tmp_path / "two", to="b", overrides=[ended])

    def test_two_at_a_time_are_refused(self, go, keys):
        rules = self.start(go, keys)
        both = [self.sign(rules, keys[0]), self.sign(rules, keys[0], reason="fire")]
        with pytest.raises(UsageError, match="two overrides"):
            go(SURVEY, rules, "two", to="university", overrides=both)


class TestFromTheCommandLine:
    @pytest.fixture
    def home(self, tmp_path, monkeypatch):
        """The survey, a policy with an overrider, and one that promises less."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
        SURVEY.write_csv("data.csv")
        public = Key.make(tmp_path / "berg.key").public
        for name in ("k40", "k2"):
            Path(f"{name}.yaml").write_text(policy(name, overriders=[public]).to_yaml(), encoding="utf-8")
        return tmp_path

    @pytest.mark.usefixtures("home")
    def test_a_second_person_signs_for_a_weaker_policy(self, sfumato):
        release = ("release", "data.csv", "--into")
        assert sfumato(*release, "one", "-p", "k40.yaml", "--to", "registry").code == 0
        later = (*release, "two", "-p", "k2.yaml", "--to", "university")
        said = sfumato(*later)
        assert said.code == 5 and "k-anonymity, k = 40, now k-anonymity, k = 2" in said.err
        assert "sfumato override --weaker" in said.err
        why = (
            "--reason",
            "flood",
            "--by",
            "Berg",
            "--until",
            "2099-12-31",
            "--key",
            "berg.key",
            "-o",
            "o.json",
        )
        for wrong in ((), ("--to", "rescue"), ("--k", "2"), ("--weaker", "--k", "2")):
            assert sfumato("override", "-p", "k2.yaml", *wrong, *why).code == 2
        signed = sfumato("override", "-p", "k2.yaml", "--weaker", *why, "--json")
        assert signed.code == 0, signed.err
        assert signed.document["kind"] == "weaker"
        assert sfumato(*later, "--override", "o.json", "--json").document["weaker"]["by"] == "Berg"
        assert "release 2 of chain main promises LESS" in sfumato("history").out
        assert sfumato("ledger", "verify").code == 0, "somebody signed for it"
        proof = sfumato(
            "certificate", "verify", "two/certificate.json", "--key", "ledger.db.key.pub", "--json"
        )
        assert proof.code == 0 and proof.document["weaker"]["parts"]

    @pytest.mark.usefixtures("home")
    def test_the_same_people_in_another_chain(self, sfumato):
        """By their marks: the second table lacks most rows, and has another column."""
        words = policy("k40").to_dict()
        words["person"] = "name"
        del words["recipients"]
        sf.release(SURVEY, words, ledger="sqlite:///ledger.db", into="one", to="registry")
        words["columns"]["more"] = {"role": "identifier"}
        Path("other.yaml").write_text(sf.Policy.from_dict(words).to_yaml(), encoding="utf-8")
        SURVEY.tail(100).with_columns(more=pl.lit("x")).write_csv("some.csv")
        again = ("release", "some.csv", "-p", "other.yaml", "--chain", "other", "--into", "two", "--to")
        said = sfumato(*again, "registry ")
        assert said.code == 5 and "chain main of this ledger has 100 people of this table" in said.err
        assert sfumato(*again, "registry", "--dry-run").code == 5
        assert sfumato(*again, "registry", "--ignore-chain", "mian").code == 2
        said = sfumato(*again, "registry", "--ignore-chain", "main")
        assert said.code == 0 and "NOT held against chain main" in said.out
        proof = sfumato("certificate", "verify", "two/certificate.json", "--key", "ledger.db.key.pub")
        assert "NOT held against chain main" in proof.out


def test_protect_beside_a_chain_says_what_a_release_would_be_refused_for(go, tmp_path):
    """A plan below the floor can be made; whoever makes it is told that it cannot be released."""
    go(QUARTERS, policy("continuous5"), "one")
    against, told = f"sqlite:///{tmp_path}/ledger.db", []
    sf.protect(QUARTERS, policy("continuous5"), against=against, warn=told.append)
    assert [one.name for one in told] == []
    sf.protect(QUARTERS, policy("continuous2"), against=against, warn=told.append)
    (warning,) = [one for one in told if one.name == "below-the-floor"]
    assert "would refuse this: the policy promises less than the first release of chain main" in str(warning)
    assert "continuous, k = 5, now continuous, k = 2" in str(warning)
    with pytest.raises(RefusedByHistory):
        go(QUARTERS, policy("continuous2"), "two")
