"""The mutation run: which mutants there are, which are drawn, and that none is ever left behind."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import equivalent, results
from mutants.mutant import drawn, mutants_in, mutants_of
from mutants.recorder import VARIABLE
from mutants.results import Result
from mutants.rooms import ROOMS, STAGES, folder_of
from mutants.touch_map import TouchMap
from mutants.worker import Worker

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent

SOURCE = '''\
"""A file."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numbers import Number

LIMIT = 2_000_000


@staticmethod
def few(cells: list[int | None], k: int = 2) -> bool:
    """Whether there are fewer than `k`."""
    if not cells or k < 1 and len(cells) == 0:
        raise ValueError("none")
    total = 0
    for cell in cells:
        if cell is None:
            continue
        total += cell
    assert total >= 0
    return (min(cells) if total else 0) < k
'''


def changes(source):
    return {(m.before, m.after) for m in mutants_of("a.py", source)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "def few(cells: list[int | None], k: int = 2) -> bool:",
            "def few(cells: list[int | None], k: int = 3) -> bool:",
        ),
        ("if not cells or k < 1 and len(cells) == 0:", "if not cells and (k < 1 and len(cells) == 0):"),
        ("if not cells or k < 1 and len(cells) == 0:", "if not cells:"),
        ("if not cells or k < 1 and len(cells) == 0:", "if k < 1 and len(cells) == 0:"),
        ("if not cells or k < 1 and len(cells) == 0:", "if not cells or k < 1:"),
        ("if not cells or k < 1 and len(cells) == 0:", "if not cells or (k < 1 or len(cells) == 0):"),
        ("if not cells or k < 1 and len(cells) == 0:", "if not cells or k <= 1 and len(cells) == 0:"),
        ("if not cells or k < 1 and len(cells) == 0:", "if cells or k < 1 and len(cells) == 0:"),
        ("if not cells or k < 1 and len(cells) == 0:", "if not cells or k < 1 and len(cells) != 0:"),
        ("if not cells or k < 1 and len(cells) == 0:", "if True:"),
        ("if not cells or k < 1 and len(cells) == 0:", "if False:"),
        ('raise ValueError("none")', "pass"),
        ("total = 0", "total = 1"),
        ("if cell is None:", "if cell is not None:"),
        ("continue", "break"),
        ("total += cell", "total -= cell"),
        ("total += cell", "pass"),
        ("return (min(cells) if total else 0) < k", "return (min(cells) if total else 0) <= k"),
        ("return (min(cells) if total else 0) < k", "return (max(cells) if total else 0) < k"),
        ("return (min(cells) if total else 0) < k", "return (min(cells)) < k"),
        ("return (min(cells) if total else 0) < k", "return (0) < k"),
        ("return (min(cells) if total else 0) < k", "return None"),
    ],
)
def test_a_small_wrong_change_is_a_mutant(before, after):
    made = {(before, ast_text(after)) for before, after in changes(SOURCE)}
    assert (before, ast_text(after)) in made


def ast_text(line):
    """A line without parentheses that say nothing."""
    return line.replace("(", "").replace(")", "")


def test_types_decorators_imports_assertions_and_large_limits_are_left_alone():
    touched = {before for before, _ in changes(SOURCE)}
    assert not any(
        "TYPE_CHECKING" in line or line.startswith(("@", "from", "assert", "LIMIT")) for line in touched
    )
    assert not any("None" not in after and "| None" in before for before, after in changes(SOURCE))


def test_every_mutant_can_be_made_and_says_what_it_means():
    for mutant in mutants_of("a.py", SOURCE):
        changed = mutant.applied(SOURCE)
        assert changed is not None, mutant.name
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE)), mutant.name
        assert len(changed.splitlines()) == len(SOURCE.splitlines()), mutant.name


def test_parentheses_are_added_where_a_change_would_be_read_in_another_way():
    source = "x = a * -b\n"
    (changed,) = {m.applied(source) for m in mutants_of("a.py", source) if m.text == "a + -b"}
    assert changed == "x = a + -b\n"
    source = "x = not (a or b) and c\n"
    texts = {m.applied(source) for m in mutants_of("a.py", source)}
    assert "x = (a or b) and c\n" in texts
    assert "x = not (a and b) and c\n" in texts


def test_equal_lines_of_a_function_are_told_apart():
    source = "def f(a, b):\n    a = a + 1\n    b = b\n    a = a + 1\n"
    names = [m.name for m in mutants_of("a.py", source)]
    assert len(set(names)) == len(names) == 4
    assert "a.py | f | a = a + 1 | a = a - 1 (2)" in names


def test_the_draw_depends_on_the_seed_and_not_on_code_elsewhere():
    every = mutants_in(ROOT, "models")
    some = drawn(every, 40, 13)
    assert some == drawn(every[::-1], 40, 13)
    assert some != drawn(every, 40, 14)
    path = some[0].path
    others = [m for m in every if m.path != path]
    mine = {m.name for m in some if m.path != path}
    assert mine <= {m.name for m in drawn(others, 40, 13)}


def test_every_room_has_mutants_and_tests():
    for room in ROOMS:
        names = [m.name for m in mutants_in(ROOT, room)]
        assert len(names) == len(set(names)) > 200
        assert {folder_of(m.path).split("/")[0] for m in mutants_in(ROOT, room)} == {room.split("/")[0]}
    missing = [path for stages in STAGES.values() for stage in stages for path in stage]
    assert [path for path in missing if not (ROOT / path).exists()] == []


def test_every_mutant_that_is_called_equivalent_is_one_that_can_be_drawn():
    named = equivalent.read(equivalent.PLACE.read_text(encoding="utf-8"))
    assert equivalent.unknown(named, {m.name for room in ROOMS for m in mutants_in(ROOT, room)}) == []


@pytest.mark.parametrize("text", ["a.py | f | x | y\n", "    a reason\n", "a | b\n  why\na | b\n  why\n"])
def test_an_equivalent_mutant_has_a_name_and_a_reason(text):
    with pytest.raises(ValueError, match=r"reason|twice"):
        equivalent.read(text)


def test_results_are_read_as_they_were_written():
    said = [
        Result("survived", 12.5, "abc1234", 7, "src/a.py | f | x < 1 | x <= 1"),
        Result("killed", 3.0, "abc1234", 9, "src/a.py | f | y | not y", "tests/a/test_a.py::test_y[1-2]"),
    ]
    text = results.written(said, commit="abc1234", date="2026-11-16", seed=13)
    assert results.read(text) == {result.name: result for result in said}
    assert "# 2 mutants: 1 killed, 0 timeout, 0 equivalent, 1 survived" in text
    assert "#   src/a.py:7  f\n#     - x < 1\n#     + x <= 1\n" in text


@pytest.fixture
def worker(tmp_path):
    """A worker on a tiny project: one file, one test."""
    root = tmp_path / "root"
    (root / "src" / "tiny").mkdir(parents=True)
    (root / "src" / "tiny" / "__init__.py").write_text("def less(a, b):\n    return a < b\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_tiny.py").write_text(
        "from tiny import less\n\ndef test_less():\n    assert less(1, 2) and not less(2, 2)\n"
        "\ndef test_more():\n    assert not less(3, 2)\n"
    )
    marks = 'markers = ["postgresql", "spark", "peers"]'
    (root / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{marks}\n")
    return Worker(root, tmp_path / "copy", files(root))


def files(root):
    return [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]


def tiny_mutants(worker):
    path = "src/tiny/__init__.py"
    return list(mutants_of(path, (worker.folder / path).read_text()))


def test_a_worker_sees_a_mutant_killed_and_leaves_the_working_tree_alone(worker, tmp_path):
    source = tmp_path / "root" / "src" / "tiny" / "__init__.py"
    before, when = source.read_bytes(), source.stat().st_mtime_ns
    assert worker.ask(["tests"]).passed
    for mutant in tiny_mutants(worker):
        with worker.mutated(mutant) as copy:
            assert copy.read_bytes() != before
            asked = worker.ask(["tests"])
            assert asked.code == 1 and asked.failed.startswith("tests/test_tiny.py::test_")
        assert copy.read_bytes() == before and copy.stat().st_mtime_ns == when
    assert source.read_bytes() == before and source.stat().st_mtime_ns == when
    assert worker.ask(["tests"]).passed
    assert len(tiny_mutants(worker)) == 2


def test_a_mutant_that_no_test_notices_passes(worker):
    (worker.folder / "tests" / "test_tiny.py").write_text(
        "from tiny import less\n\ndef test_less():\n    assert less(1, 2)\n"
    )
    boundary = next(m for m in tiny_mutants(worker) if "<=" in m.after)
    with worker.mutated(boundary):
        assert worker.ask(["tests"]).passed


def test_a_mutant_that_never_ends_is_out_of_time(worker):
    (worker.folder / "tests" / "test_tiny.py").write_text(
        "def test_forever():\n    while True:\n        pass\n"
    )
    asked = worker.ask(["tests"], limit=2)
    assert asked.code < 0 and not asked.passed


def test_the_copy_follows_the_sources_when_it_is_made_and_not_later(worker, tmp_path):
    root, copy = tmp_path / "root", worker.folder / "src" / "tiny" / "more.py"
    (root / "src" / "tiny" / "more.py").write_text("x = 1\n")
    assert worker.ask(["tests"]).passed and not copy.exists()
    Worker(root, worker.folder, files(root))
    assert copy.read_text() == "x = 1\n"
    (root / "src" / "tiny" / "more.py").unlink()
    Worker(root, worker.folder, files(root))
    assert not copy.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy", "root"]


def test_what_would_be_run_is_told_and_nothing_is_run():
    asked = [sys.executable, "-m", "mutants", "--list", "--count", "10"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.count("\n  - ") == told.count("\n  + ") == 10


def test_the_tests_of_a_line_are_recorded_and_found_quickest_first(tmp_path):
    (tmp_path / "src" / "sfumato").mkdir(parents=True)
    source = "def size(x):\n    if x > 1:\n        return 2\n    return 1\n"
    (tmp_path / "src" / "sfumato" / "thing.py").write_text(source)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_thing.py").write_text(
        "import sys\nsys.path.insert(0, 'src/sfumato')\nfrom thing import size\n\n"
        "def test_slow():\n    assert size(2) == 2 and sum(range(300_000))\n\n"
        "def test_quick():\n    assert size(2) == 2\n\ndef test_other():\n    assert size(0) == 1\n"
    )
    goal = tmp_path / "lines.json"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "mutants.recorder", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, VARIABLE: str(goal), "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    known = TouchMap.load(goal)
    (mutant,) = (m for m in mutants_of("src/sfumato/thing.py", source) if m.after == "return 3")
    assert known.tests_of(mutant, source) == ["test_thing.py::test_quick", "test_thing.py::test_slow"]
    (head,) = {m.line: m for m in mutants_of("src/sfumato/thing.py", source) if m.line == 2}.values()
    assert len(known.tests_of(head, source)) == 3
    assert known.seconds > 0
