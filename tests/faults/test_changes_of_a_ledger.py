"""Withdrawals, retirements, changes of keys and restorations are killed before their statements.

In a soak before every one of them, else before every ninth.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from faults.made_up import release
from sfumato.cli.main import run
from sfumato.releases.ledger.ledger import Ledger

pytestmark = pytest.mark.slow

CHANGES = ("withdraw", "retire", "rotate", "restore", "erase")


@pytest.mark.parametrize("change", CHANGES)
def test_killed_at_statements(stage, times, change):
    assert stage(change, times(9, 1), script="life_stage.py")["killed"] >= times(2, 18)


@pytest.mark.parametrize("change", CHANGES)
def test_killed_at_statements_with_postgresql(stage, times, cluster, change):
    url = cluster.database(f"life_{change}")
    assert stage(change, times(9, 1), script="life_stage.py", url=url)["killed"] >= times(2, 18)


KILLED_BEFORE_THE_FILE = """
import os, signal, sys
from sfumato.cli.main import run
from sfumato.releases import files
files.write_new = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run(sys.argv[1:])
"""


def test_killed_between_a_withdrawal_and_the_file_of_its_notice(tmp_path, capsys):
    """The same call again enters nothing, and writes the notice."""
    url, told = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "withdrawn.json"
    with Ledger(url) as ledger:
        release(ledger, tmp_path / "one")
    words = ["ledger", "withdraw", "1", "--reason", "wrong file", "--ledger", url, "-o", str(told)]
    killed = subprocess.run([sys.executable, "-c", KILLED_BEFORE_THE_FILE, *words], check=False)
    assert killed.returncode == -signal.SIGKILL
    with Ledger(url, readonly=True) as ledger:
        head = ledger.head
    assert (head.number, told.exists()) == (3, False)
    assert run(words) == 0
    with Ledger(url, readonly=True) as ledger:
        assert ledger.head == head
    assert [path.name for path in tmp_path.glob(".*")] == []
    check = ["certificate", "verify", str(tmp_path / "one" / "certificate.json"), "--withdrawal", str(told)]
    capsys.readouterr()
    assert run([*check, "--key", str(tmp_path / "ledger.db.key.pub")]) == 1
    assert "withdrawn on" in capsys.readouterr().out
