"""Imprints on today's trees: what a tree must keep of an earlier release."""

from decimal import Decimal

import pytest

from sfumato.core.cut import Cut
from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import KeyImprint
from sfumato.policy.taxonomies import Dates, Intervals


def test_values_that_left_are_named_as_a_cause():
    born = Dates(("month", "year"))
    shown = KeyImprint.of("born", Cut.level(born.build(["2024-03-01", "2024-02-29", "2023-01-01"]), 1))
    with pytest.raises(RefusedByHistory, match="nodes are gone") as refused:
        shown.onto(born.build(["2024-03-01", "2024-02-29"]))
    assert "Where values left the data with their people" in refused.value.remedy


def test_intervals_with_both_ends_keep_values_that_left():
    age = Intervals((Decimal(5), Decimal(10)), Decimal(0), Decimal(120))
    shown = KeyImprint.of("age", Cut.level(age.build(["18", "95"]), 1))
    assert len(shown.onto(age.build(["18"]))) == len(shown.parent)
