"""The second judge on two files of a chain: what was published stays, but for what was withheld."""

from __future__ import annotations

import csv

import pytest

from sfumato.verify.groups import GROWTH, VERSION, check_growth, check_version

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


BASE = [("0", "0", "a", "flu"), ("1", "0", "a", "cold"), ("2", "1", "b", "flu"), ("3", "1", "b", "TB")]
TREE = {"tree": {"north": ["a", "b"], "south": ["c"]}}
RULES = {
    "columns": {"town": {"role": "quasi", "taxonomy": TREE}, "illness": {"role": "sensitive"}},
    "promises": [],
    "confirm": {"illness": True},
}


@pytest.fixture
def compared(tmp_path):
    def compare(rows):
        for name, content in (("version", rows), ("base", BASE)):
            header = ("number_of_person", "number_of_class", "town", "illness")
            with (tmp_path / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([header, *content])
        return check_version(tmp_path / "version.csv", tmp_path / "base.csv", [RULES])

    return compare


def raised(towns, rows=BASE):
    return [(who, group, town, illness) for (who, group, _, illness), town in zip(rows, towns, strict=True)]


@pytest.mark.parametrize("towns", ["a a b b", "north north b b", "a a * *", "north north * *"])
def test_a_version_shows_the_base_or_less(compared, towns):
    verdict = compared(raised(towns.split()))
    assert (verdict.promise, verdict.holds, verdict.measured) == (VERSION, True, 0)


@pytest.mark.parametrize(
    ("towns", "reason"),
    [
        ("south south b b", "1 texts say more or something else"),
        ("b b b b", "1 texts say more or something else"),
        ("a north b b", "1 boxes too many"),
        ("* a north b", "2 boxes too many"),
    ],
)
def test_a_version_that_shows_something_else_is_not_one(compared, towns, reason):
    verdict = compared(raised(towns.split()))
    assert (verdict.holds, verdict.reason) == (False, reason)


def test_a_version_has_everybody_with_their_values(compared):
    assert compared(BASE[1:]).reason == "1 rows differ"
    swapped = [(*BASE[0][:3], "TB"), *BASE[1:3], (*BASE[3][:3], "flu")]
    assert compared(swapped).reason == "4 rows differ"
    other_class = [("0", "1", "b", "flu"), *BASE[1:]]
    assert not compared(other_class).holds
