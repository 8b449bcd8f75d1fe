"""Where faults happen: a folder, a ledger, and processes that can be harmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from faults.postgresql import Cluster
from faults.prepared import Prepared
from quick_demo import write_quick_demo

HERE = Path(__file__).parent
SOAK = os.environ.get("SFUMATO_HYPOTHESIS") == "soak"


def report(name, told):
    """In a soak, what came of a scenario is kept, with the day and the commit."""
    if place := os.environ.get("SFUMATO_SOAK_REPORT"):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%d} {_commit()} {name}: {json.dumps(told)}\n")


@cache
def _commit():
    """Which version this is; a `+` where it was changed since. None in a copy without its history."""
    asked = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    told = subprocess.run(asked, cwd=HERE, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "-"


STAGED = """
import json, runpy, sys
script, sys.path[:0] = sys.argv.pop(1), json.loads(sys.argv.pop(1))
runpy.run_path(script, run_name="__main__")
"""
"""Plays a script, with what is on the path of the tests."""


@pytest.fixture
def stage(program, tmp_path):
    """Play a scenario in a process of its own; what it told."""

    def play(scenario, count=0, *, script="stage.py", home=tmp_path, url=None):
        folder = home / "out"
        folder.mkdir(exist_ok=True)
        words = [HERE / script, json.dumps([str(HERE.parent), *sys.path]), scenario, folder]
        words += [url or f"sqlite:///{home}/ledger.db", home / "ledger.db.key", count]
        played = program.run(words, STAGED)
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


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """`sfumato`, loaded once for many calls: for tests of what a call does, and not of how it is loaded."""
    place = tmp_path_factory.mktemp("loaded")
    write_quick_demo(place, 300)
    words = ["release", place / "hospital.csv", "-p", place / "policy.yaml", "--into", place / "out"]
    loaded = Prepared([*words, "--ledger", f"sqlite:///{place}/ledger.db", "--to", "us"])
    yield loaded
    loaded.close()


@pytest.fixture
def times():
    """How often: a few times, or in a soak many."""

    def choose(few, many):
        return many if SOAK else few

    return choose
