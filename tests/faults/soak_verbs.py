"""Every verb with one damaged file among those that it reads: in this process, and by the command line."""

from __future__ import annotations

import contextlib
import csv
import faulthandler
import io
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field

from faults.damage import damaged
from faults.soak_releases import CLOCK, Task, Wrong, must
from faults.written_files import write_files
from policy.test_arx_project import project
from sfumato import demo
from sfumato.cli.main import run
from table.reading import files_of_rows

SECONDS, BYTES = 10.0, 2_000_000_000
CANARY = "canary-51c7e0"
SECRET = "name"
"""The column of the canary: an identifier, whose cells are never published and never printed."""
ROWS = [{"zip": f"0{2100 + n % 7}", "age": 20 + n % 9, "weight": 40.5, SECRET: CANARY} for n in range(24)]


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
        first, second = [*self.words.split(" ", 2), ""][:2]
        return f"{first} {second}" if first in ("policy", "ledger", "attack") else first


KINDS = ("xlsx", "ods", "sav", "dta", "xpt", "arrow", "parquet", "jsonl")
WITH_HISTORY = frozenset({0, 1, 3, 4, 5})
WITH_CHOICE = frozenset({0, 1, 2, 3})
"""The damaged file names columns or attacks that a word of the call then does not fit."""
VERBS = (
    Verb("discover DATA --k 5 --mode all"),
    Verb("discover DATA --k 2 --count 9 --record-risk 2 --suggest NEW --charts CHARTS", 0, WITH_CHOICE),
    Verb("declare DATA -o NEW"),
    Verb("init DATA -o NEW --row person --audience partners --once --recipients 1 --rule 5 --nothing-exact",
         0, WITH_CHOICE),
    Verb("doctor DATA -p POLICY"),
    Verb("policy check POLICY DATA"),
    Verb("policy check READY", 3),
    Verb("policy confirm READY --all", 0, WITH_CHOICE),
    Verb("policy patterns POLICY DATA", 0, WITH_CHOICE),
    Verb("policy arx PROJECT --into FOLDER"),
    Verb("protect DATA -p POLICY -o NEW --overwrite --dictionary"),
    Verb("protect DATA -p POLICY --reuse-plan PLAN --dry-run"),
    Verb("protect PACKED -p POLICY --dry-run --json"),
    *(Verb(f"protect {kind.upper()} -p ROWS --dry-run") for kind in KINDS),
    Verb("protect SQLITE -p ROWS --dry-run --query QUERY"),
    Verb("audit DATA -p POLICY", 1),
    Verb("audit SAFE -p POLICY --against URL"),
    Verb("audit SHEET -p POLICY"),
    Verb("attack linkage SAFE -p POLICY", 0, WITH_CHOICE),
    Verb("utility DATA SAFE -p POLICY", 0, WITH_CHOICE),
    Verb("knowledge DATA --label disease --terms symptoms --vocabulary WORDS -o NEW", 0, WITH_CHOICE),
    Verb("release DATA -p POLICY --ledger URL --chain other --dry-run --ignore-chain main", 0, WITH_HISTORY),
    Verb("release DATA -p POLICY --ledger URL --chain c2 --ignore-chain main --into FOLDER", 0, WITH_HISTORY),
    Verb("release DATA -p POLICY --ledger URL --override OVERRIDE --to lab --dry-run", 2, WITH_HISTORY | {2}),
    Verb("trace LEAK --ledger OLD"),
    Verb("erase --person-file PEOPLE --column patient_id --ledger URL --yes", 0, WITH_HISTORY | {2}),
    Verb("certificate verify CERTIFICATE --key KEY"),
    Verb("ledger verify --ledger URL --certificate CERTIFICATE"),
    Verb("ledger missing --ledger URL --certificate CERTIFICATE --anchor ANCHOR"),
    Verb("ledger floor --ledger URL"),
    Verb("ledger recover --ledger URL", 0, WITH_HISTORY),
    Verb("ledger backup NEW.db --ledger URL", 0, WITH_HISTORY),
    Verb("ledger restore BACKUP --ledger FRESH --key PRIVATE", 0, WITH_HISTORY),
    Verb("ledger keys --ledger URL"),
    Verb("ledger withdraw 1 --reason error --ledger URL --key PRIVATE", 0, WITH_HISTORY | {2}),
    Verb("ledger rotate --ledger URL --key PRIVATE", 0, WITH_HISTORY),
    Verb("history --ledger URL"),
    Verb("report SAFE -p POLICY -o NEW.html --overwrite"),
    Verb("report ONE -p POLICY -o NEW.html --overwrite --public"),
)  # fmt: skip
FILES = {"DATA": "hospital.csv", "POLICY": "policy.yaml", "SAFE": "one/data.csv", "SHEET": "safe.xlsx"}
FILES |= {"CERTIFICATE": "one/certificate.json", "ANCHOR": "anchor.json", "URL": "ledger.db"}
FILES |= {"KEY": "ledger.db.key.pub", "PRIVATE": "ledger.db.key", "LEAK": "leak.csv", "OLD": "old.db"}
FILES |= {"READY": "ready.yaml", "PROJECT": "p.deid", "PLAN": "plan.json", "PACKED": "hospital.csv.gz"}
FILES |= {"WORDS": "words.txt", "OVERRIDE": "override.json", "PEOPLE": "people.txt", "BACKUP": "backup.db"}
FILES |= {"ONE": "one/manifest.json", "ROWS": "rows.yaml", "SQLITE": "people.sqlite"}
FILES |= {kind.upper(): f"people.{kind}" for kind in KINDS}
WRITTEN = {"university.csv": "leak.csv", "ledger.db": "old.db", "ledger.db.key": "old.db.key"}
WRITTEN |= {"override.json": "override.json"}
ROWS_POLICY = f"""\
columns:
  {SECRET}: {{role: identifier}}
  zip: {{role: quasi, taxonomy: {{prefix: [3, 1]}}}}
  age: {{role: insensitive}}
  weight: {{role: insensitive}}
promises:
  - k-anonymity: {{k: 2}}
"""
READY_POLICY = """\
columns:
  country: {role: quasi, taxonomy: {ready: countries}}
  weight: {role: insensitive}
promises:
  - k-anonymity: {k: 3}
confirm:
  weight: harmless, it seems
"""


