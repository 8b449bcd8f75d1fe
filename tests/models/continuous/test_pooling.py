"""What colluders learn, against every world that gives their tables."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.tiny_chains import exact, real_targets
from oracles.tiny_chains import table as people_table
from recipients.table_one import table, version
from sfumato.models.continuous.overlap import candidates_of
from sfumato.models.continuous.people import Pool, meet_of
from sfumato.models.contract import Adversary, Promises
from sfumato.models.registry import make
from sfumato.table.cut import Cut
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import all_cuts, taxonomies


def promises(k=2, **more):
    asked = [make("k-anonymity", {"k": k})]
    asked += [make(name.replace("_", "-"), words) for name, words in more.items()]
    return Promises(tuple(asked))


@st.composite
def families(draw, *, count):
    """People in one table, and cuts of several versions of it."""
    trees = [draw(taxonomies(leaves=3, prefix=f"q{j}v")) for j in range(2)]
    person = st.tuples(*(st.sampled_from(list(t.leaf_labels)) for t in trees), st.integers(0, 1), st.just(1))
    people = draw(st.lists(person, min_size=1, max_size=6))
    cuts = [[draw(st.sampled_from(all_cuts(t))) for t in trees] for _ in range(count)]
    return trees, people, cuts


def named(cuts):
    return {f"q{j}": cut for j, cut in enumerate(cuts)}


def test_the_pair_of_table_one():
    """A phantom: nobody is a woman born in March, and the tables do not say so."""
    people = table()
    pool = Pool(people, promises(k=2))
    pair = [version(1, 1), version(0, 2)]
    overlap = pool.overlap(pair)
    assert int(overlap.cells(0).candidates.min()) == 1, "feasible"
    classes = [classes_under(people, cuts)[0] for cuts in pair]
    assert candidates_of(overlap, 0, dict(enumerate(classes))).min() == 2, "realized"
    assert pool.meet_keeps(pair), "the meet, gender and month, is 2-anonymous itself"
    assert pool.keeps(pair), "a register says that she does not exist"
    assert not Pool(people, promises(k=2), Adversary.TARGET).keeps(pair), "without one nobody knows"
    assert not Pool(people, promises(k=3)).keeps(pair)


@settings(max_examples=60)
@given(families(count=2))
def test_pairs_are_exact(family):
    trees, people, cuts = family
    pool = Pool(people_table(trees, people), promises())
    cells = pool.overlap([named(c) for c in cuts]).cells(0)
    found = exact(trees, people, cuts)
    if cuts[0] == cuts[1]:
        wanted = sorted(n for (time, _), n in found.items() if time == 0)
        assert sorted(set(cells.candidates.tolist())) == sorted(set(wanted))
    else:
        assert sorted(cells.candidates.tolist()) == sorted(n for (time, _), n in found.items() if time == 0)


@settings(max_examples=60)
@given(families(count=3), st.integers(1, 3))
def test_whoever_is_there_keeps_what_the_meet_promises(family, k):
    """Truth is a world: where the meet is k-anonymous, no real person has fewer than k candidates."""
    trees, people, cuts = family
    pool = Pool(people_table(trees, people), promises(k=k))
    if pool.meet_keeps([named(c) for c in cuts]):
        found = exact(trees, people, cuts)
        assert all(found[target] >= k for target in real_targets(trees, people, cuts))


@settings(max_examples=60)
@given(families(count=2), st.integers(1, 3))
def test_a_pair_is_accepted_by_the_rule_of_its_adversary_and_by_no_other(family, k):
    """A register: the positions where somebody is. One target: every cell where somebody can be."""
    trees, people, cuts = family
    data = people_table(trees, people)
    versions = [named(c) for c in cuts]
    feasible = all(n >= k for (time, _), n in exact(trees, people, cuts).items() if time == 0)
    class_of, _ = classes_under(data, meet_of(versions))
    sizes = np.bincount(class_of, data.counts)
    assert Pool(data, promises(k=k)).keeps(versions) == bool(sizes[sizes > 0].min() >= k)
    assert Pool(data, promises(k=k), Adversary.TARGET).keeps(versions) == feasible


@settings(max_examples=60)
@given(families(count=3), st.integers(1, 3))
def test_three_versions_are_decided_by_all_worlds_against_one_target(family, k):
    """Every target that some world has, in every coalition, keeps k candidates."""
    trees, people, cuts = family
    pool = Pool(people_table(trees, people), promises(k=k), Adversary.TARGET)
    versions = [named(c) for c in cuts]
    feasible = all(n >= k for (time, _), n in exact(trees, people, cuts).items() if time == 0)
    assert pool.keeps(versions) == feasible
    pairs = [(0, 1), (0, 2), (1, 2)]
    every_pair = all(pool.keeps([versions[i], versions[j]]) for i, j in pairs)
    assert pool.keeps_pairs(versions) == every_pair
    assert pool.keeps_all(versions) == (feasible and every_pair)


def test_micro_attacks_do_not_suffice():
    """Three versions that hide one of three bits each: two at a time leave two, all three leave one."""
    bit = [Taxonomy.flat(["0", "1"]) for _ in range(3)]
    cells = {"000": 1, "001": 1, "010": 1, "100": 1, "011": 2, "101": 2, "110": 2}
    people = [(*cell, 0, 1) for cell, count in cells.items() for _ in range(count)]
    pool = Pool(people_table(bit, people), promises(k=2), Adversary.TARGET)
    hidden = [named([Cut.root(t) if j == i else Cut.leaves(t) for j, t in enumerate(bit)]) for i in range(3)]
    assert all(pool.keeps([hidden[i], hidden[j]]) for i, j in [(0, 1), (0, 2), (1, 2)])
    assert pool.overlap(hidden).cells(0).candidates.min() == 2
    assert not pool.keeps(hidden)
    assert not pool.keeps_all(hidden)


def test_every_promise_is_asked_of_the_positions():
    """Two versions, each 2-diverse; what they leave together is one value."""
    people = table()
    pair = [version(1, 1), version(0, 2)]
    diverse = promises(k=1, l_diversity={"kind": "distinct", "l": 2, "of": "complaint"})
    assert Pool(people, diverse).keeps(pair), "the meet is 2-diverse"
    fine = [version(1, 0), version(0, 2)]
    for adversary in Adversary:
        assert not Pool(people, diverse, adversary).keeps(fine)
