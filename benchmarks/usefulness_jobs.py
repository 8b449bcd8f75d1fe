"""One job of the usefulness benchmark in a process of its own: `python -m benchmarks.usefulness_jobs JOB …`.

`plan DATA POLICY SEARCH` plans with another search, `roles DATA ROLES` with the roles fixed by hand,
`compare DATA SAFE POLICY TARGET LINE` measures what was published. Each prints one JSON document.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato.reports.paired_tables import PairedColumn, PairedTables, read_tables
from sfumato.search.plan import Plan
from sfumato.system.errors import SfumatoError, UsageError
from sfumato.table.source import open_source

K = 5
Figures = dict[str, object]


def plan_again(data: str, policy: str, search: str) -> Figures:
    """What another search makes of the same policy; `as-it-is` is the one that the policy names."""
    rules = sf.Policy.load(policy)
    return of_plan(lambda: sf.protect(data, rules if search == "as-it-is" else rules.with_(search=search)))


def plan_with_roles(data: str, roles: str) -> Figures:
    """What the draft gives where every column has the role that was fixed by hand."""
    named: dict[str, list[str]] = {}
    for column, role in json.loads(roles).items():
        named.setdefault(role, []).append(column)
    return of_plan(lambda: sf.protect(data, k=K, **named))


def of_plan(make) -> Figures:
    begin = time.process_time()
    try:
        plan = make()
    except SfumatoError as refused:
        return {"refused": f"{refused.where}: {refused.message}" if refused.where else refused.message}
    lost, columns = cells_lost(plan)
    return {
        "loss": plan.loss,
        "suppressed": plan.suppressed,
        "share_lost": lost,
        "columns_lost": columns,
        "classes": plan.classes,
        "search": plan.search,
        "seconds": round(time.process_time() - begin, 2),
    }


def cells_lost(plan: Plan) -> tuple[float, list[str]]:
    """The share of the key cells that tell nothing, and the columns that are one group for everybody."""
    recoding, lost, columns = plan.recoding, 0, []
    keys = recoding.table.keys
    for j, column in enumerate(keys):
        if len(np.unique(recoding.table.codes(column.name))) > 1:
            if len(recoding.texts(j)[0]) <= 1:
                columns.append(column.name)
                lost += int(recoding.rows.sum())
            else:
                whole = recoding.high[:, j] - recoding.low[:, j] == len(column.taxonomy.leaves)
                lost += int(recoding.rows[whole].sum())
        lost += plan.suppressed
    return lost / max(1, plan.rows * len(keys)), columns


def compare(data: str, safe: str, policy: str, target: str, line: str) -> Figures:
    """What was published, beside the original: cells lost, a model, a line."""
    try:
        told = sf.compare(data, safe, policy, target=target or None)
    except UsageError:  # the target is generalized, or there is no scikit-learn
        told = sf.compare(data, safe, policy)
    tables = read_tables(open_source(data), open_source(safe), sf.Policy.load(policy))
    return {
        "share_lost": told.table.share_lost,
        "columns_lost": list(told.table.columns_lost),
        "suppressed": told.table.suppressed,
        "granularity": told.table.granularity,
        "query_error": None if told.queries is None else told.queries.median,
        "model": None if told.model is None else [told.model.raw, told.model.safe, told.model.guess],
        "line": fitted(tables, json.loads(line)) if line else None,
    }


def fitted(tables: PairedTables, names: list[str]) -> list[list[float] | None] | None:
    """The slopes of a least-squares line on both tables; nothing where a column is no number."""
    columns = {column.name: column for column in tables.columns}
    if not set(names) <= set(columns) or any(columns[name].numbers is None for name in names):
        return None
    chosen = [columns[name] for name in names]
    raw = [_numbers(c, safe=False)[tables.raw_codes(c)] for c in chosen]
    safe = [_numbers(c, safe=True)[tables.safe_codes(c)] for c in chosen]
    return [_slopes(raw, tables.raw.counts), _slopes(safe, tables.safe.counts)]


def _numbers(column: PairedColumn, *, safe: bool) -> NDArray[np.float64]:
    numbers = column.safe_numbers if safe else column.raw_numbers
    assert numbers is not None
    return numbers


def _slopes(columns: list[NDArray[np.float64]], counts: NDArray[np.int64]) -> list[float] | None:
    y, *x = columns
    known = np.isfinite(np.stack(columns)).all(axis=0)
    matrix = np.stack([np.ones(int(known.sum())), *(one[known] for one in x)], axis=1)
    weights = np.sqrt(counts[known])[:, None]
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        return None
    answer = np.linalg.lstsq(matrix * weights, y[known] * weights[:, 0], rcond=None)[0]
    return [float(slope) for slope in answer[1:]]


def main(job: str, *arguments: str) -> None:
    jobs = {"plan": plan_again, "roles": plan_with_roles, "compare": compare}
    print(json.dumps(jobs[job](*arguments)))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(f"usage: python -m benchmarks.{Path(__file__).stem} JOB …")
    main(*sys.argv[1:])
