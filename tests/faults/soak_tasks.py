"""What a soak does: damaged inputs for every parser, every verb and the studio, and harm to releases.

Every task has units, told apart by their numbers: the same number is the same input. A unit returns a word
for what came of it, which is counted, and raises where something came of it that must not.
"""

from __future__ import annotations

import faulthandler
import random
import shutil
import time
from typing import NamedTuple

from faults.damage import damaged
from faults.parsers import PARSERS, lay_out
from faults.soak_releases import (
    CLOCK,
    FullDisks,
    FullDisksOnPostgresql,
    Kills,
    KillsOnPostgresql,
    Signals,
    SignalsOnPostgresql,
    Task,
    Writers,
    WritersOnPostgresql,
    must,
)
from faults.soak_studio import Studio
from faults.soak_verbs import BYTES, SECONDS, Commands, Verbs, most_held
from sfumato.system.errors import SfumatoError


class Parsers(Task):
    """Damaged bytes for every parser, in this process; parsers that are quick have more turns."""

    def __init__(self, folder, cluster):
        super().__init__(folder, cluster)
        shutil.rmtree(self.folder, ignore_errors=True)
        lay_out(self.folder)
        for name, parser in PARSERS.items():
            whole = (self.folder / parser.file).read_bytes()
            try:
                parser.read(self.folder / parser.file)
            except SfumatoError as error:
                must(False, f"{name}: refused where nothing is damaged: {error}")
            (self.folder / parser.file).write_bytes(whole)
        turns = max(parser.turns for parser in PARSERS.values())
        self.names = [name for turn in range(turns) for name in PARSERS if PARSERS[name].turns > turn]

    def unit(self, number):
        name = self.names[number % len(self.names)]
        path = self.folder / PARSERS[name].file
        original = path.read_bytes()
        path.write_bytes(damaged(original, random.Random(f"parsers {number}")))
        path.chmod(0o600)
        faulthandler.dump_traceback_later(CLOCK, exit=True)
        begun, held = time.process_time(), most_held()
        try:
            PARSERS[name].read(path)
            outcome = "read"
        except SfumatoError as error:
            must(len(str(error)) < 2000, f"{name}: a long message")
            outcome = "refused"
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {str(error)[:200]}") from error
        finally:
            faulthandler.cancel_dump_traceback_later()
            path.write_bytes(original)
        must(time.process_time() - begun < SECONDS, f"{name}: too slow")
        taken = most_held() - held
        must(taken * 1024 < BYTES, f"{name}: {taken} kB more than before")
        return f"{name} {outcome}"


class Kind(NamedTuple):
    """A task, how many units of it a whole soak has, and in how many shares they can be done at once."""

    task: type[Task]
    units: int
    shares: int = 1


TASKS = {
    "verbs": Kind(Verbs, 4_000, 2),
    "parsers": Kind(Parsers, 93_000, 4),
    "studio": Kind(Studio, 4_000, 2),
    "kills on SQLite": Kind(Kills, 250),
    "kills on PostgreSQL": Kind(KillsOnPostgresql, 250),
    "signals on SQLite": Kind(Signals, 250),
    "signals on PostgreSQL": Kind(SignalsOnPostgresql, 250),
    "writers on SQLite": Kind(Writers, 20),
    "writers on PostgreSQL": Kind(WritersOnPostgresql, 20),
    "full disks on SQLite": Kind(FullDisks, 50),
    "full disks on PostgreSQL": Kind(FullDisksOnPostgresql, 50),
    "commands": Kind(Commands, 2_000, 2),
}
"""Tasks by name, the longest last: 101,000 damaged inputs in-process, 500 kills, 500 signals, 2,000 inputs by
the command line."""
