"""Grouping kernels and roll-ups against numpy, on narrow and on wide keys."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.exhaustive_lattice import all_nodes, exhaustive
from sfumato.kernels.rows import cross_tabulate, regroup, tally_fields
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search import frontier as rollup
from sfumato.search.contract import Aim
from sfumato.search.frontier import RollUp
from sfumato.search.lattice import lattice
from sfumato.table import microdata as packing
from sfumato.table.classes import Classes, histogram
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import tables


def longs(*values):
    return np.array(values, dtype=np.int64)


@given(st.integers(1, 3), st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_regroup_merges_equal_keys(words, rows, seed):
    """Two fields in the last word: the first is lifted to its half, the second is left alone."""
    random = np.random.default_rng(seed)
    high, low = random.integers(0, 8, rows), random.integers(0, 4, rows)
    keys = random.integers(0, 2, (rows, words)) << 60
    keys[:, -1] = (high << 40) | low
    counts = random.integers(1, 9, rows)
    lift = np.concatenate(([7, 7], np.arange(8) // 2)).astype(np.int32)
    owner, found, sums = regroup(keys, counts, longs(words - 1), longs(40), longs(7), longs(2), lift)
    lifted = keys.copy()
    lifted[:, -1] = ((high // 2) << 40) | low
    expected, inverse = np.unique(lifted, axis=0, return_inverse=True)
    assert np.array_equal(found[owner], lifted)
    assert len(found) == len(expected)
    order = np.lexsort(found.T[::-1])
    assert np.array_equal(found[order], expected)
    assert np.array_equal(sums[order], np.bincount(inverse.ravel(), counts, len(expected)).astype(np.int64))


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_cross_tabulate_is_the_histogram(rows, groups, width, seed):
    random = np.random.default_rng(seed)
    owner = random.integers(0, groups, rows).astype(np.int32)
    values = random.integers(0, width, rows).astype(np.int32)
    counts = random.integers(1, 5, rows)
    start, found, sums = cross_tabulate(owner, values, counts, groups, width)
    expected = histogram(Taxonomy.flat([str(i) for i in range(width)]), owner, values, counts, groups)
    assert np.array_equal(start, expected.start)
    assert np.array_equal(found, expected.values)
    assert np.array_equal(sums, expected.counts)


def test_tally_fields_counts_codes_of_every_field():
    keys = np.array([[0b01_10], [0b11_10], [0b01_00]], dtype=np.int64)
    sums = tally_fields(keys, longs(5, 7, 1), longs(0, 0), longs(2, 0), longs(3, 3), longs(0, 4), 8)
    assert sums.tolist() == [0, 6, 0, 7, 1, 0, 12, 0]


@pytest.mark.parametrize("held", [0, 16_000_000])
@given(table=tables(rows=14, keys=3, people=True), seed=st.randoms(use_true_random=False))
def test_any_walk_through_the_lattice_gives_the_classes_of_its_nodes(held, table, seed):
    nodes = all_nodes(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollup, "MOST_HELD_ENTRIES", held)
        tables_held = RollUp(table, ["s0"])
    for levels in seed.choices(nodes, k=8):
        cuts = {c.name: Cut.level(c.taxonomy, i) for c, i in zip(table.keys, levels, strict=True)}
        expected = Classes.of(table, classes_under(table, cuts)[0])
        grouped = tables_held.at(levels)
        classes = tables_held.classes(grouped, sensitive=True)
        assert as_multiset(classes) == as_multiset(expected)
        everything = tables_held.tally(grouped, np.ones(len(classes), dtype=bool))
        for column, counted in zip(table.keys, everything, strict=True):
            nodes_of = cuts[column.name].node_of[table.codes(column.name)]
            assert (
                counted.tolist() == np.bincount(nodes_of, table.counts, len(column.taxonomy.labels)).tolist()
            )


def as_multiset(classes):
    h = classes.histograms["s0"]
    return sorted(
        (people, rows, sorted(h.of_class(c).items()))
        for c, (people, rows) in enumerate(zip(classes.people.tolist(), classes.rows.tolist(), strict=True))
    )


def test_the_overall_distribution_is_that_of_the_table():
    column = Column("q0", Role.QUASI, Taxonomy.flat(["x", "y"]))
    secret = Column("s0", Role.SENSITIVE, Taxonomy.flat(["a", "b", "c"]))
    table = Microdata.of_codes(
        [column, secret], [np.array([0, 0, 1], np.int32), np.array([0, 2, 2], np.int32)]
    )
    held = RollUp(table, ["s0"])
    classes = held.classes(held.at((1,)), sensitive=True)
    assert classes.histograms["s0"].overall.tolist() == [1, 0, 2]


@pytest.mark.parametrize(("bits", "words"), [(63, 1), (7, 2)])
def test_labels_that_no_row_reaches_take_no_room(monkeypatch, bits, words):
    """Six columns of 4,096 labels, of which rows have three, and a sensitive one: 5 x 2 + 1 + 2 bits."""
    monkeypatch.setattr(packing, "WORD_BITS", bits)
    random = np.random.default_rng(3)
    wide = Taxonomy.flat([f"{i:04d}" for i in range(4096)])
    columns = [Column(f"q{j}", Role.QUASI, wide) for j in range(6)]
    columns.append(Column("s0", Role.SENSITIVE, Taxonomy.flat(["a", "b", "c"])))
    codes = [random.choice(longs(0, 1, 4095), 60).astype(np.int32) for _ in range(6)]
    codes[5][:] = 4095
    table = Microdata.of_codes(columns, [*codes, random.integers(0, 3, 60).astype(np.int32)])
    assert RollUp(table, ["s0"]).fields.packing.words == words
    wanted = KAnonymity(3) & DistinctLDiversity("s0", 2)
    for share in (Fraction(0), Fraction(1, 4)):
        outcome = lattice(table, wanted, Aim(share))
        expected = exhaustive(table, wanted, Aim(share))
        assert tuple(outcome.levels.values()) == expected.levels
        assert outcome.recoding.suppressed == expected.suppressed
