"""The digest and the people of a table, taken on the way, are those that the table has."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.policy.taxonomies.texts import Flat
from sfumato.table.keyed_hashes import are_known, label_marks
from sfumato.table.microdata import Coding, Role
from sfumato.table.observers import with_fingerprint
from sfumato.table.source import open_source

PLAIN = pl.DataFrame({"id": ["p1", "p2", None, "p2"], "age": [30, 31, 32, 33], "rate": [0.5, None, 1.0, 2.0]})
LISTS = pl.DataFrame({"id": ["p1", "p2"], "terms": [["u", "v"], []]})


@pytest.mark.parametrize("table", [PLAIN, LISTS, PLAIN.clear()], ids=["plain", "lists", "empty"])
def test_the_first_pass_takes_both(table):
    source = open_source(table)
    read, taken = with_fingerprint(source, ["id", "nowhere"])
    assert taken.digest == "" and len(taken.people) == 0, "nothing was read yet"
    read.count([Coding("id", Role.IDENTIFIER, Flat().build)])
    assert taken.digest == source.digest()
    names = [name for name in table["id"].unique().to_list() if name is not None]
    assert len(taken.people) == len(names) and are_known(taken.people, label_marks(names)).all()


def test_rows_are_handed_on_as_they_are():
    read, _ = with_fingerprint(open_source(PLAIN), [])
    for _ in range(2):
        (batch,) = read.reader.batches(["age"])
        assert batch.to_pydict() == {"age": [30, 31, 32, 33]}


def test_a_pass_that_was_given_up_is_none():
    read, taken = with_fingerprint(open_source(PLAIN), ["id"])
    next(iter(read.reader.batches(["age"])))
    assert taken.digest == ""
    list(read.reader.batches(["age"]))
    assert taken.digest == open_source(PLAIN).digest()


def test_a_source_that_hands_out_no_rows_is_asked():
    class Asked:
        columns = ("id", "age", "rate")

        def __init__(self):
            self.inner = open_source(PLAIN.drop_nulls("id"))

        def digest(self):
            return "d" * 64

        def count(self, codings):
            return self.inner.count(codings)

    source, taken = with_fingerprint(Asked(), ["id"])
    assert isinstance(source, Asked) and taken.digest == "d" * 64 and len(taken.people) == 2
