"""Found sets are counted, ordered and named as if all of them were written out, and are not."""

from itertools import islice, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.discovery.quasi_identifiers import coded as column_sets
from sfumato.discovery.quasi_identifiers.coded import ColumnSets, listed


@st.composite
def found_sets(draw):
    """Reduced columns with their members, and distinct sets of them."""
    columns = draw(st.integers(1, 6)) if draw(st.booleans()) else draw(st.integers(63, 70))
    sizes = draw(st.lists(st.integers(1, 3), min_size=columns, max_size=columns))
    places = draw(st.permutations(range(sum(sizes))))
    members, start = [], 0
    for size in sizes:
        members.append(tuple(sorted(places[start : start + size])))
        start += size
    one = st.frozensets(st.integers(0, columns - 1), max_size=4)
    return members, draw(st.lists(one, max_size=12, unique=True))


def as_words(sets, columns):
    words = np.zeros((len(sets), -(-columns // 64)), np.uint64)
    for row, chosen in zip(words, sets, strict=True):
        for j in chosen:
            row[j // 64] |= np.uint64(1 << (j % 64))
    return words


def written_out(members, sets):
    every = {tuple(sorted(choice)) for chosen in sets for choice in product(*(members[j] for j in chosen))}
    return sorted(every, key=lambda columns: (len(columns), columns))


@given(found_sets())
def test_all_sets_come_in_order(found):
    members, sets = found
    names = tuple(f"n{j:03}" for j in range(sum(map(len, members))))
    expected = [tuple(names[j] for j in columns) for columns in written_out(members, sets)]
    made = ColumnSets(as_words(sets, len(members)), members, names)
    assert list(made) == expected
    assert made == expected and len(made) == len(expected) and not made.cut
    assert made[:3] == expected[:3] and made[::-2] == expected[::-2]
    assert all(made[i] == expected[i] == made[i - len(expected)] for i in range(len(expected)))
    counts = {name: sum(name in columns for columns in expected) for name in names}
    assert made.within() == {name: count for name, count in counts.items() if count}


@given(found_sets(), st.integers(1, 8))
def test_only_so_many_are_there_as_were_asked_for(found, most):
    members, sets = found
    names = tuple(f"n{j:03}" for j in range(sum(map(len, members))))
    whole = ColumnSets(as_words(sets, len(members)), members, names)
    made = ColumnSets(as_words(sets, len(members)), members, names, most=most)
    assert list(made) == list(islice(whole, most))
    assert made.cut == (len(whole) > most)


@given(found_sets(), st.data())
def test_sets_are_joined_with_what_looks_alike(found, data):
    members, sets = found
    names = tuple(f"n{j:03}" for j in range(sum(map(len, members))))
    some = data.draw(st.lists(st.sampled_from(sets), max_size=3)) if sets else []
    more = [tuple(names[members[j][-1]] for j in chosen) for chosen in some]
    rest = [chosen for chosen in sets if chosen not in some]
    whole = ColumnSets(as_words(sets, len(members)), members, names)
    assert ColumnSets(as_words(rest, len(members)), members, names).joined(more, most=None) == list(whole)


def test_large_blocks_are_streamed_by_size_without_being_sorted(monkeypatch):
    members = [(0, 2), (1, 3), (4,)]
    names = tuple("abcde")
    words = as_words([{0, 1}, {1, 2}, {2}], 3)
    in_order = list(ColumnSets(words, members, names))
    monkeypatch.setattr(column_sets, "SORTED_AT_ONCE", 1)
    monkeypatch.setattr(column_sets, "MOST_SORTED", 1)
    monkeypatch.setattr(column_sets, "CHUNK", 2)
    streamed = list(ColumnSets(words, members, names))
    assert sorted(streamed) == sorted(in_order)
    assert list(map(len, streamed)) == sorted(map(len, streamed))


def test_more_sets_than_could_ever_be_written_out_are_counted():
    columns, choices = 40, 9
    members = [tuple(range(choices * j, choices * (j + 1))) for j in range(columns)]
    names = tuple(f"c{j}" for j in range(columns * choices))
    made = ColumnSets(as_words([set(range(columns)), {0, 1}], columns), members, names, most=2**60)
    assert len(made) == 2**60 and made.cut
    assert made[0] == ("c0", "c9")
    assert made.within()["c0"] == choices + prod([choices] * (columns - 1))


def test_plain_sets_look_like_a_list():
    made = listed([("b",), ("a", "c")], ("a", "b", "c"))
    assert repr(made) == "[('b',), ('a', 'c')]"
    assert made == (("b",), ("a", "c")) and made not in ([("b",)], "b")
    assert listed([()], ("a",)) == [()] and listed([], ()) == []
    with pytest.raises(IndexError):
        made[2]
    assert "41 in all" in repr(listed([(f"c{j}",) for j in range(41)], tuple(f"c{j}" for j in range(41))))


def test_sets_that_are_known_are_joined_without_a_second_copy():
    names = tuple("abcd")
    members = [(0,), (1, 3), (2,)]
    known = ColumnSets(as_words([{0, 1}, {2}], 3), members, names)
    joined = known.joined([("c",), ("a", "d")], most=2)
    assert list(joined) == [("c",), ("a", "b")] and joined.cut and not known.cut
    assert list(known) == [("c",), ("a", "b"), ("a", "d")]
    assert joined.within() == {"a": 2, "b": 1, "c": 1, "d": 1}
