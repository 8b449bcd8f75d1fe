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
    assert not policy.promises.looks_back
    assert (policy.chain is not None) == (intent.frequency is Frequency.AGAIN)
    assert policy.person == (intent.person if intent.rows is RowMeaning.EVENT or policy.chain else None)
    assert policy.chain is None or policy.chain.since == intent.since
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


def again(**answers):
    return Intent(RowMeaning.PERSON, Audience.INSIDE, Frequency.AGAIN, **answers)


def with_promises(policy, *promises):
    return sf.Policy.from_dict({**policy.to_dict(), "promises": list(promises)})


K_OF_5 = {"k-anonymity": {"k": 5}}


def test_promises_about_tables_go_on_by_whole_columns_and_to_one_recipient(evidence):
    draft = evidence.draft()
    words = draft.to_dict()
    words["columns"] = {**words["columns"], "disease": {"role": "free"}}
    words["protect"] = {"search": "top-down", "suppress": 0}
    words["promises"] = [K_OF_5, {"freeform": {"threat": "1/2", "observability": 1}}]
    freeform = sf.Policy.from_dict(words)
    whole = intended(freeform, again(since="quarter"))
    assert whole.chain is None and "freeform cannot be promised of groups yet" in whole.note
    assert [promise.name for promise in whole.promises.cross_release] == ["continuous"]
    with pytest.raises(UsageError, match="chain of groups alone, and freeform cannot be promised"):
        intended(freeform, again(since="quarter", recipients=2))
    events = Intent(RowMeaning.EVENT, Audience.INSIDE, Frequency.AGAIN, person="patient_id")
    with pytest.raises(UsageError, match="the table cannot come again: freeform"):
        intended(freeform, events)


@pytest.mark.parametrize("beside", [(), ({"l-diversity": {"of": "disease", "l": 3}},)])
def test_a_promise_that_compares_with_the_table_is_left_out_of_a_chain(evidence, beside):
    closeness = {"t-closeness": {"of": "disease", "t": "1/2", "distance": "equal"}}
    relative = with_promises(evidence.draft(), K_OF_5, closeness, *beside)
    policy = intended(relative, again(since="quarter"))
    assert [promise.name for promise in policy.promises] == ["k-anonymity", "l-diversity"]
    assert policy.promises.members[1].parameters()["l"] == (3 if beside else 2)
    assert "t-closeness of disease is left out" in policy.note
    with_reference = {**closeness["t-closeness"], "reference": {"flu": 2, "gout": 1, "burn": 1}}
    kept = with_promises(evidence.draft(), K_OF_5, {"t-closeness": with_reference})
    assert "t-closeness" in [p.name for p in intended(kept, again(since="quarter")).promises]


@pytest.mark.parametrize(
    ("rows", "columns", "by"),
    [
        (RowMeaning.PERSON, ["dob"], None),
        (RowMeaning.PERSON, ["dob", "seen", "left"], "seen"),
        (RowMeaning.PERSON, ["dob", "noted"], "noted"),
        (RowMeaning.EVENT, ["noted", "left"], "left"),
        (RowMeaning.EVENT, ["noted"], None),
    ],
)
def test_dates_order_the_rows_of_a_person(rows, columns, by):
    forms = {name: "dd.mm.yyyy" if name == "noted" else "yyyy-mm-dd" for name in columns}
    quasi = {
        name: {"role": "quasi", "taxonomy": {"date": ["year"], "written": form}}
        for name, form in forms.items()
    }
    draft = sf.Policy.from_dict({"columns": {"who": {"role": "identifier"}, **quasi}, "promises": [K_OF_5]})
    policy = intended(draft, Intent(rows, Audience.INSIDE, Frequency.AGAIN, person="who"))
    assert policy.chain is not None and policy.people.by == by
    assert ("hand in cumulative tables" in policy.note) == (by is None)
    assert ("name it instead: left" in policy.note) == (columns[-2:] == ["seen", "left"])
