"""What a soak does: damaged inputs for every parser and every verb, in this process and by the command line.

Every task has units, told apart by their numbers: the same number is the same input. A unit returns a word
for what came of it, which is counted, and raises where something came of it that must not.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from faults.damage import damaged
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
    Wrong,
    must,
)
from faults.test_damaged_inputs import GOLDEN, PARSERS
from sfumato import demo
from sfumato.cli.main import run
from sfumato.core.errors import SfumatoError

SECONDS, BYTES = 10.0, 2_000_000_000
CANARY = "canary-51c7e0"
SECRET = "name"
"""The column of the canary: an identifier, whose cells are never published and never printed."""


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


@dataclass(frozen=True)
class Verb:
    """A call of the program: how it ends on whole files, and how it may end where one of them is damaged.

    Exit 2 says that the call itself was wrong: no damage makes it so, but where `harmed` names it.
    """

    words: str
    whole: int = 0
    harmed: frozenset[int] = field(default=frozenset({0, 1, 3}))

    @property
    def name(self) -> str:
        return self.words.split(" ", 1)[0]


VERBS = (
    Verb("discover DATA --k 5 --mode all"),
    Verb("declare DATA -o NEW"),
    Verb("policy check POLICY DATA"),
    Verb("protect DATA -p POLICY -o NEW --overwrite"),
    Verb("protect DATA -p POLICY --dry-run"),
    Verb("audit DATA -p POLICY", 1),
    Verb("audit SAFE -p POLICY"),
    Verb("attack linkage SAFE -p POLICY"),
    Verb("utility DATA SAFE -p POLICY"),
    Verb("release DATA -p POLICY --ledger URL --chain other --dry-run --despite main"),
    Verb("trace LEAK --ledger OLD"),
    Verb("certificate verify CERTIFICATE --key KEY"),
    Verb("ledger verify --ledger URL --certificate CERTIFICATE"),
    Verb("ledger missing --ledger URL --certificate CERTIFICATE --anchor ANCHOR"),
    Verb("history --ledger URL"),
    Verb("report SAFE -p POLICY -o NEW.html --overwrite"),
)
FILES = {"DATA": "hospital.csv", "POLICY": "policy.yaml", "SAFE": "one/data.csv"}
FILES |= {"CERTIFICATE": "one/certificate.json", "ANCHOR": "anchor.json", "URL": "ledger.db"}
FILES |= {"KEY": "ledger.db.key.pub", "LEAK": "leak.csv", "OLD": "old.db"}


class Verbs(Task):
    """Every verb with one damaged file, in this process; before that every verb with none."""

    def __init__(self, folder, cluster):
        super().__init__(folder, cluster)
        self.good, self.place = self.folder / "good", self.folder / "place"
        shutil.rmtree(self.good, ignore_errors=True)
        demo.write(self.good, 120)
        self.plant(self.good / "hospital.csv")
        shutil.copy(GOLDEN / "leaks" / "university.csv", self.good / "leak.csv")
        shutil.copy(GOLDEN / "ledger" / "ledger.db", self.good / "old.db")
        for words in (
            "release DATA -p POLICY --ledger URL --into ONE",
            "ledger anchor --ledger URL -o ANCHOR",
        ):
            code, said = self.call(self.good, self.named(words, self.good))
            must(code == 0, f"{words}: exit {code}: {said}")
        for verb in VERBS:
            self.check_whole(verb)

    def plant(self, path):
        """Puts the canary where it must never be seen."""
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        policy = (self.good / "policy.yaml").read_text(encoding="utf-8")
        must(f"{SECRET}:       {{role: identifier}}" in policy, "the canary is in no identifier")
        rows[7][rows[0].index(SECRET)] = CANARY
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def check_whole(self, verb):
        """Raises unless a verb does on whole files what it is said to do, and keeps what is secret."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.good, self.place)
        code, said = self.call(self.place, self.named(verb.words, self.place))
        must(code == verb.whole, f"{verb.words}: exit {code} where nothing is damaged: {said}")
        must(CANARY not in said, f"{verb.words}: a cell was printed")
        for new in self.place.glob("new.*"):
            must(CANARY.encode() not in new.read_bytes(), f"{verb.words}: a cell was published")

    def named(self, words, place):
        """The arguments of a call, with the files of a place."""
        named = {word: str(place / name) for word, name in FILES.items()}
        named |= {word: f"sqlite:///{named[word]}" for word in ("URL", "OLD")}
        named |= {"NEW": str(place / "new.csv")}
        named |= {"NEW.html": str(place / "new.html"), "ONE": str(place / "one")}
        return [named.get(word, word) for word in words.split()]

    def arguments(self, number):
        """The verb and the call of a unit, on files of which one is damaged."""
        chance = random.Random(f"{type(self).__name__} {number}")
        verb = VERBS[number % len(VERBS)]
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.good, self.place)
        harmed = self.place / FILES[chance.choice([word for word in verb.words.split() if word in FILES])]
        harmed.write_bytes(damaged(harmed.read_bytes(), chance))
        return verb, self.named(verb.words, self.place)

    def call(self, place, arguments):
        """Run the program here; its exit code and everything it says."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(place):
            code = run(arguments)
        return code, out.getvalue() + err.getvalue()

    def judged(self, verb, code, said, seconds, memory):
        """The word for what came of a unit; raises where it must not have come of it."""
        must(code in verb.harmed, f"{verb.words}: exit {code}: {said[-300:]}")
        must("Traceback" not in said, f"{verb.words}: a traceback")
        must(CANARY not in said, f"{verb.words}: a cell was printed")
        must(seconds < SECONDS, f"{verb.words}: {seconds:.1f} s of processor time")
        must(memory * 1024 < BYTES, f"{verb.words}: {memory} kB")
        return f"{verb.name} exit {code}"

    def unit(self, number):
        verb, arguments = self.arguments(number)
        begun = time.process_time()
        code, said = self.call(self.place, arguments)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return self.judged(verb, code, said, time.process_time() - begun, memory)


class Commands(Verbs):
    """The same through the command line, each in a process of its own."""

    def unit(self, number):
        verb, arguments = self.arguments(number)
        log = self.folder / "said.txt"
        with log.open("wb") as said:
            command = [sys.executable, "-m", "sfumato", *arguments]
            program = subprocess.Popen(command, cwd=self.place, stdout=said, stderr=said)
            status, used = _ended(program, verb.words)
        told = log.read_text(encoding="utf-8", errors="replace")
        code = os.waitstatus_to_exitcode(status)
        return self.judged(verb, code, told, used.ru_utime + used.ru_stime, used.ru_maxrss)


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
    "full disks on SQLite": (FullDisks, 50),
    "full disks on PostgreSQL": (FullDisksOnPostgresql, 50),
}
"""Tasks by name, with how many units of each a whole soak has."""
