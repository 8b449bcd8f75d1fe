"""The policy of the made-up hospital, and a folder with everything to try it on."""

from __future__ import annotations

import csv
from pathlib import Path

from ruamel.yaml import YAML

from sfumato.core.errors import WrongCall
from sfumato.core.json_object import JsonObject
from sfumato.demo.catalogue import DISEASES, JOBS
from sfumato.demo.hospital import columns
from sfumato.policy.policy import Policy

POLICY = """\
# What the columns of hospital.csv are, what is promised to the patients, and how to get there.
columns:
  patient_id: {role: identifier}                 # never published
  name:       {role: identifier}
  born:       {role: quasi, taxonomy: {date: [month, year, decade]}}
  zip:        {role: quasi, taxonomy: {prefix: [4, 3, 2, 1]}}
  sex:        {role: quasi}                      # no taxonomy: the value or *
  job:        {role: quasi, taxonomy: {file: job.csv}}
  income:     {role: quasi, taxonomy: {intervals: [5000, 10000, 20000, 40000], from: 0, decimal: true}}
  disease:    {role: sensitive, taxonomy: {file: disease.csv}}
  # Symptoms are seen by others and tell the disease: quasi-identifier and secret in one, which no promise
  # below covers. So they are never published.
  symptoms:   {role: identifier}
  admitted:
    role: quasi
    taxonomy:
      tree:
        2025-Q1: [2025-01, 2025-02, 2025-03]
        2025-Q2: [2025-04, 2025-05, 2025-06]
        2025-Q3: [2025-07, 2025-08, 2025-09]
        2025-Q4: [2025-10, 2025-11, 2025-12]
promises:
  - k-anonymity: {k: 5}
  - l-diversity: {of: disease, l: 3, kind: distinct}
  - t-closeness: {of: disease, t: 7/10, distance: equal}
protect: {search: best, suppress: 5%}
missing: own-value
"""


def policy() -> Policy:
    """Returns the policy of `hospital`, with its taxonomies inside."""
    asked: JsonObject = YAML(typ="safe", pure=True).load(POLICY)
    for name, tree in (("job", JOBS), ("disease", DISEASES)):
        asked["columns"][name]["taxonomy"] = {
            "tree": {
                top: {group: list(leaves) for group, leaves in below.items()} for top, below in tree.items()
            }
        }
    return Policy.from_dict(asked)


def write(folder: str | Path, rows: int = 100_000, seed: int = 0) -> tuple[Path, ...]:
    """Writes hospital.csv, policy.yaml, job.csv and disease.csv into a folder; replaces earlier ones."""
    into = Path(folder)
    if into.exists() and not into.is_dir():
        raise WrongCall("the place for the demo is a file", remedy="Name a folder.")
    into.mkdir(parents=True, exist_ok=True)
    table = columns(rows, seed)
    with (into / "hospital.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(table)
        lines.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    (into / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (into / "job.csv").write_text(_hierarchy(JOBS), encoding="utf-8")
    (into / "disease.csv").write_text(_hierarchy(DISEASES), encoding="utf-8")
    return tuple(into / name for name in ("hospital.csv", "policy.yaml", "job.csv", "disease.csv"))


def _hierarchy(tree: dict[str, dict[str, tuple[str, ...]]]) -> str:
    """Returns one line per leaf, from the leaf up to `*`."""
    lines = [
        f"{leaf};{group};{top};*" for top, below in tree.items() for group, ls in below.items() for leaf in ls
    ]
    return "\n".join(lines) + "\n"
