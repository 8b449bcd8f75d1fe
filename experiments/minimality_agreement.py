"""What drawn worlds of single classes tell, against all worlds of the same table: random tiny tables.

Each table is published, and attacked twice: all its worlds are listed, and worlds of its classes are drawn as
if it were large. The difference is what the estimate leaves out (it knows too little) and what chance adds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.attacks.adversaries.downcoding import Downcoding
from sfumato.attacks.adversaries.minimality import ValueMinimality
from sfumato.attacks.known_search import KnownSearch
from sfumato.models.attack_contract import Attack, PublishedTable
from sfumato.system.errors import Infeasible
from sfumato.system.verdict import Finding
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.source import open_source
from sfumato.workflows.attack import known_search

SEARCHES = ("top-down", "lattice", "optimum", "mondrian", "local")
TREES = {
    "q": {"tree": {"A": ["a1", "a2"], "B": ["b1"]}},
    "n": {"intervals": [1, 2], "from": 0, "to": 3},
}
LEAVES = {"q": ["a1", "a2", "b1"], "n": ["0", "1", "2"]}
MOST_WORLDS = 300
"""Tables with more worlds are left aside."""

STEPS = 400
"""Searches of an estimate."""

NEAR = 0.05
"""Estimates that are no farther off are near."""

Row = dict[str, Any]


def agreement(tables: int, *, seed: int = 0, searches: tuple[str, ...] = SEARCHES) -> Iterator[Row]:
    """Yields, per search and attack, how the estimate of `tables` random tables compares with the truth."""
    for search in searches:
        for attack in ("downcoding", "minimality"):
            rng, counts, off = np.random.default_rng(seed), Counter[str](), []
            while counts["tables"] < tables and counts["tried"] < 20 * tables + 20:
                counts["tried"] += 1
                pairs = both_ways(search, attack, rng)
                counts["tables"] += bool(pairs)
                for exact, drawn in pairs:
                    counts["columns"] += 1
                    off.append(_after(drawn) - _after(exact))
                    counts["breaches"] += exact.breach
                    counts["breaches estimated"] += drawn.breach
                    counts["breaches estimated, not there"] += drawn.breach and not exact.breach
            yield {"search": search, "attack": attack, **counts, **_summary(off)}


def _summary(off: list[float]) -> Row:
    differences = np.array(off or [0.0])
    return {
        "above": int((differences > NEAR).sum()),
        "below": int((differences < -NEAR).sum()),
        "mean difference": round(float(differences.mean()), 4),
        "largest above": round(float(differences.max()), 4),
        "largest below": round(float(differences.min()), 4),
    }


def both_ways(search: str, attack: str, rng: np.random.Generator) -> list[tuple[Finding, Finding]]:
    """Returns, per attacked column of a random table, what all worlds tell and what drawn ones do."""
    keys = [["q"], ["n"], ["q", "n"]][rng.integers(3)]
    rows = int(rng.integers(4, 7 if len(keys) == 1 else 6))
    frame = pa.table(
        {key: rng.choice(LEAVES[key], rows) for key in keys} | {"s": rng.choice(["x", "y", "z"], rows)}
    )
    asked: Row = {"k-anonymity": {"k": int(rng.integers(2, 4))}}
    if attack == "minimality":
        asked = {"confidence-bounding": {"of": "s", "confidence": "1/2"}}
    columns: Row = {key: {"role": "quasi", "taxonomy": TREES[key]} for key in keys}
    policy = sf.Policy.from_dict(
        {
            "columns": columns | {"s": {"role": "sensitive"}},
            "promises": [asked],
            "protect": {"suppress": 0, "search": search},
        }
    )
    try:
        safe = sf.protect(frame, policy).apply(frame)
    except Infeasible:
        return []
    known = known_search(policy, steps=STEPS, seed=int(rng.integers(1000)))
    known = replace(known, republish=remembering(known))
    roles = {name: rule.role for name, rule in policy.columns.items()}
    published = PublishedTable.read(open_source(safe), roles)
    codings = [coding for coding in policy.codings if coding.role.is_key]
    register = open_source(frame).count(codings, missing=policy.missing)

    def strike(most_listed: int) -> list[Finding]:
        told = replace(known, most_listed=most_listed)
        made: Attack = Downcoding(told) if attack == "downcoding" else ValueMinimality(told, register)
        return made.strike(published, policy.promises.limits)

    exact = strike(MOST_WORLDS)
    if not all(finding.details.get("worlds") for finding in exact):
        return []
    return list(zip(exact, strike(0), strict=True))


def remembering(known: KnownSearch) -> Any:
    """Returns the search, which answers a table that it was asked before from memory."""
    answers: dict[Any, Recoding | None] = {}

    def republish(table: Microdata) -> Recoding | None:
        codes = np.stack([table.codes(c.name) for c in table.columns])
        trees = tuple((c.name, len(c.taxonomy.labels)) for c in table.columns)
        asked = (trees, codes.tobytes(), table.counts.tobytes())
        if asked not in answers:
            answers[asked] = known.republish(table)
        return answers[asked]

    return republish


def _after(finding: Finding) -> float:
    return float(finding.details["after"])
