"""A survey taken on the way is the same as one taken by itself, and never stops what rows are read for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.system.errors import BadData
from sfumato.system.memory import Memory
from sfumato.table.form_of_source import RowSource
from sfumato.table.microdata import Coding, Role, SetForm
from sfumato.table.observers import survey_on_first_pass, survey_with_sets
from sfumato.table.source import open_source
from sfumato.testing.engines import codings
from table.kinds import MAKERS
from table.test_term_sets import BITS, KINDS, LISTS, TEXT, flat

CELLS = {
    "age": ["30", "31", None, "30", "31"],
    "day": ["2026-01-01", None, "2026-01-02", "2026-01-02", "2026-01-03"],
    "who": ["a", "b", "c", "d", "A"],
}


def as_lists(survey):
    return survey.rows, {
        name: (c.kind, c.distinct, c.missing, c.values, c.counts.tolist(), c.complete)
        for name, c in survey.columns.items()
    }


class Reports(list):
    """What was reported."""

    def __call__(self, columns, sets):
        self.append((columns, sets))


@pytest.mark.parametrize("kind", MAKERS)
def test_the_first_pass_surveys_and_counts(kind):
    source, reports = open_source(MAKERS[kind](CELLS)), Reports()
    surveying = survey_on_first_pass(source, ["day", "who"], {}, reports)
    asked = codings(["age"], ["who"])
    for _ in range(2):
        assert surveying.count(asked).digest == source.count(asked).digest
    [(columns, sets)] = reports
    assert as_lists(columns) == as_lists(source.survey(["day", "who"]))
    assert as_lists(sets) == (0, {})
    assert surveying.kind == source.kind
    assert surveying.columns == source.columns


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("data", "form"), [(TEXT, SetForm("|")), (LISTS, SetForm()), (BITS, SetForm(parts=("a", "b", "c")))]
)
def test_term_sets_are_surveyed_as_they_are_counted(kind, data, form):
    source, reports = open_source(KINDS[kind](data)), Reports()
    table = source.count([Coding("sym", Role.QUASI_SENSITIVE, flat, form)])
    counted = (table.column("sym").taxonomy.leaf_labels, table.counts.tolist())
    survey_on_first_pass(source, ["x"], {"sym": form}, reports).count(codings(["age"]))
    [(columns, sets)] = reports
    assert (sets.columns["sym"].values, sets.columns["sym"].counts.tolist()) == counted
    together = survey_with_sets(source, ["x"], {"sym": form})
    assert [as_lists(survey) for survey in together] == [as_lists(columns), as_lists(sets)]


def test_a_source_that_can_only_count_is_surveyed_alike():
    source = open_source(pa.table(TEXT))

    class Counting:
        def survey(self, names, **more):
            return source.survey(names, **more)

        def count(self, *given, **more):
            return source.count(*given, **more)

    form = {"sym": SetForm("|")}
    foreign = [as_lists(s) for s in survey_with_sets(Counting(), ["age", "x"], form)]
    assert foreign == [as_lists(s) for s in survey_with_sets(source, ["age", "x"], form)]
    assert survey_on_first_pass(Counting(), ["age"], form, Reports()) is None


def test_a_survey_that_fails_does_not_stop_the_pass():
    """One part of the set is neither 0 nor 1; the pass does not look at it."""
    data = {**BITS, "b": ["1", "0", "x", "0"]}
    source, reports = open_source(pa.table(data)), Reports()
    surveying = survey_on_first_pass(source, ["age"], {"sym": SetForm(parts=("a", "b"))}, reports)
    assert surveying.count(codings(["age"])).rows == 4
    assert reports == []
    with pytest.raises(BadData, match="must hold 0 and 1"):
        survey_with_sets(source, ["age"], {"sym": SetForm(parts=("a", "b"))})


def test_a_pass_that_ends_early_reports_nothing_and_the_next_one_does():
    source, reports = open_source(pa.table(CELLS)), Reports()
    surveying = survey_on_first_pass(source, ["who"], {}, reports)
    batches = surveying.reader.batches(["age"])
    assert next(batches).schema.names == ["age"]
    batches.close()
    assert reports == []
    surveying.count(codings(["age"]))
    assert as_lists(reports[0][0]) == as_lists(source.survey(["who"]))


def test_a_pass_without_columns_is_surveyed_too():
    reports = Reports()
    surveying = survey_on_first_pass(open_source(pa.table(CELLS)), ["who"], {}, reports)
    assert surveying.count([]).rows == 5
    assert reports[0][0].rows == 5
    assert np.array_equal(reports[0][0].columns["who"].counts, [1] * 5)


def test_a_limit_of_memory_is_for_the_pass_alone():
    source = RowSource(open_source(pa.table(CELLS)).reader, Memory.of("2GB"))
    assert survey_on_first_pass(source, ["who"], {}, Reports()) is None
