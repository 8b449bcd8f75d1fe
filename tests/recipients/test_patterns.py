"""All patterns of small tables against the written definitions, pattern by pattern."""

from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.exhaustive_lattice import all_nodes, recode
from sfumato.models.contract import Answer, IncrementalChecker, Promises, TablePromise
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.recipients.pattern_quality import EXACT, METRICS
from sfumato.recipients.patterns import MOST_PATTERNS, classify
from sfumato.search.contract import Aim
from sfumato.search.loss import measure
from sfumato.system.errors import BrokenPromise, UsageError
from sfumato.table.classes import Classes
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import ROOT, Taxonomy
from strategies import tables

pytestmark = pytest.mark.slow

MEASURED = {**{name: name for name in METRICS}, "sweeney": "precision"}
del MEASURED["precision"]

some_tables = tables(rows=12, keys=3, leaves=4, people=True, min_rows=1)
some_promises = st.sampled_from(
    [
        Promises((KAnonymity(2),)),
        Promises((KAnonymity(3),)),
        Promises((KAnonymity(2), DistinctLDiversity("s0", 2))),
        Promises((TCloseness("s0", Fraction(1, 3)), KAnonymity(2))),
    ]
)
some_aims = st.builds(
    Aim,
    suppress=st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]),
    weights=st.sampled_from([{}, {"q0": Fraction(3, 2)}, {"q1": Fraction(0)}]),
)


def plain(table, promises, aim, levels):
    """One pattern by the written definitions: recoding as far as it was asked, k, classes, allowed."""
    whole = recode(table, promises, levels)
    class_of, _ = classes_under(table, whole.cuts)
    classes = Classes.of(table, class_of, sensitive=())
    allowed = whole.suppressed <= aim.allowed(table) and whole.count > 0
    of_size = Promises(tuple(p for p in promises if not p.sensitive))
    recoding = whole if allowed else recode(table, of_size, levels)
    return recoding, int(classes.people.min()), len(classes), allowed


@settings(max_examples=60)
@given(some_tables, some_promises, some_aims)
def test_every_pattern_is_what_the_definitions_say(table, promises, aim):
    found = classify(table, promises, aim)
    assert found.count == prod(found.shape) == len(all_nodes(table))
    for at, levels in enumerate(all_nodes(table)):
        assert found.levels(at) == levels and found.index(levels) == at
        recoding, k, classes, allowed = plain(table, promises, aim, levels)
        assert (found.k[at], found.classes[at], found.allowed[at]) == (k, classes, allowed)
        assert found.suppressed[at] == recoding.suppressed
        published = Classes.of(table, recoding.class_of, sensitive=()).people
        assert found.smallest[at] == (published.min() if len(published) else 0)
        assert found.cuts(at) == recoding.cuts
        for name, loss in MEASURED.items():
            expected = measure(loss, recoding, found.named(at), aim.weights)
            assert float(found.value(name, at)) == pytest.approx(expected, rel=1e-9, abs=1e-9), name


@given(some_tables, st.integers(1, 4))
def test_precision_is_the_sum_of_level_over_height(table, k):
    found = classify(table, Promises((KAnonymity(k),)))
    heights = [max(1, size - 1) for size in found.shape]
    for at in range(found.count):
        levels = found.levels(at)
        assert found.value("precision", at) == sum(map(Fraction, levels, heights))
        assert found.value("height", at) == sum(levels)


@given(some_tables)
def test_k_and_the_monotone_metrics_never_fall_towards_the_general(table):
    found = classify(table, Promises((KAnonymity(1),)))
    for lower, upper in combinations(range(found.count), 2):
        if all(a <= b for a, b in zip(found.levels(lower), found.levels(upper), strict=True)):
            assert found.k[lower] <= found.k[upper]
            assert found.classes[lower] >= found.classes[upper]
            for name in ("height", "precision"):
                assert found.metric(name)[lower] < found.metric(name)[upper]
            for name in ("discernibility-star", "loss", "entropy"):
                assert found.metric(name)[lower] <= found.metric(name)[upper] * (1 + 1e-12) + 1e-9


