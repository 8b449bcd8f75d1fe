"""Quasi-sensitive values on Adult: what is left of terms, for whom, at which cost.

3,000 rows with eight quasi-identifiers; every row holds nine terms of one label. The knowledge is drawn
(1,000 terms, 3,000 labels, Poisson(100) terms each, popular ones oftener), or real: diseases and symptoms.

first     treating symptoms as one sensitive value, or as many yes/no values, still reveals the disease
removal   the cost of three methods against l and c, ten seconds for each run, which all classes that break
          the promise share evenly; no answer counts as 1
phases    cost of removal and loss of generalization against the square of t, for several k and both extremes
"""

from __future__ import annotations

import csv
import gzip
import os
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from benchmarks.quasi_sensitive import knowledge as drawn_knowledge

import sfumato as sf
from experiments.drawing import draw_figure
from sfumato.models.contract import Promises
from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveDiversity
from sfumato.search.class_term_removal import METHODS, RemovalCosts, TermLimit, Terms
from sfumato.search.contract import Aim
from sfumato.search.mondrian import mondrian
from sfumato.search.term_removal import TermColumn, TermRows, solve_classes
from sfumato.system.presentation.charts import Lines
from sfumato.table.source import open_source

Row = dict[str, Any]

ROWS, WIDTH = int(os.environ.get("SFUMATO_ROWS", "3000")), 9
SECONDS = float(os.environ.get("SFUMATO_SECONDS", "10"))
EVERY = int(os.environ.get("SFUMATO_EVERY", "1"))
"""Of the classes that break a promise, every so-many-th is searched, in the time that is its share."""
KEYS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
FEW = (2, 4, 6, 8, 10)
RATIOS = (Fraction(1, 2), Fraction(1), Fraction(2))
CROWDS = (2, 5)
SQUARES = (Fraction(1, 100), Fraction(1, 25), Fraction(1, 16), Fraction(1, 9), Fraction(1, 4))
SIZES = (1, 2, 5, 10, 25)


def main(data: Path, out: Path) -> list[Row]:
    rows: list[Row] = []
    for row in measured(data):
        rows.append(row)
        print("  " + "  ".join(f"{k} {_shown(v)}" for k, v in row.items()), flush=True)
    keep(rows, out)
    print(f"  written: {out / 'quasi_sensitive.csv'} and its pictures")
    return rows


def measured(data: Path) -> Iterator[Row]:
    """All figures, one row each."""
    for row in first():
        yield {"figure": "first", **row}
    for name, known in (("drawn", drawn()), ("real", real(data))):
        people = adult(data, known)
        for row in chain(phases(data, people, known), removal(data, people, known)):
            yield {"knowledge": name, **row}


