"""Searches where people have several rows: judged by positions, against all recodings."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from search.checks import class_promises, fields
from sfumato.models.confidence.promise import ConfidenceBounding
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search.contract import Aim, Outcome
from sfumato.search.explanation import explain
from sfumato.search.groups import PositionGroups
from sfumato.search.lattice import lattice
from sfumato.search.loss import MEASURES, measure
from sfumato.search.mondrian import mondrian
from sfumato.search.optimum import mean_loss
from sfumato.search.optimum import search as optimum
from sfumato.search.plan import check_people, prove
from sfumato.search.refinement import Refinement, Specialization
from sfumato.search.suppression import keep, recoded
from sfumato.search.top_down import top_down
from sfumato.system.errors import Infeasible, UsageError
from sfumato.table.classes import Classes, positions
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import all_recodings, taxonomies

pytestmark = pytest.mark.slow


@st.composite
def visits(draw, *, people=6, keys=2, leaves=3, one_value=True):
    """People with one to three rows and, unless said otherwise, one value each."""
    columns = [
        Column(f"q{j}", Role.QUASI, draw(taxonomies(leaves=leaves, prefix=f"q{j}v"))) for j in range(keys)
    ]
    columns.append(Column("s0", Role.SENSITIVE, Taxonomy.flat(["x", "y", "z"])))
    rows = []
    for person in range(draw(st.integers(2, people))):
        value = draw(st.integers(0, 2))
        for _ in range(draw(st.sampled_from([1, 2, 2, 3]))):
            key = [draw(st.integers(0, len(c.taxonomy.leaves) - 1)) for c in columns[:-1]]
            rows.append([*key, value if one_value else draw(st.integers(0, 2)), person])
    *codes, person = np.array(rows, np.int32).T
    table = Microdata.of_codes(columns, codes, person=person).with_profiles()
    assume(table.profiles)
    return table


def kept_under(table, cuts, promises):
    """The positions under these cuts, and which are published, from scratch."""
    where = positions(table, classes_under(table, cuts)[0])
    classes = Classes.of(table, where)
    return classes, keep(classes, promises)


def lost_under(table, cuts, promises):
    classes, kept = kept_under(table, cuts, promises)
    return int(classes.rows[~kept].sum()), bool(kept.any())


def is_valid(table, cuts, promises, aim):
    lost, some = lost_under(table, cuts, promises)
    return lost <= aim.allowed(table) and some


aims = st.builds(Aim, st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2)]))


@given(visits(), class_promises(), aims, st.sampled_from(sorted(MEASURES)))
def test_the_lattice_finds_the_best_of_all_levels(table, promises, aim, loss):
    aim = Aim(aim.suppress, loss)
    scores = {}
    for levels in product(*(range(c.taxonomy.height + 1) for c in table.keys)):
        named = {c.name: i for c, i in zip(table.keys, levels, strict=True)}
        cuts = {c.name: Cut.level(c.taxonomy, named[c.name]) for c in table.keys}
        if is_valid(table, cuts, promises, aim):
            scores[levels] = measure(loss, recoded(table, cuts, promises), named)
    if not scores:
        with pytest.raises(Infeasible):
            lattice(table, promises, aim)
        return
    outcome = lattice(table, promises, aim)
    assert outcome.loss == pytest.approx(min(scores.values()))
    prove(outcome, promises, aim)


@given(visits(), class_promises(), aims, st.sampled_from(["loss", "discernibility"]))
def test_top_down_is_valid_and_minimal(table, promises, aim, loss):
    aim = Aim(aim.suppress, loss)
    roots = {c.name: Cut.root(c.taxonomy) for c in table.keys}
    if not is_valid(table, roots, promises, aim):
        with pytest.raises(Infeasible):
            top_down(table, promises, aim)
        return
    outcome = top_down(table, promises, aim)
    prove(outcome, promises, aim)
    cuts = outcome.recoding.cuts
    assert outcome.recoding.suppressed == lost_under(table, cuts, promises)[0]
    for name, cut in cuts.items():
        for node in cut.specializations:
            column, tree = table.codes(name), table.column(name).taxonomy
            if ((column >= tree.low[node]) & (column < tree.high[node])).any():
                assert not is_valid(table, {**cuts, name: cut.specialize(int(node))}, promises, aim)


@settings(max_examples=settings.default.max_examples // 2)
@given(visits(people=5), class_promises())
def test_the_optimum_is_the_best_of_all_cuts(table, promises):
    valid = [cuts for cuts in all_recodings(table) if is_valid(table, cuts, promises, Aim())]
    if not valid:
        with pytest.raises(Infeasible):
            optimum(table, promises, Aim())
        return
    outcome = optimum(table, promises, Aim())
    assert outcome.optimal
    assert mean_loss(table, outcome.recoding.cuts) == min(mean_loss(table, cuts) for cuts in valid)
    prove(outcome, promises, Aim())


@given(visits(one_value=False), st.data())
def test_positions_that_are_split_step_by_step_are_those_from_scratch(table, data):
    classes = Refinement(table)
    groups = PositionGroups(classes)
    cuts = {c.name: Cut.root(c.taxonomy) for c in table.keys}
    steps = [
        Specialization(j, int(v)) for j, c in enumerate(table.keys) for v in cuts[c.name].specializations
    ]
    while steps:
        step = data.draw(st.sampled_from(steps))
        name = table.keys[step.column].name
        cuts[name] = cuts[name].specialize(step.node)
        split = classes.split(step)
        change = groups.split(split)
        parts = groups.parts(("s0",), {})
        assert int(change.rows.sum()) == int(parts.rows.sum())
        groups.accept()
        classes.accept(split)
        steps = [
            Specialization(j, int(v)) for j, c in enumerate(table.keys) for v in cuts[c.name].specializations
        ]
        where = positions(table, classes_under(table, cuts)[0])
        ours = groups._position[table.person]
        pairs = set(zip(where.tolist(), ours.tolist(), strict=True))
        assert len(pairs) == len(set(where.tolist())) == len(set(ours.tolist())) == groups.count
        if not change.whole:
            fresh = Classes.of(table, ours)
            assert fields(fresh.pick(change.ids))[:2] == fields(parts)[:2]
            assert fields(fresh.pick(change.ids))[2]["s0"][1:3] == fields(parts)[2]["s0"][1:3]


@settings(max_examples=settings.default.max_examples // 2)
@given(visits(), class_promises(), aims)
def test_what_is_said_of_finer_steps_is_what_they_would_do(table, promises, aim):
    if promises.relative:
        return  # the explanation compares with what is published today
    try:
        outcome = top_down(table, promises, aim)
    except Infeasible:
        return
    told = explain(outcome.recoding, promises, allowed=aim.allowed(table))
    for name, cut in outcome.recoding.cuts.items():
        for step in told[name].steps:
            finer = {**outcome.recoding.cuts, name: cut.specialize(step.node)}
            lost = lost_under(table, finer, promises)[0]
            if not outcome.recoding.suppressed:
                assert step.cost == lost
            assert bool(step.promise) == (step.cost > 0)


def test_mondrian_is_refused():
    month = Column("month", Role.QUASI, Taxonomy.flat(["Jan", "Feb"]))
    table = Microdata.of_codes([month], [np.array([0, 1, 0, 1])], person=np.array([0, 0, 1, 1]))
    with pytest.raises(UsageError, match="all their rows"):
        mondrian(table.with_profiles(), Promises((KAnonymity(2),)), Aim())
    local = Outcome(mondrian(table, Promises((KAnonymity(1),)), Aim()).recoding, 0.0)
    prove(local, Promises((KAnonymity(1),)), Aim())


def test_people_are_suppressed_and_not_rows():
    month = Column("month", Role.QUASI, Taxonomy.flat(["Jan", "Feb"]))
    disease = Column("s0", Role.SENSITIVE, Taxonomy.flat(["burn", "cold", "flu", "HIV"]))
    when = [0, 1, 0, 0, 1, 1]
    has = [3, 3, 1, 2, 0, 1]
    who = [0, 0, 1, 2, 3, 4]
    codes = [np.array(when), np.array(has)]
    table = Microdata.of_codes([month, disease], codes, person=np.array(who)).with_profiles()
    promises = KAnonymity(2) & DistinctLDiversity("s0", 2)
    for search in (lattice, top_down):
        recoding = search(table, promises, Aim(Fraction(1, 3))).recoding
        assert recoding.suppressed == 2
        assert sorted(recoding.rows.tolist()) == [2, 2]
        assert set(table.person[recoding.class_of < 0].tolist()) == {0}


@given(visits(one_value=False))
def test_several_values_are_covered_only_by_how_many_people_have_each(table):
    torn = table.people_with_several_values("s0")
    half = ConfidenceBounding("s0", Fraction(1, 2))
    check_people(table, Promises((half, KAnonymity(2))))
    if torn:
        with pytest.raises(Exception, match="several values"):
            check_people(table, half & DistinctLDiversity("s0", 2))
    where = positions(table, classes_under(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys})[0])
    truth = half.holds_on(Classes.of(table, where))
    has, person = table.codes("s0"), table.person
    for p in range(len(truth)):
        everybody = set(person[where == p].tolist())
        most = max(len(set(person[(where == p) & (has == v)].tolist())) for v in range(3))
        assert bool(truth[p]) == (2 * most <= len(everybody))


def test_a_refusal_does_not_offer_to_suppress_rows_that_have_to_stay():
    """Nobody else has two rows, so whoever has them is suppressed at every level."""
    column = Column("q0", Role.QUASI, Taxonomy.flat(["v0", "v1"]))
    codes, person = np.array([0, 1, 1, 1, 1], np.int32), np.array([0, 0, 1, 2, 3], np.int32)
    table = Microdata.of_codes([column], [codes], person=person).with_profiles()
    with pytest.raises(Infeasible) as offered:
        lattice(table, Promises((KAnonymity(2),)), Aim())
    assert "suppress: 2/5" in offered.value.remedy
    with pytest.raises(Infeasible, match="or not the rows that have to stay") as refused:
        lattice(table, Promises((KAnonymity(2),)), Aim(never_suppress={"q0": ("v0",)}))
    assert refused.value.remedy == "Ask for less."
