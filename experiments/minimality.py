"""What a minimal recoding tells: made-up tables whose worlds are all listed, and Adult by drawn worlds.

The adversary of `downcoding` knows the published table, the trees, the promises, the search, and how common
each value is in the population (for Adult: in the table itself, as a census would tell). That of `minimality`
knows everybody's key columns instead. Every figure comes from counted searches with a seed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import sfumato as sf
from experiments.minimality_agreement import SEARCHES, agreement
from sfumato.attacks.adversaries.downcoding import Downcoding
from sfumato.attacks.adversaries.minimality import ValueMinimality
from sfumato.attacks.audit import audit
from sfumato.models.attack_contract import Attack
from sfumato.system.errors import Infeasible, SfumatoError
from sfumato.system.verdict import Finding
from sfumato.table.source import open_source
from sfumato.workflows.attack import known_search

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
        }
    )
    try:
        safe = sf.protect(frame, policy).apply(frame)
    except Infeasible:
        return None
    known = replace(known_search(policy, steps=STEPS, seed=0), classes_silent="few worlds are asked for")
    strike: Attack = Downcoding(known)
    if attack == "minimality":
        codings = [coding for coding in policy.codings if coding.role.is_key]
        people = open_source(frame).count(codings, missing=policy.missing)
        strike = ValueMinimality(known, people)
    findings = audit(safe, policy, attacks=(strike,)).findings
    return findings[0] if findings else None


def adult(
    data: Path,
    *,
    k: int = 5,
    least: int = 3,
    steps: int = 20_000,
    seed: int = 0,
    searches: Sequence[str] = SEARCHES,
) -> Iterator[Row]:
    """Yields, per search and column, how often a finer value, or the occupation, of a person is guessed."""
    folder = data / "adult"
    options = pa_csv.ParseOptions(delimiter=";")
    kinds = pa_csv.ConvertOptions(column_types={"age": pa.string()})
    table = pa_csv.read_csv(folder / "adult.csv", parse_options=options, convert_options=kinds)
    table = table.select([*KEYS, SECRET])
    for search in searches:
        try:
            yield from _adult_keys(folder, table, search, k, steps, seed)
            yield from _adult_values(folder, table, search, (k, least), steps, seed)
        except SfumatoError as refused:
            yield {"search": search, "refused": refused.message}


def _adult_keys(folder: Path, table: pa.Table, search: str, k: int, steps: int, seed: int) -> Iterator[Row]:
    policy = _policy(folder, search, [{"k-anonymity": {"k": k}}])
    plan = sf.protect(table, policy)
    weights = {}
    for column in plan.recoding.table.keys:
        codes = plan.recoding.table.codes(column.name)
        weights[column.name] = np.bincount(
            codes, plan.recoding.table.counts, len(column.taxonomy.leaves)
        ).astype(float)
    attack = Downcoding(known_search(policy, steps=steps, seed=seed), weights)
    found = audit(plan.apply(table), policy, attacks=(attack,))
    for finding in found.findings:
        yield {"search": search, "attack": "downcoding", **_figures(finding)}


def _adult_values(
    folder: Path, table: pa.Table, search: str, asked: tuple[int, int], steps: int, seed: int
) -> Iterator[Row]:
    k, least = asked
    for promise in (
        {"l-diversity": {"of": SECRET, "l": least}},
        {"confidence-bounding": {"of": SECRET, "confidence": f"1/{least}"}},
    ):
        policy = _policy(folder, search, [{"k-anonymity": {"k": k}}, promise])
        safe = sf.protect(table, policy).apply(table)
        for finding in sf.attack.minimality(safe, policy, table, steps=steps, seed=seed).findings:
            yield {
                "search": search,
                "attack": "minimality",
                "asked": next(iter(promise)),
                **_figures(finding),
            }


def _policy(folder: Path, search: str, promises: list[Row]) -> sf.Policy:
    columns: Row = {}
    for name in KEYS:
        tree: Row = {"file": str((folder / f"adult_hierarchy_{name}.csv").resolve())}
        columns[name] = {"role": "quasi", "taxonomy": tree | ({"ordered": True} if name == "age" else {})}
    columns[SECRET] = {"role": "sensitive"}
    return sf.Policy.from_dict(
        {"columns": columns, "promises": promises, "protect": {"suppress": 0, "search": search}}
    )


def _figures(finding: Finding) -> Row:
    names = ("before", "after", "share before", "share after", "worlds left", "error")
    shown = {n: round(float(finding.details[n]), 4) for n in names if n in finding.details}
    whole = ("people drawn", "people told of", "people not placed", "searches")
    counts = {n: finding.details[n] for n in whole if n in finding.details}
    return {"column": finding.columns[0], **shown, **counts, "sure": finding.people, "breach": finding.breach}


def main(data: Path, out: Path) -> None:
    """Prints the figures of all parts, and writes them to `minimality.json`."""
    rows = []
    for row in (*made_up(100), *agreement(210), *adult(data)):
        print(json.dumps(row), flush=True)
        rows.append(row)
    (out / "minimality.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
