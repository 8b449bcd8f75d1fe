"""Whether a table shows what a release is remembered by: the judge and the first reader say the same."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.tiny_chains import chains, cut, releases
from sfumato.attacks.chain import count_published, is_release
from sfumato.system.errors import BadData
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy
from sfumato.verify.chain.ruling import ShownRows, file_shows
from verify.published_tables import write


def published(trees, people, cuts):
    """The rows that the last release of a chain publishes."""
    rows = []
    for person in people:
        row = {
            f"q{j}": tree.labels[cut.node_of[tree.rank(person[j])]]
            for j, (tree, cut) in enumerate(zip(trees, cuts[-1], strict=True))
        }
        rows.append({**row, "s": f"s{person[-2]}"})
    return rows


def from_rows(rows, names, document):
    with ShownRows(names, document) as table:
        for row in rows:
            table.add(pa.record_batch({name: [row[name]] for name in table.wanted}))
        return table.show(document)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.integers(1, 2).flatmap(lambda n: chains(count=n, rows=6, values=3)), st.data())
def test_the_judge_finds_what_the_first_reader_finds(tmp_path_factory, chain, data):
    release = releases(*chain)[-1]
    rows = published(*chain)
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(rows) - 1))
        column = data.draw(st.sampled_from(["q0", "q1", "s"]))
        rows[place] = {
            **rows[place],
            column: data.draw(st.sampled_from(["*", "s0", "q0v0", "q1v1", None, "else"])),
        }
    if data.draw(st.integers(0, 3)) == 0:
        rows.append(rows[0])
    names = ["q0", "q1", "s"]
    ending = data.draw(st.sampled_from([".csv", ".parquet"]))
    path = write(tmp_path_factory.mktemp("shown") / f"table{ending}", rows, names)
    theirs = is_release(count_published(open_source(path), release), release)
    assert file_shows(path, release.as_dict()) is theirs
    assert from_rows(rows, names, release.as_dict()) is theirs


def test_single_child_groups_publish_the_same():
    """A value and the group that holds nothing else are one, whichever of them is named."""
    tree = Taxonomy.grow(["*", "A", "a", "b"], [-1, 0, 1, 0])
    people = [("a", 0, 1), ("b", 1, 1)]
    release = releases([tree], people, [[cut(tree, "A", "b")]])[-1]
    rows = [{"q0": "a", "s": "s0"}, {"q0": "b", "s": "s1"}]
    assert from_rows(rows, ["q0", "s"], release.as_dict())
    assert not from_rows(rows[:1], ["q0", "s"], release.as_dict())


def test_a_column_that_the_releases_have_must_be_there(tmp_path):
    tree = Taxonomy.flat(["a", "b"])
    release = releases([tree], [("a", 0, 1)], [[cut(tree, "*")]])[-1].as_dict()
    path = write(tmp_path / "table.csv", [{"q0": "a"}], ["q0"])
    with pytest.raises(BadData, match="1 columns of the earlier releases are not in this table"):
        file_shows(path, release)
    with pytest.raises(BadData, match="1 columns of the earlier releases"):
        ShownRows(["q0"], release)


def test_rows_may_be_handed_over_again():
    tree = Taxonomy.flat(["a", "b"])
    document = releases([tree], [("a", 0, 1), ("b", 0, 1)], [[cut(tree, "*")]])[-1].as_dict()
    with ShownRows(["q0", "s"], document) as table:
        table.add(pa.record_batch({"q0": ["a"], "s": ["s0"]}))
        table.restart()
        table.add(pa.record_batch({"q0": ["*"], "s": ["s0"]}), pa.array([2]))
        assert table.show(document)
