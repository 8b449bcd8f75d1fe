"""Ten thousand columns cost ten times as much as a thousand: no name is looked for among all the others."""

from __future__ import annotations

import pytest

from sfumato.attacks.published_labels import column_objections
from sfumato.discovery.quasi_identifiers.coded import Coded, Reading
from sfumato.discovery.quasi_identifiers.descent import descend
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.verify.file import check_columns
from sfumato.verify.file_bytes import length_query
from sfumato.verify.policy_data import JudgedPolicy
from sfumato.verify.tables import Relation


class Compared(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Compared.times += 1
        return str.__eq__(self, other)


COLUMNS = 2000
POLICY = Policy.from_dict(
    {
        "columns": {f"c{i}": {"role": "quasi" if i < 2 else "insensitive"} for i in range(COLUMNS)},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
)
CHECKS = {
    "policy": POLICY.check_columns,
    "attacks": lambda names: list(column_objections(names, POLICY)),
    "judge": lambda names: check_columns(names, JudgedPolicy.of(judge_data(POLICY)), where="x.csv"),
}


@pytest.mark.parametrize("check", CHECKS)
def test_names_are_looked_up(check):
    names = [Compared(f"c{i}") for i in range(COLUMNS)]
    Compared.times = 0
    CHECKS[check](names)
    assert Compared.times < 20 * COLUMNS


def test_steps_of_a_descent_share_their_names():
    table = Coded.of_columns({f"c{i}": [1, 1, 2] for i in range(50)})
    steps = descend(table, Reading.of(k=2, mode="any")).steps
    assert len({id(step.order) for step in steps}) == 1
    assert steps[0].remaining == tuple(f"c{i}" for i in range(49))


def test_what_the_judge_asks_of_a_file_grows_by_the_names_of_its_columns():
    """A database takes as long as a question is: the length of a cell is said once, not for every column."""
    few, many = (
        length_query(Relation("rows", tuple(map(str, range(n))), ("VARCHAR",) * n), ",")
        for n in (1000, COLUMNS)
    )
    assert len(many) - len(few) < 10 * (COLUMNS - 1000)
