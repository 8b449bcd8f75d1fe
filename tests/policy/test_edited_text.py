"""Edited policy files: what changed is there, what did not change is as it was."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.policy import Policy, column_comments, edited_text, policy_of_text

TEXT = """\
# who wrote this, and why

columns:
  "name": {role: identifier}   # never published
  age:   {role: quasi, taxonomy: {intervals: [5, 10], from: 0, to: 120}}  # in years
  # a line of its own
  zip:
    role: quasi
    taxonomy: {prefix: [3, 1]}  # inside
  sex: {role: insensitive}
  disease: {role: sensitive}
promises:
  - k-anonymity: {k: 5}      # the rule of the house
  - l-diversity: {of: disease, l: 2}
protect: {search: top-down, suppress: 5%}
confirm: {sex: it seems harmless}
"""
POLICY = policy_of_text(TEXT, name="policy.yaml")
COMMENTS = ("# who wrote this, and why", "# never published", "# in years", "# a line of its own", "# inside",
            "# the rule of the house")  # fmt: skip


def changed(**words):
    whole = deepcopy(POLICY.to_dict())
    whole.update(words)
    return Policy.from_dict(whole)


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        (POLICY, 0),
        (POLICY.with_(k=11), 1),
        (POLICY.confirm_all(), 1),
        (POLICY.with_(search="lattice"), 1),
        (POLICY.with_(suppress="2%"), 1),
        (changed(missing="suppress"), 1),
        (changed(person="name"), 1),
        (changed(promises=[{"k-anonymity": {"k": 5}}]), 1),
        (
            changed(promises=[*POLICY.to_dict()["promises"], {"t-closeness": {"of": "disease", "t": "1/5"}}]),
            1,
        ),
        (POLICY.with_(quasi="sex"), 2),
    ],
)
def test_as_few_lines_change_as_can(after, lines):
    text = edited_text(TEXT, POLICY, after)
    assert policy_of_text(text, name="x").digest == after.digest
    plain = edited_text(TEXT, POLICY, POLICY)
    different = set(text.splitlines()) ^ set(plain.splitlines())
    assert len(different) <= 2 * lines
    assert all(comment in text for comment in COMMENTS)


@given(
    roles=st.dictionaries(
        st.sampled_from(["name", "age", "zip", "sex"]),
        st.sampled_from(["identifier", "quasi", "insensitive"]),
    ),
    k=st.integers(2, 50),
    confirm=st.booleans(),
    steps=st.integers(1, 3),
)
def test_the_text_holds_the_policy_that_was_asked_for(roles, k, confirm, steps):
    text, now = TEXT, POLICY
    for _ in range(steps):
        by_role = {role: [n for n, r in roles.items() if r == role] for role in set(roles.values())}
        try:
            after = now.with_(k=k, **by_role)
        except Exception:  # no key column is left: nobody can ask for that
            return
        after = after.confirm_all() if confirm else after
        text = edited_text(text, now, after)
        now = policy_of_text(text, name="x")
        assert now.digest == after.digest and dict(now.confirm) == dict(after.confirm)
        k += 1


def test_a_text_that_cannot_be_edited_is_written_anew():
    odd = "# a policy\ncolumns: &c {1: {role: quasi}, b: &x {role: quasi}, d: *x}\n"
    odd += "promises: [{k-anonymity: {k: 2}}]\n"
    before = policy_of_text(odd, name="x")
    after = before.with_(k=4, insensitive="1")
    assert policy_of_text(edited_text(odd, before, after), name="x").digest == after.digest


def test_comments_behind_columns_are_their_reasons():
    assert column_comments(TEXT) == {"name": "never published", "age": "in years"}
    assert column_comments("a: [") == {} and column_comments("columns: 3") == {} and column_comments("") == {}
    draft = '# a policy\ncolumns:\n  "a # b": {role: quasi} # why # so\n'
    assert column_comments(draft) == {"a # b": "why # so"}
