"""The different cells of columns in one scan: what a query for each of them says."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from sfumato.verify import tables as relation
from sfumato.verify.tables import Relation, different_cells, strictly

TABLE = pl.DataFrame(
    {
        "text": ["a", "b", "a", None, "", "b", "a"],
        "same": ["x"] * 7,
        "none": pl.Series([None] * 7, dtype=pl.String),
        "number": [1.5, 0.0, -0.0, float("nan"), None, 2.0, 1.5],
        "whole": [3, 3, None, 1, 2, 2, 2],
    }
)
SHOWN = {
    "text": {"a": 3, "b": 2, "": 1},
    "same": {"x": 7},
    "none": {},
    "number": {1.5: 2, 0.0: 2, 2.0: 1},
    "whole": {3: 2, 1: 1, 2: 3},
}


@pytest.mark.parametrize("together", [1, 2, 16])
def test_each_column_has_its_own_cells_and_no_missing_ones(tmp_path, monkeypatch, together):
    monkeypatch.setattr(relation, "COLUMNS_TOGETHER", together)
    path = tmp_path / "table.parquet"
    TABLE.write_parquet(path)

    def ask(db):
        table = Relation.of_file(db, path, TABLE.columns)
        return different_cells(db, table, TABLE.columns), different_cells(db, table, TABLE.columns, most=1)

    every, few = strictly("table", ask)
    assert {name: dict(cells) for name, cells in every.items()} == SHOWN
    assert {name: len(cells) for name, cells in few.items()} == {
        name: min(2, len(cells)) for name, cells in SHOWN.items()
    }
    for name, cells in few.items():
        assert not Counter(dict(cells)) - Counter(SHOWN[name])


def test_no_column_has_no_cells(tmp_path):
    path = tmp_path / "table.parquet"
    TABLE.write_parquet(path)
    assert (
        strictly("table", lambda db: different_cells(db, Relation.of_file(db, path, TABLE.columns), [])) == {}
    )
