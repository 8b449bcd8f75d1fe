"""All engines agree with plain Python, on awkward tables and on random ones."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.table.microdata import Missing
from sfumato.table.source import open_source
from sfumato.testing.engines import (
    by_length,
    check_engine,
    codings,
    counted,
    decoded,
    flat,
    published,
    recodings,
)
from table.kinds import MAKERS, make_source, read

pytestmark = pytest.mark.slow

TEXT = st.one_of(
    st.none(),
    st.sampled_from(
        ["", "a", "A", "NA", "null", "0", "00", " a", "é", "e\u0301", "=x", 'q"', "a,b", "\n", "\r\n"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3),
)


@st.composite
def cells(draw, rows=7):
    count = draw(st.integers(0, rows))
    column = st.lists(TEXT, min_size=count, max_size=count)
    people = st.lists(st.sampled_from("pqrs"), min_size=count, max_size=count)
    return {"a": draw(column), "b": draw(column), "s": draw(column), "x": draw(column), "p": draw(people)}


@pytest.mark.parametrize("kind", MAKERS)
def test_conformance(kind):
    check_engine(make_source(kind))


def test_a_wrong_engine_is_found():
    """An engine that forgets a row, or keeps the order of the source, does not pass."""

    class Forgetful:
        def __init__(self, cells):
            self.source = make_source("polars")(cells)

        def __getattr__(self, name):
            return getattr(self.source, name)

    class KeepsOrder(Forgetful):
        def recode(self, recoding, **how):
            return self.source.recode(recoding, **how).reverse()

    class Confuses(Forgetful):
        """Publishes one value of a leaf for all that share it."""

        def recode(self, recoding, **how):
            rows = self.source.recode(recoding, **how)
            alike = pl.col("s").last().over(pl.col("s").str.len_chars())
            return rows.with_columns(alike) if recoding.table.column("s").taxonomy.aliases else rows

    assert check_engine(Forgetful) is None
    with pytest.raises(AssertionError, match="rows of shared leaves"):
        check_engine(Confuses)
    with pytest.raises(AssertionError, match="published rows"):
        check_engine(KeepsOrder)
    with pytest.raises(AssertionError, match="counted rows"):
        check_engine(lambda cells: make_source("polars")({n: c[1:] for n, c in cells.items()}))


@pytest.mark.parametrize("kind", MAKERS)
@given(table=cells(), missing=st.sampled_from([Missing.OWN_VALUE, Missing.SUPPRESS]), people=st.booleans())
@settings(max_examples=12, deadline=None)
def test_random_tables(kind, table, missing, people):
    given_ = codings(["a", "b"], ["s"])
    person = "p" if people else None
    source = make_source(kind)(table)
    coded = source.count(given_, missing=missing, person=person)
    expected = counted(table, given_, missing=missing, person=person)
    people_at = sorted({row[-1] for row in expected}) if people else []
    assert decoded(coded) == {
        (*row[:-1], str(people_at.index(row[-1]))) if people else row: n for row, n in expected.items()
    }
    assert coded.people == (len({row[-1] for row in expected}) if people else coded.rows)
    for recoding in recodings(coded):
        got = read(source.recode(recoding, drop=["p"]))
        assert list(zip(*got.values(), strict=True)) == published(table, recoding, ["p"])


@pytest.mark.parametrize("kind", MAKERS)
@given(table=cells(), build=st.sampled_from([flat, by_length]), people=st.booleans())
@settings(max_examples=12, deadline=None)
def test_what_is_not_generalized_is_published_as_it_was(kind, table, build, people):
    """Row by row, the other columns of the rows that are kept; whatever the taxonomies hold to be one."""
    untouched = ("s", "x", "p")
    source = make_source(kind)(table)
    coded = source.count(codings(["a", "b"], ["s"], build=build), person="p" if people else None)
    for recoding in recodings(coded):
        got = read(source.recode(recoding))
        kept = published(table, recoding)
        assert Counter(zip(*(got[name] for name in untouched), strict=True)) == Counter(r[2:] for r in kept)
        if recoding.suppressed == 0:
            whole = zip(*(table[name] for name in untouched), strict=True)
            assert Counter(r[2:] for r in kept) == Counter(whole)


@given(table=cells())
@settings(max_examples=25, deadline=None)
def test_every_engine_counts_the_same(table):
    digests = {
        kind: make_source(kind)(table).count(codings(["a", "b"], ["s"]), person="p").digest for kind in MAKERS
    }
    assert len(set(digests.values())) == 1, digests


@given(table=cells())
@settings(max_examples=25, deadline=None)
def test_written_files_read_back(table, tmp_path_factory):
    source = open_source(MAKERS["pyarrow"](table))
    folder = tmp_path_factory.mktemp("out")
    for i, recoding in enumerate(recodings(source.count(codings(["a", "b"], ["s"])))):
        expected = published(table, recoding, ["p"])
        for ending in ("csv", "parquet"):
            path = source.write(recoding, folder / f"{i}.{ending}", drop=["p"])
            again = open_source(path)
            assert again.columns == ("a", "b", "s", "x")
            survey = again.survey()
            assert survey.rows == len(expected)
            back = again.count(codings(["a", "b"], ["s", "x"]))
            assert decoded(back) == counted(
                dict(zip("absx", zip(*expected, strict=True), strict=True))
                if expected
                else dict.fromkeys("absx", ()),
                codings(["a", "b"], ["s", "x"]),
            )
