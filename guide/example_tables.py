"""The tables on which the example policies are executed: made up, and the same every time."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import openpyxl

import sfumato as sf

ROWS = 600
FOLDER = Path(__file__).parent.parent / "docs" / "reference" / "policies"


def _hospital(rows: int = ROWS):
    people = sf.demo.hospital(rows, kind="pyarrow").to_pydict()
    place = range(rows)
    people["ward"] = [f"{'AB'[i % 2]}{1 + i % 3}{i % 4}" for i in place]
    people["stay"] = [("short", "medium", "long")[i % 3] for i in place]
    people["triage"] = [("red", "amber", "green", "green")[i % 4] for i in place]
    people["region"] = [("north", "South ", "NORTH", "south")[i % 4] for i in place]
    people["cost"] = [f"{310 + 17.35 * (i % 90):.2f}" for i in place]
    people["age"] = [2025 - int(str(born)[:4]) for born in people["born"]]
    return people


def _free():
    rows = "F190K.Flu F160K.AIDS F50K.E_Coli F40K.E_Coli M190K.AIDS M160K.AIDS M50K.TB M40K.TB M50K.E_Coli"
    cells = [(row[0], *row[1:].split(".")) for row in f"{rows} M40K.E_Coli".split()]
    return {
        "sex": [sex for sex, _, _ in cells],
        "income": [income for _, income, _ in cells],
        "disease": [disease.replace("_", ".") for _, _, disease in cells],
    }


def _signs():
    return {
        "age": ["22", "24", "31", "35"],
        "blood": ["A", "B", "A", "B"],
        "fever": ["yes", "yes", "no", "no"],
    }


def _symptoms():
    return {
        "age": [22, 24, 31, 35],
        "symptoms": ["fever;cough", "fever;cough;headache", "sneeze", "cough;headache"],
        "aspirin": [1, 0, 1, 0],
        "insulin": [0, 1, 0, 1],
    }


def _chain():
    rows = [
        ("Q1", place, job) for place in ("UK", "France") for job in ("Lawyer", "Doctor") for _ in range(4)
    ]
    return {
        "who": [f"P{i}" for i, _ in enumerate(rows)],
        "quarter": [row[0] for row in rows],
        "place": [row[1] for row in rows],
        "job": [row[2] for row in rows],
        "disease": [("Flu", "HIV", "Burn")[i % 3] for i, _ in enumerate(rows)],
    }


def _office():
    return {
        "plz": [f"8{i % 4}331" for i in range(60)],
        "geboren": [f"{1 + i % 28:02}.0{1 + i % 9}.19{50 + i % 40}" for i in range(60)],
        "gewicht": [f"{60 + i % 30},5" for i in range(60)],
        "diagnose": [("Grippe", "Röteln", "Masern")[i % 3] for i in range(60)],
    }


def _visits():
    january = [(f"J{i}", "Jan", d) for i, d in enumerate(["flu", "flu", "cold", "cold"])]
    february = [(f"F{i}", "Feb", d) for i, d in enumerate(["asthma", "asthma", "burn", "burn"])]
    rows = [("Ann", "Jan", "HIV"), ("Ann", "Feb", "HIV"), *january, *february]
    return dict(zip(("who", "month", "disease"), map(list, zip(*rows, strict=True)), strict=True))


def _lands():
    return {
        "country": [("NL", "Netherlands", "Germany", "Chad", "Mali")[i % 5] for i in range(60)],
        "education": [str(i % 9) for i in range(60)],
        "diagnosis": [("E11.9", "J45.20", "I10", "F32.9")[i % 4] for i in range(60)],
    }


TABLES: Mapping[str, Callable[[], Mapping[str, list]]] = {
    "columns": _hospital,
    "secrets": _hospital,
    "reference": _hospital,
    "freeform": _free,
    "observed": _free,
    "signs": _signs,
    "symptoms": _symptoms,
    "recipients": _hospital,
    "safe_harbor": _chain,
    "chain": _chain,
    "members": _chain,
    "quarters": _hospital,
    "marks": _hospital,
    "batches": _hospital,
    "visits": _visits,
    "ready": _lands,
    "source": _office,
    "workbook": _visits,
    "labels": _visits,
    "database": _visits,
}
"""The table of each example policy, by the name of its file."""


def write(name: str, folder: Path) -> str:
    """Writes the table of an example into a folder, in the form its policy reads; returns where it is.

    Only the columns that the policy declares are written: as CSV, as a sheet, or as a table of a database.
    That of SAS is written as CSV, with labels for cells: nothing here writes its files, and a catalogue is
    passed over where another kind of file is read.
    """
    policy = sf.Policy.load(FOLDER / f"{name}.yaml")
    table = {key: cells for key, cells in TABLES[name]().items() if key in policy.columns}
    form = {} if policy.source is None else policy.source.words
    if "sheet" in form:
        return _write_sheet(table, str(form["sheet"]), folder / "people.xlsx")
    if "query" in form:
        return _write_database(table, folder / "people.db")
    path = folder / "people.csv"
    with path.open("w", encoding=str(form.get("encoding", "utf-8")), newline="") as file:
        lines = csv.writer(file, delimiter=str(form.get("delimiter", ",")), lineterminator="\n")
        lines.writerow(table)
        lines.writerows(zip(*table.values(), strict=True))
    return str(path)


def _write_sheet(table: Mapping[str, list], sheet: str, path: Path) -> str:
    book = openpyxl.Workbook()
    book.active.title = "notes"
    page = book.create_sheet(sheet)
    for line in (list(table), *zip(*table.values(), strict=True)):
        page.append(line)
    book.save(path)
    return str(path)


def _write_database(table: Mapping[str, list], path: Path) -> str:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE visits ({', '.join(table)})")
        marks = ", ".join("?" for _ in table)
        database.executemany(f"INSERT INTO visits VALUES ({marks})", zip(*table.values(), strict=True))
    return f"sqlite:///{path}"
