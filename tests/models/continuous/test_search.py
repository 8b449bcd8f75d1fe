"""The promise through the search: against the written definitions, judged from scratch at every state."""

import itertools
from dataclasses import replace as changed

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles.tiny_chains import chains, exact, imprint, real_targets, releases, table, two
from sfumato.attacks.correspondence import correspondence
from sfumato.models.continuous.promise import Continuous
from sfumato.models.contract import Answer, Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.policy.searches import BUILT_IN
from sfumato.search.contract import Aim
from sfumato.search.top_down import top_down
from sfumato.system.errors import BadData, DeferredRelease, RefusedByHistory
from sfumato.table.cut import Cut
from sfumato.table.release_summary import Imprint
from sfumato.table.taxonomy import Taxonomy
from strategies import all_cuts

pytestmark = pytest.mark.slow

AIM = Aim(loss="discernibility")


def promise(earlier, k, **more):
    return Continuous(k, since="since", **more).given(earlier, Promises(()))


def searched(trees, people, cuts, k, *others, **more):
    """Everything but the last cut was published; the last batch is new."""
    earlier = releases(trees, people, cuts[:-1])
    data = table(trees, people)
    bound = (Promises(others) & Continuous(k, since="since", **more)).given(earlier)
    return data, bound, top_down(data, bound, AIM)


def fewest(trees, people, cuts):
    """The least exact number of candidates of any feasible target."""
    return min(exact(trees, people, cuts).values(), default=None)


def finer(cuts):
    """Every recoding with one node more specialized."""
    for j, c in enumerate(cuts):
        for node in c.specializations.tolist():
            yield [*cuts[:j], c.specialize(node), *cuts[j + 1 :]]


@given(chains(count=2, rows=8), st.integers(1, 3))
def test_the_search_is_safe_and_minimal(chain, k):
    trees, people, cuts = chain
    try:
        data, bound, found = searched(trees, people, cuts, k)
    except RefusedByHistory:
        assume(False)
    chosen = [found.recoding.cuts[f"q{j}"] for j in range(len(trees))]
    safe = fewest(trees, people, [cuts[0], chosen])
    assert safe is None or safe >= k
    for further in finer(chosen):
        assert fewest(trees, people, [cuts[0], further]) < k
    verdict = bound.of_table[0].verdict_on(data, found.recoding.cuts)
    assert verdict.holds and verdict.measured == safe


@given(chains(count=2, rows=8), st.integers(1, 3))
def test_existence_is_decided_by_the_roots(chain, k):
    trees, people, cuts = chain
    options = list(itertools.product(*(all_cuts(t) for t in trees)))
    real, all_values = None, []
    for option in options:
        found, targets = (
            exact(trees, people, [cuts[0], list(option)]),
            real_targets(trees, people, [cuts[0], list(option)]),
        )
        all_values.append(min(found[t] for t in targets) >= k)
        real = any(all_values)
    try:
        searched(trees, people, cuts, k)
        exists = True
    except RefusedByHistory:
        exists = False
    assert exists == real


@given(chains(count=2, rows=7))
def test_realized_values_only_fall_under_specialization(chain):
    """Per person; literal and feasible values may rise."""
    trees, people, cuts = chain

    def of_people(second):
        found = exact(trees, people, [cuts[0], second])
        return [min(found[t] for t in real_targets(trees, [p], [cuts[0], second])) for p in people]

    before = of_people(cuts[1])
    for further in finer(cuts[1]):
        assert all(b <= a for a, b in zip(before, of_people(further), strict=True))


@given(chains(count=2, rows=8), st.integers(1, 3), st.randoms(use_true_random=False))
def test_every_answer_on_a_random_walk(chain, k, random):
    """NEVER: a real person has too few; LATER: only a phantom; YES: none. Step by step and from scratch."""
    trees, people, cuts = chain
    earlier, data = releases(trees, people, cuts[:1]), table(trees, people)
    try:
        watch = promise(earlier, k).watch(data)
        fresh = promise(earlier, k)
    except RefusedByHistory:
        assume(False)
    here = [Cut.root(t) for t in trees]
    while True:
        steps = [(j, int(v)) for j, c in enumerate(here) for v in c.specializations]
        if not steps:
            break
        j, node = random.choice(steps)
        there = [*here[:j], here[j].specialize(node), *here[j + 1 :]]
        named = {f"q{i}": c for i, c in enumerate(there)}
        answer, _ = watch.ask(named, (f"q{j}", node))
        found = exact(trees, people, [cuts[0], there])
        real = min(found[t] for t in real_targets(trees, people, [cuts[0], there]))
        now = min(exact(trees, people, [cuts[0], here]).values())
        if now >= k:  # every judged step starts from a safe state
            wanted = Answer.NEVER if real < k else Answer.LATER if min(found.values()) < k else Answer.YES
            assert answer is wanted
            again = fresh.watch(data)
            assert again.ask(named)[0] is wanted
        watch.accept(named)
        here = there


