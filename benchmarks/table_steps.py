"""What each line of the one table does, in a process of its own: by verbs, so that older commits run it too.

Tables are made from seeds, or come from packages. A step prints the CPU seconds of the call alone and what it
came to, as JSON; the same call on a few rows goes first, so that compiling is not counted.
"""
# ruff: noqa: PLC0415  # each step is a process of its own

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.waits import CHAIN, batches

Step = Callable[..., Mapping[str, Any]]
K = [{"k-anonymity": {"k": 5}}]


def wide_keys(rows: int = 60_000, seed: int = 3) -> pd.DataFrame:
    """Nine key columns, a zip of 100,000 possible values among them, and what people have."""
    draw = np.random.default_rng(seed)
    frame = {"zip": [f"{z:05d}" for z in (draw.zipf(1.25, rows) * 7919) % 100_000]}
    for name, values in {"a": 90, "b": 40, "c": 20, "d": 16, "e": 14, "f": 7, "g": 5, "h": 2}.items():
        frame[name] = [f"{v:02d}" for v in (draw.zipf(1.4, rows) - 1) % values]
    frame["ill"] = [f"i{v}" for v in draw.zipf(1.5, rows) % 20]
    return pd.DataFrame(frame)


def wide_policy(
    folder: str, *, promises: list[dict[str, object]], loss: str, limit: str
) -> dict[str, object]:
    """Every key column by digits; the zip has a hierarchy file of all 100,000, few of which occur."""
    file = Path(folder) / "zip.csv"
    zips = [f"{z:05d}" for z in range(100_000)]
    file.write_text("".join(f"{z};{z[:4]}*;{z[:3]}**;{z[:2]}***;{z[0]}****;*\n" for z in zips), "utf-8")
    columns: dict[str, object] = {n: {"role": "quasi", "taxonomy": {"prefix": [1]}} for n in "abcdefgh"}
    columns["zip"] = {"role": "quasi", "taxonomy": {"file": str(file)}}
    columns["ill"] = {"role": "sensitive"}
    return {
        "columns": columns,
        "promises": [*K, *promises],
        "protect": {"price": "none", "search": "lattice", "loss": loss, "suppress": limit},
    }


