"""Spellings of one value: told twice, by the search's code and by the judge's, and counted alike."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.beta_likeness.promise import BasicBetaLikeness, EnhancedBetaLikeness
from sfumato.models.confidence.promise import ConfidenceBounding
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.system.errors import BadPolicy
from sfumato.table.classes import Classes, histogram
from sfumato.table.spelling import Folding, Spelling, meaning, meanings
from sfumato.table.taxonomy import Taxonomy
from sfumato.verify.cells import folded, one_value_each

SAME = [
    (
        "HIV",
        "hiv",
        "HIV ",
        " H.I.V.",
        "\uff28\uff29\uff36",
        "H\u00cdV",
        "H I V",
        "h-i-v",
        "\u200bHIV",
        '"HIV"',
    ),
    ("Stra\u00dfe", "STRASSE", "strasse"),
    ("HIV-1", "hiv 1", "HIV1"),
    ("HIV-", "HIV -", "hiv\u2212"),
    ("1.50", "1.5", "+1.5", "\uff11.5"),
    ("0", "-0", "0.0", "-0.00"),
]
MISSING = ("", " ", "NA", "n/a", "N.A.", "#N/A", "null", "None", "NaN", "unknown", "?", "--", "*", ".", None)
APART = (
    "HIV",
    "HIV+",
    "HIV-",
    "HIV?",
    "1.5",
    "1,5",
    "15",
    "1 5",
    "-5",
    "5",
    "007",
    "7",
    "score -1",
    "score 1",
    "\u304c",
    "\u304b",
)

characters = st.one_of(
    st.sampled_from(
        [
            *"HIVhiv0129 .,-+/_'\"()[]?*#<>=%|\t",
            *"\u00e9\u00df\uff21\u304c\u0301\u200b\u00ad\u2212\u2013\ufb01\u0130\u03c3\u00b2\u2460\u0439\u0327\u0663\x1f\u1fb3\u0345",
        ]
    ),
    st.characters(exclude_categories=["Cs"]),
)
texts = st.text(characters, max_size=7)


@pytest.mark.parametrize("spellings", SAME)
def test_spellings_of_one_value(spellings):
    assert len({meaning(text) for text in spellings}) == 1
    assert meaning(spellings[0]) is not None


@pytest.mark.parametrize("text", MISSING)
def test_words_for_nothing(text):
    assert meaning(text) is None


def test_values_that_differ_stay_apart():
    assert len({meaning(text) for text in APART}) == len(APART)


@given(texts)
def test_both_judges_fold_alike(text):
    assert folded(text) == meaning(text)


@given(texts)
def test_writing_a_value_otherwise_changes_nothing(text):
    said = meaning(text)
    for other in (f" {text}\t", f"\u200b{text}", unicodedata.normalize("NFD", text)):
        assert meaning(other) == said


@given(st.lists(st.one_of(st.none(), texts), unique=True, max_size=8), st.sampled_from(Spelling))
def test_both_judges_number_alike(labels, spelling):
    ours, theirs = meanings(labels, spelling), one_value_each(labels, spelling.value)
    assert ((ours < 0) == (theirs < 0)).all()
    assert ((ours[:, None] == ours) == (theirs[:, None] == theirs)).all()


def test_what_was_folded_is_told_in_counts():
    folding = Folding.of(["HIV", "hiv", "H.I.V.", "flu", "n/a", "?", None])
    assert (folding.texts, folding.values, folding.missing) == (3, 1, 2)
    assert not Folding.of(["HIV", "flu", None])


LABELS = ["HIV", "hiv", "flu", "n/a", None]


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(any), min_size=1, max_size=4))
def test_promises_count_meanings(grid):
    """Against the definition, on the counts of the meanings: missing cells are not among values."""
    tree = Taxonomy.flat(LABELS).spelled(Spelling.FOLDED)
    counts = np.array(grid)
    owner, values = np.nonzero(counts)
    one = histogram(tree, owner, values.astype(np.int32), counts[owner, values], len(grid))
    classes = Classes(one.totals, one.totals, {"d": one})
    for i, (hiv, small, flu, unknown, empty) in enumerate(grid):
        known = [n for n in (hiv + small, flu) if n]
        everyone, missing, largest = sum(grid[i]), unknown + empty, max(known, default=0)
        said = {
            DistinctLDiversity("d", 2): len(known) >= 2,
            EntropyLDiversity("d", Fraction(2)): len(known) == 2 and known[0] == known[1],
            RecursiveLDiversity("d", 2, Fraction(2)): len(known) == 2 and max(known) < 2 * min(known),
            ConfidenceBounding("d", Fraction(1, 2)): 2 * largest <= sum(known) and 2 * missing <= everyone,
        }
        for promise, expected in said.items():
            assert bool(promise.holds_on(classes)[i]) == expected, promise


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(any), min_size=1, max_size=4),
    st.fractions(Fraction(1, 4), 4, max_denominator=8),
    st.sampled_from([BasicBetaLikeness, EnhancedBetaLikeness]),
)
def test_likeness_is_kept_by_texts_and_by_values(grid, beta, kind):
    """Against itself on a table in which every text is a value, once as it is and once with one spelling, and
    on those who have a value."""
    folded = [[hiv + small, flu, unknown + empty] for hiv, small, flu, unknown, empty in grid]
    apart = _one_column([*LABELS[:-1], "nothing said"], grid)
    joined = _one_column(["hiv", "flu", "-"], folded)
    meant = _one_column(LABELS, grid, Spelling.FOLDED)
    promise = kind("d", beta)
    expected = promise.holds_on(apart) & promise.holds_on(joined)
    some = [i for i, row in enumerate(folded) if row[0] + row[1]]
    if some:
        expected[some] &= promise.holds_on(_one_column(["hiv", "flu"], [folded[i][:2] for i in some]))
    assert (promise.holds_on(meant) == expected).all()
    assert bool(promise.verdict(meant).holds) == bool(expected.all())
    if kind is BasicBetaLikeness and not any(row[2] for row in folded):
        assert (expected == promise.holds_on(apart)).all(), "a value gains no more than one of its spellings"


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any), min_size=1, max_size=4),
    st.fractions(0, 1, max_denominator=8),
)
def test_closeness_of_texts_is_the_stricter_one(grid, t):
    """Texts that are one value lie no nearer to the table than that value does, so they are not folded."""
    texts, promise = _one_column(["HIV", "hiv", "flu"], grid, Spelling.FOLDED), TCloseness("d", t)
    values = _one_column(["hiv", "flu"], [[hiv + small, flu] for hiv, small, flu in grid])
    assert (promise.holds_on(texts) <= promise.holds_on(values)).all()
    assert (promise.holds_on(texts) == promise.holds_on(_one_column(["HIV", "hiv", "flu"], grid))).all()


def test_spellings_have_no_places_in_an_order():
    """In the order low, Low, high everybody of a class who has Low would be halfway to those with high."""
    ordered, labels = TCloseness("d", Fraction(1, 4), "ordered"), ["low", "Low", "high"]
    grid = [[0, 2, 0], [0, 0, 2]]
    assert ordered.holds_on(_one_column(labels, grid, Spelling.FOLDED)).tolist() == [False, False]
    with pytest.raises(BadPolicy, match="1 texts of d are other spellings"):
        ordered.holds_on(_one_column(labels, [[1, 1, 0], [0, 0, 2]], Spelling.FOLDED))
    assert ordered.verdict(_one_column(labels, [[1, 1, 0], [0, 0, 2]])).measured is not None


def _one_column(labels, grid, spelling=Spelling.EXACT):
    tree, counts = Taxonomy.flat(labels).spelled(spelling), np.array(grid)
    owner, values = np.nonzero(counts)
    one = histogram(tree, owner, values.astype(np.int32), counts[owner, values], len(grid))
    return Classes(one.totals, one.totals, {"d": one})


def test_two_spellings_do_not_make_a_common_value_rare():
    """Half of a table has HIV, in two spellings; in one class everybody. Each spelling may gain as much as it
    does, since a quarter is rarer than a half, and everybody in the class has HIV for certain."""
    classes = _one_column(["HIV", "hiv", "flu"], [[2, 2, 0], [0, 0, 4]], Spelling.FOLDED)
    exact = _one_column(["HIV", "hiv", "flu"], [[2, 2, 0], [1, 1, 4]])
    assert EnhancedBetaLikeness("d", 4).holds_on(classes).tolist() == [False, False]
    assert EnhancedBetaLikeness("d", 4).holds_on(exact)[0]


@pytest.mark.parametrize("labels", [["a", "n/a", "b", None], ["a", None, "b", "c"], ["a", "A", "n/a", "b"]])
@given(grid=st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=4))
def test_a_histogram_of_meanings_counts_them_class_by_class(labels, grid):
    tree = Taxonomy.flat(labels).spelled(Spelling.FOLDED)
    counts = np.array(grid)
    owner, values = np.nonzero(counts)
    one = histogram(tree, owner, values.astype(np.int32), counts[owner, values], len(grid))
    meant = tree.meanings.tolist()
    told = one.by_meaning(missing=False)
    for index, row in enumerate(grid):
        expected = {}
        for rank, count in zip(meant, row, strict=True):
            if rank >= 0 and count:
                expected[rank] = expected.get(rank, 0) + count
        assert told.of_class(index) == expected
    assert told.overall.sum() == sum(row[i] for row in grid for i in range(4) if meant[i] >= 0)
