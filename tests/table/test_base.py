"""The base of a chain: what its views show, and how it grows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.system.errors import BadLedger, RefusedByHistory
from sfumato.table.base import BARE_ROW, GROUP, HOME, KEYS, LOSS, PERSON, RELEASE, ROW, Base

POLICY, STRICTER = {"k": 2}, {"k": 3}


def hashes(numbers):
    return pa.array([bytes([number]) * 16 for number in numbers], pa.binary(16))


def rows(people, groups, towns, nights, *, release=1):
    count = len(people)
    return pa.table(
        {
            PERSON: hashes(people),
            ROW: hashes([100 + person for person in people]),
            KEYS: hashes(people),
            GROUP: pa.array(groups, pa.int64()),
            HOME: pa.array(groups, pa.int64()),
            RELEASE: pa.array(np.full(count, release, np.int32)),
            BARE_ROW: pa.array(np.zeros(count, bool)),
            LOSS: pa.array(np.full(count, 0.25)),
            "town": pa.array(towns, pa.large_string()),
            "nights": nights if isinstance(nights, pa.Array) else pa.array(nights),
        }
    )


@pytest.fixture
def base():
    """Two groups of two; then somebody of each returns, in a class of bare rows."""
    first = rows([1, 2, 3, 4], [0, 0, 1, 1], ["Ahus", "Ahus", "*", "*"], [1, 2, 3, 4])
    empty = Base(first.slice(0, 0), ("town", "nights"), ("town",), person="number")
    grown = empty.after_release(first, policy=POLICY, batches={}, leaving=())
    again = grown.after_release(first.slice(0, 0), policy=POLICY, batches={}, leaving=())
    words = {PERSON: hashes([1, 3]), ROW: hashes([201, 203]), KEYS: hashes([1, 3])}
    return again.with_bare_rows(words, np.array([2, 2]), {"town": ["north", "north"]})


def shown(base, **options):
    return base.view(base.shown(), **options).to_pylist()


def test_a_view_shows_published_columns_and_marks_bare_rows(base):
    table = base.view(base.shown())
    assert table.column_names == ["town", "nights", "bare_row"]
    assert table.to_pylist()[-1] == {"town": "north", "nights": None, "bare_row": "yes"}
    assert base.view(~base.is_bare).column_names == ["town", "nights"]
    assert base.view(~base.is_bare, marked=True)["bare_row"].to_pylist() == ["no"] * 4
    assert base.view(~base.is_bare, numbered=True)["number_of_group"].to_pylist() == ["0", "0", "1", "1"]


def test_what_is_counted(base):
    assert (base.releases, base.groups, base.made_by) == (2, 3, (0, 0))
    assert base.is_new.tolist() == [False] * 4 + [True] * 2
    assert base.sizes(base.shown()).tolist() == [2, 2]
    assert base.loss(base.shown()) == 0.25
    assert base.loss(base.is_bare) == 0
    assert base.homes_of(hashes([3, 1, 9])).tolist() == [1, 0, -1]
    assert base.people_by("number") is not None
    assert base.people_by("name") is None


def test_boxes_are_those_of_groups_with_values(base):
    boxes = base.boxes()
    assert boxes.classes.tolist() == [0, 1]
    assert list(boxes.texts["town"]) == ["Ahus", "*"]
    assert base.boxes(new=True).classes.tolist() == []


def test_a_group_that_is_withheld_takes_the_bare_rows_of_its_people_and_their_class_along(base):
    without = base.after_release(base.rows.slice(0, 0), policy=POLICY, batches={}, leaving=[0])
    assert shown(without) == [{"town": "*", "nights": 3}, {"town": "*", "nights": 4}]
    assert without.boxes().classes.tolist() == [1]


def test_a_bare_row_goes_with_the_group_whose_box_it_shows(base):
    placed = base.with_bare_rows(
        {PERSON: hashes([2]), ROW: hashes([202]), KEYS: hashes([2])}, np.array([1]), {"town": ["*"]}
    ).after_release(base.rows.slice(0, 0), policy=POLICY, batches={}, leaving=[1])
    assert shown(placed) == [{"town": "Ahus", "nights": 1}, {"town": "Ahus", "nights": 2}]


def test_a_class_of_bare_rows_goes_with_a_row_of_it_that_is_taken_out(base):
    words = {PERSON: hashes([2, 4]), ROW: hashes([202, 204]), KEYS: hashes([2, 4])}
    placed = base.with_bare_rows(words, np.array([1, 3]), {"town": ["*", "south"]})
    left, _ = placed.without(hashes([2]))  # whose bare row stood beside values of others
    assert left.withheld == (0,)
    gone, _ = placed.without(hashes([3]))
    assert gone.withheld == (1, 2)
    assert shown(gone) == [{"town": "Ahus", "nights": 1}, {"town": "Ahus", "nights": 2}]


def test_people_are_taken_out_with_all_their_rows(base):
    left, people = base.without(hashes([1, 77]))
    assert people.tolist() == [True, False]
    assert left.withheld == (0, 2)
    assert not {bytes([1]) * 16} & set(left.rows.column(PERSON).to_pylist())
    assert bytes([2]) * 16 in left.rows.column(PERSON).to_pylist(), "whoever shared a group is known for good"
    same, nobody = base.without(hashes([88]))
    assert (nobody.any(), same.withheld, len(same.rows), same.erased) == (False, (), 6, {})


def test_whoever_is_erased_is_known_by_a_keyed_hash_unless_it_is_to_be_forgotten(base):
    left, _ = base.without(hashes([1]))
    assert left.were_erased("number", hashes([2, 1, 1])).tolist() == [False, True, True]
    assert not left.were_erased("name", hashes([1])).any()
    assert bytes([1] * 16).hex() not in str(left.erased)
    more, _ = left.without(hashes([3]))
    assert more.were_erased("number", hashes([1, 2, 3])).tolist() == [True, False, True]
    forgotten, _ = base.without(hashes([1]), forget=True)
    assert not forgotten.erased
    assert Base.from_bytes(more.to_bytes()).erased == {"number": list(more.erased["number"])}


def test_policies_are_told_apart_by_what_the_judge_reads(base):
    new = rows([5, 6, 7], [3, 3, 3], ["Bro"] * 3, [5, 6, 7], release=3)
    grown = base.after_release(new, policy=STRICTER, batches={"b": 3}, leaving=())
    grown = grown.after_release(new.slice(0, 0), policy=POLICY, batches={}, leaving=())
    assert grown.policies == (POLICY, STRICTER)
    assert grown.made_by == (0, 0, 1, 0)
    assert np.flatnonzero(grown.made_under(1)).tolist() == [6, 7, 8]
    assert np.flatnonzero(grown.made_under(0)).tolist() == [0, 1, 2, 3]
    assert grown.batches == {"b": 3}


@pytest.mark.parametrize(
    "nights", [pa.array([5.0, None]), pa.array([5, 6], pa.int8()), pa.array([None, None]), pa.array([5, 6])]
)
def test_values_take_the_type_that_was_published(base, nights):
    new = rows([5, 6], [3, 3], ["Bro", "Bro"], nights, release=3)
    grown = base.after_release(new, policy=POLICY, batches={}, leaving=())
    assert grown.rows.schema.field("nights").type == pa.int64()


@pytest.mark.parametrize("nights", [pa.array([5.5, 6.0]), pa.array(["5", "6"]), pa.array([True, False])])
def test_values_that_would_change_are_refused(base, nights):
    new = rows([5, 6], [3, 3], ["Bro", "Bro"], nights, release=3)
    with pytest.raises(RefusedByHistory, match="column nights was published as int64"):
        base.after_release(new, policy=POLICY, batches={}, leaving=())


def test_a_base_becomes_bytes_and_comes_back(base):
    again = Base.from_bytes(base.to_bytes())
    assert again.rows.equals(base.rows)
    for name in ("published", "keys", "releases", "groups", "withheld", "batches", "policies", "made_by"):
        assert getattr(again, name) == getattr(base, name)


def test_other_bytes_are_no_base(base):
    with pytest.raises(BadLedger, match="this is no base"):
        Base.from_bytes(b"PAR1 and no more")
    import io

    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(base.rows.replace_schema_metadata({b"sfumato base": b"99", b"notes": b"{}"}), out)
    with pytest.raises(BadLedger, match="another version"):
        Base.from_bytes(out.getvalue())
