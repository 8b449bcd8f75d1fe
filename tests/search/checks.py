"""What the tests of the splitting searches share: random promises, and judging from scratch."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search.suppression import keep
from sfumato.table.classes import Classes
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy


@st.composite
def class_promises(draw):
    """One or two class promises, every kind, limits that tables of a dozen rows can meet."""
    kinds = {
        "k": lambda: KAnonymity(draw(st.integers(1, 4))),
        "distinct": lambda: DistinctLDiversity("s0", draw(st.integers(1, 3))),
        "entropy": lambda: EntropyLDiversity("s0", draw(st.sampled_from([Fraction(3, 2), Fraction(2)]))),
        "recursive": lambda: RecursiveLDiversity("s0", 2, draw(st.sampled_from([Fraction(1), Fraction(3)]))),
        "confidence": lambda: ConfidenceBounding(
            "s0", draw(st.sampled_from([Fraction(1, 2), Fraction(2, 3)]))
        ),
        "alpha": lambda: AlphaKAnonymity("s0", Fraction(3, 4), draw(st.integers(1, 4))),
        "t": lambda: TCloseness(
            "s0",
            draw(st.sampled_from([Fraction(1, 5), Fraction(2, 5)])),
            draw(st.sampled_from(["equal", "ordered", "hierarchical"])),
        ),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=2, unique=True))
    return Promises(tuple(kinds[kind]() for kind in chosen))


def crowded(seed, *, rows=30, keys=3, leaves=4, ordered=False):
    """A fuller table than hypothesis likes to make: balanced trees, one sensitive column of three values."""
    rng = np.random.default_rng(seed)
    values = [f"v{i}" for i in range(leaves)]
    middle = [leaves + 1 + 2 * i // leaves for i in range(leaves)]
    tree = Taxonomy.grow([*values, "*", "A", "B"], [*middle, -1, leaves, leaves], ordered=ordered)
    columns = [Column(f"q{j}", Role.QUASI, tree) for j in range(keys)]
    columns.append(Column("s0", Role.SENSITIVE, Taxonomy.flat(["x", "y", "z"])))
    codes = [rng.integers(0, len(c.taxonomy.leaves), rows).astype(np.int32) for c in columns]
    return Microdata.of_codes(columns, codes)


def kept_under(table, cuts, promises):
    """The classes under these cuts, and which are published, from scratch."""
    classes = Classes.of(table, classes_under(table, cuts)[0])
    return classes, keep(classes, promises)


def is_valid(table, cuts, promises, aim):
    """Whether a recoding is allowed, by the written definitions alone."""
    classes, kept = kept_under(table, cuts, promises)
    lost = int(classes.rows[~kept].sum()) + table.dropped
    return lost <= aim.allowed(table) and (not table.rows or bool(kept.any()))


def shuffled(table, seed):
    """The same rows, coded from another order."""
    order = np.random.default_rng(seed).permutation(table.rows)
    repeat = np.repeat(np.arange(table.distinct), table.counts)[order]
    person = table.person
    return Microdata.of_codes(
        table.columns,
        [table.codes(c.name)[repeat] for c in table.columns],
        person=None if person is None else person[repeat],
    )


def fields(classes):
    """Everything in some classes, to compare."""
    return (
        classes.people.tolist(),
        classes.rows.tolist(),
        {
            name: (h.start.tolist(), h.values.tolist(), h.counts.tolist(), h.overall.tolist())
            for name, h in classes.histograms.items()
        },
    )
