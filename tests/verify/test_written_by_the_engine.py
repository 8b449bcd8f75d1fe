"""What the engine writes, the second reader understands: every type of cell, in both formats."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from sfumato.attacks.audit import audit
from sfumato.policy.policy import Policy
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding
from sfumato.table.source import open_source
from verify.both import first_verdicts, recheck

pytestmark = pytest.mark.slow

KEYS = ["021", "021", None, "", "x\ny", 'say "q"', "a,b"] * 3
COLUMNS = {
    "text": pa.array(["a", "", None] * 7),
    "category": pa.array(["a", "b", None] * 7).dictionary_encode(),
    "whole": pa.array([1, 2**60, 10, None, 9, 2, 1] * 3),
    "boolean": pa.array([True, False, None] * 7),
    "double": pa.array([1.0, 2.5, float("nan"), -0.0, 0.0, None, 1e300] * 3),
    "single": pa.array([1.0, 2.5, 0.1, -0.0, 0.0, None, 1e20] * 3, pa.float32()),
    "decimal": pa.array([Decimal("1.50"), Decimal("-2.00"), None] * 7, pa.decimal128(10, 2)),
    "day": pa.array([date(2020, 1, 1), None, date(1, 1, 1)] * 7),
    "moment": pa.array([datetime(2020, 1, 1), datetime(2020, 1, 1, 8, 30, 0, 500_000), None] * 7),
    "nanosecond": pa.array([0, 1, 1_500_000_000] * 7, pa.timestamp("ns")),
    "clock": pa.array([time(1, 2, 3), time(1, 2, 3, 4), None] * 7),
}


def published(table, policy, path):
    source = open_source(table)
    coded = source.count(policy.codings, missing=policy.missing, person=policy.person)
    recoding = Recoding.of_cuts(coded, {c.name: Cut.leaves(c.taxonomy) for c in coded.keys})
    source.write(recoding, path, drop=policy.dropped)
    return path


def measured(verdicts):
    return [(v.holds, v.measured, v.people, v.classes) for v in verdicts]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_cells_of_every_type(tmp_path, kind, suffix):
    table = pa.table({"zip": KEYS, "it": COLUMNS[kind]})
    texts = list(open_source(table).count(_policy(None).codings).column("it").taxonomy.leaf_labels)
    for taxonomy in (None, {"flat": [t for t in texts[::-1] if t is not None], "ordered": True}):
        policy = _policy(taxonomy)
        path = published(table, policy, tmp_path / f"{taxonomy is None}{suffix}")
        found = recheck(path, policy)
        assert (
            measured(found)
            == measured(first_verdicts(path, policy))
            == measured(first_verdicts(table, policy))
        )
        assert measured(found) == measured(audit(path, policy).verdicts)
        assert measured(found) == measured(audit(table, policy).verdicts)


def _policy(taxonomy):
    column = {"role": "sensitive", "spelling": "exact"} | ({"taxonomy": taxonomy} if taxonomy else {})
    promises = [
        {"k-anonymity": {"k": 4}},
        {"l-diversity": {"of": "it", "l": 2}},
        {"t-closeness": {"of": "it", "t": "1/5", "distance": "ordered"}},
    ]
    return Policy.from_dict(
        {
            "columns": {"zip": {"role": "quasi"}, "it": column},
            "promises": promises,
            "protect": {"search": "top-down", "suppress": 0},
        }
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_values_that_the_taxonomy_holds_to_be_one_are_one(tmp_path, suffix):
    """All incomes from 20 on are one value, also where people are counted."""
    words = {
        "columns": {
            "who": {"role": "identifier"},
            "zip": {"role": "quasi"},
            "income": {"role": "sensitive", "taxonomy": {"intervals": [5, 10], "from": 0, "top": 20}},
        },
        "promises": [
            {"k-anonymity": {"k": 2}},
            {"l-diversity": {"of": "income", "l": 3}},
            {"l-diversity": {"of": "income", "l": 2, "kind": "entropy"}},
            {"t-closeness": {"of": "income", "t": "1/5", "distance": "hierarchical"}},
        ],
        "protect": {"search": "top-down", "suppress": 0},
        "person": "who",
    }
    policy = Policy.from_dict(words)
    table = pa.table(
        {
            "who": [1, 1, 2, 3, 4, 5, 5, 6],
            "zip": ["a"] * 4 + ["b"] * 4,
            "income": [11, 11, 13, 25, 11, 22, 28, 95],
        }
    )
    path = published(table, policy, tmp_path / f"table{suffix}")
    witness = tmp_path / f"witness{suffix}"
    source = open_source(table)
    coded = source.count(policy.codings, person="who")
    cuts = {c.name: Cut.leaves(c.taxonomy) for c in coded.keys}
    source.write(Recoding.of_cuts(coded, cuts), witness, drop=())
    found = recheck(path, policy, witness=witness)
    first = audit(table, policy).verdicts
    assert first[0].promise.startswith("only declared columns")
    assert measured(found) == measured(first[1:])
    assert found[1].measured == 2, "22, 28 and 95 are one leaf"


@pytest.mark.parametrize("name", ["a[1].csv", "b*.csv", "it's.parquet", "c?.parquet"])
def test_names_of_files_are_no_patterns(tmp_path, name):
    table = pa.table({"zip": ["a", "a"], "it": ["x", "y"]})
    policy = _policy(None)
    for other in ("a1.csv", "bb.csv", "cc.parquet"):
        published(pa.table({"zip": ["a"] * 9, "it": ["x"] * 9}), policy, tmp_path / other)
    assert recheck(published(table, policy, tmp_path / name), policy)[0].measured == 2


def test_one_column_of_empty_cells(tmp_path):
    policy = Policy.from_dict(
        {
            "columns": {"zip": {"role": "quasi"}},
            "promises": [{"k-anonymity": {"k": 3}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    path = published(pa.table({"zip": ["a", "a", "a", None, None, ""]}), policy, tmp_path / "table.csv")
    [verdict] = recheck(path, policy)
    assert (verdict.holds, verdict.measured, verdict.people, verdict.classes) == (False, 1, 3, 2)
