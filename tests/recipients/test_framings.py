"""Random framings: recipients change what they hold so that it points to somebody else, without guessing.

Columns have few trees, so that they can stand for each other; some are published unchanged, under trees that
key columns have, too. Rows of several recipients are mixed, columns are exchanged, renamed, copied or left
out, in all rows or in some. Whoever did not take part is charged with none of it.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from recipients.toy_ledger import ToyLedger
from sfumato.system.errors import BadData
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

SOAK = os.environ.get("SFUMATO_HYPOTHESIS") == "soak"
FRAMINGS = 4000 if SOAK else 60
TREES = (
    Taxonomy.grow(["*", "1*", "2*", "11", "12", "21", "22"], [-1, 0, 0, 1, 1, 2, 2]),
    Taxonomy.flat(["nurse", "mason", "cook"]),
)
Rows = list[dict[str, str]]


def house(rng, most_unchanged=1):
    """A table of two to four key columns and perhaps unchanged ones, and versions for two to five."""
    keys, unchanged = int(rng.integers(2, 5)), int(rng.integers(0, most_unchanged + 1))
    names = [f"k{j}" for j in range(keys)] + [f"u{j}" for j in range(unchanged)]
    trees = [TREES[int(rng.random() < 0.3)] for _ in names]
    columns = [
        Column(name, Role.QUASI if name.startswith("k") else Role.SENSITIVE, tree)
        for name, tree in zip(names, trees, strict=True)
    ]
    size = int(rng.integers(4, 25))
    codes = [rng.integers(0, len(tree.leaves), size).astype(np.int32) for tree in trees]
    table = Microdata.of_codes(columns, codes)
    event = "e" if rng.random() < 0.7 else ""
    ledger, held = ToyLedger(), {}
    for who in range(int(rng.integers(2, 6))):
        cuts = {c.name: random_cut(c.taxonomy, rng) for c in table.keys}
        ledger.give(f"P{who}", table, cuts, event=event, unchanged=tuple(names[keys:]))
        held[f"P{who}"] = version(table, cuts)
    return ledger, held, names


def random_cut(tree, rng):
    cut = Cut.root(tree)
    for _ in range(int(rng.integers(0, 4))):
        if len(cut.specializations):
            cut = cut.specialize(int(rng.choice(cut.specializations)))
    return cut


def version(table, cuts) -> Rows:
    rows = []
    for i, count in enumerate(table.counts.tolist()):
        leaf = {c.name: c.taxonomy.leaf_labels[table.codes(c.name)[i]] for c in table.columns}
        node = {c.name: c.taxonomy.labels[cuts[c.name].node_of[table.codes(c.name)[i]]] for c in table.keys}
        rows += [leaf | node for _ in range(count)]
    return rows


def mixture(rng, held, makers) -> Rows:
    """Rows of the makers; a row may take each cell from any of them, for they know whose rows are whose."""
    rows, size = [], len(held[makers[0]])
    for i in rng.integers(0, size, int(rng.integers(1, size + 1))).tolist():
        whole = rng.random() < 0.5
        first = str(rng.choice(makers))
        rows.append(
            {name: held[first if whole else str(rng.choice(makers))][i][name] for name in held[first][i]}
        )
    return rows


def framed(rng, rows, names) -> Rows:
    """The rows after a few tricks that need no guessing."""
    for _ in range(int(rng.integers(1, 5))):
        what = str(rng.choice(["exchange", "some", "rename", "drop", "copy", "new name", "blank"]))
        a, b = (str(name) for name in rng.choice(names, 2, replace=False))
        some = [row for row in rows if what != "some" or rng.random() < 0.5]
        for row in some:
            if what in ("exchange", "some") and a in row and b in row:
                row[a], row[b] = row[b], row[a]
            elif what == "rename" and a in row:
                row[b] = row.pop(a)
            elif what == "drop" and len(row) > 1:
                row.pop(a, None)
            elif what == "copy" and a in row:
                row[b] = row[a]
            elif what == "new name" and a in row:
                row[f"their {a}"] = row.pop(a)
            elif what == "blank" and a in row:
                row[a] = "*"
    return rows


def framing(rng, most_unchanged):
    """A ledger, who made the leak, and the leak."""
    ledger, held, names = house(rng, most_unchanged)
    makers = [str(who) for who in rng.choice(list(held), int(rng.integers(1, min(3, len(held)) + 1)), False)]
    return ledger, makers, framed(rng, mixture(rng, held, makers), names)


@pytest.mark.parametrize("most_unchanged", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_nobody_who_took_no_part_is_charged(seed, most_unchanged):
    rng, charged, traced = np.random.default_rng(seed), 0, 0
    for _ in range(FRAMINGS // 4):
        ledger, makers, leak = framing(rng, most_unchanged)
        try:
            result = ledger.trace(leak, max_coalition_size=3)
        except BadData:
            continue
        traced += 1
        charged += bool(result.certain)
        assert set(result.certain) <= set(makers)
    assert traced > FRAMINGS // 10, "most framings can be read"
    assert FRAMINGS < 100 or charged > traced // 50, "some who took part are charged all the same"


@pytest.mark.parametrize(("seed", "innocent"), [(562, "P1"), (1194, "P3")])
def test_an_unchanged_column_under_another_name_that_fits_by_accident_charges_nobody(seed, innocent):
    """Two unchanged columns, not both by their names: every row fits, and would by accident."""
    ledger, makers, leak = framing(np.random.default_rng([seed, 78]), 2)
    result = ledger.trace(leak, max_coalition_size=3)
    assert innocent not in makers and result.rows["ours"] == result.rows["all"]
    assert result.perhaps_guessed == (innocent,) and result.certain == () and result.false_charge is None
    assert "made of other columns" in str(result) and "published unchanged are missing" in str(result)
    columns = {name: name for name in result.leak.names}
    said = ledger.trace(leak, max_coalition_size=3, columns=columns)
    assert said.certain == (innocent,) and said.unless_guessed == (innocent,)
    assert "unless others guessed" in str(said)
