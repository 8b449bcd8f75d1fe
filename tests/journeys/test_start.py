"""Starting up: nothing heavy is loaded before it is needed, and names work whoever is imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sfumato as sf

HEAVY = ["numba", "polars", "pyarrow", "pandas", "duckdb", "pydantic", "numpy", "narwhals", "rich"]


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "start",
    ["import sfumato", *(f"import sfumato.cli.main as m; m.run(['{o}'])" for o in ("--version", "--help"))],
)
def test_nothing_heavy_is_loaded(start):
    out = python(f"{start}; import sys; print([m for m in {HEAVY} if m in sys.modules])")
    assert out.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", sf.__all__)
def test_every_public_name_is_there(name):
    assert name in dir(sf)
    assert getattr(sf, name) is getattr(sf, name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        sf.nonsense  # noqa: B018


@pytest.mark.parametrize("first", ["", "import sfumato.protection.plan; import sfumato.policy.policy;"])
def test_verbs_are_callable_whoever_is_imported_first(first):
    code = f"""
{first}
import sfumato as sf, inspect
print(callable(sf.protect), callable(sf.declare), callable(sf.attack))
print(list(inspect.signature(sf.protect).parameters))
import sfumato.protection.plan as module
print(module.Plan is sf.Plan, sf.protect.plan is module)
"""
    assert python(code).splitlines() == [
        "True True True",
        "['data', 'policy', 'earlier', 'against', 'chain', 'memory', 'progress']",
        "True True",
    ]
