"""Tables at the edge: empty, all equal, wider than a word, with more values than are looked up."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.system.errors import BadData, BadTaxonomy, UsageError
from sfumato.system.memory import Memory
from sfumato.table import dictionary
from sfumato.table.cut import Cut
from sfumato.table.microdata import Coding, Missing, Role
from sfumato.table.recoding import Recoding
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.engines import codings, counted, decoded, published, recodings
from table.kinds import MAKERS, make_source, read

pytestmark = pytest.mark.slow

CORNERS = {
    "no rows": {"a": [], "b": [], "s": []},
    "one row": {"a": ["x"], "b": ["y"], "s": ["z"]},
    "all equal": {"a": ["x"] * 5, "b": ["y"] * 5, "s": ["z"] * 5},
    "all missing": {"a": [None] * 3, "b": [None] * 3, "s": [None] * 3},
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("case", CORNERS)
def test_corners(kind, case):
    cells = CORNERS[case]
    source = make_source(kind)(cells)
    for keys, sensitive in (["a", "b"], ["s"]), ([], ["s"]), ([], []):
        table = source.count(codings(keys, sensitive))
        assert table.rows == len(cells["a"])
        if keys or sensitive:
            assert decoded(table) == counted(cells, codings(keys, sensitive))
        for recoding in recodings(table):
            got = read(source.recode(recoding))
            assert list(zip(*got.values(), strict=True)) == published(cells, recoding)
    assert source.count(codings(["a"]), missing=Missing.SUPPRESS).dropped == cells["a"].count(None)


@given(st.integers(0, 2**32 - 1), st.integers(4, 9))
@settings(max_examples=6, deadline=None)
def test_keys_wider_than_a_word(seed, wide):
    rng = np.random.default_rng(seed)
    cells = {f"c{j}": [f"{v:06d}" for v in rng.integers(0, 9**6, 2500)] for j in range(wide)}
    cells = {name: column + column[:50] for name, column in cells.items()}
    source = open_source(pl.DataFrame(cells))
    given_ = codings(list(cells)[:-1], list(cells)[-1:])
    table = source.count(given_)
    assert table.packing.words == 1 + (wide > 5)
    assert decoded(table) == counted(cells, given_)
    moved = pl.DataFrame(cells).reverse()
    assert open_source(moved).count(given_).digest == table.digest
    recoding = list(recodings(table))[-1]
    got = read(source.recode(recoding))
    assert list(zip(*got.values(), strict=True)) == published(cells, recoding)
    assert open_source(moved).recode(recoding).equals(source.recode(recoding))


def test_values_that_are_no_longer_looked_up(monkeypatch):
    monkeypatch.setattr(dictionary, "MOST_LOOKED_UP", 4)
    table = pa.concat_tables(
        [pa.table({"a": [str(i % 9) for i in range(n)], "s": ["s"] * n}) for n in (3, 9, 20, 7)]
    )
    source = open_source(table)
    cells = table.to_pydict()
    assert decoded(source.count(codings(["a"], ["s"]))) == counted(cells, codings(["a"], ["s"]))
    assert source.count(codings([], ["s"]), person="a").people == 9
    column = source.survey().columns["a"]
    assert column.distinct == 9 and int(column.counts.sum()) == 39
    for recoding in recodings(source.count(codings(["s"]))):
        assert list(zip(*read(source.recode(recoding)).values(), strict=True)) == published(cells, recoding)


def test_a_person_on_several_rows_counts_once():
    """Against counting people by hand, on generated panels."""
    rng = np.random.default_rng(7)
    cells = {
        "a": [str(v) for v in rng.integers(0, 3, 200)],
        "p": [f"id {v}" for v in rng.integers(0, 40, 200)],
    }
    table = open_source(pa.table(cells)).count(codings(["a"]), person="p")
    by_hand = {v: {p for a, p in zip(*cells.values(), strict=True) if a == v} for v in set(cells["a"])}
    for value, people in by_hand.items():
        code = table.column("a").taxonomy.rank(value)
        assert len(set(table.person[table.codes("a") == code].tolist())) == len(people)
    assert table.people == len(set(cells["p"])) and table.rows == 200


def test_a_row_without_a_person_is_refused():
    with pytest.raises(BadData, match="'p' names the person, and 1 of its cells"):
        open_source(pa.table({"a": ["x", "y"], "p": ["1", None]})).count(codings(["a"]), person="p")


@pytest.mark.parametrize("again", ["1 ", "\t1", "\u00a01"])
def test_one_person_written_in_two_ways_is_refused(again):
    people = pa.table({"a": ["x", "x", "x"], "p": ["1", again, "2 "]})
    with pytest.raises(BadData, match="'p' names the person, and 1 of its keys differ"):
        open_source(people).count(codings(["a"]), person="p")


def test_keys_that_only_look_alike_are_people_of_their_own():
    people = pa.table({"a": ["x"] * 4, "p": ["1", "01", "b ", "B"]})
    assert open_source(people).count(codings(["a"]), person="p").people == 4


def test_missing_cells_refused_with_their_number():
    with pytest.raises(BadData, match="'a' has 2 missing cells"):
        open_source(pa.table({"a": ["x", None, None]})).count(codings(["a"]), missing=Missing.REFUSE)
    table = open_source(pa.table({"s": ["x", None]})).count(codings([], ["s"]), missing=Missing.REFUSE)
    assert table.rows == 2


def test_values_that_the_taxonomy_lacks_are_counted_not_shown():
    coding = Coding("a", Role.QUASI, lambda _: Taxonomy.grow(["*", "x"], [-1, 0]))
    with pytest.raises(BadTaxonomy, match="lacks 2 of 3 values") as refusal:
        open_source(pa.table({"a": ["x", "canary", None]})).count([coding])
    assert "canary" not in str(refusal.value) and refusal.value.values == ("canary", "")


def test_another_table_is_refused():
    source = open_source(pa.table({"a": ["x", "y", "x"], "s": ["1", "2", "1"]}))
    recoding = next(recodings(source.count(codings(["a"], ["s"]))))
    for a, s in (
        (["x", "y", "y"], ["1", "2", "2"]),
        (["x", "y"], ["1", "2"]),
        (["x", "z", "x"], ["1", "2", "1"]),
        (
            ["x", None, "x"],
            ["1", "2", "1"],
        ),
    ):
        other = open_source(pa.table({"a": pa.array(a, pa.string()), "s": s}))
        with pytest.raises(BadData, match="not the table that was planned"):
            other.recode(recoding)


def test_nothing_left_to_publish():
    source = open_source(pa.table({"a": ["x"]}))
    recoding = next(recodings(source.count(codings(["a"]))))
    with pytest.raises(UsageError, match="no column"):
        source.recode(recoding, drop=["a"])
    with pytest.raises(BadData, match="no column 'b'"):
        source.recode(recoding, drop=["b"])


def test_progress_is_told():
    heard = []
    source = open_source(pa.table({"a": ["x"] * 10, "b": ["y"] * 10}))
    recoding = next(recodings(source.count(codings(["a"]), progress=lambda *step: heard.append(step))))
    source.recode(recoding, progress=lambda *step: heard.append(step))
    assert list(dict.fromkeys(phase for phase, *_ in heard)) == [
        "counting",
        "sorting",
        "recoding",
        "ordering",
    ]
    last = {phase: (done, total) for phase, done, total in heard}
    assert last["counting"] == last["recoding"] == last["ordering"] == (10, 10)


def test_a_group_of_one_is_published_as_the_group():
    """The only zip of an area must not come back in full because nobody else lives there."""
    area = Taxonomy.grow(["*", "02***", "02139", "03***", "03301", "03302"], [-1, 0, 1, 0, 3, 3])
    people = pl.DataFrame({"zip": ["02139", "03301", "03302"]})
    source = open_source(people)
    table = source.count([Coding("zip", Role.QUASI, lambda _: area)], missing=Missing.OWN_VALUE)
    recoding = Recoding.of_cuts(table, {"zip": Cut.level(area, 1)})
    assert source.recode(recoding, drop=())["zip"].to_list() == ["02***", "03***", "03***"]


class SourceOfAnotherPackage:
    """Takes whatever is asked of a source from one of ours; `memory` is its own."""

    def __init__(self, **own):
        self.source = open_source(pa.table({"a": ["x"]}))
        vars(self).update(own)

    def survey(self, *args, **kwargs):
        return self.source.survey(*args, **kwargs)

    def count(self, *args, **kwargs):
        return self.source.count(*args, **kwargs)

    def recode(self, *args, **kwargs):
        return self.source.recode(*args, **kwargs)

    def write(self, *args, **kwargs):
        return self.source.write(*args, **kwargs)


def test_a_source_of_another_package_says_how_much_memory_it_may_use():
    with pytest.raises(UsageError, match="SourceOfAnotherPackage lacks the member `memory`"):
        open_source(SourceOfAnotherPackage())
    source = SourceOfAnotherPackage(memory=Memory.of("4GB"))
    assert open_source(source) is source


def test_a_table_whose_columns_are_called_like_the_verbs_is_a_table():
    verbs = ["survey", "count", "recode", "write", "memory"]
    assert open_source(pl.DataFrame({verb: ["x"] for verb in verbs})).columns == tuple(verbs)
