"""Whoever keeps a promise that asks no less keeps the other one: on every small table, by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.class_promises import classes_of, groups
from oracles.tiny_chains import chains, releases, table
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.continuous.promise import Continuous
from sfumato.models.contract import ClassPromise, Promises, TermPromise
from sfumato.models.freeform.promise import Freeform
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.parameters import IntegerParam, Parameter, ParametrizedPromise
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.models.registry import definitions, make
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.system.errors import SfumatoError
from sfumato.system.verdict import PromiseStrength, missing_strengths
from sfumato.table.classes import Classes
from sfumato.table.taxonomy import Taxonomy
from strategies import all_recodings, tables

pytestmark = pytest.mark.slow

HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)
TREE = Taxonomy.grow(["*", "ab", "v0", "v1", "v2"], [-1, 0, 1, 1, 0], ordered=True)
KNOWN = {"A": ["v0", "v1"], "B": ["v1", "v2"], "C": ["v2"]}
OTHER = {"A": ["v0"], "B": ["v1"], "C": ["v2"]}

OF_CLASSES = [
    *(KAnonymity(k) for k in (1, 2, 3)),
    *(DistinctLDiversity("s", n) for n in (1, 2, 3)),
    *(EntropyLDiversity("s", n) for n in (1, Fraction(3, 2), 2, Fraction(5, 2), 3)),
    *(RecursiveLDiversity("s", n, c) for n in (1, 2, 3) for c in (HALF, 1, 2, 3)),
    *(ConfidenceBounding("s", c) for c in (THIRD, HALF, Fraction(2, 3), 1)),
    *(AlphaKAnonymity("s", a, k) for a in (HALF, Fraction(2, 3), 1) for k in (1, 3)),
    *(TCloseness("s", t, d) for t in (0, QUARTER, HALF) for d in ("equal", "ordered", "hierarchical")),
    *(TCloseness("s", t, "equal", {"v0": 1, "v1": 1}) for t in (QUARTER, HALF)),
    *(
        make("beta-likeness", {"of": "s", "beta": b, "kind": kind})
        for b in (HALF, 1, 2)
        for kind in ("enhanced", "basic")
    ),
    *(
        QuasiSensitiveDiversity("s", known, l=n, c=c)
        for known in (KNOWN, OTHER)
        for n in (1, 2)
        for c in (1, 2)
    ),
    *(
        QuasiSensitiveCloseness("s", KNOWN, t=t, prior=p)
        for t in (QUARTER, HALF)
        for p in ("uniform", "mean")
    ),
]
OTHERS = [Continuous(2), Continuous(3), Continuous(3, survivors=True), Freeform(HALF), Freeform(THIRD)]


def covers(promise, other):
    """Whether one asks no less than the other."""
    return any(strength.covers(other.strengths()[0]) for strength in promise.strengths())


PAIRS = [(p, q) for p, q in itertools.permutations(OF_CLASSES, 2) if covers(p, q)]


def small_tables():
    """Every table of two classes with up to two people of each of three values."""
    one = [
        {value: n for value, n in enumerate(counts) if n}
        for counts in itertools.product(range(3), repeat=3)
        if any(counts)
    ]
    return itertools.combinations_with_replacement(one, 2)


def bound(promise, classes):
    """The promise with what it needs of the original table, for which the classes stand."""
    return promise.bound(classes) if isinstance(promise, TermPromise) and promise.needs_original else promise


def test_who_keeps_the_stricter_one_keeps_the_other_on_every_small_table():
    kept = np.zeros((len(OF_CLASSES), 0), dtype=bool)
    for pair in small_tables():
        classes = classes_of(TREE, list(pair))
        kept = np.hstack([kept, [bound(p, classes).holds_on(classes) for p in OF_CLASSES]])
    place = {id(p): i for i, p in enumerate(OF_CLASSES)}
    told_apart = 0
    for stricter, weaker in PAIRS:
        one, other = kept[place[id(stricter)]], kept[place[id(weaker)]]
        assert not (one & ~other).any(), (str(stricter), str(weaker))
        told_apart += bool((other & ~one).any())
    assert len(PAIRS) > 80
    assert told_apart > 60, "the tables tell most of these promises apart"


@given(groups(leaves=5, count=4), st.data())
def test_who_keeps_the_stricter_one_keeps_the_other_on_random_classes(some, data):
    taxonomy, counted = some
    stricter, weaker = data.draw(st.sampled_from(PAIRS))
    classes = classes_of(taxonomy, counted)
    one, other = (bound(p, classes).holds_on(classes) for p in (stricter, weaker))
    assert not (one & ~other).any()


@given(tables(rows=7, keys=2, sensitive=0, min_rows=1), st.data())
def test_a_smaller_threat_is_stricter(microdata, data):
    cuts = data.draw(st.sampled_from(all_recodings(microdata)))
    name = microdata.keys[0].name
    free = {name: {"sensitive": [microdata.keys[0].taxonomy.leaf_labels[0]]}}
    held = [
        free_promise(threat, free).verdict_on(microdata, cuts).holds
        for threat in (QUARTER, HALF, Fraction(3, 4))
    ]
    assert held == sorted(held)


def free_promise(threat, free):
    from sfumato.models.freeform.promise import FreeOptions

    return Freeform(
        threat, columns={name: FreeOptions.read(words).declared(None) for name, words in free.items()}
    )


@given(chains(count=2, rows=7))
def test_more_candidates_and_survivors_are_stricter(chain):
    trees, people, cuts = chain
    earlier, data = releases(trees, people, cuts[:-1]), table(trees, people)
    named = {f"q{j}": cut for j, cut in enumerate(cuts[-1])}

    def holds(k, *, survivors=False):
        promise = Continuous(k, since="since", survivors=survivors)
        both = (Promises((DistinctLDiversity("s", 2),)) & promise).given(earlier)
        try:
            return bool(both.of_table[0].verdict_on(data, named).holds)
        except SfumatoError:
            return False

    held = [holds(k) for k in (3, 2, 1)]
    assert held == sorted(held)
    assert not holds(2, survivors=True) or held[1]


@pytest.mark.parametrize(
    ("promise", "other"),
    [
        (KAnonymity(2), KAnonymity(40)),
        (Continuous(2), Continuous(5)),
        (Continuous(5), Continuous(5, survivors=True)),
        (Continuous(5, since="when"), Continuous(5, since="quarter")),
        (KAnonymity(5), DistinctLDiversity("s", 2)),
        (DistinctLDiversity("other", 9), DistinctLDiversity("s", 2)),
        (DistinctLDiversity("s", 9), EntropyLDiversity("s", 2)),
        (TCloseness("s", 0, "ordered"), TCloseness("s", HALF)),
        (TCloseness("s", 0), TCloseness("s", HALF, "equal", {"v0": 1})),
        (TCloseness("s", 0, "equal", {"v0": 2, "v1": 1}), TCloseness("s", HALF, "equal", {"v0": 1})),
        (QuasiSensitiveDiversity("s", OTHER, l=3, c=1), QuasiSensitiveDiversity("s", KNOWN, l=2, c=2)),
        (Freeform(THIRD, Fraction(3, 4)), Freeform(HALF)),
    ],
    ids=str,
)
def test_what_is_weaker_or_cannot_be_compared_does_not_cover(promise, other):
    assert not covers(promise, other)


def test_a_batch_that_waits_promises_the_same():
    assert covers(Continuous(5), Continuous(5, hold=True)) and covers(Continuous(5, hold=True), Continuous(5))


@pytest.mark.parametrize("promise", [*OF_CLASSES, *OTHERS], ids=str)
def test_strengths_are_plain_data_and_keep_no_value(promise):
    for strength in promise.strengths():
        assert PromiseStrength.from_dict(strength.as_dict()) == strength
    text = str(promise.strengths()[0].as_dict())
    assert not any(value in text for value in ("v0", "v1", "v2", "'A'"))


def test_every_definition_says_how_its_parameters_compare():
    """A parameter that has an order is one of its own."""
    for definition in definitions():
        assert set(definition.orders) <= {key.name for key in definition.keys}


@dataclass(frozen=True)
class Unordered(ParametrizedPromise, ClassPromise):
    """A promise with parameters that have no order."""

    k: int
    m: int = 0

    name: ClassVar[str] = "unordered"
    keys: ClassVar[tuple[Parameter, ...]] = (IntegerParam("k"), IntegerParam("m", 0))

    def holds_on(self, classes: Classes):
        return classes.people >= self.k

    def verdict(self, classes: Classes):
        raise NotImplementedError

    def __str__(self):
        return f"unordered, k = {self.k}"


def test_without_an_order_only_equal_parameters_will_do():
    assert covers(Unordered(3), Unordered(3))
    assert not covers(Unordered(4), Unordered(3))
    assert len(fields(Unordered)) == 2


def test_what_lacks_is_named_with_what_comes_nearest():
    asked = [KAnonymity(5).strengths(), DistinctLDiversity("s", 2).strengths()]
    lacking = missing_strengths(
        [AlphaKAnonymity("s", HALF, 5).strengths(), DistinctLDiversity("s", 1).strengths()], asked
    )
    assert [(wanted.sentence, [n.sentence for n in near]) for wanted, near in lacking] == [
        ("distinct l-diversity of s, l = 2", ["distinct l-diversity of s, l = 1"])
    ]
