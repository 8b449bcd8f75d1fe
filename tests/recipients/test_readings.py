"""A leak whose columns may be others than they are called charges nobody whom another reading clears."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import leak_explanations
from recipients.test_coalition import as_nodes, issued, worlds
from recipients.toy_ledger import ToyLedger, at_levels, found, shown, table_of
from sfumato.system.errors import BadData
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

ZIP = Taxonomy.grow(["*", "1*", "2*", "11", "12", "21", "22"], [-1, 0, 0, 1, 1, 2, 2])
JOB = Taxonomy.flat(["nurse", "mason"])
ROWS = [
    ("11", "21", "nurse"),
    ("11", "22", "mason"),
    ("12", "11", "mason"),
    ("21", "21", "nurse"),
    ("22", "12", "nurse"),
]
HOUSE = table_of({"home": ZIP, "work": ZIP, "job": JOB}, ROWS)
FINE_HOME, FINE_WORK = (0, 2, 0), (2, 0, 0)
FULL = table_of(
    {"home": ZIP, "work": ZIP, "job": JOB},
    [(home, work, "nurse") for home in ZIP.leaf_labels for work in ZIP.leaf_labels],
)
"""Whatever is exchanged exists."""


def ledger(table=HOUSE, **options):
    """One knows where people live, the other where they work; the trees of both columns are the same."""
    given_to = ToyLedger(**options)
    for who, levels in (("at home", FINE_HOME), ("at work", FINE_WORK)):
        given_to.give(who, table, at_levels(table, levels), event="e")
    return given_to


def version(levels, table=HOUSE):
    return shown(table, at_levels(table, levels))


def exchanged(rows, a="home", b="work"):
    return [{**row, a: row[b], b: row[a]} for row in rows]


def test_two_columns_of_one_tree_exchanged_do_not_charge_the_other():
    leak = exchanged(version(FINE_HOME, FULL))
    as_called = ledger(FULL, named=True).trace(leak)
    assert as_called.certain == ("at work",), "what the names alone say is wrong"
    assert as_called.false_charge.probability == 0.001
    result = ledger(FULL).trace(leak)
    assert result.certain == ()
    assert result.false_charge is None
    assert result.cleared == ("at work",)
    assert found(result) == {frozenset({"at home"}), frozenset({"at work"})}
    assert result.rows["ours"] == as_called.rows["ours"] == 16


def test_where_content_excludes_the_exchange_the_leaker_is_still_charged():
    """No mason works at 11: some rows are whose they seem to be in any reading."""
    result = ledger().trace(version(FINE_HOME))
    assert result.certain == ("at home",)
    assert result.cleared == ()
    assert [(one.columns, one.rows) for one in result.readings] == [((("home", "work"),), 2)]


def test_it_is_said_how_else_the_leak_can_be_read_and_what_that_means():
    result = ledger(FULL).trace(exchanged(version(FINE_HOME, FULL)))
    said = " ".join(str(result).split())
    assert "home as work, work as home" in said or "work as home" in said
    assert "If every column is what it is called, it is at work" in said
    document = json.loads(json.dumps(result.as_dict()))
    assert document["cleared"] == ["at work"]
    assert document["readings"][0]["columns"] == {"work": "home"}
    charged = ledger().trace(version(FINE_HOME))
    assumed = charged.as_dict()["false_charge"]["assumptions"]
    assert any("whatever its name (1 other reading taken into account)" in words for words in assumed)
    assert "whatever its name" in " ".join(str(charged).split())


def test_exchanged_in_a_part_of_the_rows_only():
    rows = version(FINE_HOME)
    for size in range(len(rows) + 1):
        result = ledger().trace(exchanged(rows[:size]) + rows[size:])
        assert set(result.certain) <= {"at home"}, size


def test_a_column_of_one_tree_dropped_and_the_other_renamed():
    rows = [{"work": row["home"], "job": row["job"]} for row in version(FINE_HOME, FULL)]
    assert ledger(FULL, named=True).trace(rows).certain == ("at work",)
    assert ledger(FULL).trace(rows).certain == ()


def test_a_column_of_another_chain_under_the_name_it_has_here():
    other = table_of({"zip": ZIP, "job": JOB}, [(row[0], row[2]) for row in ROWS])
    house = ledger().give("elsewhere", other, at_levels(other, (0, 0)), chain="other")
    rows = [{"work": row["zip"], "job": row["job"]} for row in shown(other, at_levels(other, (0, 0)))]
    result = house.trace(rows)
    assert result.certain == ()
    assert "elsewhere" in {s.recipient for s in result.suspects}
    assert next(s for s in result.suspects if s.recipient == "elsewhere").release == "other 1"


def test_who_says_which_column_is_which_is_not_doubted():
    leak = exchanged(version(FINE_HOME, FULL))
    said = ledger(FULL).trace(leak, columns={"home": "home", "work": "work"})
    assert said.certain == ("at work",)
    assert any("is what the caller said" in words for words in said.false_charge.assumptions)


def test_columns_that_can_be_exchanged_in_too_many_ways_count_against_nobody():
    many = {f"c{j}": ZIP for j in range(6)} | {"job": JOB}
    rows = [("11", "12", "21", "22", "11", "12", "nurse"), ("22", "21", "11", "12", "21", "11", "mason")]
    table = table_of(many, rows)
    house = ToyLedger()
    house.give("P0", table, at_levels(table, (0, 0, 0, 2, 2, 2, 0)), event="e")
    house.give("P1", table, at_levels(table, (2, 2, 2, 0, 0, 0, 0)), event="e")
    house.give("P2", table, at_levels(table, (2, 2, 2, 2, 2, 2, 1)), event="e")
    result = house.trace(shown(table, at_levels(table, (0, 0, 0, 0, 0, 2, 0))))
    assert result.certain == ()
    assert result.uncounted == ("c0", "c1", "c2", "c3", "c4")
    assert found(result) == {frozenset({"P0"}), frozenset({"P1"})}, "the job still counts"
    assert "c0, c1, c2, c3, c4" in str(result)


def plain(versions, table):
    return [
        (who, {n: c.nodes.tolist() for n, c in cuts.items()}, as_nodes(table, cuts)) for who, cuts in versions
    ]


@settings(max_examples=150, deadline=None)
@given(worlds(), st.integers(1, 3), st.booleans())
def test_explanations_are_those_of_every_reading(world, most, together):
    columns, table, versions, _, leak = world
    result = issued(table, versions, event="e" if together else "").trace(leak, max_coalition_size=most)
    options = {"together": together}
    told = plain(versions, table)
    expected = leak_explanations.explanations_in_any_reading(columns, told, leak, most, **options)
    assert found(result) == expected
    for coalition in leak_explanations.explanations_row_by_row(columns, told, leak, most, **options):
        assert any(less <= coalition for less in expected), "whoever can have made it explains it"


TRICKS = ("exchange", "some", "drop", "rename", "blank", "coarser", "order", "case", "copy")


@st.composite
def tampered(draw):
    """A leak that some recipients made of what they held, and then did whatever needs no guessing."""
    columns, table, versions, coalition, leak = draw(worlds())
    rows = [dict(row) for row in leak]
    names = list(columns)
    for _ in range(draw(st.integers(0, 4))):
        what = draw(st.sampled_from(TRICKS))
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        chosen = [row for row in rows if what != "some" or draw(st.booleans())]
        for row in chosen:
            if what in ("exchange", "some") and a in row and b in row:
                row[a], row[b] = row[b], row[a]
            elif what == "drop" and len(row) > 1:
                row.pop(a, None)
            elif what == "rename" and a in row and b not in row:
                row[b] = row.pop(a)
            elif what == "blank" and a in row and draw(st.booleans()):
                row[a] = draw(st.sampled_from([None, "*", "", "n/a"]))
            elif what == "case" and row.get(a):
                row[a] = f" {row[a].upper()} "
            elif what == "coarser" and row.get(a) and columns[a].labels.count(row[a]) == 1:
                row[a] = columns[a].labels[max(0, int(columns[a].parent[columns[a].labels.index(row[a])]))]
        if what == "order":
            rows = draw(st.permutations(rows))
        elif what == "copy":
            rows += [dict(row) for row in rows[:1]]
    return table, versions, coalition, rows


@settings(max_examples=300, deadline=None)
@given(tampered(), st.booleans(), st.sampled_from(["", "e"]))
def test_whatever_recipients_do_without_guessing_nobody_else_is_charged(world, content, event):
    table, versions, coalition, rows = world
    try:
        result = issued(table, versions, content=content, event=event).trace(rows, max_coalition_size=3)
    except BadData:
        return
    assert set(result.certain) <= coalition
