"""Moved rows against rows looked up by number."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.search.groups import MovingRows, RowRanges
from sfumato.table.classes import Classes
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy
from strategies import tables


@st.composite
def wide_tables(draw, **shape):
    """A random table with more columns in any place, repeated rows, and columns in one word or in several."""
    table = draw(tables(**shape))
    columns = list(table.columns)
    codes = [table.codes(c.name) for c in columns]
    for at in draw(st.lists(st.integers(0, len(columns)), max_size=2)):
        tree = Taxonomy.flat([f"m{i}" for i in range(9)])
        ranks = draw(st.lists(st.integers(0, 8), min_size=table.distinct, max_size=table.distinct))
        role = draw(st.sampled_from([Role.QUASI, Role.SENSITIVE]))
        columns.insert(at, Column(f"more{len(columns)}", role, tree))
        codes.insert(at, np.array(ranks, np.int32))
    counts = table.counts * draw(st.integers(1, 3))
    made = Microdata.of_codes(columns, codes, counts=counts)
    if not draw(st.booleans()):
        return made
    return in_words_of_their_own(made)


def in_words_of_their_own(table):
    """The same table, each column in a word of its own."""

    class Apart(type(table.packing)):
        @property
        def places(self):
            return tuple((j, 3, bits) for j, (_, _, bits) in enumerate(table.packing.places))

    packing = Apart(table.packing.sizes)
    codes = [table.packing.unpack(table.words, j) for j in range(len(table.packing.sizes))]
    return replace(table, packing=packing, words=packing.pack(codes))


def numbers(rows, segments):
    """The row numbers in each segment."""
    member, start = rows.rows_of(RowRanges(segments.first, segments.last, segments.weight))
    return [member[start[s] : start[s + 1]].tolist() for s in range(len(segments.first))]


@given(wide_tables(rows=14, keys=3, sensitive=2, leaves=6, min_rows=1), st.integers(1, 3), st.booleans())
def test_what_moves_with_rows_is_what_they_hold(table, least, relaxed):
    rows = MovingRows(table, {})
    names = [c.name for c in table.sensitive]
    assert rows.carries(names)
    segments = rows.whole
    while len(segments):
        parts = rows.propose(segments, least=least, relaxed=relaxed)
        class_of = np.full(table.distinct, -1, np.int32)
        for part, members in enumerate(numbers(rows, parts)):
            class_of[members] = part
        found, expected = rows.classes(parts.ranges(slice(None)), names, {}), Classes.of(table, class_of)
        assert found.rows.tolist() == expected.rows.tolist() == found.people.tolist()
        for name in names:
            one, other = found.histograms[name], expected.histograms[name]
            assert one.start.tolist() == other.start.tolist()
            assert one.values.tolist() == other.values.tolist()
            assert one.counts.tolist() == other.counts.tolist()
            assert one.overall.tolist() == other.overall.tolist()
        split = parts.parts > 1
        segments = segments.pick(split).cut(parts.pick(split))


@given(wide_tables(rows=14, keys=3, leaves=6, min_rows=1), st.integers(1, 3))
def test_parts_cover_their_segment_and_keep_the_order_of_its_rows(table, least):
    rows = MovingRows(table, {})
    segments = rows.whole
    while len(segments):
        before = numbers(rows, segments)
        parts = rows.propose(segments, least=least, relaxed=False)
        after = iter(numbers(rows, parts))
        for members, count in zip(before, parts.parts.tolist(), strict=True):
            pieces = [next(after) for _ in range(count)]
            assert sorted(row for piece in pieces for row in piece) == sorted(members)
            for piece in pieces:
                assert piece == sorted(piece, key=members.index)
                assert table.counts[piece].sum() >= min(least, table.counts[members].sum())
        split = parts.parts > 1
        segments = segments.pick(split).cut(parts.pick(split))


def test_rows_of_people_and_key_columns_are_not_counted_where_they_stand():
    tree = Taxonomy.flat(["a", "b"])
    columns = [Column("q", Role.QUASI, tree), Column("s", Role.SENSITIVE, tree)]
    codes = [np.array([0, 1], np.int32), np.array([1, 0], np.int32)]
    assert MovingRows(Microdata.of_codes(columns, codes), {}).carries(["s"])
    assert not MovingRows(Microdata.of_codes(columns, codes), {}).carries(["q"])
    assert not MovingRows(Microdata.of_codes(columns, codes, person=np.array([0, 1])), {}).carries(["s"])
    heavy = Microdata.of_codes(columns, codes, counts=np.array([1, 1 << 31]))
    assert not MovingRows(heavy, {}).carries(["s"])
