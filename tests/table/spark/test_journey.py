"""From discovery to release with a Spark table: the same plan, verdicts and table as with any other."""

from __future__ import annotations

import json

import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.policy.reference import judge_data
from sfumato.releases import certificate as manifest
from sfumato.releases.targets import Store
from sfumato.system.address import Address
from sfumato.system.errors import BadData, BrokenPromise, UsageError
from sfumato.system.memory import Memory
from sfumato.table.source import open_source
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.xdist_group("spark")

KNOWLEDGE = {
    "Flu": ["fever", "cough", "headache"],
    "Cold": ["cough", "sneeze", "headache"],
    "Malaria": ["fever", "chills", "headache"],
    "Allergy": ["sneeze", "rash"],
}
SETS = [["fever", "cough"], ["fever", "cough", "headache"], ["sneeze"], ["cough", "headache"]]


def same_everywhere(spark, table, policy):
    """The plan of a Spark table, after comparing it with the plan of a Polars frame."""
    plan, known = sf.protect(spark.createDataFrame(table), policy), sf.protect(pl.from_arrow(table), policy)
    assert plan.recoding.table.digest == known.recoding.table.digest
    assert plan.verdicts == known.verdicts and plan.cuts == known.cuts and plan.loss == known.loss
    made, other = plan.apply(spark.createDataFrame(table)), known.apply(pl.from_arrow(table))
    assert open_source(made).digest() == open_source(other).digest()
    assert made.toArrow().to_pylist() == other.to_arrow().to_pylist()
    return plan


@pytest.mark.parametrize("search", ["top-down", "mondrian"])
def test_the_demo_table(spark, search):
    people = sf.demo.hospital(300, seed=3, kind="pyarrow")
    how = {"search": "top-down", "suppress": "5%"} if search == "top-down" else {"search": "mondrian"}
    policy = sf.Policy.from_dict({**sf.demo.policy().to_dict(), "protect": how})
    plan = same_everywhere(spark, people, policy)
    if search == "top-down":
        safe = plan.apply(spark.createDataFrame(people))
        mine, theirs = sf.audit(safe, policy), sf.audit(plan.apply(people), policy)
        assert mine.verdicts == theirs.verdicts and mine.findings == theirs.findings


def test_discovery(spark):
    people = sf.demo.hospital(200, seed=3, kind="pyarrow").drop_columns(["name", "symptoms"])
    mine = sf.discover(spark.createDataFrame(people), k=2, mode="any", max_size=2)
    known = sf.discover(people, k=2, mode="any", max_size=2)
    assert (mine.minimal, mine.minimum, mine.exposed) == (known.minimal, known.minimum, known.exposed)
    assert mine.found == known.found or mine.found.sets == known.found.sets


@pytest.mark.parametrize("form", ["text", "lists", "parts"])
def test_term_sets(spark, form):
    """Terms are removed row by row, also where rows are alike in all that was planned."""
    ages, visits = [22, 24, 31, 35] * 2, list(range(8))
    columns = {"age": pa.array(ages), "visit": pa.array(visits)}
    rules = {
        "age": {"role": "quasi", "taxonomy": {"intervals": [1, 10, 50], "from": 0, "to": 100}},
        "visit": {"role": "insensitive"},
    }
    name = "symptoms"
    if form == "parts":
        for term in sorted({term for held in SETS for term in held}):
            columns[term] = pa.array([str(int(term in held)) for held in SETS * 2])
            rules[term] = {"role": "quasi-sensitive", "set": name}
    else:
        columns[name] = pa.array(SETS * 2 if form == "lists" else [";".join(held) for held in SETS * 2])
        rules[name] = {"role": "quasi-sensitive", "separator": ";"}
    policy = {
        "columns": rules,
        "promises": [
            {"k-anonymity": {"k": 2}},
            {"quasi-sensitive": {"of": name, "knowledge": KNOWLEDGE, "l": 2, "c": 1}},
        ],
        "protect": {"suppress": 0, "search": "mondrian"},
    }
    plan = same_everywhere(spark, pa.table(columns), policy)
    assert plan.recoding.rewritten


