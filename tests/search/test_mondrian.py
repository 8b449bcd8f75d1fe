"""Mondrian against exhaustive oracles."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.checks import class_promises, crowded, shuffled
from search.test_top_down import Guarded
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search.contract import Aim
from sfumato.search.loss import measure
from sfumato.search.mondrian import mondrian
from sfumato.system.errors import Infeasible, UsageError
from sfumato.table.classes import Classes
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Taxonomy
from strategies import tables

pytestmark = pytest.mark.slow


@st.composite
def ranged_tables(draw, **shape):
    """A random table whose ordered columns publish ranges between nodes of some level."""
    table = draw(tables(**shape))
    columns = [
        replace(c, taxonomy=replace(c.taxonomy, range_level=draw(st.integers(0, c.taxonomy.height))))
        for c in table.columns
    ]
    return replace(table, columns=tuple(columns))


def covering(table, class_of):
    """The recoding that publishes least for given classes: tight ranges, or lowest covering nodes."""
    count = int(class_of.max(initial=-1)) + 1
    low, high = np.zeros((2, count, len(table.keys)), np.int32)
    for j, column in enumerate(table.keys):
        codes, tree = table.codes(column.name), column.taxonomy
        for c in range(count):
            inside = codes[class_of == c]
            least, most = int(inside.min()), int(inside.max()) + 1
            if tree.ordered:
                starts, ends = tree.range_cells()
                least, most = int(starts[least]), int(ends[most - 1])
            node = tree.lowest_cover(least, most)
            low[c, j], high[c, j] = (least, most) if tree.ordered else (tree.low[node], tree.high[node])
    return Recoding(table, class_of.astype(np.int32), low, high)


def partitions(count):
    """Every way to put `count` things into groups, as group numbers."""
    found = [[]]
    for _ in range(count):
        found = [[*some, g] for some in found for g in range(max(some, default=-1) + 2)]
    return [np.array(some, np.int32) for some in found]


def whole(table):
    return np.zeros(table.distinct, np.int32)


@given(ranged_tables(rows=12, keys=3, people=True), class_promises(), st.booleans())
def test_every_row_is_in_one_class_that_covers_it_and_keeps_the_promises(table, promises, relaxed):
    try:
        outcome = mondrian(table, promises, Aim(relaxed=relaxed))
    except Infeasible:
        assert not promises.holds_on(Classes.of(table, whole(table))).all()
        return
    recoding = outcome.recoding
    assert recoding.cuts is None and recoding.suppressed == 0
    assert sorted(set(recoding.class_of.tolist())) == list(range(recoding.count))
    assert promises.holds_on(Classes.of(table, recoding.class_of)).all()
    published = np.hstack((recoding.low, recoding.high))
    assert len(np.unique(published, axis=0)) == recoding.count
    for j, column in enumerate(table.keys):
        codes, low, high = table.codes(column.name), recoding.low[:, j], recoding.high[:, j]
        assert np.all((low[recoding.class_of] <= codes) & (codes < high[recoding.class_of]))
        for interval in zip(low.tolist(), high.tolist(), strict=True):
            assert isinstance(column.taxonomy.describe(*interval), str)
    if not relaxed:
        tight = covering(table, recoding.class_of)
        assert np.array_equal(tight.low, recoding.low) and np.array_equal(tight.high, recoding.high)
    assert outcome.loss == measure("loss", recoding)


@given(ranged_tables(rows=12, keys=3), class_promises())
def test_strict_classes_never_overlap_in_space(table, promises):
    try:
        recoding = mondrian(table, promises, Aim()).recoding
    except Infeasible:
        return
    for a, b in combinations(range(recoding.count), 2):
        apart = (recoding.high[a] <= recoding.low[b]) | (recoding.high[b] <= recoding.low[a])
        assert apart.any()


@pytest.mark.parametrize("seed", range(10))
def test_relaxed_keeps_equal_keys_together(seed):
    table, promises = crowded(seed, keys=2, ordered=True), Promises((KAnonymity(3),))
    recoding = mondrian(table, promises, Aim(relaxed=True)).recoding
    classes = {}
    for row, *key in zip(recoding.class_of.tolist(), *(table.codes(c.name) for c in table.keys), strict=True):
        assert classes.setdefault(tuple(map(int, key)), row) == row


def test_it_is_never_better_than_the_best_partition():
    gaps = []

    @given(ranged_tables(rows=6, keys=2, min_rows=1), class_promises(), st.booleans())
    def never_better(table, promises, relaxed):
        try:
            outcome = mondrian(table, promises, Aim(relaxed=relaxed))
        except Infeasible:
            return
        best = min(
            measure("loss", covering(table, class_of))
            for class_of in partitions(table.distinct)
            if promises.holds_on(Classes.of(table, class_of)).all()
        )
        assert outcome.loss >= best - 1e-12
        gaps.append(outcome.loss - best)

    never_better()
    assert gaps
    print(
        f"\nMondrian on {len(gaps)} tables: {np.mean(gaps):.3f} above the least loss, at most {max(gaps):.3f}"
    )


@given(
    ranged_tables(rows=12, keys=3, leaves=3, people=True), class_promises(), st.booleans(), st.integers(0, 99)
)
def test_the_order_of_the_rows_does_not_matter(table, promises, relaxed, seed):
    other, aim = shuffled(table, seed), Aim(relaxed=relaxed)
    try:
        one = mondrian(table, promises, aim).recoding
    except Infeasible:
        with pytest.raises(Infeasible):
            mondrian(other, promises, aim)
        return
    two = mondrian(other, promises, aim).recoding
    for name in ("class_of", "low", "high"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@given(ranged_tables(rows=14, keys=3), st.integers(1, 3), st.booleans())
def test_round_by_round_gives_what_dividing_at_once_gives(table, k, relaxed):
    aim, by_size = Aim(relaxed=relaxed), Promises((KAnonymity(k),))
    try:
        one = mondrian(table, by_size, aim).recoding
    except Infeasible:
        assert table.rows < k
        return
    two = mondrian(table, by_size & DistinctLDiversity("s0", 1), aim).recoding
    for name in ("class_of", "low", "high"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def line(codes, *, size=10, ordered=True, **more):
    """A table of one key column."""
    tree = Taxonomy.flat([f"v{i}" for i in range(size)], ordered=ordered)
    return Microdata.of_codes([Column("a", Role.QUASI, tree)], [np.array(codes, np.int32)], **more)


def intervals(outcome):
    return sorted(zip(outcome.recoding.low[:, 0].tolist(), outcome.recoding.high[:, 0].tolist(), strict=True))


def test_an_ordered_column_is_cut_at_its_median_and_publishes_what_occurs():
    outcome = mondrian(line([0, 1, 1, 4, 6, 9]), Promises((KAnonymity(3),)), Aim())
    assert intervals(outcome) == [(0, 2), (4, 10)]


def test_a_range_runs_between_nodes_of_its_level():
    labels = ["*", "A", "a", "b", "B", "c", "d", "C", "e"]
    tree = Taxonomy.grow(labels, [-1, 0, 1, 1, 0, 4, 4, 0, 7], ordered=True, range_level=1)
    table = Microdata.of_codes([Column("q", Role.QUASI, tree)], [np.array([0, 0, 0, 1, 2, 3, 4, 4, 4])])
    outcome = mondrian(table, Promises((KAnonymity(2),)), Aim())
    assert intervals(outcome) == [(0, 2), (2, 4), (4, 5)]
    assert [outcome.recoding.texts(0)[0][i] for i in range(3)] == ["A", "B", "C"]
    few = mondrian(table, Promises((KAnonymity(4),)), Aim()).recoding
    assert few.texts(0)[0] == ["A", "B–C"]


def test_an_unordered_column_is_cut_into_children_of_the_lowest_cover():
    tree = Taxonomy.grow(["*", "A", "B", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2])
    column = Column("a", Role.QUASI, tree)
    outcome = mondrian(
        Microdata.of_codes([column], [np.array([0, 0, 1, 2, 2, 3, 3])]), Promises((KAnonymity(2),)), Aim()
    )
    assert intervals(outcome) == [(0, 2), (2, 3), (3, 4)]


def test_weights_choose_the_column():
    columns = [Column(n, Role.QUASI, Taxonomy.flat(["0", "1"], ordered=True)) for n in "ab"]
    table = Microdata.of_codes(columns, [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])])
    promises = Promises((KAnonymity(2),))
    first = mondrian(table, promises, Aim()).recoding
    second = mondrian(table, promises, Aim(weights={"b": Fraction(2)})).recoding
    assert (first.high - first.low).tolist() == [[1, 2], [1, 2]]
    assert (second.high - second.low).tolist() == [[2, 1], [2, 1]]


def test_a_range_with_the_missing_cell_is_published_as_the_root():
    tree = Taxonomy.grow(["*", "1", "2", "3", None], [-1, 0, 0, 0, 0], ordered=True)
    table = Microdata.of_codes([Column("a", Role.QUASI, tree)], [np.array([0, 0, 2, 3], np.int32)])
    outcome = mondrian(table, Promises((KAnonymity(2),)), Aim())
    assert intervals(outcome) == [(0, 1), (0, 4)]


def test_keys_wider_than_one_word():
    rng = np.random.default_rng(3)
    columns = [
        Column(f"q{j}", Role.QUASI, Taxonomy.flat([f"{j}v{i}" for i in range(600)], ordered=j % 2 == 0))
        for j in range(9)
    ]
    codes = [rng.integers(0, 600 if c.taxonomy.ordered else 2, 500).astype(np.int32) for c in columns]
    table = Microdata.of_codes(columns, codes)
    assert table.packing.words > 1
    for relaxed in (False, True):
        recoding = mondrian(table, Promises((KAnonymity(5),)), Aim(relaxed=relaxed)).recoding
        assert recoding.rows.min() >= 5 and recoding.count > 30
        tight = covering(table, recoding.class_of)
        assert np.array_equal(tight.low, recoding.low) and np.array_equal(tight.high, recoding.high)


def test_a_row_that_occurs_billions_of_times_is_still_one_row():
    table = line([0, 5, 9], counts=np.array([2**40, 3, 2**33]))
    outcome = mondrian(table, Promises((KAnonymity(3),)), Aim())
    assert outcome.recoding.rows.sum() == table.rows and outcome.recoding.rows.min() >= 3


def test_the_table_as_a_whole_changes_where_a_person_has_several_rows():
    columns = [
        Column("a", Role.QUASI, Taxonomy.flat([str(i) for i in range(8)], ordered=True)),
        Column("s", Role.SENSITIVE, Taxonomy.flat(["x", "y"])),
    ]
    rng = np.random.default_rng(5)
    for _ in range(20):
        codes = [rng.integers(0, 8, 40).astype(np.int32), rng.integers(0, 2, 40).astype(np.int32)]
        table = Microdata.of_codes(columns, codes, person=rng.integers(0, 25, 40))
        promises = KAnonymity(2) & TCloseness("s", Fraction(1, 10))
        recoding = mondrian(table, promises, Aim()).recoding
        assert promises.holds_on(Classes.of(table, recoding.class_of)).all()


@given(ranged_tables(rows=12, keys=2, people=True), st.sampled_from([Fraction(3, 2), Fraction(2)]))
def test_where_joined_classes_may_break_a_promise_splits_are_strict(table, least):
    promises = Promises((EntropyLDiversity("s0", least),))
    try:
        strict, relaxed = (mondrian(table, promises, Aim(relaxed=r)).recoding for r in (False, True))
    except Infeasible:
        return
    assert not table.has_person or np.array_equal(strict.class_of, relaxed.class_of)


def test_infeasible_requests_say_why():
    with pytest.raises(Infeasible, match="k = 4 is short by 1: the table is about 3 people"):
        mondrian(line([0, 1, 2]), Promises((KAnonymity(4),)), Aim())
    with pytest.raises(Infeasible, match="1 rows have an empty key cell"):
        mondrian(line([0, 1, 2], dropped=1), Promises((KAnonymity(1),)), Aim())


def test_table_promises_need_a_global_recoding():
    with pytest.raises(UsageError, match="guarded"):
        mondrian(line([0, 1, 2]), Promises((Guarded("a", "a"),)), Aim())


def test_an_empty_table_has_no_class():
    assert mondrian(line([]), Promises((KAnonymity(2),)), Aim()).recoding.count == 0


def test_rows_that_occur_billions_of_times_take_no_more_room():
    tree = Taxonomy.flat(["a", "b", "c"])
    codes, counts = np.arange(3, dtype=np.int32), np.array([1 << 40, 1 << 40, 2])
    table = Microdata.of_codes([Column("q", Role.QUASI, tree)], [codes], counts=counts)
    outcome = mondrian(table, Promises((KAnonymity(2),)), Aim())
    assert outcome.recoding.class_of.tolist() == [0, 1, 2]
