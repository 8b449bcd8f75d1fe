"""Rows of nobody: somebody is charged with them no more often than is stated, whatever texts stand for."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipients.simulated import ladder
from recipients.toy_ledger import ToyLedger, at_levels
from sfumato.recipients.evidence import charging_shares, levels_of_one_pattern
from sfumato.recipients.leak import Leak
from sfumato.recipients.trace import trace_leak
from sfumato.recipients.traced_versions import IssuedVersions
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

LEAKS = 500


def repeating(size, fan):
    """A ladder; in every group of values the first has the text of the group."""
    tree = ladder(size, fan)
    labels = list(tree.labels)
    for leaf in tree.leaves[::-1].tolist():
        above = int(tree.parent[leaf])
        if leaf == above + 1:
            labels[leaf] = labels[above]
    return Taxonomy.grow(labels, tree.parent)


class Village:
    """A table, versions of it, and leaks; of the `partial` versions every other row is suppressed."""

    def __init__(self, trees, rows, patterns, seed=1, partial=()):
        rng = np.random.default_rng(seed)
        kind = rng.random(rows)
        columns, codes = [], []
        for j, tree in enumerate(trees):
            size = len(tree.leaves)
            place = kind * (size - 1) + rng.normal(0, size / 8, rows)
            columns.append(Column(f"c{j}", Role.QUASI, tree))
            codes.append(np.clip(np.rint(place), 0, size - 1).astype(np.int32))
        self.table = Microdata.of_codes(columns, codes)
        self.margins = codes
        self.ledger = ToyLedger()
        half = Microdata.of_codes(columns, [own[::2] for own in codes])
        for i, levels in enumerate(patterns):
            shown, lost = (half, rows - len(codes[0][::2])) if i in partial else (self.table, 0)
            self.ledger.give(f"P{i}", shown, at_levels(self.table, levels), event="e", suppressed=lost)
        self.issued = IssuedVersions.of(self.ledger.records)

    def trace(self, codes, levels, *, max_coalition_size=1):
        names = tuple(c.name for c in self.table.keys)
        texts, which = [], []
        for column, own, level in zip(self.table.keys, codes, levels, strict=True):
            said = [column.taxonomy.labels[v] for v in column.taxonomy.levels[level][own].tolist()]
            different = sorted(set(said))
            texts.append(tuple(different))
            which.append(np.array([different.index(text) for text in said], np.int32))
        rows, counts = np.unique(np.stack(which, axis=1), axis=0, return_counts=True)
        known = frozenset(names)
        leak = Leak(names, names, tuple(texts), tuple(rows.T), counts, self.issued.columns, fixed=known)
        return trace_leak(
            leak, self.issued, memory=self.ledger.memories.__getitem__, max_coalition_size=max_coalition_size
        )

    def made_up(self, rng, *, most):
        """Rows from the margins at any combination of levels."""
        size = int(rng.integers(1, most))
        levels = [int(rng.integers(c.taxonomy.height + 1)) for c in self.table.keys]
        return [rng.choice(margin, size) for margin in self.margins], levels


@cache
def village(kind):
    grow = repeating if kind == "repeated texts" else ladder
    trees = [grow(27, 3), grow(16, 2), grow(9, 3), grow(8, 2)]
    heights = [tree.height for tree in trees]
    chosen = [p for p in product(*(range(h + 1) for h in heights)) if sum(p) == 6][::6]
    return Village(trees, 400, chosen)


def upper_limit(events, tries):
    """Clopper and Pearson's at 99 %, by trying."""
    chances = np.linspace(events / tries, 1, 20_001)[1:-1]
    k = np.arange(events + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, tries + 1)))))
    ways = (logs[tries] - logs[k] - logs[tries - k])[:, None]
    seen = np.exp(ways + k[:, None] * np.log(chances) + (tries - k)[:, None] * np.log1p(-chances)).sum(axis=0)
    return float(chances[seen > 0.01].max())


