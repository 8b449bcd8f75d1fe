"""Published rows in order: as numbers on their way, in parts that the plan tells."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.table import microdata as packing
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding
from sfumato.table.source import open_source
from sfumato.table.spark import row_order
from sfumato.table.spark import row_order as part_bounds
from sfumato.table.spark import source as recoding
from sfumato.table.spark.counting import sorted_by_key
from sfumato.table.spark.source import Recoder
from sfumato.table.spark.text import NumberedTable
from sfumato.testing.engines import codings, counted, decoded, published, recodings
from table.spark.tables import frame, read

pytestmark = pytest.mark.xdist_group("spark")


def test_rows_are_spread_by_the_plan_and_sorted_as_numbers(spark, tmp_path, monkeypatch):
    """Parts begin where the plan says, many texts travel as texts: the same rows in the same order."""
    rng = np.random.default_rng(4)
    texts = ["b", "a", "é", None, "𝄞", "\uffff", "A", ""]
    cells = {name: [texts[i] for i in rng.integers(0, len(texts), 200)] for name in "abs"}
    table = frame(spark, cells)
    source = open_source(table)
    coded = source.count(codings(["a", "b"], ["s"]))
    finest = Recoding.of_cuts(coded, {c.name: Cut.leaves(c.taxonomy) for c in coded.keys})
    known = published(cells, finest)
    monkeypatch.setattr(part_bounds, "ROWS_PER_PART", 20)
    recoder = Recoder.of(NumberedTable.of(table), finest)
    bounds = recoder.part_bounds(recoder.rows([]))
    assert bounds is not None and bounds.parts == 2 and sorted(bounds.part_of) == list(bounds.part_of)
    for few in (1 << 16, 1):
        monkeypatch.setattr(row_order, "MOST_TEXTS", few)
        monkeypatch.setattr(recoding, "MOST_TEXTS", few)
        path = source.write(finest, tmp_path / f"{few}.parquet")
        assert list(zip(*read(path).values(), strict=True)) == known
    assert list(zip(*read(source.recode(finest)).values(), strict=True)) == known
    assert len(list((tmp_path / f"{1 << 16}.parquet").glob("part-*"))) == 2


def test_keys_wider_than_a_word(spark, tmp_path, monkeypatch):
    """With words of six bits every key takes several, on the way to the driver and through the sort."""
    monkeypatch.setattr(packing, "WORD_BITS", 6)
    rng = np.random.default_rng(6)
    cells = {name: [["b", "a", "é", None, "A"][i] for i in rng.integers(0, 5, 60)] for name in "abs"}
    source = open_source(frame(spark, cells))
    coded = source.count(codings(["a", "b"], ["s"]))
    assert coded.packing.words == 2 and decoded(coded) == counted(cells, codings(["a", "b"], ["s"]))
    finest = Recoding.of_cuts(coded, {c.name: Cut.leaves(c.taxonomy) for c in coded.keys})
    path = source.write(finest, tmp_path / "out.parquet")
    assert list(zip(*read(path).values(), strict=True)) == published(cells, finest)


def test_rows_whose_first_column_no_plan_knows_are_sampled_by_spark(spark, tmp_path, monkeypatch):
    """Then they are compared with the plan after they were sorted, when each is seen once."""
    cells = {"n": [str(i * 37 % 50) for i in range(50)], "a": ["é", "e", None, "f", "z"] * 10}
    source = open_source(frame(spark, cells))
    root = next(recodings(source.count(codings(["a"]))))
    monkeypatch.setattr(part_bounds, "ROWS_PER_PART", 10)
    recoder = Recoder.of(NumberedTable.of(source.frame), root)
    assert recoder.part_bounds(recoder.rows([])) is None
    monkeypatch.setattr(Recoder, "check", lambda _: pytest.fail("the checksum differs"))
    path = source.write(root, tmp_path / "out.parquet")
    assert list(zip(*read(path).values(), strict=True)) == published(cells, root)


def test_keys_are_sorted_in_place_where_their_counts_fit_beside_them():
    rng = np.random.default_rng(2)
    for bits, most in ((40, 5), (62, 5), (10, 1 << 40)):
        keys = rng.permutation(rng.integers(0, 1 << bits, 300))
        keys = np.unique(keys)
        rng.shuffle(keys)
        counts = rng.integers(1, most, len(keys))
        order = np.argsort(keys)
        found, many = sorted_by_key(keys[None, :].copy(), counts.copy())
        wide, same = sorted_by_key(np.vstack((keys // 7, keys)), counts.copy())
        assert wide[1].tolist() == found[0].tolist() and same.tolist() == many.tolist()
        assert found[0].tolist() == keys[order].tolist() and many.tolist() == counts[order].tolist()
