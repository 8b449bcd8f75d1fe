"""Type the tutorials in a fresh environment: `python -m guide.trial [--environment FOLDER] [PAGE …]`.

A new virtual environment is made in a temporary folder, this project is installed into it, and the commands
of every tutorial are typed one by one in an empty folder. Each output is compared with the page. Exits 1 if
one differs, and shows the difference. `--environment` takes one that is there already.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from guide.sessions import run, session, write_files

ROOT = Path(__file__).parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"
KEPT = ("HOME", "LANG", "PATH", "TMPDIR")
"""Variables that a newcomer has; everything else of this process is left behind."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Type what is asked for; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m guide.trial", description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="pages (every tutorial)")
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="a virtual environment to use")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="sfumato-trial-") as folder:
        programs = (chosen.environment or fresh_environment(Path(folder) / "environment")) / "bin"
        wrong = 0
        for page in chosen.pages or sorted(TUTORIALS.glob("*.md")):
            into = Path(folder) / page.stem
            into.mkdir()
            wrong += not typed_as_shown(page, into, programs.absolute())
    return int(bool(wrong))


def fresh_environment(folder: Path) -> Path:
    """Makes a virtual environment with this project and its charts installed; returns its folder."""
    print(f"making a fresh environment with Python {sys.version.split()[0]}", flush=True)
    venv.create(folder, with_pip=True)
    subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", f"{ROOT}[charts]"], check=True
    )
    return folder


def typed_as_shown(page: Path, folder: Path, programs: Path) -> bool:
    """Types the session of a page; returns whether every output is what the page shows."""
    variables = {name: os.environ[name] for name in KEPT if name in os.environ}
    print(f"== {page.stem}", flush=True)
    text = page.read_text(encoding="utf-8")
    write_files(text, folder)
    for typed in session(text):
        begun = time.monotonic()
        shown = run(typed, folder, programs=programs, variables=variables)
        fits = typed.fits(shown)
        print(
            f"{'same' if fits else 'DIFFERS'}  {time.monotonic() - begun:5.1f} s  $ {typed.command}",
            flush=True,
        )
        if not fits:
            told, given = typed.expected.splitlines(), shown.splitlines()
            print("\n".join(difflib.unified_diff(told, given, "the page", "this run", lineterm="")))
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
