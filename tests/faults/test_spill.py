"""Little memory, a full spill disk, a kill while rows wait on disk: refused or right, never half-done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import os, signal, sys
from sfumato.table import publication
from sfumato.table.spill import Spill
from sfumato.system.memory import Memory
from sfumato.cli.main import run

room, die, limit = (int(word) for word in sys.argv[1:4])
if room:
    Memory.room = property(lambda memory: room)
    publication.LEAST_ROWS = 1000
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
print(*(line for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
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
        "protect": {"search": "top-down", "suppress": 0},
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    (tmp_path / "out").mkdir()
    (tmp_path / "spill").mkdir()
    return tmp_path


def protecting(home, name, *more):
    return ["protect", home / "rows.parquet", "-p", home / "policy.yaml", "-o", home / "out" / name, *more]


@pytest.fixture
def protect(program, large):
    """Protects as if memory had this room, ends at this piece on disk, or allows files of this size."""

    def call(name, *more, room=0, die=0, limit=0):
        return program.run([room, die, limit, *protecting(large, name, *more)], PROGRAM)

    return call


def run(*words):
    """A call that is started anew: its memory is what it alone takes."""
    command = [sys.executable, "-c", PROGRAM, *(str(word) for word in (0, 0, 0, *words))]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def peak(said):
    return int(re.search(r"VmHWM:\s*(\d+) kB", said.stderr)[1]) * 1024


def refused(said, limit):
    """What was said; the process never held more than it was allowed to."""
    assert said.returncode == 3, said.stderr
    assert peak(said) <= limit * 1_000_000
    error = json.loads(said.stdout)["error"]
    assert error["kind"] == "NotEnoughMemory"
    assert f"{limit} MB are allowed" in error["message"]
    return error


def test_killed_while_rows_wait_on_disk(large, protect):
    whole = protect("whole.csv")
    assert whole.returncode == 0, whole.stderr
    assert "spilled 0" in whole.stderr
    spill = ("--spill", large / "spill")
    for moment in (1, 3):
        assert protect("safe.csv", *spill, room=20_000, die=moment).returncode == -9
        assert [path.name for path in (large / "out").iterdir() if path.suffix == ".csv"] == ["whole.csv"]
    assert list((large / "spill").iterdir()), "a kill leaves codes behind"
    again = protect("safe.csv", *spill, room=20_000)
    assert again.returncode == 0, again.stderr
    assert "spilled 0" not in again.stderr
    assert (large / "out/safe.csv").read_bytes() == (large / "out/whole.csv").read_bytes()
    assert list((large / "spill").iterdir()) == [], "the next call removes them"


def test_the_spill_disk_is_full(large, protect):
    """On a small disk of its own where that may be mounted; else a limit on file sizes stands in for it."""
    place = large / "spill"
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        said = protect("safe.csv", "--spill", place, room=20_000, limit=0 if mounted else 60_000)
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
    error = refused(run(*protecting(large, "safe.csv", "--memory", "400MB", "--json")), 400)
    assert "start" in error["remedy"]
    assert list((large / "out").iterdir()) == []


def texts(rows):
    return pa.array(np.random.default_rng(5).permutation(rows)).cast(pa.string())


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_more_texts_than_memory_has_room_for(large, role):
    """A published column in which all values differ: written as they are, or leaves of a taxonomy."""
    rows = 1_500_000
    columns = {"zip": np.arange(rows) % 100, "age": np.arange(rows) // 100 % 100, "note": texts(rows)}
    pq.write_table(pa.table(columns), large / "rows.parquet", row_group_size=100_000)
    policy = json.loads((large / "policy.yaml").read_text())
    policy["columns"] = {name: {"role": "quasi"} for name in columns} | {"note": {"role": role}}
    policy["confirm"] = {"note": True} if role == "sensitive" else {}
    (large / "policy.yaml").write_text(json.dumps(policy))
    error = refused(run(*protecting(large, "safe.csv", "--memory", "500MB", "--json")), 500)
    assert "values of column 'note'" in error["message"]
    assert "identifier" in error["remedy"]
    assert list((large / "out").iterdir()) == []


def test_more_sets_than_memory_has_room_for(large):
    """Terms are removed row by row: that many rows are refused before the first is looked at."""
    rows = 200_000
    sets = [["fever;cough", "rash", "cough"][i % 3] for i in range(rows)]
    pq.write_table(pa.table({"age": np.arange(rows) % 40, "symptoms": sets}), large / "rows.parquet")
    (large / "knowledge.csv").write_text("label,term\nflu,fever\nflu,cough\nmeasles,rash\nmeasles,fever\n")
    policy = {
        "columns": {"age": {"role": "quasi"}, "symptoms": {"role": "quasi-sensitive", "separator": ";"}},
        "promises": [
            {"k-anonymity": {"k": 5}},
            {"quasi-sensitive": {"of": "symptoms", "knowledge": "knowledge.csv", "l": 2, "c": "1"}},
        ],
        "protect": {"search": "top-down", "suppress": 0},
    }
    (large / "policy.yaml").write_text(json.dumps(policy))
    error = refused(run(*protecting(large, "safe.csv", "--memory", "450MB", "--json")), 450)
    assert "removing terms" in error["message"]
    assert "method: keep" in error["remedy"]


@pytest.mark.parametrize(
    ("columns", "more", "said", "remedy"),
    [
        ({f"c{i}": 7 for i in range(24)}, (), "searching 24 columns", "--without"),
        ({"a": 7, "b": 9}, (), "values of column 'name'", "leave the column out"),
        ({f"c{i}": 7 for i in range(12)}, ("--record-risk", "8"), "the risk of", "--record-risk"),
    ],
)
def test_discovery_of_more_than_memory_has_room_for(tmp_path, columns, more, said, remedy):
    rng, rows = np.random.default_rng(6), {12: 320_000, 2: 100_000}.get(len(columns), 1_200_000)
    table = {name: rng.integers(0, size, rows) for name, size in columns.items()}
    # Long texts on few rows: their values do not fit long before the search of the rows would not.
    table |= {"name": pc.utf8_lpad(texts(rows), 1500, "x")} if len(columns) == 2 else {}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet", row_group_size=10_000)
    limit = 400 if len(columns) == 12 else 500
    words = ("--k", "2", "--mode", "any", "--max-size", "1", "--memory", f"{limit}MB", "--json", *more)
    error = refused(run("discover", tmp_path / "rows.parquet", *words), limit)
    assert said in error["message"]
    assert remedy in error["remedy"]
