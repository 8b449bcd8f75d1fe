"""Marks of people in imprints, as the second judge reads them: who was withheld stays out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.living_chains import imprints, random_case
from sfumato.core.arrays import packed
from sfumato.core.errors import BadData, RefusedByHistory
from sfumato.core.marks import label_marks
from sfumato.judge.chain.people_marks import check_people
from sfumato.judge.chain.ruling import judge_departures


def documents(case, known):
    """What is remembered of the releases of a case, with a mark of everybody who is in each."""
    found = []
    for j, imprint in enumerate(imprints(case, known)):
        marks = label_marks([f"p{n}" for n, p in enumerate(case.people) if j in p[-1]])
        found.append(replace(imprint, batches=marks).as_dict())
    return found


def is_back(presences):
    """Whether somebody is in a release after one that they were missing from, once they had come."""
    return any(set(range(min(p), max(p) + 1)) != set(p) for p in presences)


@given(presences=st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=8))
def test_whoever_is_back_is_found(presences):
    words = []
    for j in range(4):
        some = [f"p{n}" for n, p in enumerate(presences) if j in p]
        marks = label_marks(some) if some else np.zeros((0, 2), np.uint64)
        words.append({"rows": len(some), "batches": packed(marks)})
    if is_back(presences):
        with pytest.raises(RefusedByHistory, match="withheld from an earlier one, or had left"):
            check_people(words, {}, returns=False)
    else:
        check_people(words, {}, returns=False)
    check_people(words, {}, returns=True)


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
def test_numbers_of_shared_people_agree_with_marks(known):
    for seed in range(20):
        case = random_case(seed, count=3, rows=6)
        by_key = judge_departures(documents(case, known), 2, known, by_key=True)
        assert by_key == judge_departures(documents(case, known), 2, known)


@pytest.mark.parametrize("known", ["counted", "total"])
def test_a_number_that_marks_contradict_is_refused(known):
    wrong = 0
    for seed in range(12):
        case = random_case(seed, count=2, rows=8)
        words = documents(case, known)
        both = [p for p in case.people if p[-1] == {0, 1}]
        if not both:
            continue
        less = [p for p in case.people if p is not both[0]] + [(*both[0][:-1], frozenset({0}))]
        less += [(*both[0][:-1], frozenset({1}))]
        other = documents(replace(case, people=less), known)
        words[1]["departures"] = other[1]["departures"]
        with pytest.raises(BadData, match="release 2 says other numbers of people than its marks"):
            judge_departures(words, 2, known, by_key=True)
        wrong += 1
    assert wrong


def test_marks_of_erased_people_may_be_gone():
    case = random_case(3, count=2, rows=8)
    stays = next(n for n, p in enumerate(case.people) if p[-1] == {0, 1})
    words = documents(case, "total")
    for j, document in enumerate(words):
        some = [f"p{n}" for n, p in enumerate(case.people) if j in p[-1] and n != stays]
        document["batches"] = packed(label_marks(some))
    assert judge_departures(words, 2, "total", by_key=True)
    words[0]["batches"] = packed(label_marks([f"q{n}" for n in range(40)]))
    with pytest.raises(BadData, match="release 1 says other numbers"):
        judge_departures(words, 2, "total", by_key=True)
