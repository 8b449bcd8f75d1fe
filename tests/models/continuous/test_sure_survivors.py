"""What other promises say of the candidates that remain, against all worlds of tiny chains."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.class_promises import classes_of
from oracles.tiny_chains import S, all_worlds, chains, releases, shown, table, two
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.continuous import worlds
from sfumato.models.continuous.chain import Chain, History, release_under
from sfumato.models.continuous.overlap import Overlap
from sfumato.models.continuous.promise import Continuous
from sfumato.models.continuous.watch import Continuity, SurelySurviving, all_survive
from sfumato.models.contract import Answer, Promises
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.search.contract import Aim
from sfumato.search.top_down import top_down
from sfumato.system.errors import Infeasible, RefusedByHistory, UsageError
from sfumato.table.cut import Cut
from strategies import all_cuts

AIM = Aim(loss="discernibility")
OTHERS = [DistinctLDiversity("s", 2), DistinctLDiversity("s", 3)]
"""What is asked of survivors against one target: how many values are left, not how likely one is."""
BELIEFS = [
    ConfidenceBounding("s", Fraction(2, 3)),
    AlphaKAnonymity("s", Fraction(3, 4), 2),
    EntropyLDiversity("s", Fraction(3, 2)),
    RecursiveLDiversity("s", 2, Fraction(5, 2)),
]


def histograms(trees, people, cuts):
    """(time, classes) -> value -> how many such people some world has there."""
    published, found = shown(trees, people, cuts), {}
    for value in {p[-2] for p in people}:
        kinds, worlds = all_worlds(trees, published, value)
        for kind in kinds:
            if most := max((w.get(kind, 0) for w in worlds), default=0):
                found.setdefault(kind, {})[value] = most
    return found


def keeps(promise, trees, people, cuts):
    """Whether what survives of every feasible target keeps a promise."""
    return bool(promise.holds_on(classes_of(S, list(histograms(trees, people, cuts).values()))).all())


def bound(promise, earlier, k=1):
    return (Promises((promise,)) & Continuous(k, since="since", survivors=True)).given(earlier)


def alone(promise, data, cuts):
    """Whether the classes of a release keep a promise."""
    from sfumato.table.classes import Classes
    from sfumato.table.recoding import Recoding

    named = {f"q{j}": c for j, c in enumerate(cuts)}
    return bool(promise.holds_on(Classes.of(data, Recoding.of_cuts(data, named).class_of)).all())


@given(chains(count=2, rows=7, values=3), st.sampled_from(OTHERS))
def test_the_search_finds_a_valid_recoding_if_there_is_one(chain, promise):
    """The roots may fail and a finer recoding hold; what is found is valid, and no single step further is."""
    trees, people, cuts = chain
    data, promises = table(trees, people), bound(promise, releases(trees, people, cuts[:1]))

    def valid(second):
        return alone(promise, data, second) and keeps(promise, trees, people, [cuts[0], second])

    options = [list(o) for o in itertools.product(*(all_cuts(t) for t in trees))]
    try:
        found = top_down(data, promises, AIM)
    except RefusedByHistory:
        assume(False)
    except Infeasible:
        assert not alone(promise, data, [Cut.root(t) for t in trees]) or not any(map(valid, options))
        return
    chosen = [found.recoding.cuts[f"q{j}"] for j in range(len(trees))]
    assert valid(chosen)
    for j, c in enumerate(chosen):
        for node in c.specializations.tolist():
            assert not valid([*chosen[:j], c.specialize(node), *chosen[j + 1 :]])
    verdict = promises.of_table[0]
    for option in options:
        named = {f"q{j}": c for j, c in enumerate(option)}
        assert verdict.verdict_on(data, named).holds is keeps(promise, trees, people, [cuts[0], option])


@settings(max_examples=40)
@given(chains(count=3, rows=7, values=3), st.sampled_from(OTHERS))
def test_three_releases_are_judged_by_what_worlds_leave(chain, promise):
    """Not by what the bound leaves: verdicts are those of all worlds, and so is what a search finds."""
    trees, people, cuts = chain
    data, promises = table(trees, people), bound(promise, releases(trees, people, cuts[:2]))
    verdict = promises.of_table[0]
    for option in itertools.product(*(all_cuts(t) for t in trees)):
        named = {f"q{j}": c for j, c in enumerate(option)}
        assert verdict.verdict_on(data, named).holds is keeps(promise, trees, people, [*cuts[:2], option])
    try:
        found = top_down(data, promises, AIM)
    except (RefusedByHistory, Infeasible):
        return
    chosen = [found.recoding.cuts[f"q{j}"] for j in range(len(trees))]
    assert alone(promise, data, chosen) and keeps(promise, trees, people, [*cuts[:2], chosen])


BITS = [two("0", "1") for _ in range(3)]
CELLS = {"000": 1, "001": 1, "010": 1, "100": 1, "011": 2, "101": 2, "110": 2}
HIDING = [[Cut.root(t) if i == hidden else Cut.leaves(t) for i, t in enumerate(BITS)] for hidden in range(3)]
CUBE = [(*cell, 0, 1) for cell, n in CELLS.items() for _ in range(n)]
WITH_ANOTHER = [*CUBE, *((*cell, 1, 1) for cell in itertools.product("01", repeat=3))]


def test_a_bound_that_leaves_too_much_does_not_hide_what_worlds_leave(monkeypatch):
    """The bound leaves two of each value in cell 000, half; the worlds only one of the first and two of the
    other."""
    half = ConfidenceBounding("s", Fraction(1, 2))
    data, last = table(BITS, WITH_ANOTHER), {f"q{j}": c for j, c in enumerate(HIDING[2])}
    history = History.of(data, releases(BITS, WITH_ANOTHER, HIDING[:2]), "since")

    def survive(classes):
        return bool(half.holds_on(classes).all())

    watch = SurelySurviving(Continuity(history, 1, survive), survive)
    assert watch.ask(last)[0] is Answer.YES and not watch.resolve(last)
    watch.deliberate()
    assert watch.ask(last)[0] is Answer.LATER
    trees = tuple(c.taxonomy for c in data.keys)
    overlap = Overlap(Chain(trees, (*history.releases, release_under(history, last)), history.values))
    assert all_survive(history, overlap, survive) is False
    monkeypatch.setattr(worlds, "ROUNDS", ())
    assert all_survive(history, overlap, survive) is None


@pytest.mark.parametrize("promise", BELIEFS, ids=str)
def test_how_likely_a_value_is_is_not_asked_of_what_may_survive(promise):
    """The largest counts that a cell can have are one world, and not the worst."""
    promises = bound(promise, releases(BITS, WITH_ANOTHER, HIDING[:2]))
    data, last = table(BITS, WITH_ANOTHER), {f"q{j}": c for j, c in enumerate(HIDING[2])}
    with pytest.raises(UsageError, match="not judged by `continuous`"):
        promises.of_table[0].verdict_on(data, last)
    with pytest.raises(UsageError, match="not judged by `continuous`"):
        promises.of_table[0].watch(data)
