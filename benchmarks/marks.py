"""A ledger that remembers many people: the check of a next release against all of them, and the verification.

`python -m benchmarks.marks 1000 100000 [--people 100000] [--ledger URL --key FILE]` prints one JSON document:
the seconds of a thousand releases, each of a chain of its own, with a hundred thousand people each, and the
most memory that was held. The marks are drawn; what is timed is what every release does before its commit.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import uuid
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from benchmarks.many_releases import timed
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.cross_chain_overlap import check_elsewhere, enter_people
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import append, mark_bytes
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.system.errors import RefusedByHistory

AT_ONCE = 100
"""So many releases are stored by one transaction."""


def drawn(rng: np.random.Generator, people: int) -> bytes:
    """Returns the marks of so many people."""
    return mark_bytes(rng.integers(0, 2**64, (people, 2), dtype=np.uint64))


def fill(ledger: Ledger, releases: int, people: int, rng: np.random.Generator) -> bytes:
    """Enters so many releases, each in a chain of its own; returns the marks of the last one."""
    marks = b""

    def work(connection: Connection) -> None:
        nonlocal marks
        number, before, name = ledger.head.number, ledger.head.hash, entries.identity(connection)
        at = ledger.clock().isoformat()
        for _ in range(min(AT_ONCE, releases - number)):
            number, marks = number + 1, drawn(rng, people)
            record = ReleaseRecord(uuid.uuid4().hex, f"c{number}", "0" * 64, people=marks).salted(at)
            entry = record.entry(number=number, sequence=1, previous=before, ledger=name)
            before = append(connection, entry, ledger._key).hash
            enter_people(connection, number, record)

    while ledger.head.number < releases:
        ledger.write(work)
    return marks


def measured(ledger: Ledger, releases: int, people: int, comers: int) -> dict[str, object]:
    """Returns what is told of a ledger with so many releases of so many people, when so many more come."""
    rng = np.random.default_rng(7)
    told: dict[str, object] = {"releases": releases, "marks": releases * people, "people who come": comers}
    last: list[bytes] = []
    told["fill"] = timed(lambda: last.append(fill(ledger, releases, people, rng)))

    def check(marks: bytes) -> None:
        ledger.write(
            lambda connection: check_elsewhere(
                connection, [ReleaseRecord("n", "next", "0" * 64, people=marks)]
            )
        )

    told["nobody met"] = timed(lambda: check(drawn(rng, comers)))

    def refused() -> None:
        try:
            check(drawn(rng, comers - 1) + last[0][-16:])
        except RefusedByHistory:
            return
        raise AssertionError("one person of the last release is in the next, and was not seen")

    told["one person met"] = timed(refused)
    holds: list[bool] = []
    told["verify"] = timed(lambda: holds.append(ledger.verify().holds))
    assert holds == [True]
    told["MB held"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return told


def main() -> None:
    """Reads the arguments and prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", type=int)
    parser.add_argument("each", type=int, help="people in every release")
    parser.add_argument("--people", type=int, default=100_000, help="people in the next release")
    parser.add_argument("--ledger", help="URL (default: SQLite in a temporary folder)")
    parser.add_argument("--key", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(chosen.ledger or f"sqlite:///{folder}/ledger.db", key=chosen.key)
        print(json.dumps(measured(ledger, chosen.releases, chosen.each, chosen.people), indent=1))


if __name__ == "__main__":
    main()
