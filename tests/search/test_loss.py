"""Every loss against its formula, cell by cell, in plain Python."""

from dataclasses import replace
from fractions import Fraction
from math import isclose, log2, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.search.loss import MEASURES, measure
from sfumato.system.errors import UsageError
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import SUPPRESSED, Recoding, classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import all_recodings, tables, taxonomies


@st.composite
def recodings(draw, *, levels=False):
    """A recoding with some classes suppressed; with `levels`, a full-domain one."""
    table = draw(tables(rows=8, keys=2, sensitive=0))
    table = replace(table, dropped=draw(st.integers(0, 2)))
    if levels:
        chosen = {c.name: draw(st.integers(0, c.taxonomy.height)) for c in table.keys}
        cuts = {c.name: Cut.level(c.taxonomy, chosen[c.name]) for c in table.keys}
    else:
        chosen, cuts = None, draw(st.sampled_from(all_recodings(table)))
    _, nodes = classes_under(table, cuts)
    keep = np.array([draw(st.booleans()) for _ in range(len(nodes))], dtype=bool)
    return Recoding.of_cuts(table, cuts, keep=keep), chosen


weights = st.fixed_dictionaries(
    {"q0": st.sampled_from([Fraction(1), Fraction(5, 2)]), "q1": st.just(Fraction(1))}
)


class Plain:
    """The table row by row: `rows` holds (class or None, leaf ranks)."""

    def __init__(self, recoding, chosen, weighing):
        table = recoding.table
        self.recoding, self.chosen = recoding, chosen
        self.trees = [c.taxonomy for c in table.keys]
        codes = [table.codes(c.name).tolist() for c in table.keys]
        self.rows = []
        for i, count in enumerate(table.counts.tolist()):
            c = int(recoding.class_of[i])
            self.rows += [(None if c == SUPPRESSED else c, tuple(column[i] for column in codes))] * count
        self.n = len(self.rows) + table.dropped
        self.s = sum(c is None for c, _ in self.rows) + table.dropped
        self.dropped = table.dropped
        self.weights = [weighing.get(c.name, 1) for c in table.keys]
        self.cuts = [recoding.cuts[c.name] for c in table.keys]

    def span(self, c, j):
        return int(self.recoding.low[c, j]), int(self.recoding.high[c, j])

    def share(self, j):
        domain = len(self.trees[j].leaves)
        if self.n == 0 or domain == 1:
            return Fraction(self.s, max(1, self.n))
        total = Fraction(self.dropped)
        for c, _ in self.rows:
            low, high = (0, domain) if c is None else self.span(c, j)
            total += Fraction(high - low, domain)
        least = Fraction(self.n, domain)
        return (total - least) / (self.n - least)

    def mean(self, values):
        pairs = list(zip(self.weights, values, strict=True))
        return float(sum(w * v for w, v in pairs) / sum(self.weights))

    def loss(self):
        return self.mean([self.share(j) for j in range(2)])

    def geometric(self):
        total = sum(self.weights)
        factors = zip(self.weights, range(2), strict=True)
        return prod((1 + float(self.share(j))) ** float(w / total) for w, j in factors) - 1

    def entropy(self):
        return sum(float(w) * self.bits(j) for j, w in enumerate(self.weights))

    def bits(self, j):
        count = [sum(codes[j] == v for _, codes in self.rows) for v in range(len(self.trees[j].leaves))]
        lost, gone = 0.0, {}
        for c, codes in self.rows:
            node = int(self.cuts[j].node_of[codes[j]])
            low, high = int(self.trees[j].low[node]), int(self.trees[j].high[node])
            lost += log2(sum(count[low:high]) / count[codes[j]])
            if c is None:
                gone[node] = gone.get(node, 0) + 1
        return lost - sum(c * log2(c / sum(gone.values())) for c in gone.values())

    def precision(self):
        return self.mean([self.climbed(j) for j in range(2)])

    def climbed(self, j):
        tree, total = self.trees[j], Fraction(self.s)
        for c, _ in self.rows:
            if c is None:
                continue
            low, high = self.span(c, j)
            reach = [i for i, nodes in enumerate(tree.levels) if tree.high[nodes[low]] >= high]
            level = reach[0] if self.chosen is None else self.chosen[f"q{j}"]
            total += Fraction(level, max(1, tree.height))
        return total / self.n if self.n else Fraction(0)

    def discernibility(self):
        sizes = [sum(c == which for c, _ in self.rows) for which in range(self.recoding.count)]
        return float(sum(size**2 for size in sizes) + self.s * self.n)

    def discernibility_star(self):
        nodes = [
            tuple(int(cut.node_of[v]) for cut, v in zip(self.cuts, codes, strict=True))
            for _, codes in self.rows
        ]
        return float(sum(nodes.count(node) ** 2 for node in set(nodes)) + self.dropped**2)

    def class_size(self):
        classes = len({c for c, _ in self.rows if c is not None}) + (self.s > 0)
        return self.n / classes if classes else 0.0

    def height(self):
        return float(sum(w * self.chosen[f"q{j}"] for j, w in enumerate(self.weights)))


