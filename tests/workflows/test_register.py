"""Chains and versions that are kept against a register, from the table to the audit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.models.continuous import people as pooling
from sfumato.models.continuous.people import RegisterRule
from sfumato.system.errors import RefusedByHistory

pytestmark = pytest.mark.slow

HALF = {"confidence-bounding": {"of": "ill", "confidence": "1/2"}}


def people(rows, quarter, seed):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "quarter": [quarter] * rows,
            "zip": [f"{z:02d}" for z in rng.integers(10, 14, rows)],
            "sex": rng.choice(["f", "m"], rows).tolist(),
            "age": [str(a) for a in rng.integers(20, 60, rows)],
            "ill": rng.choice(["HIV", "burn", "cold", "flu", "gout"], rows).tolist(),
        }
    )


def policy(*promises, **more):
    columns = {
        "quarter": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [1]}},
        "sex": {"role": "quasi"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20], "from": 20, "to": 60}},
        "ill": {"role": "sensitive"},
    }
    return {
        "columns": columns,
        "promises": list(promises),
        "protect": {"search": "top-down", "suppress": 0},
        **more,
    }


def beside(**more):
    return {"continuous": {"k": 5, "since": "quarter", "adversary": "register", **more}}


BATCHES = [people(600, "Q1", 1), people(400, "Q2", 2), people(300, "Q3", 5)]


@pytest.mark.parametrize("survivors", [False, True])
def test_a_chain_reports_its_smallest_position_and_its_certificate_seals_it(tmp_path, sfumato, survivors):
    rules = policy(*([HALF] if survivors else []), beside(survivors=survivors))
    ledger = f"sqlite:///{tmp_path}/l.db"
    for i in range(3):
        found = sf.release(pl.concat(BATCHES[: i + 1]), rules, ledger=ledger, into=tmp_path / f"Q{i + 1}")
        figures = found.record.figures
        assert "FA" not in figures and "BA" not in figures
        assert i == 0 or figures["position"] >= 5
    file, key = tmp_path / "Q3" / "data.csv", next(tmp_path.glob("*.pub"))
    plain = sf.audit(file, rules, against=ledger)
    assert [v.word for v in plain.verdicts if "register" in v.promise] == ["not decidable"]
    assert not plain.breaches
    written = tmp_path / "policy.yaml"
    written.write_text(sf.Policy.from_dict(rules).to_yaml(), encoding="utf-8")
    audit = ("audit", file, "-p", written, "--against", ledger, "--strict")
    assert sfumato(*audit).code == 1
    sealed = sfumato(*audit, "--key", key)
    assert sealed.code == 0 and "sealed" in sealed.out


def test_a_search_that_forgets_the_rules_is_stopped_by_the_second_judge(tmp_path, monkeypatch):
    """Four ill people among sixteen: shown by another column, they are given away by both rules."""
    cells = {"HIV": [4, 0, 0, 0], "flu": [0, 2, 2, 6], "cold": [0, 2, 2, 6]}
    rows = [
        ("Q1", f"a{i // 2}", f"b{i % 2}", ill)
        for ill, counts in cells.items()
        for i, n in enumerate(counts)
        for _ in range(n)
    ]
    rows += [("Q2", "a1", "b1", ill) for ill in ("flu", "cold") for _ in range(4)]
    frame = pl.DataFrame(rows, schema=["quarter", "a", "b", "ill"], orient="row")
    columns = {
        "quarter": {"role": "identifier"},
        "a": {"role": "quasi"},
        "b": {"role": "quasi"},
        "ill": {"role": "sensitive"},
    }
    asked = {"continuous": {"k": 1, "since": "quarter", "survivors": True, "adversary": "register"}}
    words = {
        "columns": columns,
        "promises": [HALF, asked],
        "protect": {"search": "top-down", "suppress": 0, "weights": {"a": 10}},
    }
    ledger = f"sqlite:///{tmp_path}/l.db"
    first = sf.release(
        frame.filter(pl.col("quarter") == "Q1"), words, ledger=ledger, into=tmp_path / "one"
    ).record
    assert {name: len(cut) for name, cut in first.cuts.items()} == {"a": 2, "b": 1}
    words["protect"] = {"weights": {"b": 10}}
    kept = sf.release(frame, words, ledger=ledger, into=tmp_path / "kept", dry_run=True).record
    assert len(kept.cuts["b"]) == 1, "b stays hidden"
    for name in ("positions_kept", "expectations_kept"):
        monkeypatch.setattr(RegisterRule, name, lambda *_: True)
    with pytest.raises(RefusedByHistory, match=r"does not keep confidence bounding|does not keep continuous"):
        sf.release(frame, words, ledger=ledger, into=tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_a_family_that_forgets_the_rules_is_stopped_by_the_second_judge(tmp_path, monkeypatch):
    cells = {"HIV": [10, 0, 0, 0], **{d: [0, 2, 2, 200] for d in ("burn", "cold", "flu", "gout", "tb")}}
    rows = [
        (f"a{i // 2}", f"b{i % 2}", ill)
        for ill, c in cells.items()
        for i, n in enumerate(c)
        for _ in range(n)
    ]
    frame = pl.DataFrame(rows, schema=["a", "b", "ill"], orient="row")
    columns = {"a": {"role": "quasi"}, "b": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    rule = {"coalition": "pairs", "quality": "discernibility", "tolerance": "1000%"}
    words = {
        "columns": columns,
        "promises": [HALF],
        "protect": {"search": "top-down", "suppress": 0},
        "recipients": rule,
    }
    monkeypatch.setattr(pooling.Pool, "keeps_pairs", lambda *_: True)
    with pytest.raises(RefusedByHistory, match="put together"):
        sf.release(frame, words, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "out", to=["A", "B"])
    assert not (tmp_path / "out").exists()
