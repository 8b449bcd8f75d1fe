"""Risk per record beside the `suda` package, on a made-up table of people.

Both sides get codes, and the least CPU time of three runs counts. `suda` scores every combination that is
unique, minimal or not; the number of unique records is compared.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from sfumato.discovery.discovery import record_risk
from sfumato.discovery.quasi_identifiers.coded import Coded

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"
GOAL = 100.0
SIZES = {
    "age": 73,
    "workclass": 8,
    "education": 16,
    "marital": 7,
    "occupation": 14,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "hours": 90,
    "country": 41,
    "income": 2,
}
SCRIPT = """
import json, sys, time
import numpy, pandas, suda, warnings
warnings.simplefilter("ignore")
request = json.load(sys.stdin)
codes = numpy.load(request["file"])
frame = pandas.DataFrame(codes.T, columns=request["names"])
times = []
for _ in range(3):
    copy = frame.copy()
    before = time.process_time()
    found = suda.suda(copy, max_msu=request["size"])
    times.append(time.process_time() - before)
json.dump({"seconds": min(times), "unique": int((found["suda"] > 0).sum())}, sys.stdout)
"""


def people(rows: int = 32_561, *, seed: int = 7) -> Coded:
    """Eleven skewed columns."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.choice(size, rows, p=rng.dirichlet(np.full(size, 0.7))) for size in SIZES.values()])
    return Coded.of_codes(list(SIZES), codes)


def main() -> list[dict[str, object]]:
    table = people()
    record_risk(people(100), max_size=2)
    figures: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.npy"
        np.save(file, table.codes)
        for size in (2, 3):
            times = []
            for _ in range(3):
                before = time.process_time()
                risk = record_risk(table, max_size=size)
                risk.scores.sum()
                times.append(time.process_time() - before)
            theirs = ask(file, size)
            ours, ratio = min(times), theirs["seconds"] / min(times)
            figures.append(
                {
                    "name": f"sample uniques up to {size}, {table.rows:,} x {len(SIZES)}, suda",
                    "ours": ours,
                    "theirs": theirs["seconds"],
                    "ratio": ratio,
                    "goal": f">= {GOAL:.0f}",
                    "ok": ratio >= GOAL and risk.at_risk == theirs["unique"],
                }
            )
    return figures


def ask(file: Path, size: int) -> dict[str, float]:
    if not PEERS.exists():
        raise SystemExit("the peers are not installed: make test sets them up")
    request = json.dumps({"file": str(file), "names": list(SIZES), "size": size})
    done = subprocess.run([PEERS, "-c", SCRIPT], input=request, capture_output=True, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    for row in main():
        print(row)
