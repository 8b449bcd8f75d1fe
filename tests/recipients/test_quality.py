"""Quality classes, antichains and what can be expected of them, against enumeration."""

from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from recipients.antichains import is_antichain
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.recipients.pattern_quality import (
    METRICS,
    agreements,
    best_class,
    expected_capacity,
    expected_sizes,
    largest_antichain,
    quality_classes,
)
from sfumato.recipients.patterns import classify
from sfumato.search.contract import Aim
from sfumato.system.errors import UsageError
from strategies import tables

pytestmark = pytest.mark.slow

some_tables = tables(rows=12, keys=3, leaves=4, min_rows=1)
tolerances = st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 3), Fraction(2)])


def comparable(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) or all(x >= y for x, y in zip(a, b, strict=True))


def brute_force(points):
    """The size of a largest antichain, by trying all sets."""
    apart = [[not comparable(a, b) for b in points] for a in points]

    def grow(chosen, rest):
        best = len(chosen)
        for i, v in enumerate(rest):
            if best >= len(chosen) + len(rest) - i:
                break
            best = max(best, grow([*chosen, v], [w for w in rest[i + 1 :] if apart[v][w]]))
        return best

    return grow([], list(range(len(points))))


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=13, unique=True), st.randoms())
def test_no_antichain_is_larger(points, random):
    found = largest_antichain(np.array(points, int).reshape(-1, 3))
    chosen = [points[i] for i in found]
    assert len(chosen) == brute_force(points)
    assert not any(comparable(a, b) for a, b in combinations(chosen, 2))
    assert is_antichain(np.array(chosen, int).reshape(-1, 3))
    random.shuffle(points)
    again = largest_antichain(np.array(points, int).reshape(-1, 3))
    assert {points[i] for i in again} == set(chosen)


@pytest.mark.parametrize("columns", [40, 3])
def test_many_columns_and_many_points(columns):
    rng = np.random.default_rng(columns)
    points = np.unique(rng.integers(0, 4, (300, columns)), axis=0)
    chosen = points[largest_antichain(points)]
    assert is_antichain(chosen)
    if columns == 40:
        assert len(chosen) == len(points)
    assert is_antichain(points) == (len(chosen) == len(points))


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (2, 2, 3), (4, 2, 3), (5,), (2, 2, 2, 2)])
def test_the_widest_height_is_the_largest_antichain_of_a_whole_lattice(shape):
    points = list(product(*map(range, shape)))
    heights = [sum(p) for p in points]
    assert expected_sizes([range(n) for n in shape]) == {h: heights.count(h) for h in sorted(set(heights))}
    assert expected_capacity(shape) == len(largest_antichain(np.array(points)))
    if len(points) <= 18:
        assert expected_capacity(shape) == brute_force(points)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_the_capacity_above_a_base(shape, data):
    base = [data.draw(st.integers(0, n - 1)) for n in shape]
    above = [p for p in product(*map(range, shape)) if all(a >= b for a, b in zip(p, base, strict=True))]
    assert expected_capacity(shape, base) == brute_force(above)


@settings(max_examples=50)
@given(some_tables, st.integers(1, 3), st.sampled_from(sorted(METRICS)), tolerances)
def test_quality_classes_partition_the_allowed_patterns(table, k, metric, tolerance):
    patterns = classify(table, Promises((KAnonymity(k),)), Aim(Fraction(1, 4)))
    found = quality_classes(patterns, metric, tolerance=tolerance)
    members = [m for one in found for m in one.members.tolist()]
    assert sorted(members) == np.flatnonzero(patterns.allowed).tolist()
    bounds = [(float(one.quality), float(one.worst)) for one in found]
    for best, worst in bounds:
        assert best <= worst <= best * (1 + tolerance) * (1 + 1e-10)
    for (best, worst), (following, _) in pairwise(bounds):
        assert worst < following and following > best * (1 + tolerance)
    first = best_class(patterns, metric, tolerance=tolerance)
    assert (first is None) == (not found)
    if first is not None:
        assert first.members.tolist() == found[0].members.tolist()
        points = list({tuple(patterns.ranks[:, m]) for m in first.members})
        chosen = [tuple(patterns.ranks[:, m]) for m in first.antichain()]
        assert set(first.antichain()) <= set(first.members)
        assert is_antichain(np.array(chosen).reshape(len(chosen), -1))
        if len(points) <= 12:
            assert len(chosen) == brute_force(points)


