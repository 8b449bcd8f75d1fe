"""What a trace by patterns says, and what it does not say."""

import json
from fractions import Fraction
from itertools import product

import pytest

from papers.schrittwieser_2011_tracing import SETS, table_v
from recipients.toy_ledger import ToyLedger, at_levels, found, shown, table_of
from sfumato.recipients.traced_versions import UNNAMED
from sfumato.system.errors import BadData, BadInput, UsageError
from sfumato.table.taxonomy import Taxonomy

FLAT = Taxonomy.flat(["u", "v"])
GRID = table_of({"a": FLAT, "b": FLAT, "c": FLAT}, [("u", "v", "u"), ("v", "v", "u"), ("u", "u", "v")])
TALL = Taxonomy.grow(["*", "x", "y", "x1", "x2", "y1", "y2"], [-1, 0, 0, 1, 1, 2, 2])
NAMES = ("a", "b", "c", "d")
CUBE = table_of(dict.fromkeys(NAMES, TALL), list(product(("x1", "x2", "y1", "y2"), repeat=4)))
POOL = [levels for levels in product(range(3), repeat=4) if sum(levels) == 4]
"""Nineteen patterns, none of which can be made from another."""


def grid(*patterns, **options):
    """Recipients P0, P1, …; in each column the value itself (0) or nothing (1). All have the same tree."""
    ledger = ToyLedger()
    for i, levels in enumerate(patterns):
        ledger.give(f"P{i}", GRID, at_levels(GRID, levels), **options)
    return ledger


def version(levels, table=GRID):
    return shown(table, at_levels(table, levels))


def drawn(*patterns, pool=POOL):
    """Recipients P0, P1, … whose versions were drawn from a pool."""
    ledger = ToyLedger()
    for i, levels in enumerate(patterns):
        ledger.give(f"P{i}", CUBE, at_levels(CUBE, levels), event="e", pool=pool)
    return ledger


def test_whoever_holds_what_leaked_is_charged_where_enough_patterns_could_have_been_drawn():
    ledger = drawn(POOL[3], POOL[8])
    told = ledger.trace(version(POOL[3], CUBE), error=Fraction(1, 9))
    assert (told.charged, told.undecided) == (("P0",), ("P1",))
    assert told.suspects[0].tail == Fraction(1, len(POOL) - 1) and told.groups == len(POOL)
    assert str(told).startswith("traced to P0: an innocent is charged in at most 1 of 9 traces")


def test_nobody_is_charged_at_a_smaller_error_than_patterns_allow_and_it_says_which_one_would():
    told = drawn(POOL[3], POOL[8]).trace(version(POOL[3], CUBE))
    assert told.charged == () and told.suspects[0].recipient == "P0"
    assert f"unless an error of 1/{(len(POOL) - 1) // 2} is allowed" in str(told)


def test_whoever_rebuilds_a_version_from_a_public_list_frames_its_holder_no_more_often_than_stated():
    """A leaker shows any pattern they like: which one an innocent holds is only known to the coins."""
    rest = [levels for levels in POOL if levels != POOL[0]]
    for error in (Fraction(1, 9), Fraction(1, 3)):
        for forged in (POOL[5], (1, 0, 1, 1)):
            charged = [
                "P1" in drawn(POOL[0], mine).trace(version(forged, CUBE), error=error).charged
                for mine in rest
            ]
            assert Fraction(sum(charged), len(rest)) <= error / 2


def test_versions_that_were_not_drawn_charge_nobody():
    told = grid((0, 1, 1), (1, 0, 1)).trace(version((0, 1, 1)), error=Fraction(1, 2))
    assert told.charged == () and told.alone == ("P0",)
    assert "not drawn by coins, so nobody can be charged" in str(told)


def test_recipients_with_the_same_version_cannot_be_told_apart():
    result = grid((0, 1, 1), (0, 1, 1)).trace(version((0, 1, 1)))
    assert found(result) == {frozenset({"P0"}), frozenset({"P1"})}
    assert result.charged == ()