class Verbs(Task):
    """Every verb with one damaged file, in this process; before that every verb with none."""

    rows = 120

    def __init__(self, folder, cluster):
        super().__init__(folder, cluster)
        self.good, self.place = self.folder / "good", self.folder / "place"
        shutil.rmtree(self.good, ignore_errors=True)
        demo.write(self.good, self.rows)
        self.plant(self.good / "hospital.csv")
        self.lay_out(self.good)
        for words in (
            "release DATA -p POLICY --ledger URL --into ONE",
            "ledger anchor --ledger URL -o ANCHOR",
            "ledger backup BACKUP --ledger URL",
            "protect DATA -p POLICY -o SHEET",
        ):
            self.do(words)
        self.good.joinpath("plan.json").write_text(self.do("protect DATA -p POLICY --dry-run --json"))
        for verb in VERBS:
            self.check_whole(verb)

    def lay_out(self, place):
        """Writes the files of every kind that verbs read."""
        policy = place / "policy.yaml"
        lattice = policy.read_text(encoding="utf-8").replace("search: best", "search: lattice")
        policy.write_text(f"{lattice}person: patient_id\n", encoding="utf-8")
        written = place / "written"
        written.mkdir()
        write_files(written)
        for name, new in WRITTEN.items():
            shutil.copy(written / name, place / new)
        shutil.rmtree(written)
        for kind in (*KINDS, "sqlite"):
            files_of_rows.write(kind, ROWS, place)
        packed = place / "hospital.csv.gz"
        subprocess.run(["gzip", "-kn", str(place / "hospital.csv")], check=True)
        must(packed.exists(), "gzip")
        project(place / "p.deid")
        (place / "rows.yaml").write_text(ROWS_POLICY, encoding="utf-8")
        (place / "ready.yaml").write_text(READY_POLICY, encoding="utf-8")
        (place / "words.txt").write_text("fever\ncough\n", encoding="utf-8")
        with (place / "hospital.csv").open(encoding="utf-8", newline="") as file:
            keys = [row["patient_id"] for row in csv.DictReader(file)]
        (place / "people.txt").write_text("\n".join(keys[3:6]), encoding="utf-8")

    def do(self, words):
        """What the program says when it is asked for something that works."""
        code, said = self.call(self.good, self.named(words, self.good))
        must(code == 0, f"{words}: exit {code}: {said}")
        return said

    def plant(self, path):
        """Puts the canary where it must never be seen."""
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        policy = (self.good / "policy.yaml").read_text(encoding="utf-8")
        must(f"{SECRET}:       {{role: identifier}}" in policy, "the canary is in no identifier")
        rows[7][rows[0].index(SECRET)] = CANARY
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def fresh(self):
        """Begins with whole files."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.good, self.place)

    def check_whole(self, verb):
        """Raises unless a verb does on whole files what it is said to do, and keeps what is secret."""
        self.fresh()
        code, said = self.call(self.place, self.named(verb.words, self.place))
        must(code == verb.whole, f"{verb.words}: exit {code} where nothing is damaged: {said}")
        must(CANARY not in said, f"{verb.words}: a cell was printed")
        self.check_written(verb)

    def check_written(self, verb):
        """Raises where the canary is in something that was written to be given away."""
        given_away = [
            *self.place.glob("new.*"),
            *self.place.glob("folder/**/*"),
            *self.place.glob("charts/*"),
        ]
        for new in given_away:
            must(not new.is_file() or CANARY.encode() not in new.read_bytes(), f"{verb.words}: a cell is out")

    def named(self, words, place):
        """The arguments of a call, with the files of a place."""
        named = {word: str(place / name) for word, name in FILES.items()}
        named |= {word: f"sqlite:///{named[word]}" for word in ("URL", "OLD", "SQLITE")}
        named |= {"NEW": str(place / "new.csv"), "FRESH": f"sqlite:///{place}/fresh.db"}
        named |= {
            "NEW.html": str(place / "new.html"),
            "ONE": str(place / "one"),
            "NEW.db": str(place / "new.db"),
        }
        named |= {
            "FOLDER": str(place / "folder"),
            "CHARTS": str(place / "charts"),
            "QUERY": files_of_rows.QUERY,
        }
        return [named.get(word, word) for word in words.split()]

    def arguments(self, number):
        """The verb and the call of a unit, on files of which one is damaged."""
        chance = random.Random(f"{type(self).__name__} {number}")
        verb = VERBS[number % len(VERBS)]
        self.fresh()
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
        faulthandler.dump_traceback_later(CLOCK, exit=True)
        begun, held = time.process_time(), most_held()
        code, said = self.call(self.place, arguments)
        faulthandler.cancel_dump_traceback_later()
        return self.judged(verb, code, said, time.process_time() - begun, most_held() - held)


def most_held():
    """The most memory that this process ever held, in kB: what it grew by is what one input took."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Commands(Verbs):
    """The same through the command line, each in a process of its own."""

    def unit(self, number):
        verb, arguments = self.arguments(number)
        log = self.folder / "said.txt"
        with log.open("wb") as said:
            command = [sys.executable, "-m", "sfumato", *arguments]
            program = subprocess.Popen(command, cwd=self.place, stdout=said, stderr=said)
            status, used = ended(program, verb.words)
        told = log.read_text(encoding="utf-8", errors="replace")
        code = os.waitstatus_to_exitcode(status)
        return self.judged(verb, code, told, used.ru_utime + used.ru_stime, used.ru_maxrss)


def ended(program, words):
    """Waits for a program; its status and what it used."""
    until = time.monotonic() + CLOCK
    while time.monotonic() < until:
        pid, status, used = os.wait4(program.pid, os.WNOHANG)
        if pid:
            program.returncode = os.waitstatus_to_exitcode(status)
            return status, used
        time.sleep(0.01)
    program.kill()
    program.wait()
    raise Wrong(f"{words}: hangs")
