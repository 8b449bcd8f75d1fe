"""Policies that say nothing of `protect`, from draft to release: alone, for recipients, in a chain."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import BadPolicy, RefusedByHistory

pytestmark = pytest.mark.slow


def people(rows=1000, seed=3, first=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"canary-{first + i}" for i in range(rows)],
            "zip": [f"{z:03d}" for z in rng.integers(0, 40, rows)],
            "age": [str(a) for a in rng.integers(20, 60, rows)],
            "sex": rng.choice(["m", "f"], rows).tolist(),
        }
    )


def policy(**more):
    return sf.Policy.from_dict(
        {
            "columns": {
                "name": {"role": "identifier"},
                "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
                "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 80}},
                "sex": {"role": "quasi"},
            },
            "promises": [{"k-anonymity": {"k": 4}}],
            **more,
        }
    )


@pytest.fixture
def go(tmp_path):
    """Release into a new folder of tmp_path."""

    def call(data, rules, into, **more):
        return sf.release(data, rules, ledger=f"sqlite:///{tmp_path}/ledger.db", into=tmp_path / into, **more)

    return call


def test_the_draft_is_protected_judged_and_compared(sfumato, tmp_path):
    people().write_csv(tmp_path / "people.csv")
    made = sfumato("declare", tmp_path / "people.csv", "-o", tmp_path / "policy.yaml")
    assert made.code == 0, made.err
    written = (tmp_path / "policy.yaml").read_text(encoding="utf-8")
    assert "search: best, suppress: 5%" in written and "price: 3" in written
    safe = tmp_path / "safe.csv"
    arguments = ("protect", tmp_path / "people.csv", "-p", tmp_path / "policy.yaml", "-o", safe)
    said = sfumato(*arguments, "--compare")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0].startswith("plan by best of 5 searches: ")
    assert any("lost" in line and " of " in line for line in lines)
    compared = lines[lines.index("searches compared") + 1 :]
    assert [line.split()[0] for line in compared[:5]] != sorted(line.split()[0] for line in compared[:5])
    assert all("rows suppressed" in line or "row suppressed" in line for line in compared[:5])
    assert sf.audit(safe, tmp_path / "policy.yaml").holds


def test_a_search_that_was_not_compared_is_told_with_the_reason():
    plan = sf.protect(people(), policy(recipients={}))
    assert plan.policy.protect.suppress == 0 and plan.suppressed == 0 and plan.recoding.cuts is not None
    said = str(plan.comparison())
    assert "local was not tried: local recodes every class by itself" in said
    assert "mondrian was not tried" in said and "lattice" in said


def test_several_recipients_get_versions(go, tmp_path):
    go(people(), policy(recipients={"tolerance": "1000%"}), "one", to=["a", "b"])
    assert all((tmp_path / "one" / name / "data.csv").exists() for name in ("a", "b"))


def test_one_recipient_gets_whole_columns_so_that_others_may_follow(go):
    go(people(), policy(), "one", to=["a"])
    go(people(), policy(recipients={"tolerance": "1000%"}), "two", to=["b"])
    with pytest.raises(BadPolicy, match="recodes every class by itself"):
        go(people(), policy(protect={"search": "local"}), "three", to=["c", "d"], chain="other")


def in_batches(k=2):
    """A policy for people who arrive batch by batch."""
    columns = {
        "batch": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "sex": {"role": "quasi", "taxonomy": {"tree": {"any": ["m", "f"]}}},
    }
    promises = [{"k-anonymity": {"k": k}}, {"continuous": {"k": k, "since": "batch"}}]
    return sf.Policy.from_dict({"columns": columns, "promises": promises})


def arrived(*batches):
    """Sixty people per batch."""
    rows = [(f"b{b}", f"0{i % 2}{i % 4}", "mf"[i // 4 % 2]) for b in batches for i in range(60)]
    return pl.DataFrame(rows, schema=["batch", "zip", "sex"], orient="row")


def test_a_chain_goes_on(go, tmp_path):
    rules = in_batches()
    assert rules.protect.search == "best" and rules.protect.suppress == 0
    go(arrived(1), rules, "one")
    go(arrived(1, 2), rules, "two")
    ledger = sf.Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True)
    assert len(ledger.history("main")) == 2


def test_a_single_group_and_one_below_a_star_are_two_trees(go):
    go(arrived(1), in_batches(k=3), "one")
    words = in_batches(k=3).to_dict()
    words["columns"]["sex"]["taxonomy"] = {"tree": {"*": {"any": ["m", "f"]}}}
    with pytest.raises(RefusedByHistory):
        go(arrived(1, 2), words, "starred")
    with pytest.raises(RefusedByHistory):
        go(arrived(1, 2), in_batches(k=2), "weaker")
    go(arrived(1, 2), in_batches(k=3), "two")