POLICY = {
    "columns": {
        "who": {"role": "identifier"},
        "zip": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "disease", "l": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
    "person": "who",
}
PEOPLE = pa.table(
    {
        "who": [f"canary-{i}" for i in range(24)],
        "zip": [f"0{i // 2 % 2}" for i in range(24)],
        "disease": ["flu" if i // 2 % 4 < 2 else "cold" for i in range(24)],
    }
)


def test_release(spark, tmp_path):
    """A folder of parts with a manifest and a certificate; nobody is named in it."""
    frame = spark.createDataFrame(PEOPLE).repartition(2)
    ledger = sf.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    receipt = sf.release(frame, POLICY, ledger=ledger, into=tmp_path / "march")
    out = tmp_path / "march"
    assert sorted(p.name for p in out.iterdir()) == [
        "certificate.json",
        "data.parquet",
        "dictionary.html",
        "dictionary.json",
        "manifest.json",
    ]
    assert receipt.record.figures["rows"] == 24
    assert not list(tmp_path.glob(".staged*")) and b"canary" not in b"".join(
        part.read_bytes() for part in (out / "data.parquet").iterdir()
    )
    listed = manifest.read_manifest(out / "manifest.json")
    assert (
        manifest.manifest_faults(out, listed) == [] and sum(f.get("rows", 0) for f in listed["files"]) == 24
    )
    known = sf.protect(PEOPLE, POLICY).apply(PEOPLE)
    assert open_source(out / "data.parquet").digest() == open_source(known).digest()
    assert sf.audit(out / "data.parquet", POLICY).verdicts == sf.audit(known, POLICY).verdicts
    (out / "data.parquet" / "part-9.parquet").write_bytes(b"more")
    assert "not published" in manifest.manifest_faults(out, listed)[0]
    with pytest.raises(UsageError, match="Parquet"):
        sf.release(frame, POLICY, ledger=ledger, into=tmp_path / "april", chain="other", format="csv")
    assert not (tmp_path / "april").exists() and not list(tmp_path.glob(".staged*"))


def test_a_chain_of_releases(spark, tmp_path):
    """The second release is planned beside the first as with any other table, and remembered alike."""
    policy = {
        "columns": {
            "who": {"role": "identifier"},
            "month": {"role": "identifier"},
            "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 1]}},
            "disease": {"role": "sensitive"},
        },
        "promises": [{"continuous": {"k": 3, "since": "month"}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"disease": True},
    }
    people = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(60)],
            "month": ["2026-01"] * 32 + ["2026-02"] * 28,
            "zip": [f"{i * 7 % 5}{i % 3}0{i % 2}" for i in range(60)],
            "disease": [["flu", "cold", "TB"][i * i % 7 % 3] for i in range(60)],
        }
    )
    for month in ("2026-01", "2026-02"):
        table = people.filter(pl.col("month") <= month)
        mine, known = (
            sf.release(
                data, policy, ledger=f"sqlite:///{tmp_path}/{name}.db", into=tmp_path / f"{name}-{month}"
            )
            for name, data in (("spark", spark.createDataFrame(table.to_arrow())), ("polars", table))
        )
        assert mine.record.memory == known.record.memory != b""
        assert mine.record.cuts == known.record.cuts and mine.record.verdicts == known.record.verdicts
        made = [open_source(next(r.folder.glob("data.*"))).digest() for r in (mine, known)]
        assert made[0] == made[1]


def test_release_into_a_store(spark, tmp_path, buckets):
    """Written to a folder that the workers share, judged there, uploaded; read back through its manifest."""
    frame, place = spark.createDataFrame(PEOPLE).repartition(2), buckets.new()
    options = {"ledger": f"sqlite:///{tmp_path}/ledger.db", "into": place}
    with pytest.raises(UsageError, match="judged before"):
        sf.release(frame, POLICY, **options)
    shared = tmp_path / "shared"
    shared.mkdir()
    sf.release(frame, POLICY, **options, memory=Memory.of(None, spill=shared))
    assert list(shared.iterdir()) == []
    store = Store(Address.of(place))
    assert {"certificate.json", "data.parquet/_manifest.json", "manifest.json"} < set(store.sizes())
    known = sf.protect(PEOPLE, POLICY).apply(PEOPLE)
    assert sf.audit(place, POLICY).verdicts == sf.audit(known, POLICY).verdicts
    key = ["--key", str(tmp_path / "ledger.db.key.pub")]
    assert run(["certificate", "verify", f"{place}/certificate.json", *key]) == 0
    store.put("data.parquet/part-9.parquet", b"more")
    assert run(["certificate", "verify", f"{place}/certificate.json", *key]) == 1


def test_a_file_that_breaks_a_promise_is_not_published(spark, tmp_path, monkeypatch):
    frame = spark.createDataFrame(PEOPLE)
    _, verdicts = protect_file(frame, POLICY, tmp_path / "safe.parquet")
    assert (tmp_path / "safe.parquet" / "_manifest.json").is_file() and all(v.holds for v in verdicts)
    assert {p.name for p in tmp_path.iterdir()} == {"safe.parquet"}
    from sfumato.workflows import judgement

    stricter = {**POLICY, "promises": [{"k-anonymity": {"k": 20}}]}
    honest = judgement.recheck
    monkeypatch.setattr(
        judgement,
        "recheck",
        lambda file, _, **more: honest(file, judge_data(sf.Policy.from_dict(stricter)), **more),
    )
    with pytest.raises(BrokenPromise):
        protect_file(frame, POLICY, tmp_path / "unsafe.parquet")
    assert {p.name for p in tmp_path.iterdir()} == {"safe.parquet"}


def test_a_folder_is_a_table_only_through_its_manifest(spark, tmp_path):
    frame = spark.createDataFrame(PEOPLE)
    protect_file(frame, POLICY, tmp_path / "safe.parquet")
    listed = tmp_path / "safe.parquet" / "_manifest.json"
    words = json.loads(listed.read_text())
    assert words["rows"] == 24 and open_source(tmp_path / "safe.parquet").survey().rows == 24
    for wrong in ({**words, "parts": []}, {**words, "parts": [{"name": "../x", "bytes": 1}]}, []):
        listed.write_text(json.dumps(wrong))
        with pytest.raises(BadData):
            open_source(tmp_path / "safe.parquet").survey()
    listed.unlink()
    with pytest.raises(BadData, match="no manifest"):
        open_source(tmp_path / "safe.parquet").survey()