def lattice_table(columns: int, rows: int = 20_000, seed: int = 4) -> tuple[pd.DataFrame, dict[str, object]]:
    """So many columns of 27 values in trees of height 3."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({f"c{j}": (draw.zipf(1.3, rows) - 1) % 27 for j in range(columns)})
    tree = {"taxonomy": {"intervals": [3, 9], "from": 0, "to": 27}}
    policy = {
        "columns": {name: {"role": "quasi", **tree} for name in frame},
        "promises": K,
        "protect": {"price": "none", "search": "lattice", "suppress": "5%"},
    }
    return frame, policy


def distinct_table(rows: int = 1_200_000, seed: int = 8) -> tuple[pd.DataFrame, dict[str, object]]:
    """Nine columns of trees of one to four steps in which nearly all rows differ; nothing is suppressed."""
    draw = np.random.default_rng(seed)
    widths = {
        "a": [5, 10, 20, 40],
        "b": [5, 10, 20],
        "c": [3, 9],
        "d": [3, 9],
        "e": [2, 6],
        "f": [3],
        "g": [2],
    }
    values = {"a": 100, "b": 60, "c": 27, "d": 27, "e": 12, "f": 9, "g": 6, "h": 4, "i": 2}
    frame = pd.DataFrame({name: (draw.zipf(1.2, rows) - 1) % many for name, many in values.items()})
    columns: dict[str, object] = {name: {"role": "quasi"} for name in "hi"}
    for name, steps in widths.items():
        tree = {"intervals": steps, "from": 0, "to": -(-values[name] // steps[-1]) * steps[-1]}
        columns[name] = {"role": "quasi", "taxonomy": tree}
    return frame, {
        "columns": columns,
        "promises": K,
        "protect": {"price": "none", "search": "lattice", "suppress": 0},
    }


def long_table(rows: int, seed: int = 6) -> tuple[pd.DataFrame, dict[str, object]]:
    """People with a date, a zip, sex, job and disease: nearly all rows differ."""
    draw = np.random.default_rng(seed)
    born = np.datetime64("1930-01-01") + draw.integers(0, 30_000, rows)
    frame = pd.DataFrame(
        {
            "born": born.astype(str),
            "zip": (draw.zipf(1.2, rows) * 7919 % 30_000 + 10_000).astype(str),
            "sex": np.where(draw.random(rows) < 0.5, "f", "m"),
            "job": np.char.add("j", draw.integers(0, 14, rows).astype(str)),
            "ill": draw.integers(0, 50, rows).astype(str),
        }
    )
    policy = {
        "columns": {
            "born": {"role": "quasi", "taxonomy": {"date": ["month", "year", "decade"]}},
            "zip": {"role": "quasi", "taxonomy": {"prefix": [4, 3, 2, 1]}},
            "sex": {"role": "quasi"},
            "job": {"role": "quasi"},
            "ill": {"role": "sensitive"},
        },
        "promises": [*K, {"l-diversity": {"of": "ill", "l": 3, "kind": "distinct"}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"ill": True},
    }
    return frame, policy


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def protected(frame: pd.DataFrame, policy: dict[str, Any]) -> Mapping[str, Any]:
    """Plans once on a few rows, once on all."""
    import sfumato as sf

    few = policy | {"protect": {"price": "none", **policy.get("protect", {}), "suppress": 0}}
    few["promises"] = [{"k-anonymity": {"k": 2}}, *policy["promises"][1:]]
    with suppress(Exception):  # it only compiles; whether there is an answer does not matter
        sf.protect(frame.head(300), few)
    seconds, plan = timed(lambda: sf.protect(frame, policy))
    return {"seconds": seconds, "loss": plan.loss, "checked": plan.checked}


def step_wide_key(loss: str, limit: str) -> Mapping[str, Any]:
    with TemporaryDirectory() as folder:
        return protected(wide_keys(), wide_policy(folder, promises=[], loss=loss, limit=limit))


def step_closeness(limit: str) -> Mapping[str, Any]:
    near: dict[str, object] = {"t-closeness": {"of": "ill", "t": 0.3, "distance": "equal"}}
    with TemporaryDirectory() as folder:
        return protected(wide_keys(), wide_policy(folder, promises=[near], loss="loss", limit=limit))


def step_lattice(columns: str) -> Mapping[str, Any]:
    return protected(*lattice_table(int(columns)))


def step_distinct() -> Mapping[str, Any]:
    return protected(*distinct_table())


def step_optimum(columns: str, rows: str) -> Mapping[str, Any]:
    frame, policy = lattice_table(int(columns), int(rows))
    return protected(frame, policy | {"protect": {"suppress": 0, "search": "optimum"}})


def step_long(search: str, rows: str) -> Mapping[str, Any]:
    frame, policy = long_table(int(rows))
    limit = {} if search == "mondrian" else {"suppress": "5%"}
    return protected(frame, policy | {"protect": {"suppress": 0, "search": search, **limit}})


def step_scan(rows: str) -> Mapping[str, Any]:
    """What Polars takes to read the same table and look at every cell."""
    import polars as pl

    frame, _ = long_table(int(rows))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pl.from_pandas(frame).write_parquet(path)
        lengths = pl.scan_parquet(path).select(pl.all().str.len_bytes().sum())
        lengths.collect(engine="streaming")
        return {"seconds": timed(lambda: lengths.collect(engine="streaming"))[0]}


def step_keys(file: str, deadline: str) -> Mapping[str, Any]:
    """All minimal keys, from codes: the search alone, the least of three runs, as the peer is measured."""
    from sfumato.discovery.quasi_identifiers.coded import Coded, Limits, Reading
    from sfumato.discovery.quasi_identifiers.enumeration import minimal

    codes, keys = np.load(file), Reading.of(k=2, mode="all")
    table = Coded.of_codes([f"c{j}" for j in range(len(codes))], codes)
    minimal(Coded.of_columns({"a": [1, 1, 2, 3, 3], "b": [1, 2, 1, 1, 2]}), keys)
    runs = [timed(lambda: minimal(table, keys, limits=Limits(deadline=float(deadline))))]
    while runs[0][0] < 1 and len(runs) < 3:
        runs.append(timed(lambda: minimal(table, keys, limits=Limits(deadline=float(deadline)))))
    seconds, found = min(runs, key=lambda run: run[0])
    return {"seconds": seconds, "complete": found.complete, "sets": len(found.sets)}


def step_half(file: str, deadline: str) -> Mapping[str, Any]:
    """Everything that the verb does for k = 5 and half of the records, coding included."""
    import sfumato as sf

    codes = np.load(file)
    frame = pd.DataFrame({f"c{j}": column for j, column in enumerate(codes)}).astype(str)
    sf.discover(frame.head(30).iloc[:, :4], k=2, fraction="1/2")
    seconds, scan = timed(lambda: sf.discover(frame, k=5, fraction="1/2", deadline=float(deadline)))
    return {
        "seconds": seconds,
        "complete": scan.complete,
        "proved": scan.proved,
        "sets": len(scan.minimal),
        "smallest": None if scan.minimum is None else len(scan.minimum),
    }


def step_chain(kind: str, releases: str) -> Mapping[str, Any]:
    """Plans so many releases, one after the other: the seconds of the last, and the most that one took."""
    import sfumato as sf

    frames, kept, taken = [], [], []
    for people in batches(kind, int(releases)):
        frames.append(pd.DataFrame(people))
        seconds, plan = timed(lambda: sf.protect(pd.concat(frames, ignore_index=True), CHAIN, earlier=kept))
        taken.append(seconds)
        kept.append(plan.imprint)
    return {"seconds": taken[-1], "most": max(taken[1:])}


STEPS: Mapping[str, Step] = {
    "wide-key": step_wide_key,
    "closeness": step_closeness,
    "lattice": step_lattice,
    "distinct": step_distinct,
    "optimum": step_optimum,
    "long": step_long,
    "scan": step_scan,
    "keys": step_keys,
    "half": step_half,
    "chain": step_chain,
}

if __name__ == "__main__":
    print(json.dumps(STEPS[sys.argv[1]](*sys.argv[2:]), default=str))
