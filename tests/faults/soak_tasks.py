"""What a soak does: inputs for parsers and verbs, kills, signals, and writers at once.

Every task has units, told apart by their numbers: the same number is the same input. A unit returns a word
for what came of it, which is counted, and raises where something came of it that must not.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from faults.damage import damaged
from faults.made_up import check_all
from faults.test_damaged_inputs import GOLDEN, PARSERS
from sfumato import demo
from sfumato.cli.main import run
from sfumato.core.errors import SfumatoError

FINE = {0, 1, 2, 3, 4, 5, 130}
SECONDS, BYTES = 10.0, 2_000_000_000
CANARY = "canary-51c7e0"
CLOCK = 120.0
"""Seconds by the clock after which a program hangs, however busy the machine is."""
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


class Parsers(Task):
    """Damaged bytes for every parser, in this process."""

    def __init__(self, folder, cluster):
        super().__init__(folder, cluster)
        for place in ("policies", "ledger"):
            for file in (GOLDEN / place).iterdir():
                shutil.copy(file, self.folder / file.name)
        self.names = list(PARSERS)

    def unit(self, number):
        name = self.names[number % len(self.names)]
        seed, read = PARSERS[name]
        original = (GOLDEN / seed).read_bytes()
        path = self.folder / Path(seed).name
        path.write_bytes(damaged(original, random.Random(f"parsers {number}")))
        path.chmod(0o600)
        begun = time.process_time()
        try:
            read(path)
            outcome = "read"
        except SfumatoError as error:
            must(len(str(error)) < 2000, f"{name}: a long message")
            outcome = "refused"
        finally:
            path.write_bytes(original)
        must(time.process_time() - begun < SECONDS, f"{name}: too slow")
        must(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < BYTES, f"{name}: too large")
        return f"{name} {outcome}"


VERBS = (
    "discover DATA --k 5 --mode all",
    "declare DATA -o NEW",
    "policy check POLICY --data DATA",
    "protect DATA -p POLICY -o NEW --overwrite",
    "protect DATA -p POLICY --dry-run",
    "audit DATA -p POLICY",
    "attack DATA -p POLICY",
    "utility DATA DATA -p POLICY",
    "release DATA -p POLICY --ledger URL --dry-run",
    "trace DATA --ledger URL",
    "certificate verify CERTIFICATE",
    "ledger verify --ledger URL --certificate CERTIFICATE",
    "ledger missing --ledger URL --certificate CERTIFICATE --anchor ANCHOR",
    "history --ledger URL",
    "report DATA -p POLICY -o NEW.html --overwrite",
)
HARMED = {"DATA": "hospital.csv", "POLICY": "policy.yaml", "CERTIFICATE": "one/certificate.json"}
HARMED |= {"ANCHOR": "anchor.json", "URL": "ledger.db"}


class Verbs(Task):
    """Every verb with one damaged file, in this process."""

    def __init__(self, folder, cluster):
        super().__init__(folder, cluster)
        self.good = self.folder / "good"
        if not (self.good / "anchor.json").exists():
            shutil.rmtree(self.good, ignore_errors=True)
            demo.write(self.good, 120)
            data = self.good / "hospital.csv"
            lines = data.read_text(encoding="utf-8").splitlines()
            name = lines[0].split(",").index("name") if "name" in lines[0].split(",") else 0
            cells = lines[7].split(",")
            cells[name] = CANARY
            data.write_text("\n".join([*lines[:7], ",".join(cells), *lines[8:]]) + "\n", encoding="utf-8")
            words = f"release {data} -p {self.good}/policy.yaml --ledger sqlite:///{self.good}/ledger.db"
            self.call(self.good, [*words.split(), "--into", str(self.good / "one")])
            words = f"ledger anchor --ledger sqlite:///{self.good}/ledger.db -o {self.good}/anchor.json"
            self.call(self.good, words.split())
        self.place = self.folder / "place"

    def arguments(self, number):
        """The call of a unit, on files of which one is damaged."""
        chance = random.Random(f"{type(self).__name__} {number}")
        words = VERBS[number % len(VERBS)].split()
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.good, self.place)
        harmed = self.place / HARMED[chance.choice([word for word in words if word in HARMED])]
        harmed.write_bytes(damaged(harmed.read_bytes(), chance))
        named = {word: str(self.place / name) for word, name in HARMED.items()}
        named |= {"URL": f"sqlite:///{self.place}/ledger.db", "NEW": str(self.place / "new.csv")}
        named["NEW.html"] = str(self.place / "new.html")
        return [named.get(word, word) for word in words]

    def call(self, place, arguments):
        """Run the program here; its exit code and everything it says."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(place):
            code = run(arguments)
        return code, out.getvalue() + err.getvalue()

    def unit(self, number):
        arguments = self.arguments(number)
        begun = time.process_time()
        code, said = self.call(self.place, arguments)
        must(code in FINE, f"{VERBS[number % len(VERBS)]}: exit {code}")
        must(CANARY not in said, f"{VERBS[number % len(VERBS)]}: a cell was printed")
        must(time.process_time() - begun < SECONDS, f"{VERBS[number % len(VERBS)]}: too slow")
        must(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < BYTES, "too large")
        return f"{arguments[0]} exit {code}"


