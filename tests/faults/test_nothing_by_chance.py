"""Seeds, weights and digits: nothing that is published is drawn, weighed or computed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from faults.conftest import SOAK
from faults.made_up import release, release_to_three
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.ledger import Ledger

pytestmark = pytest.mark.slow

ROWS = 24
POLICY = {
    "columns": {
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2]}},
        "weight": {"role": "insensitive"},
    },
    "promises": [{"k-anonymity": {"k": 3}}],
    "protect": {"search": "lattice", "suppress": 0.5},
}
ZIPS = [f"{(number * number) % 7}{number % 3}{number % 2}" for number in range(ROWS)]


def secrets_of(folder, name):
    """What is secret of a release in a ledger of its own: the key, the salt, the names."""
    ledger = Ledger(f"sqlite:///{folder}/{name}.db")
    entry = ledger.entry(release(ledger, folder / name).record.release)
    return [Key.load(folder / f"{name}.db.key").public, json.loads(entry.kept)["salt"], entry.release]


def test_secrets_come_from_the_system_also_after_a_fork(tmp_path):
    """No seed is inherited: a process and its child draw differently."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, json.dumps(secrets_of(tmp_path, "child")).encode())
        finally:
            os._exit(0)
    drawn = secrets_of(tmp_path, "parent")
    os.waitpid(child, 0)
    drawn += json.loads(os.read(reading, 4096))
    assert len(set(drawn)) == 6


def test_no_two_releases_or_recipients_share_a_secret(tmp_path, times):
    """Salts and names of many releases, and of three recipients at once, are all different."""
    ledger, drawn = Ledger(f"sqlite:///{tmp_path}/ledger.db"), []
    for number in range(times(4, 300)):
        for receipt in release_to_three(ledger, tmp_path / f"r{number}", chain=f"c{number}"):
            entry = ledger.entry(receipt.record.release)
            drawn += [json.loads(entry.kept)["salt"], entry.release, entry.hash]
    assert len(set(drawn)) == len(drawn) == 9 * times(4, 300)


weights = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False), st.just(0.0), st.just(-1.0))


@given(weights=st.lists(weights, min_size=ROWS, max_size=ROWS))
@settings(max_examples=300 if SOAK else 5)
def test_weights_weigh_nothing(weights):
    """A column of weights, whatever is in it, changes neither who is suppressed nor how keys are recoded."""
    plain = sf.protect(pl.DataFrame({"zip": ZIPS, "weight": ["1"] * ROWS}), POLICY)
    weighed = pl.DataFrame({"zip": ZIPS, "weight": pl.Series(weights, dtype=pl.Float64)})
    plan = sf.protect(weighed, POLICY)
    assert plan.as_dict()["suppressed"] == plain.as_dict()["suppressed"]
    assert sorted(plan.apply(weighed)["zip"]) == sorted(
        plain.apply(pl.DataFrame({"zip": ZIPS, "weight": ["1"] * ROWS}))["zip"]
    )


@given(numbers=st.lists(st.floats(-1e6, 1e6), min_size=ROWS, max_size=ROWS))
@settings(max_examples=300 if SOAK else 5)
def test_digits_are_those_of_the_source(numbers):
    """No number is computed: what is published is a number of the source, bit by bit (both zeros are one)."""
    table = pl.DataFrame({"zip": ZIPS, "weight": numbers})
    published = sf.protect(table, POLICY).apply(table)["weight"].to_list()
    assert {number.hex() for number in published} <= {(number + 0.0).hex() for number in numbers}


TYPED = """
import os, sys
threads, policy, data = sys.argv[1:]
if threads == "1" and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from sfumato.cli.main import run
sys.exit(
    run(["protect", data, "-p", policy, "-o", "safe.parquet", "--json"])
    or run(["audit", "safe.parquet", "-p", policy, "--json"])
)
"""
THREADS = ("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS")


def test_one_thread_and_two_write_the_same_bytes(tmp_path):
    """On one core with one thread, and on all with two: the same plan, bytes, verdicts and findings."""
    sf.demo.write(tmp_path, 200)
    told = []
    for threads in ("1", "2"):
        place = tmp_path / threads
        place.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", TYPED, threads, tmp_path / "policy.yaml", tmp_path / "hospital.csv"],
            env={**os.environ, **dict.fromkeys(THREADS, threads)},
            cwd=place,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b'"verdicts"' in done.stdout and b'"findings"' in done.stdout
        told.append((done.stdout, (place / "safe.parquet").read_bytes()))
    assert told[0] == told[1]
