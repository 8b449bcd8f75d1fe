"""What is kept of the original table, so that a published one can be judged later."""

from __future__ import annotations

import json
from fractions import Fraction

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.models.contract import LONGEST, share_of, share_text
from sfumato.policy.reference import Reference, reference_path
from sfumato.releases.files import kept_on_success
from sfumato.releases.targets import Store
from sfumato.system.address import Address
from sfumato.system.errors import BadData, BrokenPromise, Unfinished
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

KNOWLEDGE = {"Flu": ["fever", "cough"], "Cold": ["cough", "sneeze"], "Allergy": ["sneeze", "rash"]}
PEOPLE = {"age": [22, 24, 31, 35], "symptoms": ["fever;cough", "fever", "sneeze", "cough"]}


def policy(prior="mean", t="1/3"):
    asked = {"of": "symptoms", "knowledge": KNOWLEDGE, "kind": "closeness", "t": t, "prior": prior}
    return {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [1, 10, 50], "from": 0, "to": 100}},
            "symptoms": {"role": "quasi-sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}, {"quasi-sensitive": asked}],
        "protect": {"suppress": 0, "search": "mondrian"},
    }


@pytest.fixture
def safe(tmp_path):
    (tmp_path / "policy.yaml").write_text(json.dumps(policy()), encoding="utf-8")
    protect_file(pl.DataFrame(PEOPLE), policy(), tmp_path / "safe.csv")
    return tmp_path / "safe.csv"


@pytest.mark.parametrize("rule", ["mean", "count"])
def test_a_published_file_is_judged_with_what_is_kept_beside_it(tmp_path, rule):
    plan, _ = protect_file(pl.DataFrame(PEOPLE), policy(rule), tmp_path / "safe.csv")
    kept = reference_path(tmp_path / "safe.csv")
    assert kept.stat().st_mode & 0o077 == 0
    assert Reference.load(kept) == plan.reference and "fever" not in kept.read_text()
    assert sf.audit(tmp_path / "safe.csv", policy(rule)).holds is True
    other = "count" if rule == "mean" else "mean"
    assert sf.audit(tmp_path / "safe.csv", policy(other)).holds is None
    frame = pl.read_csv(tmp_path / "safe.csv")
    assert sf.audit(frame, policy(rule)).holds is None
    assert sf.audit(frame, policy(rule), reference=plan.reference).holds is True
    assert sf.audit(frame, policy(rule), reference=kept).holds is True
    assert sf.attack("quasi-sensitive", frame, policy(rule), reference=kept).breaches == ()


def test_the_raw_table_breaks_what_the_reference_decides(tmp_path, safe):
    raw = tmp_path / "raw.csv"
    pl.DataFrame(PEOPLE).write_csv(raw)
    assert sf.audit(raw, policy(), reference=reference_path(safe)).holds is False
    assert any(f.breach for f in sf.attack.quasi_sensitive(raw, policy()))


def test_a_uniform_prior_needs_no_reference(tmp_path):
    plan, _ = protect_file(pl.DataFrame(PEOPLE), policy("uniform"), tmp_path / "safe.csv")
    assert plan.reference is None and not reference_path(tmp_path / "safe.csv").exists()
    assert sf.audit(tmp_path / "safe.csv", policy("uniform")).holds is True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("1/4", "1/8"), "digest"),
        (lambda text: text.replace("priors", "posteriors"), "no reference"),
        (lambda text: text[:40], "no reference"),
        (lambda text: text.replace('"1/4"', '"1/0"'), "no reference"),
    ],
)
def test_a_reference_that_was_changed_is_refused(safe, change, said):
    kept = reference_path(safe)
    text = kept.read_text(encoding="utf-8")
    assert change(text) != text
    kept.write_text(change(text), encoding="utf-8")
    with pytest.raises(BadData, match=said):
        sf.audit(safe, policy())


def test_a_reference_that_is_not_there_is_said(safe):
    with pytest.raises(BadData, match="not there"):
        sf.audit(safe, policy(), reference="nowhere.json")


def test_a_release_keeps_it_beside_its_folder(tmp_path):
    data = tmp_path / "people.csv"
    pl.DataFrame(PEOPLE).write_csv(data)
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    sf.release(data, policy(), ledger=url, dry_run=True)
    assert not reference_path(tmp_path / "first").exists()
    sf.release(data, policy(), ledger=url, into=tmp_path / "first")
    assert sf.audit(tmp_path / "first" / "data.csv", policy()).holds is True
    assert not list((tmp_path / "first").glob("*reference*"))


def test_of_a_release_in_a_store_it_is_kept_here(tmp_path, buckets, monkeypatch):
    """What is in a store is for others; the reference is for the owner alone."""
    monkeypatch.chdir(tmp_path)
    place = buckets.new()
    pl.DataFrame(PEOPLE).write_csv("people.csv")
    sf.release("people.csv", policy(), ledger="sqlite:///ledger.db", into=place)
    assert reference_path(Address.of(place)).stat().st_mode & 0o777 == 0o600
    assert not any("reference" in name for name in Store(Address.of(place)).sizes())
    assert sf.audit(place, policy()).holds
    reference_path(Address.of(place)).unlink()
    assert sf.audit(place, policy()).holds is not True


def test_the_program_finds_it(safe, capsys):
    words = ["audit", str(safe), "-p", str(safe.with_name("policy.yaml")), "--strict"]
    assert run(words) == 0
    aside = safe.with_name("aside.json")
    reference_path(safe).rename(aside)
    assert run(words) == 1
    assert run([*words, "--reference", str(aside)]) == 0
    capsys.readouterr()


def test_what_is_kept_appears_with_what_is_published_or_not_at_all(tmp_path):
    path = tmp_path / "kept"
    with pytest.raises(BrokenPromise), kept_on_success(path) as stage:
        stage("one")
        raise BrokenPromise("no")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Unfinished), kept_on_success(path) as stage:
        stage("two")
        raise Unfinished("settled, not shown")
    assert path.read_text(encoding="utf-8") == "two"
    with kept_on_success(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_very_long_fractions_survive():
    long = Fraction(3, 7 ** (LONGEST // 2))
    assert share_of(share_text(long)) == long and share_text(long).startswith("0x")
