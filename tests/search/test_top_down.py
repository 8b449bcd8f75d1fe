"""Top-down specialization against exhaustive oracles."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.checks import class_promises, crowded, fields, is_valid, kept_under, shuffled
from sfumato.models.contract import Answer, IncrementalChecker, Promises, TablePromise
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search import refinement as classed_rows
from sfumato.search import refinement as group_counts
from sfumato.search.contract import Aim
from sfumato.search.key_groups import Ranking
from sfumato.search.loss import measure
from sfumato.search.refinement import Refinement, Specialization
from sfumato.search.step_check import StepJudge, replaced
from sfumato.search.top_down import top_down
from sfumato.system.errors import Infeasible, UsageError
from sfumato.system.verdict import Verdict
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding, classes_under
from sfumato.table.taxonomy import ROOT, Taxonomy
from strategies import tables

pytestmark = pytest.mark.slow

SHARES = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1)])
LOSSES = st.sampled_from(["loss", "discernibility"])


def all_root(table):
    return {c.name: Cut.root(c.taxonomy) for c in table.keys}


def finer(cuts):
    """Every recoding one specialization below."""
    return [
        {**cuts, name: cut.specialize(node)}
        for name, cut in cuts.items()
        for node in cut.specializations.tolist()
    ]


@given(tables(rows=10, people=True), class_promises(), SHARES, LOSSES)
def test_the_result_is_valid_and_minimal(table, promises, suppress, loss):
    aim = Aim(suppress=suppress, loss=loss)
    try:
        outcome = top_down(table, promises, aim)
    except Infeasible:
        assert not is_valid(table, all_root(table), promises, aim)
        return
    cuts = outcome.recoding.cuts
    assert is_valid(table, cuts, promises, aim)
    assert not any(is_valid(table, below, promises, aim) for below in finer(cuts))
    _, kept = kept_under(table, cuts, promises)
    expected = Recoding.of_cuts(table, cuts, keep=kept)
    for name in ("class_of", "low", "high"):
        assert np.array_equal(getattr(outcome.recoding, name), getattr(expected, name))
    assert outcome.loss == measure(loss, expected)


@pytest.mark.parametrize(
    "promise",
    [
        KAnonymity(3),
        EntropyLDiversity("s0", Fraction(3, 2)),
        RecursiveLDiversity("s0", 2, Fraction(3, 2)),
        TCloseness("s0", Fraction(1, 4)),
    ],
    ids=lambda p: p.name + type(p).__name__,
)
def test_with_half_of_the_rows_suppressed_no_single_step_is_left(promise):
    promises, aim = Promises((promise,)), Aim(suppress=Fraction(1, 2), loss="discernibility")
    suppressed = 0
    for seed in range(25):
        table = crowded(seed)
        recoding = top_down(table, promises, aim).recoding
        assert is_valid(table, recoding.cuts, promises, aim)
        assert not any(is_valid(table, below, promises, aim) for below in finer(recoding.cuts))
        suppressed += recoding.suppressed
    assert suppressed > 25


@given(tables(rows=10, keys=3, leaves=3, people=True), class_promises(), st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(table, promises, seed):
    other = shuffled(table, seed)
    try:
        outcome = top_down(table, promises, Aim())
    except Infeasible as refused:
        with pytest.raises(Infeasible) as again:
            top_down(other, promises, Aim())
        assert str(again.value) == str(refused)
        return
    assert top_down(other, promises, Aim()).recoding.cuts == outcome.recoding.cuts


@pytest.mark.parametrize("cells", [0, group_counts.CELLS_PER_ROW, 1000])
@pytest.mark.parametrize("most_repeated", [0, classed_rows.MOST_REPEATED, 1 << 40])
@given(tables(rows=12, keys=3, leaves=3, people=True), st.data())
def test_judging_what_a_step_changes_equals_judging_from_scratch(cells, most_repeated, table, data):
    """Whether parts are counted in one pass or two, and repeated rows apart from the others or with them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_counts, "CELLS_PER_ROW", cells)
        patch.setattr(classed_rows, "MOST_REPEATED", most_repeated)
        judge_step_by_step(table, data)


