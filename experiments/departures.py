"""Adult as a monthly table that people leave: what every release loses, and how long it takes.

Everybody has a key. Each month 3 % of those present leave, as many come (rows of Adult under new keys), and
one person is erased. The chain is released with `leavers: unknown` for twelve months through a ledger; beside
it stand tables that are k-anonymous each for itself, and a chain of the same newcomers that nobody leaves.
With `counted` departures two and three releases are planned for several draws, and those refused are counted.
Last, releases of larger tables are timed.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.errors import RefusedByHistory

KS = (5, 10)
MONTHS, SHARE, DRAWS = 12, 0.03, 10
LARGE = (100_000, 300_000, 1_000_000)
ALIKE = 2_000
"""Where k is one row in so many, a larger table is searched in the same steps, and only rows cost more."""
KEYS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class")
SENSITIVE = "occupation"
Row = dict[str, Any]
Found = TypeVar("Found")


def policy(data: Path, promise: Row) -> Row:
    """The policy of the table under one promise."""
    files = {name: str(data / "adult" / f"adult_hierarchy_{name}.csv") for name in KEYS}
    columns: Row = {"who": {"role": "identifier"}, SENSITIVE: {"role": "sensitive"}}
    columns |= {name: {"role": "quasi", "taxonomy": {"file": file}} for name, file in files.items()}
    return {"columns": columns, "promises": [promise], "protect": {"suppress": 0, "search": "top-down"}}


def continuous(k: int, **keys: object) -> Row:
    return {"continuous": {"k": k, "person": "who", **keys}}


class Months:
    """The people of a table, month by month; everybody who comes has a key that nobody had before."""

    def __init__(self, data: Path, seed: int, rows: int | None = None) -> None:
        self.adult = pl.read_csv(
            data / "adult" / "adult.csv", separator=";", schema_overrides={"age": pl.String}
        )
        self.rng, self.came = np.random.default_rng(seed), 0
        everybody = np.arange(len(self.adult))
        chosen = everybody if rows is None else self.rng.integers(len(everybody), size=rows)
        self.row, self.key = chosen, self._keys(len(chosen))

    def _keys(self, count: int) -> Any:
        self.came += count
        return np.arange(self.came - count, self.came)

    @property
    def table(self) -> pl.DataFrame:
        who = pl.Series("who", [f"p{key:08}" for key in self.key.tolist()])
        return self.adult[self.row].with_columns(who)

    def next(self, *, leave: bool = True) -> str:
        """A month later: some left, as many came; returns the key of somebody who asks to be erased."""
        some = round(SHARE * len(self.key))
        stays = np.ones(len(self.key), bool)
        gone = self.rng.choice(len(self.key), some + 1, replace=False)
        erased = f"p{self.key[gone[-1]]:08}"
        stays[gone] = not leave
        arrived = self.rng.integers(len(self.adult), size=some)
        self.row = np.concatenate([self.row[stays], arrived])
        self.key = np.concatenate([self.key[stays], self._keys(some)])
        return erased


def timed(call: Callable[[], Found]) -> tuple[Found, float]:
    begin = time.process_time()
    found = call()
    return found, round(time.process_time() - begin, 2)


def year(data: Path, k: int) -> list[Row]:
    """Twelve releases with unknown departures and an erasure each, and what they lose."""
    rules, alone = policy(data, continuous(k, leavers="unknown")), policy(data, {"k-anonymity": {"k": k}})
    grows = policy(data, continuous(k))
    leaving, growing, rows = Months(data, k), Months(data, k), []
    earlier: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = f"sqlite:///{folder}/ledger.db"
        for month in range(1, MONTHS + 1):
            erasure = 0.0
            if month > 1:
                erased = leaving.next()
                _, erasure = timed(lambda erased=erased: sf.erase([erased], ledger=ledger))
                growing.next(leave=False)
            table = leaving.table
            into = Path(folder) / f"{month}"
            made, cpu = timed(lambda t=table, i=into: sf.release(t, rules, ledger=ledger, into=i))
            more, larger = growing.table, list(earlier)
            grown = sf.protect(more, grows, earlier=larger)
            earlier.append(grown.imprint)
            row = {"k": k, "month": month, "rows": len(table), "loss": made.record.figures["loss"]}
            row |= {"alone": sf.protect(table, alone).loss, "only grows": grown.loss, "CPU s": cpu}
            rows.append({**row, "erasure CPU s": erasure})
            print("  " + "  ".join(f"{name} {_shown(value)}" for name, value in rows[-1].items()), flush=True)
    return rows


def counted(data: Path, k: int, draws: int = DRAWS) -> list[Row]:
    """Two and three releases with counted departures, drawn several times."""
    rules = policy(data, continuous(k, leavers="counted"))
    rows = []
    for seed in range(draws):
        months, earlier = Months(data, 100 + seed), list[Any]()
        row: Row = {"k": k, "draw": seed}
        for release in (1, 2, 3):
            table = months.table
            begin = time.process_time()
            try:
                plan = sf.protect(table, rules, earlier=earlier)
                row[f"loss {release}"] = plan.loss
                earlier.append(plan.imprint)
            except RefusedByHistory:
                row[f"loss {release}"] = "refused"
            row[f"CPU s {release}"] = round(time.process_time() - begin, 2)
            if row[f"loss {release}"] == "refused":
                break
            months.next()
        rows.append(row)
        print("  " + "  ".join(f"{name} {_shown(value)}" for name, value in row.items()), flush=True)
    return rows


def large(data: Path, k: int | None = 5) -> list[Row]:
    """The first releases of larger tables, with unknown departures; without `k` it grows with the rows."""
    rows = []
    for size in LARGE:
        least = size // ALIKE if k is None else k
        rules = policy(data, continuous(least, leavers="unknown"))
        months, earlier = Months(data, size if k else 1, size), list[Any]()
        row: Row = {"k": least, "rows": size}
        for release in (1, 2, 3):
            table = months.table
            plan, row[f"CPU s {release}"] = timed(
                lambda t=table, p=rules, e=list(earlier): sf.protect(t, p, earlier=e)
            )
            row[f"loss {release}"] = plan.loss
            earlier.append(plan.imprint)
            months.next()
        rows.append(row)
        print("  " + "  ".join(f"{name} {_shown(value)}" for name, value in row.items()), flush=True)
    return rows


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main(data: Path, out: Path) -> list[Row]:
    found = {"year": [row for k in KS for row in year(data, k)]}
    found["counted"] = [row for k in KS for row in counted(data, k)]
    found["large"] = [*large(data), *large(data, None)]
    for name, rows in found.items():
        with (out / f"departures-{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
            writer.writeheader()
            writer.writerows(rows)
    print(f"  written: {out / 'departures-*.csv'}")
    return [row for rows in found.values() for row in rows]
