"""Definitions are found by being in their folder, and looking for them loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import polars as pl
import pytest

import sfumato as sf
from sfumato import models
from sfumato.models import attack_contract as attacks
from sfumato.models import registry
from sfumato.models import registry as promises
from sfumato.policy.schema import schema
from sfumato.verify import registry as judges
from sfumato.workflows.protect_file import protect_file

DEFINITION = """
from dataclasses import dataclass
from sfumato.extend import ClassPromise, IntegerParam, ParametrizedPromise
from sfumato.models.registry import register

@register
@dataclass(frozen=True)
class {title}(ParametrizedPromise, ClassPromise):
    k: int
    name, keys = "{name}", (IntegerParam("k"),)
    def holds_on(self, classes): ...
    def verdict(self, classes): ...
    def __str__(self): return "{name}"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A package as `models` is one: two folders with a definition each, and something else beside them."""
    place = tmp_path / "some_promises"
    for name, title in (("one", "One"), ("other", "Other")):
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").write_text("")
        (place / name / "promise.py").write_text(DEFINITION.format(name=name, title=title))
    (place / "__init__.py").write_text("")
    (place / "broken.py").write_text("raise RuntimeError('not a definition')")
    (place / "other" / "broken.py").write_text("raise RuntimeError('not a definition')")
    promises.known()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_makers", {name: dict(kinds) for name, kinds in registry._makers.items()})
    yield import_module("some_promises")
    for name in [name for name in sys.modules if name.startswith("some_promises")]:
        del sys.modules[name]


def test_every_folder_defines_a_promise(folder):
    registry.load_definitions(folder)
    assert {"one", "other"} <= set(promises.known())
    assert promises.make("other", {"k": 2}).k == 2
    made = {one.__name__: one for one in promises.definitions()}
    assert made["One"](3).parameters() == {"k": 3}


CHECK = """
import sys
from sfumato.policy.policy import Policy

words = {"columns": {"zip": {"role": "quasi"}, "d": {"role": "sensitive"}}}
Policy.from_dict({**words, "promises": [{"k-anonymity": {"k": 5}}, {"l-diversity": {"of": "d", "l": 2}}]})
print([name for name in ("numba", "pyarrow", "polars", "pandas", "duckdb") if name in sys.modules])
"""


def test_a_policy_is_checked_without_kernels_or_engines():
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


MODEL = {
    "promise": """
from dataclasses import dataclass
from sfumato.models.contract import ClassPromise
from sfumato.models.parameters import IntegerParam, ParametrizedPromise, verdict
from sfumato.models.registry import register

@register
@dataclass(frozen=True)
class HeadCount(ParametrizedPromise, ClassPromise):
    least: int
    keys, monotone, threats = (IntegerParam("least"),), True, ("counting",)

    def holds_on(self, classes):
        return classes.people >= self.least

    def verdict(self, classes):
        return verdict(self, classes, self.holds_on(classes), limit=self.least, worst=None, measured=None)

    def __str__(self):
        return f"head count, at least {self.least}"
""",
    "judge": """
from sfumato.verify.registry import second_judge, verdict

@second_judge("head-count")
def head_count(tally, promise):
    return verdict(promise, tally, tally.people < promise.least, measured=None, limit=promise.least)
""",
    "attack": """
from fractions import Fraction
from sfumato.models.attack_contract import register
from sfumato.system.verdict import Finding

@register
class Counting:
    name, knows, seeks, succeeds = "counting", "a street", "who lives there", "somebody is alone"
    threatens = ("head-count",)

    def strike(self, published, limits):
        alone = int((published.classes.people == 1).sum())
        return [Finding(self.name, "a neighbour", f"{alone} people", Fraction(alone > 0), alone, alone > 0)]
""",
}


@pytest.fixture
def dropped_model(tmp_path, monkeypatch):
    """A folder with a promise, a judge and an attack, beside those of the built-in models."""
    (tmp_path / "head_count").mkdir()
    (tmp_path / "head_count" / "__init__.py").write_text("")
    for module, source in MODEL.items():
        (tmp_path / "head_count" / f"{module}.py").write_text(source)
    promises.known(), judges._load_own(), attacks.built_in()
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    monkeypatch.setattr(promises, "_makers", {name: dict(kinds) for name, kinds in promises._makers.items()})
    monkeypatch.setattr(judges, "_judges", dict(judges._judges))
    monkeypatch.setattr(attacks, "_built_in", dict(attacks._built_in))
    for registered in (promises, judges, attacks):
        monkeypatch.setattr(registered, "_loaded", set())
    yield
    for name in [name for name in sys.modules if name.startswith("sfumato.models.head_count")]:
        del sys.modules[name]
    del models.head_count


@pytest.mark.usefixtures("dropped_model")
def test_a_model_is_added_by_adding_its_folder(tmp_path):
    people = pl.DataFrame({"zip": ["021", "021", "022", "031"]})
    policy = {
        "columns": {"zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}}},
        "promises": [{"head-count": {"least": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    people.write_csv(tmp_path / "people.csv")
    protect_file(tmp_path / "people.csv", policy, tmp_path / "safe.csv")
    assert pl.read_csv(tmp_path / "safe.csv")["zip"].n_unique() == 1
    assert sf.audit(people, policy).breaches[0].attack in {"counting", "linkage"}
    assert [finding.breach for finding in sf.attack("counting", people, policy).findings] == [True]
    assert "head-count" in str(schema())
