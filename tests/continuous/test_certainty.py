"""Three releases and more are decided exactly, against all worlds of tiny chains."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from continuous.chains import chains, exact, releases, table, two
from sfumato.declare import certainty
from sfumato.declare.certainty import decide
from sfumato.declare.history import History, side_under
from sfumato.terms.cut import Cut


def history_and_side(trees, people, cuts):
    """Everything but the last cuts was published before."""
    data = table(trees, people)
    history = History.of(data, releases(trees, people, cuts[:-1]), "since")
    named = {f"q{j}": c for j, c in enumerate(cuts[-1])}
    return history, side_under(history, named)


@given(st.integers(2, 4).flatmap(lambda n: chains(count=n, rows=6)), st.integers(1, 4))
def test_the_decision_is_the_truth(chain, k):
    truth = min(exact(*chain).values()) >= k
    assert decide(*history_and_side(*chain), k).holds is truth


@given(st.integers(3, 4).flatmap(lambda n: chains(count=n, rows=7, values=1)), st.integers(1, 4))
def test_swaps_never_promise_too_much(chain, k):
    """Without the integer program only "not known" may take the place of the truth."""
    truth = min(exact(*chain).values()) >= k
    before, certainty.PROGRAMS = certainty.PROGRAMS, 0
    try:
        said = decide(*history_and_side(*chain), k).holds
    finally:
        certainty.PROGRAMS = before
    assert said is truth or said is None
