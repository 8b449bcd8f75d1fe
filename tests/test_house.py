"""Rules of the house that a machine can check."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EVERYTHING = SOURCES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCES
    if "migrations" not in path.parts
}
NOUNS_IN_ING = {
    "confidence_bounding": "the privacy template of Wang, Fung and Yu (2007) has this name",
    "differencing": "statistical offices call the attack so",
    "packing": "several codes in one key, the class Packing",
    "ruling": "what a judge comes to",
    "pooling": "what several recipients know when they pool their versions",
    "recoding": "global recoding, the word of statistical disclosure control",
    "spelling": "a way of writing a word",
    "staging": "the folder in which a release waits",
    "testing": "a room of the house",
    "tracing": "a room of the house",
}
VERBS = re.compile(
    r"(discover|declare|protect|publish|suppress|explain|refine|merge|decide|find|make|build|read|write"
    r"|parse|collect|compute|verify|recover|sweep|settle|choose|ask|tell|give|take|put|get|run|handle)"
)
DRAWERS = re.compile(r"util|helper|\baux|_aux|misc|manager|inner", re.IGNORECASE)


@pytest.mark.parametrize("path", EVERYTHING, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_fits_the_mind(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 400, f"{lines} lines: split it by definition"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_names_say_what_a_thing_is(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [path.stem] + [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    ]
    assert [name for name in names if DRAWERS.search(name)] == []


def test_a_class_name_occurs_once():
    homes = defaultdict(list)
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_files_are_nouns():
    """Only the doors, one file per verb in `journey` and `cli`, have a verb's name."""
    stems = {module: module.rpartition(".")[2] for module in MODULES}
    in_ing = [m for m, stem in stems.items() if stem.endswith("ing") and stem not in NOUNS_IN_ING]
    doors = {"journey", "cli"}
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
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield from [name for name in (inside, node.module) if name in MODULES][:1]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_an_import_inside_a_function_gives_its_reason(path):
    """On its line, or at the head of the file for all of them: `# noqa: PLC0415  # the reason`."""
    reason = re.compile(r"noqa: PLC0415\s+#\s*\w+")
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if any(line.startswith("# ruff: ") and reason.search(line) for line in lines[:10]):
        return
    bare = {
        node.lineno
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and not reason.search(lines[node.lineno - 1])
    }
    assert sorted(bare) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_fit_a_screen(path):
    if "kernels" in path.parts:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    long = [
        f"{node.name} ({node.end_lineno - node.lineno + 1})"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno + 1 > 70
    ]
    assert long == []


def test_sources_name_no_machine():
    marks = re.compile(r"(?<![\w.])/(home|root|work|tmp)/\w")
    texts = [
        p
        for p in ROOT.rglob("*")
        if p.suffix in {".py", ".md", ".toml", ".yaml"} and ".venv" not in p.parts[0]
    ]
    tracked = [
        p for p in texts if not {".venv", ".venv-peers", ".git", "demo-out"} & set(p.relative_to(ROOT).parts)
    ]
    assert [str(p.relative_to(ROOT)) for p in tracked if marks.search(p.read_text(encoding="utf-8"))] == []


def test_tests_that_are_called_slow_are_there():
    tree = ast.parse((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (slow,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "SLOW")
    starts = [start.partition("::") for start in ast.literal_eval(slow)]
    found = {start: sorted((ROOT / "tests").glob(f"{start}*")) for start, _, _ in starts}
    assert [start for start, paths in found.items() if not paths] == []
    for start, _, name in starts:
        assert f"def {name}" in found[start][0].read_text(encoding="utf-8")
