"""The attack against brute force: all generators of tiny releases, and every number of the paper."""

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.tiny_chains import (
    BITS,
    CUBE,
    all_worlds,
    chains,
    cut,
    exact,
    least,
    on_one_path,
    real_targets,
    releases,
    shown,
    table,
    two,
)
from sfumato.attacks.correspondence import correspondence
from sfumato.table.cut import Cut
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow


def judged(trees, people, cuts, scope="feasible", method="exact"):
    data = table(trees, people) if scope == "realized" else None
    return correspondence(
        releases(trees, people, cuts), scope=scope, method=method, data=data, since="since" if data else None
    )


@given(chains(count=2))
def test_two_releases_are_judged_exactly(chain):
    found = exact(*chain)
    got = judged(*chain)
    assert got.certain
    assert (least(found, 0), least(found, 1)) == (got.FA, got.BA)
    assert got.CA == got.FA


@given(chains(count=2), st.integers(1, 4))
def test_who_is_cracked_by_class_and_count(chain, k):
    """Per class of the release that somebody came with, and of the last: the fewest candidates."""
    trees, people, cuts = chain
    published, fewest = shown(*chain), {}
    for (time, classes), count in exact(*chain).items():
        for release, node in {(time, classes[0]), (1, classes[-1])}:
            at = (time + 1, release + 1, node)
            fewest[at] = min(fewest.get(at, count), count)
    expected = Counter()
    for (came, release, node), left in fewest.items():
        rows = sum(nodes == node for nodes, _ in published[release - 1])
        if left < rows:
            expected[came, release, rows, left] += 1
    got = correspondence(releases(trees, people, cuts), k=k)
    told = got.as_dict()["cracked"]
    assert Counter((c.came, c.release, c.rows, c.candidates) for c in got.cracked.classes) == expected
    assert told["classes"] == expected.total() == len(told["by_class"])
    assert told["few"] == sum(n for (_, _, _, left), n in expected.items() if left < k)
    assert all(set(line) == set(told["by_class"][0]) for line in told["by_class"])


@given(chains(count=2))
def test_realized_is_the_least_over_real_people(chain):
    found, real = exact(*chain), real_targets(*chain)
    got = judged(*chain, scope="realized")
    for time, value in enumerate((got.FA, got.BA)):
        assert value == min((found[t] for t in real if t[0] == time), default=None)


@given(chains(count=2))
def test_the_scopes_are_ordered(chain):
    literal, feasible, realized = (judged(*chain, scope=s) for s in ("literal", "feasible", "realized"))
    for a, b, c in zip(literal.targets, feasible.targets, realized.targets, strict=True):
        values = [math.inf if x.least is None else x.least for x in (a, b, c)]
        assert values == sorted(values)


@given(chains(count=3, rows=6))
def test_three_releases_bounds_hold_and_small_programs_are_exact(chain):
    found = exact(*chain)
    got = {m: judged(*chain, method=m) for m in ("exact", "refined", "paper")}
    assert got["exact"].certain
    for time in range(3):
        values = [got[m].targets[time].least for m in ("exact", "refined", "paper")]
        assert values[0] == least(found, time)
    real = real_targets(*chain)
    for time in range(3):
        refined = judged(*chain, scope="realized", method="refined").targets[time].least
        there = [found[t] for t in real if t[0] == time]
        assert (refined is None) == (not there)
        if there:
            assert refined >= min(there)


@given(chains(count=3, rows=7), st.sampled_from([None, 1, 2, 3, 4]))
def test_the_fewest_candidates_are_exact_where_not_everybody_is_solved(chain, k):
    found = exact(*chain)
    every = correspondence(releases(*chain), k=k)
    few = correspondence(releases(*chain), k=k, only_fewest=True)
    by_time = [least(found, time) for time in range(3)]
    assert min((n for n in by_time[:-1] if n is not None), default=None) == few.FA
    assert min((n for n in by_time[1:] if n is not None), default=None) == few.BA
    assert (few.FA, few.BA, few.holds) == (every.FA, every.BA, every.holds)
    for time, target in enumerate(few.targets):
        assert (target.least is None) == (by_time[time] is None)
        assert target.least is None or target.least >= by_time[time]
        assert not target.certain or target.least == by_time[time]


EUROPE = Taxonomy.grow(["*", "Europe", "UK", "France"], [-1, 0, 1, 1])
JOB = Taxonomy.grow(["*", "Professional", "Lawyer", "Doctor"], [-1, 0, 1, 1])
FLU, HIV = 0, 1
EXAMPLE = (
    [EUROPE, JOB],
    [("UK", "Lawyer", FLU, 1)] * 3
    + [("France", "Lawyer", HIV, 1)] * 2
    + [("France", "Lawyer", HIV, 2)]
    + [("France", "Doctor", FLU, 2)] * 2
    + [("UK", "Doctor", HIV, 2), ("UK", "Lawyer", HIV, 2)],
    [
        [cut(EUROPE, "Europe"), cut(JOB, "Lawyer", "Doctor")],
        [cut(EUROPE, "UK", "France"), cut(JOB, "Professional")],
    ],
)


@pytest.mark.parametrize("scope", ["literal", "feasible", "realized"])
def test_example_1_1(scope):
    got = judged(*EXAMPLE, scope=scope)
    assert (got.FA, got.CA, got.BA) == (4, 4, 4)


