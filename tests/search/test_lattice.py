"""The lattice search against every node of small lattices."""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isclose
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.exhaustive_lattice import all_nodes, exhaustive, judged, recode
from sfumato.models.contract import Answer, ClassPromise, IncrementalChecker, Promises, TablePromise
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search.contract import Aim
from sfumato.search.lattice import lattice
from sfumato.search.loss import MEASURES
from sfumato.system.errors import Infeasible, UsageError
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy
from strategies import tables

pytestmark = pytest.mark.slow


@st.composite
def promises(draw):
    """k-anonymity, something about the sensitive column, or both."""
    k = KAnonymity(draw(st.integers(1, 4)))
    values = draw(st.integers(1, 3))
    t = Fraction(draw(st.integers(0, 5)), 5)
    other = draw(
        st.sampled_from(
            [
                None,
                DistinctLDiversity("s0", values),
                EntropyLDiversity("s0", Fraction(values + 1, 2)),
                RecursiveLDiversity("s0", values, Fraction(2)),
                TCloseness("s0", t),
                TCloseness("s0", t, "hierarchical"),
            ]
        )
    )
    return Promises((k,) if other is None else draw(st.sampled_from([(k, other), (other,), (k,)])))


@st.composite
def aims(draw):
    share = draw(st.sampled_from([Fraction(0), Fraction(1, 9), Fraction(1, 4), Fraction(1, 2), Fraction(1)]))
    weights = draw(st.sampled_from([{}, {"q0": Fraction(3)}, {"q1": Fraction(0)}]))
    return Aim(share, draw(st.sampled_from(sorted(MEASURES))), weights)


some_tables = tables(rows=12, keys=3, leaves=4, people=True, min_rows=1)


def agree(table, wanted, aim):
    expected = exhaustive(table, wanted, aim)
    if expected is None:
        with pytest.raises(Infeasible):
            lattice(table, wanted, aim)
        return
    outcome = lattice(table, wanted, aim)
    assert tuple(outcome.levels.values()) == expected.levels
    assert outcome.optimal and outcome.checked >= 1
    assert outcome.loss == expected.score
    assert outcome.recoding.suppressed == expected.suppressed
    assert np.array_equal(outcome.recoding.class_of, expected.recoding.class_of)


@given(some_tables, promises(), aims(), st.integers(0, 2))
def test_equals_every_node(table, wanted, aim, dropped):
    table = replace(table, dropped=dropped)
    if dropped <= aim.allowed(table):
        agree(table, wanted, aim)


@pytest.mark.parametrize("loss", sorted(MEASURES))
@given(table=some_tables, wanted=promises(), share=st.sampled_from([Fraction(0), Fraction(1, 3)]))
def test_every_loss_equals_every_node(loss, table, wanted, share):
    agree(table, wanted, Aim(share, loss))


@dataclass(frozen=True)
class Unpruned(ClassPromise):
    """The same promise, but nothing may be concluded from it."""

    promise: ClassPromise
    name: ClassVar[str] = "unpruned"

    @property
    def sensitive(self):
        return self.promise.sensitive

    def __str__(self):
        return str(self.promise)

    def holds_on(self, classes):
        return self.promise.holds_on(classes)

    def verdict(self, classes):
        return self.promise.verdict(classes)


@given(some_tables, promises(), aims())
def test_pruning_changes_nothing_but_the_work(table, wanted, aim):
    slow = Promises(tuple(Unpruned(p) for p in wanted))
    try:
        expected = lattice(table, slow, aim)
    except Infeasible:
        with pytest.raises(Infeasible):
            lattice(table, wanted, aim)
        return
    outcome = lattice(table, wanted, aim)
    assert outcome.levels == expected.levels
    assert outcome.loss == expected.loss


