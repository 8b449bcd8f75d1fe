"""Make mutants and see which of them no test notices: `python -m mutants [--count N] [--seed N] [--jobs N]`.

Each mutant is made in a copy of `src` in a temporary folder, never in the working tree. The tests that are
most related to its room are asked first, and the first failure ends it. A run that was stopped goes on where
it was when it is started again at the same commit. Exits 1 if a mutant survives, or if `equivalent.txt` names
one that is no more.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from mutants import equivalent, results
from mutants.mutant import drawn, mutants_in
from mutants.rooms import ROOMS
from mutants.run import ROOT, Run
from mutants.worker import STOP, Stopped


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; the exit code."""
    chosen = _options().parse_args(arguments)
    every = {room: mutants_in(ROOT, room) for room in ROOMS}
    reasons = equivalent.read(equivalent.PLACE.read_text(encoding="utf-8"))
    gone = equivalent.unknown(reasons, {m.name for mutants in every.values() for m in mutants})
    for name in gone:
        print(f"equivalent.txt names no mutant that there is: {name}")
    each, more = divmod(chosen.count, len(ROOMS))
    kept = [m for i, room in enumerate(ROOMS) for m in drawn(every[room], each + (i < more), chosen.seed)]
    if chosen.list:
        print("\n".join(f"{m.path}:{m.line}  {m.where}\n  - {m.before}\n  + {m.after}" for m in kept))
        return int(bool(gone))
    run = Run(chosen.results, kept, reasons, seed=chosen.seed, touching=chosen.touching)
    alive = {result.name for result in run.survivors}
    todo = [m for m in kept if (m.name in alive if chosen.survivors else not run.is_done(m))]
    print(f"{len(kept)} mutants at {run.commit}, {len(todo)} to be run", flush=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: STOP.set())
    try:
        run.go(todo, chosen.jobs)
    except Stopped:
        print("stopped; start again to go on")
        return 130
    print(run.path.read_text(encoding="utf-8").split("# outcome")[0], end="")
    return int(bool(gone or run.survivors))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="how many, equally many from each room (200)")
    parser.add_argument("--seed", type=int, default=13, help="which ones (13)")
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time (2)")
    parser.add_argument("--survivors", action="store_true", help="again those that survived in the results")
    parser.add_argument(
        "--touching",
        action="store_true",
        help="ask only tests that run a mutant's lines, with few cases; then ask all with --survivors",
    )
    parser.add_argument("--list", action="store_true", help="say which are drawn, and run nothing")
    parser.add_argument("--results", type=Path, default=results.PLACE, help="where the results are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
