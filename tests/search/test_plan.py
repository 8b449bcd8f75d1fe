"""A plan is proved from its classes: whatever a search claims, a planted bug does not get through."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search import contract as registry
from sfumato.search import plan as planning
from sfumato.search.contract import Aim, Outcome
from sfumato.search.plan import make_plan, prove
from sfumato.system.errors import Infeasible, SfumatoError, UsageError
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding
from strategies import all_recodings, tables

PAIR = Promises((KAnonymity(2),))


@given(tables(min_rows=1, people=True), st.data())
def test_exactly_the_recodings_that_keep_the_promises_are_proved(table, data):
    cuts = data.draw(st.sampled_from(all_recodings(table)))
    recoding = Recoding.of_cuts(table, cuts)
    published: dict[tuple[int, ...], set[int]] = {}
    codes = [cuts[c.name].node_of[table.codes(c.name)] for c in table.keys]
    person = table.person
    for i in range(table.distinct):
        members = published.setdefault(tuple(int(c[i]) for c in codes), set())
        copies = range(int(table.counts[i])) if person is None else [0]
        members |= {(i, n) if person is None else int(person[i]) for n in copies}
    smallest = min(len(members) for members in published.values())
    outcome = Outcome(recoding, 0.0)
    if smallest >= 2:
        verdicts, size = prove(outcome, PAIR, Aim())
        assert (size, verdicts[0].measured, verdicts[0].holds) == (smallest, smallest, True)
    else:
        with pytest.raises(SfumatoError, match="broke k-anonymity"):
            prove(outcome, PAIR, Aim())


@given(tables(min_rows=2, keys=1))
def test_a_value_outside_its_published_interval_is_found(table):
    recoding = Recoding.of_cuts(table, {c.name: Cut.root(c.taxonomy) for c in table.keys})
    codes = table.codes(table.keys[0].name)
    wrong = Recoding(table, recoding.class_of, recoding.low + int(codes.min()) + 1, recoding.high, None)
    with pytest.raises(SfumatoError, match="do not cover"):
        prove(Outcome(wrong, 0.0), PAIR, Aim())


@given(tables(min_rows=2))
def test_more_suppression_than_allowed_is_found(table):
    roots = {c.name: Cut.root(c.taxonomy) for c in table.keys}
    recoding = Recoding.of_cuts(table, roots, keep=np.array([False]))
    with pytest.raises(SfumatoError, match="suppressed more rows"):
        prove(Outcome(recoding, 0.0), PAIR, Aim(suppress=Fraction(1, 2)))
    verdicts, smallest = prove(Outcome(recoding, 0.0), PAIR, Aim(suppress=Fraction(1)))
    assert smallest == 0
    assert verdicts[0].holds is True


@given(tables(min_rows=2, keys=1))
def test_equal_boxes_are_one_class(table):
    """Two classes that publish the same values look the same to everybody: they count as one."""
    size = len(table.keys[0].taxonomy.leaves)
    low, high = np.zeros((2, 1), np.int32), np.full((2, 1), size, np.int32)
    twins = Recoding(table, (np.arange(table.distinct) % 2).astype(np.int32), low, high)
    _, smallest = prove(Outcome(twins, 0.0), Promises((KAnonymity(1),)), Aim())
    assert smallest == table.rows


def test_a_search_from_elsewhere_goes_through_the_same_door(monkeypatch):
    import sfumato as sf

    policy = sf.Policy.from_dict(
        {
            "columns": {"a": {"role": "quasi"}},
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )

    def careless(table, promises, aim, *, progress):
        del promises, aim, progress
        return Outcome(Recoding.of_cuts(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys}), 0.0)

    import polars as pl

    from sfumato.table.source import open_source

    table = open_source(pl.DataFrame({"a": ["x", "x", "y"]})).count(policy.codings)
    monkeypatch.setattr(planning, "find", lambda name: {"top-down": careless}[name])
    with pytest.raises(SfumatoError, match="broke k-anonymity") as caught:
        make_plan(table, policy)
    assert caught.value.exit_code == 70


def test_an_empty_table_is_no_release(monkeypatch):
    import polars as pl

    import sfumato as sf

    policy = {
        "columns": {"a": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "price": "none", "suppress": "100%"},
    }

    def nothing(table, promises, aim, *, progress):
        del promises, aim, progress
        roots = {c.name: Cut.root(c.taxonomy) for c in table.keys}
        return Outcome(Recoding.of_cuts(table, roots, keep=np.array([False])), 0.0)

    monkeypatch.setattr(planning, "find", lambda _: nothing)
    with pytest.raises(Infeasible):
        sf.protect(pl.DataFrame({"a": ["x", "y"]}), policy)


def test_the_searches_by_name():
    assert registry.known()[:3] == ("top-down", "lattice", "mondrian")
    for name in registry.SEARCHES:
        assert callable(registry.find(name))
    with pytest.raises(UsageError):
        registry.find("sideways")
