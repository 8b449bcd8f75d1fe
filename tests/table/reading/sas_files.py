"""Made-up visits in files of SAS with a catalogue of labels (`golden/sas`), and the same rows elsewhere."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import polars as pl
import pyreadstat

GOLDEN = Path(__file__).parents[2] / "golden" / "sas"
BITS = ("32", "64")
LABELS = {
    "sex": {"f": "female", "m": "male"},
    "region": {1.0: "north", 2.0: "south", 3.0: "île", -4.5: "elsewhere"},
    "illness": {1.0: "flu", 2.0: "measles", 3.0: "asthma", 98.0: "refused"},
}


def unpacked(name: str) -> bytes:
    return gzip.decompress((GOLDEN / f"{name}.gz").read_bytes())


def lay_out(folder: Path, *, data: str = "64", catalog: str = "64") -> tuple[Path, Path]:
    """Writes the visits and their catalogue, of so many bits; returns both files."""
    visits, formats = folder / "visits.sas7bdat", folder / "formats.sas7bcat"
    visits.write_bytes(unpacked(f"visits_{data}.sas7bdat"))
    formats.write_bytes(unpacked(f"formats_{catalog}.sas7bcat"))
    return visits, formats


def codes() -> pl.DataFrame:
    """The same visits, made here: codes, and no label."""
    rows = range(240)
    return pl.DataFrame(
        {
            "age": [20.0 + i % 40 for i in rows],
            "sex": ["fm"[i % 2] for i in rows],
            "region": [(1.0, 2.0, 3.0, -4.5)[i % 4] for i in rows],
            "illness": [None if i % 24 in (5, 17) else 1.0 + i // 2 % 3 for i in rows],
            "visited": [dt.date(2020, 1, 1) + dt.timedelta(days=i % 90) for i in rows],
            "ward": [1.0 + i % 5 for i in rows],
        }
    )


def write_spss(path: Path) -> Path:
    """Writes the same visits with the same labels as a file of SPSS."""
    pyreadstat.write_sav(codes(), str(path), variable_value_labels=LABELS)
    return path
