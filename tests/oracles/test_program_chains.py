"""The program releases chains of small tables, and tells the same of tables in which values changed places."""

import os
from collections import Counter

import pytest

from oracles.program_chains import differences

TABLES = int(os.environ.get("SFUMATO_GROUP_TABLES", "300"))
"""So many tables are released, each twice; a hundred take some ten seconds."""


@pytest.mark.slow
def test_files_tell_nothing_but_what_each_class_holds(tmp_path):
    """As `SFUMATO_GROUP_TABLES=20000 pytest -s tests/oracles/test_program_chains.py` it takes hours."""
    totals, seed = Counter(), 0
    while totals["tables"] < TABLES:
        wrong, tried = differences(seed, tmp_path if seed % 8 == 0 else None)
        assert wrong == [], seed
        totals.update(tried)
        seed += 1
    assert totals["joined groups"] > totals["tables"] / 8
    assert totals["bare rows"] > totals["tables"]
    if "SFUMATO_GROUP_TABLES" in os.environ:
        print(dict(totals, chains=seed))
