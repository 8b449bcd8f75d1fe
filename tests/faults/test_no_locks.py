"""A system without locks on folders, such as Windows: nothing is released there, and the rest works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quick_demo import write_quick_demo
from sfumato.cli.main import run
from sfumato.releases import files as private_file
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system import disk
from sfumato.system import disk as private_folder
from sfumato.system.memory import machine_memory

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A release that was made elsewhere, and its ledger."""
    folder = tmp_path_factory.mktemp("no_locks")
    write_quick_demo(folder, 200)
    assert run([*released(folder, "out"), "--to", "press"]) == 0
    return folder


@pytest.fixture
def without_locks(monkeypatch):
    for module in (disk, private_file, private_folder):
        monkeypatch.setattr(module, "fcntl", None)
    monkeypatch.setattr(disk, "NO_LINK", 0)
    for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "getuid", "sysconf", "fork"):
        monkeypatch.delattr(os, name)


def released(folder, name):
    words = ["release", folder / "hospital.csv", "-p", folder / "policy.yaml", "--into", folder / name]
    return [str(word) for word in (*words, "--ledger", f"sqlite:///{folder}/ledger.db")]


@pytest.mark.usefixtures("without_locks")
def test_nothing_is_released_and_no_ledger_made(place, tmp_path, capsys):
    write_quick_demo(tmp_path, 50)
    assert run(released(tmp_path, "out")) == 2
    assert "no locks on folders" in capsys.readouterr().err
    assert not (tmp_path / "ledger.db").exists()
    assert not (tmp_path / "ledger.db.key").exists()
    assert run(released(place, "next")) == 2
    assert not list(place.glob(".staged-*"))
    assert Ledger(f"sqlite:///{place}/ledger.db", readonly=True).verify().holds


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize(
    "words",
    [
        "discover DATA --k 5 --mode all",
        "declare DATA -o NEW",
        "policy check POLICY",
        "protect DATA -p POLICY -o NEW",
        "audit OUT -p POLICY",
        "release DATA -p POLICY --dry-run --ledger URL --chain other --ignore-chain main",
        "history --ledger URL",
        "trace OUT --ledger URL",
        "ledger verify --ledger URL",
        "ledger recover --ledger URL",
        "ledger anchor --ledger URL -o NEW",
        "ledger backup NEW --ledger URL",
        "ledger keys --ledger URL",
        "report OUT -p POLICY -o NEW.html",
        "certificate verify CERTIFICATE --key PUBLIC",
    ],
)
def test_the_rest_works(place, tmp_path, words):
    named = {
        "DATA": place / "hospital.csv",
        "POLICY": place / "policy.yaml",
        "OUT": place / "out" / "data.csv",
        "URL": f"sqlite:///{place}/ledger.db",
        "CERTIFICATE": place / "out" / "certificate.json",
        "PUBLIC": place / "ledger.db.key.pub",
        "NEW": tmp_path / "new.csv",
        "NEW.html": tmp_path / "new.html",
    }
    assert run([str(named.get(word, word)) for word in words.split()]) == 0
    assert all(Path(named[word]).exists() for word in words.split() if word.startswith("NEW"))


@pytest.mark.usefixtures("without_locks")
def test_keys_change_and_releases_are_withdrawn(place, tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    assert (
        run(["ledger", "backup", str(tmp_path / "copy.db"), "--ledger", f"sqlite:///{place}/ledger.db"]) == 0
    )
    key = tmp_path / "ledger.db.key"
    key.write_bytes((place / "ledger.db.key").read_bytes())
    key.chmod(0o600)
    assert run(["ledger", "restore", str(tmp_path / "copy.db"), "--ledger", url]) == 0
    assert run(["ledger", "rotate", "--ledger", url]) == 0
    assert run(["ledger", "withdraw", "1", "--reason", "wrong", "--ledger", url]) == 0
    assert run(["ledger", "retire", "main", "--yes", "--ledger", url]) == 0
    assert run(["ledger", "verify", "--ledger", url]) == 0


@pytest.mark.usefixtures("without_locks")
def test_how_much_memory_there_is_is_not_known(tmp_path):
    assert machine_memory(tmp_path) == 1 << 62
