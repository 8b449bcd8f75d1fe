"""What a trace says, and what it does not say."""

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.schrittwieser_2011_tracing import SETS, TABLE_V, table_v
from recipients.toy_ledger import ToyLedger, at_levels, found, shown, table_of
from sfumato.recipients import collusion as coalition
from sfumato.recipients.collusion import SmallestCoalition
from sfumato.recipients.traced_versions import UNNAMED
from sfumato.system.errors import BadData, BadInput, UsageError
from sfumato.table.taxonomy import Taxonomy

FLAT = Taxonomy.flat(["u", "v"])
GRID = table_of({"a": FLAT, "b": FLAT, "c": FLAT}, [("u", "v", "u"), ("v", "v", "u"), ("u", "u", "v")])


def grid(*patterns, **options):
    """Recipients P0, P1, …; in each column the value itself (0) or nothing (1). All have the same tree."""
    ledger = ToyLedger(named=True)
    for i, levels in enumerate(patterns):
        ledger.give(f"P{i}", GRID, at_levels(GRID, levels), **options)
    return ledger


def version(levels):
    return shown(GRID, at_levels(GRID, levels))


def test_a_pair_that_builds_a_thirds_version_does_not_make_the_third_certain():
    """P1 and P2 know together what P0 shows; pairwise nobody can build another's version."""
    ledger = grid((0, 0, 1), (0, 1, 0), (1, 0, 0))
    result = ledger.trace(version((0, 0, 1)), max_coalition_size=2)
    assert found(result) == {frozenset({"P0"}), frozenset({"P1", "P2"})}
    assert result.certain == ()
    assert result.false_charge is None
    assert result.suspects[0].framed_by == SmallestCoalition(2)
    assert "2 other recipients together could build the whole version of P0" in str(result)


TALL = Taxonomy.grow(["*", "x", "y", "x1", "x2", "y1", "y2"], [-1, 0, 0, 1, 1, 2, 2])
CUBE = table_of(
    {"a": TALL, "b": TALL, "c": TALL},
    [("x1", "y2", "x2"), ("x2", "y1", "y1"), ("y1", "x1", "x1"), ("y2", "x2", "y2"), ("x1", "x1", "y1")],
)
LEVELS = st.tuples(*[st.integers(0, 2)] * 3)


@settings(max_examples=80, deadline=None)
@given(st.lists(LEVELS, min_size=3, max_size=5, unique=True), st.integers(1, 3))
def test_a_recipient_is_certain_of_a_whole_version_iff_no_others_together_can_build_it(
    patterns, max_coalition_size
):
    ledger = ToyLedger(named=True)
    for i, levels in enumerate(patterns):
        ledger.give(f"P{i}", CUBE, at_levels(CUBE, levels), event="e")
    result = ledger.trace(shown(CUBE, at_levels(CUBE, patterns[0])), max_coalition_size=max_coalition_size)
    sizes = [
        size
        for size in range(1, len(patterns))
        for others in combinations(patterns[1:], size)
        if np.all(np.min(others, axis=0) <= patterns[0])
    ]
    smallest = min(sizes, default=None)
    assert (result.certain == ("P0",)) == (smallest is None or smallest > max_coalition_size)
    first = next(s for s in result.suspects if s.recipient == "P0")
    assert first.framed_by in (None, SmallestCoalition(smallest))
    if result.certain:
        assert first.without == first.framed_by == SmallestCoalition(smallest)


def test_looking_only_for_single_recipients_says_what_a_pair_could_have_done():
    ledger = grid((0, 0, 1), (0, 1, 0), (1, 0, 0))
    result = ledger.trace(version((0, 0, 1)), max_coalition_size=1)
    assert result.certain == ("P0",)
    assert result.suspects[0].without == SmallestCoalition(2)
    assert "unless more than 1 worked together" in str(result)
    assert "Without P0 a coalition of 2 explains it." in str(result)


def test_a_frame_proof_version_is_certain_against_all():
    """Each alone knows one column: nobody can be framed by all the others together."""
    ledger = grid((0, 1, 1), (1, 0, 1), (1, 1, 0))
    result = ledger.trace(version((0, 1, 1)), max_coalition_size=3)
    assert result.certain == ("P0",)
    assert result.suspects[0].without == SmallestCoalition(None)
    assert result.suspects[0].framed_by == SmallestCoalition(None)
    assert result.unless_guessed == ("P0",), "three rows can be guessed"
    title = "traced to P0, unless others guessed what they did not hold (which these rows do not rule out)"
    assert str(result).startswith(title)
    assert "Without P0 no coalition at all explains it." in str(result)


