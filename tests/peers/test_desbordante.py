"""The same minimal keys as Desbordante's HPIValid on real tables; and where rows repeat, a reason."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sfumato.discovery.quasi_identifiers.coded import Coded, Reading
from sfumato.discovery.quasi_identifiers.enumeration import minimal

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-peers" / "bin" / "python"
HOW = (
    "python3 -m venv .venv-peers && "
    ".venv-peers/bin/pip install -r tests/peers/requirements.txt (make test does it)"
)
KEYS = Reading.of(k=2, mode="all")
TABLES = [
    ("openintro", "nycflights"),
    ("plyr", "baseball"),
    ("wooldridge", "countymurders"),
    ("wooldridge", "crime4"),
    ("wooldridge", "happiness"),
    ("sampleSelection", "RandHIE"),
    ("ggplot2", "diamonds"),
    ("Ecdat", "Car"),
]
REPEATING = {"ggplot2/diamonds", "Ecdat/Car"}


def ask(request):
    if not PYTHON.exists():
        pytest.fail(f"the peers are not installed: {HOW}")
    done = subprocess.run(
        [PYTHON, HERE / "ask_desbordante.py"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return ask({"folder": str(tmp_path_factory.mktemp("tables")), "tables": TABLES})


def test_same_keys_as_hpivalid(tables):
    compared = 0
    for table in tables:
        codes = np.load(table["file"])
        found = minimal(Coded.of_codes([str(j) for j in range(len(codes))], codes), KEYS)
        theirs = ask({"file": table["file"], "algorithm": "HPIValid"})
        assert found.complete
        assert sorted(sorted(map(int, key)) for key in found.sets) == theirs["keys"], table["name"]
        if table["name"] in REPEATING:
            assert theirs["keys"] == []
            assert found.duplicates > 0 and "repeat another row" in found.reason
        else:
            compared += len(theirs["keys"])
    assert compared > 4000
