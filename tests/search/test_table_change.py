"""Changes of a table against counts of its rows, one by one."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search.plan import RowsByClass, TableChange
from sfumato.search.suppression import recoded
from sfumato.table.recoding import SUPPRESSED
from strategies import all_cuts, cases, tables


def rows_of(table):
    """Every row, as the codes of its key columns."""
    codes = zip(*(table.codes(c.name).tolist() for c in table.keys), strict=True)
    return [row for row, count in zip(codes, table.counts.tolist(), strict=True) for _ in range(count)]


@cases(40)
@given(tables(rows=12, keys=2, sensitive=0, min_rows=1), st.integers(1, 4), st.data())
def test_counts_are_those_of_the_rows(table, k, data):
    cuts = {c.name: data.draw(st.sampled_from(all_cuts(c.taxonomy))) for c in table.keys}
    recoding = recoded(table, cuts, KAnonymity(k) & KAnonymity(1))
    change = TableChange.of(recoding, least=k)
    before = Counter(rows_of(table))
    assert change.before == RowsByClass(
        table.rows, len(before), min(before.values()), sum(n == 1 for n in before.values())
    )
    kept = np.repeat(recoding.class_of, table.counts) != SUPPRESSED
    shown = [
        tuple(int(cuts[c.name].node_of[v]) for c, v in zip(table.keys, row, strict=True))
        for row, here in zip(rows_of(table), kept.tolist(), strict=True)
        if here
    ]
    after = Counter(shown)
    assert change.after.rows == len(shown) == table.rows - change.suppressed
    assert change.after.classes == len(after) and change.after.smallest == min(after.values(), default=0)
    for j, (column, told) in enumerate(zip(table.keys, change.columns, strict=True)):
        held, groups = Counter(row[j] for row in rows_of(table)), Counter(row[j] for row in shown)
        assert told.rare == sum(n < k for n in held.values())
        assert told.fewest == min(groups.values(), default=0)
        root = 0 if len(held) > 1 else None
        assert told.hidden == groups.get(root, 0)
        assert told.shape.values == len(held) and told.shape.groups == len(groups)
        assert column.name == told.shape.column
