"""Tiny chains of releases, written down record by record, and what brute force says about them."""

import itertools
from collections import Counter

import numpy as np
from hypothesis import strategies as st

from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint
from sfumato.table.taxonomy import Taxonomy
from strategies import all_cuts, taxonomies

S = Taxonomy.flat([f"s{i}" for i in range(6)])
BATCH = Taxonomy.flat([str(i) for i in range(1, 7)])


def two(*leaves):
    """A root over these leaves."""
    return Taxonomy.flat(list(leaves))


def table(trees, people, *, upto=None, order=None):
    """People as (leaf label, ..., s number, batch); batches up to `upto`, key columns in this order."""
    chosen = [p for p in people if upto is None or p[-1] <= upto]
    places = range(len(trees)) if order is None else order
    columns = [Column(f"q{j}", Role.QUASI, trees[j]) for j in places]
    columns += [Column("s", Role.SENSITIVE, S), Column("since", Role.IDENTIFIER, BATCH)]
    codes = [np.array([trees[j].rank(p[j]) for p in chosen], np.int32) for j in places]
    codes += [np.array([p[-2] for p in chosen], np.int32), np.array([p[-1] - 1 for p in chosen], np.int32)]
    return Microdata.of_codes(columns, codes)


def imprint(trees, people, cuts, upto, *, order=None):
    """The imprint of the release of batches up to `upto`."""
    data = table(trees, people, upto=upto, order=order)
    named = {f"q{j}": cut for j, cut in enumerate(cuts)}
    return Imprint.of(Recoding.of_cuts(data, named), ["s"], since="since")


def releases(trees, people, cuts, *, orders=None):
    """One imprint per batch, each with its key columns in an order of its own."""
    own = orders or [None] * len(cuts)
    return [imprint(trees, people, cut, i + 1, order=own[i]) for i, cut in enumerate(cuts)]


def shown(trees, people, cuts):
    """Per release the published records: (nodes, s), as multisets; and the class of everybody."""
    found = []
    for i, cut in enumerate(cuts):
        found.append(
            [
                (
                    tuple(
                        int(c.node_of[t.rank(p[j])]) for j, (t, c) in enumerate(zip(trees, cut, strict=True))
                    ),
                    p[-2],
                )
                for p in people
                if p[-1] <= i + 1
            ]
        )
    return found


def on_one_path(trees, classes):
    return all(
        t.covers(a[j], b[j]) or t.covers(b[j], a[j])
        for a, b in itertools.combinations(classes, 2)
        for j, t in enumerate(trees)
    )


def all_worlds(trees, published, value):
    """Every multiset of people (time, classes from then on) that gives the published records with `value`."""
    counts = [Counter(q for q, s in release if s == value) for release in published]
    last = len(published) - 1
    kinds = [
        (time, classes)
        for time in range(last + 1)
        for classes in itertools.product(*(sorted(counts[j]) for j in range(time, last + 1)))
        if on_one_path(trees, classes)
    ]

    def fill(i, left):
        if i == len(kinds):
            if all(not +c for c in left):
                yield {}
            return
        time, classes = kinds[i]
        if any(+c for c in left[:time]):  # whoever is in a release came with it or before
            return
        most = min(left[time + j][q] for j, q in enumerate(classes))
        for amount in range(most + 1):
            rest = [Counter(c) for c in left]
            for j, q in enumerate(classes):
                rest[time + j][q] -= amount
            for world in fill(i + 1, rest):
                yield {**world, kinds[i]: amount} if amount else world

    return kinds, list(fill(0, counts))


def exact(trees, people, cuts):
    """(time, classes) -> the exact number of candidates, for every target that some world has."""
    published = shown(trees, people, cuts)
    found = Counter()
    for value in {p[-2] for p in people}:
        kinds, worlds = all_worlds(trees, published, value)
        for kind in kinds:
            found[kind] += max((w.get(kind, 0) for w in worlds), default=0)
    return {kind: n for kind, n in found.items() if n}


def real_targets(trees, people, cuts):
    """The cells where somebody is."""
    last = len(cuts)
    return {
        (
            p[-1] - 1,
            tuple(
                tuple(
                    int(c.node_of[t.rank(p[j])]) for j, (t, c) in enumerate(zip(trees, cuts[i], strict=True))
                )
                for i in range(p[-1] - 1, last)
            ),
        )
        for p in people
    }


def least(found, time):
    return min((n for (t, _), n in found.items() if t == time), default=None)


@st.composite
def chains(draw, *, count=2, keys=2, leaves=3, rows=6, values=2):
    """Random trees, people and cuts; every batch but the first may be empty."""
    trees = [draw(taxonomies(leaves=leaves, prefix=f"q{j}v")) for j in range(keys)]
    size = draw(st.integers(1, rows))
    person = st.tuples(
        *(st.sampled_from(list(t.leaf_labels)) for t in trees),
        st.integers(0, values - 1),
        st.integers(1, count),
    )
    people = draw(st.lists(person, min_size=size, max_size=size))
    cuts = [[draw(st.sampled_from(all_cuts(t))) for t in trees] for _ in range(count)]
    return trees, people, cuts


def cut(tree, *labels):
    return Cut.of_labels(tree, list(labels))


BITS = [two("0", "1") for _ in range(3)]
CUBE = (
    BITS,
    [
        (*cell, 0, 1)
        for cell, n in {"000": 1, "001": 1, "010": 1, "100": 1, "011": 2, "101": 2, "110": 2}.items()
        for _ in range(n)
    ],
    [[Cut.root(t) if i == hidden else Cut.leaves(t) for i, t in enumerate(BITS)] for hidden in range(3)],
)
"""Three bits, each hidden by one of three releases: alone harmless, together not."""
