"""The second judge on two files of a chain: what was published stays, but for what was withheld."""

from __future__ import annotations

import csv

import pytest

from sfumato.verify.groups import GROWTH, check_growth

EARLIER = [("north", "flu", "no"), ("north", "flu", "no"), ("*", "", "no")]
ADDED = [("south", "TB", "no"), ("*", "", "yes")]


@pytest.fixture
def judged(tmp_path):
    def judge(whole, earlier, added):
        paths = []
        for name, rows in (("whole", whole), ("earlier", earlier), ("added", added)):
            paths.append(None if rows is None else tmp_path / f"{name}.csv")
            if rows is not None:
                with paths[-1].open("w", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows([("town", "illness", "bare_row"), *rows])
        return check_growth(*paths)

    return judge


def test_a_file_is_what_was_there_and_what_was_added(judged):
    verdict = judged(ADDED + EARLIER[::-1], EARLIER, ADDED)
    assert (verdict.promise, verdict.holds, verdict.measured) == (GROWTH, True, 0)
    assert judged(EARLIER, EARLIER, None).holds
    assert judged(ADDED, None, ADDED).holds


@pytest.mark.parametrize("gone", range(5))
def test_a_row_that_is_missing_is_counted(judged, gone):
    rows = EARLIER + ADDED
    verdict = judged(rows[:gone] + rows[gone + 1 :], EARLIER, ADDED)
    assert (verdict.holds, verdict.measured, verdict.reason) == (False, 1, "1 rows differ")


@pytest.mark.parametrize("row", [("north", "flu", "no"), ("north", "cold", "no"), ("*", "", "")])
def test_a_row_too_many_is_counted(judged, row):
    assert judged([*EARLIER, *ADDED, row], EARLIER, ADDED).measured == 1


def test_a_row_that_changed_counts_twice(judged):
    assert judged([("north", "flu", "yes"), *EARLIER[1:], *ADDED], EARLIER, ADDED).measured == 2
