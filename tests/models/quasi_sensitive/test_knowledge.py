"""Knowledge tables: how they are read, what they link to, what ails them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import beliefs as plain
from sfumato.draft.doctor import HeldTermSets, examine_knowledge, examine_sets
from sfumato.models.quasi_sensitive.knowledge import Knowledge, load, save
from sfumato.models.quasi_sensitive.labels import links_of_texts
from sfumato.system.errors import BadData, BadPolicy
from sfumato.table.microdata import text_of
from sfumato.workflows.knowledge import knowledge

ROWS = [("Cold", ["cough", "sneeze"]), ("Flu", ["fever", "cough"]), ("Flu", ["chills"])]
KNOWN = Knowledge.of(ROWS)


@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.sets(st.sampled_from("uvwxyz"))), min_size=1, max_size=8),
    st.lists(st.sets(st.sampled_from("uvwxyz!")), min_size=1, max_size=8),
)
def test_links_as_defined(rows, sets):
    known = Knowledge.of(rows)
    links = links_of_texts(known, [text_of(sorted(terms)) for terms in sets])
    matrix = links.matrix(np.arange(len(sets)))
    for terms, line, number in zip(sets, matrix, links.number, strict=True):
        expected = plain.linked(rows, terms)
        assert {label for label, has in zip(known.labels, line, strict=True) if has} == expected
        assert set(known.linked(terms)) == expected and number == len(expected)


def test_no_terms_link_to_every_label():
    assert KNOWN.linked([]) == KNOWN.labels == ("Cold", "Flu")


def test_the_order_of_rows_does_not_count():
    again = Knowledge.of(ROWS[::-1] + ROWS)
    assert again == KNOWN and again.digest == KNOWN.digest
    assert Knowledge.of(ROWS[:2]).digest != KNOWN.digest


@pytest.mark.parametrize(
    "text",
    [
        "label,row,term\nCold,1,cough\nCold,1,sneeze\nFlu,1,fever\nFlu,1,cough\nFlu,2,chills\n",
        "label,terms\nCold,cough;sneeze\nFlu,fever;cough\nFlu,chills\n",
        "label,cough,sneeze,fever,chills\nCold,1,1,0,0\nFlu,1,0,1,0\nFlu,0,0,0,1\n",
    ],
)
def test_long_delimited_and_wide_files(tmp_path, text):
    (tmp_path / "k.csv").write_text(text, encoding="utf-8")
    assert load(tmp_path / "k.csv") == KNOWN


def test_a_saved_table_reads_the_same(tmp_path):
    for known in (KNOWN, Knowledge.of(ROWS[:2])):
        save(known, tmp_path / "k.csv")
        assert load(tmp_path / "k.csv") == known


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("label,term\n", "empty"),
        ("disease,term\nFlu,fever\n", "header"),
        ("label,term\nFlu\n", "line 2"),
        ("label,fever,cough\nFlu,1,yes\n", "0 or 1"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, text, said):
    (tmp_path / "k.csv").write_text(text, encoding="utf-8")
    with pytest.raises(BadPolicy, match=said) as refused:
        load(tmp_path / "k.csv")
    assert "fever" not in refused.value.message


def test_empty_knowledge():
    with pytest.raises(BadPolicy, match="empty"):
        Knowledge.of([])


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_from_frames(make):
    labels = [label for label, _ in ROWS]
    delimited = make({"disease": labels, "signs": [";".join(terms) for _, terms in ROWS]})
    lists = make({"disease": labels, "signs": [terms for _, terms in ROWS]})
    for frame in (delimited, lists):
        assert knowledge(frame, label="disease", terms="signs") == KNOWN
    long = make({"disease": ["Cold", "Cold", "Flu"], "sign": ["cough", "sneeze", "fever"]})
    assert knowledge(long, label="disease", terms="sign").rows == (
        ("Cold", frozenset({"cough", "sneeze"})),
        ("Flu", frozenset({"fever"})),
    )
    wide = make({"disease": ["Cold", "Flu"], "cough": [1, 1], "fever": [0, 1]})
    assert knowledge(wide, label="disease", terms=["cough", "fever"]).linked(["fever"]) == ("Flu",)


def test_proposed_from_records():
    records = pl.DataFrame(
        {"label": ["Flu"] * 4 + ["Cold"] * 2, "terms": ["f;c", "f;c", "f;r", "f", "c", "c;r"]}
    )
    found = knowledge(records, label="label", terms="terms", support=2)
    assert dict(found.rows) == {"Flu": {"f", "c"}, "Cold": {"c"}}
    often = knowledge(records, label="label", terms="terms", support=2, share=Fraction(3, 4))
    assert dict(often.rows) == {"Flu": {"f"}, "Cold": {"c"}}
    with pytest.raises(BadData, match="no term"):
        knowledge(records, label="label", terms="terms", support=9)


def names(found):
    return {diagnosis.name: diagnosis for diagnosis in found}


def test_what_ails_a_table():
    known = Knowledge.of([("A", ["x"]), ("B", ["x", "y"]), ("C", ["X ", "z"]), ("D", [])])
    found = names(examine_knowledge(known))
    assert found["subsumed"].values == ("A",)
    assert set(found["look-alikes"].values) == {"x", "X "}
    assert found["no-terms"].values == ("D",)


def test_what_ails_a_column():
    texts = tuple(text_of(t) for t in (["cough"], ["Cough"], ["cough", "fever"], [], ["fever", "sneeze"]))
    found = names(examine_sets("s", KNOWN, HeldTermSets(texts, np.array([4, 1, 2, 1, 2]))))
    assert found["unknown-terms"].values == ("Cough",)
    assert set(found["look-alikes"].values) == {"Cough", "cough"}
    assert found["no-terms"].count == 1
    assert found["unlinked"].count == 3
    assert found["links"].count == 1
    assert not any("ough" in str(diagnosis) for diagnosis in found.values())
