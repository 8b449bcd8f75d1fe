"""Three releases and more are decided exactly, against all worlds of tiny chains."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.tiny_chains import chains, exact, releases, table, two
from sfumato.models.continuous import worlds as candidates
from sfumato.models.continuous import worlds as swaps
from sfumato.models.continuous.chain import History, release_under
from sfumato.models.continuous.promise import Continuous
from sfumato.models.continuous.worlds import Decider, decide
from sfumato.models.contract import Promises
from sfumato.search.contract import Aim
from sfumato.search.top_down import top_down
from sfumato.system.errors import RefusedByHistory
from sfumato.table.cut import Cut
from sfumato.testing.searches import exhaustive
from strategies import all_cuts

pytestmark = pytest.mark.slow


def history_and_side(trees, people, cuts):
    """Everything but the last cuts was published before."""
    data = table(trees, people)
    history = History.of(data, releases(trees, people, cuts[:-1]), "since")
    named = {f"q{j}": c for j, c in enumerate(cuts[-1])}
    return history, release_under(history, named)


@given(st.integers(2, 4).flatmap(lambda n: chains(count=n, rows=6)), st.integers(1, 4))
def test_the_decision_is_the_truth(chain, k):
    truth = min(exact(*chain).values()) >= k
    assert decide(*history_and_side(*chain), k).holds is truth


@given(st.integers(3, 4).flatmap(lambda n: chains(count=n, rows=7, values=1)), st.integers(1, 4))
def test_swaps_never_promise_too_much(chain, k):
    """Without the integer program only "not known" may take the place of the truth."""
    truth = min(exact(*chain).values()) >= k
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "MOST_PROGRAMS", 0)
        said = decide(*history_and_side(*chain), k).holds
    assert said is truth or said is None


@given(st.integers(3, 4).flatmap(lambda n: chains(count=n, rows=7, values=1)), st.integers(2, 4))
def test_swaps_are_the_same_by_nodes_as_by_a_table_of_paths(chain, k):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "MOST_PROGRAMS", 0)
        patch.setattr(candidates, "_REMEMBERED", {})
        said = [decide(*history_and_side(*chain), k)]
        patch.setattr(swaps, "MOST_PAIRS_OF_LABELS", 0)
        patch.setattr(candidates, "_REMEMBERED", {})
        said.append(decide(*history_and_side(*chain), k))
    assert said[0] == said[1]


@given(st.integers(3, 5).flatmap(lambda n: chains(count=n, rows=7, values=1)), st.integers(2, 3))
def test_programs_alone_decide_tiny_chains(chain, k):
    """What is decided of earlier releases by programs may stand only where their people are closed off."""
    truth = min(exact(*chain).values()) >= k
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swaps, "MOST_PEOPLE_TRIED", 0)
        assert decide(*history_and_side(*chain), k).holds is truth


BITS = [two("0", "1") for _ in range(3)]
CUBE = [
    (*cell, 0, 1)
    for cell, n in {"000": 1, "001": 1, "010": 1, "100": 1, "011": 2, "101": 2, "110": 2}.items()
    for _ in range(n)
]
HIDING = [[Cut.root(t) if i == hidden else Cut.leaves(t) for i, t in enumerate(BITS)] for hidden in range(3)]
AIM = Aim(loss="discernibility")


def cube_promise():
    """Each of three bits is hidden in one release of ten people; two releases are out, k = 2."""
    return Promises((Continuous(2, since="since"),)).given(releases(BITS, CUBE, HIDING[:2]))


def test_a_third_release_that_every_bound_allows_is_not_made():
    """Every pair leaves two candidates, and so does the refined bound; all three together leave one."""
    data, bound = table(BITS, CUBE), cube_promise()
    unsafe = {f"q{j}": c for j, c in enumerate(HIDING[2])}
    verdict = bound.of_table[0].verdict_on(data, unsafe)
    assert verdict.measured == 2 and verdict.holds is False
    for search in (top_down, exhaustive):
        chosen = search(data, bound, AIM).recoding.cuts
        assert min(exact(BITS, CUBE, [*HIDING[:2], list(chosen.values())]).values()) >= 2


def test_what_cannot_be_decided_is_not_published(monkeypatch):
    data, bound = table(BITS, CUBE), cube_promise()
    after = Promises((Continuous(2, since="since"),)).given(releases(BITS, CUBE, HIDING))
    with pytest.raises(RefusedByHistory, match="leave somebody fewer than 2"):
        top_down(data, after, AIM)
    monkeypatch.setattr(swaps, "MOST_PEOPLE_TRIED", 0)
    monkeypatch.setattr(candidates, "MOST_PROGRAMS", 0)
    unsafe = {f"q{j}": c for j, c in enumerate(HIDING[2])}
    verdict = bound.of_table[0].verdict_on(data, unsafe)
    assert verdict.holds is None and "too large to decide" in verdict.reason
    chosen = top_down(data, bound, AIM).recoding.cuts
    assert min(exact(BITS, CUBE, [*HIDING[:2], list(chosen.values())]).values()) >= 2
    with pytest.raises(RefusedByHistory, match="cannot be decided") as caught:
        top_down(data, after, AIM)
    assert caught.value.exit_code == 5


@given(st.integers(3, 4).flatmap(lambda n: chains(count=n, rows=6)), st.integers(1, 3), st.data())
def test_one_decider_says_of_every_candidate_what_a_fresh_one_says(chain, k, data):
    trees, *_ = chain
    history, _ = history_and_side(*chain)
    every = list(product(*(all_cuts(tree) for tree in trees)))
    decider = Decider(history, k)
    for chosen in data.draw(st.lists(st.sampled_from(every), min_size=2, max_size=5)):
        release = release_under(history, {f"q{j}": cut for j, cut in enumerate(chosen)})
        said = decider.decide(release)
        assert decide(history, release, k) == said  # remembered
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(candidates, "_REMEMBERED", {})
            assert decide(history, release, k) == said


def test_the_proof_of_what_a_search_decided_asks_for_no_second_decision(monkeypatch):
    history, release = history_and_side(BITS, CUBE, HIDING)
    monkeypatch.setattr(candidates, "_REMEMBERED", {})
    monkeypatch.setattr(candidates, "MOST_REMEMBERED", 2)
    said = Decider(history, 2).decide(release)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Decider, "_decision", None)
        assert decide(history, release, 2) == said
    for k in (3, 4, 5):
        Decider(history, k).decide(release)
    assert len(candidates._REMEMBERED) == 2


@given(st.integers(3, 4).flatmap(lambda n: chains(count=n, rows=7)), st.integers(1, 3), st.integers(0, 2))
def test_what_a_search_finds_is_certain_however_few_decisions_it_is_allowed(chain, k, decisions):
    trees, people, cuts = chain
    bound = Promises((Continuous(k, since="since"),)).given(releases(trees, people, cuts[:-1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.search.top_down.MOST_EXACT_ANSWERS", decisions)
        try:
            chosen = top_down(table(trees, people), bound, AIM).recoding.cuts
        except RefusedByHistory:
            return
    assert min(exact(trees, people, [*cuts[:-1], list(chosen.values())]).values()) >= k
