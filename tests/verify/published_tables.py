"""Random published tables with their policies."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from oracles.published_rows import as_csv
from sfumato.policy.policy import Policy
from sfumato.table.writing import write_parquet_again

KEYS = ("q 0", 'q"1')
PATHS = {
    "Flu": ("Flu", "Viral", "*"),
    "AIDS": ("AIDS", "Viral", "*"),
    "TB": ("TB", "Bacterial", "*"),
    "E.Coli": ("E.Coli", "Bacterial", "*"),
    "Fall": ("Fall", "Fall", "*"),
    None: (None, None, "*"),
}
TREE = {"tree": {"Viral": ["Flu", "AIDS"], "Bacterial": ["TB", "E.Coli"], "Fall": None}, "ordered": True}

KEY_CELL = st.sampled_from(["1", "01", "a,b", 'say "x"', "zwei\nlines", "Ä–ö", " ", "", "NULL", None])
VALUE = st.sampled_from(list(PATHS))
SHARE = st.fractions(min_value=0, max_value=1, max_denominator=12)


@st.composite
def rows(draw, *, most=14):
    cells = st.tuples(KEY_CELL, st.sampled_from(["x", None]), VALUE, st.integers(0, 5))
    names = (*KEYS, "disease", "visits")
    return [dict(zip(names, cell, strict=True)) for cell in draw(st.lists(cells, max_size=most))]


@st.composite
def promises(draw):
    """One promise of every definition, near the border of small classes."""
    l = draw(st.integers(1, 3))  # noqa: E741
    made = [
        {"k-anonymity": {"k": draw(st.integers(1, 4))}},
        {"l-diversity": {"of": "disease", "l": l}},
        {"l-diversity": {"of": "disease", "l": draw(st.sampled_from([1, "3/2", 2, 3])), "kind": "entropy"}},
        {
            "l-diversity": {
                "of": "disease",
                "l": l,
                "kind": "recursive",
                "c": draw(st.sampled_from(["1/2", 1, 2, "5/2"])),
            }
        },
        {"confidence-bounding": {"of": "disease", "confidence": draw(st.sampled_from(["1/2", "2/3", 1]))}},
        {"alpha-k-anonymity": {"of": "disease", "alpha": draw(st.sampled_from(["1/2", "2/3", 1])), "k": l}},
    ]
    return made + [
        {"t-closeness": {"of": "disease", "t": str(draw(SHARE)), "distance": distance, **reference}}
        for distance in ("equal", "ordered", "hierarchical")
        for reference in ({}, {"reference": {"Flu": 3, "TB": 1, "E.Coli": 2}})
    ]


def policy(made, *, person=None, person_role="identifier"):
    columns = {
        "name": {"role": "identifier"},
        KEYS[0]: {"role": "quasi"},
        KEYS[1]: {"role": "quasi"},
        "disease": {"role": "sensitive", "taxonomy": TREE},
        "visits": {"role": "insensitive"},
    }
    words = {"columns": columns, "promises": made, "protect": {"suppress": 0, "search": "lattice"}}
    if person:
        columns[person] = {"role": person_role}
        words["person"] = person
    return Policy.from_dict(words)


def write(path, table, columns=(*KEYS, "disease", "visits")):
    """A CSV file, with nothing of the project, or a Parquet file in the form of releases."""
    if path.suffix == ".csv":
        path.write_bytes(as_csv(table, columns))
        return path
    kinds = {c: pa.int64() if c in ("visits", "who") else pa.string() for c in columns}
    arrays = [pa.array([r[c] for r in table], kinds[c]) for c in columns]
    pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), path)
    write_parquet_again(path)
    return path
