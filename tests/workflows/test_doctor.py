"""`sfumato doctor` in environments that lack something."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from sfumato.releases.ledger.ledger import Ledger
from sfumato.workflows import doctor as looking
from sfumato.workflows.doctor import State, doctor


def part(found, name):
    return next(p for p in found.findings if p.part == name)


def test_here_everything_needed_is_there(sfumato):
    said = sfumato("doctor")
    assert said.code == 0
    assert said.out.startswith("everything needed is there\n")
    document = sfumato("doctor", "--json").document
    assert document["sound"] is True
    assert {p["state"] for p in document["findings"]} <= {"fine", "note"}
    assert {"Python", "pyarrow", "Java", "memory", "temporary folder"} <= {
        p["part"] for p in document["findings"]
    }


def fake_java(folder, says, code=0):
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    java = folder / "bin/java"
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("says", "state"),
    [
        ('openjdk version "17.0.9" 2023-10-17', State.FINE),
        ('java version "1.8.0_391"', State.NOTE),
        ("Unrecognized option", State.NOTE),
    ],
)
def test_java_is_asked_for_its_version(says, state, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, says)))
    found = doctor()
    assert part(found, "Java").state is state
    assert found.sound
    assert ("apt-get install" in part(found, "Java").remedy) == (state is not State.FINE)


def test_without_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert part(doctor(), "Java").state is State.NOTE
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert part(doctor(), "Java").found == "cannot be started"


def test_packages_that_are_missing(monkeypatch):
    real = looking.version

    def without(name):
        if name in ("duckdb", "pyspark"):
            raise PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(looking, "version", without)
    found = doctor()
    assert not found.sound
    assert str(found).splitlines()[1].split() == ["duckdb", "missing", "not", "installed"]
    assert part(found, "pyspark").state is State.NOTE
    assert part(found, "pyspark").remedy == "pip install 'sfumato[spark]'"


def test_little_memory_and_no_room(monkeypatch, sfumato):
    monkeypatch.setattr(looking, "machine_memory", lambda: 100_000_000)
    monkeypatch.setattr(looking.shutil, "disk_usage", lambda _: _Usage())
    found = doctor()
    assert part(found, "memory").state is State.MISSING
    assert part(found, "temporary folder").state is State.NOTE
    said = sfumato("doctor")
    assert said.code == 3


class _Usage:
    free = 1000


def test_a_temporary_folder_that_is_not_there(tmp_path):
    found = doctor(spill=tmp_path / "nowhere")
    assert part(found, "temporary folder").state is State.MISSING
    assert "--spill" in part(found, "temporary folder").remedy


def test_ledgers(tmp_path, sfumato):
    url = f"sqlite:///{tmp_path}/ledger.db"
    assert part(doctor(ledger=url), "ledger").state is State.NOTE
    with Ledger(url):
        pass
    assert part(doctor(ledger=url), "ledger").found == "0 releases"
    said = sfumato("doctor", "--ledger", "postgresql://nobody@127.0.0.1:1/none", "--json")
    assert said.code == 3
    assert said.document["sound"] is False
    wrong = next(p for p in said.document["findings"] if p["part"] == "ledger")
    assert wrong["state"] == "missing"
    assert wrong["remedy"]


def test_compiled_code_that_cannot_be_kept(monkeypatch):
    monkeypatch.setattr(looking.os, "access", lambda *_: False)
    assert "NUMBA_CACHE_DIR" in part(doctor(), "compiled code").remedy
