"""Distributions that a policy names: what is read, refused, and written down."""

from __future__ import annotations

import jsonschema
import pytest

from sfumato.models.parameters import ReferenceDistribution, ReferenceFile
from sfumato.models.quasi_sensitive.knowledge import load_prior
from sfumato.system.errors import BadPolicy


def test_counts_up_to_what_a_column_can_hold():
    assert ReferenceDistribution.of({"flu": 2**63 - 1}).total == 2**63 - 1
    for counts in ({"flu": 2**63}, {"flu": 2**62, "hiv": 2**62}, {"flu": 0}, {"flu": -1}, {"flu": True}):
        with pytest.raises(BadPolicy, match="below 2\\*\\*63"):
            ReferenceDistribution.of(counts)


def test_missing_cells_come_first_and_the_order_given_does_not_count():
    one = ReferenceDistribution.of({"hiv": 1, None: 2, "flu": 3})
    other = ReferenceDistribution.of({None: 2, "flu": 3, "hiv": 1})
    assert one == other and one.digest == other.digest
    assert one.counts == ((None, 2), ("flu", 3), ("hiv", 1))
    assert ReferenceDistribution.of({"": 1, None: 2}).counts == ((None, 2), ("", 1))


def test_a_value_of_nobody_may_be_named():
    schema = ReferenceFile("reference").schema
    jsonschema.validate({"flu": 3, "hiv": 0}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"flu": -1}, schema)


@pytest.mark.parametrize("content", ["", "share,label\nflu,1\n", "flu,1/2\nhiv,1/2\n"])
def test_a_prior_file_starts_with_its_header(tmp_path, content):
    path = tmp_path / "prior.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadPolicy, match="starts with the line label,share"):
        load_prior(path)
