"""Who is in a release of a chain: columns may be named later, and no value leaves anybody out.

Whoever comes later would tell the value for which somebody was left out.
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.system.errors import BadPolicy, RefusedByHistory
from workflows.groups_chain import last_base, release, rows
from workflows.visitors import FIRST, RETURNED, SECOND, policy, table

__all__ = ["release"]


def plain(**words):
    """The policy of the visitors without any word about later releases."""
    given = policy()
    given["columns"] = {**given["columns"], "number": {"role": "identifier"}}
    return {name: word for name, word in given.items() if name not in ("chain", "person")} | words


def numbered(*parts, more=0):
    """The visitors, with a second number for each person."""
    frame = table(*parts)
    return frame.with_columns(number=pl.col("person").str.slice(1).cast(pl.Int64) + more)


def test_a_release_without_a_word_goes_on_by_a_column_that_is_named_then(release):
    first = release(numbered(FIRST), plain())
    assert first.record.is_of_groups
    with pytest.raises(RefusedByHistory, match="nothing tells who is in earlier releases") as refused:
        release(numbered(FIRST, SECOND), plain())
    assert "`person: COLUMN`" in refused.value.remedy
    assert "since: COLUMN" in refused.value.remedy
    second = release(numbered(FIRST, SECOND), plain(person="person"))
    assert not rows(first) - rows(second)
    assert second.record.figures["newcomers"] == len({row["person"] for row in SECOND})
    assert "bare rows" not in second.record.figures, "those who were published are known"
    third = release(numbered(FIRST, SECOND, RETURNED), plain(person={"column": "person", "by": "day"}))
    assert third.record.figures["newcomers"] == 0
    assert third.record.figures["bare rows"] + third.record.figures.get("rows not shown", 0) == len(RETURNED)


@pytest.mark.parametrize("options", [{}, {"dry_run": True}])
def test_whose_rows_they_are_is_asked_where_a_number_repeats(release, options):
    with pytest.raises(BadPolicy, match="nothing says whose rows these are: 40 different") as refused:
        release(numbered(FIRST, RETURNED), plain(), **options)
    assert "person: person" in refused.value.remedy
    assert "person: each-row" in refused.value.remedy
    stated = release(numbered(FIRST, RETURNED), plain(person="each-row"), **options)
    assert "48 people are new" in str(stated)
    assert release(numbered(FIRST, RETURNED), plain(chain={"since": "day"}), into="since", **options)


def test_rows_are_not_called_people_where_names_repeat(release):
    names = pl.Series("person", ["Anna Weber", "Ben Fischer"] * 20)
    said = str(release(table(FIRST).with_columns(names), policy(person=None)))
    assert "40 rows are new" in said
    assert "people" not in said


def test_people_may_be_told_apart_by_another_column_that_tells_the_same_people(release):
    release(numbered(FIRST), plain(person="person"))
    second = release(numbered(FIRST, SECOND), plain(person="number"))
    assert second.record.figures["newcomers"] == len({row["person"] for row in SECOND})
    assert last_base(release).person == "number"
    with pytest.raises(RefusedByHistory, match="tell people apart by number") as refused:
        release(numbered(FIRST), plain(chain={"since": "day"}))
    assert "person: number" in refused.value.remedy


def test_a_column_in_which_two_people_are_one_is_refused(release):
    release(numbered(FIRST).with_columns(number=pl.lit(7)), plain())
    with pytest.raises(RefusedByHistory, match="number does not tell the people of earlier releases apart"):
        release(numbered(FIRST), plain(person="number"))


def test_a_column_that_was_not_in_every_release_is_refused(release):
    without = plain(person="person")
    del without["columns"]["number"]
    release(table(FIRST), without)
    release(numbered(FIRST, SECOND), plain(person="person"))
    with pytest.raises(
        RefusedByHistory, match="what number was in earlier releases of this chain is not kno"
    ):
        release(numbered(FIRST), plain(person="number"))


def test_batches_may_be_named_later(release):
    words = plain()
    words["columns"] |= {"batch": {"role": "identifier"}}
    one = numbered(FIRST).with_columns(batch=pl.lit("one"))
    two = numbered(SECOND).with_columns(batch=pl.lit("two"))
    release(one, words)
    second = release(pl.concat([one, two]), {**words, "chain": {"since": "batch"}})
    assert second.record.figures["newcomers"] == len(SECOND)


def test_somebody_can_be_erased_before_any_word_about_later_releases(release):
    release(numbered(FIRST), plain())
    report = sf.erase(["p5"], column="person", ledger=release.url)
    assert report.people == 1
    second = release(numbered(FIRST, SECOND), plain(person="person"))
    assert second.record.figures["rows of erased people"] == 1


# -- rows that changed -----------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [None, "day"])
def test_a_row_that_changed_may_be_shown_again_bare(release, by):
    rule = {} if by is None else {"by": by}
    release(table(FIRST), policy(**rule))
    moved = [{**row, "town": FIRST[-1]["town"]} if row["person"] == "p1" else row for row in FIRST]
    kept = release(table(moved), policy(**rule))
    assert kept.record.figures["rows changed"] == 1
    assert "bare rows" not in kept.record.figures
    shown = release(table(moved), policy(**rule, changed="again"))
    assert shown.record.figures.get("bare rows", 0) + shown.record.figures.get("rows not shown", 0) == 1
    again = release(table(moved), policy(**rule, changed="again"))
    assert again.record.figures["rows"] == shown.record.figures["rows"]


def test_a_table_of_new_visits_alone_is_not_taken_for_changes(release):
    release(table(FIRST), policy())
    second = release(table(RETURNED, SECOND), policy())
    assert "rows changed" not in second.record.figures
    assert second.record.figures["bare rows"] + second.record.figures.get("rows not shown", 0) == len(
        RETURNED
    )


# -- what looks wrong ------------------------------------------------------------------------------------


def warned(release, data, words):
    found = {}
    receipt = release(data, words, warn=lambda diagnosis: found.update({diagnosis.name: diagnosis}))
    return receipt, found


def told_apart(rows):
    """Visitors of whom no two share age, town and street."""
    return [{**row, "street": f"{index} {row['town']}"} for index, row in enumerate(rows)]


STREETS = policy(columns={"street": {"role": "quasi", "taxonomy": {"prefix": [1]}}}.items())


def test_other_ids_for_the_same_people_are_refused(release):
    release(table(told_apart(FIRST)), STREETS)
    renumbered = [{**row, "person": f"x{row['person']}"} for row in told_apart(FIRST)]
    with pytest.raises(RefusedByHistory, match="seem to have got other ids, and would be published twice"):
        release(table(renumbered), STREETS)


def test_people_with_two_ids_and_ids_of_two_people_are_said(release):
    people = told_apart(FIRST)
    twice = [{**people[0], "person": "somebody else"}]
    _, found = warned(release, table(people, twice), STREETS)
    assert found["two-ids"].count == 2
    assert "one-id" not in found
    stranger = {**people[9], "person": "p1", "age": (people[1]["age"] + 40) % 80}
    _, found = warned(release, table(people, twice, [stranger]), STREETS)
    assert found["one-id"].count == 1
    assert "p1" not in str(found["one-id"])


@pytest.mark.parametrize("name", ["town", "illness"])
def test_a_code_that_was_renamed_is_said(release, name):
    release(table(FIRST), policy())
    _, found = warned(release, table(FIRST, SECOND), policy())
    assert not found
    old = FIRST[0][name]
    other = [{**row, name: "renamed" if row[name] == old else row[name]} for row in FIRST + SECOND]
    words = policy(columns={"town": {"role": "quasi", "taxonomy": {"flat": True}}}.items())
    _, found = warned(release, table(other), words)
    assert found["renamed"].where == f"column {name}"
    assert old not in str(found["renamed"])


# -- nobody is left out because of a value ----------------------------------------------------------------

LEFT_OUT = {
    "columns": {
        "id": {"role": "identifier"},
        "town": {"role": "quasi"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 40], "from": 20, "to": 60}},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"of": "disease", "l": 2}}],
    "person": "id",
    "chain": {},
}


def people(*, alike):
    """With `alike`, everybody in the north has flu: a search that looks at values would leave it out."""
    cells = {"id": [], "town": [], "age": [], "disease": []}
    for number in range(60):
        north = number % 20 == 0
        cells["id"].append(f"P{number:02}")
        cells["town"].append("north" if north else "south")
        cells["age"].append(str(20 + number % 40))
        cells["disease"].append("flu" if north and alike else ("flu", "cold", "asthma")[number // 20])
    return cells


@pytest.mark.parametrize("search", ["lattice", "top-down", "local", "best"])
@pytest.mark.parametrize("suppress", ["20%", "4%"])
def test_informed_groups_leave_out_whom_quasi_identifiers_name(search, suppress, tmp_path):
    words = {
        **LEFT_OUT,
        "protect": {"search": search, "grouping": "informed", "suppress": suppress, "price": 1},
    }
    policy = sf.Policy.from_dict(words)
    rows = set()
    for alike in (True, False):
        ledger, into = f"sqlite:///{tmp_path}/{alike}.db", tmp_path / str(alike)
        receipt = sf.release(pa.table(people(alike=alike)), policy, ledger=ledger, into=into)
        rows.add((receipt.record.figures["rows"], receipt.record.figures["suppressed"]))
    assert len(rows) == 1
    assert suppress == "20%" or rows == {(60, 0)}
