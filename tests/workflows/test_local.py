"""Local recoding from the policy to the published bytes, and where it is refused."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import BadPolicy, RefusedByHistory

pytestmark = pytest.mark.slow

TREES = {
    "zip": {"prefix": [2, 1]},
    "job": {"tree": {"Service": ["Cook", "Waiter"], "Care": ["Nurse", "Physician"]}},
}
PEOPLE = pl.DataFrame(
    {
        "zip": [f"0{1 + i % 2}{i % 3}" for i in range(60)],
        "job": [("Cook", "Waiter", "Nurse", "Physician")[(i * i) % 4 if i % 5 else i % 4] for i in range(60)],
        "disease": [("Flu", "Cough", "Burn", "HIV")[i * 7 % 4 if i % 3 else 0] for i in range(60)],
    }
)


def policy(search="local", **more):
    return {
        "columns": {
            "zip": {"role": "quasi", "taxonomy": TREES["zip"]},
            "job": {"role": "quasi", "taxonomy": TREES["job"]},
            "disease": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 4}}, {"l-diversity": {"of": "disease", "l": 2}}],
        "protect": {"suppress": 0, "search": search},
        **more,
    }


def test_the_published_bytes_are_judged_and_attacked(sfumato, tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(policy()), encoding="utf-8")
    safe = tmp_path / "safe.csv"
    said = sfumato("protect", tmp_path / "people.csv", "-p", tmp_path / "policy.yaml", "-o", safe, "--json")
    assert said.code == 0, said.err
    assert said.document["cuts"] is None and said.document["suppressed"] == 0
    audit = sf.audit(safe, policy())
    assert audit.holds
    assert {finding.attack for finding in audit.findings} >= {"homogeneity", "linkage", "skewness"}
    promised = [f for f in audit.findings if f.attack in ("homogeneity", "linkage")]
    assert promised and not any(finding.breach for finding in promised)


def test_one_row_taken_out_of_a_class_is_noticed():
    """The judge counts classes by what they publish, whatever the recoding was."""
    safe = sf.protect(PEOPLE, policy()).apply(PEOPLE)
    sizes = safe.group_by(["zip", "job"]).len().sort("len", "zip", "job")
    rarest = sizes.row(0, named=True)
    assert rarest["len"] >= 4
    inside = (pl.col("zip") == rarest["zip"]) & (pl.col("job") == rarest["job"])
    broken = pl.concat([safe.filter(~inside), safe.filter(inside).head(3)])
    assert sf.audit(safe, policy()).holds
    assert not sf.audit(broken, policy()).holds


def test_it_is_better_than_recoding_whole_columns():
    losses = {search: sf.protect(PEOPLE, policy(search)).loss for search in ("local", "optimum", "lattice")}
    assert losses["local"] < losses["optimum"] <= losses["lattice"] + 1e-12


def test_the_same_rows_give_the_same_bytes():
    one = sf.protect(PEOPLE, policy()).apply(PEOPLE)
    other = PEOPLE.sample(fraction=1, shuffle=True, seed=3)
    assert one.write_csv() == sf.protect(other, policy()).apply(other).write_csv()


@pytest.fixture
def go(tmp_path):
    def release(rules, name):
        return sf.release(PEOPLE, rules, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / name)

    return release


@pytest.mark.parametrize("search", ["local", "mondrian", "best", "top-down"])
def test_whatever_recodes_classes_may_begin_a_chain(go, search):
    first = go(policy(search), "one")
    assert (first.record.sequence, first.record.is_of_groups) == (1, True)
    with pytest.raises(RefusedByHistory, match="nothing tells who is in earlier releases"):
        go(policy(search), "two")


def test_recipients_and_promises_beside_earlier_releases_are_refused():
    with pytest.raises(BadPolicy, match="recodes every class by itself"):
        sf.protect(PEOPLE, policy(recipients={}))
    columns = {**policy()["columns"], "quarter": {"role": "identifier"}}
    chain = policy(columns=columns, promises=[{"continuous": {"k": 4, "since": "quarter"}}])
    with pytest.raises(BadPolicy, match="local cannot keep it"):
        sf.protect(PEOPLE.with_columns(quarter=pl.lit("Q1")), chain)


def test_a_suppression_limit_is_refused():
    with pytest.raises(BadPolicy, match="nothing to suppress"):
        sf.protect(PEOPLE, policy(protect={"price": "none", "search": "local", "suppress": "5%"}))


def test_the_best_search_says_what_the_others_gave(sfumato, tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(policy("best")), encoding="utf-8")
    call = ("protect", tmp_path / "people.csv", "-p", tmp_path / "policy.yaml", "--dry-run")
    told = sfumato(*call, "--compare").out
    assert "plan by best of 5 searches: local" in told
    assert told.index("searches compared") < told.index("  local ") < told.index("  lattice ")
    document = sfumato(*call, "--json").document
    assert document["found_by"] == "local"
    assert min(one["loss"] for one in document["compared"]) == document["loss"]
    assert document == sfumato(*call, "--json").document
    (tmp_path / "policy.yaml").write_text(json.dumps(policy("lattice")), encoding="utf-8")
    assert "only `search: best` tries several searches" in sfumato(*call, "--compare").out
