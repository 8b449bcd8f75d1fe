"""The names that packages of others may rely on, and parts that use nothing else."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

import sfumato as sf
from sfumato import extend
from sfumato.models import registry as promises
from sfumato.system.errors import BadPolicy, UsageError

PEOPLE = pl.DataFrame({"zip": ["1", "1", "2", "2", "2", "2"], "job": ["a", "b", "a", "b", "a", "b"]})
COLUMNS = {"zip": {"role": "quasi"}, "job": {"role": "sensitive"}}

PARTS = """
from dataclasses import dataclass
from fractions import Fraction
from sfumato.extend import (
    AttackMeasure, Bound, ClassPromise, ColumnParam, Finding, IntegerParam, ParametrizedPromise, Verdict,
    second_judge, second_verdict
)

WHISPERS = AttackMeasure("the people of the smallest class", Fraction(1), at_least=True)


@dataclass(frozen=True)
class Quiet(ParametrizedPromise, ClassPromise):
    of: str
    least: int

    name, monotone, hereditary = "quiet", True, True
    threats = ("eavesdropping", "linkage")
    keys = (ColumnParam("of"), IntegerParam("least"))

    @property
    def sensitive(self):
        return (self.of,)

    def limits(self):
        from sfumato.extend import RECOGNITION
        return (Bound(WHISPERS, Fraction(self.least)), Bound(RECOGNITION, Fraction(1, self.least)))

    def holds_on(self, classes):
        return classes.people >= self.least

    def verdict(self, classes):
        return Verdict(str(self), bool(self.holds_on(classes).all()), None, self.least)

    def __str__(self):
        return f"quiet about {self.of}, {self.least} people"


@second_judge("quiet")
def quiet(tally, promise):
    least = promise.least
    return second_verdict(promise, tally, tally.people < least, measured=None, limit=least)


class Eavesdropping:
    name, knows, seeks, succeeds = "eavesdropping", "a street", "who lives there", "few people live there"
    threatens = ("quiet",)

    def strike(self, published, limits):
        least, said = limits.limit(WHISPERS)
        few = int(published.classes.people.min(initial=10**9))
        heard = f"at least {few}, asked for {least} ({said})"
        return [Finding(self.name, "a neighbour", heard, Fraction(1, few), 0, few < least)]
"""
GROUPS = {
    "sfumato.promises": {"quiet": "parts:Quiet"},
    "sfumato.second_judges": {"quiet": "parts"},
    "sfumato.attacks": {"eavesdropping": "parts:Eavesdropping"},
}


@pytest.mark.parametrize("name", extend.__all__)
def test_every_stable_name_is_there(name):
    assert getattr(extend, name) is not None
    assert name in dir(extend)


def test_the_names_are_those_of_their_homes():
    from sfumato.models.contract import ClassPromise
    from sfumato.testing.promises import check_promise
    from sfumato.verify.registry import verdict

    assert (extend.ClassPromise, extend.second_verdict, extend.check_promise) == (
        ClassPromise,
        verdict,
        check_promise,
    )
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        extend.Nonsense  # noqa: B018


def test_importing_the_names_loads_nothing():
    code = (
        "import sys, sfumato.extend;"
        "ours = [m for m in sys.modules if m.startswith('sfumato.') and m != 'sfumato.extend'];"
        "print(ours, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "False"]


def policy(least):
    return {
        "columns": COLUMNS,
        "promises": [{"quiet": {"of": "job", "least": least}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"job": True},
    }


def test_a_promise_of_another_package_limits_attacks_of_ours_and_of_others(install):
    install("parts", PARTS, GROUPS)
    loose, strict = sf.audit(PEOPLE, policy(2)), sf.audit(PEOPLE, policy(3))
    assert {f.attack for f in loose.breaches} == set()
    assert {f.attack for f in strict.breaches} == {"eavesdropping", "linkage"}
    [heard] = sf.attack("eavesdropping", PEOPLE, policy(3)).findings
    assert heard.sentence == "at least 2, asked for 3 (promised)"
    unasked = {
        "columns": COLUMNS,
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"job": True},
    }
    [heard] = sf.attack("eavesdropping", PEOPLE, unasked).findings
    assert heard.sentence == "at least 2, asked for 1 (default)" and not heard.breach


@pytest.mark.parametrize(
    "old",
    [
        "from sfumato.declare.promises.parameters import Declared",
        "from sfumato.terms.verdict import Verdict",
        "from sfumato.releases.recheck_judges import second_judge",
        "from sfumato.protect.lattice import lattice",
        "from sfumato import no_such_name",
    ],
)
def test_a_part_written_for_version_0_1_is_told_where_the_names_are(install, old):
    install(
        "outdated", old, {f"sfumato.{kind}": {"past": "outdated:Past"} for kind in ("promises", "attacks")}
    )
    with pytest.raises(BadPolicy) as refused:
        promises.make("past", {})
    said = str(refused.value)
    assert "past of the distribution outdated cannot be loaded" in said
    assert "not there in this version" in said and "sfumato.extend" in said
    with pytest.raises(UsageError, match=r"sfumato\.extend"):
        sf.attack(
            "past",
            PEOPLE,
            {
                "columns": COLUMNS,
                "promises": [{"k-anonymity": {"k": 2}}],
                "protect": {"search": "top-down", "suppress": 0},
                "confirm": {"job": True},
            },
        )


def test_other_missing_modules_are_no_matter_of_ours(install):
    install("needy", "import no_such_package", {"sfumato.promises": {"needy": "needy:Needy"}})
    with pytest.raises(BadPolicy, match="cannot be loaded: ModuleNotFoundError") as refused:
        promises.make("needy", {})
    assert "sfumato.extend" not in str(refused.value)


STRUCTURAL = """
class Loose:
    name, monotone, hereditary, sensitive = "loose", True, True, ()
    def holds_on(self, classes): ...
    def verdict(self, classes): ...
"""
UNJUDGED = """
from sfumato.extend import ParametrizedPromise
class Loose(ParametrizedPromise):
    name, keys = "loose", ()
"""


@pytest.mark.parametrize(
    ("code", "lacks"), [(STRUCTURAL, r"sfumato\.extend\.ParametrizedPromise"), (UNJUDGED, "nor TablePromise")]
)
def test_what_derives_from_no_promise_is_refused(install, code, lacks):
    install("loose", code, {"sfumato.promises": {"loose": "loose:Loose"}})
    with pytest.raises(BadPolicy, match=lacks):
        promises.make("loose", {})
