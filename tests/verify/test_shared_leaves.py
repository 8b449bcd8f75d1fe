"""Values that share a leaf: one value to every promise and every judge, and published as they are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sfumato.system.errors import Infeasible
from sfumato.workflows.audit import audit
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

PROMISES = [
    {"k-anonymity": {"k": 2}},
    {"l-diversity": {"of": "age", "l": 2}},
    {"l-diversity": {"of": "age", "l": "3/2", "kind": "entropy"}},
    {"l-diversity": {"of": "age", "l": 2, "c": 3, "kind": "recursive"}},
    {"t-closeness": {"of": "age", "t": "2/5", "distance": "equal"}},
    {"t-closeness": {"of": "age", "t": "2/5", "distance": "ordered"}},
    {"t-closeness": {"of": "age", "t": "2/5", "distance": "hierarchical"}},
]


def policy(promises, taxonomy):
    return {
        "columns": {
            "zip": {"role": "quasi"},
            "age": {"role": "sensitive", "taxonomy": taxonomy},
            "note": {"role": "insensitive"},
        },
        "promises": promises,
        "protect": {"search": "top-down", "price": "none", "suppress": "1/2"},
        "confirm": {"age": True},
    }


TOP = {"intervals": [5, 10], "from": 0, "bottom": 5, "top": 20}
DECIMAL = {"intervals": [10], "from": 0, "top": 20, "decimal": True}


def measured(verdicts):
    return [(v.promise, v.holds, v.measured, v.limit, v.people, v.classes) for v in verdicts]


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from([1, 2, 7, 12, 20, 25, 90])), min_size=2, max_size=14
    ),
    promises=st.lists(st.sampled_from(PROMISES), min_size=1, max_size=3, unique_by=str),
    taxonomy=st.sampled_from([TOP, DECIMAL]),
    ending=st.sampled_from(["csv", "parquet"]),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_plan_second_judge_and_auditor_agree(tmp_path_factory, rows, promises, taxonomy, ending):
    table = pd.DataFrame(rows, columns=["zip", "age"]).assign(note=range(len(rows)))
    out = tmp_path_factory.mktemp("out") / f"safe.{ending}"
    rule = policy(promises, taxonomy)
    try:
        plan, verdicts = protect_file(table, rule, out)
    except Infeasible:
        assume(False)
    assert measured(plan.verdicts) == measured(verdicts) == measured(audit(out, rule).verdicts)
    safe = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
    kept = table.loc[safe["note"]]
    assert len(safe) == len(table) - plan.recoding.suppressed
    assert Counter(zip(safe["age"], safe["note"], strict=True)) == Counter(
        zip(kept["age"], kept["note"], strict=True)
    )
    assert safe["age"].dtype == table["age"].dtype


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_closeness_does_not_look_into_a_leaf(tmp_path, ending):
    """Two classes that are alike up to the leaf 20+ are alike, whatever lies behind it."""
    table = pd.DataFrame({"zip": list("xxyy"), "age": [25, 90, 26, 95], "note": [1, 2, 3, 4]})
    close = [{"k-anonymity": {"k": 2}}, {"t-closeness": {"of": "age", "t": 0}}]
    plan, verdicts = protect_file(table, policy(close, TOP), tmp_path / f"safe.{ending}")
    assert plan.recoding.count == 2
    assert verdicts[1].measured == Fraction(0)
    found = audit(tmp_path / f"safe.{ending}", policy(close, {"flat": ["25", "26", "90", "95"]}))
    assert found.verdicts[1].measured == Fraction(1, 2)
