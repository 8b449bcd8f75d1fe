"""The card of a discovery, word for word. `SFUMATO_GOLDEN=write` writes the file anew; review the diff."""

import os
from pathlib import Path

import polars as pl

import sfumato as sf

GOLDEN = Path(__file__).parent.parent / "golden" / "discovery.txt"


def people():
    """Twenty-four people, regular enough to check by hand."""
    return pl.DataFrame(
        {
            "contact": [f"p{i}@example.org" for i in range(24)],
            "age": [20 + i // 2 for i in range(24)],
            "job": [("Cook", "Waiter", "Nurse", "Physician")[i % 4] for i in range(24)],
            "disease": [("Flu", "Cough", "Burn")[i % 3] for i in range(24)],
        }
    )


def test_the_card_and_the_proposed_policy():
    table = people()
    scan = sf.discover(table, k=2, mode="all", max_size=2, record_risk=2)
    large = sf.discover(table, k=3, count=24, max_size=1, without=["contact", "age"])
    none = sf.discover(table.select("job"), k=2, mode="any")
    parts = [str(scan), repr(scan), scan._repr_html_(), str(large), str(none), scan.suggest("ema").to_yaml()]
    text = "\n\n".join(parts)
    if os.environ.get("SFUMATO_GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
