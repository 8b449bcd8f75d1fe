"""Attacks before and after: who gets what, and which promise stops them."""

import pytest

from sfumato.demo.hospital import write
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadPolicy, SfumatoError
from sfumato.workflows.attack import rehearse_attacks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hospital")
    write(folder, rows=300)
    return folder


def test_every_adversary_before_and_after(hospital):
    found = rehearse_attacks(hospital / "hospital.csv", hospital / "policy.yaml")
    linkage = [line for line in found.adversaries if line.attack == "linkage"]
    assert linkage and all(line.before.breach and not line.after.breach for line in linkage)
    assert all("k-anonymity, k = 5" in line.stopped_by for line in linkage)
    assert all(line.knows and line.seeks and line.succeeds and line.would_stop for line in linkage)
    assert found.holds is True and found.after == "All promises hold. No attack succeeds."
    assert "BROKEN" in found.before or "succeed" in found.before
    ranks = [line.rank for line in found.adversaries]
    assert ranks == sorted(ranks)


def test_no_value_is_told(hospital):
    told = repr(rehearse_attacks(hospital / "hospital.csv", hospital / "policy.yaml"))
    lines = (hospital / "hospital.csv").read_text().splitlines()[1:]
    names = {line.split(",")[1] for line in lines}
    assert not [name for name in names if name in told]


def test_an_attack_that_no_promise_speaks_of_names_those_that_would_stop_it(hospital):
    policy = Policy.load(hospital / "policy.yaml")
    bare = Policy.load(hospital / "policy.yaml")
    object.__setattr__(bare, "promises", type(policy.promises)(policy.promises.members[:1]))
    # Groups of two: with k = 5, no value of this table gains more than 1/2, and skewness does not succeed.
    found = rehearse_attacks(hospital / "hospital.csv", bare.with_(k=2).confirm_columns("disease"))
    skewness = next(line for line in found.adversaries if line.attack == "skewness")
    assert skewness.stopped_by == () and skewness.would_stop == ("t-closeness",)
    assert skewness.after.breach


def test_what_protect_refuses_is_refused(hospital):
    with pytest.raises(SfumatoError) as refused:
        rehearse_attacks(hospital / "hospital.csv", Policy.load(hospital / "policy.yaml").with_(k=1000))
    assert refused.value.remedy and not isinstance(refused.value, BadPolicy)
