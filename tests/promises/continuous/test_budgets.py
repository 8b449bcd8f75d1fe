"""Exact answers are counted, and people are where no promise says how many."""

from __future__ import annotations

import pytest

from oracles.class_promises import classes_of
from oracles.tiny_chains import S, releases, table, two
from sfumato.chains.candidates import Decision
from sfumato.chains.history import History
from sfumato.core.cut import Cut
from sfumato.core.watch import Answer
from sfumato.promises.continuous.register_watch import RegisterRule
from sfumato.promises.continuous.watch import Continuity


@pytest.mark.parametrize(("k", "kept"), [(2, True), (3, False)])
def test_positions_need_people_also_without_other_promises(k, kept):
    classes = classes_of(S, [{0: 2}, {0: 1, 1: 2}])
    assert RegisterRule(None, k, ()).positions_kept(classes) is kept


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