def test_more_than_were_looked_for_had_to_work_together():
    ledger = grid((0, 1, 1), (1, 0, 1), (1, 1, 0))
    result = ledger.trace(version((0, 0, 0)), max_coalition_size=2)
    assert result.ours
    assert len(result.explanations) == 0
    assert result.needed == SmallestCoalition(3)
    assert "it would take 3" in str(result)


def test_a_search_that_was_stopped_does_not_say_that_nobody_can_have_made_it(monkeypatch):
    """P0 and P1 can; with one step no coalition is found, nor any ruled out that has more than one member."""
    ledger = grid((0, 1, 0), (1, 0, 0), (1, 1, 1))
    whole = ledger.trace(version((0, 0, 0)), max_coalition_size=2)
    assert found(whole) == {frozenset({"P0", "P1"})} and whole.explanations.complete
    monkeypatch.setattr(coalition, "MOST_STEPS", 1)
    stopped = ledger.trace(version((0, 0, 0)), max_coalition_size=2)
    assert not stopped.explanations.complete and not len(stopped.explanations)
    assert stopped.needed.size <= 2 and not stopped.needed.proved
    title = "ours; no explanation was found, and not all coalitions of at most 2 could be tried"
    assert str(stopped).startswith(title)


def test_a_list_that_was_stopped_does_not_say_that_nobody_is_in_all_of_it(monkeypatch):
    ledger = grid((0, 1, 0), (1, 0, 0), (1, 0, 1), (0, 1, 1))
    whole = ledger.trace(version((0, 0, 0)), max_coalition_size=2)
    assert len(whole.explanations) > 1 and "nobody is in all of them" in str(whole)
    monkeypatch.setattr(coalition, "MOST_LISTED", 1)
    stopped = ledger.trace(version((0, 0, 0)), max_coalition_size=2)
    assert "ours; 1 explanation or more, and not all coalitions of at most 2 could be tried" in str(stopped)


def test_a_version_that_nobody_else_can_build_is_frame_proof_at_every_size():
    for max_coalition_size in (3, 8):
        result = grid((0, 1, 1), (1, 0, 1), (1, 1, 0)).trace(
            version((0, 1, 1)), max_coalition_size=max_coalition_size
        )
        assert result.suspects[0].framed_by == SmallestCoalition(None)
        assert "frame-proof" not in str(result)


def test_recipients_with_the_same_version_cannot_be_told_apart():
    result = grid((0, 1, 1), (0, 1, 1)).trace(version((0, 1, 1)))
    assert found(result) == {frozenset({"P0"}), frozenset({"P1"})}
    assert result.certain == ()


def test_what_somebody_received_over_time_counts_together():
    ledger = grid((0, 1, 1), (1, 1, 0))
    ledger.give("P0", GRID, at_levels(GRID, (1, 0, 1)))
    result = ledger.trace(version((0, 0, 1)))
    assert result.certain == ("P0",)


def test_a_version_of_other_people_is_no_source():
    other = table_of({"a": FLAT, "b": FLAT, "c": FLAT}, [("v", "u", "u")])
    ledger = ToyLedger(named=True).give("then", GRID, at_levels(GRID, (0, 0, 1)))
    ledger.give("now", other, at_levels(other, (0, 0, 1)))
    result = ledger.trace([{"a": "u", "b": "v"}, {"a": "u", "b": "u"}])
    assert found(result) == {frozenset({"then"})}
    unknown = ToyLedger(named=True).give("then", GRID, at_levels(GRID, (0, 0, 1)), content=False)
    unknown.give("now", other, at_levels(other, (0, 0, 1)), content=False)
    assert found(unknown.trace({"a": "u", "b": "v"})) == {frozenset({"then"}), frozenset({"now"})}


def test_who_received_an_unknown_pattern_cannot_be_ruled_out():
    ledger = grid((0, 1, 1)).give("old", GRID, at_levels(GRID, (1, 1, 1)))
    ledger.records[-1] = ledger.records[-1].__class__(**{**vars(ledger.records[-1]), "cuts": None})
    result = ledger.trace(version((0, 1, 1)))
    assert found(result) == {frozenset({"P0"}), frozenset({"old"})}
    assert result.certain == ()
    assert result.unread == ("old",)
    assert "Not ruled out, since the pattern is not known: old." in str(result)


def test_trees_are_kept_once_and_serve_all():
    ledger = grid((0, 1, 1)).give("old", GRID, at_levels(GRID, (1, 0, 1)), trees=False)
    assert ledger.trace(version((1, 0, 1))).certain == ("old",)


