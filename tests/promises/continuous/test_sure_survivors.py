"""What other promises say of the candidates that remain, against all worlds of tiny chains."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.class_promises import classes_of
from oracles.tiny_chains import S, all_worlds, chains, imprint, real_targets, releases, shown, table, two
from sfumato.chains import worlds
from sfumato.core.cut import Cut
from sfumato.core.errors import Infeasible, RefusedByHistory
from sfumato.core.promise import Promises
from sfumato.core.watch import Answer
from sfumato.promises import (
    AlphaKAnonymity,
    ConfidenceBounding,
    Continuous,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.top_down import top_down
from sfumato.testing.exhaustive import exhaustive
from strategies import all_cuts

AIM = Aim(loss="discernibility")
HALF, TWO_THIRDS = Fraction(1, 2), Fraction(2, 3)
OTHERS = [
    ConfidenceBounding("s", TWO_THIRDS),
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
    from sfumato.core.classes import Classes
    from sfumato.core.recoding import Recoding

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


def test_a_bound_that_leaves_too_much_does_not_hide_a_confidence(monkeypatch):
    """The bound leaves two of each value in cell 000, half; the worlds only one of the first and two of the
    other."""
    half = ConfidenceBounding("s", HALF)
    promises = bound(half, releases(BITS, WITH_ANOTHER, HIDING[:2]))
    last = {f"q{j}": c for j, c in enumerate(HIDING[2])}
    data = table(BITS, WITH_ANOTHER)
    assert promises.of_table[0].verdict_on(data, last).holds is False
    watch = promises.of_table[0].watch(data)
    assert watch.ask(last)[0] is Answer.YES and not watch.settle(last)
    watch.deliberate()
    assert watch.ask(last)[0] is Answer.LATER
    monkeypatch.setattr(worlds, "ROUNDS", ())
    said = promises.of_table[0].verdict_on(data, last)
    assert said.holds is None and "too large" in said.reason


TREES = [two("x", "y"), two("u", "v")]
ROOTS = {"q0": Cut.root(TREES[0]), "q1": Cut.root(TREES[1])}
SPLIT = {**ROOTS, "q1": Cut.leaves(TREES[1])}
SIX = [("x", "u", 1, 1)] * 2 + [("x", "v", 1, 1), ("x", "u", 0, 1), ("y", "v", 0, 2), ("x", "v", 2, 2)]


def test_confidence_may_fail_at_the_roots_and_hold_below():
    """Six people; the first release, of four, is at the roots. For everybody who is there the confidence is
    3/4 at the roots and at most 2/3 after splitting u from v; so it must never prune."""
    roots = [Cut.root(t) for t in TREES]
    worst = {}
    for name, second in (("roots", ROOTS), ("split", SPLIT)):
        found = histograms(TREES, SIX, [roots, list(second.values())])
        real = [found[t] for t in real_targets(TREES, SIX, [roots, list(second.values())])]
        worst[name] = max(Fraction(max(h.values()), sum(h.values())) for h in real)
    assert worst == {"roots": Fraction(3, 4), "split": TWO_THIRDS}
    promises = bound(ConfidenceBounding("s", TWO_THIRDS), [imprint(TREES, SIX, roots, 1)])
    watch = promises.of_table[0].watch(table(TREES, SIX))
    assert watch.ask(ROOTS)[0] is Answer.LATER, "not NEVER: it may hold later"
    # Nobody new has u, but it looks as if somebody could: a phantom with one value left.
    assert watch.ask(SPLIT, ("q1", 0))[0] is Answer.LATER


EIGHT = [*SIX, ("x", "u", 0, 2), ("x", "u", 2, 2)]


@pytest.mark.parametrize("search", [top_down, exhaustive])
def test_a_search_goes_past_roots_that_fail(search):
    """With two more newcomers no phantom is left: only recodings that split u from v are valid."""
    roots = [Cut.root(t) for t in TREES]
    promises = bound(ConfidenceBounding("s", TWO_THIRDS), [imprint(TREES, EIGHT, roots, 1)])
    data = table(TREES, EIGHT)
    assert promises.of_table[0].verdict_on(data, ROOTS).holds is False
    found = search(data, promises, AIM)
    assert found.recoding.cuts["q1"] == Cut.leaves(TREES[1])
    assert promises.of_table[0].verdict_on(data, found.recoding.cuts).holds


def test_where_nothing_mends_the_roots_it_is_said():
    roots = [Cut.root(t) for t in TREES]
    promises = bound(ConfidenceBounding("s", HALF), [imprint(TREES, EIGHT, roots, 1)])
    with pytest.raises(Infeasible, match="none of the 3 recodings that could mend it does"):
        top_down(table(TREES, EIGHT), promises, AIM)
