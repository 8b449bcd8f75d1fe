"""Nothing in the working folder changes what the program is: neither modules nor settings of libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MODULES = ("json", "multiprocessing", "numba", "numpy", "polars", "socket", "typer", "typing", "yaml")
"""What is loaded by the program, by numba, and by Python where it starts a worker."""
ASKED = ("--k", "2", "--mode", "any")
ENTRY = "from sfumato.cli.program import main\nif __name__ == '__main__':\n    main()\n"


@pytest.fixture
def hostile(tmp_path):
    """A folder full of modules that leave a mark when they are loaded; and settings of numba."""
    for name in MODULES:
        mark = f"open({str(tmp_path / 'loaded')!r}, 'a').write({name!r} + ' ')\n"
        (tmp_path / f"{name}.py").write_text(mark, encoding="utf-8")
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: here\ndebug_jit: 1\n", encoding="utf-8")
    (tmp_path / "a.csv").write_text("age,zip\n" + "1,2\n3,4\n" * 9, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("words", [["--version"], ["discover", "a.csv", *ASKED], ["compile", "--jobs", "1"]])
@pytest.mark.parametrize("started", ["module", "script"])
def test_the_program_loads_no_module_of_the_working_folder(started, words, hostile, tmp_path_factory):
    script = tmp_path_factory.mktemp("bin") / "sfumato"
    script.write_text(ENTRY, encoding="utf-8")
    call = [sys.executable, *(["-m", "sfumato"] if started == "module" else [script]), *words]
    before = {path.name for path in hostile.iterdir()}
    ended = subprocess.run(call, cwd=hostile, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert {path.name for path in hostile.iterdir()} == before


def test_another_folder_that_comes_first_stays_there(tmp_path):
    code = f"""
import atexit, runpy, sys
sys.path.insert(0, {str(tmp_path)!r})
sys.argv[1:] = ["--version"]
atexit.register(lambda: print(sys.path[0] == {str(tmp_path)!r}))
runpy.run_module("sfumato", run_name="__main__")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[1:] == ["True"]


def test_a_working_folder_that_is_gone_is_no_hindrance(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    source = str(Path(__file__).parents[2] / "src")
    call = ["sh", "-c", f"cd {gone} && rmdir {gone} && {sys.executable} -m sfumato --version"]
    paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    assert subprocess.run(call, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode == 0
