"""How many modules a verb imports and runs, and how often it reads its input: `python -m benchmarks.loads`.

With `--source FOLDER` another copy of the sources is measured, such as that of an earlier commit. A module
ran if a function of it was called after its import; compiled loops are not seen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 1500

RECORDER = """
import json, sys
from pathlib import Path
out, table, *arguments = sys.argv[1:]
ran, passes = set(), 0

def is_import(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("sfumato"):
            return True
        frame = frame.f_back
    return False

def watch(frame, event, argument):
    global passes
    name = frame.f_globals.get("__name__", "")
    if event != "call" or not name.startswith("sfumato"):
        return
    code = frame.f_code
    if code.co_qualname == "Utf8.__init__" and frame.f_locals["delimiter"]:
        passes += Path(frame.f_locals["path"]).absolute() == Path(table).absolute()
    if name not in ran and code.co_flags & 1 and not is_import(frame):  # a function, not the body of a class
        ran.add(name)

sys.setprofile(watch)
from sfumato.cli.main import run
code = run(arguments)
sys.setprofile(None)
ours = sorted(name for name in sys.modules if name.split(".")[0] == "sfumato")
Path(out).write_text(json.dumps([code, ours, sorted(ran), passes]))
"""


def measure(source: Path, folder: Path, table: str, *arguments: str) -> tuple[int, list[str], list[str], int]:
    """The exit code of one run of the program, what it imported and ran, and how often it read the table."""
    out = folder / "measured.json"
    subprocess.run(
        [sys.executable, "-c", RECORDER, str(out), table, *arguments],
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.DEVNULL,
    )
    code, imported, ran, passes = json.loads(out.read_text(encoding="utf-8"))
    return code, imported, ran, passes


def calls(folder: Path) -> dict[str, tuple[str, ...]]:
    """The table that is read, and the arguments: each call works on what those before it made."""
    ledger = ("--ledger", f"sqlite:///{folder / 'ledger.db'}")
    rows, people = (("hospital.csv", "-p", f"{name}.yaml") for name in ("policy", "people"))
    three = ("--chain", "three", "--to", "north", "--to", "south", "--to", "west")
    return {
        "protect --dry-run": ("hospital.csv", "protect", *rows, "--dry-run"),
        "protect -o": ("hospital.csv", "protect", *rows, "-o", "safe.csv"),
        "protect -o, people counted": ("hospital.csv", "protect", *people, "-o", "safe-people.csv"),
        "audit": ("safe.csv", "audit", "safe.csv", "-p", "policy.yaml"),
        "release": ("hospital.csv", "release", *rows, *ledger, "--into", "one", "--to", "registry"),
        "release to three, people counted": (
            "hospital.csv",
            *("release", *people, *ledger, "--into", "three", *three),
        ),
        "trace": ("leak.csv", "trace", "leak.csv", *ledger),
    }


def prepare(source: Path, folder: Path) -> None:
    """The demo's table and policy, and one that counts people and serves several recipients."""
    write = f"from sfumato import demo; demo.write('.', {ROWS})"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    subprocess.run([sys.executable, "-c", write], check=True, cwd=folder, env=environment)
    policy = (folder / "policy.yaml").read_text(encoding="utf-8")
    more = "person: patient_id\nrecipients: {tolerance: 50%}\n"
    (folder / "people.yaml").write_text(policy + more, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loads", description=__doc__)
    parser.add_argument("--source", type=Path, default=Path("src"), help="the folder that holds sfumato/")
    parser.add_argument("--names", action="store_true", help="also list the modules; * marks those that ran")
    chosen = parser.parse_args()
    source = chosen.source.absolute()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(source, folder)
        for name, (table, *arguments) in calls(folder).items():
            if name == "trace":
                (folder / "leak.csv").write_bytes((folder / "three/north/data.csv").read_bytes())
            code, imported, ran, passes = measure(source, folder, table, *arguments)
            if code:
                raise SystemExit(f"sfumato {' '.join(arguments)} ended with {code}")
            print(f"{name:34}{len(imported):5} imported{len(ran):5} run{passes:3} passes")
            if chosen.names:
                print(*(f"    {'*' if module in ran else ' '}{module}" for module in imported), sep="\n")


if __name__ == "__main__":
    main()