@pytest.mark.parametrize("name", [n for n in MEASURES if n != "height"])
@given(data=st.data(), weighing=weights)
def test_formula_on_any_cuts(name, data, weighing):
    recoding, _ = data.draw(recodings())
    expected = getattr(Plain(recoding, None, weighing), name.replace("-", "_"))()
    assert isclose(measure(name, recoding, weights=weighing), expected, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("name", ["precision", "height"])
@given(data=st.data(), weighing=weights)
def test_formula_on_levels(name, data, weighing):
    recoding, chosen = data.draw(recodings(levels=True))
    expected = getattr(Plain(recoding, chosen, weighing), name)()
    assert isclose(measure(name, recoding, chosen, weighing), expected, rel_tol=1e-12, abs_tol=1e-12)


@given(tables(rows=8, keys=2, sensitive=0, min_rows=1))
def test_nothing_done_loses_nothing_and_everything_done_loses_all(table):
    leaves = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
    root = {c.name: Cut.root(c.taxonomy) for c in table.keys}
    trivial = all(len(c.taxonomy.leaves) == 1 for c in table.keys)
    for name in ("loss", "geometric", "entropy", "precision"):
        assert measure(name, Recoding.of_cuts(table, leaves)) == 0
    if not trivial and all(len(c.taxonomy.leaves) > 1 for c in table.keys):
        for name in ("loss", "geometric"):
            assert isclose(measure(name, Recoding.of_cuts(table, root)), 1)


@given(tables(rows=8, keys=2, sensitive=0), st.integers(0, 3))
def test_all_suppressed_costs_the_most_and_is_a_number(table, dropped):
    table = replace(table, dropped=dropped)
    cuts = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
    nothing = Recoding.of_cuts(table, cuts, keep=np.zeros(len(classes_under(table, cuts)[1]), dtype=bool))
    n = table.rows + dropped
    for name in ("loss", "geometric", "precision"):
        assert isclose(measure(name, nothing), 1.0 if n else 0.0)
    assert measure("discernibility", nothing) == n * n
    assert measure("class-size", nothing) == n
    levels = {c.name: 0 for c in table.keys}
    assert all(np.isfinite(measure(name, nothing, levels)) for name in MEASURES)


@given(taxonomies(leaves=6, ordered=True), st.data())
def test_ranges_of_a_local_recoding_are_measured_by_the_leaves_they_cover(taxonomy, data):
    """One class publishes a range that is no node: what Mondrian does."""
    leaves = len(taxonomy.leaves)
    low = data.draw(st.integers(0, leaves - 1))
    high = data.draw(st.integers(low + 1, leaves))
    column = Column("q0", Role.QUASI, taxonomy)
    table = Microdata.of_codes([column], [np.arange(low, high, dtype=np.int32)])
    recoding = Recoding(
        table,
        np.zeros(high - low, dtype=np.int32),
        np.array([[low]], dtype=np.int32),
        np.array([[high]], dtype=np.int32),
    )
    span = high - low
    assert isclose(measure("loss", recoding), (span - 1) / (leaves - 1) if leaves > 1 else 0)
    assert isclose(measure("entropy", recoding), span * log2(span), abs_tol=1e-12)
    assert measure("discernibility", recoding) == measure("discernibility-star", recoding) == span**2
    assert 0 <= measure("precision", recoding) <= 1


def test_without_key_columns_only_sizes_count():
    table = Microdata.of_codes([Column("s", Role.SENSITIVE, Taxonomy.flat(["x"]))], [np.zeros(3, np.int32)])
    recoding = Recoding.of_cuts(table, {})
    assert [measure(name, recoding, {}) for name in MEASURES] == [0, 0, 0, 0, 9, 9, 3, 0]


def test_calls_that_make_no_sense():
    table = Microdata.of_codes([Column("q", Role.QUASI, Taxonomy.flat(["x", "y"]))], [np.zeros(3, np.int32)])
    recoding = Recoding.of_cuts(table, {"q": Cut.leaves(table.keys[0].taxonomy)})
    with pytest.raises(UsageError, match="unknown loss 'lost'"):
        measure("lost", recoding)
    with pytest.raises(UsageError, match="full-domain"):
        measure("height", recoding)
    for bad in (Fraction(-1), Fraction(0)):
        with pytest.raises(UsageError, match="weights"):
            measure("loss", recoding, weights={"q": bad})
