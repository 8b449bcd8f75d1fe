"""β-likeness judged twice: by the promise on classes, by the second judge on the bytes of a file."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracles import class_promises as plain
from oracles.published_rows import as_csv
from sfumato.models.beta_likeness.judge import _grows_beyond
from sfumato.models.beta_likeness.promise import BasicBetaLikeness, EnhancedBetaLikeness
from sfumato.models.parameters import ReferenceDistribution
from sfumato.table.classes import is_below_log
from sfumato.table.taxonomy import Taxonomy
from verify.both import recheck
from verify.published_tables import KEYS, PATHS, policy, rows

VALUES = Taxonomy.flat(list(PATHS))
BETAS = st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(9)])


def counted(table):
    """The classes of the same table, as the promise sees them."""
    groups = {}
    for row in table:
        group = groups.setdefault(tuple(row[key] for key in KEYS), {})
        rank = VALUES.rank(row["disease"])
        group[rank] = group.get(rank, 0) + 1
    return plain.classes_of(VALUES, list(groups.values()), column="disease")


REFERENCES = st.none() | st.fixed_dictionaries({value: st.integers(0, 3) for value in PATHS if value}).filter(
    lambda counts: any(counts.values())
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=rows(), beta=BETAS, reference=REFERENCES)
def test_both_judges_say_the_same(tmp_path, table, beta, reference):
    path = tmp_path / "table.csv"
    path.write_bytes(as_csv(table, (*KEYS, "disease", "visits")))
    beside = {"of": "disease", "beta": str(beta)} | ({} if reference is None else {"reference": reference})
    made = [{"beta-likeness": {**beside, "kind": kind}} for kind in ("basic", "enhanced")]
    told = recheck(path, policy(made))
    known = None if reference is None else ReferenceDistribution.of(reference)
    for verdict, kind in zip(told, (BasicBetaLikeness, EnhancedBetaLikeness), strict=True):
        expected = kind("disease", beta, known).verdict(counted(table)) if table else None
        if expected is None:
            assert verdict.holds is True and verdict.measured is None
            continue
        assert (verdict.promise, verdict.holds) == (expected.promise, expected.holds)
        assert (verdict.people, verdict.classes) == (expected.people, expected.classes)
        if expected.measured is None:  # a value that nobody of the reference has
            assert verdict.measured is None and not verdict.holds
            continue
        assert float(verdict.measured) == pytest.approx(float(expected.measured))
        assert float(verdict.limit) == pytest.approx(float(expected.limit))


@pytest.mark.parametrize(
    ("exponent", "beyond"), [(Fraction(693147, 10**6), False), (Fraction(693148, 10**6), True)]
)
def test_the_series_tells_which_side_of_2_a_power_of_e_is(exponent, beyond):
    assert _grows_beyond(exponent, Fraction(2)) is beyond


@given(st.fractions(Fraction(1, 50), 8, max_denominator=60), st.fractions(1, 3000, max_denominator=60))
def test_the_series_agrees_with_the_logarithm(exponent, ratio):
    assert _grows_beyond(exponent, ratio) is not is_below_log(exponent, ratio.numerator, ratio.denominator)
