"""Rules of the house that a machine can check."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EVERYTHING = SOURCES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))
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
