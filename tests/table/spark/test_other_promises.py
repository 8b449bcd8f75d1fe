"""Free columns, start levels, versions for recipients and tracing: Spark and Polars say the same."""

from __future__ import annotations

import shutil

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.system.errors import SfumatoError
from sfumato.table.source import open_source

pytestmark = pytest.mark.xdist_group("spark")

TOWNS = {"Süd": ["Köln", "Bonn", "𝄞"], "Nord": ["Kiel", "e\u0301", "é"]}
TREE = {"tree": {name: [*towns] for name, towns in TOWNS.items()}}
CELL = st.sampled_from([town for towns in TOWNS.values() for town in towns])
ROW = st.tuples(CELL, st.one_of(st.none(), st.sampled_from("fm")), st.sampled_from(["Flu", "AIDS", "TB"]))
TABLES = st.lists(ROW, min_size=1, max_size=12)


def table_of(rows):
    names = ("town", "sex", "disease")
    return pa.table(
        {name: pa.array(list(cells)) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}
    )


def tried(call):
    """What comes of it, or which refusal and what it says."""
    try:
        return call()
    except SfumatoError as refusal:
        return type(refusal), str(refusal)


FREE = {
    "columns": {
        "town": {"role": "free", "taxonomy": TREE},
        "sex": {"role": "free"},
        "disease": {
            "role": "free",
            "taxonomy": {"tree": {"Viral": ["Flu", "AIDS"], "Bacterial": ["TB"]}},
            "sensitive": ["AIDS"],
        },
    },
    "promises": [{"freeform": {"threat": "1/2"}}],
    "protect": {"search": "top-down", "suppress": 0},
}
COARSE = {
    "columns": {
        "town": {"role": "quasi", "taxonomy": TREE, "start": 1},
        "sex": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"price": "none", "search": "top-down", "suppress": "30%"},
    "confirm": {"disease": True},
}


@pytest.mark.parametrize("policy", [FREE, COARSE], ids=["freeform", "start"])
@given(rows=TABLES)
@settings(max_examples=2, deadline=None)
def test_the_same_plan_verdicts_and_table(spark, policy, rows):
    table = table_of(rows)
    there, here = spark.createDataFrame(table), pl.from_arrow(table)
    plan, known = tried(lambda: sf.protect(there, policy)), tried(lambda: sf.protect(here, policy))
    if isinstance(known, tuple):
        assert plan == known
        return
    assert (plan.verdicts, plan.cuts, plan.loss) == (known.verdicts, known.cuts, known.loss)
    assert plan.recoding.table.digest == known.recoding.table.digest
    made, other = plan.apply(there), known.apply(here)
    assert open_source(made).digest() == open_source(other).digest()
    mine, theirs = sf.audit(made, policy), sf.audit(other, policy)
    assert mine.verdicts == theirs.verdicts and mine.findings == theirs.findings


def test_versions_for_recipients_and_a_leak(spark, tmp_path):
    """Every recipient gets the same rows as from Polars, and a leak in Spark is traced to the same one."""
    people = sf.demo.hospital(160, seed=5, kind="pyarrow")
    words = sf.demo.policy().to_dict()
    policy = {**words, "recipients": {"tolerance": "200%"}}
    names = ["registry", "university"]
    given = {"spark": spark.createDataFrame(people), "polars": pl.from_arrow(people)}
    for kind, data in given.items():
        ledger = f"sqlite:///{tmp_path}/{kind}.db"
        sf.release(data, policy, ledger=ledger, into=tmp_path / kind, to=names, format="parquet")
        shutil.copy(tmp_path / "spark.db.key", tmp_path / "polars.db.key")  # the same coins
    digests = {}
    for kind in given:
        files = [tmp_path / kind / name / "data.parquet" for name in names]
        digests[kind] = [open_source(file).digest() for file in files]
    assert digests["spark"] == digests["polars"] and len(set(digests["spark"])) == 2
    leak = pl.read_parquet(tmp_path / "polars" / "university" / "data.parquet").head(60).to_arrow()
    mine = sf.trace(spark.createDataFrame(leak), ledger=f"sqlite:///{tmp_path}/spark.db")
    known = sf.trace(pl.from_arrow(leak), ledger=f"sqlite:///{tmp_path}/polars.db")
    assert mine.alone == known.alone == ("university",)
    assert mine.as_dict() == known.as_dict()
