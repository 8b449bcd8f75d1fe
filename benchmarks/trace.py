"""Tracing by patterns: a leak of 10,000 rows among 1,000 recipients.

    python -m benchmarks trace

The ledger is a SQLite file, the leak a CSV file; times are CPU seconds, the least of a few warm runs.
"""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.recipients.trace import Trace
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint, reading_trees
from sfumato.table.taxonomy import Taxonomy

SIZES = ((74, 3), (16, 2), (7, 2), (5, 3), (41, 3), (2, 2), (14, 2), (9, 3))
"""Values of each column, and how many become one at each level: as in Adult, 45,000 patterns."""
HEIGHT = 16
"""Of every version: so none is finer than another."""
TRACED_IN = 1.0
"""CPU seconds."""


def main() -> list[dict[str, object]]:
    return speed()


def ladder(size: int, fan: int, name: str) -> Taxonomy:
    """A tree of that many values, none of which is in a tree of another name."""
    widths = [size]
    while widths[-1] > 1:
        widths.append(-(-widths[-1] // fan))
    labels, parent, above = ["*"], [-1], [0]
    for depth, width in enumerate(widths[-2::-1], 1):
        begin = len(labels)
        labels += [f"{name}:{depth}:{i}" for i in range(width)]
        parent += [above[i * len(above) // width] for i in range(width)]
        above = list(range(begin, begin + width))
    return Taxonomy.grow(labels, parent)


def people(rows: int) -> Microdata:
    """Columns that depend on a hidden kind of person."""
    rng = np.random.default_rng(1)
    kind = rng.random(rows)
    columns, codes = [], []
    for j, (size, fan) in enumerate(SIZES):
        columns.append(Column(f"c{j}", Role.QUASI, ladder(size, fan, f"c{j}")))
        place = kind * (size - 1) + rng.normal(0, size / 8, rows)
        codes.append(np.clip(np.rint(place), 0, size - 1).astype(np.int32))
    return Microdata.of_codes(columns, codes)


class House:
    """A table of people, and versions of it."""

    def __init__(self, rows: int, count: int) -> None:
        self.table = people(rows)
        self.keys = self.table.keys
        rng = np.random.default_rng(3)
        tops = [c.taxonomy.height for c in self.keys]
        found: dict[tuple[int, ...], None] = {}
        while len(found) < count:
            levels = tuple(rng.integers(0, np.array(tops) + 1).tolist())
            if sum(levels) == HEIGHT:
                found[levels] = None
        self.patterns = tuple(found)

    def shown(self, levels: tuple[int, ...]) -> np.ndarray:
        """The nodes that every distinct row shows."""
        pairs = zip(self.keys, levels, strict=True)
        return np.stack([c.taxonomy.levels[at][self.table.codes(c.name)] for c, at in pairs], axis=1)

    def records(self) -> Iterator[ReleaseRecord]:
        event, known = uuid.uuid4().hex, set[str]()
        for i, levels in enumerate(self.patterns):
            pairs = zip(self.keys, levels, strict=True)
            cuts = {c.name: Cut.level(c.taxonomy, at) for c, at in pairs}
            recoding = Recoding.of_cuts(self.table, cuts)
            yield ReleaseRecord(
                event if i == 0 else uuid.uuid4().hex,
                "main",
                "p",
                recipient=f"R{i}",
                taxonomies={c.name: c.taxonomy.digest for c in self.keys},
                cuts={name: cut.nodes.tolist() for name, cut in cuts.items()},
                trees=reading_trees(recoding, stored=known),
                event=event,
                memory=Imprint.of(recoding, []).to_json().encode(),
            )
            known |= {c.taxonomy.digest for c in self.keys}


def speed(recipients: int = 1000, rows: int = 10_000) -> list[dict[str, object]]:
    house = House(30_000, recipients)
    records = list(house.records())
    rng = np.random.default_rng(4)
    nodes = house.shown(house.patterns[437])
    leaked = nodes[rng.integers(0, len(nodes), rows)]
    texts = {
        c.name: [c.taxonomy.labels[v] for v in column.tolist()]
        for c, column in zip(house.keys, leaked.T, strict=True)
    }
    with tempfile.TemporaryDirectory() as folder:
        path, url = Path(folder) / "leak.csv", f"sqlite:///{folder}/ledger.db"
        pl.DataFrame(texts).write_csv(path)
        with Ledger(url) as ledger:
            place = Path(folder)
            ledger.stage(records[0].release, host="here", folder=place, target=place)
            ledger.commit_event(records, after="")
        found, seconds = timed(lambda: _told(sf.trace(path, ledger=url)))
    right = found.alone == ("R437",)
    name = f"{rows:,} rows, {recipients:,} recipients, CPU s"
    return [{"name": name, "ours": seconds, "goal": TRACED_IN, "ok": right and seconds <= TRACED_IN}]


def _told(found: Trace) -> Trace:
    """With everything that is worked out only when asked for."""
    found.as_dict()
    return found


def timed(work: Callable[[], Trace]) -> tuple[Trace, float]:
    work()
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        found = work()
        seconds.append(time.process_time() - begin)
    return found, min(seconds)