@given(tables(rows=12, keys=3, leaves=4, min_rows=1), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(table, k, random):
    order = list(range(len(table.columns)))
    random.shuffle(order)
    columns = [table.columns[j] for j in order]
    codes = [table.codes(c.name) for c in columns]
    moved = Microdata.of_codes(columns, codes, counts=table.counts)
    one, other = (classify(t, Promises((KAnonymity(k),)), Aim(Fraction(1, 4))) for t in (table, moved))
    for at in range(one.count):
        there = other.index([one.named(at)[name] for name in other.names])
        assert one.k[at] == other.k[there] and one.allowed[at] == other.allowed[there]
        for name in METRICS:
            assert float(one.value(name, at)) == pytest.approx(float(other.value(name, there)), abs=1e-9)


@given(some_tables)
def test_ranks_say_what_can_be_made_from_what(table):
    found = classify(table, Promises((KAnonymity(1),)))
    shown = []
    for at in range(found.count):
        cuts = found.cuts(at)
        shown.append([(c.taxonomy, cuts[c.name].node_of[table.codes(c.name)]) for c in table.keys])
    for a in range(found.count):
        for b in range(found.count):
            makes = all(
                ((coarse <= fine) & (fine < tree.end[coarse])).all()
                for (tree, fine), (_, coarse) in zip(shown[a], shown[b], strict=True)
            )
            assert makes == bool((found.ranks[:, a] <= found.ranks[:, b]).all())


def column(name, height, leaves=2):
    """A chain of `height` levels above the leaves."""
    labels = [f"{name}{i}" for i in range(leaves)] + [f"{name}^{i}" for i in range(1, height)] + ["*"]
    parent = [leaves] * leaves + [leaves + i + 1 for i in range(height - 1)] + [-1]
    return Column(name, Role.QUASI, Taxonomy.grow(labels, parent))


def test_wide_keys_are_looked_at_one_by_one():
    rng = np.random.default_rng(5)
    columns = [Column(f"w{j}", Role.QUASI, Taxonomy.flat([str(i) for i in range(3000)])) for j in range(6)]
    codes = [rng.integers(0, 2, 40).astype(np.int32) for _ in columns]
    table = Microdata.of_codes(columns, codes)
    promises = Promises((KAnonymity(2),))
    found = classify(table, promises, Aim(Fraction(1, 4)))
    for at in range(0, found.count, 7):
        recoding, k, classes, allowed = plain(table, promises, found.aim, found.levels(at))
        assert (found.k[at], found.classes[at], found.allowed[at]) == (k, classes, allowed)
        assert float(found.value("loss", at)) == pytest.approx(measure("loss", recoding))


class Coarse(TablePromise):
    """A table promise: the first column is at the root. What is finer never keeps it."""

    name, monotone = "coarse", True

    def watch(self, table):  # noqa: ARG002
        return CoarseWatch()

    def verdict_on(self, table, cuts):  # noqa: ARG002
        raise AssertionError("nobody asked")

    def __str__(self):
        return "coarse"


class CoarseWatch(IncrementalChecker):
    def ask(self, cuts, step=None):  # noqa: ARG002
        return (Answer.YES if cuts["a"].nodes.tolist() == [ROOT] else Answer.NEVER), "not at the root"

    def accept(self, cuts):  # noqa: ARG002
        raise AssertionError("classifying moves nowhere")


def test_a_promise_about_the_table_as_a_whole_is_asked():
    table = Microdata.of_codes([column("a", 2), column("b", 1)], [np.zeros(4, int), np.arange(4) % 2])
    found = classify(table, Promises((KAnonymity(2), Coarse())))
    assert [found.levels(at) for at in np.flatnonzero(found.allowed)] == [(2, 0), (2, 1)]
    with pytest.raises(UsageError, match="as a whole"):
        classify(table, Promises((Coarse(),)), Aim(Fraction(1, 2)))


def test_a_table_without_keys_has_one_pattern():
    table = Microdata.of_codes([], [], counts=np.array([3]))
    found = classify(table, Promises((KAnonymity(2),)))
    assert (found.count, found.k.tolist(), found.allowed.tolist()) == (1, [3], [True])
    assert found.levels(0) == () and found.cuts(0) == {}
    assert [float(found.value(name, 0)) for name in METRICS] == [0, 0, 0, 9, 9, 0, 0, 0, 3]


def test_nonsense_is_refused():
    table = Microdata.of_codes([column("a", 2), column("b", 1)], [np.zeros(4, int), np.arange(4) % 2])
    found = classify(table, Promises((KAnonymity(2),)))
    for levels in ((0,), (3, 0), (-1, 0), (0, 0, 0)):
        with pytest.raises(UsageError):
            found.index(levels)
    with pytest.raises(UsageError, match="no metric 'beauty'"):
        found.metric("beauty")
    wide = Microdata.of_codes([column(f"c{j}", 9) for j in range(7)], [np.zeros(2, int)] * 7)
    with pytest.raises(UsageError, match=f"at most {MOST_PATTERNS:,}"):
        classify(wide, Promises((KAnonymity(2),)))
    dropped = Microdata.of_codes([column("a", 2)], [np.zeros(4, int)], dropped=2)
    with pytest.raises(BrokenPromise):
        classify(dropped, Promises((KAnonymity(2),)))


def test_exact_metrics_are_integers():
    table = Microdata.of_codes([column("a", 2), column("b", 3)], [np.zeros(4, int), np.arange(4) % 2])
    found = classify(table, Promises((KAnonymity(2),)), Aim(weights={"a": Fraction(2, 5)}))
    for name in EXACT:
        assert found.metric(name).dtype == np.int64
    assert (found.scale("height"), found.scale("precision"), found.scale("discernibility")) == (5, 15, 1)
    assert found.value("precision", found.index((1, 2))) == Fraction(2, 5) / 2 + Fraction(2, 3)