def test_columns_may_have_the_same_tree_and_it_is_kept_once():
    ledger = grid((0, 1, 1), (1, 0, 1))
    documents = [record.trees["columns"] for record in ledger.records]
    assert {words["taxonomy"] for words in documents[0]} == {FLAT.digest}
    for record in ledger.records:
        for words in record.trees["columns"][1:]:
            del words["parent"], words["marks"], words["level"]
    assert ledger.trace(version((1, 0, 1))).certain == ("P1",)


def test_a_release_to_nobody_is_anybodys():
    result = grid((0, 1, 1)).give(None, GRID, at_levels(GRID, (0, 0, 1))).trace(version((0, 1, 1)))
    assert found(result) == {frozenset({"P0"}), frozenset({UNNAMED})}


def test_a_chain_can_be_looked_at_alone():
    ledger = grid((0, 1, 1)).give("elsewhere", GRID, at_levels(GRID, (0, 0, 0)), chain="other")
    assert ledger.trace(version((0, 1, 1)), chain="main").certain == ("P0",)
    with pytest.raises(UsageError, match="no such chain"):
        ledger.trace(version((0, 1, 1)), chain="never")


def test_a_version_without_the_column_tells_nothing_of_it():
    small = table_of({"b": FLAT}, [("v",), ("u",)])
    ledger = grid((0, 1, 1)).give("b only", small, at_levels(small, (0,)))
    assert found(ledger.trace(version((0, 1, 1)))) == {frozenset({"P0"})}
    forgotten = grid((0, 1, 1), content=False).give("b only", small, at_levels(small, (0,)), content=False)
    assert found(forgotten.trace(version((0, 1, 1)))) == {frozenset({"P0"}), frozenset({"b only"})}


def test_suppressed_rows_are_no_proof_that_a_row_is_foreign():
    ledger = grid((0, 1, 1), event="e")
    few = table_of({"a": FLAT, "b": FLAT, "c": FLAT}, [("v", "v", "u")])
    ledger.give("less", few, at_levels(few, (1, 0, 1)), event="e")
    last = ledger.records[-1]
    ledger.records[-1] = last.__class__(**{**vars(last), "figures": {"suppressed": 2}})
    assert ledger.trace({"a": "u"}).certain == ("P0",)
    ledger.records[-1] = last
    assert not ledger.trace({"a": "u", "b": "u"}).ours


def test_a_document_holds_everything_and_no_value():
    row = {"gender": "p", "birthdate": "03.1970", "zip": "1015"}
    result = table_v().trace([row, {**row, "zip": "secret"}])
    document = json.loads(json.dumps(result.as_dict()))
    assert document["explanations"]["coalitions"] == [["fireguard", "police"]]
    assert document["rows"] == {"all": 2, "ours": 1, "unreadable": 1, "foreign": 0, "finer": 0}
    assert document["certain"] == ["fireguard", "police"]
    assert document["suspects"][0]["columns"][2] == {
        "column": "zip",
        "leaked": 0,
        "held": 0,
        "of": 2,
        "as_held": 1,
    }
    told = json.dumps(document) + str(result) + repr(result) + result._repr_html_()
    assert not [value for value in ("secret", "03.1970", "1015") if value in told]
    assert result.values() == ["zip: 'secret'"]


def test_charts_show_levels_and_fit():
    levels, fit = table_v().trace({"gender": "p", "birthdate": "03.1970", "zip": "101X"}).charts()
    assert levels.rows() == [
        ("", "gender", "birthdate", "zip", "verdict"),
        ("leak", "level 1 of 1", "level 1 of 2", "level 1 of 2", ""),
        ("police", "level 1 of 1", "level 1 of 2", "level 1 of 2", "certain"),
    ]
    assert fit.points == [("police", 1.0)]
    assert grid((0, 1, 1), event="e").trace({"a": "u", "b": "v", "c": "v"}).charts() == ()


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


@pytest.mark.parametrize("max_coalition_size", [0, 9, -1])
def test_coalitions_have_a_size(max_coalition_size):
    with pytest.raises(UsageError, match="from 1 to 8"):
        table_v().trace({"gender": "p"}, max_coalition_size=max_coalition_size)


def test_columns_that_are_not_there():
    with pytest.raises(UsageError, match="no column 'sex'"):
        table_v().trace({"gender": "p"}, columns={"sex": "gender"})


def test_everybody_is_considered():
    assert set(table_v().trace({"gender": "p"}).recipients) == set(SETS)
    assert np.all(TABLE_V.counts == 1)
