"""What knowing the planner tells: made-up tables that are listed, and Adult by exchanges of two values.

The adversary of `downcoding` knows the published table, the trees, the promises and the planner. That of
`minimality` knows everybody's key columns as well; the figures on Adult are the owner's, who has the table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import sfumato as sf
from sfumato.system.errors import Infeasible, UsageError
from sfumato.system.verdict import Finding

KEYS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "salary-class",
)
SECRET = "occupation"
SEARCHES = ("top-down", "lattice", "optimum", "mondrian", "local")
TREE = {"tree": {"A": ["a1", "a2"], "B": ["b1"]}}
LINE = {"intervals": [1, 2], "from": 0, "to": 3}
STEPS = 400
"""Worlds of a made-up table that are listed at most; tables with more are left aside."""

Row = dict[str, Any]


def made_up(tables: int, *, rows: int = 4, seed: int = 0) -> Iterator[Row]:
    """Yields, per search and attack, how often somebody's value becomes known in random small tables."""
    for search in SEARCHES:
        for attack in ("downcoding", "minimality"):
            rng, found = np.random.default_rng(seed), Counter[str]()
            gains: list[float] = []
            left: list[float] = []
            shares: list[float] = []
            for _ in range(tables):
                finding = _one(search, attack, rng, rows if attack == "downcoding" else rows + 2)
                if finding is None or "worlds" not in finding.details:
                    found["aside"] += 1
                    continue
                found["decided"] += 1
                found["breaches"] += finding.breach
                found["people"] += finding.people
                details = {name: float(value) for name, value in finding.details.items() if name != "method"}
                gains.append(details["after"] - details["before"])
                left.append(details.get("worlds left", 1.0))
                shares.append(details.get("share after", 0.0) - details.get("share before", 0.0))
            yield {
                "search": search,
                "attack": attack,
                "tables": tables,
                **found,
                "mean gain": round(float(np.mean(gains)), 4) if gains else None,
                "largest gain": round(max(gains, default=0.0), 4),
                "mean worlds left": round(float(np.mean(left)), 4) if left else None,
                "larger shares": sum(share > 0 for share in shares),
            }


def _one(search: str, attack: str, rng: np.random.Generator, rows: int) -> Finding | None:
    frame = pa.table(
        {
            "q": rng.choice(["a1", "a2", "b1"], rows),
            "n": rng.integers(0, 3, rows).astype(str),
            "s": rng.choice(["x", "y", "z"], rows),
        }
    )
    asked: Row = {"k-anonymity": {"k": 2}}
    if attack == "minimality":
        asked = {"confidence-bounding": {"of": "s", "confidence": "1/2"}}
    policy = sf.Policy.from_dict(
        {
            "columns": {
                "q": {"role": "quasi", "taxonomy": TREE},
                "n": {"role": "quasi", "taxonomy": LINE},
                "s": {"role": "sensitive"},
            },
            "promises": [asked],
            "protect": {"suppress": 0, "search": search},
            "confirm": {"s": True},
        }
    )
    try:
        safe = sf.protect(frame, policy).apply(frame)
    except Infeasible:
        return None
    try:
        if attack == "downcoding":
            return sf.attack.downcoding(safe, policy, steps=STEPS).findings[0]
        return sf.attack.minimality(safe, policy, frame.select(["q", "n"]), steps=STEPS).findings[0]
    except UsageError:  # more tables than are listed
        return None


def adult(data: Path, *, k: int = 5, least: int = 3, steps: int = 40, seed: int = 0) -> Iterator[Row]:
    """Yields, per way of grouping and promise, how often exchanged occupations change the file."""
    folder = data / "adult"
    options = pa_csv.ParseOptions(delimiter=";")
    kinds = pa_csv.ConvertOptions(column_types={"age": pa.string()})
    table = pa_csv.read_csv(folder / "adult.csv", parse_options=options, convert_options=kinds)
    table = table.select([*KEYS, SECRET])
    for grouping in ("informed", "blind"):
        for promise in (
            {"l-diversity": {"of": SECRET, "l": least}},
            {"confidence-bounding": {"of": SECRET, "confidence": f"1/{least}"}},
        ):
            policy = _policy(folder, grouping, [{"k-anonymity": {"k": k}}, promise])
            safe = sf.protect(table, policy).apply(table)
            for finding in sf.attack.minimality(safe, policy, table, steps=steps, seed=seed).findings:
                yield {"grouping": grouping, "asked": next(iter(promise)), **_figures(finding)}


def _policy(folder: Path, grouping: str, promises: list[Row]) -> sf.Policy:
    columns: Row = {}
    for name in KEYS:
        tree: Row = {"file": str((folder / f"adult_hierarchy_{name}.csv").resolve())}
        columns[name] = {"role": "quasi", "taxonomy": tree | ({"ordered": True} if name == "age" else {})}
    columns[SECRET] = {"role": "sensitive"}
    protect = {"suppress": 0, "search": "best", "grouping": grouping}
    return sf.Policy.from_dict({"columns": columns, "promises": promises, "protect": protect})


def _figures(finding: Finding) -> Row:
    counts = ("people drawn", "exchanges tried", "exchanges that change the file", "exchanges")
    shown = {name: round(float(finding.details[name]), 4) for name in ("before", "after", "largest gain")}
    return {**shown, **{name: finding.details[name] for name in counts}, "beyond": finding.people}


def main(data: Path, out: Path) -> None:
    """Prints the figures of all parts, and writes them to `minimality.json`."""
    rows = []
    for row in (*made_up(100), *adult(data)):
        print(json.dumps(row), flush=True)
        rows.append(row)
    (out / "minimality.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