@given(chains(count=3, rows=7), st.integers(1, 2))
def test_three_releases_are_safe_and_minimal(chain, k):
    """Safe in truth; a finer recoding is unsafe by the truth or by the bound that the search went by."""
    trees, people, cuts = chain
    try:
        data, bound, found = searched(trees, people, cuts, k)
    except RefusedByHistory:
        assume(False)
    chosen = [found.recoding.cuts[f"q{j}"] for j in range(len(trees))]
    safe = fewest(trees, people, [*cuts[:2], chosen])
    assert safe is None or safe >= k
    verdict = bound.of_table[0].verdict_on(data, found.recoding.cuts)
    refined = correspondence(releases(trees, people, [*cuts[:2], chosen]), method="refined")
    assert verdict.holds and verdict.measured == refined.least
    for further in finer(chosen):
        judged = correspondence(releases(trees, people, [*cuts[:2], further]), method="refined")
        assert judged.least < k or fewest(trees, people, [*cuts[:2], further]) < k


def test_a_first_release_is_k_anonymous():
    x = two("x", "y")
    people = [("x", 0, 1)] * 3 + [("y", 0, 1)] * 2
    for k, classes in ((2, 2), (3, 1)):
        found = top_down(table([x], people), Promises((Continuous(k, since="since"),)), AIM)
        assert found.recoding.count == classes


SEVEN_TREES = [two("x", "y"), two("u", "v")]
SEVEN = (
    [("x", "v", 1, 1)] * 2
    + [("x", "v", 2, 1)]
    + [("y", "u", 1, 1)] * 2
    + [("y", "u", 3, 1), ("y", "v", 4, 1)]
)


def test_the_seven_people_are_protected():
    """Realized would accept {u, v} beside {x, y} at k = 3; the promise does not."""
    x, u = SEVEN_TREES
    first = [Cut.leaves(x), Cut.root(u)]
    data = table(SEVEN_TREES, SEVEN)
    bound = promise([imprint(SEVEN_TREES, SEVEN, first, 1)], 3)
    watch = bound.watch(data)
    split = {"q0": Cut.root(x), "q1": Cut.leaves(u)}
    assert watch.ask(split, ("q1", 0))[0] is Answer.LATER
    assert bound.verdict_on(data, split).holds is False


def test_a_phantom_may_vanish_so_its_step_is_tried_again():
    """A step that only a phantom forbids becomes valid after another one: dropping it would lose detail."""
    rng = np.random.default_rng(5)
    trees = [two("x", "y"), two("u", "v")]
    first = [Cut.leaves(trees[0]), Cut.root(trees[1])]
    regained = 0
    for _ in range(200):
        people = [
            (*rng.choice([["x", "u"], ["y", "v"]]).tolist(), int(rng.integers(0, 4)), 1) for _ in range(8)
        ]
        if min(sum(p[0] == side for p in people) for side in "xy") < 2:
            continue
        watch = promise([imprint(trees, people, first, 1)], 2).watch(table(trees, people))
        root = {"q0": Cut.root(trees[0]), "q1": Cut.root(trees[1])}
        before = watch.ask({**root, "q1": Cut.leaves(trees[1])}, ("q1", 0))[0]
        split = {**root, "q0": Cut.leaves(trees[0])}
        if before is Answer.LATER and watch.ask(split, ("q0", 0))[0] is Answer.YES:
            watch.accept(split)
            both = {**split, "q1": Cut.leaves(trees[1])}
            regained += watch.ask(both, ("q1", 0))[0] is Answer.YES
    assert regained


def test_together_with_other_promises_in_one_run():
    rng = np.random.default_rng(1)
    tree = Taxonomy.grow(["*", "A", "B", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2])
    people = [
        (*(str(rng.choice(list("abcd"))) for _ in range(2)), int(rng.integers(0, 3)), 1 + (i % 3 == 0))
        for i in range(120)
    ]
    cuts = [[Cut.of_labels(tree, ["A", "B"]), Cut.root(tree)], None]
    trees = [tree, tree]
    _, bound, found = searched(trees, people, cuts, 4, KAnonymity(6), DistinctLDiversity("s", 2))
    from sfumato.search.plan import prove

    verdicts, smallest = prove(found, bound, AIM)
    assert all(v.holds for v in verdicts) and smallest >= 6
    assert len(verdicts) == 3 and found.recoding.count > 1


X = [two("x", "y")]
OLD = [("x", 0, 1)] * 3 + [("y", 1, 1)] * 3
FIRST = [Cut.leaves(X[0])]


def refusal(people, k=2, earlier=None, **more):
    found = promise([imprint(X, OLD, FIRST, 1)] if earlier is None else earlier, k, **more)
    with pytest.raises(RefusedByHistory) as caught:
        found.watch(table(X, people))
    return str(caught.value)


def test_old_rows_reproduce_what_was_published_of_them():
    new = [("x", 0, 2)] * 3
    promise([imprint(X, OLD, FIRST, 1)], 2).watch(table(X, OLD + new))
    assert "do not reproduce release 1" in refusal(OLD[1:] + new)
    assert "do not reproduce release 1" in refusal([("y", 0, 1), *OLD[1:], *new])
    assert "do not reproduce release 1" in refusal([("x", 2, 1), *OLD[1:], *new])
    assert "since" in refusal([*OLD, ("x", 0, 1)])


