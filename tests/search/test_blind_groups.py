"""Blind grouping: what it says of units, boxes and joins, and that nobody's own value decides anything."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from search.blind_people import (
    ANYBODY,
    DISEASES,
    SOME_LEFT_OUT,
    SOME_LEFT_OUT_OF_FEW,
    TWO,
    members,
    numbers,
    people_table,
    shown,
    values_of,
    with_values,
)
from search.checks import class_promises
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.parameters import ReferenceDistribution
from sfumato.models.registry import make
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search.blind_groups import (
    BLOCK_UNITS,
    BlindGroups,
    Values,
    blind_groups,
    group_people,
    joined_units,
    make_units,
    unit_sizes,
)
from sfumato.search.contract import Aim
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy
from strategies import cases

# Joined groups --------------------------------------------------------------------------------------------


KEPT_BLINDLY = {
    "distinct": make("l-diversity", {"of": "disease", "l": 3}),
    "entropy": make("l-diversity", {"of": "disease", "l": 2, "kind": "entropy"}),
    "recursive": make("l-diversity", {"of": "disease", "l": 2, "c": 3, "kind": "recursive"}),
    "t": make("t-closeness", {"of": "disease", "t": 0.5}),
    "t beside a reference": TCloseness(
        "disease", Fraction(1, 2), "equal", ReferenceDistribution.of(dict.fromkeys(DISEASES.leaf_labels, 1))
    ),
    "confidence": ConfidenceBounding("disease", Fraction(2, 3)),
    "alpha": AlphaKAnonymity("disease", Fraction(3, 4), 3),
    "beta": make("beta-likeness", {"of": "disease", "beta": 2}),
}


@cases(40)
@given(seed=st.integers(0, 10_000), promises=class_promises(), rows=st.integers(40, 120))
def test_every_joined_group_keeps_every_promise(seed, promises, rows):
    table = people_table(rows, seed=seed, shares=[0.4, 0.3, 0.2, 0.1])
    table = Microdata.of_codes(
        [*table.keys, Column("s0", Role.SENSITIVE, DISEASES)],
        [table.codes("age"), table.codes("town"), table.codes("disease")],
        person=table.person,
    )
    assume(promises.monotone and not all(promise.by_size for promise in promises))
    coins = Coins(seed.to_bytes(4, "big"))
    groups = blind_groups(table, promises, ANYBODY, coins)
    assume(groups is not None)
    try:
        outcome = groups.outcome(promises, coins)
    except Infeasible:
        return
    recoding = outcome.recoding
    classes = recoding.classes(recoding.class_of, promises.sensitive)
    assert promises.holds_on(classes).all()
    codes = np.stack([table.codes(column.name) for column in table.keys], axis=1)
    there = recoding.class_of >= 0
    assert (recoding.low[recoding.class_of[there]] <= codes[there]).all()
    assert (codes[there] < recoding.high[recoding.class_of[there]]).all()
    unit_of_group = {}
    for unit, people in members(table, groups.units.unit_of).items():
        (group,) = {int(recoding.class_of[table.person == person][0]) for person in people}
        unit_of_group.setdefault(group, []).append(unit)
    for joined in unit_of_group.values():
        assert len(set(groups.units.kind[joined])) == 1


# The law: nobody's own value decides anything -------------------------------------------------------------


def plan_of(table, promises=TWO, key=b"law", aim=ANYBODY):
    coins = Coins(key)
    groups = blind_groups(table, promises, aim, coins)
    assert groups is not None
    return groups, shown(table, groups.outcome(promises, coins).recoding)


@pytest.mark.parametrize("aim", [ANYBODY, SOME_LEFT_OUT], ids=["everybody", "some left out"])
@pytest.mark.parametrize("rows", [61, 150, 303])
@pytest.mark.parametrize("places", [1, 6])
def test_swapping_the_values_of_two_members_of_a_unit_changes_nothing(aim, rows, places):
    trees = (numbers(6), Taxonomy.flat(["t0", "t1"])) if places == 1 else None
    table = people_table(rows, seed=rows, shares=[0.55, 0.25, 0.15, 0.05], trees=trees)
    groups, published = plan_of(table, aim=aim)
    rng = np.random.default_rng(5)
    whose = members(table, groups.units.unit_of)
    for unit in rng.permutation(len(whose))[:12].tolist():
        one, other = rng.choice(whose[unit], 2, replace=False)
        swapped = values_of(table).copy()
        swapped[[one, other]] = swapped[[other, one]]
        assert plan_of(with_values(table, swapped), aim=aim)[1] == published


@pytest.mark.parametrize("aim", [ANYBODY, SOME_LEFT_OUT], ids=["everybody", "some left out"])
def test_units_and_their_size_depend_on_nobodys_own_value(aim):
    """Values are dealt anew to everybody who is shown: units, their size and all rehearsals are the same."""
    table = people_table(150, seed=1, shares=[0.55, 0.25, 0.15, 0.05])
    place = np.flatnonzero(plan_of(table, key=b"dealt", aim=aim)[0].units.unit_of >= 0)
    people, found = table.person[place], []
    for seed in range(6):
        values = values_of(table).copy()
        values[people] = np.random.default_rng(seed).permutation(values[people]) if seed else values[people]
        dealt = with_values(table, values)
        groups = blind_groups(dealt, TWO, aim, Coins(b"dealt"))
        units = members(dealt, groups.units.unit_of)
        blocks = {
            frozenset(units[unit] for unit in np.flatnonzero(groups.units.block == b))
            for b in set(groups.units.block)
        }
        found.append((units, blocks, groups.people, groups.loss, groups.plain, groups.failures))
    assert all(other == found[0] for other in found)


def test_nothing_depends_on_the_values_of_people_who_are_not_shown():
    """They come again, and are shown then: neither the size of units nor whether it is worth it tells."""
    changed = 0
    for seed in range(40):
        table = people_table(13 + seed % 9, seed=seed, shares=[0.6, 0.4, 0, 0])
        groups = blind_groups(table, TWO, SOME_LEFT_OUT_OF_FEW, Coins(bytes([seed])))
        if groups is None or (groups.units.unit_of >= 0).all():
            continue
        hidden = table.person[groups.units.unit_of < 0]
        found = set()
        for value in range(4):
            values = values_of(table).copy()
            values[hidden] = value
            other = with_values(table, values)
            again = blind_groups(other, TWO, SOME_LEFT_OUT_OF_FEW, Coins(bytes([seed])))
            units = frozenset(members(other, again.units.unit_of).values())
            found.add((units, again.people, again.loss, again.failures))
        assert len(found) == 1
        changed += 1
    assert changed > 10


def test_the_order_of_rows_changes_nothing():
    table = people_table(150, seed=1)
    codes = [table.codes(column.name) for column in table.columns]
    order = np.random.default_rng(0).permutation(150)
    shuffled = Microdata.of_codes(table.columns, [code[order] for code in codes], person=table.person[order])
    assert plan_of(shuffled)[1] == plan_of(table)[1]


def test_the_same_key_makes_the_same_groups_and_another_key_others():
    table = people_table(150, seed=1)
    assert plan_of(table, key=b"one")[1] == plan_of(table, key=b"one")[1]
    assert plan_of(table, key=b"one")[1] != plan_of(table, key=b"other")[1]


def test_a_rehearsal_deals_the_values_of_everybody_who_is_shown():
    table = people_table(90, seed=3, shares=[0.7, 0.1, 0.1, 0.1])
    units = make_units(table, 3, SOME_LEFT_OUT, Coins(b"units"))
    values = Values.of(table, TWO, units.unit_of >= 0)
    for run in (1, 2):
        dealt = values.dealt(units, Coins(b"deal"), run)
        _, codes = dealt.columns["disease"]
        assert sorted(codes[values.shown]) == sorted(table.codes("disease")[values.shown])
        assert codes[~values.shown].tolist() == table.codes("disease")[~values.shown].tolist()
        assert (
            dealt.overall["disease"].tolist() == np.bincount(codes[units.unit_of >= 0], minlength=4).tolist()
        )
    assert values.dealt(units, Coins(b"a"), 1).columns["disease"][1].tolist() != codes.tolist()


# What can be asked for ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KEPT_BLINDLY)
def test_every_promise_about_classes_can_be_kept_blindly(name):
    table = people_table(400, seed=2)
    promises = Promises((KAnonymity(5), KEPT_BLINDLY[name]))
    outcome, how = group_people(table, promises, ANYBODY, "blind", Coins(b"promises"))
    assert how.blind
    recoding = outcome.recoding
    classes = recoding.classes(recoding.class_of, promises.sensitive)
    assert promises.holds_on(classes).all()
    assert recoding.suppressed == 0


def test_people_who_break_a_promise_all_together_are_refused_in_plain_words():
    table = people_table(200, shares=[0.95, 0.05, 0.0, 0.0])
    promises = Promises((KAnonymity(5), ConfidenceBounding("disease", Fraction(1, 2))))
    with pytest.raises(Infeasible, match="without looking at who has which value") as refused:
        group_people(table, promises, ANYBODY, "blind", Coins(b"refused"))
    assert "grouping: informed" in refused.value.remedy
    outcome, how = group_people(table, promises, ANYBODY, "default", Coins(b"refused"))
    assert outcome is None
    assert "would lose about" in how.reason


def test_rows_that_were_left_out_beforehand_count_as_left_out():
    """Person numbers then have gaps, and nobody else may be left out."""
    table = people_table(203, missing=2)
    gaps = Microdata.of_codes(
        table.columns,
        [table.codes(column.name) for column in table.columns],
        person=table.person * 3 + 1,
        dropped=2,
    )
    outcome, how = group_people(
        gaps, TWO, Aim(compared=("local", "mondrian"), suppress=Fraction(2, 205)), "blind", Coins(b"gaps")
    )
    assert how.blind
    assert outcome.recoding.suppressed == 2


def test_dear_columns_are_kept_finer():
    table = people_table(400, seed=2)
    widths = {}
    for dear in ("age", "town"):
        aim = Aim(compared=("local", "mondrian"), weights={dear: Fraction(20)})
        outcome, _ = group_people(table, TWO, aim, "blind", Coins(b"weights"))
        recoding = outcome.recoding
        widths[dear] = (recoding.rows[:, None] * (recoding.high - recoding.low)).sum(axis=0)
    assert widths["age"][0] < widths["town"][0]
    assert widths["town"][1] < widths["age"][1]


def test_sizes_that_are_rehearsed_grow():
    assert unit_sizes(5) == [5, 6, 7, 9, 11, 14]
    assert unit_sizes(2) == sorted(set(unit_sizes(2)))


def test_nothing_is_joined_alone_and_nothing_that_need_not_be():
    """A table in which every unit keeps the promise: what is joined are decoys, never one alone."""
    table = people_table(800, seed=4, values=Taxonomy.flat([f"d{i}" for i in range(50)]))
    units = make_units(table, 4, ANYBODY, Coins(b"decoys"))
    promises = Promises((KAnonymity(4), DistinctLDiversity("disease", 1)))
    values = Values.of(table, promises, units.unit_of >= 0)
    joined = sum(
        (np.bincount(joined_units(units, values, Coins(bytes([key])))) > 1).sum() for key in range(20)
    )
    blocks = 20 * len(units.can_join)
    assert blocks / 40 < joined < blocks / 10
    sizes = np.bincount(joined_units(units, values, Coins(b"x")))
    assert set(sizes.tolist()) <= {1, 2}


def test_stuck_blocks_are_joined_with_blocks_of_their_kind():
    """One value is rare and stands together: most blocks cannot keep the promise alone."""
    table = people_table(800, seed=4)
    ages = table.codes("age")[np.argsort(table.person)]
    together = with_values(table, np.where(ages < 8, 1, 0).astype(np.int32))
    promises = Promises((KAnonymity(4), DistinctLDiversity("disease", 2)))
    units = make_units(together, 4, ANYBODY, Coins(b"stuck"))
    values = Values.of(together, promises, units.unit_of >= 0)
    group_of = joined_units(units, values, Coins(b"join"))
    groups = BlindGroups(together, ANYBODY, units, 4, 0.0, 0.0, 0)
    recoding = groups.recoding(group_of)
    assert promises.holds_on(recoding.classes(recoding.class_of, ["disease"])).all()
    for group in np.flatnonzero(np.bincount(group_of) > BLOCK_UNITS):
        held = np.flatnonzero(group_of == group)
        assert len(set(units.kind[held])) == 1
        for block in set(units.block[held]):
            assert (group_of[units.block == block] == group).all()