def test_example_1_1_class_by_class():
    got = judged(*EXAMPLE)
    uk = int(got.chain.releases[-1].nodes[0, 0] != EUROPE.node("UK"))
    assert got.targets[0].per_class[1].tolist() == ([5, 4] if uk == 0 else [4, 5])
    assert got.targets[1].per_class[1].tolist() == ([4, 5] if uk == 0 else [5, 4])


def test_example_1_1_has_1200_buddy_assignments():
    """Records are told apart here: every record of the first release takes another one of the second."""
    trees, people, cuts = EXAMPLE
    total = 1
    for value in (FLU, HIV):
        a, b = ([q for q, s in release if s == value] for release in shown(trees, people, cuts))
        total *= sum(
            all(on_one_path(trees, (q, b[i])) for q, i in zip(a, chosen, strict=True))
            for chosen in itertools.permutations(range(len(b)), len(a))
        )
    assert total == 1200


def test_a_violation_at_k_5_is_said_in_words():
    from sfumato.policy.policy import Policy

    policy = Policy.from_dict(
        {
            "columns": {"q0": {"role": "quasi"}, "q1": {"role": "quasi"}, "s": {"role": "sensitive"}},
            "promises": [{"k-anonymity": {"k": 5}}],
            "protect": {"search": "top-down", "suppress": 0},
            "confirm": {"s": True},
        }
    )
    got = correspondence(releases(*EXAMPLE), policy)
    assert got.holds is False
    assert "BROKEN" in got.sentences[0] and "keeps 4 candidates" in got.sentences[1]


XY, UV = two("x", "y"), two("u", "v")
SEVEN = (
    [XY, UV],
    [("x", "v", 1, 1)] * 2
    + [("x", "v", 2, 1)]
    + [("y", "u", 1, 1)] * 2
    + [("y", "u", 3, 1), ("y", "v", 4, 1)],
    [[Cut.leaves(XY), Cut.root(UV)], [Cut.root(XY), Cut.leaves(UV)]],
)


def test_seven_people_whom_realized_does_not_protect():
    """Realized says 3; the phantom pair (x, u) keeps 2; knowing "realized >= 3" singles out (y, v)."""
    assert judged(*SEVEN, scope="realized").FA == 3
    assert judged(*SEVEN).FA == 2
    trees, people, cuts = SEVEN
    xu = ((XY.node("x"), 0), (0, UV.node("u")))
    yv = ((XY.node("y"), 0), (0, UV.node("v")))
    assert exact(*SEVEN)[0, xu] == 2
    assert judged(*SEVEN).targets[1].least is None
    published = shown(trees, people, cuts)
    several = {value: all_worlds(trees, published, value)[1] for value in (1, 2, 3, 4)}
    without = [
        dict(zip(several, chosen, strict=True))
        for chosen in itertools.product(*several.values())
        if not any(world.get((0, xu)) for world in chosen)
    ]
    assert without
    assert {sum(w[s].get((0, yv), 0) for s in w) for w in without} == {1}
    assert all(w[4].get((0, yv)) == 1 for w in without)


def test_theorem_5_1_fails_for_the_literal_scope():
    trees, people = [XY, UV], [("x", "u", 0, 1), ("y", "v", 1, 1)]
    first = [Cut.leaves(XY), Cut.root(UV)]
    coarse = judged(trees, people, [first, [Cut.root(XY), Cut.leaves(UV)]], scope="literal")
    fine = judged(trees, people, [first, [Cut.leaves(XY), Cut.leaves(UV)]], scope="literal")
    assert (coarse.FA, fine.FA) == (0, 1)


def test_nobody_came_later_so_nobody_is_attacked_backward():
    for scope in ("literal", "feasible", "realized"):
        assert judged(*SEVEN, scope=scope).BA is None


def test_micro_attacks_do_not_suffice_for_three_releases():
    target = (0, tuple(tuple(0 if i == h else BITS[i].node("0") for i in range(3)) for h in range(3)))
    assert exact(*CUBE)[target] == 1
    assert all(min(Counter(q for q, _ in release).values()) >= 2 for release in shown(*CUBE))
    assert judged(*CUBE, method="paper").FA == 2
    assert judged(*CUBE, method="refined").FA == 2
    got = judged(*CUBE)
    assert got.FA == 1 and got.certain


def test_two_compositions_are_not_all():
    x = two("x", "y")
    chain = (
        [x],
        [("x", 0, 1), ("x", 0, 2), ("y", 0, 2)],
        [[Cut.leaves(x)], [Cut.root(x)], [Cut.leaves(x)]],
    )
    target = (1, ((0,), (x.node("x"),)))
    assert exact(*chain)[target] == 1
    assert judged(*chain, method="refined").targets[1].least == 1
    assert judged(*chain, method="paper", scope="realized").targets[1].least == 1
    refined, paper = (judged(*chain, method=m) for m in ("refined", "paper"))
    worst = {m.method: max(m.targets[1].per_class[2]) for m in (refined, paper)}
    assert worst == {"refined": 1, "paper": 2}


def test_the_same_rows_in_another_order_give_the_same():
    trees, people, cuts = EXAMPLE
    assert judged(trees, people[::-1], cuts).as_dict() == judged(*EXAMPLE).as_dict()