@given(some_tables, st.integers(1, 3), st.sampled_from(["height", "precision"]))
def test_equal_height_or_precision_is_an_antichain_as_it_is(table, k, metric):
    patterns = classify(table, Promises((KAnonymity(k),)))
    for one in quality_classes(patterns, metric):
        assert is_antichain(patterns.grid[:, one.members].T)
        if (patterns.ranks == patterns.grid).all():
            assert one.antichain().tolist() == one.members.tolist()


@given(some_tables, st.sampled_from(["height", "precision"]))
def test_expected_sizes_are_met_where_everything_is_allowed(table, metric):
    patterns = classify(table, Promises((KAnonymity(1),)))
    columns, scale = patterns.steps(metric)
    found = {one.quality: len(one) for one in quality_classes(patterns, metric)}
    assert found == {Fraction(v, scale): n for v, n in expected_sizes(columns).items()}


@given(some_tables, st.integers(1, 3), tolerances)
def test_agreement_of_metrics(table, k, tolerance):
    patterns = classify(table, Promises((KAnonymity(k),)))
    found = agreements(patterns, ("height", "precision", "loss", "height"), tolerance=tolerance)
    assert len(found) == 6
    for one in found:
        assert 0 <= one.best <= 1 and one.together <= 1 and -1.000001 <= one.order <= 1.000001
        if one.metrics == ("height", "height"):
            assert one.together == 1 == one.best
            same = len(set(patterns.metric("height")[patterns.allowed].tolist())) <= 1
            assert one.order == pytest.approx(0.0 if same else 1.0)


def test_metrics_are_compared_by_public_words():
    """The patterns of the paper's Table IV, and how far two of its metrics agree on them."""
    tree = {"tree": {"*": ["m", "f"]}}
    columns = {
        "gender": {"role": "quasi", "taxonomy": tree},
        "birthdate": {"role": "quasi", "taxonomy": {"date": ["month", "year"]}},
    }
    policy = {"columns": columns, "promises": [{"k-anonymity": {"k": 2}}], "protect": {"search": "top-down"}}
    born = ["1970-03-18", "1970-03-19", "1970-04-20", "1970-04-21"]
    people = pl.DataFrame({"gender": ["m", "m", "f", "f"], "birthdate": born})
    found = sf.patterns(people, policy, quality="height", compare=["precision", "height"])
    assert "height / precision" in str(found)
    (one,) = found.as_dict()["agreements"]
    both = agreements(found, ["height", "precision"])[0]
    assert one["metrics"] == ["height", "precision"] and one["order"] == both.order
    labels = [[found.value(m, at) for at in np.flatnonzero(found.allowed).tolist()] for m in both.metrics]
    pairs = list(combinations(range(len(labels[0])), 2))
    same = [[values[i] == values[j] for i, j in pairs] for values in labels]
    both_same = sum(a and b for a, b in zip(*same, strict=True))
    chance, most = Fraction(sum(same[0]) * sum(same[1]), len(pairs)), Fraction(sum(map(sum, same)), 2)
    assert both.together == (both_same - chance) / (most - chance) == Fraction(one["together"])
    assert sf.patterns(people, policy, quality="height").as_dict()["agreements"] == []
    with pytest.raises(UsageError, match="no metric"):
        sf.patterns(people, policy, compare=["beauty"])


@given(some_tables)
def test_a_negative_tolerance_is_refused(table):
    with pytest.raises(UsageError, match="not negative"):
        quality_classes(classify(table, Promises((KAnonymity(1),))), "loss", tolerance=Fraction(-1))


def test_too_many_patterns_are_refused():
    with pytest.raises(UsageError, match="Narrow"):
        largest_antichain(np.zeros((40_001, 2), int))
