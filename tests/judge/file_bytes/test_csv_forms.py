"""How CSV files are written: the shortest form is known by its length, any other is looked at."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine import open_source
from sfumato.journey.protect import protect
from sfumato.judge.file_bytes.csv_forms import csv_surplus, is_shortest, written_rows
from sfumato.policy.policy import Policy

cells = st.none() | st.text(st.sampled_from('ab,"\n\r \ufeff\u00e9;|'), max_size=4)
tables = st.lists(st.tuples(cells, cells), min_size=1, max_size=5)
RULE = Policy.from_dict(
    {
        "columns": {"k": {"role": "quasi"}, "x": {"role": "insensitive"}, "y": {"role": "insensitive"}},
        "promises": [{"k-anonymity": {"k": 1}}],
    }
)


@given(tables)
def test_what_the_engine_writes_is_in_the_shortest_form(tmp_path_factory, rows):
    table = pa.table(
        {"k": ["a"] * len(rows), "x": [x for x, _ in rows], "y": [y for _, y in rows]},
        schema=pa.schema([(name, pa.string()) for name in "kxy"]),
    )
    path = tmp_path_factory.mktemp("files") / "t.csv"
    open_source(table).write(protect(table, RULE).recoding, path)
    assert is_shortest(path)
    assert csv_surplus(path, ["k", "x", "y"]) == ()
    assert sorted(map(str, (row.cells for row in written_rows(path)))) == sorted(
        str(("a", *row)) for row in rows
    )


def _text(cell, style):
    needed = cell == "" or any(mark in (cell or "") for mark in ',"\n\r\ufeff')
    return '"' + cell.replace('"', '""') + '"' if cell is not None and (needed or style) else cell or ""


@given(st.lists(st.tuples(cells, cells, st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_every_other_form_is_noticed(tmp_path_factory, rows):
    """Against the definition: a text in two forms in one column, or lines that end in two ways."""
    path = tmp_path_factory.mktemp("files") / "t.csv"
    lines = [
        f"{_text(x, one)},{_text(y, two)},z" + ("\r\n" if long else "\n") for x, y, one, two, long in rows
    ]
    path.write_bytes(("x,y,z\n" + "".join(lines)).encode())
    if not lines[-1].endswith("\n"):
        return
    forms = {}
    for x, y, one, two, _ in rows:
        forms.setdefault(("x", x), set()).add(_text(x, one))
        forms.setdefault(("y", y), set()).add(_text(y, two))
    several = {name for (name, _), some in forms.items() if len(some) > 1}
    ends = {long for *_, long in rows}
    found = {some.sentence: set(some.columns) for some in csv_surplus(path, ["x", "y", "z"])}
    assert found.get("one text is written with quotes and without", set()) == several
    assert ("lines end in different ways" in found) == (len(ends) > 1)


@pytest.mark.parametrize("text", ["a;b\n1;2\n", "a,b\n1,2"])
def test_files_in_another_form_are_left_to_the_reader_of_rows(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    assert csv_surplus(tmp_path / "t.csv", ["a", "b"]) == ()