@given(some_tables, promises(), aims(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table, wanted, aim, random):
    columns = [np.repeat(table.codes(c.name), table.counts) for c in table.columns]
    person = None if table.person is None else np.repeat(table.person, table.counts)
    order = list(range(table.rows))
    random.shuffle(order)
    shuffled = Microdata.of_codes(
        table.columns, [c[order] for c in columns], person=None if person is None else person[order]
    )
    results = []
    for each in (table, shuffled):
        try:
            outcome = lattice(each, wanted, aim)
            results.append(
                (outcome.levels, outcome.loss, outcome.checked, outcome.recoding.class_of.tolist())
            )
        except Infeasible as error:
            results.append(str(error))
    assert results[0] == results[1]


@given(some_tables, promises(), st.sampled_from([Fraction(0), Fraction(1, 9)]))
def test_the_change_an_infeasible_request_names_is_the_nearest(table, wanted, share):
    aim = Aim(share)
    if exhaustive(table, wanted, aim) is not None:
        return
    with pytest.raises(Infeasible) as caught:
        lattice(table, wanted, aim)
    fewest = min(node.suppressed for node in judged(table, wanted, aim))
    assert "q0v" not in str(caught.value) and "s0v" not in str(caught.value)
    if fewest == table.rows:
        assert "at every combination" in caught.value.message
        return
    assert re.match(rf"Allow {fewest} suppressed rows", caught.value.remedy)
    relaxed = lattice(table, wanted, Aim(Fraction(fewest, table.rows)))
    assert relaxed.recoding.suppressed <= fewest


@dataclass(frozen=True)
class Few(TablePromise):
    """At most so many different values in column q0: a promise about the table."""

    most: int
    refusal: Answer
    name: ClassVar[str] = "few"
    monotone: ClassVar[bool] = True
    hereditary: ClassVar[bool] = True

    def watch(self, _table):
        return FewWatch(self)

    def verdict_on(self, _table, _cuts):
        raise AssertionError("not asked for")

    def __str__(self):
        return f"at most {self.most} values of q0"


@dataclass
class FewWatch(IncrementalChecker):
    promise: Few

    def ask(self, cuts, step=None):  # noqa: ARG002
        keeps = len(cuts["q0"].nodes) <= self.promise.most
        return (Answer.YES, "") if keeps else (self.promise.refusal, f"more than {self.promise.most} values")

    def accept(self, _cuts):
        raise AssertionError("the lattice accepts nothing on the way")


@given(
    some_tables,
    promises(),
    st.sampled_from(sorted(MEASURES)),
    st.integers(0, 2),
    st.sampled_from(["NEVER", "LATER"]),
)
def test_table_promises_are_asked(table, wanted, loss, most, refusal):
    agree(table, wanted & Few(most, Answer[refusal]), Aim(loss=loss))


def test_table_promises_refuse_suppression_and_say_why_nothing_works():
    table = Microdata.of_codes(
        [Column("q0", Role.QUASI, Taxonomy.flat(["x", "y"]))], [np.array([0, 0, 1, 1], np.int32)]
    )
    with pytest.raises(Infeasible, match="more than 0 values"):
        lattice(table, KAnonymity(2) & Few(0, Answer.NEVER), Aim())
    with pytest.raises(UsageError, match="few"):
        lattice(table, KAnonymity(2) & Few(0, Answer.NEVER), Aim(Fraction(1, 2)))


def small(q, s, *, person=None):
    """The middle of three levels is looked at first, and is no better than the last."""
    columns = [
        Column("q0", Role.QUASI, Taxonomy.grow(["*", "any", "x", "y"], [-1, 0, 1, 1])),
        Column("s0", Role.SENSITIVE, Taxonomy.flat(["a", "b"])),
    ]
    person = None if person is None else np.array(person, np.int32)
    return Microdata.of_codes(columns, [np.array(q, np.int32), np.array(s, np.int32)], person=person)


def test_suppression_may_save_what_generalization_cannot():
    """10 a and 2 b have too little entropy; apart, 2 a and 2 b have enough, and 8 a are suppressed."""
    table = small([0] * 4 + [1] * 8, [0, 0, 1, 1] + [0] * 8)
    wanted = Promises((EntropyLDiversity("s0", Fraction(2)),))
    outcome = lattice(table, wanted, Aim(Fraction(2, 3)))
    assert outcome.levels == {"q0": 0} and outcome.recoding.suppressed == 8
    with pytest.raises(Infeasible, match="Allow 8 suppressed rows"):
        lattice(table, wanted, Aim())


def test_a_person_in_two_classes_counts_in_both_but_once_in_their_union():
    table = small([0, 0, 1, 1], [0, 1, 0, 1], person=[1, 2, 1, 3])
    outcome = lattice(table, Promises((EntropyLDiversity("s0", Fraction(2)),)), Aim())
    assert outcome.levels == {"q0": 0}
    with pytest.raises(Infeasible):
        lattice(table, EntropyLDiversity("s0", Fraction(2)) & KAnonymity(3), Aim())


def test_a_table_without_rows_or_without_keys():
    column = Column("q0", Role.QUASI, Taxonomy.flat(["x", "y"]))
    empty = Microdata.of_codes([column], [np.zeros(0, np.int32)])
    for loss in MEASURES:
        outcome = lattice(empty, Promises((KAnonymity(2),)), Aim(loss=loss))
        assert outcome.levels == {"q0": 0} and outcome.loss == 0
    bare = Microdata.of_codes([replace(column, role=Role.SENSITIVE)], [np.zeros(3, np.int32)])
    assert lattice(bare, Promises((KAnonymity(3),)), Aim()).levels == {}
    with pytest.raises(Infeasible, match="nothing to publish"):
        lattice(bare, Promises((KAnonymity(4),)), Aim(Fraction(1)))


def test_rows_left_out_for_missing_cells_count_as_suppressed():
    column = Column("q0", Role.QUASI, Taxonomy.flat(["x", "y"]))
    table = Microdata.of_codes([column], [np.array([0, 0, 1], np.int32)], dropped=1)
    with pytest.raises(Infeasible, match="1 rows have an empty key cell"):
        lattice(table, Promises((KAnonymity(2),)), Aim())
    outcome = lattice(table, Promises((KAnonymity(2),)), Aim(Fraction(1, 2), "discernibility"))
    assert outcome.recoding.suppressed == 2 and outcome.levels == {"q0": 0}
    assert isclose(outcome.loss, 4 + 2 * 4)


def test_a_search_for_the_nearest_change_that_ends_early_says_so(monkeypatch):
    table = small([0] * 4 + [1] * 8, [0, 0, 1, 1] + [0] * 8)
    monkeypatch.setattr("sfumato.search.lattice.MOST_TRIED", 1)
    with pytest.raises(Infeasible, match="at any tried combination"):
        lattice(table, Promises((EntropyLDiversity("s0", Fraction(2)),)), Aim())


def test_a_lattice_too_large_to_be_held_is_walked():
    chain = Taxonomy.grow(["*", *"abcdefghi"], list(range(-1, 9)))
    columns = [Column(f"q{j}", Role.QUASI, chain) for j in range(8)]
    table = Microdata.of_codes(columns, [np.zeros(1, np.int32)] * 8)
    found = lattice(table, Promises((KAnonymity(1),)), Aim())
    assert set(found.levels.values()) == {0} and found.loss == 0 and found.optimal


def test_nodes_and_recodings_of_the_oracle_are_those_of_the_table():
    column = Column("q0", Role.QUASI, Taxonomy.flat(["x", "y"]))
    table = Microdata.of_codes([column], [np.array([0, 1, 1], np.int32)])
    assert all_nodes(table) == [(0,), (1,)]
    assert recode(table, Promises((KAnonymity(2),)), (0,)).suppressed == 1
