"""Starting up: nothing is loaded before it is needed, and verbs are functions whoever is imported first."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import sfumato as sf

pytestmark = pytest.mark.slow

HEAVY = ["numba", "polars", "pyarrow", "pandas", "duckdb", "pydantic", "numpy", "narwhals", "rich"]
HEAVY += ["hashlib", "tempfile", "zipfile", "sfumato.system.renamed"]  # a tenth of the time together


def python(code, *arguments, cwd=None):
    call = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=True, cwd=cwd).stdout


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


VERBS = ("audit", "capacity", "compare", "declare", "discover", "draw", "patterns", "protect", "release")
VERBS += ("trace", "as_numbers", "report")
FILES = {"as_numbers": "compare", "capacity": "patterns", "draw": "patterns"}
"""Verbs that share a file with another on purpose: steps of one task, which need the same rooms."""

FIRST = [
    "",
    "import sfumato.search.plan, sfumato.policy.policy",
    "import sfumato.workflows.protect, sfumato.workflows.release, sfumato.workflows.attack",
    "from sfumato.cli.main import app",
]


@pytest.mark.parametrize("first", FIRST)
def test_verbs_are_plain_functions_whoever_is_imported_first(first):
    code = f"""
{first}
import sfumato as sf, sys, types
files = {FILES}
for name in {VERBS}:
    verb = getattr(sf, name)
    assert type(verb) is types.FunctionType, name
    assert verb is vars(sys.modules[f"sfumato.workflows.{{files.get(name, name)}}"])[name], name
assert callable(sf.attack) and not isinstance(sf.attack, types.ModuleType)
import sfumato.search.plan as module
assert module.Plan is sf.Plan
ours = [m for n, m in sys.modules.items() if n.split(".")[0] == "sfumato"]
print({{type(m).__name__ for m in ours}}, {{m.__class__ is types.ModuleType for m in ours}})
"""
    assert python(code) == "{'module'} {True}\n"


def test_help_shows_the_function():
    code = "import sfumato as sf; help(sf.protect); help(sf.attack.correspondence)"
    page = python(code)
    assert page.startswith(
        "Help on function protect in module sfumato.workflows.protect:\n\nprotect(data: 'AnyTable',"
    )
    assert "Find out what each column has to become" in page
    assert "correspondence(*releases:" in page


BELOW = {"kernels", "system", "table", "workflows"}
"""What every verb stands on: it reads a table, counts it and prints what it found."""
POLICY = {*BELOW, "draft", "inputs", "models", "policy"}
"""What every verb that reads or writes a policy needs besides: the doctor, in `draft`, warns of it."""

ROOMS = {
    "discover": {*POLICY, "discovery"},
    "declare": {*POLICY, "discovery", "search", "releases"},
    "protect": {*POLICY, "search"},
    "protect_file": {*POLICY, "search", "releases", "verify"},
    "audit": {*POLICY, "attacks", "verify"},
    "release": {*POLICY, "search", "releases", "verify"},
    "trace": {*BELOW, "releases", "recipients"},
    "compare": {*POLICY, "search", "reports"},
    "report": {*POLICY, "search", "attacks", "verify", "releases", "reports"},
}
"""The rooms that a verb may load. Of another verb's room, not one module."""

CALLS = {
    "discover": ("discover", "hospital.csv", "--k", "2", "--mode", "any", "--max-size", "1"),
    "declare": ("declare", "hospital.csv", "-o", "drafted.yaml"),
    "protect": ("protect", "hospital.csv", "-p", "policy.yaml", "--dry-run"),
    "protect_file": ("protect", "hospital.csv", "-p", "plain.yaml", "-o", "safe.csv"),
    "audit": ("audit", "safe.csv", "-p", "policy.yaml"),
    "release": ("release", "hospital.csv", "-p", "policy.yaml", "--into", "one", "--to", "registry"),
    "trace": ("trace", "one/data.csv"),
    "compare": ("utility", "hospital.csv", "safe.csv", "-p", "policy.yaml"),
    "report": ("report", "safe.csv", "-p", "policy.yaml", "-o", "report.html"),
}
"""Each works on what those before it made; `plain.yaml` is the demo's policy with one search, top-down."""

LOADED = """
import json, sys
from sfumato.cli.main import run
from pathlib import Path
code = run(sys.argv[2:])
Path(sys.argv[1]).write_text(json.dumps([code, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Per call: its exit code, and the modules that it loaded."""
    folder = tmp_path_factory.mktemp("loaded")
    sf.demo.write(folder, 300)
    demo = (folder / "policy.yaml").read_text(encoding="utf-8")
    (folder / "plain.yaml").write_text(demo.replace("search: best", "search: top-down"), encoding="utf-8")
    found = {}
    for verb, call in CALLS.items():
        python(LOADED, folder / "loaded.json", *call, cwd=folder)
        found[verb] = json.loads((folder / "loaded.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("verb", CALLS)
def test_a_verb_loads_no_room_that_it_does_not_need(loaded, verb):
    code, everything = loaded[verb]
    modules = [name for name in everything if name.startswith("sfumato.")]
    assert code == 0
    allowed = ROOMS[verb] | {"cli"}
    assert [name for name in modules if name.split(".")[1] not in allowed] == []
    assert f"sfumato.workflows.{verb}" in modules


SELDOM = ["polars", "pandas", "narwhals", "rich", "scipy.linalg", "sqlalchemy", "cryptography"]
SELDOM += ["pyarrow.parquet", "pyarrow.dataset", "pyarrow.fs", "ssl", "xml.sax", "numba.np.linalg"]
SELDOM += ["pydantic", "coverage", "scipy", "yaml", "numba.np.arrayobj"]
SELDOM += ["sfumato.table.reading.spreadsheet", "sfumato.table.reading.statistics"]
"""Libraries, and parts of them, that take long to load and that a CSV file does not need."""


def test_a_csv_file_is_protected_with_few_libraries(loaded):
    """Numba for machine code, Arrow for reading, DuckDB for the second judge; nothing that compiles."""
    code, modules = loaded["protect_file"]
    assert code == 0
    assert [name for name in SELDOM if name in modules] == []
    assert {"numpy", "numba", "pyarrow", "duckdb"} <= set(modules)


def test_a_policy_is_checked_without_compiled_code(tmp_path):
    """Every promise is loaded for that, and none of them needs a kernel to be read."""
    sf.demo.write(tmp_path, 10)
    python(LOADED, tmp_path / "loaded.json", "policy", "check", "policy.yaml", cwd=tmp_path)
    code, modules = json.loads((tmp_path / "loaded.json").read_text(encoding="utf-8"))
    assert code == 0
    assert [name for name in ("numba", "duckdb", "polars") if name in modules] == []


def test_no_verb_loads_the_file_of_another():
    """But for those it is made of: a release is planned as `protect` plans."""
    files = sorted({FILES.get(verb, verb) for verb in VERBS})
    out = python(
        """
import importlib, sys
for file in FILES:
    before = set(sys.modules)
    importlib.import_module(f"sfumato.workflows.{file}")
    loaded = {n.split(".")[2] for n in set(sys.modules) - before if n.startswith("sfumato.workflows.")}
    print(file, sorted(loaded & {*FILES, "protect_file"}))
    for name in [n for n in sys.modules if n.startswith("sfumato.workflows.")]:
        del sys.modules[name]
""".replace("FILES", repr(files))
    )
    expected = {file: [file] for file in files} | {
        "release": ["protect", "release"],
        "report": ["audit", "compare", "report"],
    }
    assert dict(line.split(" ", 1) for line in out.splitlines()) == {k: str(v) for k, v in expected.items()}
