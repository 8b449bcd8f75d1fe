"""Quasi-sensitive values at scale, and the three methods of removing terms on equal time.

    python -m benchmarks quasi_sensitive [--rows 100000]

The table is drawn: 8 key columns, 9 terms per row from the terms of one label; 1,000 terms, 3,000 labels with
Poisson(100) terms each, popular ones oftener (Zipf, exponent 1). End to end means: read, generalize, remove
terms, write, and judge the bytes again, in a process of its own.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

KEYS = {"age": 74, "zip": 900, "education": 16, "hours": 99, "year": 40, "gender": 2, "race": 5, "marital": 7}
LABELS, TERMS, SPREAD, WIDTH = 3000, 1000, 100, 9
SECONDS, MEMORY, PROVED = 120.0, 4096.0, 0.95
LARGEST = 100_000


def knowledge(rng: np.random.Generator) -> list[tuple[str, list[str]]]:
    """Labels with Poisson many terms, drawn by popularity."""
    weight = 1 / np.arange(1, TERMS + 1)
    found = []
    for label in range(LABELS):
        size = int(min(TERMS, max(WIDTH, rng.poisson(SPREAD))))
        chosen = rng.choice(TERMS, size, replace=False, p=weight / weight.sum())
        found.append((f"label {label:04d}", [f"term {t:03d}" for t in sorted(chosen.tolist())]))
    return found


def term_sets(known: list[tuple[str, list[str]]], rows: int, rng: np.random.Generator) -> list[str]:
    """For every row some terms of one label."""
    chosen = rng.integers(0, len(known), rows).tolist()
    return [";".join(rng.choice(known[i][1], WIDTH, replace=False).tolist()) for i in chosen]


def generate(folder: Path, rows: int, *, k: int, l: int, c: str, seed: int = 5) -> None:  # noqa: E741
    """The table, the knowledge and the policy, as files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from sfumato.models.quasi_sensitive.knowledge import Knowledge, save

    rng = np.random.default_rng(seed)
    known = knowledge(rng)
    columns: dict[str, Any] = {n: rng.integers(0, size, rows) for n, size in KEYS.items()}
    columns["symptoms"] = term_sets(known, rows, rng)
    pq.write_table(pa.table(columns), folder / "people.parquet")
    save(Knowledge.of(known), folder / "knowledge.csv")
    policy = {
        "columns": {
            **{
                name: {"role": "quasi", "taxonomy": {"flat": list(range(size)), "ordered": True}}
                for name, size in KEYS.items()
            },
            "symptoms": {"role": "quasi-sensitive", "separator": ";"},
        },
        "promises": [
            {"k-anonymity": {"k": k}},
            {"quasi-sensitive": {"of": "symptoms", "knowledge": "knowledge.csv", "l": l, "c": c}},
        ],
        "protect": {"suppress": 0, "search": "mondrian", "terms": {"seconds": 60}},
    }
    (folder / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")


def end_to_end(folder: Path) -> dict[str, float]:
    """Protect and publish, in this process."""
    from sfumato.workflows.protect_file import protect_file

    began = time.monotonic()
    plan, verdicts = protect_file(folder / "people.parquet", folder / "policy.yaml", folder / "safe.parquet")
    report = plan.terms
    assert report is not None and all(v.holds for v in verdicts)
    touched = [p for s, p in zip(report.status, report.proved, strict=True) if s != "satisfied"]
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": time.monotonic() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "memory": used.ru_maxrss / 1024,
        "classes": plan.classes,
        "violating": len(touched),
        "proved": sum(touched) / max(1, len(touched)),
        "cost": float(report.total),
    }


def methods(
    *,
    rows: int = 10,
    classes: int = 40,
    l: int = 10,  # noqa: E741
    c: Fraction = Fraction(1, 2),
    each: float = 1.0,
) -> dict[str, dict[str, float]]:
    """Mean cost of the three methods on classes that break the promise, with equal time for each class."""
    from sfumato.models.quasi_sensitive.knowledge import Knowledge
    from sfumato.models.quasi_sensitive.promise import QuasiSensitiveDiversity
    from sfumato.search.class_term_removal import METHODS, RemovalCosts, TermLimit
    from sfumato.search.term_removal import solve_classes

    rng = np.random.default_rng(11)
    known = knowledge(rng)
    limit = TermLimit.of(QuasiSensitiveDiversity("symptoms", Knowledge.of(known), l=l, c=c))
    costs = RemovalCosts("inverse", WIDTH)
    drawn = {i: [tuple(s.split(";")) for s in term_sets(known, rows, rng)] for i in range(classes)}
    solve_classes({0: drawn[0]}, limit, costs, each=0.01)
    found = {}
    for method in METHODS:
        answers = solve_classes(drawn, limit, costs, method=method, each=each)
        bad = {i: a for i, a in answers.items() if not (a.found and a.cost == 0)}
        whole = rows * int(costs.table[WIDTH, WIDTH])
        cost = np.mean([a.cost / whole if a.found else 1.0 for a in bad.values()]) if bad else 0.0
        proved = np.mean([a.proved for a in bad.values()]) if bad else 1.0
        found[method] = {"cost": float(cost), "proved": float(proved), "violating": len(bad)}
    return found


def main(rows: int = LARGEST) -> list[dict[str, object]]:
    rows = min(rows, LARGEST)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        generate(folder, rows, k=5, l=6, c="1")
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.quasi_sensitive", str(folder)],
            check=True,
            capture_output=True,
            text=True,
        )
    told = json.loads(done.stdout.splitlines()[-1])
    load = os.getloadavg()[0]
    figures: list[dict[str, object]] = [
        {
            "name": f"{rows:,} rows, k = 5, l = 6: wall seconds, 2 cores",
            "ours": told["seconds"],
            "goal": f"<= {SECONDS:g}",
            "ok": told["seconds"] <= SECONDS or load > (os.cpu_count() or 1),
            "load": load,
        },
        {
            "name": f"the same: CPU seconds (load {load:.1f})",
            "ours": told["cpu"],
            "goal": f"<= {SECONDS:g}",
            "ok": told["cpu"] <= SECONDS,
        },
        {
            "name": "the same: largest memory, MB",
            "ours": told["memory"],
            "goal": f"<= {MEMORY:g}",
            "ok": told["memory"] <= MEMORY,
        },
        {"name": f"the same: proved of {told['violating']} violating classes", "ours": told["proved"]},
    ]
    by = methods()
    costs = [by[m]["cost"] for m in ("exact", "adaptive", "plain")]
    figures.append(
        {
            "name": f"10 x 9 terms, 1 s each, {by['exact']['violating']} classes: cost ours, adaptive",
            "ours": costs[0],
            "theirs": costs[1],
            "ratio": costs[0] / costs[1] if costs[1] else 1.0,
            "goal": "ours <= theirs",
            "ok": costs[0] <= costs[1],
        }
    )
    figures.append(
        {
            "name": "the same: adaptive, plain",
            "ours": costs[1],
            "theirs": costs[2],
            "ratio": costs[1] / costs[2] if costs[2] else 1.0,
            "goal": "ours <= theirs",
            "ok": costs[1] <= costs[2],
        }
    )
    share = by["exact"]["proved"]
    figures.append(
        {
            "name": "the same: share proved the cheapest",
            "ours": share,
            "goal": f">= {PROVED}",
            "ok": share >= PROVED,
        }
    )
    return figures


if __name__ == "__main__":
    print(json.dumps(end_to_end(Path(sys.argv[1]))))