def test_a_tree_may_only_grow_below_its_nodes():
    grown = [Taxonomy.flat(["w", "x", "y", "z"])]
    new = [("w", 0, 2), ("z", 0, 2), ("z", 0, 2)]
    watch = promise([imprint(X, OLD, FIRST, 1)], 2).watch(table(grown, OLD + new))
    assert watch.ask({"q0": Cut.root(grown[0])})[0] is Answer.YES
    moved = [Taxonomy.grow(["*", "g", "x", "y"], [-1, 0, 1, 0])]
    with pytest.raises(RefusedByHistory, match="taxonomy of q0 has changed"):
        promise([imprint(X, OLD, FIRST, 1)], 2).watch(table(moved, OLD))
    deeper = [Taxonomy.grow(["*", "x", "y", "x1"], [-1, 0, 0, 1])]
    with pytest.raises(RefusedByHistory, match="become groups"):
        promise([imprint(X, OLD, FIRST, 1)], 2).watch(table(deeper, [("x1", 0, 1)] * 6))


def test_too_few_newcomers_are_refused_or_held_back():
    said = refusal([*OLD, ("x", 0, 2)])
    assert "1 person is new" in said
    with pytest.raises(DeferredRelease):
        promise([imprint(X, OLD, FIRST, 1)], 2, hold=True).watch(table(X, [*OLD, ("x", 0, 2)]))


def test_too_small_a_class_in_the_past_is_named():
    assert "release 1 has a class of 3" in refusal(OLD, k=4)


def test_the_order_of_releases_and_their_batches():
    people = [*OLD, ("x", 0, 2)] * 3
    both = releases(X, people, [FIRST, FIRST])
    promise(both, 2).watch(table(X, people))
    assert "no chain" in refusal(people, earlier=both[::-1])


def test_other_columns_are_refused():
    other = changed(imprint(X, OLD, FIRST, 1), unchanged=("s", "t"))
    assert "1 key columns and 2 unchanged ones, now 1 and 1" in refusal(OLD, earlier=[other])


def test_one_record_per_person():
    from sfumato.table.microdata import Microdata

    data = table(X, OLD)
    twice = Microdata.of_codes(
        data.columns,
        [data.codes(c.name) for c in data.columns],
        counts=data.counts,
        person=np.zeros(data.distinct, int),
    )
    with pytest.raises(BadData, match="one record"):
        Continuous(2, since="since").watch(twice)


def test_no_new_rows_another_purpose():
    """Without new people only the forward attack remains; no `since` is needed."""
    x, u = two("x", "y"), two("u", "v")
    people = [(a, b, i, 1) for a in "xy" for b in "uv" for i in range(2) for _ in range(2)]
    first = imprint([x, u], people, [Cut.leaves(x), Cut.root(u)], 1)
    first = changed(first, since=None)
    bound = Promises((Continuous(4),)).given([first])
    found = top_down(table([x, u], people), bound, AIM)
    assert found.recoding.cuts["q1"] == Cut.leaves(u)


def test_an_imprint_survives_json_and_holds_no_label():
    made = imprint(X, OLD, FIRST, 1)
    text = made.to_json()
    again = Imprint.from_json(text)
    assert again.to_json() == text and again.rows == 6
    assert "s0" not in text and '"x"' not in text
    for broken in (text.replace('"rows":6', '"rows":7'), text[:-5], "[]", text.replace("counts", "count")):
        with pytest.raises(BadData):
            Imprint.from_json(broken)


@given(chains(count=2, rows=8), st.integers(1, 3))
def test_the_best_of_all_recodings_is_at_most_the_search(chain, k):
    from sfumato.testing.searches import exhaustive

    trees, people, cuts = chain
    try:
        data, bound, found = searched(trees, people, cuts, k)
    except RefusedByHistory:
        assume(False)
    best = exhaustive(data, bound, AIM)
    assert best.optimal and best.loss <= found.loss
    options = itertools.product(*(all_cuts(t) for t in trees))
    safe = [o for o in options if (n := fewest(trees, people, [cuts[0], list(o)])) is None or n >= k]
    from sfumato.table.recoding import Recoding

    losses = [
        int((Recoding.of_cuts(data, {f"q{j}": c for j, c in enumerate(o)}).rows ** 2).sum()) for o in safe
    ]
    assert best.loss == min(losses)


@given(chains(count=2, rows=7), st.integers(1, 3), st.sampled_from(BUILT_IN["optimum"].losses))
def test_the_exact_search_beside_an_earlier_release_is_the_best_of_all_recodings(chain, k, loss):
    from sfumato.search.optimum import search
    from sfumato.testing.searches import exhaustive

    trees, people, cuts = chain
    try:
        data, bound, _ = searched(trees, people, cuts, k)
    except RefusedByHistory:
        assume(False)
    aim = Aim(loss=loss)
    found, best = search(data, bound, aim), exhaustive(data, bound, aim)
    assert found.optimal
    assert found.loss == pytest.approx(best.loss)
