"""The judge refuses a file that is coarser than the policy lets it be, or whose columns moved apart."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.system.errors import BadData
from sfumato.verify.file import recheck
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

ROWS = [(f"0{i % 4}{i % 3}", str(20 + i % 30), "1953-02-11" if i % 2 else "1971-08-03") for i in range(60)]
COLUMNS = {
    "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
    "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20], "from": 0, "to": 120}},
    "born": {"role": "quasi", "taxonomy": {"date": ["year", "decade"]}},
}


def policy(controls=None, **protect):
    columns = {name: {**rule, **(controls or {}).get(name, {})} for name, rule in COLUMNS.items()}
    return Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"suppress": 0, "search": "lattice", **protect},
        }
    )


def write(path, rows):
    lines = ["zip,age,born", *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("controls", "row"),
    [
        ({"zip": {"at-most": 1}}, ("0**", "20-29", "1953")),
        ({"zip": {"at-most": 0}}, ("01*", "20-29", "1953")),
        ({"zip": {"at-most": 2}}, ("*", "20-29", "1953")),
        ({"age": {"at-most": 1}}, ("01*", "20-39", "1953")),
        ({"age": {"at-most": 1}}, ("01*", "10-29", "1953")),
        ({"age": {"fixed": 1}}, ("01*", "*", "1953")),
        ({"born": {"at-most": 1}}, ("01*", "20-29", "1950-1959")),
        ({"born": {"fixed": 1}}, ("01*", "20-29", "*")),
    ],
)
def test_a_coarser_file_is_refused(controls, row, tmp_path):
    path = write(tmp_path / "safe.csv", [row] * 4)
    with pytest.raises(BadData, match="coarser than the policy lets it be") as refused:
        recheck(path, judge_data(policy(controls)))
    assert "01" not in str(refused.value)
    recheck(path, judge_data(policy()))
    assert sf.audit(path, policy(controls)).holds is False


def test_a_file_finer_than_a_fixed_level_is_refused(tmp_path):
    path = write(tmp_path / "safe.csv", [("01*", "20-29", "1953")] * 4)
    with pytest.raises(BadData, match="finer than the policy's levels"):
        recheck(path, judge_data(policy({"zip": {"fixed": 2}})))


def test_columns_that_moved_apart_are_refused(tmp_path):
    asked = policy(together=[["zip", "age"]])
    together = write(tmp_path / "together.csv", [("01*", "20-29", "1953")] * 4)
    apart = write(tmp_path / "apart.csv", [("0**", "20-29", "1953")] * 4)
    assert all(verdict.holds for verdict in recheck(together, judge_data(asked)))
    with pytest.raises(BadData, match="different levels: zip, age"):
        recheck(apart, judge_data(asked))
    assert sf.audit(apart, asked).holds is False


@pytest.mark.parametrize("search", ["top-down", "lattice", "optimum", "mondrian", "local", "best"])
@pytest.mark.parametrize(
    "controls",
    [
        {"zip": {"at-most": 1}, "age": {"at-most": 2}},
        {"zip": {"fixed": 1}, "born": {"at-most": 1}},
        {"age": {"fixed": 2, "weight": 3}, "born": {"weight": 0}},
    ],
)
def test_what_a_search_publishes_under_controls_the_judge_accepts(search, controls, tmp_path):
    data = write(tmp_path / "data.csv", ROWS)
    rules = policy(controls, search=search)
    plan, verdicts = protect_file(data, rules, tmp_path / "safe.csv")
    assert all(verdict.holds for verdict in verdicts)
    assert plan.suppressed == 0
    assert sf.audit(tmp_path / "safe.csv", rules).holds is not False
