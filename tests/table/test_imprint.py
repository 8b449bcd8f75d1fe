"""Imprints on today's trees: what a tree must keep of an earlier release."""

from decimal import Decimal

import pytest

from sfumato.policy.taxonomies.dates import Dates
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.system.errors import RefusedByHistory
from sfumato.table.cut import Cut
from sfumato.table.release_summary import KeyImprint


def test_a_tree_that_lost_nodes_is_another_one():
    born = Dates(("month", "year"))
    shown = KeyImprint.of("born", Cut.level(born.build(["2024-03-01", "2024-02-29", "2023-01-01"]), 1))
    with pytest.raises(RefusedByHistory, match="3 of its nodes are gone"):
        shown.onto(born.build(["2024-03-01", "2024-02-29"]))


def test_intervals_with_both_ends_keep_values_that_left():
    age = Intervals((Decimal(5), Decimal(10)), Decimal(0), Decimal(120))
    shown = KeyImprint.of("age", Cut.level(age.build(["18", "95"]), 1))
    assert len(shown.onto(age.build(["18"]))) == len(shown.parent)
