"""Machine code is found where it was kept, only for the text it was made from, and for every kernel."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.kernels import compiled, machine_code, signatures
from sfumato.kernels.compiled import Kernel, Subroutine, njit

pytestmark = pytest.mark.slow

ROOT = Path(machine_code.__file__).parent
PACKAGE = ROOT.parent


def kernels_called_from_python():
    """The kernels that Python code calls, of all modules."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "\n@njit" in path.read_text("utf-8"):
            name = ".".join(("sfumato", *path.relative_to(PACKAGE).with_suffix("").parts))
            module = __import__(name, fromlist=["_"])
            for each in vars(module).values():
                if (
                    isinstance(each, Kernel)
                    and not isinstance(each, Subroutine)
                    and each.py_func.__module__ == name
                ):
                    yield each


def test_every_kernel_has_a_recorded_signature_that_fits():
    known = signatures.recorded()
    names = {signatures.name_of(each): each for each in kernels_called_from_python()}
    assert len(names) > 50
    assert set(known) == set(names), "`make signatures` records them again"
    for name, several in known.items():
        parameters = inspect.signature(names[name].py_func).parameters
        assert {len(each) for each in several} == {len(parameters)}, name


def test_a_signature_survives_as_plain_data():
    for several in signatures.recorded().values():
        for plain in several:
            kinds = [signatures.as_type(each) for each in plain]
            assert [signatures.as_plain(kind) for kind in kinds] == plain


@njit(cache=False)
def _doubled(x: int) -> int:
    return 2 * x


@njit(cache=False)
def doubled_all(values, x: int) -> int:
    return _doubled(values[0]) + _doubled(x) + _doubled(7)


def test_whole_numbers_of_any_width_share_one_code():
    assert doubled_all(np.array([3], np.int32), 4) == doubled_all(np.array([3], np.int32), np.int16(4)) == 28
    assert len(doubled_all.overloads) == 1
    assert len(_doubled.overloads) == 1


def test_large_numbers_are_not_cut():
    assert doubled_all(np.array([2**31 - 1], np.int32), 2**40) == 2 * (2**31 - 1) + 2**41 + 14


def test_a_subroutine_can_be_called_from_python_all_the_same():
    assert isinstance(_doubled, Subroutine)
    assert _doubled(21) == 42


def test_what_was_asked_for_is_recorded_as_plain_data(tmp_path):
    from sfumato.kernels.rows import locate

    kinds = tuple(map(signatures.as_type, signatures.recorded()["sfumato.kernels.rows.locate"][0]))
    locate.compile(kinds)
    signatures.record_asked(tmp_path)
    (left,) = tmp_path.glob("*.json")
    name = "sfumato.kernels.rows.locate"
    assert [signatures.as_plain(kind) for kind in kinds] in json.loads(left.read_text())[name]
    both = signatures.merged(
        [{name: [["int64"]]}, {name: [["int64"], ["bool"]], "sfumato.kernels.gone.f": [[]]}]
    )
    assert both == {name: [["bool"], ["int64"]]}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two modules, of which one imports the other."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "low.py").write_text("X = 1\n")
    (tmp_path / "high.py").write_text("from sfumato.deep.low import (\n    X,\n)\n")
    (tmp_path / "other.py").write_text("from sfumato.deep import low\n")
    monkeypatch.setattr(machine_code, "PACKAGE", tmp_path)
    machine_code.stamp_of.cache_clear()
    yield tmp_path
    machine_code.stamp_of.cache_clear()


@pytest.mark.parametrize("name", ["high.py", "other.py"])
def test_a_change_in_an_imported_file_changes_the_stamp(package, name):
    before = machine_code.stamp_of(package / name)
    machine_code.stamp_of.cache_clear()
    assert machine_code.stamp_of(package / name) == before
    (package / "deep" / "low.py").write_text("X = 2\n")
    machine_code.stamp_of.cache_clear()
    assert machine_code.stamp_of(package / name) != before


KEPT = """
import sys
from pathlib import Path
import numpy as np
from sfumato.kernels import machine_code
machine_code.PREBUILT = Path(sys.argv[1])
machine_code.MachineCode.to_package = sys.argv[2] == "keep"
from sfumato.kernels.rows import walk
from sfumato.kernels.signatures import as_type, recorded
walk.compile(tuple(map(as_type, recorded()["sfumato.kernels.rows.walk"][0])))
print(sum(walk._cache_hits.values()), sum(walk._cache_misses.values()))
"""


def test_machine_code_is_kept_and_found_by_another_process(tmp_path):
    def hits_and_misses(how):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / how)}
        command = [sys.executable, "-c", KEPT, str(tmp_path / "prebuilt"), how]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert hits_and_misses("keep") == ["0", "1"]
    assert hits_and_misses("find") == ["1", "0"]
    assert not any(str(tmp_path).encode() in path.read_bytes() for path in (tmp_path / "prebuilt").iterdir())
    assert not any(str(ROOT).encode() in path.read_bytes() for path in (tmp_path / "prebuilt").iterdir())


def test_without_a_folder_to_write_nothing_is_kept_and_nothing_breaks(monkeypatch):
    def refuse(*_):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(machine_code, "_StampedCache", refuse)
    code = machine_code.MachineCode(compiled.njit)
    code._function = kernels_called_from_python().__next__().py_func
    assert code.cache_path == ""
    code.flush()


def test_portable_code_is_for_processors_that_can_run_it(monkeypatch):
    machine_code._portable.cache_clear()
    monkeypatch.setattr(machine_code.llvm, "get_host_cpu_features", lambda: {"popcnt": True})
    assert machine_code._portable("x86_64-unknown-linux-gnu") is None
    machine_code._portable.cache_clear()
    features = {"popcnt": True, "sse4.2": True, "ssse3": True}
    monkeypatch.setattr(machine_code.llvm, "get_host_cpu_features", lambda: features)
    assert machine_code._portable("x86_64-unknown-linux-gnu") == ("x86_64-unknown-linux-gnu", "x86-64-v2", "")
    assert machine_code._portable("sparc-sun-solaris") is None
    machine_code._portable.cache_clear()