@pytest.mark.parametrize("kind", ["plain", "repeated texts"])
def test_outsiders_are_charged_less_often_than_is_stated(kind):
    house, rng, stated = village(kind), np.random.default_rng(14), []
    for _ in range(LEAKS):
        result = house.trace(*house.made_up(rng, most=8))
        if result.false_charge is not None:
            assert result.false_charge.probability == 0.001
            stated.append(result.false_charge.outside.probability)
    assert len(stated) > 10
    for chance in (0.02, 0.05, 0.1, max(stated)):
        charged = sum(one <= chance for one in stated)
        assert upper_limit(charged, LEAKS) < chance, f"{charged} of {LEAKS} were charged at {chance}"


SMALL = Taxonomy.grow(["*", "x", "y", "x", "z", "y1", "y2"], [-1, 0, 0, 1, 1, 2, 2])
"""A value has the text of the group above it."""


def test_a_pattern_that_two_hold_charges_the_one_whose_version_has_every_row():
    """From the other's version half of the rows were suppressed: it cannot be told from their absence there
    that nobody is charged."""
    house = Village([ladder(9, 3)] * 2, 12, [(0, 1), (0, 1)], partial={1})
    missing = [margin[1::2] for margin in house.margins]
    result = house.trace(missing, (0, 1))
    assert result.certain == ("P0",)
    share, as_coarse = charging_shares(result.evidence, (0, 1), single=True)
    alike = [levels for levels in product(range(3), repeat=2) if levels[1] >= 1]
    assert share == len(alike) / 9, "whatever both of them tell, from the finest pattern they hold upwards"
    assert as_coarse == 1 / 2, "(0, 1) and not (1, 0)"
    both = Village([ladder(9, 3)] * 2, 12, [(0, 1), (0, 1)])
    found = both.trace(missing, (0, 1))
    assert found.certain == () and charging_shares(found.evidence, (0, 1), single=True) == (0, 0)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=2, max_size=5, unique=True),
    st.integers(1, 2),
    st.integers(0, 999),
    st.sets(st.integers(0, 4)),
)
def test_every_pattern_that_charges_somebody_is_counted(patterns, max_coalition_size, seed, partial):
    """All patterns of three columns, each with a few draws of rows; some versions lack half of the rows."""
    house = Village([SMALL] * 3, 12, patterns, seed, partial)
    rng, charging = np.random.default_rng(seed), {}
    for levels in product(range(3), repeat=3):
        for size in (1, 3):
            rows = [rng.choice(margin, size) for margin in house.margins]
            result = house.trace(rows, levels, max_coalition_size=max_coalition_size)
            read = levels_of_one_pattern(result.leak)
            if result.certain and read is not None:
                single = any(len(chosen) == 1 for chosen in result.explanations.sets)
                charging.setdefault(single, {}).setdefault(levels, (result, read))
    for single, found in charging.items():
        for result, read in found.values():
            assert charging_shares(result.evidence, read, single=single)[0] >= len(found) / 27


def test_a_column_that_repeats_texts_is_still_of_one_pattern():
    house = village("repeated texts")
    whole = [
        np.arange(len(c.taxonomy.leaves))[np.arange(60) % len(c.taxonomy.leaves)] for c in house.table.keys
    ]
    assert levels_of_one_pattern(house.trace(whole, (0, 0, 0, 0)).leak) == (0, 0, 0, 0)


def test_card_and_document_show_both_chances_side_by_side():
    house = village("plain")
    levels = [house.issued.versions[0].cuts[j] for j in range(4)]
    trees = [house.issued.columns[c.name][0] for c in house.table.keys]
    at = [tree.level_of(cut) for tree, cut in zip(trees, levels, strict=True)]
    result = house.trace([margin[:20] for margin in house.margins], at)
    charge, words = result.false_charge, str(result)
    assert result.certain == ("P0",)
    assert "at most 0.001" in words
    assert "if recipients made it, at most 1 together" in words
    assert "if it is somebody else's table" in words
    for assumption in (*charge.assumptions, *charge.outside.assumptions):
        assert assumption in " ".join(words.split())
    document = result.as_dict()["false_charge"]
    assert document["probability"] == 0.001 <= document["outside"]["probability"]
    assert document["assumptions"] != document["outside"]["assumptions"]
    assert 0 <= charge.outside.pattern <= 1
    assert 0 <= charge.outside.as_coarse <= 1
