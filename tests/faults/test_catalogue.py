"""The table of faults names tests that there are, and every row of the catalogue once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent.parent
PAGE = (HERE / "docs" / "reference" / "faults.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([A-Z]\d+) \| [^|]+ \| (.+) \|$", PAGE, re.M))
COUNTS = {"B": 10, "C": 11, "K": 8, "W": 11, "L": 19, "N": 10, "S": 7}
WITHOUT_A_TEST = ("*open*", "*studio*")


def test_every_row_of_the_catalogue_is_there():
    assert set(ROWS) == {f"{kind}{n}" for kind, count in COUNTS.items() for n in range(1, count + 1)}
    assert len(ROWS) == 76


@pytest.mark.parametrize("row", ROWS)
def test_the_tests_of_a_row_are_there(row):
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", ROWS[row])
    assert named or ROWS[row].startswith(WITHOUT_A_TEST)
    for file, test in named:
        assert f"def {test}(" in (HERE / file).read_text(encoding="utf-8"), f"{file}::{test}"
