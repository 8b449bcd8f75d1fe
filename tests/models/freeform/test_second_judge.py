"""The judge of the bytes agrees with the promise, and with the audit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from models.freeform.node_tables import random_case
from oracles import freeform as definition
from papers.test_wang_2009 import POLICY, T1, T3
from sfumato.models.contract import Promises
from sfumato.models.freeform import judge as freeform
from sfumato.policy.content import ColumnRule, ProtectRule
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies import rule_from
from sfumato.workflows.protect_file import protect_file
from verify.both import recheck

pytestmark = pytest.mark.slow


def policies(table, promise):
    rules = {c.name: ColumnRule(c.role, rule_from(c.taxonomy)) for c in table.columns}
    return Policy(rules, Promises((promise,)), ProtectRule("top-down", Fraction(0)))


@pytest.mark.parametrize("portion", [10**9, 3])
def test_files_of_random_tables(tmp_path, monkeypatch, portion):
    monkeypatch.setattr(freeform, "AT_ONCE", portion)
    rng = np.random.default_rng(portion % 97)
    seen = {True: 0, False: 0}
    for _ in range(60):
        table, promise, cuts = random_case(rng)
        if not promise.columns:
            continue
        policy = policies(table, promise)
        frame = pd.DataFrame(
            {
                c.name: np.repeat(
                    np.array([c.taxonomy.labels[v] for v in cuts[c.name].node_of[table.codes(c.name)]]),
                    table.counts,
                )
                for c in table.columns
            }
        )
        path = tmp_path / "t.csv"
        frame.to_csv(path, index=False)
        (verdict,) = recheck(path, policy)
        node_table = promise.node_table(table, cuts)
        assert verdict.holds == (not definition.breaches(node_table, promise.threat))
        ours = promise.verdict_on(table, cuts)
        assert (verdict.holds, verdict.measured) == (ours.holds, ours.measured)
        assert verdict.classes == ours.classes and verdict.people >= ours.people
        assert sf.audit(frame, policy).verdicts[0] == verdict == sf.audit(path, policy).verdicts[0]
        seen[verdict.holds] += 1
    assert min(seen.values()) > 5


def test_publishing_is_confirmed_by_the_second_judge(tmp_path):
    plan, (verdict,) = protect_file(T1, POLICY, tmp_path / "safe.csv")
    assert verdict.holds and verdict.measured == plan.verdicts[0].measured
    T1.to_csv(tmp_path / "raw.csv", index=False)
    (verdict,) = recheck(tmp_path / "raw.csv", Policy.from_dict(POLICY))
    assert verdict.holds is False and verdict.measured == 1
    T3.to_csv(tmp_path / "t3.csv", index=False)
    assert recheck(tmp_path / "t3.csv", Policy.from_dict(POLICY))[0].holds
