"""Nobody is left out of a release of a chain because of a sensitive value: who comes later would tell it."""

import pytest

import sfumato as sf

WORDS = {
    "columns": {
        "id": {"role": "identifier"},
        "town": {"role": "quasi"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 40], "from": 20, "to": 60}},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"of": "disease", "l": 2}}],
    "person": "id",
    "chain": {},
}


def people():
    """In the north everybody has flu, so a search that looks at values would rather leave the north out."""
    cells = {"id": [], "town": [], "age": [], "disease": []}
    for number in range(60):
        north = number % 20 == 0
        cells["id"].append(f"P{number:02}")
        cells["town"].append("north" if north else "south")
        cells["age"].append(str(20 + number % 40))
        cells["disease"].append("flu" if north else ("flu", "cold", "asthma")[number % 3])
    return cells


@pytest.mark.parametrize("search", ["lattice", "top-down", "local", "best"])
def test_informed_groups_show_everybody(search, tmp_path):
    import pyarrow as pa

    words = {**WORDS, "protect": {"search": search, "grouping": "informed", "suppress": "20%", "price": 1}}
    policy = sf.Policy.from_dict(words)
    receipt = sf.release(
        pa.table(people()), policy, ledger=f"sqlite:///{tmp_path}/ledger.db", into=tmp_path / "first"
    )
    assert receipt.record.figures["rows"] == 60
    assert receipt.record.figures["suppressed"] == 0
