"""Who is new in a table, and whose further rows are in it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.inputs import open_table
from sfumato.system.coins import Coins
from sfumato.system.errors import BadData
from sfumato.table.known_rows import (
    WhoIsWho,
    hashes_by_column,
    hashes_of_people,
    known_rows,
    ranks_of_cells,
    rows_where,
)

COINS = Coins(b"a key of tests")


def source(**columns):
    return open_table(pl.DataFrame(columns))


def known(data, *, coins=COINS):
    return known_rows(data, WhoIsWho(("town",), "person", "day"), None, coins)


def test_a_person_shows_values_in_the_first_row_by_date():
    data = source(person=["a", "b", "a", "a"], day=[3, 1, 2, None], town=list("wxyz"))
    found = known(data)
    assert found.first.tolist() == [False, True, True, False]
    assert found.further.tolist() == [True, False, False, True]
    assert found.newcomers == 2


def test_texts_of_dates_are_in_order_and_empty_ones_last():
    data = source(person=["a"] * 3, day=["2026-02-01", "2025-12-31", None], town=list("xyz"))
    assert known(data).first.tolist() == [False, True, False]
    assert ranks_of_cells(data.reader, "day").tolist() == [1, 0, 2]


def test_rows_of_one_day_are_chosen_by_coins():
    data = source(person=["a"] * 64, day=[1] * 64, town=[str(i) for i in range(64)])
    drawn = [known(data, coins=Coins(bytes([i]))).first.tolist() for i in range(20)]
    assert len({row.index(True) for row in drawn}) > 5
    assert known(data).first.sum() == 1


def test_equal_rows_of_a_person_are_told_apart_by_how_many_there_are():
    data = source(person=["a", "a", "b"], day=[1, 1, 1], town=["x", "x", "x"])
    found = known(data)
    assert len(set(found.rows.to_pylist())) == 3
    swapped = source(person=["b", "a", "a"], day=[1, 1, 1], town=["x", "x", "x"])
    assert set(known(swapped).rows.to_pylist()) == set(found.rows.to_pylist())


def test_the_same_person_has_the_same_hash_however_the_id_is_written():
    texts = source(person=[" 7", "7  ", "8"], day=[1, 2, 3], town=list("xyz"))
    numbers = source(person=[7, 7, 8], day=[1, 2, 3], town=list("xyz"))
    assert known(texts).people.equals(known(numbers).people)
    assert known(texts).rows.equals(known(numbers).rows)
    assert hashes_of_people([" 7 ", "8"]).to_pylist() == known(numbers).people.to_pylist()[1:]
    assert known(numbers).numbers_of(np.array([0, 1, 2])).tolist() == [0, 0, 1]


@pytest.mark.parametrize("ids", [["a", None], ["a", ""], ["a", " \t"]])
def test_nobody_is_refused(ids):
    with pytest.raises(BadData, match="1 row names nobody"):
        known(source(person=ids, day=[1, 2], town=list("xy")))


def test_batches_are_counted():
    data = source(batch=["x", "x", "y"], town=list("abc"))
    who = WhoIsWho(("town",), since="batch")
    found = known_rows(data, who, None, COINS)
    assert sorted(found.batches.values()) == [1, 2]
    assert found.first.all()
    assert not found.further.any()
    with pytest.raises(BadData, match="2 rows name no batch"):
        empty = source(batch=["x", None, " "], town=list("abc"))
        known_rows(empty, who, None, COINS)


def test_cells_in_any_number_of_batches_have_the_same_hashes():
    data = pl.DataFrame({"town": ["a", "b", None, "a"]})
    whole = hashes_by_column(open_table(data).reader, ["town"])["town"]
    parts = pl.concat([data[:1], data[1:]], rechunk=False)
    assert (hashes_by_column(open_table(parts).reader, ["town"])["town"] == whole).all()
    assert (whole[0] == whole[3]).all()
    assert rows_where(open_table(data).reader, "town", "a").tolist() == [True, False, False, True]
    assert hashes_by_column(open_table(data[:0]).reader, ["town"])["town"].shape == (0, 2)
