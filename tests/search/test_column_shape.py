"""What a plan says of a column before and after."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato as sf
from sfumato.search.loss import ColumnShape, shape_of


@pytest.mark.parametrize(
    ("kept", "start", "became"),
    [
        (0, 0, "4 groups"),
        (1, 0, "4 groups, 1 of them a raw value"),
        (2, 0, "4 groups, 2 of them raw values"),
        (1, 1, "4 groups, 1 of them at its finest level"),
    ],
)
def test_how_many_groups_are_raw_values(kept, start, became):
    shape = ColumnShape("zip", values=9, groups=4, kept=kept, depths={1: 4}, height=3, start=start)
    assert shape.line == ("zip", "9 values →", became)


ONE_ROOT = "tree: {Europe: {North: [Oslo, Bergen], South: [Rome, Bari]}}"
ONE_WIDTH = "intervals: [2, 8], from: 20, to: 28"


@pytest.mark.parametrize("search", ["top-down", "lattice", "local", "mondrian"])
@pytest.mark.parametrize(
    ("taxonomy", "cells", "published"),
    [
        (ONE_ROOT, ["Oslo", "Bergen", "Rome", "Bari"], "Europe"),
        (ONE_WIDTH, ["20", "22", "25", "27"], "[20, 28)"),
        ("flat: true", ["a", "b", "c", "d"], "*"),
    ],
)
def test_a_plan_names_one_group_for_all_as_the_file_does(search, taxonomy, cells, published, tmp_path):
    text = (
        f"# a policy\ncolumns:\n  place: {{role: quasi, taxonomy: {{{taxonomy}}}}}\n"
        f"promises:\n  - k-anonymity: {{k: 4}}\nprotect: {{search: {search}}}\n"
    )
    (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
    table = pd.DataFrame({"place": cells})
    plan = sf.protect(table, tmp_path / "policy.yaml")
    shown = set(plan.apply(table)["place"])
    shape = shape_of(plan.recoding, 0)
    assert shape.lost and shape.line[2] in shown and len(shown) == 1
    assert shown <= {published, "*"}
