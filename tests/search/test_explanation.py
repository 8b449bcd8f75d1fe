"""What an explanation says of each step, against taking the step and looking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search.explanation import MOST_STEPS_SHOWN, explain
from sfumato.search.loss import measure
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding, classes_under
from strategies import all_cuts, tables


def broken(table, cuts, promises):
    """(first promise, people, classes, rows) of a recoding, promise by promise."""
    classes = Classes.of(table, classes_under(table, cuts)[0])
    first = next((str(p) for p in promises if not p.holds_on(classes).all()), "")
    bad = ~promises.holds_on(classes)
    return first, int(classes.people[bad].sum()), int(bad.sum()), int(classes.rows[bad].sum())


@given(tables(people=True, min_rows=1), st.integers(1, 3), st.integers(1, 2), st.data())
def test_each_step_of_a_cut_is_what_taking_it_would_do(table, k, diversity, data):
    promises = KAnonymity(k) & DistinctLDiversity("s0", diversity)
    cuts = {c.name: data.draw(st.sampled_from(all_cuts(c.taxonomy))) for c in table.keys}
    if broken(table, cuts, promises)[0]:
        cuts = {c.name: Cut.root(c.taxonomy) for c in table.keys}
    if broken(table, cuts, promises)[0]:
        return  # not even everything as `*` keeps the promises: there is no plan to explain
    recoding = Recoding.of_cuts(table, cuts)
    explanation = explain(recoding, promises)
    for column in table.keys:
        story = explanation[column.name]
        expected = {}
        seen = set(cuts[column.name].node_of[table.codes(column.name)].tolist())
        for node in cuts[column.name].specializations.tolist():
            if node in seen:
                finer = {**cuts, column.name: cuts[column.name].specialize(node)}
                saved = measure("loss", recoding) - measure("loss", Recoding.of_cuts(table, finer))
                expected[column.taxonomy.labels[node]] = (broken(table, finer, promises), saved)
        assert story.possible == len(expected)
        assert sum(story.blocked.values()) == sum(bool(e[0][0]) for e in expected.values())
        assert len(story.steps) == min(MOST_STEPS_SHOWN, len(expected))
        for step in story.steps:
            (first, people, classes, rows), saved = expected[step.of]
            assert (step.promise, step.people, step.classes, step.cost) == (first, people, classes, rows)
            assert step.gain == pytest.approx(saved)


@given(tables(min_rows=1), st.integers(1, 3), st.data())
def test_each_level_step_counts_the_rows_it_would_suppress(table, k, data):
    promises = Promises((KAnonymity(k),))
    levels = {c.name: data.draw(st.integers(0, c.taxonomy.height)) for c in table.keys}

    def suppressed(levels):
        cuts = {c.name: Cut.level(c.taxonomy, levels[c.name]) for c in table.keys}
        classes = Classes.of(table, classes_under(table, cuts)[0])
        return int(classes.rows[classes.people < k].sum()), Recoding.of_cuts(
            table, cuts, keep=classes.people >= k
        )

    today, recoding = suppressed(levels)
    explanation = explain(recoding, promises, levels=levels)
    for name, level in levels.items():
        story = explanation[name]
        assert story.possible == (level > 0)
        for step in story.steps:
            finer, _ = suppressed({**levels, name: level - 1})
            assert step.cost == finer - today
            assert bool(step.promise) == (finer > 0)


@given(tables(min_rows=2, keys=1), st.integers(1, 3))
def test_a_class_that_cannot_be_halved_is_counted(table, k):
    column = table.keys[0]
    size = len(column.taxonomy.leaves)
    whole = Recoding(
        table,
        np.zeros(table.distinct, np.int32),
        np.array([[0]], np.int32),
        np.array([[size]], np.int32),
    )
    story = explain(whole, Promises((KAnonymity(k),)))[column.name]
    codes = np.repeat(table.codes(column.name), table.counts)
    assert story.possible == (len(set(codes.tolist())) > 1)
    for step in story.steps:
        if column.taxonomy.ordered:
            middle = np.sort(codes)[(len(codes) - 1) // 2]
            middle -= middle == codes.max()
            sides = [int((codes <= middle).sum()), int((codes > middle).sum())]
            assert step.cost == sum(s for s in sides if s < k)
        assert (step.cost > 0) == bool(step.promise)
