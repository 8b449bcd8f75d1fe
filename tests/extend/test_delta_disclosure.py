"""A class promise of another package needs three methods and one attribute, and nothing else."""

from __future__ import annotations

import ast
import inspect
from fractions import Fraction
from math import log

import polars as pl
import pytest

import sfumato as sf
from extend.delta_disclosure import DeltaDisclosure
from sfumato.extend import check_promise
from sfumato.models import registry as promises
from sfumato.models.contract import ClassPromise, Promise
from sfumato.policy.policy import Policy
from sfumato.workflows.protect_file import protect_file

PEOPLE = pl.DataFrame(
    {
        "zip": ["021", "021", "022", "022", "031", "031", "032", "032"],
        "disease": ["flu", "cold", "cold", "flu", "flu", "flu", "flu", "cold"],
    }
)


def policy(delta):
    return {
        "columns": {
            "zip": {"role": "quasi", "taxonomy": {"prefix": [2]}},
            "disease": {"role": "sensitive"},
        },
        "promises": [{"delta-disclosure": {"of": "disease", "delta": delta}}],
        "protect": {"search": "lattice", "suppress": 0},
        "confirm": {"disease": True},
    }


JUDGE = """
from extend.delta_disclosure import judged_again
from sfumato.extend import second_judge

second_judge("delta-disclosure")(judged_again)
"""


@pytest.fixture
def installed(install):
    groups = {
        "sfumato.promises": {"delta-disclosure": "extend.delta_disclosure:DeltaDisclosure"},
        "sfumato.second_judges": {"delta-disclosure": "disclosure"},
    }
    install("disclosure", JUDGE, groups)


def test_it_has_three_methods_and_one_attribute_of_its_own():
    (body,) = ast.parse(inspect.getsource(DeltaDisclosure)).body
    methods = [part.name for part in body.body if isinstance(part, ast.FunctionDef)]
    attributes = [target.id for part in body.body if isinstance(part, ast.Assign) for target in part.targets]
    assert methods == ["holds_on", "verdict", "__str__"]
    assert attributes == ["keys"]
    assert DeltaDisclosure.name == "delta-disclosure"


def test_it_passes_the_conformance_suite():
    check_promise(DeltaDisclosure("s", Fraction(3, 2)))


@pytest.mark.parametrize("delta", ["1/10", "3/10", "1/2", 3])
def test_a_table_is_protected_by_its_definition(installed, delta):  # noqa: ARG001
    plan = sf.protect(PEOPLE, policy(delta))
    published = plan.apply(PEOPLE)
    everywhere = published["disease"].value_counts().rows()
    for _, group in published.group_by("zip"):
        held = dict(group["disease"].value_counts().rows())
        for value, count in everywhere:
            share = Fraction(held.get(value, 0), len(group))
            assert share > 0
            assert abs(log(share / Fraction(count, len(published)))) < Fraction(delta)
    assert [verdict.holds for verdict in plan.verdicts] == [True]
    assert published["zip"].n_unique() == {"1/10": 1, "3/10": 1, "1/2": 2, 3: 2}[delta]


def test_what_is_published_is_judged_again_and_written(installed, tmp_path):  # noqa: ARG001
    rules = Policy.from_dict(policy("1/2"))
    assert rules.to_dict()["promises"] == [{"delta-disclosure": {"of": "disease", "delta": "1/2"}}]
    source, safe = tmp_path / "people.csv", tmp_path / "safe.csv"
    PEOPLE.write_csv(source)
    protect_file(source, rules, safe)
    assert pl.read_csv(safe).height == PEOPLE.height
    assert [verdict.holds for verdict in sf.audit(safe, rules).verdicts] == [True]


def test_it_goes_when_the_package_goes():
    assert "delta-disclosure" not in promises.known()


@pytest.mark.parametrize(("kind", "most"), [(Promise, 30), (ClassPromise, 35)])
def test_the_contract_of_a_promise_stays_small(kind, most):
    names = {name for base in kind.__mro__[:-1] for name in (*vars(base), *base.__annotations__)}
    assert len([name for name in names if not name.startswith("_")]) <= most