def judge_step_by_step(table, data):
    names = ("s0",)
    state = Refinement(table)
    known, overall = state.everything(names), {}
    for _ in range(4):
        choices = [
            Specialization(j, node)
            for j, cut in enumerate(state.cuts.values())
            for node in cut.specializations.tolist()
        ]
        if not choices:
            break
        split = state.split(data.draw(st.sampled_from(choices)))
        if not split.whole:
            known = replaced(known, split, state.parts(split, names, overall))
        state.accept(split)
        assert fields(known) == fields(Classes.of(table, state.class_of))
        assert state.rows.tolist() == known.rows.tolist()
        class_of, nodes = classes_under(table, state.cuts)
        assert np.array_equal(nodes[class_of], state.nodes.T[state.class_of])


@given(tables(rows=12), class_promises(), SHARES)
def test_sizes_alone_refuse_nothing_that_may_stand(table, promises, suppress):
    """Steps that are refused by the sizes of their parts would be refused by what these hold, too."""
    found = outcome_of(table, promises, suppress)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StepJudge, "_parts_too_small", lambda *_: False)
        assert outcome_of(table, promises, suppress) == found


def outcome_of(table, promises, suppress):
    try:
        outcome = top_down(table, promises, Aim(suppress=suppress))
    except Infeasible as refused:
        return str(refused)
    return outcome.recoding.class_of.tolist(), outcome.loss, outcome.checked


@given(tables(rows=12, keys=3, leaves=3), LOSSES, st.data())
def test_scores_equal_a_plain_recomputation(table, loss, data):
    weights = {"q1": Fraction(2, 3)}
    state = Refinement(table)
    ranking = Ranking(state, loss, weights, skip_empty=False)
    for _ in range(5):
        choices = [
            Specialization(j, node)
            for j, cut in enumerate(state.cuts.values())
            for node in cut.specializations.tolist()
        ]
        for step in choices:
            assert ranking.score(step) == plain_score(table, state.cuts, step, loss, weights)
        best = ranking.best()
        if not choices:
            assert best is None
            break
        assert best == max(choices, key=lambda s: (ranking.score(s), -s.column, -s.node))
        split = state.split(data.draw(st.sampled_from(choices)))
        state.accept(split)
        ranking.follow(split)


def plain_score(table, cuts, step, loss, weights):
    column = table.keys[step.column]
    tree, weight = column.taxonomy, weights.get(column.name, Fraction(1))
    if loss == "discernibility":
        class_of, nodes = classes_under(table, cuts)
        rows = Classes.of(table, class_of).rows
        return weight * sum(
            int(r) ** 2 for r, v in zip(rows, nodes[:, step.column], strict=True) if v == step.node
        )

    def lost(node):
        codes = table.codes(column.name)
        below = (tree.low[node] <= codes) & (codes < tree.high[node])
        return int(table.counts[below].sum()) * int(tree.leaf_count[node])

    gain = lost(step.node) - sum(lost(child) for child in tree.children(step.node))
    return weight * Fraction(gain, max(1, len(tree.leaves) - 1))


@dataclass(frozen=True)
class Guarded(TablePromise):
    """A made-up table promise: `second` may be specialized only where `first` no longer is at its root."""

    first: str
    second: str
    never: bool = False
    name: ClassVar[str] = "guarded"

    def watch(self, _table):
        return Guard(self, [])

    def verdict_on(self, _table, cuts):
        return Verdict(self.name, self.holds(cuts), None, 0)

    def holds(self, cuts):
        return cuts[self.second].nodes.tolist() == [ROOT] or cuts[self.first].nodes.tolist() != [ROOT]

    def __str__(self):
        return self.name


@dataclass
class Guard(IncrementalChecker):
    promise: Guarded
    accepted: list

    def ask(self, cuts, step=None):
        if step is not None:
            name, node = step
            assert cuts == {**self.accepted[-1], name: self.accepted[-1][name].specialize(node)}
        if self.promise.holds(cuts):
            return Answer.YES, ""
        return (Answer.NEVER if self.promise.never else Answer.LATER), "the guard is at its root"

    def accept(self, cuts):
        self.accepted.append(cuts)


def pairs(rows):
    """Two flat columns a and b; b has the larger score first when it weighs more."""
    columns = [Column(name, Role.QUASI, Taxonomy.flat(["0", "1"])) for name in "ab"]
    return Microdata.of_codes(columns, list(np.array(rows, np.int32).T))


