"""Libraries that numba only tries to import are left where they are, and can be imported afterwards."""

from __future__ import annotations

import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from sfumato.system.plugins import hidden_libraries

TRIED = ("coverage", "scipy", "yaml")


def test_a_hidden_library_is_as_good_as_not_installed_for_a_while(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with hidden_libraries("colorsys", "json"):
        with pytest.raises(ImportError):
            importlib.import_module("colorsys")
        assert importlib.import_module("json") is sys.modules["json"]
    assert importlib.import_module("colorsys").rgb_to_hsv


def test_a_hidden_library_is_there_for_other_threads(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with hidden_libraries("colorsys"), ThreadPoolExecutor(1) as other:
        assert other.submit(importlib.import_module, "colorsys").result().rgb_to_hsv


def test_an_error_hides_nothing_for_longer(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with pytest.raises(ZeroDivisionError), hidden_libraries("colorsys"):
        raise ZeroDivisionError
    assert importlib.import_module("colorsys")


def loaded(folder):
    """Which of the libraries that numba tries to import are loaded with the kernels; none stays hidden."""
    code = f"""
import importlib.util, sys
import sfumato.kernels.compiled
print([name for name in {TRIED} if name in sys.modules])
assert all(importlib.util.find_spec(name) for name in {TRIED})
"""
    call = [sys.executable, "-c", code]
    return subprocess.run(call, capture_output=True, text=True, check=True, cwd=folder).stdout.strip()


def test_kernels_load_none_of_what_numba_tries_to_import(tmp_path):
    assert loaded(tmp_path) == "[]"


def test_a_library_that_is_loaded_can_be_hidden_too():
    with hidden_libraries("json", although_loaded=True), pytest.raises(ImportError):
        importlib.import_module("json")
    assert importlib.import_module("json").loads("1") == 1


USE = """
import {first}, os
import sfumato.kernels.rows
from numba.core import config
os.chdir({folder!r})
config.reload_config()
print(config.OPT.is_opt_max, config.CACHE_DIR, config.DEBUG)
"""


@pytest.mark.parametrize("first", ["sys", "yaml", "numba"])
def test_settings_of_numba_in_the_current_folder_are_not_read(first, tmp_path):
    """Neither when it is loaded nor later; whatever the program has loaded before."""
    (tmp_path / ".numba_config.yaml").write_text("opt: max\ncache_dir: here\ndebug: 1\n", encoding="utf-8")
    call = [sys.executable, "-c", USE.format(first=first, folder=str(tmp_path))]
    told = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout.split() == ["False", "0"]
    assert first == "numba" or told.stderr == ""


def test_settings_of_numba_in_the_environment_are(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_OPT", "max")
    call = [sys.executable, "-c", USE.format(first="sys", folder=str(tmp_path))]
    told = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout.split() == ["True", "0"]
