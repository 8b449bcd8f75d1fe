"""Who is charged with made-up leaks of a hospital's chain of groups, and how often an innocent recipient is.

Ten recipients hold versions of 3,000 people, told apart by marks. For every leak all symbols are drawn anew.
Leakers know everything but the coins: the base, which groups are marked, and the program. Beside the ten,
five hundred fresh versions are held against every leak: how often they score as much as is stated. The same
is done for versions by patterns, drawn from a pool.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from benchmarks import trace
from benchmarks.chances import upper_limit
from numpy.typing import NDArray

import sfumato as sf
from experiments.drawing import draw_figure
from experiments.fingerprint_leaks import issued_of, traced
from sfumato.recipients.charging import NOTHING, Symbols, charge
from sfumato.recipients.marks import biases, marks_of_chain
from sfumato.recipients.trace_marks import GroupsOfBase, MarkedLeak
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.coins import Coins
from sfumato.system.presentation.charts import Lines
from sfumato.table.base import GROUP, Base
from sfumato.table.source import open_source

PEOPLE, RECIPIENTS, FRESH = 3_000, 10, 500
SIZES = (40, 2_000)
STATED = tuple(10.0**-power for power in np.arange(0, 3.51, 0.25))

Row = dict[str, Any]
Cells = Mapping[str, NDArray[np.object_]]
Numbers = NDArray[np.intp]


def hospital(people: int = PEOPLE, seed: int = 1) -> Base:
    """Returns the base of a chain of one release of the demo's hospital."""
    with tempfile.TemporaryDirectory() as folder:
        words = sf.demo.policy().to_dict()
        promises = [promise for promise in words["promises"] if "t-closeness" not in promise]
        policy = {**words, "promises": promises, "person": "patient_id", "chain": {}}
        url = f"sqlite:///{folder}/ledger.db"
        sf.release(
            sf.demo.hospital(people, seed=seed), policy, ledger=url, into=f"{folder}/first", to="north"
        )
        return marks_of_chain(Ledger(url), "main").base


@dataclass(frozen=True, eq=False)
class House:
    """A base whose versions leak."""

    base: Base

    @cached_property
    def groups(self) -> GroupsOfBase:
        return GroupsOfBase.of(self.base)

    @cached_property
    def group_of(self) -> Numbers:
        """The group of every row."""
        return self.base.numbers(GROUP).astype(np.intp)

    @cached_property
    def mark_of(self) -> Numbers:
        """The mark of every row's group, -1 where it has none."""
        place = np.full(self.base.groups, -1, np.intp)
        place[self.base.marks.column("group").to_numpy()] = np.arange(len(self.base.marks))
        return place[self.group_of]

    @cached_property
    def order(self) -> Numbers:
        """The rows as they stand in a file: by their own cells."""
        columns = [list(map(str, cells)) for cells in self.truth.values()]
        return np.lexsort([np.unique(column, return_inverse=True)[1] for column in columns[::-1]])

    def with_bias(self, coins: Coins, collusion: int) -> House:
        """Returns the same base with biased symbols."""
        marks = self.base.marks
        bias = biases(coins, marks.column("group").to_numpy(), collusion)
        place = marks.schema.get_field_index("bias")
        return House(replace(self.base, marks=marks.set_column(place, "bias", pa.array(bias))))

    def symbols(self, rng: np.random.Generator, count: int) -> Symbols:
        """Returns symbols of so many recipients."""
        bias = self.base.marks.column("bias").to_numpy()
        drawn: Symbols = (rng.random((count, len(bias))) < bias).astype(np.int8)
        return drawn

    @cached_property
    def truth(self) -> Cells:
        """What the base shows."""
        return cells_of(self.base)

    @cached_property
    def raised(self) -> tuple[Cells, Cells]:
        """What whoever has only symbols 0 is shown, and only symbols 1."""
        marks = len(self.base.marks)
        zeros, ones = (cells_of(self.base.raised(np.full(marks, symbol))) for symbol in (False, True))
        return zeros, ones

    def cells(self, symbols: Symbols) -> Cells:
        """Returns the version of whoever has these symbols."""
        has_one = np.append(symbols, 0)[self.mark_of] == 1
        zeros, ones = self.raised
        return {name: np.where(has_one, ones[name], zeros[name]) for name in zeros}

    def shown(self, leak: pl.DataFrame) -> Symbols:
        """Returns the symbols that a leak shows."""
        read = MarkedLeak.of(open_source(leak), self.groups)
        return read.symbols(self.groups, read.placed(self.groups)[0])


