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
from sfumato.extend import ClassPromise, Declared, Whole
from sfumato.models.registry import register

@register("{name}")
@dataclass(frozen=True)
class {title}(Declared, ClassPromise):
    k: int
    name, keys = "{name}", (Whole("k"),)
    def holds_on(self, classes): ...
    def verdict(self, classes): ...
    def __str__(self): return "{name}"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A package as `promises` is one: a file, a folder with a definition, and something else in it."""
    place = tmp_path / "some_promises"
    (place / "deep").mkdir(parents=True)
    for name in ("__init__.py", "deep/__init__.py"):
        (place / name).write_text("")
    (place / "shallow.py").write_text(DEFINITION.format(name="shallow", title="Shallow"))
    (place / "deep" / "definition.py").write_text(DEFINITION.format(name="deep", title="Deep"))
    (place / "deep" / "broken.py").write_text("raise RuntimeError('not a definition')")
    promises.known()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_makers", {name: dict(kinds) for name, kinds in registry._makers.items()})
    yield import_module("some_promises")
    for name in [name for name in sys.modules if name.startswith("some_promises")]:
        del sys.modules[name]


def test_a_file_and_a_folder_each_define_a_promise(folder):
    registry.load_definitions(folder)
    assert {"shallow", "deep"} <= set(promises.known())
    assert promises.make("deep", {"k": 2}).k == 2
    assert promises.Shallow(3).parameters() == {"k": 3}


def test_a_name_that_no_definition_has_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        promises.Nonsense  # noqa: B018


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
