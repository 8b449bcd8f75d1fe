"""Chains that 0.1 let weaken are found, whoever looks; `tests/golden/v0_1_weakened/README.md` says which."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.journey.floors import ledger_floors

GOLDEN = Path(__file__).parent.parent / "golden" / "v0_1_weakened"
WEAKER = {
    3: "promises: k-anonymity, k = 40, now k-anonymity, k = 2",
    7: "promises: k-anonymity, k = 6, now k-anonymity, k = 2",
    9: "promises: continuous, k = 5, now continuous, k = 2",
}


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A copy of the ledger, to work with."""
    shutil.copytree(GOLDEN, tmp_path / "old")
    for name in ("ledger.db", "ledger.db.key"):
        (tmp_path / "old" / "ledger" / name).chmod(0o600)
    monkeypatch.chdir(tmp_path / "old")
    monkeypatch.setenv("SFUMATO_LEDGER", "sqlite:///ledger/ledger.db")
    return sf.Ledger("sqlite:///ledger/ledger.db", readonly=True)


@pytest.fixture
def sfumato(capsys):
    """Run the program with `--json`; the document it prints."""

    def call(*words, code):
        assert run([*map(str, words), "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return call


@pytest.mark.usefixtures("old")
def test_verify_names_the_releases_below_the_floor(sfumato):
    found = sfumato("ledger", "verify", "--key", "ledger/ledger.db.key.pub", code=1)
    assert found["holds"] and found["faults"] == [], "nothing was changed"
    assert {release["entry"]: release["parts"][0] for release in found["weaker"]} == WEAKER
    assert all(release["allowed_by"] is None for release in found["weaker"])


@pytest.mark.usefixtures("old")
def test_the_attack_finds_what_two_recipients_hold(sfumato):
    """The certificate does not tell that pairs were promised; the first policy, by its digest, does."""
    told = "releases 1 and 2 together leave somebody 12 candidates of the 15 promised first"
    words = ("ledger", "floor", "--chain", "pairs")
    (found,) = sfumato(*words, code=0)["findings"]
    assert (found["sentence"], found["breach"]) == (f"{told}, if that was promised", False)
    (found,) = sfumato(*words, "--first-policy", "policies/pairs.yaml", code=1)["findings"]
    assert (found["sentence"], found["breach"]) == (told, True)
    (found,) = sfumato(*words, "--first-policy", "policies/alone.yaml", code=0)["findings"]
    assert not found["breach"], "another policy than the first one tells nothing"


def test_every_chain_is_attacked(old):
    found = ledger_floors(old)
    assert not found.holds
    assert {release.number: release.parts[0] for release in found.weaker} == WEAKER
    assert [chain for chain, finding in found.findings if finding.breach] == ["k", "main", "quarters"]
    assert found.floors["quarters"] == ("continuous, k = 5",)
    assert "LESS" in str(found)


def test_names_that_look_alike_are_one_chain(old):
    """0.1 took "main " for another chain."""
    assert [record.number for record in old.history("main")] == [6, 7]
    assert old.history(" main\t") == old.history("main")
    assert len(ledger_floors(old, "main ").floors) == 1


@pytest.mark.parametrize("chain", ["k", "main", "pairs"])
def test_none_of_them_goes_on_by_the_weaker_policy(old, sfumato, chain):
    """Nor by the first one, where the later release is to be held beside it: the ledger stays as it is."""
    policy = {"k": "k2", "main": "k2", "pairs": "alone"}[chain]
    table = GOLDEN.parent / "v0_1" / "people" / "survey.csv"
    words = (
        "release",
        table,
        "-p",
        f"policies/{policy}.yaml",
        "--chain",
        chain,
        "--to",
        "press",
        "--into",
        "more",
    )
    found = sfumato(*words, code=5)
    assert found["error"]["kind"] == "RefusedByHistory"
    assert not Path("more").exists() and len(old.history()) == 8
