"""Published tables with several spellings of a value: both judges count the same."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks.audit import audit
from sfumato.policy.policy import Policy
from verify.both import first_verdicts, recheck

pytestmark = pytest.mark.slow

VALUES = ["HIV", "hiv", "H.I.V.", "flu", "Flu ", "cold", "n/a", "?", None]
PROMISES = [
    {"k-anonymity": {"k": 1}},
    {"l-diversity": {"of": "disease", "l": 2}},
    {"l-diversity": {"of": "disease", "l": 2, "kind": "entropy"}},
    {"l-diversity": {"of": "disease", "l": 2, "kind": "recursive", "c": 2}},
    {"confidence-bounding": {"of": "disease", "confidence": "1/2"}},
    {"t-closeness": {"of": "disease", "t": "1/2"}},
    {"beta-likeness": {"of": "disease", "beta": 2}},
    {"beta-likeness": {"of": "disease", "beta": 1, "kind": "basic"}},
]


def rule(promises, **disease):
    columns = {"zip": {"role": "quasi"}, "disease": {"role": "sensitive", **disease}}
    return Policy.from_dict(
        {
            "columns": columns,
            "promises": promises,
            "protect": {"search": "top-down", "suppress": 0},
            "confirm": {"disease": True},
        }
    )


rows = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(VALUES)), min_size=1, max_size=10)


@given(rows, st.sampled_from(["folded", "exact"]))
def test_both_judges_say_the_same(rows, spelling):
    table = pd.DataFrame(rows, columns=["zip", "disease"]).astype(object)
    asked = rule(PROMISES, spelling=spelling)
    ours, theirs = first_verdicts(table, asked), audit(table, asked).verdicts
    assert [(v.holds, v.measured, v.people) for v in ours] == [
        (v.holds, v.measured, v.people) for v in theirs
    ]


def test_cells_are_published_as_they_are_and_only_counted_as_one(tmp_path):
    told = []
    table = pd.DataFrame(
        {"zip": ["1", "1", "1", "2", "2", "2"], "disease": ["HIV", "hiv", "flu", "H.I.V.", "flu", None]}
    )
    asked = rule([{"l-diversity": {"of": "disease", "l": 2}}])
    out = tmp_path / "safe.csv"
    table.to_csv(tmp_path / "data.csv", index=False)
    sf.protect(tmp_path / "data.csv", asked, warn=told.append).apply(tmp_path / "data.csv")
    plan = sf.protect(table, asked)
    published = plan.apply(table)
    assert sorted(published["disease"].dropna()) == sorted(table["disease"].dropna())
    assert set(published["zip"]) == {"1", "2"}
    published.to_csv(out, index=False, lineterminator="\n")
    assert [v.holds for v in recheck(out, asked)] == [True]
    assert [d.name for d in told] == ["folded", "sparse"]
    assert "3 texts are spellings of 1 value" in told[0].what


def test_spellings_of_one_value_are_no_diversity():
    table = pd.DataFrame({"zip": ["1", "1", "2", "2"], "disease": ["HIV", "hiv", "flu", "cold"]})
    asked = rule([{"l-diversity": {"of": "disease", "l": 2}}])
    assert set(sf.protect(table, asked).apply(table)["zip"]) == {"*"}
    assert set(sf.protect(table, rule([*asked.promises], spelling="exact")).apply(table)["zip"]) == {"1", "2"}