def keep(rows: list[Row], out: Path) -> None:
    """The figures as a table and as pictures."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    with (out / "quasi_sensitive.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, keys)
        writer.writeheader()
        writer.writerows(rows)
    for figure in pictures(rows):
        draw_figure(figure, out)


def pictures(rows: list[Row]) -> Iterator[Lines]:
    """Cost against l and c, cost and loss against the square of t."""
    for name in ("drawn", "real"):
        mine = [row for row in rows if row.get("knowledge") == name]
        removed = [row for row in mine if row["figure"] == "removal"]
        for k in CROWDS:
            for axis, fixed, value in (("l", "c", "1"), ("c", "l", 6)):
                some = [row for row in removed if row["k"] == k and row[fixed] == value]
                series = {
                    m: [(float(Fraction(row[axis])), row[f"cost {m}"]) for row in some] for m in METHODS
                }
                title = f"Cost of removal against {axis} ({name} knowledge, k = {k}, {fixed} = {value})"
                yield Lines(f"quasi-sensitive-{name}-k{k}-{axis}", title, (axis, "T"), series)
        for measure, up in (("cost", "T"), ("loss", "loss of generalization")):
            ways: dict[str, list[tuple[float, float]]] = {}
            for row in mine:
                if row["figure"] == "phases":
                    way = row["way"] if row["way"] != "both" else f"k = {row['k']}"
                    ways.setdefault(way, []).append((row["t squared"], row[measure]))
            title = f"{measure.capitalize()} against the square of t ({name} knowledge)"
            yield Lines(f"quasi-sensitive-{name}-{measure}", title, ("t squared", up), ways)


def drawn() -> Knowledge:
    return Knowledge.of(drawn_knowledge(np.random.default_rng(11)))


def real(data: Path) -> Knowledge:
    """Diseases and the symptoms that literature mentions with them."""
    with gzip.open(data / "symptoms" / "disease_symptom.tsv.gz", "rt", encoding="utf-8") as file:
        lines = csv.DictReader(file, delimiter="\t")
        pairs = [(line["disease_name"], line["symptom_name"]) for line in lines]
    held: dict[str, set[str]] = {}
    for label, term in pairs:
        held.setdefault(label, set()).add(term.replace(";", ","))
    return Knowledge.of((label, terms) for label, terms in held.items() if len(terms) >= WIDTH)


def adult(data: Path, known: Knowledge) -> pa.Table:
    """The first rows of Adult, each with nine terms of one label."""
    table = pacsv.read_csv(data / "adult" / "adult.csv", parse_options=pacsv.ParseOptions(delimiter=";"))
    rng = np.random.default_rng(7)
    chosen = rng.integers(0, len(known.rows), ROWS).tolist()
    sets = [";".join(rng.choice(sorted(known.rows[i][1]), WIDTH, replace=False)) for i in chosen]
    return table.select(list(KEYS)).slice(0, ROWS).append_column("symptoms", pa.array(sets))


def policy(data: Path, known: Knowledge, k: int, *, method: str = "exact", **asked: Any) -> Row:
    columns: Row = {}
    for name in KEYS:
        path = data / "adult" / f"adult_hierarchy_{name}.csv"
        tree: Row = (
            {"flat": list(range(121)), "ordered": True} if name == "age" else {"file": str(path.resolve())}
        )
        columns[name] = {"role": "quasi", "taxonomy": tree}
    columns["symptoms"] = {"role": "quasi-sensitive", "separator": ";"}
    promise = {"of": "symptoms", "knowledge": {a: sorted(b) for a, b in known.rows}, **asked}
    return {
        "columns": columns,
        "promises": [*([{"k-anonymity": {"k": k}}] if k > 1 else []), {"quasi-sensitive": promise}],
        "protect": {
            "suppress": 0,
            "search": "mondrian",
            "terms": {"method": method, "seconds": max(1, int(SECONDS))},
        },
    }


AGES = [22, 24, 35, 37]
DISEASES = {
    "Flu": ["fever", "cough", "headache", "chills"],
    "Cold": ["cough", "sneeze", "headache"],
    "Malaria": ["fever", "chills", "sweating"],
    "Migraine": ["headache", "nausea"],
}
SICK = ["fever;cough", "headache;chills", "cough;headache", "fever;chills"]
"""Every symptom is present and absent among the first two patients, and among the last two."""
RARE = [*SICK[:3], "fever;chills;sweating"]


def first() -> Iterator[Row]:
    """Four patients, two with different symptoms of one disease: what outsiders believe, and at which loss,
    although the table is 2-anonymous and 2-diverse."""
    age = {"role": "quasi", "taxonomy": {"flat": list(range(121)), "ordered": True}}
    ask = {"quasi-sensitive": {"of": "symptoms", "knowledge": DISEASES, "l": 2, "c": 1}}
    crowd: list[Row] = [{"k-anonymity": {"k": 2}}]
    mondrian_: Row = {"protect": {"suppress": 0, "search": "mondrian"}}
    together = {"age": age, "symptoms": {"role": "quasi-sensitive"}}

    def told(way: str, safe: Any, columns: Row, loss: float) -> Row:
        found = sf.attack.quasi_sensitive(
            safe, {"columns": columns, "promises": [ask], "protect": {"search": "top-down", "suppress": 0}}
        )[0]
        return {"way": way, "belief": float(found.confidence), "people": found.people, "loss": loss}

    people = pa.table({"age": AGES, "symptoms": SICK})
    one = {"columns": {"age": age, "symptoms": {"role": "sensitive"}}}
    plan = sf.protect(
        people, {**one, "promises": [*crowd, {"l-diversity": {"of": "symptoms", "l": 2}}], **mondrian_}
    )
    yield told("one sensitive value, 2-diverse", plan.apply(people), together, plan.loss)
    for name, sets in (("every yes/no value 2-diverse", SICK), ("the same, one symptom rare", RARE)):
        terms = sorted({t for held in sets for t in held.split(";")})
        bits = pa.table({"age": AGES, **{t: [int(t in s.split(";")) for s in sets] for t in terms}})
        apart = {"columns": {"age": age, **{t: {"role": "sensitive"} for t in terms}}}
        diverse = [{"l-diversity": {"of": t, "l": 2}} for t in terms]
        plan = sf.protect(bits, {**apart, "promises": [*crowd, *diverse], **mondrian_})
        parts = {t: {"role": "quasi-sensitive", "set": "symptoms"} for t in terms}
        yield told(name, plan.apply(bits), {"age": age, **parts}, plan.loss)
    plan = sf.protect(
        people,
        {
            "columns": together,
            "promises": [*crowd, ask],
            "protect": {"search": "top-down", "suppress": 0},
            **mondrian_,
        },
    )
    assert plan.terms is not None
    found = told("quasi-sensitive, l = 2", plan.apply(people), together, plan.loss)
    yield {**found, "cost": float(plan.terms.total)}


def removal(data: Path, people: pa.Table, known: Knowledge) -> Iterator[Row]:
    """Equal time per class for the three methods, over the classes that break the promise."""
    costs = RemovalCosts("inverse", WIDTH)
    for k in CROWDS:
        made = sf.Policy.from_dict(policy(data, known, k, l=2, c=1))
        table = open_source(people).count(made.codings, missing=made.missing)
        recoding = mondrian(table, Promises(made.promises.members[:1]), Aim()).recoding
        for l, c in product(FEW, RATIOS):  # noqa: E741  # the name in the paper
            promise = QuasiSensitiveDiversity("symptoms", known, l=l, c=c)
            column = TermColumn(TermRows(table, "symptoms"), TermLimit.of(promise))
            bad = np.flatnonzero(~column.judged(recoding, {}))
            rows = column.rows_of(recoding, bad[::EVERY])
            row: Row = {"figure": "removal", "k": k, "l": l, "c": str(c), "classes": recoding.count}
            row |= {"violating": len(bad), "searched": len(rows)}
            each = SECONDS * (os.cpu_count() or 1) / max(1, len(bad))
            for method in METHODS:
                row |= costs_of(method, rows, column.limit, costs, each)
            yield row


def costs_of(
    method: str, rows: dict[int, list[Terms]], limit: TermLimit, costs: RemovalCosts, each: float
) -> Row:
    """The mean cost, and how many answers are proved, with so many seconds for each class."""
    began = time.process_time()
    answers = solve_classes(rows, limit, costs, method=method, each=each) if rows else {}
    whole = {i: sum(int(costs.table[len(r), len(r)]) for r in some) for i, some in rows.items()}
    costs = [a.cost / whole[i] if a.found else 1.0 for i, a in answers.items()]
    return {
        f"cost {method}": float(np.mean(costs)) if costs else 0.0,
        f"found {method}": float(np.mean([a.found for a in answers.values()])) if answers else 1.0,
        f"proved {method}": float(np.mean([a.proved for a in answers.values()])) if answers else 1.0,
        f"cpu {method}": time.process_time() - began,
    }


def phases(data: Path, people: pa.Table, known: Knowledge) -> Iterator[Row]:
    """Both phases together, and each alone."""
    for square in SQUARES:
        t = Fraction(int(square.numerator**0.5), int(square.denominator**0.5))
        for k in SIZES:
            plan = sf.protect(people, policy(data, known, k, kind="closeness", t=t))
            assert plan.terms is not None
            yield {
                "figure": "phases",
                "t squared": float(square),
                "k": k,
                "way": "removal only" if k == 1 else "both",
                "cost": float(plan.terms.total),
                "loss": plan.loss,
                "classes": plan.classes,
                "violating": len(plan.terms.status) - plan.terms.count("satisfied"),
                "infeasible": plan.terms.infeasible,
                "told": plan.terms.infeasible - plan.terms.untold,
                "merged": plan.terms.count("merged"),
                "proved": sum(plan.terms.proved) / plan.classes,
            }
        plan = sf.protect(people, policy(data, known, 2, method="keep", kind="closeness", t=t))
        row = {"figure": "phases", "t squared": float(square), "way": "generalization only"}
        yield {**row, "cost": 0.0, "loss": plan.loss}


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
