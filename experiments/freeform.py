"""Freeform on Adult: breaches before, the minimal table, the optimum, and what it all costs.

Eight categorical columns are free (`adult_free.py` lists trees and guarding sets); seven of them mix values
that can be observed with values that cannot. Beside the freeform promise stand two plain alternatives (hide
everything that is hidden; blank every sensitive cell) and the classical way: k-anonymity and l-diversity with
one column called sensitive and the rest quasi-identifiers, which leaves breaches.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.freeform import expanded_keys

import sfumato as sf
from experiments.adult_free import COLUMNS, policy
from experiments.freeform_cost import compare, withholding
from experiments.threats import threat_chart
from sfumato.models.contract import Cuts
from sfumato.models.freeform.attack import FreeformFinding
from sfumato.models.freeform.inference import Guard, NodeTable, breach, breaches, worst
from sfumato.models.freeform.promise import Freeform
from sfumato.search.optimum import mean_loss
from sfumato.search.plan import make_plan
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy

THREATS = (Fraction(1, 5), Fraction(1, 2), Fraction(4, 5))
CLASSICAL = ("salary-class", "marital-status", "occupation")
K, L = 5, 2
MOST = 2_000_000

Row = dict[str, Any]


def main(data: Path, out: Path) -> list[Row]:
    rows: list[Row] = []
    for threat in THREATS:
        for row in figures(data, threat):
            rows.append({"threat": str(threat), **row})
            print("  " + "  ".join(f"{key} {_shown(value)}" for key, value in rows[-1].items()), flush=True)
    with (out / "freeform.csv").open("w", newline="", encoding="utf-8") as file:
        keys = list(dict.fromkeys(key for row in rows for key in row))
        writer = csv.DictWriter(file, keys)
        writer.writeheader()
        writer.writerows(rows)
    (out / "freeform-threats.svg").write_text(picture(data, Fraction(1, 2)), encoding="utf-8")
    print(f"  written: {out / 'freeform.csv'}, {out / 'freeform-threats.svg'}")
    return rows


def mixed_columns(node_table: NodeTable) -> int:
    """How many columns show observable values and values that are not."""
    columns = range(len(node_table.guards))
    return sum(bool(node_table.targets(j).any() and node_table.critical(j)[1:].any()) for j in columns)


def plain_attacks(node_table: NodeTable) -> int:
    """How many attacks there are, with or without support: what plain enumeration would visit."""
    wide = [int(node_table.observable(j).sum()) for j in range(len(node_table.guards))]
    return sum(
        prod(w for i, w in enumerate(wide) if i != j) * int(node_table.targets(j).sum())
        for j in range(len(wide))
    )


def figures(data: Path, threat: Fraction) -> Iterator[Row]:
    """One row per way to publish: its loss, the breaches that are left, the time it took."""
    made = sf.Policy.from_dict(policy(data, threat))
    promise = made.promises.members[0]
    assert isinstance(promise, Freeform)
    table = open_source(data / "adult" / "adult.csv").count(made.codings, missing=made.missing)
    raw = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
    node_table = promise.node_table(table, raw)
    worst(node_table), breach(node_table, threat)  # compiled now, timed later
    spent, _ = _timed(lambda: worst(promise.node_table(table, raw)))
    yield {
        "way": "as it is",
        **_left(promise, table, raw),
        "seconds": spent,
        "expanded keys": expanded_keys(node_table),
        "mixed columns": mixed_columns(node_table),
        "attacks": plain_attacks(node_table),
    }
    spent, plan = _timed(lambda: make_plan(table, made))
    assert plan.recoding.cuts is not None
    yield {"way": "top-down", **_left(promise, table, plan.recoding.cuts), "seconds": spent}
    spent, found = _timed(lambda: compare(table, promise))
    yield {
        "way": "optimum",
        **_left(promise, table, found.best.cuts),
        "seconds": spent,
        "bound": float(found.best.bound),
        "gap of top-down": float(found.gap),
        "states": found.best.states,
    }
    yield {"way": "nothing hidden is published", **_left(promise, table, withholding(table, promise))}
    yield {
        "way": "sensitive cells blanked (T2)",
        "loss": float(found.blanking),
        **_counted(blanked(node_table), threat),
    }
    for secret in CLASSICAL:
        spent, cuts = _timed(lambda secret=secret: classical(data, secret))  # type: ignore[misc]
        yield {
            "way": f"k = {K}, l = {L} of {secret}",
            **_left(promise, table, {**raw, **cuts}),
            "seconds": spent,
        }


def blanked(node_table: NodeTable) -> NodeTable:
    """T2 as read by somebody who knows what a blank means: one hidden value, wholly sensitive."""
    guards, nodes = [], []
    for guard, shown in zip(node_table.guards, node_table.nodes, strict=True):
        hidden = np.array([bool(guard.sensitivity[v]) for v in shown.tolist()])
        seen = np.unique(shown[~hidden])
        tree = Taxonomy.flat(["blank", *(f"value {v}" for v in seen.tolist())])
        s = (Fraction(0), Fraction(1), *(Fraction(0) for _ in seen))
        guards.append(Guard(tree, s, (True, False, *(True for _ in seen))))
        nodes.append(np.where(hidden, 1, 2 + np.searchsorted(seen, shown)))
    return NodeTable(np.stack(nodes).astype(np.int32), node_table.counts, tuple(guards))


def classical(data: Path, secret: str) -> Cuts:
    """k-anonymity and distinct l-diversity, one column sensitive, all others quasi-identifiers."""
    words = policy(data, THREATS[0])
    for name in COLUMNS:
        taxonomy = words["columns"][name]["taxonomy"]
        role = "sensitive" if name == secret else "quasi"
        words["columns"][name] = {"role": role, "taxonomy": taxonomy}
    words["promises"] = [{"k-anonymity": {"k": K}}, {"l-diversity": {"of": secret, "l": L}}]
    cuts = sf.protect(data / "adult" / "adult.csv", words).recoding.cuts
    assert cuts is not None
    return cuts


def picture(data: Path, threat: Fraction) -> str:
    """Threats before and after the minimal table."""
    source, words = data / "adult" / "adult.csv", policy(data, threat)
    before: list[FreeformFinding] = sf.attack.freeform(source, words)
    plan = sf.protect(source, words)
    after: list[FreeformFinding] = sf.attack.freeform(plan.apply(source), words)
    return threat_chart(before, after, threat, title="Adult: the largest threat to every hidden value")


def _left(promise: Freeform, table: Microdata, cuts: Cuts) -> Row:
    return {
        "loss": float(mean_loss(table, cuts)),
        **_counted(promise.node_table(table, cuts), promise.threat),
    }


def _counted(node_table: NodeTable, threat: Fraction) -> Row:
    count = sum(1 for _ in breaches(node_table, threat, limit=MOST))
    return {"breaches": count, "breached values": sum(one.threat > threat for one in worst(node_table))}


def _timed(work: Any) -> tuple[float, Any]:
    before = time.process_time()
    found = work()
    return time.process_time() - before, found


def _shown(value: object) -> str:
    return (
        f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )
