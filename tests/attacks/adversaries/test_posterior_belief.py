"""Two tables make a value likely: found in what an older version handed out, and in no table of this one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import UsageError

pytestmark = pytest.mark.slow

OLD = Path(__file__).parents[2] / "golden" / "colluders"
HALF = {"confidence-bounding": {"of": "disease", "confidence": "1/2"}}


def original():
    """The table that the old files were made from."""
    others = {disease: [0, 2, 2, 200] for disease in ("asthma", "burn", "cold", "flu", "gout")}
    cells = {"HIV": [10, 0, 0, 0], **others}
    rows = [
        (f"a{i // 2}", f"b{i % 2}", disease)
        for disease, counts in cells.items()
        for i, n in enumerate(counts)
        for _ in range(n)
    ]
    return pl.DataFrame(rows, schema=["street", "job", "disease"], orient="row")


def policy(*promises, **recipients):
    columns = {"street": {"role": "quasi"}, "job": {"role": "quasi"}, "disease": {"role": "sensitive"}}
    asked = [{"k-anonymity": {"k": 2}}, *promises]
    return {
        "columns": columns,
        "promises": asked,
        "protect": {"search": "top-down", "suppress": 0},
        "recipients": {"quality": "discernibility", "tolerance": "1000%", **recipients},
        "confirm": {"disease": True},
    }


def test_the_files_of_an_older_version_give_ten_people_away():
    (found,) = sf.attack.posterior_belief([OLD / "one.csv", OLD / "other.csv"], OLD / "policy.yaml")
    assert found.confidence == Fraction(102, 103)
    assert found.breach and found.people >= 10
    assert "HIV" not in found.sentence


@pytest.mark.parametrize(
    "promise",
    [
        {"alpha-k-anonymity": {"of": "disease", "alpha": "1/2", "k": 2}},
        {"l-diversity": {"kind": "entropy", "of": "disease", "l": 3}},
        {"l-diversity": {"kind": "recursive", "of": "disease", "l": 2, "c": "3/2"}},
        {"t-closeness": {"of": "disease", "t": "1/2"}},
    ],
    ids=lambda p: next(iter(p)),
)
def test_every_promise_about_beliefs_that_the_old_files_break_is_a_breach(promise):
    files, rules = [OLD / "one.csv", OLD / "other.csv"], policy(promise)
    assert sf.attack.posterior_belief(files, rules)[0].breach
    quiet = policy()
    assert not sf.attack.posterior_belief(files, quiet)[0].breach, "nobody promised anything of beliefs"


def test_an_audit_beside_a_ledger_finds_them(tmp_path):
    """A finding, and no breach: nothing is promised of versions put together."""
    ledger = f"sqlite:///{tmp_path}/l.db"
    sf.release(original(), policy(HALF), ledger=ledger, into=tmp_path / "out", to=["A", "B"])
    audit = sf.audit(tmp_path / "out" / "A" / "data.csv", policy(HALF), against=ledger)
    (found,) = [f for f in audit.findings if f.attack == "posterior-belief"]
    assert found.confidence == Fraction(102, 103) and not found.breach and audit.holds


def test_spellings_of_one_value_are_believed_together():
    ill = pl.col("disease")
    spelled = (
        original()
        .with_row_index()
        .with_columns(
            disease=pl.when((ill == "HIV") & (pl.col("index") % 2 == 0)).then(pl.lit("hiv ")).otherwise(ill)
        )
    )
    one = spelled.select("street", pl.lit("*").alias("job"), "disease")
    other = spelled.select(pl.lit("*").alias("street"), "job", "disease")
    (found,) = sf.attack.posterior_belief([one, other], policy(HALF))
    assert found.confidence == Fraction(102, 103)
    exact = policy(HALF)
    exact["columns"]["disease"]["spelling"] = "exact"
    (apart,) = sf.attack.posterior_belief([one, other], exact)
    assert apart.confidence == Fraction(51, 103)


def test_one_table_alone_is_refused():
    with pytest.raises(UsageError, match="one table alone"):
        sf.attack.posterior_belief([OLD / "one.csv"], OLD / "policy.yaml")