def cells_of(base: Base) -> Cells:
    """Returns the published cells of every row, column by column."""
    table = base.view(np.ones(len(base.rows), dtype=bool), marked=False)
    return {name: np.array(table.column(name).to_pylist(), object) for name in table.column_names}


# Leaks: what leakers do with their versions.


@dataclass(frozen=True, eq=False)
class Leakers:
    """Some recipients with their versions, who put a leak together from the rows that they chose."""

    house: House
    rng: np.random.Generator
    symbols: Symbols
    rows: Numbers

    @cached_property
    def versions(self) -> list[Cells]:
        return [self.house.cells(line) for line in self.symbols]

    def from_each(self, who: Numbers) -> dict[str, NDArray[np.object_]]:
        """Returns the rows, each from the version of one of them."""
        return {
            name: np.choose(who, [version[name][self.rows] for version in self.versions])
            if len(self.versions) > 1
            else self.versions[0][name][self.rows].copy()
            for name in self.versions[0]
        }

    def mixed(self, shares: Sequence[float] | None = None) -> dict[str, NDArray[np.object_]]:
        """Returns the rows, mixed at random."""
        return self.from_each(self.rng.choice(len(self.symbols), len(self.rows), p=shares))

    def as_if(self, symbols: Symbols) -> dict[str, NDArray[np.object_]]:
        """Returns the rows as somebody would have them who has these symbols."""
        cells = self.house.cells(symbols)
        return {name: column[self.rows] for name, column in cells.items()}


def equal(those: Leakers) -> Cells:
    return those.mixed()


def unequal(those: Leakers) -> Cells:
    shares = those.rng.dirichlet(np.full(len(those.symbols), 0.5))
    return those.mixed(shares.tolist())


def by_group(those: Leakers) -> Cells:
    """Each group is shown as one of them has it."""
    of_group = those.rng.integers(len(those.symbols), size=those.house.base.groups)
    return those.from_each(of_group[those.house.group_of[those.rows]])


def majority(those: Leakers) -> Cells:
    return those.as_if((2 * those.symbols.sum(axis=0) > len(those.symbols)).astype(np.int8))


def minority(those: Leakers) -> Cells:
    """Each group shows the symbol that fewer of them have, if any has it."""
    ones, count = those.symbols.sum(axis=0), len(those.symbols)
    rarer = (2 * ones <= count) & (ones > 0) | (ones == count)
    return those.as_if(rarer.astype(np.int8))


def forged(those: Leakers) -> Cells:
    """A quarter of the symbols are turned round."""
    chosen = those.symbols[0] ^ (those.rng.random(those.symbols.shape[1]) < 1 / 4)
    return those.as_if(chosen.astype(np.int8))


def coarsened(those: Leakers) -> Cells:
    leak = those.mixed()
    for name in those.rng.choice(those.house.base.keys, 2, replace=False).tolist():
        leak[name][those.rng.random(len(those.rows)) < 1 / 2] = "*"
    return leak


def renamed(those: Leakers) -> Cells:
    """Columns are called otherwise, and stand in another order."""
    leak = those.mixed()
    return {f"c{j}": leak[name] for j, name in enumerate(those.rng.permutation(list(leak)).tolist())}


def dropped(those: Leakers) -> Cells:
    gone = set(those.rng.choice(those.house.base.keys, 2, replace=False).tolist())
    return {name: column for name, column in those.mixed().items() if name not in gone}


def joined(those: Leakers) -> Cells:
    """Two columns are put right by a public list."""
    leak, truth = those.mixed(), those.house.truth
    for name in those.rng.choice(those.house.base.keys, 2, replace=False).tolist():
        leak[name] = truth[name][those.rows]
    return leak


def guessed(those: Leakers) -> Cells:
    """One column is what another one foretells, by what the version itself shows most often."""
    leak, (target, clue) = those.mixed(), those.rng.choice(those.house.base.keys, 2, replace=False).tolist()
    seen = pl.DataFrame({"clue": list(map(str, leak[clue])), "target": list(map(str, leak[target]))})
    model = seen.group_by("clue").agg(pl.col("target").mode().sort().first())
    leak[target] = np.array(
        seen.select("clue").join(model, on="clue", how="left")["target"].to_list(), object
    )
    return leak


