"""Local recoding across the borders of its budgets: columns, rows, domains and k, on made-up tables.

    python -m benchmarks borders
    python -m benchmarks.borders [columns rows domain k budget]

No figure may jump from a line to the next: each has a little more of one thing, and budgets (combinations of
levels, entries of tables, numbers per row) end between them. `budget` leaves a table a part of its level
vectors: the loss is held against that of the whole lattice, and may be a tenth more with a quarter of them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search import local as search
from sfumato.search.contract import MOST_LEVEL_VECTORS, Aim
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

WORSE = {1.0: 1.0, 0.99: 1.02, 0.5: 1.05, 0.25: 1.1}
"""The share of the level vectors that a budget leaves, and how many times the loss may then be."""


def table(keys: int, rows: int, leaves: int = 16, seed: int = 1) -> Microdata:
    """A table of skewed columns, half of which follow from their neighbour more or less; trees are binary."""
    draw = np.random.default_rng(seed)
    parent = [(node - 1) // 2 for node in range(2 * leaves - 1)]
    tree = Taxonomy.grow([f"n{node}" for node in range(len(parent))], parent)
    codes: list[Any] = []
    for j in range(keys):
        mine = (draw.beta(1, 3, rows) * leaves).astype(np.int32)
        codes.append(np.where(draw.random(rows) < 0.5, codes[-1], mine) if j % 2 else mine)
    return Microdata.of_codes([Column(f"q{j}", Role.QUASI, tree) for j in range(keys)], codes)


def measured(counted: Microdata, k: int) -> tuple[float, float]:
    """Returns loss and CPU seconds."""
    begin = time.process_time()
    loss = search.local(counted, Promises((KAnonymity(k),)), Aim()).loss
    return loss, time.process_time() - begin


def lines(which: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yields one figure after the other."""
    crossed = {
        "columns": [
            (f"{n} key columns, 4,000 rows", table(n, 4_000, 8), 5) for n in (5, 7, 8, 10, 11, 20, 60)
        ],
        "rows": [(f"7 key columns, {n:,} rows", table(7, n, 8), 5) for n in (10_000, 30_000, 100_000)],
        "domain": [(f"6 key columns of {n} values", table(6, 8_000, n), 5) for n in (4, 16, 32, 64, 512)],
        "k": [(f"8 key columns, 4,000 rows, k = {k}", table(8, 4_000, 8), k) for k in (2, 5, 20, 50, 200)],
    }
    for border in (each for each in crossed if each in which):
        for name, counted, k in crossed[border]:
            loss, seconds = measured(counted, k)
            yield {"name": f"{border}: {name}: loss {loss:.4f}", "ours": round(seconds, 2)}
    for k in (5, 20, 50) if "budget" in which else ():
        counted = table(7, 4_000, 8)
        whole, _ = measured(counted, k)
        for share, worse in WORSE.items():
            with patch.object(search, "MOST_LEVEL_VECTORS", int(share * 4**7)):
                loss, _ = measured(counted, k)
            name = f"budget: {share:.0%} of 16,384 level vectors, k = {k}: loss (the whole lattice)"
            figure = {"ours": round(loss, 4), "theirs": round(whole, 4), "ratio": round(loss / whole, 3)}
            yield {"name": name, **figure, "goal": worse, "ok": loss <= worse * whole}


def main(which: tuple[str, ...] = ("columns", "rows", "domain", "k", "budget")) -> list[dict[str, Any]]:
    """The figures as table rows."""
    assert 4**7 < MOST_LEVEL_VECTORS < 4**8
    return list(lines(which))


if __name__ == "__main__":
    print(f"load {os.getloadavg()[0]:.1f}")
    for told in lines(tuple(sys.argv[1:]) or ("columns", "rows", "domain", "k", "budget")):
        print(json.dumps(told), flush=True)
