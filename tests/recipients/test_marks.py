"""Marks: which groups carry them, what versions show, and that nothing but boxes and a key decides."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.recipients.capacity import MarkedVersions
from sfumato.recipients.charging import charge
from sfumato.recipients.marks import (
    MarkedChain,
    MarkRule,
    PlannedMarks,
    biases,
    commitment,
    marks_of_chain,
    next_wider,
    symbols,
)
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.coins import Coins
from sfumato.system.errors import UsageError
from sfumato.table.base import BARE_ROW, GROUP, HOME, LOSS, Base
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Taxonomy, never_above

COINS = Coins(b"a key of tests")
AGES = Taxonomy.grow(
    ["*", *(f"{a}-{a + 1}" for a in range(0, 12, 2)), *map(str, range(12))],
    [-1, *[0] * 6, *(1 + a // 2 for a in range(12))],
    ordered=True,
)
TOWNS = Taxonomy.grow(["*", "north", "a", "b", "south", "c", "d"], [-1, 0, 1, 1, 0, 4, 4])
AGES = Taxonomy(AGES.labels, AGES.parent, AGES.levels, ordered=True, range_level=1)


ZIPS = Taxonomy.flat([str(number) for number in range(8)])


def recoded(trees, class_of, low, high):
    """A recoding of rows in these classes, each row with the first value of its box."""
    columns = [Column(f"c{j}", Role.QUASI, tree) for j, tree in enumerate(trees)]
    rows = Column("row", Role.INSENSITIVE, Taxonomy.flat([str(row) for row in range(len(class_of))]))
    codes = [*low[class_of].T, np.arange(len(class_of))]
    table = Microdata.of_codes((*columns, rows), [np.asarray(cells, np.int32) for cells in codes])
    return Recoding(table, np.asarray(class_of, np.int32)[table.codes("row")], low, high)


@st.composite
def grouped(draw):
    """Classes of some rows, each with a box that may be published."""
    count = draw(st.integers(1, 12))
    low, high = np.zeros((count, 2), np.int32), np.zeros((count, 2), np.int32)
    for c in range(count):
        begin = draw(st.integers(0, 5))
        end = draw(st.integers(begin, 5))
        one = draw(st.booleans()) and begin == end
        low[c, 0], high[c, 0] = (2 * begin, 2 * begin + 1) if one else (2 * begin, 2 * end + 2)
        low[c, 1], high[c, 1] = draw(st.sampled_from([(0, 1), (1, 2), (0, 2), (2, 4), (0, 4)]))
    sizes = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    return recoded((AGES, TOWNS), np.repeat(np.arange(count), sizes), low, high)


def losses(recoding):
    leaves = np.array([len(column.taxonomy.leaves) for column in recoding.table.keys])
    return ((recoding.high - recoding.low - 1) / (leaves - 1)).mean(axis=1)


@given(grouped(), st.fractions(0, 2))
def test_a_raised_box_contains_the_box_and_no_version_loses_more_than_the_tolerance(recoding, tolerance):
    rule = MarkRule(tolerance=tolerance)
    planned = PlannedMarks.of(recoding, rule)
    marks = planned.table(COINS, 100, rule)
    rows, worst = recoding.rows, 0.0
    for place, c in enumerate(planned.classes.tolist()):
        assert marks["group"][place] == 100 + c
        assert marks["first_column"][place] != marks["second_column"][place]
        for side in ("first", "second"):
            j = [column.name for column in recoding.table.keys].index(marks[f"{side}_column"][place])
            tree = recoding.table.keys[j].taxonomy
            begin, end = tree.span(marks[f"{side}_text"][place])
            low, high = recoding.low[c, j], recoding.high[c, j]
            assert begin <= low, "the box lies in the raised one"
            assert high <= end
            assert end - begin > high - low, "and is smaller"
        worst += rows[c] * max(marks["first_cost"][place], marks["second_cost"][place])
    assert worst <= float(tolerance) * float(rows @ losses(recoding)) + 1e-9


@given(grouped(), st.randoms())
def test_marks_depend_on_boxes_and_sizes_alone(recoding, random):
    """Who is in a class, and in which order rows come, is not looked at."""
    order = list(range(len(recoding.class_of)))
    random.shuffle(order)
    other = Recoding(recoding.table, recoding.class_of[order], recoding.low, recoding.high)
    rule = MarkRule()
    here, there = (PlannedMarks.of(r, rule).table(COINS, 0, rule) for r in (recoding, other))
    assert {name: list(cells) for name, cells in here.items()} == {
        name: list(cells) for name, cells in there.items()
    }


def test_symbols_are_fair_independent_and_the_same_for_the_same_key():
    groups, fair = np.arange(4000), np.full(4000, 0.5)
    alpha, beta = (symbols(COINS, name, groups, fair) for name in ("alpha", "beta"))
    assert (symbols(COINS, "alpha", groups, fair) == alpha).all()
    assert 1850 < alpha.sum() < 2150
    assert 1850 < (alpha ^ beta).sum() < 2150
    assert (symbols(COINS, "alpha", groups[::-1], fair) == alpha[::-1]).all(), "other groups have no say"
    assert (symbols(Coins(b"another"), "alpha", groups, fair) != alpha).any()


def test_biases_are_fair_for_two_and_those_of_a_code_for_more():
    groups = np.arange(4000)
    assert set(biases(COINS, groups, 1)) == set(biases(COINS, groups, 2)) == {0.5}
    three = biases(COINS, groups, 3)
    assert np.allclose(sorted(set(three)), [0.5 - 12**-0.5, 0.5 + 12**-0.5])
    assert 1850 < (three > 0.5).sum() < 2150
    assert len(set(biases(COINS, groups, 5))) == 3
    drawn = symbols(COINS, "alpha", groups, three)
    assert 0.7 < drawn[three > 0.5].mean() < 0.88


def test_the_next_wider_text_is_the_lowest_above_within_the_ceiling():
    assert next_wider(TOWNS, 0, 1) == (0, 2)
    assert next_wider(TOWNS, 0, 2) == (0, 4)
    assert next_wider(TOWNS, 0, 4) is None
    assert next_wider(never_above(TOWNS, 1), 0, 2) is None
    assert next_wider(AGES, 3, 4) == (2, 4)
    assert next_wider(AGES, 2, 8) == (0, 12)


def boxes(count, ages, towns, zips=()):
    low = np.array([[ages[0], towns[0], *zips[:1]]] * count, np.int32)
    high = np.array([[ages[1], towns[1], *zips[1:]]] * count, np.int32)
    return recoded((AGES, TOWNS, ZIPS)[: 2 + bool(zips)], np.arange(count), low, high)


def test_columns_that_must_stay_and_those_that_follow_from_others():
    recoding = boxes(8, (0, 2), (0, 2), (0, 1))
    generous = MarkRule(tolerance=100)
    assert len(PlannedMarks.of(recoding, generous).classes) == 8
    barred = PlannedMarks.of(recoding, MarkRule(tolerance=100, barred=("c0", "c1")))
    assert not len(barred.classes), "a mark takes two columns"
    followed = PlannedMarks.of(recoding, MarkRule(tolerance=100, follows={"c0": ("c2",)}))
    assert {j for pair in followed.pairs.tolist() for j in pair} == {1, 2}, "age can be read off zip"
    vague = boxes(8, (0, 2), (0, 2), (0, 8))
    planned = PlannedMarks.of(vague, MarkRule(tolerance=100, follows={"c0": ("c2",)}))
    assert {j for pair in planned.pairs.tolist() for j in pair} == {0, 1}, "a zip of * determines nothing"


@pytest.mark.parametrize("trees", [(), (AGES,)])
def test_tables_of_fewer_than_two_columns_have_no_marks(trees):
    low = np.zeros((4, len(trees)), np.int32)
    recoding = recoded(trees, np.arange(4), low, low + 2)
    marks = PlannedMarks.of(recoding, MarkRule()).table(COINS, 0, MarkRule())
    assert all(len(cells) == 0 for cells in marks.values())


def test_columns_share_the_marks():
    rng = np.random.default_rng(5)
    count = 600
    begin = rng.integers(0, 3, (count, 6))
    low, high = (2 * begin).astype(np.int32), (2 * begin + 4).astype(np.int32)
    planned = PlannedMarks.of(recoded([AGES] * 6, np.arange(count), low, high), MarkRule())
    used = np.bincount(planned.pairs.ravel(), minlength=6)
    assert len(planned.classes) > 60
    assert used.max() <= 2.5 * used.mean()


def base_of(towns, groups, bare):
    count = len(towns)
    cells = {
        GROUP: pa.array(groups, pa.int64()),
        HOME: pa.array(groups, pa.int64()),
        BARE_ROW: pa.array(bare),
        LOSS: pa.array(np.where(bare, 0.0, 0.25)),
        "town": pa.array(towns, pa.large_string()),
        "age": pa.array(["0-1"] * count),
        "ill": pa.array(["flu"] * count),
    }
    rows = pa.table(cells)
    base = Base(rows, ("town", "age", "ill"), ("town", "age"), groups=3, marks_key=COINS.key.hex())
    words = {"first_column": ["town"], "first_text": ["*"], "first_cost": [0.5]}
    words |= {"second_column": ["age"], "second_text": ["0–3"], "second_cost": [0.1]}
    return base.with_marks({**words, "group": [1], "bias": [0.5]})


@pytest.mark.parametrize(("symbol", "town", "age", "loss"), [(0, "*", "0-1", 0.75), (1, "b", "0–3", 0.35)])
def test_a_version_shows_one_column_coarser_in_all_rows_of_a_marked_group(symbol, town, age, loss):
    base = base_of(["a", "b", "b", "b"], [0, 1, 1, 1], [False, False, False, True])
    version = base.raised(np.array([bool(symbol)]))
    assert version.rows["town"].to_pylist() == ["a", town, town, town]
    assert version.rows["age"].to_pylist() == ["0-1", age, age, age]
    assert version.rows["ill"].equals(base.rows["ill"])
    assert version.rows[LOSS].to_pylist() == pytest.approx([0.25, loss, loss, 0])
    assert version.rows.schema.equals(base.rows.schema)


def test_marks_are_kept_with_the_base():
    base = base_of(["a", "b"], [0, 1], [False, False])
    again = Base.from_bytes(base.to_bytes())
    assert again.marks.equals(base.marks)
    assert again.marks_key == base.marks_key
    assert base.marks_key not in repr(base)


def hospital_policy():
    words = sf.demo.policy().to_dict()
    promises = [promise for promise in words["promises"] if "t-closeness" not in promise]
    return {**words, "promises": promises, "person": "patient_id", "chain": {}}


def test_a_ledger_gives_the_marks_of_a_chain(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    policy = hospital_policy()
    people = sf.demo.hospital(400)
    for part, name in ((people.head(200), "1"), (people, "2")):
        sf.release(part, policy, ledger=url, into=tmp_path / name)
        with Ledger(url) as ledger:
            chain = marks_of_chain(ledger, "main")
            with pytest.raises(UsageError, match="no chain of groups"):
                marks_of_chain(ledger, "other")
        marks = chain.base.marks
        if name == "1":
            first = chain
    groups = marks["group"].to_pylist()
    assert all(before < after for before, after in pairwise(groups)), "one mark a group"
    assert len(groups) > len(first.base.marks) > 0
    assert chain.base.marks.slice(0, len(first.base.marks)).equals(first.base.marks), "nothing is drawn again"
    assert chain.commitment == first.commitment == commitment(bytes.fromhex(chain.base.marks_key))
    count = len(first.base.marks)
    assert (chain.symbols("alpha")[:count] == first.symbols("alpha")).all()
    version = chain.version("alpha")
    shown = version.shown()
    assert chain.base.loss(shown) < version.loss(shown) <= 1.1 * chain.base.loss(shown)
    assert isinstance(chain, MarkedChain)


def test_capacity_says_how_large_a_leak_names_whom(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        sf.release(sf.demo.hospital(1200), hospital_policy(), ledger=ledger, into=tmp_path / "1")
        chain = marks_of_chain(ledger, "main")
    capacity = MarkedVersions(chain, chain.base.shown(), 3, Fraction(1, 1000)).capacity()
    one, two, three = capacity.leaks
    assert (one.groups, two.groups, three.groups) == (12, 82, 192)
    assert 12 <= one.random < one.contiguous < capacity.all_rows
    assert one.random < two.random
    assert three.random is None, "more groups than carry a mark"
    assert capacity.loss < capacity.hidden <= 1.3 * capacity.loss
    assert 0 < capacity.left < capacity.marked
    assert str(one).startswith("one leaker: about 12 marked groups, ")
    assert str(three) == "3 who mix their versions: about 192 marked groups, more than there are"
    again = MarkedVersions(chain, chain.base.shown(), 3, Fraction(1, 1000)).capacity()
    assert again == capacity, "a key draws the same leaks"
    whole, fair = charge_all(chain, one.random)
    assert whole > 0.8 and fair == 0


def charge_all(chain, rows):
    """The share of leaks of so many rows that charge their maker, and somebody else."""
    names = [f"recipient {number}" for number in range(3)]
    versions = np.array([chain.symbols(name) for name in names], np.int8)
    groups, bias = chain.base.marks["group"].to_numpy(), chain.base.marks["bias"].to_numpy()
    rng, right, wrong = np.random.default_rng(3), 0, 0
    for _ in range(100):
        seen = np.isin(groups, rng.choice(chain.base.numbers(GROUP), rows, replace=False))
        shown = np.where(seen, versions[0], -1).astype(np.int8)
        charged = charge(shown, bias, versions).charged
        right += 0 in charged
        wrong += any(who in charged for who in (1, 2))
    return right / 100, wrong
