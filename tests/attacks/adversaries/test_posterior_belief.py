"""Two tables make a value likely: found in what an older version handed out, and in no table of this one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import Infeasible, SfumatoError, UsageError

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
    files, rules = [OLD / "one.csv", OLD / "other.csv"], policy(promise, coalition="pairs")
    assert sf.attack.posterior_belief(files, rules)[0].breach
    quiet = policy(coalition="pairs")
    assert not sf.attack.posterior_belief(files, quiet)[0].breach, "nobody promised anything of beliefs"


@pytest.mark.parametrize("coalition", ["pairs", "any"])
def test_this_version_does_not_hand_them_out(tmp_path, coalition):
    rules = policy(HALF, coalition=coalition)
    with pytest.raises(Infeasible, match="serves 1 recipient"):
        sf.release(
            original(), rules, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "out", to=["A", "B"]
        )


def test_an_audit_beside_a_ledger_finds_them(tmp_path):
    """Handed out to recipients who never meet; audited by somebody who was told that pairs may."""
    ledger = f"sqlite:///{tmp_path}/l.db"
    sf.release(original(), policy(HALF), ledger=ledger, into=tmp_path / "out", to=["A", "B"])
    file = tmp_path / "out" / "A" / "data.csv"
    audit = sf.audit(file, policy(HALF, coalition="pairs"), against=ledger)
    won = [f for f in audit.breaches if f.attack == "posterior-belief"]
    assert [f.confidence for f in won] == [Fraction(102, 103)]
    assert audit.holds is False
    assert [v.word for v in audit.verdicts if "together" in v.promise] == ["BROKEN"]
    apart = sf.audit(file, policy(HALF), against=ledger)
    told = [f for f in apart.findings if f.attack == "posterior-belief"]
    assert told[0].confidence == Fraction(102, 103) and not told[0].breach, "not what was promised"


def people(seed=1, rows=600):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "street": rng.choice(["a0", "a1"], rows).tolist(),
            "job": rng.choice(["b0", "b1"], rows).tolist(),
            "disease": rng.choice(["HIV", "burn", "cold", "flu"], rows).tolist(),
        }
    )


def test_versions_of_this_version_withstand_and_the_seal_says_what_tables_do_not(tmp_path):
    ledger, rules = f"sqlite:///{tmp_path}/l.db", policy(HALF, coalition="pairs")
    sf.release(people(), rules, ledger=ledger, into=tmp_path / "out", to=["A", "B"])
    files = [tmp_path / "out" / name / "data.csv" for name in "AB"]
    assert not sf.attack.posterior_belief(files, rules)[0].breach
    assert sf.attack.correspondence(files, rules).holds is not False
    audit = sf.audit(files[0], rules, against=ledger)
    assert not audit.breaches and audit.holds is None
    assert [v.word for v in audit.verdicts if "together" in v.promise] == ["not decidable"]
    key = next(tmp_path.glob("*.pub"))
    sealed = sf.audit(files[0], rules, against=ledger, key=key)
    assert [v.word for v in sealed.verdicts if "together" in v.promise] == ["sealed"]
    assert sealed.holds is True


def test_a_certificate_seals_only_its_own_policy_and_files(tmp_path):
    ledger, rules = f"sqlite:///{tmp_path}/l.db", policy(HALF, coalition="pairs")
    sf.release(people(), rules, ledger=ledger, into=tmp_path / "out", to=["A", "B"])
    key, file = next(tmp_path.glob("*.pub")), tmp_path / "out" / "A" / "data.csv"
    with pytest.raises(SfumatoError, match="another policy"):
        sf.audit(file, policy(HALF, coalition="any"), against=ledger, key=key)
    file.write_bytes(file.read_bytes() + b"a0,*,flu\n")
    with pytest.raises(SfumatoError):
        sf.audit(file, rules, against=ledger, key=key)


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
    (found,) = sf.attack.posterior_belief([one, other], policy(HALF, coalition="pairs"))
    assert found.confidence == Fraction(102, 103)
    exact = policy(HALF, coalition="pairs")
    exact["columns"]["disease"]["spelling"] = "exact"
    (apart,) = sf.attack.posterior_belief([one, other], exact)
    assert apart.confidence == Fraction(51, 103)


def test_one_table_alone_is_refused():
    with pytest.raises(UsageError, match="one table alone"):
        sf.attack.posterior_belief([OLD / "one.csv"], OLD / "policy.yaml")
