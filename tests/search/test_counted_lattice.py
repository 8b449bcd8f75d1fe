"""Counted lattices against every node of small lattices, and against the search itself."""

from dataclasses import replace
from fractions import Fraction
from math import isclose

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.exhaustive_lattice import exhaustive
from sfumato.models.beta_likeness.promise import EnhancedBetaLikeness
from sfumato.models.confidence.promise import AlphaKAnonymity
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.policy.policy import Policy
from sfumato.search import counted_lattice
from sfumato.search.counted_lattice import count_lattice
from sfumato.search.lattice import lattice
from sfumato.search.loss import MEASURES
from sfumato.search.plan import aim_of
from sfumato.system.errors import BadData, Infeasible, UsageError
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy
from strategies import cases, tables

pytestmark = pytest.mark.slow

SHARES = (Fraction(0), Fraction(1, 9), Fraction(1, 4), Fraction(1, 2))
KS = range(1, 6)


@pytest.fixture(autouse=True, scope="module")
def few_wait():
    """Combinations that others beat are dropped after every few, as in a large lattice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted_lattice, "MOST_WAITING", 5)
        yield


def policy_of(table, *promises, **protect):
    """The policy of a table whose trees are there already."""
    columns = {c.name: {"role": str(c.role), "taxonomy": c.taxonomy} for c in table.columns}
    for name, column in columns.items():
        if table.column(name).role is Role.SENSITIVE:
            del column["taxonomy"]
    return Policy.from_dict({"columns": columns, "promises": list(promises), "protect": protect})


def agree(table, policy):
    """Compare every question with every node, and with the search."""
    counted = count_lattice(table, policy, ks=KS, most=SHARES[-1])
    for k in KS:
        for share in SHARES:
            asked = policy.with_(k=k, suppress=share, search="lattice")
            aim, promises = aim_of(asked), asked.promises
            expected = exhaustive(table, promises, aim) if table.dropped <= aim.allowed(table) else None
            if expected is None:
                with pytest.raises(Infeasible):
                    counted.answer(k, share)
                with pytest.raises(Infeasible):
                    lattice(table, promises, aim)
                continue
            answer, found = counted.answer(k, share), lattice(table, promises, aim)
            assert tuple(answer.levels.values()) == expected.levels == tuple(found.levels.values())
            assert answer.suppressed == expected.suppressed == found.recoding.suppressed
            assert answer.classes == found.recoding.count
            assert isclose(answer.loss, found.loss, rel_tol=1e-9, abs_tol=1e-12)


@cases(25)
@given(
    tables(rows=12, keys=3, leaves=4, min_rows=1),
    st.sampled_from(
        [
            (KAnonymity(2),),
            (DistinctLDiversity("s0", 2),),
            (KAnonymity(4), DistinctLDiversity("s0", 2)),
            (TCloseness("s0", Fraction(2, 5)),),
            (KAnonymity(2), EnhancedBetaLikeness("s0", Fraction(1))),
            (AlphaKAnonymity("s0", Fraction(3, 4), 2),),
        ]
    ),
    st.sampled_from(sorted(MEASURES)),
    st.integers(0, 2),
)
def test_every_answer_is_that_of_the_search(table, promises, loss, dropped):
    table = replace(table, dropped=dropped)
    agree(table, policy_of(table, *promises, loss=loss, search="lattice"))


@cases(10)
@given(tables(rows=12, keys=2, leaves=4, min_rows=1, people=True))
def test_rows_are_counted_where_each_is_of_another_person(table):
    policy = policy_of(table, KAnonymity(2), search="lattice")
    if table.people_with_several_rows:
        with pytest.raises(BadData, match="several rows"):
            count_lattice(table, policy)
    else:
        agree(table, policy)


def ages(count=40):
    """Two columns in trees of three levels, every value once or twice."""
    leaves = [f"{i}" for i in range(count)]
    groups = [f"g{i}" for i in range(count // 4)]
    labels = [*leaves, *groups, "*"]
    parent = [count + i // 4 for i in range(count)] + [len(labels) - 1] * len(groups) + [-1]
    tree = Taxonomy.grow(labels, parent)
    columns = [Column("age", Role.QUASI, tree), Column("zip", Role.QUASI, tree)]
    codes = np.arange(count, dtype=np.int32)
    return Microdata.of_codes(columns, [np.tile(codes, 2), np.tile(codes[::-1], 2)])


def test_answer_names_levels_groups_and_rows():
    table = ages()
    counted = count_lattice(table, policy_of(table, KAnonymity(2)))
    answer = counted.answer(2, Fraction(0))
    assert answer.levels == {"age": 0, "zip": 0} and answer.groups == {"age": 40, "zip": 40}
    assert (answer.suppressed, answer.classes, answer.loss) == (0, 40, 0.0)
    coarser = counted.answer(8, Fraction(0))
    assert coarser.levels == {"age": 1, "zip": 1} and coarser.groups == {"age": 10, "zip": 10}
    assert counted.best_losses(Fraction(0))[0] == (2, 0.0)
    assert [k for k, _ in counted.best_losses(Fraction(0))] == list(range(2, 81))


def test_refusal_names_the_limit_that_would_do():
    table = replace(ages(), dropped=4)
    counted = count_lattice(table, policy_of(table, KAnonymity(2)))
    with pytest.raises(Infeasible, match=r"at most 0 of 84 rows.*Allow 4 suppressed rows .suppress: 4/84"):
        counted.answer(2, Fraction(0))
    with pytest.raises(Infeasible, match=r"Not even 20% would do"):
        counted.answer(90, Fraction(1, 5))
    assert counted.answer(2, Fraction(1, 20)).suppressed == 4


@pytest.mark.parametrize(
    "k, share", [(1, Fraction(0)), (101, Fraction(0)), (5, Fraction(1, 4)), (5, Fraction(-1))]
)
def test_questions_beyond_what_was_counted_are_refused(k, share):
    counted = count_lattice(ages(), policy_of(ages(), KAnonymity(2)))
    with pytest.raises(UsageError, match=r"k from 2 to 100 and limits up to 20%"):
        counted.answer(k, share)


def test_work_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(counted_lattice, "MOST_GROUPED", 10)
    with pytest.raises(UsageError, match=r"9 combinations of 40 different rows take too long"):
        count_lattice(ages(), policy_of(ages(), KAnonymity(2)))
    monkeypatch.setattr(counted_lattice, "MOST_NODES", 8)
    with pytest.raises(UsageError, match=r"9 combinations of levels are too many to count"):
        count_lattice(ages(), policy_of(ages(), KAnonymity(2)))


def test_rows_that_must_stay_are_not_counted():
    table = ages()
    policy = policy_of(table, KAnonymity(2))
    words = {"columns": {"age": {"role": "quasi", "never-suppress": ["3"]}, "zip": {"role": "quasi"}}}
    spared = Policy.from_dict({**words, "promises": [KAnonymity(2)]})
    assert counted_lattice.why_not_counted(policy) == ""
    with pytest.raises(UsageError, match=r"some rows must not be suppressed"):
        count_lattice(table, spared)


def test_combinations_that_suppress_too_much_are_left_out_with_all_finer_ones():
    table = ages()
    half = count_lattice(table, policy_of(table, KAnonymity(2)), ks=range(5, 9), most=Fraction(0))
    assert half.possible == 9 and 0 < len(half.nodes) < 9
    assert (0, 0) not in {tuple(node) for node in half.nodes.tolist()}
