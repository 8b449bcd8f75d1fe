"""Explanations beside the definitions, on small tables and all coalitions; and what follows from them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import leak_explanations
from recipients.toy_ledger import ToyLedger, found, shown, table_of
from sfumato.kernels.sample_uniques import DONE, FULL, OUT_OF_STEPS, hitting_sets, without_supersets
from sfumato.recipients.collusion import Coalitions, Explanations, SmallestCoalition, _bits
from sfumato.table.cut import Cut
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

NAMES = ("A", "B", "C", "D", "E")


@st.composite
def demands(draw):
    members = draw(st.integers(1, 7))
    rows = draw(st.lists(st.lists(st.booleans(), min_size=members, max_size=members), min_size=1, max_size=6))
    return np.array(rows)


def brute(sets, most):
    everybody = range(sets.shape[1])
    hitting = [
        set(chosen)
        for size in range(most + 1)
        for chosen in combinations(everybody, size)
        if all(any(row[m] for m in chosen) for row in sets)
    ]
    return {frozenset(s) for s in hitting if not any(other < s for other in hitting)}


@given(demands(), st.integers(1, 4))
def test_minimal_coalitions_are_all_minimal_hitting_sets(sets, most):
    names = tuple(f"r{i}" for i in range(sets.shape[1]))
    coalitions = Coalitions(names, sets)
    listed = list(coalitions.explanations(most))
    expected = {frozenset(names[i] for i in chosen) for chosen in brute(sets, most)}
    assert {frozenset(chosen) for chosen in listed} == expected
    assert len(listed) == len(expected), "each once"
    assert [len(c) for c in listed] == sorted(len(c) for c in listed)
    every = brute(sets, sets.shape[1])
    least = min((len(s) for s in every), default=None)
    assert coalitions.smallest() == SmallestCoalition(least)
    certain = coalitions.certain(coalitions.explanations(most), most)
    assert set(certain) == (set.intersection(*map(set, expected)) if expected else set())
    for name, small in certain.items():
        others = [s for s in every if names.index(name) not in s]
        assert small == SmallestCoalition(min((len(s) for s in others), default=None))


@given(demands())
def test_only_sets_without_subsets_are_demanded(sets):
    sets = np.unique(sets, axis=0)
    sets = sets[np.argsort(sets.sum(axis=1), kind="stable")]
    kept = without_supersets(_bits(sets))
    as_sets = [frozenset(np.flatnonzero(row).tolist()) for row in sets]
    assert kept.tolist() == [not any(other < s for other in as_sets) for s in as_sets]


def test_the_search_says_when_it_stopped():
    hits = np.array([[1], [1], [1], [1]], np.uint64)
    edges = np.array([[15]], np.uint64)
    assert len(hitting_sets(hits, edges, 2, 100, 100)[0]) == 4
    assert hitting_sets(hits, edges, 2, 100, 100)[1] == DONE
    assert [len(x) if i == 0 else x for i, x in enumerate(hitting_sets(hits, edges, 2, 3, 100))] == [3, FULL]
    assert hitting_sets(hits, edges, 2, 100, 2)[1] == OUT_OF_STEPS


def test_more_than_64_recipients_and_demands():
    sets = np.ones((70, 130), dtype=bool)
    for d in range(70):
        sets[d, : d + 1] = False
    coalitions = Coalitions(tuple(map(str, range(130))), sets)
    assert coalitions.explanations(1)[0] == ("70",)
    assert len(coalitions.explanations(3)) == 60


def test_groups_are_drawn_out_only_when_asked():
    big = Explanations(tuple(tuple(f"{g}{i}" for i in range(1000)) for g in "abc"), ((0,), (0, 1, 2)))
    assert len(big) == 1000 + 1000**3
    assert big[0] == ("a0",)
    assert big[1000] == ("a0", "b0", "c0")
    assert (big.involving["a5"], big.involving["b5"]) == ((1, 1 + 10**6), (3, 10**6))
    with pytest.raises(IndexError):
        big[len(big)]
    small = Explanations((("a", "b"), ("c",)), ((0, 1),))
    assert (small[-1], small[0:1]) == (("b", "c"), (("a", "c"),))
    assert small.involving == {"a": (2, 1), "b": (2, 1), "c": (2, 2)}


@st.composite
def trees(draw):
    size = draw(st.integers(2, 7))
    parent = [-1] + [draw(st.integers(0, v - 1)) for v in range(1, size)]
    inner = set(parent)
    labels = [draw(st.sampled_from(["g", f"n{v}"])) if v in inner else f"n{v}" for v in range(size)]
    return Taxonomy.grow(["*", *labels[1:]], parent)


@st.composite
def cuts_of(draw, tree):
    cut = Cut.root(tree)
    for _ in range(draw(st.integers(0, 3))):
        if len(cut.specializations):
            cut = cut.specialize(draw(st.sampled_from(cut.specializations.tolist())))
    return cut


@st.composite
def worlds(draw):
    """A table, versions of it, and a leak that some of the recipients made."""
    columns = {f"c{j}": draw(trees()) for j in range(draw(st.integers(1, 3)))}
    row = st.tuples(*(st.sampled_from(tree.leaf_labels) for tree in columns.values()))
    rows = draw(st.lists(row, min_size=1, max_size=4))
    table = table_of(columns, rows)
    given_to = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
    versions = [(who, {name: draw(cuts_of(tree)) for name, tree in columns.items()}) for who in given_to]
    coalition = draw(st.sets(st.sampled_from(given_to), min_size=1, max_size=3))
    held = [(who, shown(table, cuts)) for who, cuts in versions if who in coalition]
    leak = []
    for i in draw(st.lists(st.integers(0, table.distinct - 1), min_size=1, max_size=4)):
        first = int(table.counts[:i].sum())
        cells = {}
        for name, tree in columns.items():
            _, version = draw(st.sampled_from(held))
            node = [v for v, label in enumerate(tree.labels) if label == version[first][name]]
            told = draw(st.sampled_from(node))
            for _ in range(draw(st.integers(0, 2))):
                told = max(0, int(tree.parent[told]))
            cells[name] = tree.labels[told]
        leak.append(cells)
    return columns, table, versions, coalition, leak


def as_nodes(table, cuts):
    return [
        {c.name: int(cuts[c.name].node_of[table.codes(c.name)[i]]) for c in table.keys}
        for i in range(table.distinct)
    ]


def issued(table, versions, *, named=False, **options):
    ledger = ToyLedger(named=named)
    for who, cuts in versions:
        ledger.give(who, table, cuts, **options)
    return ledger


@settings(max_examples=150, deadline=None)
@given(worlds(), st.integers(1, 3), st.booleans())
def test_explanations_are_those_of_the_definition(world, most, together):
    columns, table, versions, _, leak = world
    leak.append({name: tree.leaf_labels[0] for name, tree in columns.items()})
    result = issued(table, versions, named=True, event="e" if together else "").trace(
        leak, max_coalition_size=most
    )
    plainly = [
        (who, {n: c.nodes.tolist() for n, c in cuts.items()}, as_nodes(table, cuts)) for who, cuts in versions
    ]
    assert found(result) == leak_explanations.explanations(columns, plainly, leak, most, together=together)


@settings(max_examples=150, deadline=None)
@given(worlds(), st.booleans(), st.sampled_from(["", "e"]))
def test_whoever_made_it_is_an_explanation_and_no_innocent_is_certain(world, content, event):
    """Made by at most three recipients: a part of them is an explanation, and only they can be certain."""
    _, table, versions, coalition, leak = world
    result = issued(table, versions, content=content, event=event).trace(leak, max_coalition_size=3)
    assert result.ours
    assert any(explanation <= coalition for explanation in found(result))
    assert set(result.certain) <= coalition
    assert {s.recipient for s in result.suspects} == set().union(*found(result))


@settings(max_examples=60, deadline=None)
@given(worlds(), st.randoms())
def test_neither_the_order_of_rows_nor_copies_change_anything(world, random):
    _, table, versions, _, leak = world
    ledger = issued(table, versions)
    again = leak * 2
    random.shuffle(again)
    first, second = ledger.trace(leak), ledger.trace(again)
    assert found(first) == found(second)
    assert first.certain == second.certain
    assert [s.recipient for s in first.suspects] == [s.recipient for s in second.suspects]
