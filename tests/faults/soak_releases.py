"""What a soak does to releases by the command line: kills, signals, writers at once, and full disks."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from faults.made_up import check_all
from faults.prepared import Prepared
from faults.stage import fill_disk
from quick_demo import write_quick_demo

CLOCK = 120.0
"""Seconds by the clock after which a program hangs, however busy the machine is."""
ROWS = 120
BATCH = 20
"""So many releases share a ledger before a new one is begun."""


class Wrong(AssertionError):
    """Something came of an input or a fault that must not."""


def must(holds, what):
    if not holds:
        raise Wrong(what)


class Task:
    """A kind of units, in a folder of its own; `cluster` starts a PostgreSQL when it is first asked."""

    def __init__(self, folder, cluster):
        self.folder, self.cluster = Path(folder), cluster
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self):
        """Gives back what a task holds beyond its folder."""


class Released(Task):
    """Releases by the command line into a ledger that is begun anew after some units."""

    postgresql = False

    def __init__(self, folder, cluster):
        super().__init__(folder, cluster)
        self.begun, self.entered, self.usual, self.prepared = None, 0, {}, None

    def fresh(self, number):
        """Begins a new place for every batch of units, with first releases that show how long one takes."""
        if self.begun == number // BATCH:
            return
        self.begun = number // BATCH
        shutil.rmtree(self.folder, ignore_errors=True)
        write_quick_demo(self.folder, ROWS)
        home = self.home()
        self.out, self.key = home / "out", home / "ledger.key"
        self.out.mkdir()
        self.url = f"sqlite:///{home}/ledger.db"
        if self.postgresql:
            self.url = self.cluster().database(f"{type(self).__name__.lower()}_{os.getpid()}_{self.begun}")
        if self.prepared is None:
            self.prepared = Prepared(self.words("loaded"))
        else:
            must(self.started("loaded").wait(timeout=CLOCK) == 0, "the first release")
        for whole in (True, False):
            begun = time.monotonic()
            must(self.started(f"first-{whole}", whole=whole).wait(timeout=CLOCK) == 0, "the first releases")
            self.usual[whole] = time.monotonic() - begun
        self.entered = 3

    def close(self):
        if self.prepared is not None:
            self.prepared.close()

    def home(self):
        """Where the ledger, its key and what is released lie."""
        return self.folder

    def words(self, name, into=None, chain=None):
        words = ["release", self.folder / "hospital.csv", "-p", self.folder / "policy.yaml"]
        words += ["--ledger", self.url, "--key", self.key, "--chain", chain or f"c{name}", "--to", f"t{name}"]
        return [str(word) for word in (*words, "--into", into or self.out / f"r{name}")]

    def started(self, name, *, into=None, chain=None, most=None, whole=False):
        """A release that runs; `most` is the size that none of its files may exceed.

        It is forked from the loaded program, or with `whole` started as from a shell.
        """
        words, log = self.words(name, into, chain), self.folder / f"said-{name}.txt"
        if not whole:
            return self.prepared.start(words, log, most)
        with log.open("wb") as said:
            return subprocess.Popen([sys.executable, "-m", "sfumato", *words], stdout=said, stderr=said)

    def harmed(self, number, chance):
        """A release that is to be harmed, after a random time; every fifth is started as from a shell."""
        whole = number % 5 == 0
        program = self.started(number, whole=whole)
        time.sleep(chance.uniform(0.02, 1.1) * self.usual[whole])
        return program

    def check_next(self, number):
        """Raises unless the next release works."""
        must(self.started(f"{number}-next").wait(timeout=CLOCK) == 0, "the next release does not work")
        must(self.counted() == 1, "the next release is not there")

    def said(self, name):
        return (self.folder / f"said-{name}.txt").read_text(encoding="utf-8", errors="replace")

    def counted(self):
        """How many releases came of a unit, after recovery; everything is whole."""
        before, self.entered = self.entered, check_all(self.url, self.key, self.out)
        return self.entered - before


class Kills(Released):
    """`sfumato release` is killed at a random moment: it counts and is there, or neither."""

    def unit(self, number):
        self.fresh(number)
        program = self.harmed(number, random.Random(f"kills {number}"))
        program.kill()
        code, more = program.wait(), self.counted()
        must(code in (0, -signal.SIGKILL), f"exit {code}")
        must(
            more == (self.out / f"r{number}").exists() and (code != 0 or more), "in one, and not in the other"
        )
        return "came too late" if code == 0 else f"killed, {'published' if more else 'nothing'}"


class Signals(Released):
    """The same with SIGTERM or SIGINT: it stops and says so, or finishes and says so."""

    def unit(self, number):
        self.fresh(number)
        chance = random.Random(f"signals {number}")
        program = self.harmed(number, chance)
        asked = chance.choice((signal.SIGTERM, signal.SIGINT))
        program.send_signal(asked)
        code, more, said = program.wait(timeout=CLOCK), self.counted(), self.said(number)
        must((code == 0) == bool(more), f"exit {code}, {more} published, and it says: {said[-300:]}")
        if code in (-asked, 1) and before_the_program(said):
            return "before it began"
        must(code in (0, 130), f"exit {code}")
        must("Traceback" not in said, "a traceback")
        must(code != 130 or "nothing was published" in said, "it does not say that nothing was published")
        return {0: "finished", 130: "stopped"}[code]


FIRST_FILES = ("__init__.py", "__main__.py", "program.py")
"""The files of ours that run before signals are ours."""


def before_the_program(said):
    """Whether Python was still starting: it said nothing, or a traceback that knows no later file of ours."""
    if "Traceback" not in said:
        return not said
    named = [line.split('"')[1] for line in said.splitlines() if line.strip().startswith('File "')]
    ours = [Path(name) for name in named if f"{os.sep}sfumato{os.sep}" in name]
    return said.rstrip().endswith("KeyboardInterrupt") and all(path.name in FIRST_FILES for path in ours)


class Writers(Released):
    """Eight at once: into one folder in odd rounds, into one chain in even ones; the next release works."""

    def unit(self, number):
        self.fresh(number)
        names, one_folder = [f"{number}-{who}" for who in range(8)], number % 2 == 1
        if one_folder:
            programs = [self.started(name, into=self.out / f"r{number}") for name in names]
        else:
            programs = [self.started(name, chain=f"all{number}") for name in names]
        codes = [program.wait(timeout=2 * CLOCK) for program in programs]
        more = self.counted()
        must(set(codes) <= ({0, 2, 4} if one_folder else {0, 4, 5}), f"exits {codes}")
        must(more == codes.count(0) >= 1 and (not one_folder or more == 1), f"{more} entered, exits {codes}")
        for name, code in zip(names, codes, strict=True):
            said = self.said(name)
            must("Traceback" not in said, "a traceback")
            must(code != 2 or "the target exists already" in said, f"exit 2: {said[-300:]}")
        self.check_next(number)
        return f"published {more} of 8"


class FullDisks(Released):
    """A disk with hardly any room: refused or published, and the next release works once there is room.

    Where no disk of its own can be mounted, a limit on the size of files stands in for it.
    """

    mounted = False

    def home(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
        self.mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
        return disk

    def fresh(self, number):
        if self.begun != number // BATCH:
            self.unmount()
        super().fresh(number)

    def close(self):
        super().close()
        self.unmount()

    def unmount(self):
        """Gives the disk back, also one that a killed part left."""
        command = ["umount", str(self.folder / "disk")]
        while subprocess.run(command, capture_output=True, check=False).returncode == 0:
            self.mounted = False

    def unit(self, number):
        self.fresh(number)
        room = random.Random(f"full disks {number}").choice((0, 1, 2, 3, 5, 8, 12, 16, 24, 40, 64)) * 4096
        ballast = self.out.parent / "ballast"
        if self.mounted:
            fill_disk(ballast, room)
        code = self.started(number, most=None if self.mounted else max(1, room)).wait(timeout=CLOCK)
        ballast.unlink(missing_ok=True)
        said, more = self.said(number), self.counted()
        must("Traceback" not in said, "a traceback")
        must(code in (0, 3, 4), f"exit {code}: {said[-300:]}")
        must({0: more == 1, 3: more == 0}.get(code, True), f"exit {code}, and {more} entered")
        self.check_next(number)
        return f"exit {code}, {'published' if more else 'nothing'}"


class KillsOnPostgresql(Kills):
    postgresql = True


class SignalsOnPostgresql(Signals):
    postgresql = True


class WritersOnPostgresql(Writers):
    postgresql = True


class FullDisksOnPostgresql(FullDisks):
    postgresql = True