def test_a_candidate_refused_for_now_is_tried_again_after_the_next_step():
    table = pairs([(0, 0), (0, 1), (1, 0), (1, 1)] * 2)
    heavy = Aim(weights={"b": Fraction(2)})
    outcome = top_down(table, KAnonymity(1) & Guarded("a", "b"), heavy)
    assert [len(c.nodes) for c in outcome.recoding.cuts.values()] == [2, 2]
    outcome = top_down(table, KAnonymity(1) & Guarded("a", "b", never=True), heavy)
    assert [len(c.nodes) for c in outcome.recoding.cuts.values()] == [2, 1]


@given(tables(rows=8), st.integers(1, 3))
def test_with_a_table_promise_no_single_step_is_left(table, k):
    promise = Guarded("q1", "q0")
    try:
        cuts = top_down(table, KAnonymity(k) & promise, Aim()).recoding.cuts
    except Infeasible:
        assert table.rows < k
        return
    promises = Promises((KAnonymity(k),))
    assert promise.holds(cuts) and is_valid(table, cuts, promises, Aim())
    assert not any(promise.holds(b) and is_valid(table, b, promises, Aim()) for b in finer(cuts))


def test_a_table_promise_is_not_judged_with_rows_suppressed():
    with pytest.raises(UsageError, match="guarded"):
        top_down(pairs([(0, 0)]), Promises((Guarded("a", "b"),)), Aim(suppress=Fraction(1, 10)))


def test_too_few_people_is_infeasible_and_says_how_many_are_missing():
    with pytest.raises(Infeasible, match="k = 5 is short by 2: the table is about 3 people"):
        top_down(pairs([(0, 0), (0, 1), (1, 1)]), Promises((KAnonymity(5),)), Aim())


def test_one_disease_for_all_is_infeasible_and_names_the_promise():
    columns = [
        Column("a", Role.QUASI, Taxonomy.flat(["0"])),
        Column("s", Role.SENSITIVE, Taxonomy.flat(["x"])),
    ]
    table = Microdata.of_codes(columns, [np.zeros(4, np.int32)] * 2)
    with pytest.raises(Infeasible, match="l-diversity") as refused:
        top_down(table, KAnonymity(2) & DistinctLDiversity("s", 2), Aim())
    assert "4 people" in str(refused.value) and refused.value.remedy


def test_more_missing_rows_than_may_be_suppressed_is_infeasible():
    table = replace(pairs([(0, 0)] * 6), dropped=2)
    with pytest.raises(Infeasible, match="2 rows have an empty key cell"):
        top_down(table, Promises((KAnonymity(2),)), Aim(suppress=Fraction(1, 10)))
    assert top_down(table, Promises((KAnonymity(2),)), Aim(suppress=Fraction(1, 4))).recoding.suppressed == 2


@pytest.mark.parametrize("rows", [[], [(0, 0)], [(1, 1)] * 5])
def test_corner_tables_have_a_safe_result(rows):
    table = pairs(np.array(rows, np.int32).reshape(-1, 2))
    outcome = top_down(table, Promises((KAnonymity(1),)), Aim())
    assert outcome.recoding.count == min(1, len(rows))
    assert all(len(c.nodes) == 2 for c in outcome.recoding.cuts.values())


def test_without_key_columns_the_table_is_one_class():
    table = Microdata.of_codes([Column("s", Role.SENSITIVE, Taxonomy.flat(["x", "y"]))], [np.arange(2)])
    assert top_down(table, Promises((KAnonymity(2),)), Aim()).recoding.count == 1


def test_what_lasts_depends_on_suppression_and_on_people():
    table = pairs([(0, 0)] * 4)
    promises = KAnonymity(1) & Promises(())
    assert StepJudge(Refinement(table), promises, Aim()).lasting == promises
    columns = [*table.columns, Column("s", Role.SENSITIVE, Taxonomy.flat(["x", "y"]))]
    codes = [np.array([0, 1, 0, 1], np.int32)] * 3
    mixed = KAnonymity(1) & EntropyLDiversity("s", Fraction(1)) & TCloseness("s", Fraction(1))
    rows = Microdata.of_codes(columns, codes)
    people = Microdata.of_codes(columns, codes, person=np.array([0, 0, 1, 1]))
    assert StepJudge(Refinement(rows), mixed, Aim()).lasting == mixed
    assert StepJudge(Refinement(rows), mixed, Aim(suppress=Fraction(1, 2))).lasting == promises
    assert StepJudge(Refinement(people), mixed, Aim()).lasting == promises
