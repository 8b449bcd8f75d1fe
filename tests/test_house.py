"""Rules of the house that a machine can check."""

import ast
import functools
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from guide.rooms import circles, rooms

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EVERYTHING = SOURCES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCES
}
NOUNS_IN_ING = {
    "charging": "whom a leak incriminates",
    "counting": "the pass that counts rows",
    "downcoding": "the attack of Cohen (2022) has this name",
    "reading": "the room of readers",
    "recoding": "global recoding, the word of statistical disclosure control",
    "ruling": "what a judge comes to",
    "spelling": "a way of writing a word",
    "staging": "the folder in which a release waits",
    "testing": "a room of the house",
    "writing": "the writers of published tables",
}
VERBS = re.compile(
    r"(discover|declare|protect|publish|suppress|explain|refine|merge|decide|find|make|build|read|write"
    r"|parse|collect|compute|verify|recover|sweep|settle|choose|ask|tell|give|take|put|get|run|handle)"
)
NOT_OURS = {".venv", ".venv-peers", ".venv-tables", ".git", "demo-out"}
DRAWERS = re.compile(r"util|helper|\baux|_aux|misc|manager|inner", re.IGNORECASE)


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """Everything in the syntax tree of a file."""
    return tuple(ast.walk(ast.parse(_text(path))))


def _by_file(wrong: dict[Path, object]) -> dict[str, object]:
    """Only the files that have something wrong, by name."""
    return {str(path.relative_to(ROOT)): what for path, what in wrong.items() if what}


def test_a_file_fits_the_mind():
    """A file of the program holds what changes together, a test what one thing is asked."""
    lines = {path: len(_text(path).splitlines()) for path in EVERYTHING}
    most = {path: 1000 if path in SOURCES else 400 for path in EVERYTHING}
    assert _by_file({path: count for path, count in lines.items() if count > most[path]}) == {}


def test_names_say_what_a_thing_is():
    names = {
        path: [path.stem]
        + [
            node.name
            for node in _nodes(path)
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        ]
        for path in SOURCES
    }
    assert _by_file({path: list(filter(DRAWERS.search, found)) for path, found in names.items()}) == {}


def test_a_class_name_occurs_once():
    homes = defaultdict(list)
    for module, path in MODULES.items():
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_files_are_nouns():
    """Only the doors have a verb's name: one file per verb in `workflows`, `cli` and the studio's `pages`."""
    stems = {module: module.rpartition(".")[2] for module in MODULES}
    in_ing = [m for m, stem in stems.items() if stem.endswith("ing") and stem not in NOUNS_IN_ING]
    doors = {"workflows", "cli", "pages"}
    doors.add("verify")  # the room of what every judge stands on
    verbs = [m for m, stem in stems.items() if VERBS.fullmatch(stem) and not doors & set(m.split("."))]
    assert in_ing + verbs == []


def test_reasons_are_given_for_modules_that_exist():
    assert set(NOUNS_IN_ING) <= {module.rpartition(".")[2] for module in MODULES}


def test_imports_run_in_no_circle():
    """Imports for types and imports inside functions count too."""
    graph = {module: set(_imported(path)) - {module} for module, path in MODULES.items()}
    reached = {module: _reached(graph, module) for module in graph}
    circles = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    assert sorted(circles) == []


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """Every module that one leads to, along imports."""
    reached: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        module = ahead.pop()
        if module not in reached:
            reached.add(module)
            ahead += graph[module]
    return reached


