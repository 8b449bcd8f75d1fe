"""Where a chain is closed, and what was proved up to there: against all worlds, and the whole chain."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles.tiny_chains import CUBE, chains, exact, releases, table, two
from sfumato.inputs import load_imprints
from sfumato.models.continuous import worlds as candidates
from sfumato.models.continuous.chain import Chain, History, closing_releases, release_under
from sfumato.models.continuous.promise import Continuous
from sfumato.models.continuous.worlds import Decider, StepBudget, decide
from sfumato.models.contract import Promises
from sfumato.search.contract import Aim
from sfumato.search.top_down import top_down
from sfumato.system.errors import BadData, RefusedByHistory
from sfumato.table.cut import Cut
from sfumato.table.release_summary import Imprint, ProvedCandidates
from sfumato.table.taxonomy import Taxonomy
from strategies import all_cuts, taxonomies

AIM = Aim(loss="discernibility")


def named(cuts):
    return {f"q{j}": cut for j, cut in enumerate(cuts)}


def in_a_row(trees, people, cuts):
    """The releases of a chain, each made beside those before it, without what was proved."""
    made = []
    for imprint in releases(trees, people, cuts):
        made.append(replace(imprint, after=tuple(i.digest for i in made)))
    return made


def told(trees, people, cuts, k):
    """The same, each with what its verdict proves; `None` where somebody keeps fewer than k on the way."""
    made = []
    for i, (imprint, cut) in enumerate(zip(in_a_row(trees, people, cuts), cuts, strict=True)):
        data = table(trees, people, upto=i + 1)
        promise = Promises((Continuous(k, since="since"),)).given(made).of_table[0]
        verdict = promise.verdict_on(data, named(cut))
        if not verdict.holds:
            return None
        made.append(replace(imprint, candidates=promise.candidates(verdict)))
    return made


@given(st.integers(1, 5).flatmap(lambda n: chains(count=n, rows=6)))
def test_a_chain_is_closed_where_no_later_release_shows_more(chain):
    trees, _, cuts = chain
    found = Chain.of(releases(*chain))

    def within(later, earlier):
        pairs = zip(trees, later, earlier, strict=True)
        return all(t.covers(a, b) or (t.low[a], t.high[a]) == (t.low[b], t.high[b]) for t, a, b in pairs)

    def shows_no_more(later, earlier):
        """Every class of the earlier one lies in a class of the later one."""
        leaves = [range(len(tree.leaves)) for tree in trees]
        return all(
            within(*([int(c.node_of[x]) for c, x in zip(cut, leaf, strict=True)] for cut in (later, earlier)))
            for leaf in product(*leaves)
        )

    expected = [i for i in range(len(cuts)) if all(shows_no_more(cut, cuts[i]) for cut in cuts[i + 1 :])]
    assert closing_releases(found) == expected


def test_releases_of_a_chain_are_placed_as_each_is_beside_the_newest_alone():
    """Trees grow, releases share cuts or not; what is placed once for several is the same for each."""
    old = Taxonomy.grow(["*", "A", "a1", "a2", "b"], [-1, 0, 1, 1, 0])
    new = Taxonomy.grow(["*", "A", "a1", "a2", "a3", "b"], [-1, 0, 1, 1, 1, 0])
    people = [(leaf, value, time) for time in (1, 2, 3, 4) for leaf in ("a1", "a2", "b") for value in (0, 1)]
    cuts = [Cut.root(old), Cut.leaves(old), Cut.root(new), Cut.leaves(new)]
    made = [releases((cut.taxonomy,), people, [(cut,)] * (i + 1))[-1] for i, cut in enumerate(cuts)]
    for several in (made, [*made[:2], *made[:2], *made[2:]]):
        for one, placed in zip(several, Chain.of(several).releases, strict=True):
            alone = Chain.of([one, several[-1]]).releases[0]
            assert np.array_equal(placed.nodes, alone.nodes)
            assert np.array_equal(placed.node_of[0], alone.node_of[0])


@given(st.integers(2, 4).flatmap(lambda n: chains(count=n, rows=7)), st.integers(1, 3))
def test_what_was_proved_changes_no_verdict(chain, k):
    """Beside releases that tell what was proved, a next one is judged as beside those that do not."""
    trees, people, cuts = chain
    made = told(trees, people, cuts[:-1], k)
    assume(made is not None)
    data, plain = table(trees, people), in_a_row(trees, people, cuts[:-1])
    promise = Continuous(k, since="since")
    for asked in product(*(all_cuts(tree) for tree in trees)):
        verdicts = []
        for earlier in (made, plain):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(candidates, "_REMEMBERED", {})
                bound = Promises((promise,)).given(earlier).of_table[0]
                verdicts.append(bound.verdict_on(data, named(asked)))
        assert verdicts[0] == verdicts[1]
        truth = min(exact(trees, people, [*cuts[:-1], list(asked)]).values()) >= k
        assert verdicts[0].holds is truth


@given(st.integers(3, 4).flatmap(lambda n: chains(count=n, rows=7)), st.integers(1, 3), st.integers(0, 60))
def test_what_a_search_finds_is_certain_however_little_work_it_may_ask_for(chain, k, work):
    trees, people, cuts = chain
    made = told(trees, people, cuts[:-1], k)
    assume(made is not None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.models.continuous.watch.MOST_WORK", work)
        patch.setattr(candidates, "_REMEMBERED", {})
        bound = Promises((Continuous(k, since="since"),)).given(made)
        try:
            fresh = top_down(table(trees, people), bound, AIM).recoding.cuts
        except RefusedByHistory as refused:
            assert "new; each must be" in str(refused)
            return
        again = top_down(table(trees, people), bound, AIM).recoding.cuts  # with decisions that are remembered
    assert min(exact(trees, people, [*cuts[:-1], list(fresh.values())]).values()) >= k
    assert all(np.array_equal(fresh[name].node_of, again[name].node_of) for name in fresh)


def test_a_decision_within_a_budget_does_not_depend_on_what_is_remembered(monkeypatch):
    trees, people, cuts = turns()
    history = History.of(table(trees, people), releases(trees, people, cuts), "since")
    for k, asked in product((2, 3, 5, 9), product(*(all_cuts(tree) for tree in trees))):
        release, found = release_under(history, named(asked)), []
        for asked_before in (False, True):
            monkeypatch.setattr(candidates, "_REMEMBERED", {})
            if asked_before:
                decide(history, release, k)
            found.append(Decider(history, k, budget=StepBudget(0)).decide(release))
        assert found[0] == found[1]


def turns():
    """Ten people a batch; two columns are shown in turn, and then both."""
    trees = [two("a", "b"), two("x", "y")]
    people = [(a, b, s, t) for t in (1, 2, 3) for a in "ab" for b in "xy" for s in (0, 1) for _ in range(2)]
    one = [Cut.leaves(trees[0]), Cut.root(trees[1])]
    other = [Cut.root(trees[0]), Cut.leaves(trees[1])]
    return trees, people, [one, other]


def test_too_much_work_is_put_off_and_not_remembered(monkeypatch):
    trees, people, cuts = turns()
    history = History.of(table(trees, people), releases(trees, people, cuts), "since")
    release = release_under(history, named([Cut.leaves(tree) for tree in trees]))
    monkeypatch.setattr(candidates, "_REMEMBERED", {})
    assert Decider(history, 5, budget=StepBudget(0)).decide(release).holds is None
    assert not candidates._REMEMBERED
    whole = decide(history, release, 5)
    assert whole.holds is not None and whole.work > 0
    assert Decider(history, 5, budget=StepBudget(whole.expected - 1)).decide(release).holds is None
    budget = StepBudget(whole.expected)
    assert Decider(history, 5, budget=budget).decide(release) == whole
    assert budget.left == whole.expected - whole.work


def test_people_of_a_release_that_closes_the_chain_are_not_decided_again(monkeypatch):
    trees, people, cuts = turns()
    both = [Cut.leaves(tree) for tree in trees]
    history = History.of(table(trees, people), releases(trees, people, [both, cuts[0]]), "since")
    decider, asked, unsure = Decider(history, 5, proved=True), [], Decider._unsure
    same, other = (release_under(history, named(cut)) for cut in cuts)
    assert [decider.closing_above(release) for release in (same, other)] == [1, 0]

    def noted(self, overlap, first):
        asked.append((len(overlap.chain), first))
        return unsure(self, overlap, first)

    monkeypatch.setattr(Decider, "_unsure", noted)
    monkeypatch.setattr(candidates, "_REMEMBERED", {})
    assert decider.decide(same).holds is True and set(asked) == {(1, 1), (2, 1)}
    asked.clear()
    assert decider.decide(other).holds is True and set(asked) == {(2, 1), (3, 1)}


@given(taxonomies(leaves=5), st.data())
def test_where_nobody_is_a_cut_is_as_coarse_as_can_be(tree, data):
    cut = data.draw(st.sampled_from(list(all_cuts(tree))))
    people = data.draw(st.lists(st.sampled_from(tree.leaf_labels), min_size=1, max_size=4))
    history = History.of(table([tree], [(p, 0, 1) for p in people]), [], "since")
    release = release_under(history, {"q0": cut})
    shown = {int(cut.node_of[tree.rank(p)]) for p in people}
    assert set(release.nodes[:, 0].tolist()) == shown
    possible = [c for c in all_cuts(tree) if shown <= set(c.nodes.tolist())]
    coarsest = min(possible, key=lambda c: len(c.nodes))
    width = np.min([tree.depth[c.node_of] for c in possible], axis=0)
    assert np.array_equal(tree.depth[release.node_of[0]], width)
    assert len(np.unique(release.node_of[0])) == len(coarsest.nodes)


def test_a_node_and_its_only_child_show_the_same():
    tree = Taxonomy.grow(["*", "1", "10", "11"], [-1, 0, 1, 1])
    root, child = [Cut(tree, np.zeros(2, np.int32))], [Cut(tree, np.ones(2, np.int32))]
    people = [("10", 0, 1), ("11", 0, 2), ("10", 0, 3)]
    assert closing_releases(Chain.of(releases([tree], people, [child, root, child]))) == [0, 1, 2]


def test_what_was_proved_is_read_back_and_no_part_of_the_digest():
    trees, people, cuts = turns()
    plain = releases(trees, people, cuts)[0]
    for kept in (ProvedCandidates(5, 8), ProvedCandidates(2, None)):
        made = replace(plain, candidates=kept)
        assert Imprint.from_dict(made.as_dict()).candidates == kept
        assert made.digest == plain.digest
    assert "candidates" not in plain.as_dict()


@pytest.mark.parametrize(
    "harm",
    [
        5,
        None,
        {"proved": 5},
        {"proved": "5", "fewest": 8},
        {"proved": True, "fewest": 8},
        {"proved": -1, "fewest": 8},
        {"proved": 5, "fewest": 4},
        {"proved": 5, "fewest": 5.5},
    ],
)
def test_what_was_proved_must_be_whole(harm):
    trees, people, cuts = turns()
    words = {**releases(trees, people, cuts)[0].as_dict(), "candidates": harm}
    with pytest.raises(BadData):
        Imprint.from_dict(words)


@pytest.mark.parametrize("gap", ["other releases", "a smaller k"])
def test_what_was_proved_of_other_releases_or_for_fewer_is_not_taken_over(gap):
    trees, people, cuts = turns()
    made = told(trees, people, cuts, 4)
    if gap == "other releases":
        made[-1] = replace(made[-1], after=())
    promise = Continuous(4 if gap == "other releases" else 5, since="since")
    assert not promise.given(made, Promises((promise,)))._is_proved
    assert Continuous(4, since="since").given(told(trees, people, cuts, 4), Promises(()))._is_proved


def test_what_a_file_says_was_proved_is_proved_again(tmp_path):
    """Three releases leave somebody one candidate, and the file of the last says that it is two."""
    trees, people, _ = CUBE
    made, files = in_a_row(*CUBE), []
    made[-1] = replace(made[-1], candidates=ProvedCandidates(2, 2))
    for i, imprint in enumerate(made):
        files.append(tmp_path / f"{i}.json")
        files[-1].write_text(imprint.to_json(), encoding="utf-8")
    promise = Promises((Continuous(2, since="since"),)).given(load_imprints(files)).of_table[0]
    assert promise.verdict_on(table(trees, people), named([Cut.root(tree) for tree in trees])).holds is False
