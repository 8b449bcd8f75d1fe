"""Releases with other columns of the same people: formulas, program and judge against the worlds."""

import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.other_columns import OtherColumns, random_other_columns
from oracles.tiny_chains import two
from sfumato.attacks.chain.departed_people import HeldChain
from sfumato.chains.presence_cells import PresenceTargets
from sfumato.chains.presence_equations import decide_targets
from sfumato.core.aligned_imprints import aligned
from sfumato.core.cut import Cut
from sfumato.core.errors import BadData, RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.value_parts import ValueParts
from sfumato.judge.chain.ruling import judge_chain, judge_departures

CASES = int(os.environ.get("SFUMATO_LIVING_CASES", "25"))
"""Random chains of each kind; thousands of them are an experiment of minutes."""
FLU, HIV, COLD = 0, 1, 2


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
def test_two_releases_are_judged_exactly(known):
    for seed in range(CASES):
        case = random_other_columns(seed)
        exact = case.exact(known)
        assert case.bounds(known) == exact, seed
        documents = [imprint.as_dict() for imprint in case.imprints(known)]
        for k in (2, 3):
            assert judge_departures(documents, k, known).holds == (min(exact.values()) >= k), seed


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
def test_three_releases_are_bounded_and_decided(known):
    for seed in range(CASES):
        case = random_other_columns(seed, count=3, rows=4)
        exact, bound, imprints = case.exact(known), case.bounds(known), case.imprints(known)
        assert all(bound[kind] >= n for kind, n in exact.items()), seed
        assert known != "unknown" or bound == exact
        targets = PresenceTargets(HeldChain.of(imprints).chain)
        documents = [imprint.as_dict() for imprint in imprints]
        for k in (2, 3):
            truth = min(exact.values()) >= k
            decided = decide_targets(targets, k).holds
            assert decided is None or decided == truth, seed
            ruled = judge_departures(documents, k, known).holds
            assert ruled is None or ruled == truth, seed


@given(seed=st.integers(0, 10_000), known=st.sampled_from(["counted", "total", "unknown"]))
def test_no_column_that_one_release_alone_shows_changes_what_another_tells(seed, known):
    """Its values go with any record that matches otherwise: the candidates are those without it."""
    case = random_other_columns(seed)
    common = tuple(case.common)
    less = replace(case, values=tuple(common for _ in case.values))
    assert case.bounds(known) == less.bounds(known)


def wang_fung():
    one, other = two("y", "o"), two("a", "b")
    rows = [("y", "a", FLU), ("y", "a", FLU), ("y", "b", HIV), ("o", "a", HIV), ("o", "b", FLU)]
    people = [(x, y, (s,), frozenset({0, 1})) for x, y, s in [*rows, ("o", "b", COLD)]]
    cuts = [[Cut.leaves(one), Cut.root(other)], [Cut.root(one), Cut.leaves(other)]]
    return OtherColumns([one, other], people, cuts, (), False, {}, ((0,), (1,)), ((0,), (0,)))


def test_rows_of_the_join_overstate_the_candidates():
    """Young and b: the join of both releases has three rows, and two people can be there."""
    case = wang_fung()
    first, second = case.shown
    young = {v: n for (q, v), n in first.items() if q[0] == 1}
    b = {v: n for (q, v), n in second.items() if q[1] == 2}
    assert sum(young[v] * b.get(v, 0) for v in young) == 3
    exact = case.exact("counted")
    assert sorted(n for (presence, _), n in exact.items() if presence == (0, 1)) == [2, 2, 3, 3]
    assert case.bounds("counted") == exact
    plain = [replace(imprint, departures=None).as_dict() for imprint in case.imprints("counted")]
    assert judge_chain(plain, 2).holds is True and judge_chain(plain, 3).holds is False


def test_columns_in_a_cycle_are_refused():
    """Three releases, each with two of three unchanged columns: no matching value holds all that they say."""
    case = random_other_columns(3, count=3, rows=4)
    cycle = replace(case, values=((0, 1), (1, 2), (0, 2)))
    imprints = cycle.imprints("counted")
    with pytest.raises(RefusedByHistory, match="3 columns are published unchanged by several releases"):
        aligned(imprints)
    with pytest.raises(RefusedByHistory, match="that others do not"):
        judge_departures([imprint.as_dict() for imprint in imprints], 2, "counted")


def test_a_key_that_is_published_unchanged_elsewhere_is_refused():
    first, second = wang_fung().imprints("counted")
    wrong = replace(second, unchanged=("q0",))
    with pytest.raises(RefusedByHistory, match="are keys of one release"):
        aligned([first, wrong])
    with pytest.raises(RefusedByHistory, match="a key in one release"):
        judge_departures([first.as_dict(), wrong.as_dict()], 2, "counted")


def two_columns():
    """A release with two unchanged columns, and one with the first of them."""
    case = replace(wang_fung(), values=((0, 1), (0,)))
    people = [(*p[:-2], (*p[-2], n % 2), p[-1]) for n, p in enumerate(case.people)]
    return replace(case, people=people).imprints("counted")


def test_what_is_remembered_column_by_column_is_read_back_and_checked():
    first, second = two_columns()
    again = Imprint.from_json(first.to_json())
    assert again.digest == first.digest and again.parts.names == ("v0", "v1")
    assert aligned([again, second])[0].rows == first.rows
    words = first.as_dict()
    words["parts"] = [words["parts"][1], {**words["parts"][0], "name": "v1"}]
    words["parts"][0]["name"] = "v0"
    with pytest.raises(BadData, match="damaged"):
        Imprint.from_dict(words)
    with pytest.raises(BadData, match="damaged"):
        judge_departures([words, second.as_dict()], 2, "counted")


def test_a_release_that_is_not_remembered_column_by_column_is_refused():
    first, second = two_columns()
    old = replace(first, parts=ValueParts())
    assert Imprint.from_json(old.to_json()).digest == old.digest
    with pytest.raises(RefusedByHistory, match="remembered by all of its unchanged columns together"):
        aligned([old, second])
    with pytest.raises(RefusedByHistory, match="not remembered column by column"):
        judge_departures([old.as_dict(), second.as_dict()], 2, "counted")
