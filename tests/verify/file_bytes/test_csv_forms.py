"""How CSV files are written: the shortest form is known by its length, any other is looked at."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.table.source import open_source
from sfumato.verify.file import judge_file
from sfumato.verify.file_bytes import SEPARATORS, csv_surplus, is_shortest, written_rows
from sfumato.workflows.protect import protect

pytestmark = pytest.mark.slow

cells = st.none() | st.text(st.sampled_from('ab,"\n\r \ufeff\u00e9;|'), max_size=4)
tables = st.lists(st.tuples(cells, cells), min_size=1, max_size=5)
RULE = Policy.from_dict(
    {
        "columns": {"k": {"role": "quasi"}, "x": {"role": "insensitive"}, "y": {"role": "insensitive"}},
        "promises": [{"k-anonymity": {"k": 1}}],
        "protect": {"search": "top-down", "suppress": 0},
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
    assert is_shortest(path, ["k", "x", "y"])
    assert csv_surplus(path, ["k", "x", "y"]) == ()
    assert sorted(map(str, (row.cells for row in written_rows(path, ["k", "x", "y"])))) == sorted(
        str(("a", *row)) for row in rows
    )


def _text(cell, style, mark=","):
    needed = cell == "" or any(some in (cell or "") for some in mark + '"\n\r\ufeff')
    return '"' + cell.replace('"', '""') + '"' if cell is not None and (needed or style) else cell or ""


@given(
    st.sampled_from(SEPARATORS),
    st.lists(st.tuples(cells, cells, st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_every_other_form_is_noticed(tmp_path_factory, mark, rows, marked, ended):
    """Against the definition: a text in two forms in one column, or lines that end in two ways."""
    path = tmp_path_factory.mktemp("files") / "t.csv"
    lines = [
        mark.join([_text(x, one, mark), _text(y, two, mark), "z"]) + ("\r\n" if long else "\n")
        for x, y, one, two, long in rows
    ]
    whole = mark.join("xyz") + "\n" + "".join(lines)
    path.write_bytes((whole if ended else whole.rstrip("\r\n")).encode("utf-8-sig" if marked else "utf-8"))
    forms = {}
    for x, y, one, two, _ in rows:
        forms.setdefault(("x", x), set()).add(_text(x, one, mark))
        forms.setdefault(("y", y), set()).add(_text(y, two, mark))
    several = {name for (name, _), some in forms.items() if len(some) > 1}
    ends = {long for *_, long in (rows if ended else rows[:-1])}
    found = {some.sentence: set(some.columns) for some in csv_surplus(path, ["x", "y", "z"])}
    assert found.get("one text is written with quotes and without", set()) == several
    assert ("lines end in different ways" in found) == (len(ends) > 1)


@pytest.mark.parametrize("mark", SEPARATORS)
def test_rows_that_quotes_tell_apart_are_judged_apart(mark, tmp_path):
    """Two of four write the key with quotes: whoever has the bytes sees classes of two."""
    path = tmp_path / "t.csv"
    lines = [f"k{mark}x{mark}y", *(f"{key}{mark}1{mark}2" for key in ["a", "a", '"a"', '"a"'])]
    path.write_text("\n".join(lines) + "\n")
    rule = Policy.from_dict({**RULE.to_dict(), "promises": [{"k-anonymity": {"k": 3}}]})
    (verdict,) = judge_file(path, ["k", "x", "y"], judge_data(rule))
    assert verdict.holds is False and verdict.measured == 2
    path.write_text("\n".join(lines).replace('"', "") + "\n")
    (verdict,) = judge_file(path, ["k", "x", "y"], judge_data(rule))
    assert verdict.holds is True and verdict.measured == 4


@pytest.mark.parametrize(
    "raw", [b"a~b\n1~2\n", "a;b\n\u00e9;2\n".encode("latin-1"), gzip.compress(b"a,b\n1,2\n", mtime=0)]
)
def test_of_files_in_other_forms_it_is_said_that_nobody_looked(raw, tmp_path):
    (tmp_path / "t.csv").write_bytes(raw)
    (said,) = csv_surplus(tmp_path / "t.csv", ["a", "b"])
    assert said.sentence == "how the cells of the file are written was not looked at" and not said.certain
