"""What a plan says of a column before and after."""

from __future__ import annotations

import pytest

from sfumato.protection.column_shape import ColumnShape


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
