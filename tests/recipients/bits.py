"""Tables of bits, of which versions hide one each: all of them together tell more than any two do."""

from __future__ import annotations

import polars as pl

THREE = {"000": 1, "001": 1, "010": 1, "100": 1, "011": 2, "101": 2, "110": 2}
"""How many people have these three bits. Versions that hide a bit each leave everybody two candidates, also
where two of them are put together; all three leave somebody one."""

TWO = {"00": 1, "01": 1, "10": 1, "11": 1}
"""Where these four have different diseases, versions that hide a bit each leave everybody two candidates, and
both together leave one."""


def people(cells, *, times=1, batch="Q1", ill=None):
    """So many people of every kind, and a column that is the same for all; `ill` has their diseases."""
    width = len(next(iter(cells)))
    rows = [
        (batch, *cell, "x", (ill or {}).get(cell, "flu"))
        for cell, count in cells.items()
        for _ in range(count * times)
    ]
    return pl.DataFrame(rows, schema=["since", *names(width), "same", "ill"], orient="row")


def names(width):
    return [f"b{j}" for j in range(width)]


def policy(width, *, k=2, same="identifier", promises=(), **rule):
    """Hide each bit or show it; versions are alike by the sizes of their classes."""
    flat = {"role": "quasi", "taxonomy": {"flat": ["0", "1"]}}
    shared = {"role": same, **({"taxonomy": {"flat": ["x", "y"]}} if same == "quasi" else {})}
    return {
        "columns": {
            "since": {"role": "identifier"},
            **dict.fromkeys(names(width), flat),
            "same": shared,
            "ill": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": k}}, *promises],
        "protect": {"search": "top-down", "suppress": 0},
        "recipients": {"quality": "discernibility", **rule},
        "confirm": {"ill": True},
    }


def hidden(receipt):
    """How many bits a version hides."""
    return sum(len(cut) == 1 for name, cut in receipt.record.cuts.items() if name.startswith("b"))
