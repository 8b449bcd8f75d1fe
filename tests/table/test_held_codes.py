"""The leaf ranks that occur in a column, as `np.unique` finds them."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.table import microdata
from sfumato.table.microdata import Column, JointColumn, Microdata, Role
from sfumato.table.taxonomy import Taxonomy


@pytest.mark.parametrize("block", [1, 3, 1 << 16])
def test_held_codes_are_those_that_occur(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(microdata, "BLOCK_ROWS", block)
    draw = np.random.default_rng(6)
    for _ in range(60):
        sizes, rows = draw.integers(1, 9, 3), int(draw.integers(0, 30))
        columns = [
            Column(name, Role.QUASI, Taxonomy.flat([f"{i}" for i in range(size)]))
            for name, size in zip("abc", sizes, strict=True)
        ]
        codes = [draw.integers(0, draw.integers(1, size + 1), rows) for size in sizes]
        table = Microdata.of_codes(columns, codes)
        for name in "abc":
            assert table.held_codes(name).tolist() == np.unique(table.codes(name)).tolist()
            assert table.held_codes(name) is table.held_codes(name)


def test_joint_columns_are_looked_at_too() -> None:
    columns = [Column(name, Role.QUASI_SENSITIVE, Taxonomy.flat(["x", "y", "z"])) for name in "ab"]
    table = Microdata.of_codes(columns, [np.array([0, 0, 2]), np.array([1, 1, 2])])
    joint = JointColumn(("a", "b"))
    both = Microdata(table.columns, table.packing, table.words, table.counts, joints=(joint,))
    assert both.held_codes(joint.name).tolist() == np.unique(both.codes(joint.name)).tolist()
