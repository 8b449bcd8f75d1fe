"""Every combination of answers gives a policy that a file can hold, or is refused with what to do."""

from __future__ import annotations

import functools
import os
import random
from itertools import product

import pytest

import sfumato as sf
from sfumato.draft.draft import Audience, Frequency, Intent, RowMeaning, intended
from sfumato.system.errors import BrokenPromise, SfumatoError, UsageError
from sfumato.table.microdata import Role
from sfumato.workflows.declare import DraftEvidence
from sfumato.workflows.init import init

ANSWERS = {
    "rows": list(RowMeaning),
    "audience": list(Audience),
    "frequency": list(Frequency),
    "recipients": [1, 2],
    "rule": ["none", "3"],
    "exact": [(), ("sex", "disease"), ("patient_id",), ("quarter",)],
    "person": [None, "patient_id"],
    "since": [None, "quarter"],
}
TRIED = 150 if os.environ.get("SFUMATO_HYPOTHESIS") == "soak" else 4
"""So many of them are planned on the table, too."""


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    path = tmp_path_factory.mktemp("intent") / "people.csv"
    rows = [
        f"{i},8{i % 3}331,{'fm'[i % 2]},{('flu', 'gout', 'burn')[i // 2 % 3]},Q{1 + i // 40}"
        for i in range(80)
    ]
    path.write_text("\n".join(["patient_id,zip,sex,disease,quarter", *rows]) + "\n")
    return DraftEvidence.of(path)


def every_intent():
    for values in product(*ANSWERS.values()):
        yield dict(zip(ANSWERS, values, strict=True))


def test_every_combination_is_a_policy_or_a_refusal(evidence):
    made, drafted = 0, functools.cache(evidence.draft)
    for answers in every_intent():
        try:
            intent = Intent(**answers)
            policy = intended(drafted(intent.preset), intent)
        except UsageError as refused:
            assert refused.remedy or "never published" in refused.message, (answers, refused.message)
            continue
        made += 1
        again = sf.Policy.from_dict(policy.to_dict())
        assert again.digest == policy.digest
        check(policy, intent)
    assert made > 50


def check(policy, intent):
    """What was answered is what the policy says."""
    k = {"none": 12 if intent.audience is Audience.PUBLIC else 5, "3": 3}[intent.rule]
    assert min(p.least_people for p in policy.promises if p.least_people) == k
    assert policy.promises.looks_back == (intent.frequency is Frequency.AGAIN)
    assert policy.person == (intent.person if intent.rows is RowMeaning.EVENT else None)
    for name in filter(None, (intent.person, intent.since)):
        assert name not in policy.published
    for name in intent.exact:
        rule = policy.columns[name]
        assert rule.controls.ceiling == 0 if rule.role is Role.QUASI else name in policy.published


def test_what_is_written_can_be_followed(evidence):
    """Whatever `init` returns, `protect` does not refuse; whatever it refuses, it says what to do."""
    combinations = list(every_intent())
    random.Random(7).shuffle(combinations)
    tried = 0
    for answers in combinations:
        if tried == TRIED:
            break
        try:
            intent = Intent(**answers)
        except UsageError:
            continue
        tried += 1
        try:
            first = init(evidence, intent)
        except SfumatoError as refused:
            assert isinstance(refused, UsageError | BrokenPromise) and str(refused)
            continue
        plan = sf.protect(evidence.source, first.policy)
        assert all(verdict.holds for verdict in plan.verdicts)
    assert tried
