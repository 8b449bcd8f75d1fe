"""Who can build whose version: the fast answers are those of trying everything."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipients.table_one import table, version
from sfumato.recipients.versions import FrameProofFamily, ShownDetail, covers
from sfumato.table.cut import Cut
from strategies import all_recodings, tables

pytestmark = pytest.mark.slow

PATTERNS = st.lists(
    st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=6, unique_by=tuple
)


def is_frame_proof(patterns, size):
    """By looking at every coalition."""
    return not any(
        np.all(patterns[list(some)].min(axis=0) <= patterns[v])
        for v in range(len(patterns))
        for some in combinations([u for u in range(len(patterns)) if u != v], size)
    )


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=5), st.integers(0, 4))
def test_covers_is_set_cover(lines, size):
    known = np.array(lines, dtype=bool).reshape(-1, 4)
    wanted = any(
        known[list(some)].any(axis=0).all()
        for count in range(size + 1)
        for some in combinations(range(len(known)), count)
    )
    assert covers(known, size) == wanted


@given(PATTERNS, st.integers(1, 4))
def test_a_family_takes_exactly_what_keeps_it_frame_proof(patterns, size):
    family, members = FrameProofFamily(size), []
    for pattern in np.array(patterns):
        expected = all(is_frame_proof(np.array([*members, pattern]), fewer) for fewer in range(1, size + 1))
        assert family.take(-pattern) == expected
        members += [pattern] if expected else []
        assert len(family) == len(members)


@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.tuples(*[st.integers(0, 2)] * 3)), max_size=5),
    st.integers(1, 3),
)
def test_owners_of_several_versions_hold_them_all(handed, size):
    family, taken = FrameProofFamily(size), []
    for owner, pattern in handed:
        whole = [*taken, (owner, pattern)]
        owners = sorted({o for o, _ in whole})
        held = {o: np.min([p for q, p in whole if q == o], axis=0) for o in owners}
        expected = not any(
            np.all(np.min([held[u] for u in some], axis=0) <= np.array(version))
            for o, version in whole
            for count in range(1, size + 1)
            for some in combinations([u for u in owners if u != o], count)
        )
        assert family.take(-np.array(pattern), owner) == expected
        taken = whole if expected else taken


@given(st.data())
def test_on_cuts_a_coalition_builds_what_its_meet_is_below(data):
    people = data.draw(tables(rows=6, keys=2, leaves=4, min_rows=1))
    every = st.sampled_from(all_recodings(people))
    coalition, target = data.draw(st.lists(every, min_size=1, max_size=3)), data.draw(every)
    shown = ShownDetail(people)
    finer = True
    for column in people.keys:
        tree = column.taxonomy
        for rank in np.unique(people.codes(column.name)):
            nodes = [int(cuts[column.name].node_of[rank]) for cuts in coalition]
            finer &= any(tree.covers(int(target[column.name].node_of[rank]), node) for node in nodes)
    assert shown.builds(coalition, target) == finer


@given(st.data())
def test_levels_are_the_fast_case_of_cuts(data):
    people = data.draw(tables(rows=6, keys=2, leaves=4, min_rows=1))
    shown, heights = ShownDetail(people), [len(c.taxonomy.levels) for c in people.keys]
    every = st.sampled_from(list(product(*map(range, heights))))
    one, other = data.draw(every), data.draw(every)
    cuts = [
        {c.name: Cut.level(c.taxonomy, i) for c, i in zip(people.keys, levels, strict=True)}
        for levels in (one, other)
    ]
    ranks = [np.array([r[i] for r, i in zip(shown.detail_ranks(), x, strict=True)]) for x in (one, other)]
    assert shown.builds([cuts[0]], cuts[1]) == bool(np.all(ranks[0] >= ranks[1]))
    same = np.array_equal(shown.detail(cuts[0]), shown.detail(cuts[1]))
    assert same == bool(np.all(ranks[0] == ranks[1]))


def test_nobody_builds_the_others_version_of_table_one():
    shown = ShownDetail(table())
    one, other = version(1, 1), version(0, 2)
    assert not shown.builds([one], other)
    assert not shown.builds([other], one)
    assert shown.builds([one, other], version(0, 1))