def all_raised(those: Leakers) -> Cells:
    """Both columns of every mark are raised: nothing is left to be seen."""
    one, other = those.as_if(those.symbols[0]), those.as_if(1 - those.symbols[0])
    truth = {name: column[those.rows] for name, column in those.house.truth.items()}
    return {name: np.where(one[name] == truth[name], other[name], one[name]) for name in truth}


KINDS: Mapping[str, tuple[Callable[[Leakers], Cells], bool]] = {
    "rows mixed": (equal, False),
    "unequal shares": (unequal, False),
    "a group from one each": (by_group, False),
    "majority": (majority, False),
    "minority": (minority, False),
    "a quarter forged": (forged, False),
    "coarsened": (coarsened, False),
    "renamed, reordered": (renamed, False),
    "two columns dropped": (dropped, False),
    "contiguous": (equal, True),
    "joined with a public list": (joined, False),
    "guessed by a model": (guessed, False),
    "both columns raised": (all_raised, False),
}


@dataclass(frozen=True)
class Outcome:
    """What became of a leak."""

    kind: str
    leakers: int
    groups: int
    innocent: bool
    guilty: bool
    tails: NDArray[np.float64]


def outcome(house: House, kind: str, leakers: int, size: int, rng: np.random.Generator) -> Outcome:
    """Draws everybody's symbols, lets some of them leak, and charges."""
    work, contiguous = KINDS[kind]
    symbols = house.symbols(rng, RECIPIENTS)
    count = len(house.order)
    begin = int(rng.integers(count - min(size, count) + 1))
    rows = (
        house.order[begin : begin + size]
        if contiguous
        else rng.choice(count, min(size, count), replace=False)
    )
    leak = work(Leakers(house, rng, symbols[:leakers], rows))
    return judged(house, kind, leakers, house.shown(pl.DataFrame(leak, strict=False)), symbols, rng)


def judged(
    house: House,
    kind: str,
    leakers: int,
    shown: Symbols,
    symbols: Symbols,
    rng: np.random.Generator,
    fresh_versions: int = FRESH,
) -> Outcome:
    """Returns what the symbols of a leak come to."""
    bias = house.base.marks.column("bias").to_numpy()
    charged = charge(shown, bias, symbols).charged
    fresh = charge(shown, bias, house.symbols(rng, fresh_versions))
    tails = np.array([float(tail) for tail in fresh.tails])
    innocent = any(i >= leakers for i in charged)
    groups = int((shown != NOTHING).sum())
    return Outcome(kind, leakers, groups, innocent, any(i < leakers for i in charged), tails)


