"""Rows that are withheld, and rows of people who left: set apart, and together with the table its source."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.cut import Cut
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.core.taxonomy import Taxonomy

Q, S = Taxonomy.flat(["x", "y"]), Taxonomy.flat(["s0", "s1", "s2"])
UNTIL = Taxonomy.grow(["*", "b2", None], [-1, 0, 0])
COLUMNS = [
    Column("q", Role.QUASI, Q),
    Column("s", Role.SENSITIVE, S),
    Column("until", Role.IDENTIFIER, UNTIL),
]

people = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from([None, "b2"])), min_size=1, max_size=12
)


@given(rows=people, chosen=st.lists(st.booleans(), min_size=24, max_size=24))
def test_what_is_set_apart_in_two_ways_and_twice_is_the_table_again(rows, chosen):
    codes = zip(*((q, s, UNTIL.rank(until)) for q, s, until in rows), strict=True)
    whole = Microdata.of_codes(COLUMNS, [np.array(c, np.int32) for c in codes])
    table = whole.without_departed("until")
    once = table.withholding(np.array(chosen[: table.distinct], bool))
    twice = once.withholding(np.array(chosen[12 : 12 + once.distinct], bool))
    gone = 0 if table.departed is None else table.departed.rows
    assert twice.whole.digest == whole.digest
    assert twice.rows + twice.rows_withheld + gone == whole.rows
    assert twice.with_departed.rows == twice.rows + gone
    recoding = Recoding.of_cuts(twice, {"q": Cut.leaves(Q)})
    assert recoding.suppressed == twice.rows_withheld
    shown = recoding.whole
    assert shown.suppressed == twice.rows_withheld + gone
    published = shown.class_of != SUPPRESSED
    assert np.array_equal(shown.table.words[:, published], twice.words)
    assert np.array_equal(shown.class_of[published], recoding.class_of)
