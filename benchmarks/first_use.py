"""The first call after installation: seconds with an empty cache, and of the same call again.

    python -m benchmarks.first_use [JOB…]

Every call is a process of its own, timed from the verb on: imports are told apart. `compiled` has no machine
code at all and compiles what it needs; `prebuilt` has what `sfumato compile`, or a wheel, brings; `again` is
the call after `compiled`, with what that one left on disk. Seconds are of the processor, so that a busy
machine changes little.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 3.0
START = """
import json, resource, sys, time
began = time.process_time()
import numpy as np, pandas as pd
import sfumato as sf
draw = np.random.default_rng(1)
people = pd.DataFrame({
    "age": draw.integers(18, 90, 300), "zip": [f"z{n}" for n in draw.integers(10, 60, 300)],
    "sex": draw.choice(["m", "f"], 300), "ill": draw.choice(["flu", "cold", "asthma"], 300),
})
keys = {name: {"role": "quasi"} for name in ("age", "zip", "sex")}
keys["age"]["taxonomy"] = {"intervals": [5, 10, 20], "from": 0, "to": 120}
def policy(search, *more):
    ill = {"role": "sensitive" if more else "insensitive"}
    promises = [{"k-anonymity": {"k": 3}}, *more]
    return {"columns": {**keys, "ill": ill}, "promises": promises, "protect": {"search": search}}
diverse = {"l-diversity": {"of": "ill", "l": 2}}
"""
END = """
compiled = 0
if "numba" in sys.modules:
    from sfumato.kernels.compiled import Kernel
    compiled = sum(sum(kernel._cache_misses.values()) for kernel in Kernel.asked)
print(json.dumps({"seconds": time.process_time() - began, "kernels": compiled}))
"""
JOBS = {
    "declare": "sf.declare(people)",
    "discover any": "str(sf.discover(people, k=2, mode='any'))",
    "discover all": "str(sf.discover(people, k=2, mode='all', without=['ill']))",
    "discover fraction": "str(sf.discover(people, k=3, fraction='1/2'))",
    "discover record risk": "str(sf.discover(people, k=2, mode='any', record_risk=3))",
    **{
        f"protect {search}": f"sf.protect(people, policy({search!r})).apply(people)"
        for search in ("top-down", "mondrian", "lattice", "local", "best")
    },
    "protect local, diverse": "sf.protect(people, policy('local', diverse)).apply(people)",
    "audit": "p = policy('top-down'); str(sf.audit(sf.protect(people, p).apply(people), p))",
    "release and trace": """
import tempfile
shared = {"recipients": {"tolerance": "50%"}}
with tempfile.TemporaryDirectory() as folder:
    ledger = f"sqlite:///{folder}/ledger.db"
    sf.release(people, policy("top-down") | shared, ledger=ledger, into=f"{folder}/out", to=["a", "b"])
    str(sf.trace(f"{folder}/out/a/data.csv", ledger=ledger))
""",
}


def seconds(job: str, **environment: str) -> tuple[float, int]:
    """Processor seconds of one call in a process of its own, and how many kernels it compiled."""
    code = "\n".join((START, JOBS[job], END))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    return float(told["seconds"]), int(told["kernels"])


def main(names: list[str] | None = None) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for job in names or JOBS:
        with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as other:
            alone = {"NUMBA_CACHE_DIR": empty, "SFUMATO_WITHOUT_MACHINE_CODE": "1"}
            compiled, count = seconds(job, **alone)
            again, _ = seconds(job, **alone)
            prebuilt, missing = seconds(job, NUMBA_CACHE_DIR=other)
            left = sum(path.stat().st_size for path in Path(empty).rglob("*.nbc"))
        lines.append(
            {
                "name": f"first use: {job}",
                "ours": prebuilt,
                "theirs": LIMIT,
                "ratio": prebuilt / LIMIT,
                "goal": "<= 3 s",
                "ok": prebuilt <= LIMIT and not missing,
            }
        )
        print(
            f"{job:24} compiled {compiled:6.2f} s ({count} kernels, {left // 1000} kB), again {again:5.2f} s,"
            f" prebuilt {prebuilt:5.2f} s ({missing} compiled)",
            flush=True,
        )
    return lines


if __name__ == "__main__":
    sys.exit(not all(line["ok"] for line in main(sys.argv[1:])))
