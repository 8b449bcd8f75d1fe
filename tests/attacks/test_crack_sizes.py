"""Crack sizes and generators as the paper defines them, against every generator of tiny releases."""

from collections import Counter

import pytest
from hypothesis import given

from attacks.test_correspondence import EXAMPLE, SEVEN
from oracles.generators import crack_sizes, figures, generators
from oracles.tiny_chains import CUBE, chains, releases, two
from sfumato.attacks.correspondence import correspondence
from sfumato.cli.attack import power_of_ten
from sfumato.table.cut import Cut

pytestmark = pytest.mark.slow


def records(chain):
    """The records of both releases as sets of raw values; and the key of every class of either."""
    trees, people, cuts = chain
    published = []
    for i, cut in enumerate(cuts):
        rows = []
        for person in people:
            if person[-1] <= i + 1:
                nodes = [int(c.node_of[t.rank(v)]) for v, t, c in zip(person, trees, cut, strict=False)]
                rows.append((_key(trees, nodes), f"s{person[-2]}"))
        published.append(rows)
    return published


def _key(trees, nodes):
    return tuple(frozenset(t.leaf_labels[t.low[n] : t.high[n]]) for t, n in zip(trees, nodes, strict=True))


def keys(joint, trees, release):
    return [_key(trees, nodes) for nodes in joint.chain.releases[release - 1].nodes.tolist()]


@given(chains(count=2, rows=6))
def test_crack_sizes_are_those_of_all_generators(chain):
    trees = chain[0]
    first, second = records(chain)
    left = crack_sizes(first, second)
    joint = correspondence(releases(*chain))
    assert figures(first, second) == (joint.FA, joint.CA, joint.BA)
    assert joint.generators == sum(1 for _ in generators(first, second))
    for cracked in joint.cracked.classes:
        key = keys(joint, trees, cracked.release)[cracked.number - 1]
        shown = Counter(s for k, s in (first, second)[cracked.release - 1] if k == key)
        side = cracked.release if cracked.came == 1 else 2
        targets = {t[:3] for t in left if t[0] == cracked.came and t[side] == key}
        possible = [
            sorted((rows, rows - left[*target, value]) for value, rows in shown.items())
            for target in targets
            if sum(left[*target, value] for value in shown) == cracked.candidates
        ]
        got = sorted((group.rows, group.cracked) for group in joint.groups(cracked))
        assert got in possible and sum(c for _, c in got) == cracked.cracked


@given(chains(count=2, rows=6))
def test_a_generator_shows_all_that_is_left_of_a_class(chain):
    """Lemma 4.2 and Theorem 4.3: pairs are of rows that are there, and what is left is as much as can be."""
    trees = chain[0]
    joint = correspondence(releases(*chain))
    ones, others = keys(joint, trees, 1), keys(joint, trees, 2)
    for cracked in joint.cracked.classes:
        buddies = joint.generator(cracked)
        olds, news, pairs = Counter(), Counter(), Counter()
        for one, other, value, rows in buddies:
            olds[one, value] += rows
            news[other, value] += rows
            pairs[one, other] += rows
            assert all(a & b for a, b in zip(ones[one - 1], others[other - 1], strict=True))
        shown = [_groups(release) for release in joint.chain.releases]
        assert olds == shown[0] and all(n <= shown[1][g] for g, n in news.items())
        if cracked.came == 1:
            assert cracked.candidates in {
                n for p, n in pairs.items() if p[cracked.release - 1] == cracked.number
            }
        else:
            mine = {g: n - news[g] for g, n in shown[1].items() if g[0] == cracked.number}
            assert sum(mine.values()) == cracked.candidates


def _groups(release):
    found = zip(release.owner.tolist(), release.values.tolist(), release.counts.tolist(), strict=True)
    return Counter({(owner + 1, value): count for owner, value, count in found})


@pytest.mark.parametrize("scope", ["literal", "feasible"])
@pytest.mark.parametrize("method", ["exact", "paper"])
def test_crack_sizes_are_told_in_every_scope_and_of_three_releases(scope, method):
    """Also where nobody can be, all rows are ruled out; a bound never rules out more than the truth."""
    for chain in (SEVEN, CUBE):
        joint = correspondence(releases(*chain), scope=scope, method=method)
        told = joint.as_dict()["cracked"]["by_class"]
        assert len(told) == len(joint.cracked.classes)
        for line, cracked in zip(told, joint.cracked.classes, strict=True):
            assert sum(group["rows"] for group in line["groups"]) == cracked.rows
            if method == "exact":
                assert sum(group["cracked"] for group in line["groups"]) <= cracked.cracked
    x, y = two("x", "y"), two("u", "v")
    apart = (
        [x, y],
        [("x", "u", 0, 1), ("y", "v", 1, 1)],
        [[Cut.leaves(x), Cut.root(y)], [Cut.root(x), Cut.leaves(y)]],
    )
    literal = correspondence(releases(*apart), scope="literal")
    assert literal.FA == 0 and {g.cracked for c in literal.cracked.classes for g in literal.groups(c)} <= {
        0,
        1,
    }


def test_examples_3_1_to_3_4():
    joint = correspondence(releases(*EXAMPLE))
    assert joint.generators == 1200
    told = Counter(
        (c.came, c.release, tuple(sorted((g.rows, g.cracked) for g in joint.groups(c))))
        for c in joint.cracked.classes
    )
    assert told == {(1, 1, ((2, 0), (3, 1))): 1, (1, 2, ((2, 0), (3, 1))): 1, (2, 2, ((2, 0), (3, 1))): 1}
    assert correspondence(releases(*EXAMPLE)[:1]).generators is None


def test_very_many_generators_are_told_as_a_power_of_ten():
    assert power_of_ten(10**12 - 1) == "999,999,999,999" and power_of_ten(10**4000) == "about 10^4000"
