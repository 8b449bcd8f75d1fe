"""Positions of people: equal for equal multisets of classes, split by finer cuts, each person once."""

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.table.classes import NOWHERE, Classes, judged_groups, multisets, positions
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding, classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import all_recodings, tables

entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 3)), max_size=24)


@given(entries)
def test_equal_multisets_have_equal_numbers_and_others_other_ones(held):
    owner, item, times = (np.array(column, np.int64) for column in zip(*held, strict=True)) if held else (
        np.zeros(0, np.int64),
    ) * 3  # fmt: skip
    who, number = multisets(owner, item, times)
    plain = defaultdict(Counter)
    for one, what, often in held:
        plain[one][what] += often
    assert who.tolist() == sorted(plain)
    seen = {}
    for one, n in zip(who.tolist(), number.tolist(), strict=True):
        assert seen.setdefault(frozenset(plain[one].items()), n) == n
    assert sorted(seen.values()) == list(range(len(seen)))


def test_one_person_with_very_many_rows_takes_few_rounds():
    n = 200_000
    owner = np.concatenate((np.zeros(n, np.int64), np.ones(n, np.int64), [2]))
    item = np.concatenate((np.arange(n), np.arange(n), [5]))
    who, number = multisets(owner, item, np.ones(2 * n + 1, np.int64))
    assert who.tolist() == [0, 1, 2]
    assert number[0] == number[1] != number[2]


@given(tables(people=True, min_rows=1, keys=2))
def test_positions_are_those_of_plain_python_and_finer_cuts_split_them(table):
    if not table.has_person:
        return
    coarser = None
    for cuts in ({c.name: Cut.root(c.taxonomy) for c in table.keys}, {c.name: Cut.leaves(c.taxonomy) for c in table.keys}):  # fmt: skip  # noqa: E501
        class_of, _ = classes_under(table, cuts)
        where, person = positions(table, class_of), table.person
        plain = defaultdict(Counter)
        for i in range(table.distinct):
            plain[int(person[i])][int(class_of[i])] += int(table.counts[i])
        profile = [frozenset(plain[int(p)].items()) for p in person]
        for i in range(table.distinct):
            same = [profile[i] == other for other in profile]
            assert ((where == where[i]) == same).all()
        if coarser is not None:
            pairs = set(zip(where.tolist(), coarser.tolist(), strict=True))
            assert len(pairs) == len(set(where.tolist())), "a finer position is part of one coarser position"
        coarser = where


@given(tables(people=True, min_rows=1), st.data())
def test_people_who_are_not_published_are_nowhere(table, data):
    if not table.has_person:
        return
    gone = data.draw(st.sets(st.sampled_from(sorted(set(table.person.tolist())))))
    cuts = data.draw(st.sampled_from(all_recodings(table)))
    stays = ~np.isin(table.person, list(gone))
    recoding = Recoding.of_cuts(table, cuts).keeping(stays)
    where = positions(table, recoding.class_of)
    assert ((where == NOWHERE) == ~stays).all()
    assert set(recoding.class_of[stays].tolist()) == set(range(recoding.count)), "no class is empty"
    classes = Classes.of(table, where)
    assert int(classes.people.sum()) == len(set(table.person[stays].tolist())), "everybody counts once"
    assert int(classes.rows.sum()) == int(table.counts[stays].sum())


def test_profiles_matter_only_where_somebody_has_several_rows():
    month = Column("month", Role.QUASI, Taxonomy.flat(["Jan", "Feb"]))
    single = Microdata.of_codes([month], [np.array([0, 0, 1])], person=np.arange(3))
    assert single.with_profiles() is single
    twice = Microdata.of_codes([month], [np.array([0, 0, 1])], person=np.array([0, 0, 1])).with_profiles()
    assert twice.profiles and twice.people_with_several_rows == 1
    class_of, _ = classes_under(twice, {"month": Cut.root(month.taxonomy)})
    assert len(set(judged_groups(twice, class_of).tolist())) == 2, "how often a class is held counts, too"
    assert judged_groups(single, np.zeros(3, np.int32)).tolist() == [0, 0, 0]
