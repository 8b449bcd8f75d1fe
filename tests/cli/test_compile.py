"""`sfumato compile` says what is ready, and a first call without machine code says that it compiles."""

import json

from sfumato.cli.main import run
from sfumato.kernels import prebuilt
from sfumato.kernels.prebuilt import Built, build_module
from sfumato.kernels.signatures import recorded
from sfumato.system.plugins import Compilation


def given(monkeypatch, *built, writable=True):
    asked = []
    monkeypatch.setattr(prebuilt, "build", lambda **how: asked.append(how) or iter(built))
    monkeypatch.setattr(prebuilt, "can_write_package", lambda: writable)
    return asked


def test_what_is_ready_is_said(monkeypatch, capsys):
    asked = given(monkeypatch, Built("a.b", 2, 1, ()), Built("a.c", 3, 0, ()))
    assert run(["compile", "--jobs", "2"]) == 0
    told = capsys.readouterr()
    assert told.out == "5 functions are ready in the package, 1 of them compiled now.\n"
    assert told.err == "compiled a.b\n"
    assert asked == [{"jobs": 2, "into_package": True}]


def test_a_signature_that_no_longer_fits_is_named(monkeypatch, capsys):
    given(monkeypatch, Built("a.b", 2, 2, ("a.b.f",)), writable=False)
    assert run(["compile", "--json"]) == 0
    told = capsys.readouterr()
    expected = {"ready": 2, "compiled": 2, "failed": ["a.b.f"], "kept": "in numba's cache"}
    assert json.loads(told.out) == expected
    assert "a.b.f is compiled at its first call" in told.err


def test_a_module_is_built_from_what_was_recorded(monkeypatch):
    monkeypatch.setattr(prebuilt.MachineCode, "to_package", False)
    name = "sfumato.kernels.rows.walk"
    built = build_module([name, "sfumato.kernels.rows.gone"], into_package=False)
    assert (built.module, built.ready) == ("sfumato.kernels.rows", len(recorded()[name]))
    assert built.failed == ("sfumato.kernels.rows.gone",)


def test_all_modules_are_built_once():
    tasks = prebuilt._by_module()
    assert sorted(name for names in tasks for name in names) == sorted(recorded())
    assert all(len({name.rsplit(".", 1)[0] for name in names}) == 1 for names in tasks)


def test_that_it_compiles_is_said_once():
    told = []
    compilation = Compilation(told.append)
    compilation.begins()
    compilation.begins()
    assert len(told) == 1 and "sfumato compile" in told[0]
    Compilation().begins()
