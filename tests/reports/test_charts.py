"""Charts say what their bars are: values in order, tenths, or the most frequent and all others."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato as sf

COLUMNS = {
    "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10], "from": 0, "to": 100}},
    "children": {"role": "quasi", "taxonomy": {"intervals": [2, 4], "from": 0, "to": 8}},
    "sex": {"role": "quasi"},
    "town": {"role": "quasi"},
}


def drawn():
    raw = pd.DataFrame(
        {
            "age": [20 + i % 60 for i in range(240)],
            "children": [i % 3 for i in range(240)],
            "sex": ["a" if i % 4 == 0 else "b" for i in range(240)],
            "town": [f"town {i % 24}" for i in range(240)],
        }
    )
    policy = sf.Policy.from_dict(
        {
            "columns": COLUMNS,
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    plan = sf.protect(raw, policy)
    return {
        chart.title.partition(":")[0]: chart for chart in sf.compare(raw, plan.apply(raw), policy).charts()
    }


def test_a_chart_says_what_its_bars_are():
    charts = drawn()
    assert charts["age"].title == "age: tenths of the original, in order"
    assert charts["children"].title == "children: each value, in order"
    assert charts["town"].title == "town: most frequent values first"


def test_most_frequent_values_come_first_and_all_others_last():
    charts = drawn()
    assert [(label, before) for label, before, _ in charts["sex"].points] == [("1", 0.75), ("2", 0.25)]
    labels = [label for label, _, _ in charts["town"].points]
    assert labels == [*map(str, range(1, 10)), "all others"]
    assert charts["town"].points[-1][1] == pytest.approx(1 - 9 / 24)
