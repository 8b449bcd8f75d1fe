"""`sfumato release --to A --to B`, `sfumato override`: versions from the command line."""

from __future__ import annotations

import json

import pytest

from sfumato.releases.ledger.keys import public_key

pytestmark = pytest.mark.slow


@pytest.fixture
def home(clinic, monkeypatch, sfumato):
    """Two hundred people in a tree of three levels; the key of a second person is listed."""
    lines = ["name,zip,age,disease"]
    lines += [f"N{i},{i % 8:02d}{i % 3},{20 + i % 7},{'flu' if i % 4 else 'cough'}" for i in range(240)]
    folder = clinic("\n".join(lines) + "\n")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    words = json.loads((folder / "policy.yaml").read_text(encoding="utf-8"))
    words["columns"]["age"] = {"role": "quasi", "taxonomy": {"intervals": [2, 4, 40], "from": 0, "to": 80}}
    words["promises"] = [{"k-anonymity": {"k": 5}}]
    words["recipients"] = {"quality": "entropy", "tolerance": "200%"}
    sign = (
        "override",
        "-p",
        "policy.yaml",
        "--to",
        "rescue",
        "--k",
        "2",
        "--reason",
        "flood",
        "--by",
        "Berg",
    )
    (folder / "policy.yaml").write_text(json.dumps(words), encoding="utf-8")
    early = sfumato(*sign, "--until", "2099-01-01", "--key", "b.key", "-o", "0.json").err
    assert f"does not list the key {public_key(folder / 'b.key')} yet" in early
    assert "Add it under recipients.overriders, then sign again" in early
    words["recipients"]["overriders"] = [public_key(folder / "b.key")]
    (folder / "policy.yaml").write_text(json.dumps(words), encoding="utf-8")
    said = sfumato(*sign, "--until", "2099-01-01", "--key", "b.key", "-o", "o.json", "--json")
    assert said.code == 0, said.err
    assert said.document["k"] == 2
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


def test_an_override_from_the_command_line(sfumato, home):
    said = sfumato(
        *RELEASE, "--to", "lab", "--to", "rescue", "--override", "o.json", "--into", "out", "--json"
    )
    assert said.code == 0, said.err
    lab, rescue = said.document["versions"]
    assert lab["verdicts"][0]["limit"] == 5
    assert rescue["verdicts"][0]["limit"] == 2
    assert rescue["figures"]["k"] < 5 <= lab["figures"]["k"]
    assert sfumato(*RELEASE, "--to", "lab", "--override", "o.json", "--into", "two").code == 2
    assert sfumato(*RELEASE, "--to", "rescue", "--override", "0.json", "--into", "two").code == 2, (
        "an older policy"
    )
    assert sfumato("override", "-p", "policy.yaml", "--to", "x", "--k", "0", "--reason", "r", "--by", "b",
                   "--until", "2099-01-01", "--key", "b.key", "-o", "z.json").code == 2  # fmt: skip
    assert not (home / "z.json").exists()
