"""Where faults happen: a folder, a ledger, and processes that can be harmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.postgresql import Cluster

HERE = Path(__file__).parent
SOAK = os.environ.get("SFUMATO_HYPOTHESIS") == "soak"


def report(name, told):
    """In a soak, what came of a scenario is kept."""
    if place := os.environ.get("SFUMATO_SOAK_REPORT"):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(f"{name}: {json.dumps(told)}\n")


@pytest.fixture
def stage(tmp_path):
    """Play a scenario in a process of its own; what it told."""

    def play(scenario, count=0, *, home=tmp_path, url=None):
        folder = home / "out"
        folder.mkdir(exist_ok=True)
        command = [sys.executable, HERE / "stage.py", scenario, folder]
        command += [url or f"sqlite:///{home}/ledger.db", home / "ledger.db.key", count]
        variables = {
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path]),
        }
        played = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=False, env=variables
        )
        assert played.returncode == 0, played.stderr
        told = json.loads(played.stdout)
        report(f"{scenario} on {'PostgreSQL' if url else 'SQLite'}", told)
        return told

    return play


@pytest.fixture(scope="module")
def cluster():
    """A PostgreSQL of our own, thrown away afterwards."""
    with Cluster() as running:
        yield running


@pytest.fixture
def times():
    """How often: a few times, or in a soak many."""

    def choose(few, many):
        return many if SOAK else few

    return choose
