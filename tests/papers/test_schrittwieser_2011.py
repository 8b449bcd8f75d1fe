"""Tables I to V of the paper on fingerprinting by generalization patterns, with its corrections."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

from papers.schrittwieser_2011 import SETS_V, table_i, table_v
from recipients.antichains import is_antichain
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.recipients.pattern_quality import expected_capacity, expected_sizes, quality_classes
from sfumato.recipients.patterns import classify

TWO = Promises((KAnonymity(2),))


@pytest.fixture(scope="module")
def patterns():
    return classify(table_i(), TWO)


def at(patterns, *levels):
    return patterns.index(levels)


def test_table_i_is_not_anonymous_and_tables_ii_and_iii_are(patterns):
    """Table II is the pattern (0, 2), Table III the pattern (1, 1)."""
    assert [patterns.k[at(patterns, *levels)] for levels in ((0, 0), (0, 2), (1, 1))] == [1, 2, 2]


@pytest.mark.parametrize(
    ("levels", "height", "precision", "star", "k"),
    [
        ((0, 0), 0, 0, 4, 1),
        ((1, 0), 1, 1, 4, 1),
        ((0, 1), 1, Fraction(1, 2), 8, 2),
        ((0, 2), 2, 1, 8, 2),
        ((1, 1), 2, Fraction(3, 2), 8, 2),
        ((1, 2), 3, 2, 16, 4),
    ],
)
def test_table_iv(patterns, levels, height, precision, star, k):
    i = at(patterns, *levels)
    found = [patterns.value(name, i) for name in ("height", "precision", "discernibility-star")]
    assert [*found, patterns.k[i]] == [height, precision, star, k]
    assert float(patterns.value("sweeney", i)) == pytest.approx(float(precision) / 2) or k < 2


def test_the_discernibility_of_every_pattern_with_k_2(patterns):
    assert patterns.metric("discernibility").tolist() == [16, 8, 8, 16, 8, 16]


def test_discernibility_is_not_monotone_and_its_modification_is(patterns):
    dm, star = patterns.metric("discernibility"), patterns.metric("discernibility-star")
    assert dm[at(patterns, 0, 0)] > dm[at(patterns, 0, 1)] < dm[at(patterns, 1, 2)]
    assert star[at(patterns, 0, 0)] <= star[at(patterns, 0, 1)] <= star[at(patterns, 1, 2)]


def test_the_cluster_c1_is_the_height_2(patterns):
    classes = {one.quality: one for one in quality_classes(patterns, "height")}
    c1 = [patterns.levels(m) for m in classes[2].antichain()]
    assert sorted(c1) == [(0, 2), (1, 1)]
    assert is_antichain(np.array(c1))


def test_the_metrics_cluster_differently(patterns):
    """The paper asks for research on this: precision parts C1, DM* joins it with a finer pattern."""
    by_precision = [[patterns.levels(m) for m in c.members] for c in quality_classes(patterns, "precision")]
    assert by_precision == [[(0, 1)], [(0, 2)], [(1, 1)], [(1, 2)]]
    star = quality_classes(patterns, "discernibility-star")[0]
    assert [patterns.levels(m) for m in star.members] == [(0, 1), (0, 2), (1, 1)]
    assert [patterns.levels(m) for m in star.antichain()] == [(0, 2), (1, 1)]


def test_the_number_of_fingerprints(patterns):
    assert patterns.count == prod(patterns.shape) == 6
    assert expected_sizes([range(n) for n in patterns.shape]) == {0: 1, 1: 2, 2: 2, 3: 1}
    assert expected_capacity(patterns.shape) == 2


def test_table_v_is_2_anonymous_in_its_first_set_alone():
    everything, named = classify(table_v(), TWO), classify(table_v("birthdate", "zip"), TWO)
    assert everything.count == 18
    assert [everything.k[everything.index(p)] for p in SETS_V] == [2, 1, 1]
    assert [named.k[named.index(p[1:])] for p in SETS_V] == [2, 1, 2]
    assert is_antichain(np.array(SETS_V))


def test_what_all_three_know_together_is_not_anonymous():
    patterns = classify(table_v(), TWO)
    pooled = tuple(np.min(SETS_V, axis=0).tolist())
    assert pooled == (0, 1, 0) and patterns.k[patterns.index(pooled)] == 1