class Commands(Verbs):
    """The same through the command line, each in a process of its own."""

    def unit(self, number):
        words = VERBS[number % len(VERBS)]
        command = [sys.executable, "-m", "sfumato", *self.arguments(number)]
        log = self.folder / "said.txt"
        with log.open("wb") as said:
            program = subprocess.Popen(command, cwd=self.place, stdout=said, stderr=said)
            status, used = _ended(program, words)
        code = os.waitstatus_to_exitcode(status)
        must(code in FINE, f"{words}: exit {code}")
        must(CANARY.encode() not in log.read_bytes(), f"{words}: a cell was printed")
        must(used.ru_utime + used.ru_stime < SECONDS, f"{words}: too slow")
        must(used.ru_maxrss * 1024 < BYTES, f"{words}: too large")
        return f"{words.split()[0]} exit {code}"


def _ended(program, words):
    """Waits for a program; its status and what it used."""
    until = time.monotonic() + CLOCK
    while time.monotonic() < until:
        pid, status, used = os.wait4(program.pid, os.WNOHANG)
        if pid:
            program.returncode = os.waitstatus_to_exitcode(status)
            return status, used
        time.sleep(0.02)
    program.kill()
    program.wait()
    raise Wrong(f"{words}: hangs")


class Released(Task):
    """Releases by the command line into a ledger that is begun anew after some units."""

    postgresql = False

    def __init__(self, folder, cluster):
        super().__init__(folder, cluster)
        self.begun, self.entered, self.usual = None, 0, 1.0

    def fresh(self, number):
        """Begins a new place for every batch of units, with a first release that shows how long one takes."""
        if self.begun == number // BATCH:
            return
        self.begun = number // BATCH
        shutil.rmtree(self.folder, ignore_errors=True)
        demo.write(self.folder, 200)
        self.out = self.folder / "out"
        self.out.mkdir()
        self.url = f"sqlite:///{self.folder}/ledger.db"
        if self.postgresql:
            self.url = self.cluster().database(f"{type(self).__name__.lower()}_{os.getpid()}_{self.begun}")
        self.key = self.folder / "ledger.key"
        begun = time.monotonic()
        must(self.started("first").wait() == 0, "the first release")
        self.usual, self.entered = time.monotonic() - begun, 1

    def started(self, name, *, into=None, chain=None):
        words = [
            "release",
            self.folder / "hospital.csv",
            "-p",
            self.folder / "policy.yaml",
            "--ledger",
            self.url,
        ]
        words += ["--key", self.key, "--chain", chain or f"c{name}", "--to", f"t{name}"]
        words += ["--into", into or self.out / f"r{name}"]
        command = [str(word) for word in (sys.executable, "-m", "sfumato", *words)]
        with (self.folder / f"said-{name}.txt").open("wb") as said:
            return subprocess.Popen(command, stdout=said, stderr=said)

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
        chance, program = random.Random(f"kills {number}"), self.started(number)
        time.sleep(chance.uniform(0.05, 1.1) * self.usual)
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
        chance, program = random.Random(f"signals {number}"), self.started(number)
        time.sleep(chance.uniform(0.05, 1.1) * self.usual)
        asked = chance.choice((signal.SIGTERM, signal.SIGINT))
        program.send_signal(asked)
        code, more, said = program.wait(timeout=CLOCK), self.counted(), self.said(number)
        early = code in (-asked, 1) and not more  # before the program could ask for signals
        must(code in (0, 130) or early, f"exit {code}")
        must(early or "Traceback" not in said, "a traceback")
        must((code == 0) == bool(more), "what it says is not what it did")
        must(code != 130 or "nothing was published" in said, "it does not say that nothing was published")
        return {0: "finished", 130: "stopped"}.get(code, "before it began")


class Writers(Released):
    """Eight at once: into one folder in odd rounds, into one chain in even ones; the next release works."""

    def unit(self, number):
        self.fresh(number)
        names = [f"{number}-{who}" for who in range(8)]
        if number % 2:
            programs = [self.started(name, into=self.out / f"r{number}") for name in names]
        else:
            programs = [self.started(name, chain=f"all{number}") for name in names]
        codes = sorted(program.wait(timeout=2 * CLOCK) for program in programs)
        more = self.counted()
        must(set(codes) <= {0, 2, 4, 5} and codes[0] == 0, f"exits {codes}")
        must(more == codes.count(0) and (not number % 2 or more == 1), f"{more} entered, exits {codes}")
        must(self.started(f"{number}-next").wait(timeout=CLOCK) == 0, "the next release does not work")
        must(self.counted() == 1, "the next release is not there")
        return f"published {more} of 8"


class KillsOnPostgresql(Kills):
    postgresql = True


class SignalsOnPostgresql(Signals):
    postgresql = True


class WritersOnPostgresql(Writers):
    postgresql = True


TASKS = {
    "parsers": (Parsers, 94_000),
    "verbs": (Verbs, 6_000),
    "commands": (Commands, 2_000),
    "kills on SQLite": (Kills, 250),
    "kills on PostgreSQL": (KillsOnPostgresql, 250),
    "signals on SQLite": (Signals, 250),
    "signals on PostgreSQL": (SignalsOnPostgresql, 250),
    "writers on SQLite": (Writers, 20),
    "writers on PostgreSQL": (WritersOnPostgresql, 20),
}
"""Tasks by name, with how many units of each a whole soak has."""
