"""A column of term sets shows the same terms in every version, or there are no versions."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import Infeasible

KNOWLEDGE = {
    "Flu": ["fever", "cough", "headache"],
    "Cold": ["cough", "sneeze", "headache"],
    "Malaria": ["fever", "chills", "headache"],
    "Allergy": ["sneeze", "rash"],
}
NAMES = ["registry", "university"]


def policy(**limit):
    return {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 50], "from": 0, "to": 100}},
            "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
            "symptoms": {"role": "quasi-sensitive", "separator": ";"},
        },
        "promises": [
            {"k-anonymity": {"k": 2}},
            {"quasi-sensitive": {"of": "symptoms", "knowledge": KNOWLEDGE, **limit}},
        ],
        "protect": {"search": "top-down", "suppress": 0},
        "recipients": {"quality": "entropy", "tolerance": "200%"},
    }


def people(rows=600):
    rng = np.random.default_rng(5)
    sets = ["fever;cough", "sneeze", "headache", "cough;headache", "fever", "rash"]
    return pl.DataFrame(
        {
            "age": [str(a) for a in rng.integers(0, 100, rows)],
            "zip": [f"{z:03d}" for z in rng.integers(0, 30, rows)],
            "symptoms": rng.choice(sets, rows).tolist(),
        }
    )


def test_no_term_is_removed_in_any_version(tmp_path):
    ledger = f"sqlite:///{tmp_path}/ledger.db"
    event = sf.release(people(), policy(l=2, c=3), ledger=ledger, into=tmp_path / "out", to=NAMES)
    assert event.published
    for name in NAMES:
        table = pl.read_csv(tmp_path / "out" / name / "data.csv", infer_schema=False)
        assert table["symptoms"].sort().equals(people()["symptoms"].sort())


def test_where_terms_would_have_to_go_and_may_not_versions_are_refused(tmp_path):
    few = people(40).with_columns(symptoms=pl.lit("fever;cough"))
    ledger = f"sqlite:///{tmp_path}/ledger.db"
    assert sf.protect(few, {k: v for k, v in policy(l=2, c=1).items() if k != "recipients"}).terms
    kept = {**policy(l=2, c=1), "protect": {"search": "top-down", "suppress": 0, "terms": {"method": "keep"}}}
    with pytest.raises(Infeasible, match="without removing terms"):
        sf.release(few, kept, ledger=ledger, into=tmp_path / "out", to=NAMES)
    assert not (tmp_path / "out").exists()
    assert sf.Ledger(ledger, readonly=True).history() == ()