def _imported(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports, anywhere in it."""
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield from [name for name in (inside, node.module) if name in MODULES][:1]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)


def test_rooms_stand_in_no_circle():
    """Models are slices and their parts are layers, so both count: `python -m guide.rooms` prints them."""
    graph = rooms()
    assert {"table", "verify", "models.*.promise", "models.*.judge", "models.*.attack"} <= set(graph)
    assert circles(graph) == []


def test_a_circle_of_rooms_is_noticed():
    assert circles({"a": {"b": 1}, "b": {"c": 1}, "c": {"b": 1}}) == [("b", "c")]


def test_every_room_but_two_is_forbidden_to_the_judge():
    settings = tomllib.loads(_text(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in settings if "sfumato.models.*.judge" in c.get("source_modules", ()))
    layers = next(c for c in settings if c["type"] == "layers")["layers"]
    named = {room.strip() for layer in layers for room in layer.split("|")} - {"verify", "system"}
    above = {"extend", "cli", "studio", "testing", "workflows", "reports", "demo", "attacks", "discovery"}
    forbidden = {name.removeprefix("sfumato.").split(".")[0] for name in contract["forbidden_modules"]}
    assert named - above <= forbidden


def test_a_model_has_a_definition_and_a_judge_and_packages_hold_nothing():
    models = ROOT / "src" / "sfumato" / "models"
    folders = [folder for folder in models.iterdir() if (folder / "__init__.py").exists()]
    assert len(folders) >= 8
    for folder in folders:
        assert (folder / "promise.py").exists() and (folder / "judge.py").exists(), folder.name
    for package in [models, *folders]:
        (only,) = ast.parse(_text(package / "__init__.py")).body
        assert isinstance(only, ast.Expr), package.name


def test_every_model_is_told_to_know_no_other():
    settings = tomllib.loads(_text(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (contract,) = (
        c for c in settings if c["type"] == "independence" and "sfumato.models" in str(c["modules"])
    )
    packages = (ROOT / "src" / "sfumato" / "models").glob("*/promise.py")
    assert sorted(contract["modules"]) == sorted(f"sfumato.models.{path.parent.name}" for path in packages)


def test_an_import_inside_a_function_gives_its_reason():
    """On its line, or at the head of the file for all of them: `# noqa: PLC0415  # the reason`."""
    assert _by_file({path: sorted(_imports_without_reason(path)) for path in SOURCES}) == {}


def _imports_without_reason(path: Path) -> set[int]:
    """The lines of imports inside functions for which nothing is said."""
    reason = re.compile(r"noqa: PLC0415\s+#\s*\w+")
    lines = _text(path).splitlines()
    if any(line.startswith("# ruff: ") and reason.search(line) for line in lines[:20]):
        return set()
    return {
        node.lineno
        for function in _nodes(path)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and not reason.search(lines[node.lineno - 1])
    }


def _length(function):
    """The lines of a function but for its docstring, which describes every parameter of a public one."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    described = first.end_lineno - first.lineno + 1 if is_docstring else 0
    return function.end_lineno - function.lineno + 1 - described


def test_functions_fit_a_screen():
    long = {
        path: [
            f"{node.name} ({_length(node)})"
            for node in _nodes(path)
            if isinstance(node, ast.FunctionDef) and _length(node) > 70
        ]
        for path in SOURCES
        if "kernels" not in path.as_posix()
    }
    assert _by_file(long) == {}


def test_sources_name_no_machine():
    marks = re.compile(r"(?<![\w.])/(home|root|work|tmp)/\w")
    texts = [path for path in _ours() if path.suffix in {".py", ".md", ".toml", ".yaml"}]
    assert _by_file({path: marks.findall(_text(path)) for path in texts}) == {}


def _ours() -> Iterator[Path]:
    """Every file of the project, without what is installed or made beside it."""
    for folder, inside, files in os.walk(ROOT):
        inside[:] = [name for name in inside if name not in NOT_OURS]
        yield from (Path(folder, name) for name in files)


def test_slow_tests_say_so_themselves():
    """By `@pytest.mark.slow`, or by `pytestmark` for a whole file: a list elsewhere goes stale."""
    folder = ROOT / "tests"
    conftests = sorted(folder.rglob("conftest.py"))
    assert folder / "conftest.py" in conftests
    names = {
        path: [node.id for node in _nodes(path) if isinstance(node, ast.Name) and node.id == "SLOW"]
        + [node.value for node in _nodes(path) if isinstance(node, ast.Constant) and node.value == "slow"]
        + [node.attr for node in _nodes(path) if isinstance(node, ast.Attribute) and node.attr == "slow"]
        for path in conftests
    }
    assert _by_file(names) == {}
    assert any("pytest.mark.slow" in _text(path) for path in folder.rglob("test_*.py"))


@pytest.fixture(scope="module")
def something_shared():
    """What `make test` must not make once per process."""
    return object()


def test_tests_that_share_something_run_in_one_process(something_shared, request):
    """pytest-xdist looks for groups in ids. It says nothing where it finds none, and all is made twice."""
    del something_shared
    (group,) = request.node.get_closest_marker("xdist_group").args
    assert request.node.nodeid.endswith(f"@{group}") == request.config.getoption("loadgroup", default=False)


TESTS_OF_NO_ROOM = {
    "faults": "crashes, full disks and damaged files, whatever room they reach",
    "golden": "files that tests compare with",
    "oracles": "slow implementations that tests compare with",
    "papers": "what papers report",
    "peers": "what other programs answer",
}
"""Folders of tests that no folder of the program has the name of."""


def test_folders_of_tests_mirror_the_rooms():
    """Whoever changes a room finds its tests below the same name."""
    tests, ours = ROOT / "tests", ROOT / "src" / "sfumato"
    homes = {path.relative_to(ours).with_suffix("") for path in ours.rglob("*") if path.suffix in {"", ".py"}}
    folders = {path.parent.relative_to(tests) for path in tests.rglob("*.py")} - {Path()}
    mirroring = {folder for folder in folders if folder.parts[0] not in TESTS_OF_NO_ROOM}
    assert len(mirroring) > 10
    assert sorted(map(str, mirroring - homes)) == []
    assert [name for name in TESTS_OF_NO_ROOM if Path(name) in homes or not (tests / name).is_dir()] == []


def test_benchmarks_and_experiments_import_what_there_is():
    """Some imports are in functions, and some functions run once a month."""
    wrong = {}
    for path in (*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "experiments").glob("*.py")):
        asked = [
            (node.module, name.name)
            for node in _nodes(path)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato.")
            for name in node.names
        ]
        wrong[path] = [(module, name) for module, name in asked if not _is_there(module, name)]
    assert _by_file(wrong) == {}


def _is_there(module: str, name: str) -> bool:
    found = import_module(module)
    return hasattr(found, name) or (hasattr(found, "__path__") and find_spec(f"{module}.{name}") is not None)
