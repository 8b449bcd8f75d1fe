"""Tables from every kind of source become the same codes, up to their numbering."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.discovery.quasi_identifiers.coded import Coded, Reading
from sfumato.discovery.quasi_identifiers.enumeration import minimal
from sfumato.system.errors import BadData, UsageError
from sfumato.table.source import open_source

COLUMNS = {
    "zip": ["02138", "02139", None, "02138", "", None],
    "age": [30, None, 41, 30, 41, 52],
    "weight": [70.5, float("nan"), -0.0, 70.5, 0.0, None],
}


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def frames(folder):
    table = pa.table({"zip": COLUMNS["zip"], "age": COLUMNS["age"], "weight": COLUMNS["weight"]})
    yield table
    yield pl.DataFrame(COLUMNS)
    yield pd.DataFrame({"zip": COLUMNS["zip"], "age": COLUMNS["age"], "weight": COLUMNS["weight"]})
    path = folder / "table.parquet"
    pl.DataFrame(COLUMNS).write_parquet(path)
    yield path


def test_every_source_gives_the_same_groups(tmp_path):
    expected = Coded.of_columns(COLUMNS)
    for frame in frames(tmp_path):
        found = Coded.from_source(open_source(frame))
        assert found.names == expected.names
        assert found.sizes == expected.sizes
        assert found.codes.dtype == np.int32
        for ours, theirs in zip(found.codes, expected.codes, strict=True):
            assert same_partition(ours, theirs)


def test_columns_may_be_chosen_and_must_exist():
    source = open_source(pl.DataFrame(COLUMNS))
    assert Coded.from_source(source, ["age"]).names == ("age",)
    with pytest.raises(UsageError, match="no such column"):
        Coded.from_source(source, ["name"])


def test_an_empty_table_has_codes_of_length_nought():
    found = Coded.from_source(open_source(pl.DataFrame({"a": []})))
    assert (found.rows, found.sizes) == (0, (0,))
    assert minimal(found, Reading.of(k=2, mode="any")).sets == ()


def test_many_batches_share_one_numbering():
    values = [f"v{i % 700}" for i in range(200_000)]
    found = Coded.from_source(open_source(pa.table({"a": values})))
    assert found.sizes == (700,)
    assert same_partition(found.codes[0], np.arange(200_000) % 700)


def test_numbers_and_texts_that_look_alike_stay_apart():
    assert Coded.of_columns({"a": [1, "1", 1.0, True]}).sizes == (4,)


def test_columns_must_fit_together():
    with pytest.raises(BadData, match="differ in length"):
        Coded.of_columns({"a": [1], "b": [1, 2]})
    with pytest.raises(BadData, match="share a name"):
        Coded(("a", "a"), np.zeros((2, 1), np.int32), (1, 1))
