"""Knowledge from records, from a term-document table and from labelled text, in calls and as a command."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.main import run
from sfumato.models.quasi_sensitive.knowledge import load
from sfumato.system.errors import BadData, UsageError
from strategies import cases

pytestmark = pytest.mark.slow

RECORDS = st.lists(
    st.tuples(st.sampled_from("XYZ"), st.sets(st.sampled_from("abc")), st.integers(0, 3)),
    min_size=1,
    max_size=9,
)


def rows(known):
    return {label: set(terms) for label, terms in known.rows}


def expected(records, support, share):
    """Terms by label, counted as the definition reads."""
    total, seen = Counter(), Counter()
    for label, terms, count in records:
        total[label] += count
        seen.update({(label, term): count for term in terms})
    found = {}
    for (label, term), n in seen.items():
        if n >= support and n >= share * total[label]:
            found.setdefault(label, set()).add(term)
    return found


@given(RECORDS, st.integers(2, 4), st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1)]))
@cases(25)
def test_records_and_term_tables_and_text_count_alike(records, support, share):
    wanted = expected(records, support, share)
    ways = [
        ({"terms": "terms", "count": "n"}, [(a, ";".join(sorted(t)), n) for a, t, n in records]),
        (
            {"text": "terms", "count": "n", "vocabulary": "abc"},
            [(a, " ".join(t).upper(), n) for a, t, n in records],
        ),
    ]
    for options, table in ways:
        frame = pl.DataFrame(table, schema=["label", "terms", "n"], orient="row")
        if not wanted:
            with pytest.raises(BadData, match="support"):
                sf.knowledge(frame, label="label", support=support, share=share, **options)
        else:
            assert rows(sf.knowledge(frame, label="label", support=support, share=share, **options)) == wanted


@given(RECORDS.filter(lambda some: any(t for _, t, _ in some)), st.integers(2, 3))
@cases(25)
def test_a_term_document_table_is_its_documents(records, support):
    lines = [(a, f"d{i}", t) for i, (a, terms, _) in enumerate(records) for t in sorted(terms)]
    wanted = expected([(a, terms, 1) for a, terms, _ in records if terms], support, Fraction(0))
    frame = pl.DataFrame(lines * 2, schema=["label", "document", "term"], orient="row")
    given_ = {"label": "label", "terms": "term", "document": "document", "support": support}
    if wanted:
        assert rows(sf.knowledge(frame, **given_)) == wanted
    else:
        with pytest.raises(BadData):
            sf.knowledge(frame, **given_)


def test_the_command_writes_what_policies_read(tmp_path, capsys):
    source, out, common = tmp_path / "notes.csv", tmp_path / "known.csv", tmp_path / "common.csv"
    notes = [
        ("Flu", "High fever and cough."),
        ("Flu", "cough, high FEVER"),
        ("Cold", "a cough"),
        ("Cold", "Cough!"),
    ]
    pl.DataFrame([*notes, ("Gout", "canary")], schema=["ill", "note"], orient="row").write_csv(source)
    words = tmp_path / "words.txt"
    words.write_text("high fever\ncough\ncanary\n", encoding="utf-8")
    call = ["knowledge", str(source), "--label", "ill", "--text", "note", "--vocabulary", str(words)]
    assert run([*call, "-o", str(out), "--prevalence", str(common), "--json"]) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert (told["labels"], told["terms"], told["records"], told["labels_left_out"]) == (2, 2, 5, 1)
    assert "canary" not in printed.out + printed.err and "Gout" not in printed.out + printed.err
    assert rows(load(out)) == {"Flu": {"high fever", "cough"}, "Cold": {"cough"}}
    assert common.read_text(encoding="utf-8") == "label,prevalence\nCold,2\nFlu,2\n"
    assert run([*call, "-o", str(out)]) == 2
    policy = {
        "columns": {"age": {"role": "quasi"}, "signs": {"role": "quasi-sensitive"}},
        "promises": [
            {
                "quasi-sensitive": {
                    "of": "signs",
                    "knowledge": str(out),
                    "prevalence": str(common),
                    "l": 2,
                    "c": 1,
                }
            }
        ],
        "protect": {"search": "top-down", "suppress": 0},
    }
    people = pl.DataFrame({"age": ["1", "1"], "signs": ["cough;high fever", "cough"]})
    assert not sf.audit(people, policy).holds
    assert sf.audit(sf.protect(people, policy).apply(people), policy).holds


@pytest.mark.parametrize("wrong", [{}, {"terms": "a", "text": "b"}, {"terms": "a", "support": 0}])
def test_a_call_that_says_too_little_or_too_much_is_refused(wrong):
    with pytest.raises(UsageError):
        sf.knowledge(pl.DataFrame({"label": ["x"], "a": ["y"], "b": ["z"]}), label="label", **wrong)


def test_a_count_that_is_no_number_is_refused_without_its_text():
    frame = pl.DataFrame({"label": ["x"], "terms": ["y"], "n": ["canary"]})
    with pytest.raises(BadData) as refused:
        sf.knowledge(frame, label="label", terms="terms", count="n")
    assert "canary" not in str(refused.value)
