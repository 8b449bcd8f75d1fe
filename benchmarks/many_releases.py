"""Many small releases, one after the other: of one chain, or each of a chain of its own.

`python -m benchmarks.many_releases 1000 [--chains] [--ledger URL --key FILE]` prints one JSON document: what
a release takes at the beginning and at the end, and what verifying, recovering, listing and the next release
take afterwards, in seconds of processor time of this process and by the clock (PostgreSQL works elsewhere).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sfumato.releases.issue import PlannedRelease, begin, issue, judge_folders, recover
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.system.verdict import Verdict

ROWS = 20
MEMORY = b"\0" * 2000
"""As long as the imprint of a small table."""


def planned(number: int, marks: bytes) -> PlannedRelease:
    """Returns a small release; `marks` are those of its people."""

    def write(path: Path) -> None:
        path.write_text("zip\n" + f"{number:05d}\n" * ROWS, encoding="utf-8")

    def judge(path: Path, private: Path) -> tuple[Verdict, ...]:
        del path, private
        return (Verdict("k-anonymity, k = 5", True, 5, 5),)

    record = ReleaseRecord("", "", "p" * 64, figures={"rows": ROWS}, memory=MEMORY, people=marks)
    return PlannedRelease(record, write, judge)


def marks_of(number: int) -> bytes:
    """Returns the marks of people who are in no other release."""
    return b"".join((number * ROWS + row).to_bytes(16, "little") for row in range(1, ROWS + 1))


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Returns the seconds that something takes, of this process and by the clock."""
    cpu, clock = time.process_time(), time.perf_counter()
    work()
    return {"cpu": round(time.process_time() - cpu, 4), "clock": round(time.perf_counter() - clock, 4)}


def measured(count: int, *, chains: bool, url: str, key: Path | None, out: Path) -> dict[str, object]:
    """Releases so many times and returns what it took, and what everything takes afterwards."""
    ledger = Ledger(url, key=key)

    def release(number: int) -> None:
        chain = f"c{number}" if chains else "main"
        marks = marks_of(number) if chains else b""
        begun = begin(ledger, into=out / f"r{number}", chain=chain)
        with judge_folders(begun, [planned(number, marks)]) as folders:
            issue(folders)

    each = [timed(lambda n=number: release(n)) for number in range(count)]
    tenth = max(1, count // 10)

    def mean(some: list[dict[str, float]]) -> dict[str, float]:
        return {name: round(sum(one[name] for one in some) / len(some), 4) for name in ("cpu", "clock")}

    told: dict[str, object] = {"releases": count, "chains": count if chains else 1}
    told |= {"first tenth, each": mean(each[:tenth]), "last tenth, each": mean(each[-tenth:])}
    verification = []
    told["verify"] = timed(lambda: verification.append(ledger.verify()))
    assert verification[0].holds
    told["recover"] = timed(lambda: recover(ledger))
    told["history"] = timed(ledger.history)
    told["next"] = timed(lambda: release(count))
    return told


def main() -> None:
    """Reads the arguments and prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--chains", action="store_true", help="each release is of a chain of its own")
    parser.add_argument("--ledger", default="", help="by default a SQLite file that is thrown away")
    parser.add_argument("--key", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url, key = given.ledger or f"sqlite:///{folder}/ledger.db", given.key or Path(folder) / "ledger.key"
        print(json.dumps(measured(given.count, chains=given.chains, url=url, key=key, out=Path(folder))))


if __name__ == "__main__":
    main()
