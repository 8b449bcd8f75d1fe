"""The second judge of chains that people leave, against the enumeration of worlds."""

import os
from dataclasses import replace

import pytest

from oracles.living_chains import imprints, one_class, random_case
from sfumato.core.errors import BadData
from sfumato.core.marks import label_marks
from sfumato.judge.chain.ruling import judge_departures

CASES = int(os.environ.get("SFUMATO_LIVING_CASES", "20"))
"""Random chains of each kind."""


def documents(case, known, **more):
    return [imprint.as_dict() for imprint in imprints(case, known, **more)]


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
@pytest.mark.parametrize("count", [2, 3])
def test_the_judge_says_what_the_worlds_say(known, count):
    for seed in range(CASES):
        unknown = known == "unknown"
        case = random_case(
            seed, count=count, rows=8 - count, returns=unknown and seed % 2 == 0, moves=(0,) * (seed % 3 == 0)
        )
        exact = case.exact(known)
        for k in (2, 3):
            ruling = judge_departures(documents(case, known), k, known)
            assert ruling.holds is not None
            assert ruling.holds == (min(exact.values()) >= k)
            if ruling.certain:
                assert ruling.least == min(exact.values())


def test_one_who_is_erased_stands_alone():
    case = one_class({0: 5, 1: 3}, {0: 5, 1: 2}, stay=[(0, (0, 1), 5), (1, (0, 1), 2), (1, (0,), 1)])
    assert judge_departures(documents(case, "counted"), 5, "counted").least == 1
    assert judge_departures(documents(case, "unknown"), 5, "unknown").holds


def test_one_corrected_value_stands_alone():
    case = one_class({0: 4, 1: 1}, {0: 5}, stay=[(0, (0, 1), 4), (0, (1,), 1), (1, (0,), 1)])
    for known in ("counted", "total"):
        assert judge_departures(documents(case, known, corrected=True), 5, known).least == 1


def test_a_chain_that_nobody_could_leave_goes_on_as_one_that_is_counted():
    case = one_class(
        {0: 4, 1: 4}, {0: 3, 1: 5}, stay=[(0, (0, 1), 3), (0, (0,), 1), (1, (0, 1), 4), (1, (1,), 1)]
    )
    first, second = imprints(case, "counted")
    plain = replace(first, departures=None)
    ruling = judge_departures([plain.as_dict(), second.as_dict()], 2, "counted")
    assert ruling == judge_departures(documents(case, "counted"), 2, "counted")


def told_by_key(case, known, *, erased=()):
    """The imprints of a case whose people are told by their keys; some were erased afterwards."""
    found = []
    for j, one in enumerate(imprints(case, known)):
        there = [f"p{i}" for i, person in enumerate(case.people) if j in person[-1]]
        marks = label_marks([name for name in there if name not in erased])
        gone = len(there) - len(marks)
        found.append(replace(one, since="who", people=True, batches=marks, erased=gone))
    return found


@pytest.mark.parametrize("known", ["counted", "total"])
def test_numbers_of_people_that_their_marks_do_not_bear_out_are_refused(known):
    """Fewer shared people than there are make departures look plentiful, and everybody safe."""
    case = one_class({0: 5, 1: 3}, {0: 5, 1: 2}, stay=[(0, (0, 1), 5), (1, (0, 1), 2), (1, (0,), 1)])
    first, second = told_by_key(case, known)
    assert judge_departures([first.as_dict(), second.as_dict()], 5, known).holds is False
    fewer = replace(second.departures, shared=(second.departures.shared[0] - 6,))
    doctored = [first.as_dict(), replace(second, departures=fewer).as_dict()]
    with pytest.raises(BadData, match="are said to share 1 people, and their marks say otherwise"):
        judge_departures(doctored, 5, known)
    later = told_by_key(case, known, erased=("p0",))
    assert judge_departures([one.as_dict() for one in later], 5, known).least == 1


def test_other_knowledge_and_wrong_numbers_are_refused():
    case = one_class({0: 5, 1: 3}, {0: 5, 1: 2}, stay=[(0, (0, 1), 5), (1, (0, 1), 2), (1, (0,), 1)])
    with pytest.raises(BadData, match="something else of departures"):
        judge_departures(documents(case, "counted"), 5, "unknown")
    first, second = imprints(case, "counted")
    more = replace(second.departures, shared=(second.departures.shared[0] + 1,))
    with pytest.raises(BadData, match="more people are said"):
        judge_departures([first.as_dict(), replace(second, departures=more).as_dict()], 5, "counted")
    none = replace(second.departures, shared=())
    with pytest.raises(BadData, match="does not say how many people"):
        judge_departures([first.as_dict(), replace(second, departures=none).as_dict()], 5, "counted")
