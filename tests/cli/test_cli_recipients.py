"""`sfumato release --to A --to B`: versions from the command line."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def home(clinic, monkeypatch):
    """Two hundred people in a tree of three levels."""
    lines = ["name,zip,age,disease"]
    lines += [f"N{i},{i % 8:02d}{i % 3},{20 + i % 7},{'flu' if i % 4 else 'cough'}" for i in range(240)]
    folder = clinic("\n".join(lines) + "\n")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    words = json.loads((folder / "policy.yaml").read_text(encoding="utf-8"))
    words["columns"]["age"] = {"role": "quasi", "taxonomy": {"intervals": [2, 4, 40], "from": 0, "to": 80}}
    words["promises"] = [{"k-anonymity": {"k": 5}}]
    words["recipients"] = {"quality": "entropy", "tolerance": "200%"}
    (folder / "policy.yaml").write_text(json.dumps(words), encoding="utf-8")
    return folder


RELEASE = ("release", "data.csv", "-p", "policy.yaml")
BOTH = ("--to", "lab", "--to", "registry")


def test_versions_from_the_command_line(sfumato, home):
    before = sorted(path.name for path in home.iterdir())
    rehearsed = sfumato(*RELEASE, *BOTH, "--dry-run")
    assert rehearsed.code == 0, rehearsed.err
    assert rehearsed.out.startswith("this policy serves ")
    assert sorted(path.name for path in home.iterdir()) == before
    said = sfumato(*RELEASE, *BOTH, "--into", "out", "--json")
    assert said.code == 0, said.err
    assert [v["recipient"] for v in said.document["versions"]] == ["lab", "registry"]
    assert (home / "out" / "lab" / "data.csv").read_bytes() != (
        home / "out" / "registry" / "data.csv"
    ).read_bytes()
    proof = ("certificate", "verify", "out/lab/certificate.json")
    assert sfumato(*proof, "--key", "ledger.db.key.pub").code == 0
    assert sfumato(*proof).code == 1, "whose certificate it is, is not known"
    assert sfumato(*RELEASE, "--to", "lab", "--into", "again").code == 5
    assert sfumato(*RELEASE, "--to", "third", "--into", "third").code == 0
    shown = sfumato("history").out
    assert [line.split()[3] for line in shown.splitlines()[2:]] == ["lab", "registry", "third"]
    assert sfumato("ledger", "verify").code == 0


@pytest.mark.usefixtures("home")
def test_a_smaller_k_for_one_recipient_is_refused_with_what_an_override_is_for(sfumato):
    signed = ("--reason", "r", "--by", "b", "--until", "2099-01-01", "--key", "b.key", "-o", "z.json")
    refused = sfumato("override", "-p", "policy.yaml", *signed)
    assert refused.code == 2 and "nobody has a smaller k beside others" in refused.err
    assert sfumato("override", "-p", "policy.yaml", "--to", "x", "--k", "2", *signed).code == 2
