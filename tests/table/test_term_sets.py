"""Term sets in every representation: read as one text, published as they came."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.system.errors import BadData
from sfumato.table.cut import Cut
from sfumato.table.microdata import UNIT, Coding, Role, SetForm, shortened
from sfumato.table.recoding import Recoding, Rewriting
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy

SETS = [["a", "b"], ["a", "b"], ["c"], []]
LISTS = {"age": ["1", "1", "2", "2"], "sym": SETS, "x": [1, 2, 3, 4]}
TEXT = {**LISTS, "sym": ["|".join(s) or None for s in SETS]}
BITS = {
    "a": [1, 1, 0, 0],
    "age": ["1", "1", "2", "2"],
    "b": [True, True, False, False],
    "x": [1, 2, 3, 4],
    "c": ["0", "0", "1", "0"],
}


def flat(values):
    return Taxonomy.flat(sorted(values, key=lambda v: (v is None, v or "")))


def planned(source, form):
    """The table with the first row of two equal ones shortened to one term."""
    codings = [Coding("age", Role.QUASI, flat), Coding("sym", Role.QUASI_SENSITIVE, flat, form)]
    table = source.count(codings)
    labels = table.column("sym").taxonomy.leaf_labels
    texts = [labels[c] for c in np.repeat(table.codes("sym"), table.counts).tolist()]
    texts[0] = shortened(texts[0], ["b"])
    tree = flat(set(texts))
    rewriting = Rewriting(tree, np.array([tree.rank(t) for t in texts], np.int32))
    recoding = Recoding.of_cuts(table, {"age": Cut.leaves(table.column("age").taxonomy)})
    return replace(recoding, rewritten={"sym": rewriting}), set(labels)


def rows(frame):
    if isinstance(frame, pd.DataFrame):
        return sorted(map(repr, frame.astype(object).to_dict("records")))
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    table = frame.to_arrow_table() if hasattr(frame, "to_arrow_table") else frame
    records = table.to_dicts() if isinstance(table, pl.DataFrame) else table.to_pylist()
    return sorted(map(repr, records))


KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda data: pl.DataFrame(data).lazy(),
    "pyarrow": pa.table,
    "duckdb": lambda data: duckdb.from_arrow(pa.table(data)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("data", "form"), [(TEXT, SetForm("|")), (LISTS, SetForm()), (BITS, SetForm(parts=("a", "b", "c")))]
)
def test_published_as_it_came(kind, data, form):
    source = open_source(KINDS[kind](data))
    recoding, labels = planned(source, form)
    assert {label for label in labels if label} == {f"a{UNIT}b", "c"}
    expected = {name: list(values) for name, values in data.items()}
    if data is BITS:
        expected["b"][0] = False
    else:
        expected["sym"][0] = ["a"] if data is LISTS else "a"
    out = source.recode(recoding)
    assert rows(out) == rows(KINDS[kind](expected))
    columns = (
        out.collect_schema().names()
        if kind == "lazy"
        else getattr(out, "column_names", None) or list(out.columns)
    )
    assert list(columns) == list(data)


def test_lists_go_to_parquet_not_to_csv(tmp_path):
    source = open_source(pa.table(LISTS))
    recoding, _ = planned(source, SetForm())
    source.write(recoding, tmp_path / "safe.parquet")
    assert sorted(map(str, pq.read_table(tmp_path / "safe.parquet")["sym"].to_pylist())) == [
        "['a', 'b']",
        "['a']",
        "['c']",
        "[]",
    ]
    with pytest.raises(BadData, match="lists"):
        source.write(recoding, tmp_path / "safe.csv")
    assert not (tmp_path / "safe.csv").exists()


def test_copies_of_a_row_differ_the_same_way_whatever_their_order():
    told = []
    for order in ([0, 1, 2, 3], [3, 1, 2, 0]):
        source = open_source(pa.table({n: [v[i] for i in order] for n, v in TEXT.items()}))
        told.append(source.recode(planned(source, SetForm("|"))[0]).to_pylist())
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("data", "form", "said"),
    [
        ({**LISTS, "sym": [["a", None], ["b"], ["c"], []]}, SetForm(), "empty terms"),
        ({**TEXT, "sym": [f"a{UNIT}b", "b", "c", "d"]}, SetForm("|"), "control character"),
        ({**BITS, "a": [2, 1, 0, 0]}, SetForm(parts=("a", "b", "c")), "0 and 1"),
        ({**BITS, "a": [None, 1, 0, 0]}, SetForm(parts=("a", "b", "c")), "0 and 1"),
        (BITS, SetForm(parts=("a", "z")), "no column"),
    ],
)
def test_cells_that_cannot_be_term_sets(data, form, said):
    with pytest.raises(BadData, match=said):
        planned(open_source(pa.table(data)), form)
