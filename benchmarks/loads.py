"""How many modules a verb imports and runs, and how often it reads its input: `python -m benchmarks.loads`.

With `--source FOLDER` another copy of the sources is measured, such as that of an earlier commit.
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
Path(out).write_text(json.dumps({"code": code, "imported": ours, "ran": sorted(ran), "passes": passes}))
"""


def measure(source: Path, folder: Path, table: str, *arguments: str) -> dict[str, object]:
    """What one run of the program imported and ran, and how often it read the table."""
    out = folder / "measured.json"
    subprocess.run(
        [sys.executable, "-c", RECORDER, str(out), table, *arguments],
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.DEVNULL,
    )
    found: dict[str, object] = json.loads(out.read_text(encoding="utf-8"))
    if found["code"]:
        raise SystemExit(f"sfumato {' '.join(arguments)} ended with {found['code']}")
    return found


def calls(folder: Path) -> dict[str, tuple[str, ...]]:
    """The table that is read, and the arguments: each call works on what those before it made."""
    ledger = f"sqlite:///{folder / 'ledger.db'}"
    first = ("hospital.csv", "-p", "policy.yaml")
    return {
        "protect --dry-run": ("hospital.csv", "protect", *first, "--dry-run"),
        "protect -o": ("hospital.csv", "protect", *first, "-o", "safe.csv"),
        "audit": ("safe.csv", "audit", "safe.csv", "-p", "policy.yaml"),
        "release": (
            "hospital.csv",
            "release",
            *first,
            "--ledger",
            ledger,
            "--into",
            "one",
            "--to",
            "registry",
        ),
        "release, three recipients": (
            "hospital.csv",
            *(
                "release",
                "hospital.csv",
                "-p",
                "recipients.yaml",
                "--ledger",
                ledger,
                "--into",
                "three",
                "--chain",
                "versions",
            ),
            *("--to", "north", "--to", "south", "--to", "west"),
        ),
        "trace": ("leak.csv", "trace", "leak.csv", "--ledger", ledger),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loads", description=__doc__)
    parser.add_argument("--source", type=Path, default=Path("src"), help="the folder that holds sfumato/")
    parser.add_argument("--names", action="store_true", help="also list the modules")
    chosen = parser.parse_args()
    source = chosen.source.absolute()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write = f"from sfumato import demo; demo.write('.', {ROWS})"
        subprocess.run(
            [sys.executable, "-c", write],
            check=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(source)},
        )
        policy = (folder / "policy.yaml").read_text(encoding="utf-8")
        (folder / "recipients.yaml").write_text(f"{policy}recipients: {{tolerance: 50%}}\n", encoding="utf-8")
        for name, (table, *arguments) in calls(folder).items():
            if name == "trace":
                (folder / "leak.csv").write_bytes((folder / "three/north/data.csv").read_bytes())
            found = measure(source, folder, table, *arguments)
            print(
                f"{name:28} {len(found['imported']):4} imported {len(found['ran']):4} run "
                f"{found['passes']} passes"
            )
            if chosen.names:
                print(
                    "   ",
                    *(f"{'*' if m in found['ran'] else ' '}{m}" for m in found["imported"]),
                    sep="\n    ",
                )


if __name__ == "__main__":
    main()