def test_who_received_an_unknown_pattern_may_have_written_anything():
    ledger = grid((0, 1, 1)).give("old", GRID, at_levels(GRID, (1, 1, 1)))
    ledger.records[-1] = ledger.records[-1].__class__(**{**vars(ledger.records[-1]), "cuts": None})
    assert found(ledger.trace(version((0, 1, 1)))) == {frozenset({"P0"}), frozenset({"old"})}


def test_trees_are_kept_once_and_serve_all():
    ledger = grid((0, 1, 1)).give("old", GRID, at_levels(GRID, (1, 0, 1)), trees=False)
    assert ledger.trace(version((1, 0, 1))).alone == ("old",)


def test_columns_may_have_the_same_tree_and_it_is_kept_once():
    ledger = grid((0, 1, 1), (1, 0, 1))
    documents = [record.trees["columns"] for record in ledger.records]
    assert {words["taxonomy"] for words in documents[0]} == {FLAT.digest}
    for record in ledger.records:
        for words in record.trees["columns"][1:]:
            del words["parent"], words["marks"], words["level"]
    assert ledger.trace(version((1, 0, 1))).alone == ("P1",)


def test_a_release_to_nobody_is_anybodys():
    result = grid((0, 1, 1)).give(None, GRID, at_levels(GRID, (0, 0, 1))).trace(version((0, 1, 1)))
    assert found(result) == {frozenset({"P0"}), frozenset({UNNAMED})}


def test_a_chain_can_be_looked_at_alone():
    ledger = grid((0, 1, 1)).give("elsewhere", GRID, at_levels(GRID, (0, 0, 0)), chain="other")
    assert ledger.trace(version((0, 1, 1)), chain="main").alone == ("P0",)
    with pytest.raises(UsageError, match="no such chain"):
        ledger.trace(version((0, 1, 1)), chain="never")


def test_a_document_holds_everything_and_no_value():
    row = {"gender": "p", "birthdate": "03.1970", "zip": "1015"}
    result = table_v().trace([row, {**row, "zip": "secret"}])
    document = json.loads(json.dumps(result.as_dict()))
    assert document["sources"] == {"gender": list(SETS), "birthdate": ["police"], "zip": ["fireguard"]}
    assert document["rows"] == {"all": 2, "ours": 1, "unreadable": 1}
    assert document["charged"] == [] and set(document["undecided"]) == set(SETS)
    told = json.dumps(document) + str(result) + repr(result) + result._repr_html_()
    assert not [value for value in ("secret", "03.1970", "1015") if value in told]
    assert result.values() == ["zip: 'secret'"]


def test_the_chart_shows_how_well_everybody_fits():
    (chart,) = drawn(POOL[3], POOL[8]).trace(version(POOL[3], CUBE)).charts()
    assert [name for name, _ in chart.points] == ["P0", "P1"] and chart.points[0][1] > 0.9
    assert grid((0, 1, 1)).trace(version((0, 1, 1))).charts() == ()


def test_a_table_of_others_is_not_ours():
    told = grid((0, 1, 1), event="e").trace([{"a": "u", "b": "u", "c": "v"}])
    assert not told.ours and str(told).startswith("not ours")


@pytest.mark.parametrize(
    ("leak", "error", "words"),
    [
        ([], BadData, "no rows|no column"),
        ({"colour": "red"}, BadData, "no column that can be read"),
        ({"gender": "x", "zip": "9"}, BadData, "no column that can be read"),
        (
            [{"gender": "m", "zip": "9"}, {"gender": "x", "zip": "1015"}],
            BadData,
            "no row of the leak can be read",
        ),
    ],
)
def test_what_cannot_be_read_is_told_without_values(leak, error, words):
    with pytest.raises(error, match=words) as raised:
        table_v().trace(leak)
    assert "red" not in str(raised.value)


def test_a_ledger_without_patterns():
    with pytest.raises(BadInput, match="holds no patterns: it is empty"):
        ToyLedger().trace({"gender": "p"})
    with pytest.raises(BadInput, match="none of its 3 releases"):
        table_v(trees=False).trace({"gender": "p"})


def test_columns_that_are_not_there():
    with pytest.raises(UsageError, match="no column 'sex'"):
        table_v().trace({"gender": "p"}, columns={"sex": "gender"})


def test_everybody_is_named():
    assert {s.recipient for s in table_v().trace({"gender": "p"}).suspects} == set(SETS)
