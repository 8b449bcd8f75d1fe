"""Exact answers are counted, and people are where no promise says how many."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.tiny_chains import chains, releases, table, two
from sfumato.models.continuous.chain import History
from sfumato.models.continuous.watch import Continuity
from sfumato.models.continuous.worlds import Decision
from sfumato.models.contract import Answer
from sfumato.table.cut import Cut
from sfumato.table.taxonomy import Taxonomy
from strategies import all_cuts


@pytest.mark.parametrize("most", [0, 1, 2, None])
def test_exact_answers_are_counted(monkeypatch, most):
    """Asked three times, the solver is asked as often as allowed, and what it was not asked is put off."""
    tree = two("a", "b")
    people = [(leaf, value, batch) for leaf in "ab" for value in (0, 1) for batch in (1, 1, 2, 2, 3, 3)]
    cuts = [[Cut.root(tree)], [Cut.root(tree)]]
    history = History.of(table((tree,), people), releases((tree,), people, cuts), "since")
    watch, asked = Continuity(history, 1), []
    monkeypatch.setattr(Continuity, "_decided", lambda *_: asked.append(1) or Decision(0, 0))
    watch.deliberate(most)
    assert len(asked) == 1  # the root
    answers = [watch.ask({c.name: Cut.root(c.taxonomy) for c in history.table.keys})[0] for _ in range(3)]
    allowed = 3 if most is None else most
    assert len(asked) == 1 + allowed
    assert [a is Answer.LATER for a in answers] == [n >= allowed for n in range(3)]


@settings(max_examples=40)
@given(chains(count=3, rows=7, values=2), st.integers(1, 3), st.data())
def test_a_watch_goes_on_from_where_it_is_as_it_goes_from_the_roots(chain, k, data):
    """Wherever it was before, above these cuts or not, a watch answers as one that was nowhere else."""
    trees, people, cuts = chain
    history = History.of(table(trees, people), releases(trees, people, cuts[:2]), "since")
    options = [list(all_cuts(tree)) for tree in trees]
    watch = Continuity(history, k)
    for _ in range(4):
        asked = {f"q{j}": data.draw(st.sampled_from(each)) for j, each in enumerate(options)}
        assert watch.ask(asked) == Continuity(history, k).ask(asked)
        watch.accept(asked)


def test_steps_that_are_made_again_are_made_once_each(monkeypatch):
    """A search that goes on from known steps hands them over one by one."""
    tree = Taxonomy.grow(["*", "a", "a0", "a1", "b", "b0", "b1"], [-1, 0, 1, 1, 0, 4, 4])
    people = [(leaf, value, batch) for leaf in tree.leaf_labels for value in (0, 1) for batch in (1, 2)]
    history = History.of(table((tree,), people), releases((tree,), people, [[Cut.root(tree)]]), "since")
    watch, made, move = Continuity(history, 1), [], Continuity._move
    monkeypatch.setattr(Continuity, "_move", lambda self, below: made.append(below.node) or move(self, below))
    cut = Cut.root(tree)
    for node in (0, *tree.children(0)):
        watch.accept({"q0": (cut := cut.specialize(node))})
    assert made == [0, *tree.children(0)]
