"""A release into a store is in the ledger and complete, or in neither, whenever the process dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from faults.conftest import HERE, report
from faults.made_up import CANARY
from sfumato.releases.staging import STEPS, STORE_STEPS

pytestmark = pytest.mark.slow

COMMIT = STEPS.index("committed")
ONE_OF_FOUR = {"published": 1, "refused": 3, "seen": 1}


@pytest.fixture
def play(tmp_path, buckets):
    """Play a scenario in a process of its own; what it told."""

    def played(scenario, url=None, stride=1):
        aside = tmp_path / "aside"
        aside.mkdir()
        words = [scenario, aside, url or f"sqlite:///{tmp_path}/ledger.db", tmp_path / "ledger.db.key"]
        command = [sys.executable, HERE / "store_stage.py", *words, buckets.new(), buckets.url, stride]
        paths = os.pathsep.join([str(HERE.parent), *sys.path])
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        report(f"{scenario} into a store on {'PostgreSQL' if url else 'SQLite'}", told)
        return told

    return played


def test_killed_at_every_step(play, tmp_path):
    told = play("steps")
    late = STEPS[COMMIT:]
    assert told == {step: int(step in late) for step in (*STEPS, *STORE_STEPS)}
    left = [path for path in tmp_path.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert left == [], "what only the judge may see is gone"


def test_killed_at_requests(play, times):
    """At every fifth, or in a soak at each."""
    told = play("requests", stride=times(5, 1))
    for how in ("kill", "slay"):
        counts = [count for name, count in told.items() if name.startswith(how)]
        assert len(counts) > times(4, 18)
        assert counts == sorted(counts), "once the ledger has it, it is published"
        assert set(counts) == {0, 3}


def test_interrupted(play):
    told = play("signals")
    assert told == {name: 130 * (name.split()[1] not in STEPS[COMMIT:]) for name in told}
    assert len(told) == 10


def test_four_writers_of_one_place(play):
    assert play("same_target") == ONE_OF_FOUR


def test_four_writers_of_one_place_with_postgresql(play, cluster):
    assert play("same_target", cluster.database("store")) == ONE_OF_FOUR
