"""Figures of two tables, each against a slow count over single rows and single leaves."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.reports.paired_tables import BareTexts, TreeTexts, numbers_of, read_tables
from sfumato.reports.usefulness import (
    column_figures,
    correlation,
    mutual_information,
    pair_figures,
    query_figures,
    table_figures,
)
from sfumato.search.loss import measure
from sfumato.system.errors import BadData
from sfumato.table.published_texts import numeric_ends
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

POLICY = {
    "columns": {
        "age": {"role": "quasi", "taxonomy": {"intervals": [2, 4], "from": 0, "to": 8}},
        "town": {
            "role": "quasi",
            "taxonomy": {"rows": [["Rome", "South"], ["Bari", "South"], ["Turin", "North"]]},
        },
        "ill": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "price": "none", "suppress": "30%"},
    "confirm": {"ill": True},
}


@st.composite
def people(draw):
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 7), st.sampled_from(["Rome", "Bari", "Turin"]), st.sampled_from("abc")),
            min_size=4,
            max_size=14,
        )
    )
    return pd.DataFrame(rows, columns=["age", "town", "ill"])


@st.composite
def published(draw):
    raw = draw(people())
    search = draw(st.sampled_from(["top-down", "lattice", "mondrian", "local"]))
    protect = {"search": search, "suppress": "30%" if search in ("top-down", "lattice") else 0}
    policy = sf.Policy.from_dict({**POLICY, "protect": protect})
    plan = sf.protect(raw, policy)
    return raw, plan.apply(raw), plan


def paired(raw, safe, policy):
    return read_tables(open_source(raw), open_source(safe), policy)


def leaves_of(policy, raw, name, text):
    """Every leaf that a published text covers, found by asking each node and each range for its leaves."""
    tree = policy.columns[name].taxonomy.build([str(x) for x in raw[name].unique()])
    return list(range(*tree.span(text)))


@given(published())
def test_table_figures_are_those_that_plans_are_measured_by(case):
    raw, safe, plan = case
    figures = table_figures(paired(raw, safe, plan.policy))
    assert figures.suppressed == plan.suppressed
    assert figures.classes == plan.classes
    assert figures.granularity == pytest.approx(1 - measure("loss", plan.recoding))
    assert figures.discernibility == measure("discernibility", plan.recoding)
    assert figures.class_size == pytest.approx(len(safe) / plan.classes / 2)


@given(published())
def test_key_cells_that_tell_nothing_are_counted_one_by_one(case):
    raw, safe, plan = case
    lost = 2 * (len(raw) - len(safe))
    for name in ("age", "town"):
        everything = len(plan.recoding.table.column(name).taxonomy.leaves)
        alike = raw[name].nunique() > 1 and safe[name].nunique() == 1
        several = raw[name].nunique() > 1
        lost += sum(
            several and (alike or len(leaves_of(plan.policy, raw, name, text)) == everything)
            for text in safe[name]
        )
    figures = table_figures(paired(raw, safe, plan.policy))
    assert (figures.cells_lost, figures.cells) == (lost, 2 * len(raw))


@given(published())
def test_distributions_and_pairs_against_rows_spread_over_their_leaves(case):
    raw, safe, plan = case
    tables = paired(raw, safe, plan.policy)
    spread = []
    for row in safe.itertuples():
        ages, towns = (
            leaves_of(plan.policy, raw, "age", row.age),
            leaves_of(plan.policy, raw, "town", row.town),
        )
        spread += [(a, t, Fraction(1, len(ages) * len(towns))) for a, t in product(ages, towns)]
    tree = plan.policy.columns["town"].taxonomy.build(sorted(raw["town"].unique()))
    before = Counter((age, tree.rank(town)) for age, town in zip(raw["age"], raw["town"], strict=True))
    after = Counter()
    for age, town, share in spread:
        after[age, town] += share
    cells = set(before) | set(after)
    apart = sum(abs(Fraction(before[c], len(raw)) - Fraction(after[c]) / len(safe)) for c in cells) / 2
    pair = {p.columns: p for p in pair_figures(tables)}.get(("age", "town"))
    if pair is not None:
        assert pair.distance == pytest.approx(float(apart))
    alone = Counter()
    for (age, _), weight in after.items():
        alone[age] += Fraction(weight) / len(safe)
    for (age, _), weight in before.items():
        alone[age] -= Fraction(weight, len(raw))
    (age,) = (column_figures(tables, c) for c in tables.columns if c.name == "age")
    assert age.distance == pytest.approx(float(sum(map(abs, alone.values())) / 2))
    running = np.abs(np.cumsum([float(alone[a]) for a in range(8)])).sum() / 7
    assert age.moved == pytest.approx(running)


@given(people())
def test_a_table_that_is_published_as_it_is_kept_everything(raw):
    tables = paired(raw, raw, None)
    figures = table_figures(tables)
    assert (figures.cells_lost, figures.suppressed, figures.granularity) == (0, 0, 1.0)
    assert all(column_figures(tables, c).distance == pytest.approx(0) for c in tables.columns)
    assert all(p.distance == pytest.approx(0) for p in pair_figures(tables))
    asked = query_figures(tables, queries=20)
    assert asked is None or asked.worst_tenth == pytest.approx(0)


@given(published(), st.integers(0, 5))
def test_the_same_seed_asks_the_same_queries_whatever_the_order_of_rows(case, seed):
    raw, safe, plan = case
    once = query_figures(paired(raw, safe, plan.policy), seed=seed, queries=20)
    turned = query_figures(paired(raw[::-1], safe[::-1], plan.policy), seed=seed, queries=20)
    assert once == turned


def test_a_query_counts_the_share_of_leaves_that_it_meets():
    raw = pd.DataFrame({"age": [0, 1, 2, 3] * 5})
    safe = pd.DataFrame({"age": ["0-3"] * 20})
    policy = sf.Policy.from_dict(
        {
            "columns": {"age": {"role": "quasi", "taxonomy": {"intervals": [4], "from": 0, "to": 4}}},
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    assert query_figures(paired(raw, safe, policy)).worst_tenth == pytest.approx(0)
    skewed = pd.DataFrame({"age": [0] * 17 + [1, 2, 3]})
    assert query_figures(paired(skewed, safe, policy)).median > 0.2


def test_correlation_and_information_of_known_tables():
    rows = np.array([1, 1, 1, 1])
    assert correlation(np.array([1.0, 2, 3, 4]), np.array([4.0, 3, 2, 1]), rows) == -1
    assert correlation(np.array([1.0, 2, 3, np.nan]), np.array([5.0, 5, 5, 1]), rows) == 0
    assert mutual_information(np.array([[0.25, 0.25], [0.25, 0.25]])) == 0
    numbers = np.random.default_rng(3).normal(size=(2, 50))
    weights = np.random.default_rng(4).integers(1, 5, 50)
    expanded = np.repeat(numbers, weights, axis=1)
    assert correlation(*numbers, weights) == pytest.approx(np.corrcoef(expanded)[0, 1])


@pytest.mark.parametrize(
    ("values", "text", "covered"),
    [
        (["3", "20", "29", "30"], "20-29", {"20", "29"}),
        (["3", "20", "29", "30"], "[20, 30)", {"20", "29"}),
        (["3", "20", "29", "30"], "20–30", {"20", "29", "30"}),
        (["3", "20", "29", "30"], "<20", {"3"}),
        (["3", "20", "29", "30"], "29+", {"29", "30"}),
        (["-5", "-1", "4"], "-5 to -1", {"-5", "-1"}),
        (["02138", "02139", "03000"], "0213*", {"02138", "02139"}),
        (["02138", "02139", "03000"], "*****", {"02138", "02139", "03000"}),
        (["1953-02-01", "1957-12-31", "1958-01-01"], "1953–1957", {"1953-02-01", "1957-12-31"}),
        (["1953-02-01", "1957-12-31", "1958-01-01"], "1950-1957", {"1953-02-01", "1957-12-31"}),
        (["1953-02-01", "1957-12-31", "1958-01-01"], "1957-12", {"1957-12-31"}),
        (["a", None], None, {None}),
    ],
)
def test_texts_are_read_without_a_policy(values, text, covered):
    texts = BareTexts(values)
    low, high = texts.span(text)
    assert set(texts.leaves[low:high]) == covered


@pytest.mark.parametrize("text", ["North", "40-49", "0213x", "1900"])
def test_a_text_that_cannot_be_read_is_no_span(text):
    assert BareTexts(["3", "20"]).span(text) is None
    assert BareTexts(["b", "a"]).span(text) is None


def test_a_code_with_a_leading_zero_is_no_number():
    assert numbers_of(["02138", "10"]) is None
    assert numeric_ends("021-029") is None


@given(st.lists(st.integers(0, 60), min_size=1, unique=True), st.integers(0, 60), st.integers(0, 60))
def test_intervals_hold_exactly_the_numbers_between_their_ends(values, one, other):
    low, high = sorted((one, other))
    texts = BareTexts([str(v) for v in values])
    for text, among in (
        (f"{low}-{high}", range(low, high + 1)),
        (f"[{low}, {high + 1})", range(low, high + 1)),
    ):
        span = texts.span(text) or (0, 0)
        assert {int(v) for v in texts.leaves[slice(*span)]} == set(values) & set(among)


def test_a_text_of_several_nodes_stands_for_all_their_leaves():
    tree = Taxonomy.grow(["*", "Other", "Other", "a", "b"], [-1, 0, 1, 1, 0])
    assert TreeTexts(tree).span("Other") == (0, 2)


def test_a_range_below_the_first_published_level_is_read_at_that_level():
    policy = {
        "columns": {
            "age": {"role": "quasi", "start": 1, "taxonomy": {"intervals": [2, 4], "from": 0, "to": 8}},
        },
        "promises": [{"k-anonymity": {"k": 3}}],
        "protect": {"suppress": 0, "search": "mondrian"},
    }
    raw = pd.DataFrame({"age": [0, 1, 2, 3, 4, 5, 6, 7, 7]})
    tables = paired(raw, pd.DataFrame({"age": ["[0, 6)"] * 5 + ["[6, 8)"] * 4}), sf.Policy.from_dict(policy))
    (age,) = tables.columns
    assert sorted(zip(age.low.tolist(), age.high.tolist(), strict=True)) == [(0, 6), (6, 8)]


def test_tables_that_are_not_two_versions_of_one_are_refused():
    raw, more = pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 2, 3]})
    with pytest.raises(BadData, match="3 rows and the original 2"):
        paired(raw, more, None)
    with pytest.raises(BadData, match="no column in common"):
        paired(raw, pd.DataFrame({"b": [1]}), None)