def simulated(house: House, other: House, rounds: int, seed: int = 1) -> Iterator[Outcome]:
    """Yields leaks of every kind by one to five leakers, and of another hospital."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        for kind in KINDS:
            for leakers in range(1, 6):
                size = int(np.exp(rng.uniform(*np.log(SIZES))))
                yield outcome(house, kind, leakers, size, rng)
        size = int(np.exp(rng.uniform(*np.log(SIZES))))
        rows = rng.choice(len(other.order), min(size, len(other.order)), replace=False)
        theirs = Leakers(other, rng, other.symbols(rng, 1), rows)
        shown = house.shown(pl.DataFrame(theirs.mixed(), strict=False))
        yield judged(house, "another hospital", 0, shown, house.symbols(rng, RECIPIENTS), rng)


def power(house: House, trials: int, seed: int = 2) -> Iterator[Row]:
    """Yields how often a leaker is charged, by the number of marked groups that leaked."""
    marks = len(house.base.marks)
    for name, leakers, kind, groups in (
        ("one", 1, "rows mixed", 20),
        ("two", 2, "a group from one each", 86),
        ("two", 2, "rows mixed", 86),
        ("one, a quarter forged", 1, "a quarter forged", 60),
        ("three", 3, "a group from one each", 300),
        ("three", 3, "minority", 300),
    ):
        rng, found, innocent = np.random.default_rng(seed), 0, 0
        for _ in range(trials):
            symbols = house.symbols(rng, RECIPIENTS)
            chosen = rng.choice(marks, min(groups, marks), replace=False)
            rows = np.flatnonzero(np.isin(house.mark_of, chosen))
            leak = KINDS[kind][0](Leakers(house, rng, symbols[:leakers], rows))
            shown = house.shown(pl.DataFrame(leak, strict=False))
            seen = judged(house, kind, leakers, shown, symbols, rng, fresh_versions=1)
            found, innocent = found + seen.guilty, innocent + seen.innocent
        yield {
            "leakers": name,
            "kind": kind,
            "groups": min(groups, marks),
            "leaks": trials,
            "a leaker charged": found / trials,
            "innocents": innocent,
        }


def told(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """Yields one line per kind of leak, and one of all."""
    kinds = dict.fromkeys(one.kind for one in outcomes)
    for kind in (*kinds, "all"):
        of_kind = [one for one in outcomes if kind in (one.kind, "all")]
        row: Row = {"leak": kind, "leaks": len(of_kind)}
        for leakers in range(1, 6):
            some = [one.guilty for one in of_kind if one.leakers == leakers]
            row[f"{leakers} leak"] = round(sum(some) / len(some), 2) if some else None
        wrong = sum(one.innocent for one in of_kind)
        yield {**row, "innocents charged": wrong, "upper limit": round(upper_limit(wrong, len(of_kind)), 4)}


def pattern_tails(trials: int, pool: int = 200, seed: int = 3) -> NDArray[np.float64]:
    """Returns the tails of innocents whose patterns were drawn from a pool of one height.

    One to five leakers mix their rows, put together all that they know, raise some columns, or make up the
    version of a pattern that they hold no part of.
    """
    drawn, rng, tails = trace.House(1_500, pool), np.random.default_rng(seed), list[float]()
    names = [f"R{i}" for i in range(RECIPIENTS)]
    every = issued_of(drawn.table, dict(enumerate(drawn.patterns)))
    cuts = tuple(version.cuts for version in every.versions if version.cuts is not None)
    for trial in range(trials):
        held = rng.choice(pool, RECIPIENTS, replace=False)
        versions = [
            replace(every.versions[i], recipient=name, release=name, pool=cuts)
            for name, i in zip(names, held.tolist(), strict=True)
        ]
        leakers = held[: 1 + trial % 5].tolist()
        levels = np.array([drawn.patterns[i] for i in leakers])
        rows = rng.integers(drawn.table.distinct, size=int(np.exp(rng.uniform(*np.log(SIZES)))))
        tops = np.array([column.taxonomy.height for column in drawn.keys])
        patterns = {
            0: levels[rng.integers(len(leakers), size=len(rows))],
            1: levels.min(axis=0)[None].repeat(len(rows), axis=0),
            2: np.minimum(levels[:1] + rng.integers(0, 2, levels.shape[1]), tops).repeat(len(rows), axis=0),
            3: np.array([drawn.patterns[int(rng.integers(pool))]]).repeat(len(rows), axis=0),
        }[trial // 5 % 4]
        codes = np.stack([drawn.table.codes(column.name)[rows] for column in drawn.keys], axis=1)
        nodes = [c.taxonomy.levels[patterns[:, j], codes[:, j]] for j, c in enumerate(drawn.keys)]
        told = traced(drawn.table, replace(every, versions=tuple(versions)), np.stack(nodes, axis=1))
        innocent = set(names[len(leakers) :])
        tails += [float(suspect.tail) for suspect in told.suspects if suspect.recipient in innocent]
    return np.array(tails)


def calibration(tails: Mapping[str, NDArray[np.float64]]) -> Lines:
    """Returns how often innocents reach a tail, against the tail: nothing may lie above the broken line."""
    series = {}
    for name, values in tails.items():
        reached = [(np.log10(stated), float((values <= stated).mean())) for stated in STATED]
        series[name] = [(float(x), float(np.log10(share))) for x, share in reached if share > 0]
    ends = [(float(np.log10(STATED[-1])), float(np.log10(STATED[-1]))), (0.0, 0.0)]
    axes = ("stated share of innocents, power of ten", "innocents who reach it, power of ten")
    return Lines("charging-calibration", "Innocents and their tails", axes, series, ("as stated", ends))


def main(data: Path, out: Path, rounds: int = 36, trials: int = 300) -> list[Row]:
    del data
    house, other = House(hospital()), House(hospital(seed=2))
    outcomes = list(simulated(house, other, rounds))
    rows = [*told(outcomes), *power(house, trials)]
    biased = house.with_bias(Coins(b"biased symbols"), 3)
    rows += [{**row, "kind": f"{row['kind']}, collusion: 3"} for row in power(biased, trials)]
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    marks = np.concatenate([one.tails for one in outcomes])
    draw_figure(calibration({"marks": marks, "patterns": pattern_tails(2_000)}), out)
    return rows
