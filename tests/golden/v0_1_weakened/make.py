"""Makes the files of this folder with version 0.1; README.md says how to run it.

It is kept to show where the files come from. Running it with another version would make other files: do not.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl

import sfumato as sf

HERE = Path(__file__).resolve().parent
PEOPLE = HERE.parent / "v0_1" / "people"
SURVEY = """\
# {title}
sfumato: 1
columns:
  name:    {{role: identifier}}
  zip:     {{role: quasi, taxonomy: {{prefix: [2, 1]}}}}
  age:     {{role: quasi, taxonomy: {{intervals: [5, 10, 20], from: 0, to: 80}}}}
  sex:     {{role: quasi}}
  disease: {{role: sensitive}}
  ward:    {{role: quasi}}
promises:
  - k-anonymity: {{k: {k}}}
recipients: {{tolerance: 50%{more}}}
"""
QUARTERS = """\
# {title}
sfumato: 1
columns:
  patient_id: {{role: identifier}}
  quarter:    {{role: identifier}}
  age:        {{role: quasi, taxonomy: {{intervals: [5, 10, 20], from: 20, to: 80}}}}
  place:      {{role: quasi, taxonomy: {{tree: {{upper: [Aford, Bury], lower: [Cley, Dene]}}}}}}
  sex:        {{role: quasi}}
  ward:       {{role: sensitive}}
promises:
  - continuous: {{k: {k}, since: quarter}}
protect: {{loss: discernibility}}
"""
POLICIES = {
    "k40": SURVEY.format(title="The first recipient of chain k.", k=40, more=""),
    "k2": SURVEY.format(title="A later recipient of chain k, and of chain 'main '.", k=2, more=""),
    "pairs": SURVEY.format(title="The first recipient of chain pairs.", k=15, more=", coalition: pairs"),
    "alone": SURVEY.format(title="A later recipient of chain pairs.", k=15, more=""),
    "k6": SURVEY.format(title="The first recipient of chain main.", k=6, more=""),
    "continuous5": QUARTERS.format(title="The first release of chain quarters.", k=5),
    "continuous2": QUARTERS.format(title="The second release of chain quarters.", k=2),
}
RELEASES = [
    ("k", "k40", "registry", 400),
    ("k", "k2", "university", 400),
    ("pairs", "pairs", "registry", 384),
    ("pairs", "alone", "university", 384),
    ("main", "k6", "registry", 400),
    ("main ", "k2", "registry", 400),
    ("quarters", "continuous5", None, 55),
    ("quarters", "continuous2", None, 110),
]
"""Chain, policy, recipient, and how many of the people."""


def main():
    for name in ("policies", "ledger"):
        shutil.rmtree(HERE / name, ignore_errors=True)
        (HERE / name).mkdir()
    for name, text in POLICIES.items():
        (HERE / "policies" / f"{name}.yaml").write_text(text, encoding="utf-8")
    scratch = HERE / "scratch"
    for number, (chain, policy, recipient, rows) in enumerate(RELEASES):
        name = "survey" if recipient else "quarters"
        table = pl.read_csv(PEOPLE / f"{name}.csv", infer_schema=False)
        sf.release(
            table.head(rows) if recipient else table.sort("quarter", maintain_order=True).head(rows),
            HERE / "policies" / f"{policy}.yaml",
            ledger=f"sqlite:///{HERE}/ledger/ledger.db",
            into=scratch.with_name(f"scratch{number}"),
            to=recipient,
            chain=chain,
        )
        shutil.rmtree(scratch.with_name(f"scratch{number}"))


if __name__ == "__main__":
    main()
