"""Top-down is minimal; the exact search finds what exhaustive search finds; nothing beats it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from experiments.freeform_cost import blanking, compare, withholding

from models.freeform.node_tables import random_case
from oracles import freeform as definition
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search.contract import Aim
from sfumato.search.explanation import explain
from sfumato.search.optimum import mean_loss, optimum
from sfumato.search.top_down import top_down
from sfumato.system.errors import UsageError
from sfumato.table.classes import Classes
from sfumato.table.recoding import classes_under
from strategies import all_cuts

pytestmark = pytest.mark.slow


def safe(table, promise, cuts, others=()):
    if definition.breaches(promise.node_table(table, cuts), promise.threat):
        return False
    class_of, _ = classes_under(table, cuts)
    classes = Classes.of(table, class_of)
    return all(p.holds_on(classes).all() for p in others)


@pytest.mark.parametrize("loss", ["loss", "discernibility"])
def test_no_single_specialization_of_the_result_is_safe(loss):
    rng = np.random.default_rng(len(loss))
    stopped = 0
    for _ in range(120):
        table, promise, _ = random_case(rng, leaves=5)
        others = (KAnonymity(2),) if rng.random() < 0.4 and table.rows >= 2 else ()
        cuts = top_down(table, Promises((promise, *others)), Aim(loss=loss)).recoding.cuts
        assert safe(table, promise, cuts, others)
        for name, cut in cuts.items():
            for node in cut.specializations.tolist():
                assert not safe(table, promise, {**cuts, name: cut.specialize(node)}, others)
                stopped += 1
    assert stopped > 50


def test_the_exact_search_finds_the_optimum():
    rng = np.random.default_rng(11)
    beaten = 0
    for _ in range(120):
        table, promise, _ = random_case(rng, leaves=4)
        losses = []
        for choice in itertools.product(*(all_cuts(c.taxonomy) for c in table.keys)):
            cuts = {c.name: cut for c, cut in zip(table.keys, choice, strict=True)}
            if not definition.breaches(promise.node_table(table, cuts), promise.threat):
                losses.append(mean_loss(table, cuts))
        found = compare(table, promise)
        assert found.best.optimal and found.best.loss == min(losses) == mean_loss(table, found.best.cuts)
        assert safe(table, promise, found.best.cuts)
        assert found.greedy >= found.best.loss and found.withholding >= found.best.loss
        assert found.gap == found.greedy - found.best.loss
        beaten += found.greedy > found.best.loss
    assert beaten


def test_weights_count():
    rng = np.random.default_rng(12)
    for _ in range(40):
        table, promise, _ = random_case(rng, leaves=3)
        weights = {c.name: Fraction(int(rng.integers(1, 6)), 3) for c in table.keys}
        losses = []
        for choice in itertools.product(*(all_cuts(c.taxonomy) for c in table.keys)):
            cuts = {c.name: cut for c, cut in zip(table.keys, choice, strict=True)}
            if not definition.breaches(promise.node_table(table, cuts), promise.threat):
                losses.append(mean_loss(table, cuts, weights))
        assert optimum(table, promise, weights=weights).loss == min(losses)


def test_the_exact_mean_loss_is_the_measured_one():
    rng = np.random.default_rng(13)
    for _ in range(40):
        table, promise, _ = random_case(rng)
        found = top_down(table, Promises((promise,)), Aim())
        assert float(mean_loss(table, found.recoding.cuts)) == pytest.approx(found.loss, abs=1e-12)


def test_a_deadline_leaves_a_bound():
    rng = np.random.default_rng(14)
    open_ends = 0
    for _ in range(60):
        table, promise, _ = random_case(rng, leaves=5, rows=30)
        best = optimum(table, promise).loss
        stopped = optimum(table, promise, most=1)
        assert stopped.bound <= best <= stopped.loss
        assert safe(table, promise, stopped.cuts)
        open_ends += not stopped.optimal
    assert open_ends > 5


def test_the_exact_search_starts_with_something_safe():
    rng = np.random.default_rng(15)
    for _ in range(50):
        table, promise, cuts = random_case(rng)
        if not safe(table, promise, cuts):
            with pytest.raises(UsageError, match="break the promise"):
                optimum(table, promise, start=cuts)
            return
    raise AssertionError("no random case was unsafe")


def test_withholding_leaves_nothing_to_infer():
    rng = np.random.default_rng(16)
    for _ in range(60):
        table, promise, _ = random_case(rng)
        node_table = promise.node_table(table, withholding(table, promise))
        assert definition.attacks(node_table) == {}
        assert 0 <= blanking(table, promise) <= 1


def test_an_explanation_names_what_stops_each_step():
    rng = np.random.default_rng(17)
    named = 0
    for _ in range(60):
        table, promise, _ = random_case(rng, leaves=5)
        promises = Promises((promise,))
        recoding = top_down(table, promises, Aim()).recoding
        told = explain(recoding, promises)
        for column in table.keys:
            story = told[column.name]
            published = np.unique(recoding.cuts[column.name].node_of[table.codes(column.name)])
            steps = [v for v in published.tolist() if column.taxonomy.end[v] > v + 1]
            assert story.possible == len(steps) == sum(story.blocked.values())
            for step in story.steps:
                assert step.promise == str(promise) and "would infer" in step.reason
                assert step.reason in story.sentence or step is not story.steps[0]
                named += 1
    assert named > 20


def test_values_of_an_explanation_are_for_those_who_ask():
    import sfumato as sf
    from models.freeform.node_tables import Freeform
    from papers.test_wang_2009 import POLICY, T1

    told = sf.protect(T1, POLICY).explain()
    shown = str(told) + str(told.as_dict()) + repr(told) + told._repr_html_()
    assert "AIDS" not in shown and "High" not in shown
    assert told.values() == [
        "Disease: whoever sees Sex = M and Income = High would infer Disease = AIDS: right for 2 of 2 rows,"
        " threat 1"
    ]
    many = sf.protect(T1.loc[T1.index.repeat(5)], POLICY).explain()
    assert "Income = High" in str(many) and Freeform.name in str(many)


def test_with_l_diversity_in_one_run():
    """A sensitive column beside free ones: each promise looks at its own."""
    rng = np.random.default_rng(18)
    from sfumato.table.microdata import Column, Microdata, Role
    from sfumato.table.taxonomy import Taxonomy

    for _ in range(30):
        table, promise, _ = random_case(rng)
        secret = Column("s", Role.SENSITIVE, Taxonomy.flat(["a", "b", "c"]))
        codes = [table.codes(c.name) for c in table.columns]
        values = rng.integers(0, 3, table.distinct)
        values[: 2 % (table.distinct + 1)] = [0, 1][: 2 % (table.distinct + 1)]
        both = Microdata.of_codes([*table.columns, secret], [*codes, values], counts=table.counts)
        diverse = DistinctLDiversity("s", 2)
        if len(np.unique(values)) < 2:
            continue
        cuts = top_down(both, Promises((promise, diverse)), Aim()).recoding.cuts

        def keeps(cuts, both=both, diverse=diverse, promise=promise):
            class_of, _ = classes_under(both, cuts)
            classes = Classes.of(both, class_of, sensitive=("s",))
            broken = definition.breaches(promise.node_table(both, cuts), promise.threat)
            return diverse.holds_on(classes).all() and not broken

        assert keeps(cuts)
        for name, cut in cuts.items():
            for node in cut.specializations.tolist():
                assert not keeps({**cuts, name: cut.specialize(node)})
