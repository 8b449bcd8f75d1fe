"""The attacks beyond the paper, against plain counting; and an audit that holds several releases."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from attacks.adversaries.strikes import strike_across
from oracles.tiny_chains import chains, exact, imprint, on_one_path, releases, shown, two
from sfumato.attacks.adversaries.chain import CorrespondenceAttack
from sfumato.attacks.adversaries.composition import Composition, Differencing
from sfumato.models.continuous.attack import Minimality
from sfumato.policy.policy import Policy
from sfumato.system.verdict import WITHSTOOD, WITHSTOOD_IN_PART, AttackLimits
from sfumato.table.cut import Cut
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

POLICY = Policy.from_dict(
    {
        "columns": {
            "q0": {"role": "quasi"},
            "q1": {"role": "quasi"},
            "s": {"role": "sensitive"},
            "since": {"role": "identifier"},
        },
        "promises": [{"continuous": {"k": 2, "since": "since"}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"s": True},
    }
)


def components(trees, chain):
    """Sets of classes of either release that are linked by comparability."""
    one, other = ({q for q, _ in release} for release in chain)
    found = []
    for b in sorted(other):
        linked = {a for a in one if on_one_path(trees, (a, b))}
        for group in found:
            if group[0] & linked:
                group[0].update(linked)
                group[1].add(b)
                break
        else:
            found.append((set(linked), {b}))
    return found


@given(chains(count=2, rows=8))
def test_differencing_finds_the_newcomers(chain):
    trees, people, _ = chain
    [found] = Differencing(tuple(releases(*chain)), 2).strike(None, AttackLimits())
    published = shown(*chain)
    broken, people_in = False, 0
    for ones, others in components(trees, published):
        count = Counter(s for q, s in published[1] if q in others)
        count.subtract(s for q, s in published[0] if q in ones)
        fresh = +count
        total = sum(fresh.values())
        if total and (total < 2 or len(fresh) == 1):
            broken, people_in = True, people_in + total
    assert found.breach == broken
    assert found.people == people_in
    assert people_in <= sum(p[-1] == 2 for p in people)


@given(chains(count=2, rows=8, values=3))
def test_composition_intersects_supports(chain):
    trees, _, _ = chain
    [found] = Composition(tuple(releases(*chain)), 2).strike(None, AttackLimits())
    one, other = shown(*chain)
    common = [
        len({s for q, s in one if q == a} & {s for q, s in other if q == b})
        for a in {q for q, _ in one}
        for b in {q for q, _ in other}
        if on_one_path(trees, (a, b))
    ]
    positive = [n for n in common if n]
    assert found.details["fewest common values"] == min(positive, default=0)
    assert found.breach == any(n < 2 for n in positive)


@given(chains(count=2, rows=8))
def test_the_finding_says_what_the_attack_found(chain):
    found = CorrespondenceAttack(tuple(releases(*chain)), 2).strike(None, AttackLimits())
    values = exact(*chain)
    for t, finding in enumerate(found):
        least = min((n for (time, _), n in values.items() if time == t), default=None)
        assert finding.confidence == (Fraction(1, least) if least else 0)
        assert finding.breach == (least is not None and least < 2)


def test_minimality_tells_a_hidden_majority():
    """Eight people below one node with two children and k = 3: one child hides at least six."""
    tree = two("a", "b")
    people = [("a", i % 2, 1) for i in range(7)] + [("b", 0, 1)]
    [found] = Minimality((imprint([tree], people, [Cut.root(tree)], 1),), 3).strike(None, AttackLimits())
    assert found.confidence == Fraction(6, 8) and found.people == 8


def test_minimality_is_silent_where_nothing_follows():
    tree = Taxonomy.flat(["a", "b", "c"])
    people = [("a", 0, 1)] * 4
    for cut in (Cut.root(tree), Cut.leaves(tree)):
        [found] = Minimality((imprint([tree], people, [cut], 1),), 3).strike(None, AttackLimits())
        assert found.confidence == 0 and found.word == WITHSTOOD_IN_PART
        assert "(a register)" in found.told


def test_whoever_puts_two_releases_together_has_not_tried_three():
    tree = two("x", "y")
    people = [("xy"[i % 2], i % 2, 1) for i in range(8)]
    one = imprint([tree], people, [Cut.leaves(tree)], 1)
    for count, word in ((2, WITHSTOOD), (3, WITHSTOOD_IN_PART)):
        assert {f.word for f in Composition((one,) * count, 1).strike(None, AttackLimits())} == {word}


@given(chains(count=2, rows=8))
def test_findings_across_are_sorted_and_hold_no_label(chain):
    trees, _, _ = chain
    found = strike_across(releases(*chain), POLICY)
    assert [f.breach for f in found] == sorted((f.breach for f in found), reverse=True)
    labels = {label for t in trees for label in t.labels if label not in (None, "*")}
    assert not any(label in f.sentence for f in found for label in labels)
    assert {f.attack for f in found} == {"correspondence", "differencing", "composition", "minimality"}


def test_the_same_rows_in_another_order_are_found_alike():
    rng = np.random.default_rng(3)
    trees = [two("x", "y"), two("u", "v")]
    people = [("xy"[a], "uv"[b], int(s), 1 + int(t)) for a, b, s, t in rng.integers(0, 2, (20, 4))]
    cuts = [[Cut.leaves(trees[0]), Cut.root(trees[1])], [Cut.root(trees[0]), Cut.leaves(trees[1])]]
    assert strike_across(releases(trees, people, cuts), POLICY) == strike_across(
        releases(trees, people[::-1], cuts), POLICY
    )


@given(chains(count=2, rows=8))
def test_sentences_say_only_what_was_found(chain):
    for found in strike_across(releases(*chain), POLICY):
        assert not any(w in found.sentence for w in ("some of nobody", " 0 gen", "in 0 ")), found.sentence
        assert found.people or "; nobody" not in found.sentence, found.sentence
