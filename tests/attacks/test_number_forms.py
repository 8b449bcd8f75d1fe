"""Zeros and empty cells of key columns: attacks tell rows apart by them as the second judge does."""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks.audit import audit
from sfumato.policy.policy import Policy

RULE = Policy.from_dict(
    {
        "columns": {"x": {"role": "quasi"}, "s": {"role": "sensitive"}},
        "promises": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "s", "l": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
)


def linked(table):
    found = audit(table, RULE, attacks=("linkage",))
    return found, max(finding.confidence for finding in found.findings)


@pytest.mark.parametrize("other", [-0.0, 0.0])
def test_a_sign_of_zero_tells_rows_apart(other):
    table = pa.table({"x": [0.0, 0.0, 0.0, other], "s": ["a", "b", "c", "d"]})
    found, best = linked(table)
    alone = math.copysign(1, other) < 0
    assert best == (1 if alone else 0.25)
    assert found.verdicts[0].holds is not alone


@given(
    st.lists(st.tuples(st.sampled_from([0.0, -0.0, math.nan, 1.0, None]), st.sampled_from("ab")), min_size=1)
)
def test_the_smallest_class_is_that_of_the_judge(rows):
    def form(x):
        return None if x is None else (math.isnan(x), math.copysign(1, x), 0.0 if math.isnan(x) else abs(x))

    table = pa.table({"x": pa.array([x for x, _ in rows], pa.float64()), "s": [s for _, s in rows]})
    found, best = linked(table)
    smallest = min(Counter(form(x) for x, _ in rows).values())
    assert best == pytest.approx(1 / smallest)
    assert found.verdicts[0].measured == smallest
