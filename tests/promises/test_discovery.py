"""Definitions are found by being in their folder, and looking for them loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from sfumato.models import registry
from sfumato.models import registry as promises

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
