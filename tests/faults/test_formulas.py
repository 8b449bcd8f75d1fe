"""Cells that a spreadsheet would run are refused in CSV files, unless the policy keeps them."""

from __future__ import annotations

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.system.errors import BadData
from sfumato.verify.file_bytes import check_formulas, is_formula
from sfumato.verify.policy_data import JudgedPolicy
from sfumato.verify.tables import RELEASED, Database
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

RUN = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1",
    "=cmd|' /C calc'!A0",
    "＝1+1",
    "－a",
    "-10 to -5",
    "+49 30 1",
    "=\n1",
]
HARMLESS = [
    "-",
    "+",
    "=",
    "@",
    "-5",
    "+3",
    "-1.5",
    "-1,5",
    "-1e3",
    "-3 %",
    "[-5, 3)",
    "a=1",
    "'=1",
    " =1",
    "",
    "1-2",
]


def policy(**words):
    return Policy.from_dict(
        {
            "columns": {"zip": {"role": "quasi"}, "note": {"role": "insensitive"}},
            "promises": [{"k-anonymity": {"k": 2}}],
            **words,
        }
    )


def table(path, cells):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["zip", "note"], *[["1", cell] for cell in [*cells, "x", "y"]]])
    return path


def notes(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [row["note"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("cell", RUN)
def test_what_is_run_is_refused(tmp_path, cell):
    raw, safe = table(tmp_path / "raw.csv", [cell]), tmp_path / "safe.csv"
    with pytest.raises(BadData, match="spreadsheet would run 1 cells of column note") as refused:
        protect_file(raw, policy(), safe)
    assert not safe.exists() and cell not in str(refused.value) and "formulas: keep" in refused.value.remedy
    protect_file(raw, policy(formulas="keep"), safe)
    assert cell in notes(safe)
    protect_file(raw, policy(), tmp_path / "safe.parquet")


def test_what_is_not_run_is_published(tmp_path):
    raw, safe = table(tmp_path / "raw.csv", HARMLESS), tmp_path / "safe.csv"
    protect_file(raw, policy(), safe)
    assert sorted(notes(safe)) == sorted([*HARMLESS, "x", "y"])


def test_a_release_is_held_to_it_too(tmp_path):
    raw, place = table(tmp_path / "raw.csv", ["=1+1"]), tmp_path / "Q1"
    with pytest.raises(BadData, match="spreadsheet"):
        sf.release(raw, policy(), ledger=f"sqlite:///{tmp_path}/l.db", into=place)
    assert not place.exists()
    assert sf.release(raw, policy(formulas="keep"), ledger=f"sqlite:///{tmp_path}/l.db", into=place).published


def test_a_name_of_a_column_is_a_cell(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("=1+1,b\n1,2\n", encoding="utf-8")
    with pytest.raises(BadData, match="1 name of a column would"):
        check_formulas(Database(path.name), path, ["=1+1", "b"], RELEASED)


def test_the_choice_is_part_of_the_policy():
    assert policy().to_dict().get("formulas") is None
    assert policy().digest != policy(formulas="keep").digest
    again = Policy.from_dict(policy(formulas="keep").to_dict())
    assert [JudgedPolicy.of(judge_data(asked)).refuses_formulas for asked in (again, policy())] == [
        False,
        True,
    ]
    assert "formulas: keep" in policy(formulas="keep").to_yaml()


@given(st.text(alphabet="=+-@\t\r'x 1.,e%＝\n", max_size=5))
def test_the_database_and_the_definition_agree(tmp_path_factory, cell):
    path = tmp_path_factory.mktemp("cell") / "x.csv"
    quoted = '"' + cell.replace('"', '""') + '"'
    path.write_text(f"a,b\n{quoted},1\n", encoding="utf-8", newline="")
    refused = False
    try:
        with Database(path.name) as db:
            check_formulas(db, path, ["a", "b"], RELEASED)
    except BadData as error:
        refused = "spreadsheet" in error.message
    run = bool(cell) and cell[0] in "=+-@\t\r＝" and len(cell) > 1
    number = re.fullmatch(r"[+-]?\d+([.,]\d+)*([eE][+-]?\d+)?[ \t\n\r\f\v]?%?", cell)
    assert refused == is_formula(cell) == (run and not number)
