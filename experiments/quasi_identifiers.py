"""Finding quasi-identifiers: the paper's two examples, and its announced next step on planted covers.

The examples are followed as printed. Then 8 columns that cover everything are hidden among 120: the sets that
random orders of the columns lead to, by the number of orders, against greedy cover and what is planted.
"""

from __future__ import annotations

import csv
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.drawing import draw_figure
from sfumato.discovery.quasi_identifiers import minimum
from sfumato.discovery.quasi_identifiers.coded import Coded, Reading
from sfumato.discovery.quasi_identifiers.descent import best_of_orders, descend, greedy_cover
from sfumato.discovery.quasi_identifiers.enumeration import minimal
from sfumato.system.presentation.charts import Lines

Row = dict[str, Any]
NOTHING = "⊥"
COVER = {"c1": {1, 2, 3}, "c2": {2, 4}, "c3": {3, 4}, "c4": {4, 5}}
DESCENT = {"a": "xxxx5", "b": "1x3xx", "c": "x2x4x", "d": "678xx", "e": "xxx90"}
ORDERS = (1, 2, 5, 10, 20, 50)
DISTINCT = Reading.of(k=2, mode="distinct")


def main(data: Path, out: Path) -> list[Row]:  # noqa: ARG001  # every experiment is called alike
    rows = [*examples(), *planted_covers()]
    for row in rows:
        print("  " + "  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    with (out / "quasi_identifiers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    print(f"  written: {out / 'quasi_identifiers.csv'}, {draw_figure(figure(rows), out)}")
    return rows


def examples() -> Iterator[Row]:
    """Sections 4.2 and 5.2: all minimal sets, the minima, and where the paper's descent ends."""
    elements = sorted(set().union(*COVER.values()))
    cover = {
        name: [*(e if e in held else NOTHING for e in elements), NOTHING] for name, held in COVER.items()
    }
    descent = {name: list(cells) for name, cells in DESCENT.items()}
    for name, columns in (("4.2", cover), ("5.2", descent)):
        table = Coded.of_columns(columns)
        walk = descend(table, DISTINCT)
        yield {
            "example": name,
            "minimal": _named(minimal(table, DISTINCT).sets),
            "minimum": _named(minimum(table, DISTINCT).sets),
            "descent": _named([walk.columns or ()]),
            "tests": len(walk.steps),
        }


def planted(columns: int, size: int, elements: int, seed: int) -> Coded:
    """Disjoint blocks that cover all elements, among smaller random sets; columns are sets, as in 4.1."""
    draw = random.Random(seed)
    order = list(range(elements))
    draw.shuffle(order)
    places = draw.sample(range(columns), size)
    blocks = {place: set(order[i::size]) for i, place in enumerate(places)}
    sets = [blocks.get(j) or set(draw.sample(order, elements // size - 5)) for j in range(columns)]
    cells = {f"c{j}": [e if e in held else NOTHING for e in order] + [NOTHING] for j, held in enumerate(sets)}
    return Coded.of_columns(cells)


def planted_covers(columns: int = 120, size: int = 8, elements: int = 200, seeds: int = 5) -> Iterator[Row]:
    """What each method finds where a cover of `size` columns is hidden."""
    for seed in range(seeds):
        table = planted(columns, size, elements, seed)
        begin = time.process_time()
        cover = greedy_cover(table, DISTINCT)
        row: Row = {
            "example": f"planted {seed}",
            "planted": size,
            "greedy": len(cover.columns or ()),
            "at least": cover.lower_bound,
            "factor": round(float(cover.factor or 0), 2),
            "greedy CPU s": round(time.process_time() - begin, 3),
        }
        for orders in ORDERS:
            tried = best_of_orders(table, DISTINCT, orders=orders, seed=seed)
            row[f"{orders} orders"] = len(tried.columns or ())
        yield row


def figure(rows: Sequence[Row]) -> Lines:
    """The mean size of what was found, by the number of orders."""
    some = [row for row in rows if "planted" in row]

    def mean(key: str) -> float:
        return sum(row[key] for row in some) / len(some)

    series = {
        "best of random orders": [(n, mean(f"{n} orders")) for n in ORDERS],
        "greedy cover": [(n, mean("greedy")) for n in ORDERS],
    }
    title = "Columns found where a cover is planted among 120"
    boundary = ("planted", [(n, mean("planted")) for n in ORDERS])
    return Lines("quasi-identifiers-planted", title, ("random orders", "columns"), series, boundary)


def _named(sets: Sequence[Sequence[str]]) -> str:
    return " | ".join(" ".join(columns) for columns in sets)
