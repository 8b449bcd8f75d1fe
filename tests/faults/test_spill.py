"""Little memory, a full spill disk, a kill while rows wait on disk: refused or right, never half-done."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PROGRAM = """
import os, signal, sys
from sfumato.engine import publish
from sfumato.engine.spill import Spill
from sfumato.terms.memory import Memory
from sfumato.cli.main import run

room, die, limit = (int(word) for word in sys.argv[1:4])
if room:
    Memory.room = property(lambda memory: room)
    publish.LEAST_ROWS = 1000
if limit:
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
store, calls = Spill.store, []

def stored(spill, lines):
    calls.append(1)
    kept = store(spill, lines)
    if len(calls) == die:
        os.kill(os.getpid(), signal.SIGKILL)
    return kept

Spill.store = stored
code = run(sys.argv[4:])
print("spilled", len(calls), file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def large(tmp_path):
    rng, rows = np.random.default_rng(3), 20_000
    table = pa.table(
        {
            "zip": [f"{z:05d}" for z in rng.integers(0, 3000, rows)],
            "age": [str(a) for a in rng.integers(20, 60, rows)],
            "note": rng.permutation(rows),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    policy = {
        "columns": {
            "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 1]}, "start": 1},
            "age": {"role": "quasi"},
            "note": {"role": "insensitive"},
        },
        "promises": [{"k-anonymity": {"k": 5}}],
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    (tmp_path / "out").mkdir()
    (tmp_path / "spill").mkdir()
    return tmp_path


def protect(home, name, *more, room=0, die=0, limit=0):
    words = ["protect", home / "rows.parquet", "-p", home / "policy.yaml", "-o", home / "out" / name, *more]
    command = [sys.executable, "-c", PROGRAM, *(str(word) for word in (room, die, limit, *words))]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def test_killed_while_rows_wait_on_disk(large):
    whole = protect(large, "whole.csv")
    assert whole.returncode == 0, whole.stderr
    assert "spilled 0" in whole.stderr
    spill = ("--spill", large / "spill")
    for moment in (1, 3):
        assert protect(large, "safe.csv", *spill, room=20_000, die=moment).returncode == -9
        assert [path.name for path in (large / "out").iterdir() if path.suffix == ".csv"] == ["whole.csv"]
    assert list((large / "spill").iterdir()), "a kill leaves codes behind"
    again = protect(large, "safe.csv", *spill, room=20_000)
    assert again.returncode == 0, again.stderr
    assert "spilled 0" not in again.stderr
    assert (large / "out/safe.csv").read_bytes() == (large / "out/whole.csv").read_bytes()
    assert list((large / "spill").iterdir()) == [], "the next call removes them"


def test_the_spill_disk_is_full(large):
    """On a small disk of its own where that may be mounted; else a limit on file sizes stands in for it."""
    place = large / "spill"
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        said = protect(large, "safe.csv", "--spill", place, room=20_000, limit=0 if mounted else 60_000)
        assert said.returncode == 3, said.stderr
        assert "--spill" in said.stderr
        assert list((large / "out").iterdir()) == []
        assert list(place.iterdir()) == []
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)


def test_a_limit_below_the_need(large):
    """Six million different rows: the search would take more than is left of 400 MB."""
    number = np.arange(6_000_000)
    columns = {"zip": number % 200, "age": number // 200 % 200, "note": number // 40_000}
    pq.write_table(pa.table(columns), large / "rows.parquet")
    policy = json.loads((large / "policy.yaml").read_text())
    policy["columns"] = {name: {"role": "quasi"} for name in columns}
    (large / "policy.yaml").write_text(json.dumps(policy))
    said = protect(large, "safe.csv", "--memory", "400MB", "--json")
    assert said.returncode == 3, said.stderr
    error = json.loads(said.stdout)["error"]
    assert error["kind"] == "NotEnoughMemory"
    assert "400 MB are allowed" in error["message"]
    assert "start" in error["remedy"]
    assert list((large / "out").iterdir()) == []
