"""What suppression tells of those who were suppressed: all worlds of random tables of a few people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.system.errors import Infeasible

SEARCHES = ("top-down", "lattice")
HALF = {"confidence-bounding": {"of": "s", "confidence": "1/2"}}
ASKED: dict[str, list[dict[str, Any]]] = {
    "l = 2": [{"l-diversity": {"of": "s", "l": 2}}],
    "confidence 1/2": [HALF],
    "confidence 1/2, k = 2": [{"k-anonymity": {"k": 2}}, HALF],
}
STEPS = 3_000
"""Tables with more worlds are left aside."""


def suppressed(tables: int, *, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yields, per search and promise, in how many tables suppressed people are exposed or alike."""
    rng = np.random.default_rng(seed)
    for search in SEARCHES:
        for name, promises in ASKED.items():
            begin = process_time()
            found = Counter(one for _ in range(tables) for one in _told(rng, search, promises))
            yield {"search": search, "asked": name, **found, "CPU s": round(process_time() - begin, 1)}


def _told(rng: np.random.Generator, search: str, promises: list[dict[str, Any]]) -> Iterator[str]:
    people = int(rng.integers(4, 8))
    keys, values = rng.choice(["a1", "a2", "b1", "b2"], people), rng.choice(list("xyz"), people)
    frame = pl.DataFrame({"q": keys, "s": values})
    tree = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
    columns = {"q": {"role": "quasi", "taxonomy": {"tree": tree}}, "s": {"role": "sensitive"}}
    policy = sf.Policy.from_dict(
        {
            "columns": columns,
            "promises": promises,
            "protect": {"price": "none", "search": search, "suppress": "1/2"},
        }
    )
    try:
        safe = sf.protect(frame, policy).apply(frame)
    except Infeasible:
        yield "refused"
        return
    if len(safe) == people:
        yield "nobody suppressed"
        return
    findings = sf.attack.minimality(safe, policy, frame.select("q"), steps=STEPS).findings
    told = next((finding for finding in findings if "two alike after" in finding.details), None)
    if told is None:
        yield "aside"
        return
    yield "decided"
    names = ("before", "after", "two alike before", "two alike after")
    figures = {name: Fraction(told.details[name]) for name in names}
    for name, holds in (
        ("guessed better", figures["after"] > figures["before"]),
        ("breaches", told.breach),
        ("two alike more likely", figures["two alike after"] > figures["two alike before"]),
        ("two surely alike", figures["two alike after"] == 1),
    ):
        if holds:
            yield name


def main(data: Path, out: Path) -> None:  # noqa: ARG001  (every experiment is told where data are)
    """Prints the figures, and writes them to `suppressed_people.json`."""
    rows = []
    for row in suppressed(60):
        print(json.dumps(row), flush=True)
        rows.append(row)
    (out / "suppressed_people.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
